// SPDX-License-Identifier: BSL-1.0
// Repeated_calls: the blocking calls with automatic choice that a communicator has made lately, each
// with the plan that it took. A call that equals one of them needs no choice, no search for its plan
// and no signature: it differs in its data alone.
#ifndef BOUGH_COMMUNICATOR_REPEATED_CALLS_HPP
#define BOUGH_COMMUNICATOR_REPEATED_CALLS_HPP

#include <bough/communicator/plan_cache.hpp>
#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/session/repeatable.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

// That of a call by which an equal one is known.
struct repeat_key {
    const void* door = nullptr; // stands for the collective, the element type, and the type of the op
    std::size_t count = 0;      // elements
    rank_t root = 0;
    friend constexpr bool operator==(const repeat_key&, const repeat_key&) = default;
};

struct repeated_call {
    repeat_key key{};
    bound_plan* plan = nullptr;
    std::uint64_t changes = ~std::uint64_t{0}; // of the plan cache, when the call ran; at first that of none
    repeatable what{};
};

class repeated_calls {
public:
    // Null: there is none whose plan is still where it was in the cache.
    repeated_call* find(const repeat_key& key, const plan_cache& plans) noexcept {
        repeated_call& known = known_[place(key)];
        return known.key == key && known.changes == plans.changes() ? &known : nullptr;
    }
    // Pre: the call has just run, and well, with a plan of the cache.
    void keep(const repeat_key& key, const call& made, plan_cache& plans) noexcept {
        bound_plan& plan = *plans.latest();
        known_[place(key)] = {key, &plan, plans.changes(), {made, plan.blocking, plan.work}};
    }
    void forget() noexcept { known_ = {}; }

private:
    static std::size_t place(const repeat_key& key) noexcept {
        return (reinterpret_cast<std::uintptr_t>(key.door) + key.count) % most;
    }

    static constexpr std::size_t most = 8;
    std::array<repeated_call, most> known_{};
};

} // namespace bough::detail

#endif
