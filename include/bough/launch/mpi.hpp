// SPDX-License-Identifier: BSL-1.0
// mpi_wire_up: a wire-up over the ranks of an MPI communicator. It is for a job that mpirun has
// started and that moves its data by another transport.
//
//   MPI_Init(&argc, &argv);
//   bough::mpi_wire_up wire{MPI_COMM_WORLD};
//   bough::shared_memory link{wire};
// MPI does not report dead ranks: usually mpirun ends the job. If it does not, and a rank does not
// call an exchange, then the exchange ends with deadline on the others and names that rank.
#ifndef BOUGH_LAUNCH_MPI_HPP
#define BOUGH_LAUNCH_MPI_HPP

#include <bough/concepts/wire_up.hpp>
#include <bough/core/config.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/error.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/forks.hpp>
#include <bough/os/mpi_comm.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mpi.h>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

class mpi_wire_up {
public:
    // Collective over `of`. Pre: MPI is initialised. Throws bough::error, no_resources, if MPI
    // refuses a communicator.
    explicit mpi_wire_up(MPI_Comm of) : s_(std::make_unique<state>()) {
        const int code = duplicate(of);
        if (code != MPI_SUCCESS) {
#if BOUGH_HAS_EXCEPTIONS
            throw error({.code = errc::no_resources}, detail::mpi_text("MPI_Comm_dup", code));
#else
            detail::throw_if({.code = errc::no_resources});
#endif
        }
        MPI_Comm_set_errhandler(s_->comm, MPI_ERRORS_RETURN);
        MPI_Comm_rank(s_->comm, &rank_);
        MPI_Comm_size(s_->comm, &size_);
    }
    mpi_wire_up(mpi_wire_up&&) = default;
    mpi_wire_up& operator=(mpi_wire_up&&) = delete;
    // Waits for nobody: if all exchanges have ended well, all messages of the communicator have
    // come. In the child of a fork MPI is not called, because all of its state is the parent's.
    ~mpi_wire_up() {
        if (!s_ || forked()) return;
        int over = 0;
        MPI_Finalized(&over);
        if (over != 0) return;
        if (broken_)
            (void)s_.release(); // MPI still has its memory
        else
            MPI_Comm_free(&s_->comm);
    }

    rank_t rank() const noexcept { return static_cast<rank_t>(rank_); }
    rank_t size() const noexcept { return static_cast<rank_t>(size_); }

    // Each rank sends to each other one, so that it is known which rank has not called.
    status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns) {
        if (const status bad = check_exchange(mine, all, size())) return bad;
        if (forked()) return {.code = errc::forked_child};
        if (broken_) return broken_;
        s_->mine.assign(mine.begin(), mine.end());
        s_->all.assign(all.size(), std::byte{});
        s_->receives.assign(size(), MPI_REQUEST_NULL);
        s_->sends.assign(size(), MPI_REQUEST_NULL);
        const int count = static_cast<int>(mine.size());
        for (rank_t r = 0; r != size(); ++r)
            if (MPI_Irecv(s_->all.data() + r * mine.size(), count, MPI_BYTE, static_cast<int>(r), 0, s_->comm,
                          &s_->receives[r]) != MPI_SUCCESS)
                return broken_ = {.code = errc::peer_dead, .peer = r};
        for (rank_t r = 0; r != size(); ++r)
            if (MPI_Isend(s_->mine.data(), count, MPI_BYTE, static_cast<int>(r), 0, s_->comm, &s_->sends[r]) !=
                MPI_SUCCESS)
                return broken_ = {.code = errc::peer_dead, .peer = r};
        const std::uint64_t last = deadline_after(detail::steady_now_ns(), timeout_ns);
        // r: the first rank that has not called, or has not heard this one.
        for (rank_t r = 0; r != size();) {
            int heard = 0, told = 0;
            if (MPI_Test(&s_->receives[r], &heard, MPI_STATUS_IGNORE) != MPI_SUCCESS ||
                MPI_Test(&s_->sends[r], &told, MPI_STATUS_IGNORE) != MPI_SUCCESS)
                return broken_ = {.code = errc::peer_dead, .peer = r};
            if (heard != 0 && told != 0) {
                ++r;
                continue;
            }
            if (detail::steady_now_ns() >= last) return broken_ = {.code = errc::deadline, .peer = r};
            std::this_thread::yield();
        }
        std::copy(s_->all.begin(), s_->all.end(), all.begin());
        return {};
    }

private:
    struct state {
        MPI_Comm comm = MPI_COMM_NULL;
        std::vector<std::byte> mine{}, all{};
        std::vector<MPI_Request> receives{}, sends{};
    };
    bool forked() const noexcept { return detail::forks() != forks_; }
    int duplicate(MPI_Comm of) {
        const detail::mpi_comm_errors returned(of);
        return MPI_Comm_dup(of, &s_->comm);
    }

    std::unique_ptr<state> s_;
    int rank_ = 0, size_ = 1;
    std::uint32_t forks_ = detail::forks();
    status broken_{};
};

static_assert(WireUp<mpi_wire_up>);

} // namespace bough

#endif
