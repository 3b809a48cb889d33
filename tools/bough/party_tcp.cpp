// SPDX-License-Identifier: BSL-1.0
// bough run over tcp: processes that are connected by sockets, in the clear or inside TLS.
#include "party.hpp"

#include "parse.hpp"

#include <optional>
#include <utility>

#ifdef BOUGH_TOOL_HAS_TCP
#include "party_of.hpp"
#include <bough/transport/tcp.hpp>

#ifdef BOUGH_TOOL_HAS_TLS
#include <bough/transport/tcp/tls.hpp>

namespace {

std::unique_ptr<cli::party> joined_by_tls(bough::job& job, const bough::tcp_options& options) {
    bough::status why;
    std::optional<bough::tcp_tls> link = bough::tcp_tls::join(job, options, why);
    if (!link && why.code == bough::errc::invalid_argument) throw cli::usage_error("--tls", why.argument);
    if (!link) throw bough::tcp_error(why);
    return std::make_unique<cli::party_of<bough::tcp_tls>>(std::move(*link));
}

} // namespace
#endif

std::unique_ptr<cli::party> cli::join_tcp(bough::job job, const std::vector<std::string>& tls, bool tcp_only) {
    bough::tcp_options options;
    options.near_sockets = !tcp_only;
    if (tls.empty()) return std::make_unique<party_of<bough::tcp>>(bough::tcp{job, options});
#ifdef BOUGH_TOOL_HAS_TLS
    options.tls = {tls.at(0), tls.at(1), tls.at(2)};
    return joined_by_tls(job, options);
#else
    throw usage_error("--tls", "this bough was built without TLS, which needs OpenSSL's libssl");
#endif
}
#else
std::unique_ptr<cli::party> cli::join_tcp(bough::job, const std::vector<std::string>&, bool) {
    throw usage_error("--transport", "this bough was built without tcp, which needs Boost and OpenSSL");
}
#endif
