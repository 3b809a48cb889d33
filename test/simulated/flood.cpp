// SPDX-License-Identifier: BSL-1.0
// Two leaves flood a root that is busy elsewhere: memory stays under the cap for early messages.
#include "support/catch.hpp"
#include "support/sanitizers.hpp"
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/flat.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <unistd.h>
#include <vector>

namespace {

std::uint64_t resident_bytes() {
    unsigned long all = 0, resident = 0;
    if (std::FILE* f = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(f, "%lu %lu", &all, &resident) != 2) resident = 0;
        std::fclose(f);
    }
    return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
constexpr bool sanitized = bough_test::has_address_sanitizer || bough_test::has_thread_sanitizer;
constexpr std::uint64_t slack = sanitized ? 512 * mebibyte : 4 * mebibyte; // they have memory of their own
constexpr std::uint32_t operations = sanitized ? 20'000 : 100'000;

struct most {
    std::uint64_t grown = 0; // the process
    std::uint64_t early = 0; // bytes of early messages that were copied
};

// The root only polls until there are `enough` early bytes, or for ten seconds; then it takes part.
most flood(const bough::early_limits& limits, std::uint32_t count, bool root_joins, std::uint64_t enough) {
    const std::uint64_t before = resident_bytes();
    std::uint64_t top = before, early = 0;
    bough::in_process world{3};
    world.run([&](auto transport) {
        bough::communicator comm{std::move(transport), {.early = limits}};
        std::vector<std::uint64_t> x(128, 1);
        if (comm.rank() == 0) {
            const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
            while (std::chrono::steady_clock::now() < until && early < enough) {
                comm.progress();
                early = std::max(early, comm.shared_session()->early_bytes());
            }
            top = std::max(top, resident_bytes());
            if (!root_joins) return;
        }
        for (std::uint32_t i = 0; i != count; ++i) {
            bough::status s;
            bough::reduce(comm, std::span(x), bough::plus{}, bough::root{0}, bough::flat{}, s);
            if (s) return; // the root has left
            if (comm.rank() == 0 && i % 4096 == 0) top = std::max(top, resident_bytes());
        }
    });
    return {std::max(top, resident_bytes()) - before, early};
}

} // namespace

TEST_CASE("flood: early messages stay under their cap") {
    const bough::early_limits limits{.bytes_per_peer = mebibyte, .bytes = 2 * mebibyte};
    (void)flood(limits, 100, true, 0); // what the first threads of a process take
    const most seen = flood(limits, operations, true, limits.bytes - 8 * 1024);
    CHECK(seen.grown <= limits.bytes + slack);
    CHECK(seen.early <= limits.bytes);
    CHECK(seen.early > limits.bytes / 2); // there was a flood
}

TEST_CASE("flood: without a cap, there is no end to them") {
    const bough::early_limits none{.bytes_per_peer = ~std::uint64_t{0}, .bytes = ~std::uint64_t{0}};
    CHECK(flood(none, operations, false, 3 * mebibyte + 1).early > 3 * mebibyte);
}
