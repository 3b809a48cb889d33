// SPDX-License-Identifier: BSL-1.0
// Making: the ranks of a communicator of the program agree on the number of bough's communicator for them.
//
// As fresh_context of bough/group.hpp does it, but by the host's calls: there is no communicator of these
// ranks yet. It goes by rounds, each of which finds the greatest of some numbers, so that it can be done
// with waiting and without. Numbers that are kept (world::give_back) are taken on all members, so what one
// member kept is never new to another.
#ifndef BOUGH_TOOLS_MPI_MAKING_HPP
#define BOUGH_TOOLS_MPI_MAKING_HPP

#include "world.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace under_mpi {

class making {
public:
    // `members`: ranks of MPI_COMM_WORLD. It must outlive this. Pre: world::has_started().
    explicit making(const std::vector<bough::rank_t>& members);
    making(const making&) = delete;
    making& operator=(const making&) = delete;
    ~making();

    bool is_over() const noexcept { return is_over_; }
    // The numbers of this round; all ranks find the greatest of each. Pre: it is not over.
    std::span<std::uint32_t> numbers() noexcept { return {numbers_.data(), is_claiming_ ? 1u : 2u}; }
    // The round has ended; `good`: numbers() are the greatest.
    void heard(bool good);
    // Empty on all ranks: no number is left, or the host had an error.
    std::optional<communicator>& result() noexcept { return result_; }

private:
    void propose(std::uint32_t least);
    void propose(std::uint16_t number) noexcept;
    void release(std::uint16_t number);

    const std::vector<bough::rank_t>& members_;
    std::array<std::uint32_t, 2> numbers_{};
    std::optional<communicator> kept_, result_;
    std::uint16_t mine_ = 0, claimed_ = 0;
    bool is_claiming_ = false, has_claimed_ = false, is_over_ = false;
};

} // namespace under_mpi

#endif
