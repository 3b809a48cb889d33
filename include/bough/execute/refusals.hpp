// SPDX-License-Identifier: BSL-1.0
// Refusals: calls that broke a rule and were not started, by this rank and, as far as it was told, by others.
#ifndef BOUGH_EXECUTE_REFUSALS_HPP
#define BOUGH_EXECUTE_REFUSALS_HPP

#include <bough/concepts/transport.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bough {

class refusals {
public:
    // This rank refuses a call. What others said of it is settled.
    void mine(const envelope& tag) {
        std::erase_if(theirs_, [&](const refusal& r) { return r.is_of(tag); });
        remember(mine_, {tag.operation, tag.context, no_rank});
    }
    bool empty() const noexcept { return theirs_.empty(); } // no other rank has refused a call that may come
    bool is_mine(const envelope& tag) const noexcept { return by(mine_, tag) != nullptr; }
    // `peer` refuses a call that this rank has not come to.
    void theirs(rank_t peer, const envelope& tag) { remember(theirs_, {tag.operation, tag.context, peer}); }
    // Who has refused this call; no_rank: nobody that is known.
    rank_t refused_by(const envelope& tag) const noexcept {
        const refusal* r = by(theirs_, tag);
        return r == nullptr ? no_rank : r->peer;
    }
    void clear() noexcept {
        mine_.clear();
        theirs_.clear();
    }

private:
    struct refusal {
        std::uint32_t operation;
        std::uint16_t context;
        rank_t peer;
        bool is_of(const envelope& tag) const noexcept { return operation == tag.operation && context == tag.context; }
    };
    static constexpr std::size_t kept = 64; // the latest

    static void remember(std::vector<refusal>& all, const refusal& r) {
        if (all.size() == kept) all.erase(all.begin());
        all.push_back(r);
    }
    static const refusal* by(const std::vector<refusal>& all, const envelope& tag) noexcept {
        const auto r = std::find_if(all.begin(), all.end(), [&](const refusal& x) { return x.is_of(tag); });
        return r == all.end() ? nullptr : &*r;
    }

    std::vector<refusal> mine_, theirs_;
};

} // namespace bough

#endif
