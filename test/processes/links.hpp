// SPDX-License-Identifier: BSL-1.0
// The transports between processes, for trials that hold over each of them: shared memory, tcp, both together on two nodes
// that are one machine, and shared memory as a slower cluster.
#ifndef BOUGH_TEST_PROCESSES_LINKS_HPP
#define BOUGH_TEST_PROCESSES_LINKS_HPP

#include "transport/shared_memory_world.hpp"
#include <bough/transport/composite_tcp.hpp>
#include <bough/transport/emulated.hpp>

#include <cstdint>
#include <fstream>
#include <string>
#include <unistd.h>

namespace bough_test {

struct shared_memory_link {
    static constexpr const char* name = "shared_memory";
    static auto join(auto& wire) { return bough::shared_memory(wire); }
    static std::uint64_t unexpected_bytes(const bough::shared_memory&) { return 0; } // its rings are all it has
};
struct tcp_link {
    static constexpr const char* name = "tcp";
    static auto join(auto& wire) { return bough::tcp(wire); }
    static std::uint64_t unexpected_bytes(const bough::tcp& link) { return link.unexpected_bytes(); }
};
struct composite_link {
    static constexpr const char* name = "composite";
    static auto join(auto& wire) {
        return bough::make_composite(wire, {.node = wire.rank() < wire.size() / 2 ? "left" : "right"});
    }
    static std::uint64_t unexpected_bytes(bough::shared_memory_tcp& link) { return link.between().unexpected_bytes(); }
};

// Links with latency, bandwidth and jitter, over shared memory.
struct emulated_link {
    static constexpr const char* name = "emulated";
    static auto join(auto& wire) {
        return bough::emulated(bough::shared_memory(wire),
                               {.latency_ns = 20'000, .ns_per_byte = 0.1, .jitter_ns = 10'000});
    }
    static std::uint64_t unexpected_bytes(const bough::emulated<bough::shared_memory>&) { return 0; }
};

// Runs trial(link) for each of them.
template <class F>
void over_each_link(const F& trial) {
    trial(shared_memory_link{});
    trial(tcp_link{});
    trial(composite_link{});
    trial(emulated_link{});
}

// What this process has in memory.
inline std::uint64_t resident_bytes() {
    std::ifstream about("/proc/self/statm");
    std::uint64_t all = 0, resident = 0;
    about >> all >> resident;
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

} // namespace bough_test

#endif
