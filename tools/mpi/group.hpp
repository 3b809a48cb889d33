// SPDX-License-Identifier: BSL-1.0
// A communicator of the program, as bough sees it: whether its collectives are taken, and what they use.
#ifndef BOUGH_TOOLS_MPI_GROUP_HPP
#define BOUGH_TOOLS_MPI_GROUP_HPP

#include "frame.hpp"
#include "host.hpp"
#include "world.hpp"

#include <cstdint>
#include <mpi.h>
#include <optional>
#include <vector>

namespace under_mpi {

// Why calls are passed on. All ranks of a communicator find the same.
enum class reason : std::uint8_t {
    none, // they are taken
    not_started,
    other_job,   // a rank is not in MPI_COMM_WORLD
    too_many,    // no number for another communicator is left
    inter,       // an intercommunicator
    host_only,   // a collective that bough does not have
    nonblocking, // a form that bough does not take
    count_       // how many there are
};
const char* text_of(reason why) noexcept;

class group {
public:
    group() = default;
    group(const group&) = delete;
    group& operator=(const group&) = delete;
    ~group();

    // Collective over `comm` the first time. Null: its calls are passed on, for the reason why().
    communicator* use(MPI_Comm comm, host_group& host);
    reason why() const noexcept { return why_; }
    void never(reason why) noexcept { why_ = why, has_tried_ = true; }

    frame& blocking_frame() noexcept { return frame_; }

private:
    bool has_tried_ = false;
    reason why_ = reason::not_started;
    std::optional<communicator> made_;
    std::vector<bough::rank_t> members_;
    frame frame_;
};

} // namespace under_mpi

#endif
