// SPDX-License-Identifier: BSL-1.0
// repeated_calls: the blocking calls with automatic choice that a communicator has made lately, each
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
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

// Calls with equal keys are equal but for their data, and for numbers that their ops hold.
struct repeat_key {
    const void* door = nullptr; // stands for the collective, the element type, and the type of the op
    std::size_t count = 0;      // elements
    rank_t root = 0;
    friend constexpr bool operator==(const repeat_key&, const repeat_key&) = default;
};

struct repeated_call {
    repeat_key key{};
    bound_plan* plan = nullptr;
    // plan_cache::changes() when the call ran. The first value is that of no cache.
    std::uint64_t changes = ~std::uint64_t{0};
    repeatable what{};
    std::uint64_t stamp = 0; // of repeat_place
};

// Where a call is kept. Another one that takes its place has another stamp, and none has 0.
struct repeat_place {
    repeated_call* call = nullptr;
    std::uint64_t stamp = 0;
};

class repeated_calls {
public:
    // Null: there is none whose plan is still where it was in the cache.
    repeated_call* find(const repeat_key& key, const plan_cache& plans) noexcept {
        pair& two = pairs_[place(key)];
        repeated_call* known = &two.newer;
        if (!(known->key == key) && !((known = &two.older)->key == key)) return nullptr;
        return known->changes == plans.changes() ? known : nullptr;
    }
    // Null: another call is kept there, or its plan is not where it was.
    static repeated_call* at(const repeat_place& where, const plan_cache& plans) noexcept {
        repeated_call* const call = where.call;
        return call != nullptr && call->stamp == where.stamp && call->changes == plans.changes() ? call : nullptr;
    }
    // Where the call is kept that was kept or run again last; then nobody is told of it any more.
    repeat_place take_last() noexcept {
        repeated_call* const call = std::exchange(last_, nullptr);
        return call != nullptr ? repeat_place{call, call->stamp} : repeat_place{};
    }
    void runs(repeated_call& again) noexcept { last_ = &again; }
    // The blocking call that ended last has run with this plan of the cache.
    void ran(bound_plan& plan) noexcept { latest_ = &plan; }
    // Pre: that call is `made`, and has run well.
    void keep(const repeat_key& key, const call& made, const plan_cache& plans) noexcept {
        pair& two = pairs_[place(key)];
        if (!(two.newer.key == key)) two.older = two.newer;
        two.newer = {key, latest_, plans.changes(), {made, latest_->blocking, latest_->work}, ++stamps_};
        last_ = &two.newer;
    }
    void forget() noexcept { pairs_ = {}, last_ = nullptr; }

private:
    struct pair {
        repeated_call newer{}, older{};
    };
    static std::size_t place(const repeat_key& key) noexcept {
        const std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(key.door) +
                                    (key.count ^ std::uint64_t{key.root} << 32) * 0x9e37'79b9'7f4a'7c15u;
        return static_cast<std::size_t>((mixed ^ mixed >> 32) * 0xbf58'476d'1ce4'e5b9u >> 61);
    }

    std::array<pair, 8> pairs_{};
    bound_plan* latest_ = nullptr;
    repeated_call* last_ = nullptr; // for take_last()
    std::uint64_t stamps_ = 0;
};

} // namespace bough::detail

#endif
