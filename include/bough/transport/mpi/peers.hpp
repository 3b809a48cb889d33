// SPDX-License-Identifier: BSL-1.0
// Which peers of a rank of bough::mpi are still there. A peer with which a call of MPI fails is
// lost, too, but only when the operation that came upon it is done.
#ifndef BOUGH_TRANSPORT_MPI_PEERS_HPP
#define BOUGH_TRANSPORT_MPI_PEERS_HPP

#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>

#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

class mpi_peers {
public:
    // May throw; nothing below allocates.
    explicit mpi_peers(rank_t ranks) : peers_(ranks) { failed_.reserve(ranks); }

    // Neither lost, nor has a call of MPI failed for it.
    bool is_here(rank_t r) const noexcept { return peers_[r].now == stage::here; }
    bool is_lost(rank_t r) const noexcept { return peers_[r].now == stage::lost; }
    // Whether its loss was handed over to the user.
    bool is_reported(rank_t r) const noexcept { return peers_[r].reported; }
    void report(rank_t r) noexcept { peers_[r].reported = true; }
    // It has said bye.
    void part(rank_t r) noexcept { peers_[r].parted = true; }
    bool has_parted(rank_t r) const noexcept { return peers_[r].parted; }

    // A call of MPI has failed for that rank.
    BOUGH_COLD void fail(rank_t r) noexcept {
        if (peers_[r].now != stage::here) return;
        peers_[r].now = stage::failed;
        failed_.push_back(r);
    }
    bool have_failed() const noexcept { return !failed_.empty(); }
    // Whether there is a rank that failed and was not asked for yet, and `r`: which.
    bool next_failed(rank_t& r) noexcept {
        if (failed_.empty()) return false;
        r = failed_.back();
        failed_.pop_back();
        return true;
    }
    // Nothing more will come from a rank. False: that was known.
    BOUGH_COLD bool lose(rank_t r) noexcept {
        const bool is_new = !is_lost(r);
        peers_[r].now = stage::lost;
        return is_new;
    }

private:
    enum class stage : std::uint8_t { here, failed, lost };
    struct peer {
        stage now = stage::here;
        bool reported = false, parted = false;
    };

    std::vector<peer> peers_;
    std::vector<rank_t> failed_;
};

} // namespace bough::detail

#endif
