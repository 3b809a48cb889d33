// SPDX-License-Identifier: BSL-1.0
// mpi_wire_up: the wire-up of the ranks of an MPI communicator: for a job that mpirun has started and that moves its data
// by another transport.
//
//   MPI_Init(&argc, &argv);
//   bough::mpi_wire_up wire{MPI_COMM_WORLD};
//   bough::shared_memory link{wire};
// MPI does not tell of dead ranks: an exchange that one does not call ends with deadline on the others.
#ifndef BOUGH_LAUNCH_MPI_HPP
#define BOUGH_LAUNCH_MPI_HPP

#include <bough/concepts/wire_up.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/os/clock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mpi.h>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace bough {

class mpi_wire_up {
public:
    // Collective over `of`. Pre: MPI is initialised.
    explicit mpi_wire_up(MPI_Comm of) : s_(std::make_unique<state>()) {
        MPI_Comm_dup(of, &s_->comm);
        MPI_Comm_set_errhandler(s_->comm, MPI_ERRORS_RETURN);
        MPI_Comm_rank(s_->comm, &rank_);
        MPI_Comm_size(s_->comm, &size_);
    }
    mpi_wire_up(mpi_wire_up&&) = default;
    mpi_wire_up& operator=(mpi_wire_up&&) = delete;
    // Collective, unless an exchange has failed.
    ~mpi_wire_up() {
        int over = 0;
        MPI_Finalized(&over);
        if (!s_ || over != 0) return;
        if (broken_)
            (void)s_.release(); // MPI still has its memory
        else
            MPI_Comm_free(&s_->comm);
    }

    rank_t rank() const noexcept { return static_cast<rank_t>(rank_); }
    rank_t size() const noexcept { return static_cast<rank_t>(size_); }

    status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns) {
        if (const status bad = check_exchange(mine, all, size())) return bad;
        if (broken_) return {.code = errc::deadline};
        s_->mine.assign(mine.begin(), mine.end());
        s_->all.resize(all.size());
        const int count = static_cast<int>(mine.size());
        MPI_Request request;
        if (MPI_Iallgather(s_->mine.data(), count, MPI_BYTE, s_->all.data(), count, MPI_BYTE, s_->comm, &request) !=
            MPI_SUCCESS)
            return broken_ = true, status{.code = errc::peer_dead};
        const std::uint64_t last = deadline_after(detail::steady_now_ns(), timeout_ns);
        for (;;) {
            int done = 0;
            if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
                return broken_ = true, status{.code = errc::peer_dead};
            if (done != 0) break;
            if (detail::steady_now_ns() >= last) return broken_ = true, status{.code = errc::deadline};
            std::this_thread::yield();
        }
        std::copy(s_->all.begin(), s_->all.end(), all.begin());
        return {};
    }

private:
    struct state {
        MPI_Comm comm = MPI_COMM_NULL;
        std::vector<std::byte> mine{}, all{};
    };
    std::unique_ptr<state> s_;
    int rank_ = 0, size_ = 1;
    bool broken_ = false;
};

static_assert(WireUp<mpi_wire_up>);

} // namespace bough

#endif
