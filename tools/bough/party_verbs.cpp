// SPDX-License-Identifier: BSL-1.0
// bough run over verbs: processes that are connected by RDMA cards.
#include "party.hpp"

#include "parse.hpp"

#include <utility>

#ifdef BOUGH_TOOL_HAS_VERBS
#include "party_of.hpp"
#include <bough/error.hpp>
#include <bough/transport/verbs.hpp>

#include <optional>

std::unique_ptr<cli::party> cli::join_verbs(bough::job job, const std::string& device) {
    bough::status why;
    std::optional<bough::verbs> link = bough::verbs::join(job, {.device = device}, why);
    if (!link && (why.code == bough::errc::unsupported || why.cause == bough::errc::unsupported))
        throw usage_error(device.empty() ? "--transport" : "--device",
                          device.empty() ? "verbs needs an RDMA card whose port is up, and this machine has none; "
                                           "ibv_devices lists them"
                                         : "there is no such RDMA card, or its port is down; ibv_devices lists them");
    if (!link) throw bough::error(why);
    return std::make_unique<party_of<bough::verbs>>(std::move(*link));
}
#else
std::unique_ptr<cli::party> cli::join_verbs(bough::job, const std::string&) {
    throw usage_error("--transport", "this bough was built without verbs, which needs libibverbs");
}
#endif
