// SPDX-License-Identifier: BSL-1.0
#include "making.hpp"

#include <bough/session/contexts.hpp>

#include <utility>

namespace under_mpi {

making::making(const std::vector<bough::rank_t>& members) : members_(members) {
    kept_ = world::get().take_kept(members_);
    if (kept_)
        propose(kept_->context());
    else
        propose(std::uint32_t{1});
}
making::~making() {
    if (is_over_) return;
    if (kept_)
        world::get().give_back(members_, std::move(*kept_));
    else if (!is_claiming_)
        release(mine_);
    if (has_claimed_) release(claimed_);
}

void making::propose(std::uint32_t least) {
    propose(world::get().with_numbers([least](bough::contexts& all) { return all.reserve(least); }));
}
void making::propose(std::uint16_t number) noexcept {
    mine_ = number;
    numbers_ = {number, ~std::uint32_t{number}}; // the greatest of these says whether all have the same
    is_claiming_ = false;
}
void making::release(std::uint16_t number) {
    if (number == bough::contexts::none) return;
    world::get().with_numbers([number](bough::contexts& all) { return all.give_back(number), 0; });
}

void making::heard(bool good) {
    if (is_claiming_) {
        is_claiming_ = false;
        is_over_ = true;
        if (good && numbers_[0] == 0) {
            result_.emplace(world::get().new_one(members_, claimed_));
            return;
        }
        if (std::exchange(has_claimed_, false)) release(claimed_);
        if (!good) return;
        is_over_ = false;
        return propose(claimed_ + std::uint32_t{1});
    }
    const auto most = static_cast<std::uint16_t>(numbers_[0]);
    is_over_ = !good || most == bough::contexts::none || numbers_[0] == ~numbers_[1];
    if (good && numbers_[0] == ~numbers_[1]) { // all have the same number
        if (kept_)
            result_.emplace(std::move(*kept_));
        else if (most != bough::contexts::none)
            result_.emplace(world::get().new_one(members_, most));
        kept_.reset();
        return;
    }
    if (kept_)
        world::get().give_back(members_, std::move(*kept_));
    else
        release(mine_);
    kept_.reset();
    if (is_over_) return;
    claimed_ = most;
    has_claimed_ = world::get().with_numbers([most](bough::contexts& all) { return all.claim(most); });
    numbers_[0] = has_claimed_ ? 0 : 1; // is it taken?
    is_claiming_ = true;
}

} // namespace under_mpi
