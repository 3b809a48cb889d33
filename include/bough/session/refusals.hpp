// SPDX-License-Identifier: BSL-1.0
// Refusals: remembers the calls that were not started because they broke a rule: those of this
// rank, and those of other ranks, as far as this rank was told.
#ifndef BOUGH_SESSION_REFUSALS_HPP
#define BOUGH_SESSION_REFUSALS_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/search.hpp>
#include <bough/core/status.hpp>

#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

template <int>
class basic_refusals {
public:
    // So many refusals of each kind are kept, the latest ones; of this rank, calls one behind the other with
    // one error count as one. A notice of a peer may be heard long after this rank has refused the same call.
    static constexpr std::size_t kept = 1024;

    // Remembers that this rank refuses a call with this error. What other ranks said about that
    // call no longer matters.
    void mine(const envelope& tag, errc why) {
        theirs_.erase_if([&](const refusal& r) { return r.is_of(tag); });
        if (!mine_.empty() && mine_.back().context == tag.context && mine_.back().said.code == why &&
            tag.operation - mine_.back().operation == mine_.back().calls)
            ++mine_.back().calls;
        else
            remember(mine_, {tag.operation, tag.context, {.code = why}});
    }
    // No peer has refused a call that this rank may still make.
    bool empty() const noexcept { return theirs_.empty(); }
    // Why this rank refused a call; ok: it has not.
    errc why_mine(const envelope& tag) const noexcept { return by(mine_, tag).code; }
    // Remembers that a peer refuses a call to which this rank has not come. The call is to end with
    // `said`.
    void theirs(const envelope& tag, const status& said) { remember(theirs_, {tag.operation, tag.context, said}); }
    // The status with which a call must end because a peer has refused it; empty: no peer is known
    // to have.
    status why_theirs(const envelope& tag) const noexcept { return by(theirs_, tag); }
    void forget(std::uint16_t context) noexcept {
        const auto of_it = [context](const refusal& r) { return r.context == context; };
        mine_.erase_if(of_it);
        theirs_.erase_if(of_it);
    }
    void clear() noexcept {
        mine_.clear();
        theirs_.clear();
    }

private:
    struct refusal {
        std::uint32_t operation;
        std::uint16_t context;
        status said;
        std::uint32_t calls = 1; // from `operation` on
        bool is_of(const envelope& tag) const noexcept {
            return context == tag.context && tag.operation - operation < calls;
        }
    };
    static void remember(detail::plain_list<refusal>& all, const refusal& r) {
        if (all.size() == kept) all.erase(all.begin());
        all.push_back(r);
    }
    static status by(const detail::plain_list<refusal>& all, const envelope& tag) noexcept {
        const auto r = detail::find_if(all, [&](const refusal& x) { return x.is_of(tag); });
        return r == all.end() ? status{} : r->said;
    }

    detail::plain_list<refusal> mine_, theirs_;
};
using refusals = basic_refusals<0>;

} // namespace bough

#endif
