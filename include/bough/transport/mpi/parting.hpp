// SPDX-License-Identifier: BSL-1.0
// Keeps the communicator of an ended transport until everything that was sent to it has come, and
// gives it back then.
#ifndef BOUGH_TRANSPORT_MPI_PARTING_HPP
#define BOUGH_TRANSPORT_MPI_PARTING_HPP

#include <bough/core/deadline.hpp>
#include <bough/core/ignore_exceptions.hpp>
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

namespace bough::inline BOUGH_ABI::detail {

// The communicators of transports that have ended. A communicator is given back when all its peers
// have said bye: then nothing more can come, and MPI_Comm_free need not wait for anybody. This is
// tried whenever a transport is made or ends. What is left is given back when MPI_Finalize calls
// the attribute of MPI_COMM_SELF, while all of MPI still works. Any thread may call this, as far as
// MPI allows it.
class mpi_parting {
public:
    struct remains {
        mpi_rank_core core;
        mpi_arrivals arrivals; // frames that were still coming come here
        bool is_clean;         // nothing but frames can still come
    };

    static void add(remains what) {
        static const bool hooked = hook();
        (void)hooked;
        std::list<remains> one;
        one.push_back(std::move(what));
        {
            const std::lock_guard held(list().lock);
            list().all.splice(list().all.end(), one);
        }
        give_back();
    }
    // Gives back what can be given back, and waits for at most `patience_ns`. `at_end`: also those
    // to which something else may still come. If memory runs out, a later call does it.
    static void give_back(std::uint64_t patience_ns = 0, bool at_end = false) {
        const std::uint64_t last_ns = deadline_after(steady_now_ns(), patience_ns);
        std::list<remains> mine; // so that two threads never handle the same one
        {
            const std::lock_guard held(list().lock);
            mine.swap(list().all);
        }
        for (;;) {
            std::erase_if(mine, [at_end](remains& r) {
                ignore_exceptions([&r] { hear(r); });
                if (!is_over(r) || !(r.is_clean || at_end)) return false;
                MPI_Comm_free(&r.core.group.comm);
                return true;
            });
            const auto may_end = [at_end](const remains& r) { return r.is_clean || at_end; };
            if (std::none_of(mine.begin(), mine.end(), may_end) || steady_now_ns() >= last_ns) break;
            std::this_thread::yield();
        }
        const std::lock_guard held(list().lock);
        list().all.splice(list().all.end(), mine);
    }

private:
    struct shared_list {
        std::mutex lock;
        std::list<remains> all;
    };
    static shared_list& list() {
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
    // Receives all frames that have come.
    static void hear(remains& r) {
        mpi_peers& peers = r.core.peers;
        r.core.outgoing.reclaim([](int) {});
        r.arrivals.start_poll();
        while (const mpi_arrival* const a = r.arrivals.receive(r.core)) {
            if (a->head.kind == mpi_frame::bye) peers.lose(a->from);
            r.arrivals.put(a->handle);
        }
        for (rank_t lost; peers.next_failed(lost); r.is_clean = false) peers.lose(lost);
    }
    // All that was sent has come, both ways.
    static bool is_over(const remains& r) noexcept {
        const mpi_group& g = r.core.group;
        if (!r.core.outgoing.all_sent() || r.arrivals.is_receiving()) return false;
        for (rank_t other = 0; other != g.size; ++other)
            if (other != g.rank && !r.core.peers.is_lost(other)) return false;
        return true;
    }
};

} // namespace bough::detail

#endif
