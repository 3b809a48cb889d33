// SPDX-License-Identifier: BSL-1.0
// Keeps the communicator of an ended transport until everything that was sent to it has come, and
// gives it back then.
#ifndef BOUGH_TRANSPORT_MPI_PARTING_HPP
#define BOUGH_TRANSPORT_MPI_PARTING_HPP

#include <bough/core/deadline.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/os/clock.hpp>
#include <bough/transport/mpi/frame.hpp>
#include <bough/transport/mpi/outgoing.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
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
        MPI_Comm comm;
        mpi_outgoing outgoing;
        std::size_t longest; // frame
        int expected;        // peers that have not said bye
        bool is_clean;       // nothing but bye can still come
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
        std::vector<std::byte> frame;
        std::size_t longest = 0;
        for (const remains& r : mine) longest = std::max(longest, r.longest);
        ignore_exceptions([&] { frame.resize(longest); });
        for (;;) {
            std::erase_if(mine, [at_end, &frame](remains& r) {
                if (frame.size() >= r.longest) hear(r, frame);
                if (r.expected != 0 || !r.outgoing.all_sent() || !(r.is_clean || at_end)) return false;
                MPI_Comm_free(&r.comm);
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
    // Receives all frames that have come, and counts the byes.
    static void hear(remains& r, std::vector<std::byte>& frame) {
        r.outgoing.reclaim([](int) {});
        for (;;) {
            MPI_Message message;
            int found = 0;
            if (MPI_Improbe(MPI_ANY_SOURCE, mpi_frame_tag, r.comm, &found, &message, MPI_STATUS_IGNORE) != MPI_SUCCESS)
                r.is_clean = false, r.expected = 0;
            if (found == 0) return;
            MPI_Mrecv(frame.data(), static_cast<int>(r.longest), MPI_BYTE, &message, MPI_STATUS_IGNORE);
            mpi_frame head;
            std::memcpy(&head, frame.data(), sizeof head);
            r.expected -= head.kind == mpi_frame::bye;
        }
    }
};

} // namespace bough::detail

#endif
