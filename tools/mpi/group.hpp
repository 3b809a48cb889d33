// SPDX-License-Identifier: BSL-1.0
// A communicator of the program, as bough sees it: whether its collectives are taken, and what they
// use.
#ifndef BOUGH_TOOLS_MPI_GROUP_HPP
#define BOUGH_TOOLS_MPI_GROUP_HPP

#include "frame.hpp"
#include "host.hpp"
#include "world.hpp"

#include <cstdint>
#include <memory>
#include <mpi.h>
#include <optional>
#include <vector>

namespace under_mpi {

// Why calls are passed on. All ranks of a communicator find the same.
enum class reason : std::uint8_t {
    none, // they are taken
    not_started,
    other_job, // a rank is not in MPI_COMM_WORLD
    too_many,  // no number for another communicator is left
    inter,     // an intercommunicator
    alone,     // of one rank
    host_only, // a collective that bough does not have
    form,      // it is nonblocking, and bough takes only the blocking form
    of_host,   // the MPI itself may make it
    first,     // it is nonblocking, and there was no blocking one before
    count_     // how many there are
};
const char* text_of(reason why) noexcept;

class group {
public:
    // `comm` must outlive the calls of it.
    group(MPI_Comm comm, std::unique_ptr<host_group> host) : comm_(comm), host_(std::move(host)) {}
    group(const group&) = delete;
    group& operator=(const group&) = delete;
    ~group();

    host_group& host() noexcept { return *host_; }
    // For a blocking call; collective the first time. Null: calls are passed on, for the reason why().
    communicator* use();
    // For a nonblocking call, which must not wait until there is a communicator: there is one after
    // the first use(). It is another one than that: the MPI itself makes nonblocking calls on the
    // program's communicator whenever it makes progress, and blocking calls match by their order.
    communicator* use_later() noexcept { return later_ ? &*later_ : nullptr; }
    reason why() const noexcept { return why_; }
    void never(reason why) noexcept { why_ = why, has_tried_ = true; }

    frame& blocking_frame() noexcept { return frame_; }

private:
    MPI_Comm comm_;
    std::unique_ptr<host_group> host_;
    bool has_tried_ = false;
    reason why_ = reason::not_started;
    std::optional<communicator> made_, later_;
    std::vector<bough::rank_t> members_;
    frame frame_;
};

} // namespace under_mpi

#endif
