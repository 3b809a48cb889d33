// SPDX-License-Identifier: BSL-1.0
// A communicator of the program, or of one of its persistent calls, as bough sees it: whether its
// collectives are taken, and what they use.
#ifndef BOUGH_TOOLS_MPI_GROUP_HPP
#define BOUGH_TOOLS_MPI_GROUP_HPP

#include "again.hpp"
#include "frame.hpp"
#include "host.hpp"
#include "reason.hpp"
#include "world.hpp"

#include <mpi.h>
#include <optional>
#include <vector>

namespace under_mpi {

class group {
public:
    // `comm` and `host` must outlive the calls of it. Allocates nothing, so that no rank can fail here alone.
    group(MPI_Comm comm, host_group& host, purpose why = {}) noexcept : comm_(comm), host_(host), for_(why) {}
    group(const group&) = delete;
    group& operator=(const group&) = delete;
    ~group();

    host_group& host() noexcept { return host_; }
    // For a blocking or a persistent call; collective the first time. Null: calls are passed on, on all ranks, for the
    // reason why().
    communicator* use() noexcept {
        if (made_) [[likely]]
            return &made_->blocking;
        return make(true);
    }
    // The same, for a rank that has no memory for the call: all pass it on.
    void do_without() noexcept { (void)make(false); }
    // For a nonblocking call, which must not wait for other ranks: they have agreed on its number in the first
    // use(). Null: this rank has no memory for it. Pre: takes_later().
    communicator* use_later() noexcept { return world::get().make_later(members_, *made_); }
    // Are nonblocking calls taken? Otherwise they are passed on, on all ranks.
    bool takes_later() const noexcept { return made_.has_value(); }
    // False: calls are passed on, on all ranks.
    bool may_be_used() const noexcept { return made_.has_value() || !has_tried_; }
    reason why() const noexcept { return why_; }
    void never(reason why) noexcept { why_ = why, has_tried_ = true; }

    frame& blocking_frame() noexcept { return frame_; }
    lately& blocking_calls() noexcept { return lately_; }

private:
    communicator* make(bool has_memory) noexcept;

    MPI_Comm comm_;
    host_group& host_;
    purpose for_;
    bool has_tried_ = false;
    reason why_ = reason::not_started;
    std::vector<bough::rank_t> members_;
    std::optional<part> made_; // goes before its members
    frame frame_;
    lately lately_;
};

} // namespace under_mpi

#endif
