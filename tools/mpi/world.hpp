// SPDX-License-Identifier: BSL-1.0
// The ranks of MPI_COMM_WORLD on one transport of bough, made when MPI starts; and the communicators of
// bough over it, made when a communicator of the program first needs one.
#ifndef BOUGH_TOOLS_MPI_WORLD_HPP
#define BOUGH_TOOLS_MPI_WORLD_HPP

#include "host.hpp"
#include "link.hpp"
#include "never_destroyed.hpp"
#include "reason.hpp"
#include "setting.hpp"
#include <bough/communicator.hpp>
#include <bough/core/status.hpp>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace under_mpi {

using communicator = bough::communicator<link>;

// What a communicator of the program has of bough. Nonblocking calls have their own, since the MPI itself
// makes some on the program's communicator whenever it makes progress, and calls match by their order.
struct part {
    communicator blocking, nonblocking;
};

class world {
public:
    static world& get(); // never destroyed

    // Collective over MPI_COMM_WORLD, once. If bough cannot be used on one rank, it is used on none, and
    // rank 0 says why in a sentence.
    void start(host_group& host, bough::rank_t rank, bough::rank_t size, bool has_threads) noexcept;
    // When MPI ends.
    void stop() noexcept;

    setting is() const noexcept { return setting_; }
    bool has_started() const noexcept { return base_.has_value(); }
    // BOUGH_MPI=report, and it is for this library to count. There are two: one for jobs on one node, and one for
    // jobs on several. The other one stands aside.
    bool reports() const noexcept { return is_in_charge_ && read_setting() == setting::report; }
    bough::rank_t rank() const noexcept { return rank_; }
    bough::rank_t size() const noexcept { return size_; }

    // Collective over the members (ranks of MPI_COMM_WORLD), whose host_group it is. Null: this rank had no
    // memory for their numbers. All ranks get a part, or none does, for the reason that is returned.
    reason make(const std::vector<bough::rank_t>* members, host_group& host, std::optional<part>& made) noexcept;
    // Keeps it for the next group of the same members, if there is room.
    void give_back(const std::vector<bough::rank_t>& members, part&& made) noexcept;

private:
    friend struct never_destroyed<world>;
    world() = default;
    void join(host_group& host, std::uint64_t deadline_ns) noexcept;
    void run_without(const char* why) noexcept;
    std::optional<part> take_kept(const std::vector<bough::rank_t>& members) noexcept;
    communicator new_one(const std::vector<bough::rank_t>& members, std::uint16_t context);

    bool is_in_charge_ = !is_for_nodes; // until start() knows
    setting setting_ = setting::off;
    bough::rank_t rank_ = 0, size_ = 1;
    std::optional<communicator> base_; // holds the session
    std::mutex mutex_;                 // of what follows
    std::map<std::vector<bough::rank_t>, std::vector<part>> kept_;
    std::size_t kept_count_ = 0;
};

} // namespace under_mpi

#endif
