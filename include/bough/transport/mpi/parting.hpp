// SPDX-License-Identifier: BSL-1.0
// Keeps the communicator of an ended transport until everything that was sent to it has come, and
// gives it back then.
#ifndef BOUGH_TRANSPORT_MPI_PARTING_HPP
#define BOUGH_TRANSPORT_MPI_PARTING_HPP

#include <bough/core/deadline.hpp>
#include <bough/core/rank.hpp>
#include <bough/os/clock.hpp>
#include <bough/transport/mpi/arrivals.hpp>
#include <bough/transport/mpi/frame.hpp>
#include <bough/transport/mpi/group.hpp>
#include <bough/transport/mpi/peers.hpp>
#include <bough/transport/mpi/rank_core.hpp>

#include <algorithm>
#include <cstdint>
#include <list>
#include <mpi.h>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// The communicators of transports that have ended. A communicator is given back when all its peers
// have said bye: then nothing more can come, and MPI_Comm_free need not wait for anybody. This is
// tried whenever a transport is made or ends. What is left is given back when MPI_Finalize calls
// the attribute of MPI_COMM_SELF, while all of MPI still works. Any thread may call this, as far as
// MPI allows it.
class mpi_parting {
public:
    struct remains {
        mpi_rank_core core{};
        mpi_arrivals arrivals{};           // frames that were still coming come here
        bool is_clean = true;              // nothing but frames can still come
        mpi_frame bye{};                   // to each peer
        std::vector<MPI_Request> saying{}; // of each

        explicit remains(rank_t ranks) : saying(ranks, MPI_REQUEST_NULL) { bye.kind = mpi_frame::bye; }
    };
    using list = std::list<remains>;

    // Memory for the end of a transport. May throw.
    static list prepared(rank_t ranks) {
        list one;
        one.emplace_back(ranks);
        return one;
    }
    // Says bye to all peers, and keeps what a transport leaves. `one`: from prepared(). Allocates nothing.
    static void add(list one, mpi_rank_core core, mpi_arrivals arrivals, bool is_clean) noexcept {
        static const bool hooked = hook();
        (void)hooked;
        remains& r = one.front();
        r.core = std::move(core);
        r.arrivals = std::move(arrivals);
        r.is_clean = is_clean;
        say_bye(r);
        {
            const std::lock_guard held(shared().lock);
            shared().all.splice(shared().all.end(), one);
        }
        give_back();
    }
    // Gives back what can be given back, and waits for at most `patience_ns`. `at_end`: also those
    // to which something else may still come. Without memory for frames that come, a later call does it.
    static void give_back(std::uint64_t patience_ns = 0, bool at_end = false) noexcept {
        const std::uint64_t last_ns = deadline_after(steady_now_ns(), patience_ns);
        list mine; // so that two threads never handle the same one
        {
            const std::lock_guard held(shared().lock);
            mine.swap(shared().all);
        }
        for (;;) {
            std::erase_if(mine, [at_end](remains& r) {
                hear(r);
                if (!is_over(r) || !(r.is_clean || at_end)) return false;
                MPI_Comm_free(&r.core.group.comm);
                return true;
            });
            const auto may_end = [at_end](const remains& r) { return r.is_clean || at_end; };
            if (std::none_of(mine.begin(), mine.end(), may_end) || steady_now_ns() >= last_ns) break;
            std::this_thread::yield();
        }
        const std::lock_guard held(shared().lock);
        shared().all.splice(shared().all.end(), mine);
    }

private:
    struct shared_list {
        std::mutex lock;
        list all;
    };
    static shared_list& shared() {
        static shared_list& one = *new shared_list; // MPI may be finalised after static objects are gone
        return one;
    }
    static bool hook() {
        int key = MPI_KEYVAL_INVALID;
        return MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &at_finalize, &key, nullptr) == MPI_SUCCESS &&
               MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr) == MPI_SUCCESS &&
               MPI_Comm_free_keyval(&key) == MPI_SUCCESS;
    }
    static int at_finalize(MPI_Comm, int, void*, void*) {
        give_back(1'000'000'000, true); // do not wait for ever: a peer may never say bye
        return MPI_SUCCESS;
    }
    static void say_bye(remains& r) noexcept {
        const mpi_group& g = r.core.group;
        for (rank_t other = 0; other != g.size; ++other)
            if (other != g.rank) {
                const int code = MPI_Isend(&r.bye, sizeof r.bye, MPI_BYTE, static_cast<int>(other), mpi_frame_tag,
                                           g.comm, &r.saying[other]);
                if (code != MPI_SUCCESS) r.saying[other] = MPI_REQUEST_NULL;
                if (code != MPI_SUCCESS || (r.core.peers.is_lost(other) && !r.core.peers.has_parted(other)))
                    r.is_clean = false;
            }
    }
    // Receives all frames that have come, and moves those on that leave.
    static void hear(remains& r) noexcept {
        mpi_peers& peers = r.core.peers;
        r.core.outgoing.reclaim([](int) {});
        r.arrivals.start_poll();
        while (const mpi_arrival* const a = r.arrivals.receive(r.core)) {
            if (a->head.kind == mpi_frame::bye) peers.lose(a->from);
            r.arrivals.put(a->handle);
        }
        for (rank_t lost; peers.next_failed(lost); r.is_clean = false) peers.lose(lost);
        for (MPI_Request& said : r.saying) {
            int is_over = 0;
            if (said == MPI_REQUEST_NULL || MPI_Test(&said, &is_over, MPI_STATUS_IGNORE) == MPI_SUCCESS) continue;
            said = MPI_REQUEST_NULL;
            r.is_clean = false;
        }
    }
    // All that was sent has come, both ways.
    static bool is_over(const remains& r) noexcept {
        const mpi_group& g = r.core.group;
        if (!r.core.outgoing.all_sent() || r.arrivals.is_receiving()) return false;
        for (rank_t other = 0; other != g.size; ++other)
            if (r.saying[other] != MPI_REQUEST_NULL || (other != g.rank && !r.core.peers.is_lost(other))) return false;
        return true;
    }
};

} // namespace bough::detail

#endif
