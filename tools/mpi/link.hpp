// SPDX-License-Identifier: BSL-1.0
// The transport under an MPI: shared memory, or with BOUGH_UNDER_MPI_NODES shared memory inside a node and tcp
// between nodes. Several threads may use its session if the program asked for MPI_THREAD_MULTIPLE, and it never
// sleeps for long, as the host's own messages need this rank too.
#ifndef BOUGH_TOOLS_MPI_LINK_HPP
#define BOUGH_TOOLS_MPI_LINK_HPP

#include <bough/os/clock.hpp>
#ifdef BOUGH_UNDER_MPI_NODES
#include <bough/transport/composite_tcp.hpp>
#else
#include <bough/transport/shared_memory.hpp>
#endif

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>

namespace under_mpi {

// Locks only in programs with several threads.
class thread_mutex {
public:
    void lock() {
        if (is_needed) mutex_.lock();
    }
    void unlock() {
        if (is_needed) mutex_.unlock();
    }
    static inline bool is_needed = false; // set before the first session is made, and never changed

private:
    std::recursive_mutex mutex_;
};

#ifdef BOUGH_UNDER_MPI_NODES
inline constexpr bool is_for_nodes = true;
using link_base = bough::shared_memory_tcp;
#else
inline constexpr bool is_for_nodes = false;
using link_base = bough::shared_memory;
#endif

class link : public link_base {
public:
    using session_mutex = thread_mutex;

    explicit link(link_base&& joined) : link_base(std::move(joined)) {}

#ifndef BOUGH_UNDER_MPI_NODES
    // Operations run straight only where one thread uses the session.
    bool poll_from(bough::rank_t from, bough::event& e) noexcept {
        return !thread_mutex::is_needed && shared_memory::poll_from(from, e);
    }
#endif
    void wait(std::uint32_t idle, std::uint64_t deadline_ns) {
        if (!thread_mutex::is_needed) return link_base::wait(idle, soon(deadline_ns));
        wait_beside_threads(idle);
    }
#ifndef BOUGH_UNDER_MPI_NODES
    void wait_for_late(std::uint32_t idle, std::uint64_t deadline_ns) {
        if (!thread_mutex::is_needed) return shared_memory::wait_for_late(idle, soon(deadline_ns));
        wait_beside_threads(idle);
    }
#endif

private:
    static constexpr std::uint64_t longest_nap_ns = 500'000; // how late the host's messages may be noticed

    static std::uint64_t soon(std::uint64_t deadline_ns) noexcept {
        const std::uint64_t last = bough::detail::steady_now_ns() + longest_nap_ns;
        return deadline_ns == 0 ? last : std::min(last, deadline_ns);
    }
    // Waits are outside the lock, and all threads would share one word to sleep on.
    static void wait_beside_threads(std::uint32_t idle) {
        std::this_thread::yield();
        if (idle >= 200) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
};

} // namespace under_mpi

#endif
