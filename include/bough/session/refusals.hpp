// SPDX-License-Identifier: BSL-1.0
// Refusals: calls that broke a rule and were not started, by this rank and, as far as it was told, by others.
#ifndef BOUGH_SESSION_REFUSALS_HPP
#define BOUGH_SESSION_REFUSALS_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/status.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI {

class refusals {
public:
    // This rank refuses a call, with this error. What others said of it is settled.
    void mine(const envelope& tag, errc why) {
        std::erase_if(theirs_, [&](const refusal& r) { return r.is_of(tag); });
        remember(mine_, {tag.operation, tag.context, {.code = why}});
    }
    bool empty() const noexcept { return theirs_.empty(); } // no other rank has refused a call that may come
    // Why this rank refused a call; ok: it did not.
    errc why_mine(const envelope& tag) const noexcept { return by(mine_, tag).code; }
    // A peer refuses a call that this rank has not come to, which is to end with `said` then.
    void theirs(const envelope& tag, const status& said) { remember(theirs_, {tag.operation, tag.context, said}); }
    // What a call is to end with, as a peer has refused it; empty: nobody that is known has.
    status why_theirs(const envelope& tag) const noexcept { return by(theirs_, tag); }
    void clear() noexcept {
        mine_.clear();
        theirs_.clear();
    }

private:
    struct refusal {
        std::uint32_t operation;
        std::uint16_t context;
        status said;
        bool is_of(const envelope& tag) const noexcept { return operation == tag.operation && context == tag.context; }
    };
    static constexpr std::size_t kept = 64; // the latest

    static void remember(std::vector<refusal>& all, const refusal& r) {
        if (all.size() == kept) all.erase(all.begin());
        all.push_back(r);
    }
    static status by(const std::vector<refusal>& all, const envelope& tag) noexcept {
        const auto r = std::find_if(all.begin(), all.end(), [&](const refusal& x) { return x.is_of(tag); });
        return r == all.end() ? status{} : r->said;
    }

    std::vector<refusal> mine_, theirs_;
};

} // namespace bough

#endif
