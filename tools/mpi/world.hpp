// SPDX-License-Identifier: BSL-1.0
// The ranks of MPI_COMM_WORLD on one transport of bough, made when MPI starts; and the communicators of
// bough over it, made when a communicator of the program first needs one.
#ifndef BOUGH_TOOLS_MPI_WORLD_HPP
#define BOUGH_TOOLS_MPI_WORLD_HPP

#include "host.hpp"
#include "link.hpp"
#include "setting.hpp"
#include <bough/communicator.hpp>
#include <bough/core/status.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace under_mpi {

using communicator = bough::communicator<link>;

class world {
public:
    static world& get(); // never destroyed

    // Collective over MPI_COMM_WORLD, once. If bough cannot be used, rank 0 says why in a sentence.
    void start(host_group& host, bough::rank_t rank, bough::rank_t size, bool has_threads);
    // When MPI ends.
    void stop();

    setting is() const noexcept { return setting_; }
    bool has_started() const noexcept { return base_.has_value(); }
    const std::string& why_not() const noexcept { return why_not_; }
    bough::rank_t rank() const noexcept { return rank_; }
    bough::rank_t size() const noexcept { return size_; }

    // Collective over the members (ranks of MPI_COMM_WORLD), whose host_group it is. Empty on all of
    // them: no number for it is left.
    std::optional<communicator> make(const std::vector<bough::rank_t>& members, host_group& host);
    // Keeps it for the next group of the same members.
    void give_back(const std::vector<bough::rank_t>& members, communicator&& made);

private:
    world() = default;
    std::optional<communicator> take_kept(const std::vector<bough::rank_t>& members);
    communicator new_one(const std::vector<bough::rank_t>& members, std::uint16_t context);

    setting setting_ = setting::off;
    bough::rank_t rank_ = 0, size_ = 1;
    std::string why_not_ = "MPI had not started";
    std::optional<communicator> base_; // holds the session
    std::mutex mutex_;                 // of what follows
    std::map<std::vector<bough::rank_t>, std::vector<communicator>> kept_;
    std::size_t kept_count_ = 0;
};

} // namespace under_mpi

#endif
