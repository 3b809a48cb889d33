// SPDX-License-Identifier: BSL-1.0
// Repeated_calls: the blocking calls with automatic choice that a communicator has made lately, each
// with the bound plan that it took. A call that equals one of them needs no choice, and no search
// for its plan.
#ifndef BOUGH_COMMUNICATOR_REPEATED_CALLS_HPP
#define BOUGH_COMMUNICATOR_REPEATED_CALLS_HPP

#include <bough/communicator/plan_cache.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/engine/call.hpp>
#include <bough/select/candidates.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

// That of a call on which the choice and the plan depend.
struct repeat_key {
    call_signature signature{}; // with its kind, without its plan
    requirements required{};
    rank_t ranks = 0;                    // how many take part, where it need not be all; otherwise 0
    combine_function* combine = nullptr; // stands for the type and the op, and what is known of them
    friend constexpr bool operator==(const repeat_key&, const repeat_key&) = default;
};

class repeated_calls {
public:
    // The plan that this call has taken, which is still where it was in the cache; null: there is none.
    bound_plan* find(const repeat_key& key, const plan_cache& plans) const noexcept {
        const entry& e = entries_[place(key)];
        return e.changes == plans.changes() && e.key == key ? e.plan : nullptr;
    }
    // Pre: the call has just run with a plan of the cache.
    void keep(const repeat_key& key, plan_cache& plans) noexcept {
        entries_[place(key)] = {key, plans.latest(), plans.changes()};
    }
    void forget() noexcept { entries_ = {}; }

private:
    struct entry {
        repeat_key key{};
        bound_plan* plan = nullptr;
        std::uint64_t changes = ~std::uint64_t{0}; // of the cache, when the call ran; at first that of none
    };
    static constexpr std::size_t most = 8;
    static std::size_t place(const repeat_key& key) noexcept {
        return (key.signature.kind + key.signature.count) % most;
    }

    std::array<entry, most> entries_{};
};

} // namespace bough::detail

#endif
