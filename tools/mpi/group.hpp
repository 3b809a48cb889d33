// SPDX-License-Identifier: BSL-1.0
// A communicator of the program, as bough sees it: whether its collectives are taken, and what they use.
#ifndef BOUGH_TOOLS_MPI_GROUP_HPP
#define BOUGH_TOOLS_MPI_GROUP_HPP

#include "frame.hpp"
#include "host.hpp"
#include "making.hpp"
#include "world.hpp"

#include <cstdint>
#include <deque>
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
    count_     // how many there are
};
const char* text_of(reason why) noexcept;

class flight;

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
    // For a call that must not wait; collective the first time. False: it is passed on. True: it is taken,
    // by the communicator that made() gives, or if that is null, in its turn when there is one.
    bool may_use();
    communicator* made() noexcept { return made_ && waiting.empty() ? &*made_ : nullptr; }
    reason why() const noexcept { return why_; }
    void never(reason why) noexcept { why_ = why, state_ = state::over; }

    frame& blocking_frame() noexcept { return frame_; }

    // Calls that wait until it is known which communicator takes them, if any, in their order.
    std::deque<flight*> waiting;
    // Goes on without waiting. True: it is known. Pre: calls wait.
    bool go_on();
    communicator* found() noexcept { return made_ ? &*made_ : nullptr; }

private:
    enum class state : std::uint8_t { untried, making, over };
    bool can_begin(); // false: calls are passed on
    void finish();

    MPI_Comm comm_;
    std::unique_ptr<host_group> host_;
    state state_ = state::untried;
    reason why_ = reason::not_started;
    std::optional<making> making_;
    bool is_looking_ = false; // a round of making_ goes on
    std::optional<communicator> made_;
    std::vector<bough::rank_t> members_;
    frame frame_;
};

} // namespace under_mpi

#endif
