// SPDX-License-Identifier: BSL-1.0
// The place of a rank in the tree of those that vote.
#ifndef BOUGH_TOOLS_MPI_SEAT_HPP
#define BOUGH_TOOLS_MPI_SEAT_HPP

#include <bough/core/rank.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace under_mpi {

// Between which ranks of MPI_COMM_WORLD this one stands: the ranks of a communicator are a tree. Votes go up in
// it, and the outcome comes down. It takes no memory, so that a rank that has none can vote.
class seat {
public:
    static constexpr std::size_t most_below = 16;

    // `rank` and `size`: of the communicator. `number`: that of host_group.
    seat(bough::rank_t rank, bough::rank_t size, std::uint32_t number) noexcept
        : rank_(rank), size_(size), key_(std::uint64_t{number} << 32 ^ size) {}
    // For each rank of the communicator, in order: its rank in MPI_COMM_WORLD.
    void add(bough::rank_t its) noexcept {
        key_ = ((key_ ^ its) * 0xbf58'476d'1ce4'e5b9u) ^ (key_ >> 29);
        if (rank_ != 0 && added_ == (rank_ - 1) / most_below) above_ = its;
        if (added_ > most_below * rank_ && added_ <= most_below * (rank_ + 1)) below_[below_count_++] = its;
        ++added_;
    }

    // A hash of the members and the number: the same on all members. A member is in no other vote
    // with the same one at a time.
    std::uint64_t key() const noexcept { return key_; }
    bough::rank_t above() const noexcept { return above_; } // no_rank: this one is the first
    std::span<const bough::rank_t> below() const noexcept { return {below_.data(), below_count_}; }
    // Does the rank above this one, or that at below()[i], wait for further ranks?
    bool waits_above() const noexcept { return size_ > 2; }
    bool waits_below(std::size_t i) const noexcept { return most_below * (most_below * rank_ + 1 + i) + 1 < size_; }

private:
    std::size_t rank_, size_, added_ = 0;
    std::uint64_t key_;
    bough::rank_t above_ = bough::no_rank;
    std::array<bough::rank_t, most_below> below_{};
    std::size_t below_count_ = 0;
};

} // namespace under_mpi

#endif
