// SPDX-License-Identifier: BSL-1.0
// remembered_choices: which plans a communicator's front doors took, so that each is chosen once.
#ifndef BOUGH_COMMUNICATOR_REMEMBERED_CHOICES_HPP
#define BOUGH_COMMUNICATOR_REMEMBERED_CHOICES_HPP

#include <bough/communicator/lateness.hpp>
#include <bough/core/config.hpp>
#include <bough/core/moved_list.hpp>
#include <bough/core/rank.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/select/candidates.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

// The key under which a front door remembers which plan it took the last time. The choice depends
// only on the key and on options().costs, so it may be kept.
struct choice_key {
    std::uint8_t kind = 0;
    std::uint8_t size_class = 0; // size_class_of() of the bytes; bit 7 is set if the vector stays whole
    rank_t root = 0;
    rank_t ranks = 0; // how many take part, where it need not be all; otherwise 0
    requirements needed{};
    bool exact = false;          // the op is exact
    std::uint64_t members = 0;   // a hash of the ranks that take part, where it matters which; otherwise 0
    std::uint32_t narrowing = 1; // problem::narrowing
    lateness late{};             // the rank that is expected to come late
    friend constexpr bool operator==(const choice_key&, const choice_key&) = default;
};

class remembered_choices {
public:
    // The plan that was chosen under this key, or else the result of `choose`: a shared pointer to
    // a plan, null if there is none. Of more than `most`, the one that was not used for longest goes.
    template <class P, class F>
    const P* remember(const choice_key& key, std::size_t most, F&& choose) {
        if (latest_ < all_.size() && all_[latest_].key == key) [[likely]]
            return static_cast<const P*>(all_[latest_].plan.get());
        if (choice* known = find(key)) return static_cast<const P*>(known->plan.get());
        return static_cast<const P*>(keep(key, std::shared_ptr<const P>(choose()), most));
    }
    void forget() noexcept { all_.clear(); }
    std::size_t size() const noexcept { return all_.size(); }

private:
    struct choice {
        choice_key key;
        std::shared_ptr<const void> plan;
        std::uint64_t used = 0; // when it was looked up last; the latest one may have been since
    };
    // It is the latest one now. Null: there is none.
    choice* find(const choice_key& key) noexcept {
        if (latest_ < all_.size()) all_[latest_].used = ++look_ups_;
        for (std::size_t i = 0; i != all_.size(); ++i) {
            if (!(all_[i].key == key)) continue;
            all_[i].used = ++look_ups_;
            return &all_[latest_ = i];
        }
        return nullptr;
    }
    const void* keep(const choice_key& key, std::shared_ptr<const void> plan, std::size_t most) {
        if (all_.size() < most) {
            latest_ = all_.size();
            all_.push_back({key, std::move(plan), ++look_ups_});
            return all_.back().plan.get();
        }
        latest_ = 0;
        for (std::size_t i = 1; i != all_.size(); ++i)
            if (all_[i].used < all_[latest_].used) latest_ = i;
        all_[latest_] = {key, std::move(plan), ++look_ups_};
        return all_[latest_].plan.get();
    }

    moved_list<choice> all_;
    std::size_t latest_ = 0; // the one that was asked for last
    std::uint64_t look_ups_ = 0;
};

} // namespace bough::detail

#endif
