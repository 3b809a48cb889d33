// SPDX-License-Identifier: BSL-1.0
// bough run over fabric: whatever network libfabric finds.
#include "party.hpp"

#include "parse.hpp"

#include <utility>

#ifdef BOUGH_TOOL_HAS_FABRIC
#include "party_of.hpp"
#include <bough/transport/fabric.hpp>

#include <optional>

std::unique_ptr<cli::party> cli::join_fabric(bough::job job, const std::string& provider) {
    bough::status why;
    std::optional<bough::fabric> link = bough::fabric::join(job, {.provider = provider}, why);
    if (!link && (why.code == bough::errc::unsupported || why.cause == bough::errc::unsupported))
        throw usage_error("--provider", "libfabric has none of that name here; fi_info lists them");
    if (!link) throw bough::error(why);
    return std::make_unique<party_of<bough::fabric>>(std::move(*link));
}
#else
std::unique_ptr<cli::party> cli::join_fabric(bough::job, const std::string&) {
    throw usage_error("--transport", "this bough was built without fabric, which needs libfabric");
}
#endif
