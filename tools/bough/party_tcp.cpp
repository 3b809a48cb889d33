// SPDX-License-Identifier: BSL-1.0
#include "party.hpp"

#include "parse.hpp"

#include <utility>

#ifdef BOUGH_TOOL_HAS_TCP
#include "party_of.hpp"
#include <bough/transport/tcp.hpp>

std::unique_ptr<cli::party> cli::join_tcp(bough::job job) {
    return std::make_unique<party_of<bough::tcp>>(bough::tcp{job});
}
#else
std::unique_ptr<cli::party> cli::join_tcp(bough::job) {
    throw usage_error("--transport", "this bough was built without tcp, which needs Boost and OpenSSL");
}
#endif
