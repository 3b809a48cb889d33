// SPDX-License-Identifier: BSL-1.0
// Transports that have ended, and those that could not be joined, keep nothing: no descriptor, no memory map.
#include "support/catch.hpp"
#include "support/joined_ends.hpp"
#include "support/sample.hpp"
#include "transport/certificates.hpp"
#include <bough/remote/shared_memory.hpp>
#include <bough/transport/composite_tcp.hpp>
#include <bough/transport/tcp/tls.hpp>

#include <cstddef>
#include <cstdint>
#include <dirent.h>
#include <fstream>
#include <span>
#include <string>
#include <vector>

using namespace bough;

namespace {

// A wire-up that ends with an error at its n-th exchange; 0: never.
template <class W>
struct short_wire {
    W& wire;
    int last;
    int made = 0;
    rank_t rank() const { return wire.rank(); }
    rank_t size() const { return wire.size(); }
    status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns) {
        return ++made == last ? status{.code = errc::deadline} : wire.exchange(mine, all, timeout_ns);
    }
};

struct holding {
    std::size_t descriptors = 0, maps = 0;
};
holding held_now() {
    holding now;
    if (DIR* folder = ::opendir("/proc/self/fd")) {
        while (::readdir(folder) != nullptr) ++now.descriptors;
        ::closedir(folder);
    }
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) // of the allocator and of stacks: kept for the next threads
        now.maps += line.find("memfd:") != line.npos || line.find("socket") != line.npos;
    return now;
}

// join(wire, status) -> optional<End>
template <class End, class Join>
void check_nothing_is_left(const char* name, const Join& join) {
    std::vector<status> why;
    const auto make = [&](int last) {
        int most = 0;
        const auto ends = bough_test::joined_ends<End>(
            3,
            [&](rank_t r, auto& wire, status& s) {
                short_wire<std::remove_reference_t<decltype(wire)>> cut{wire, last};
                auto made = join(cut, s);
                if (r == 0) most = cut.made;
                return made;
            },
            &why);
        CHECK((ends.size() == 3 || (ends.empty() && last != 0))); // some joinings take an exchange less
        return most;
    };
    const int exchanges = make(0);
    CAPTURE(name, exchanges);
    const holding before = held_now();
    for (int last = 1; last <= exchanges; ++last) make(last);
    for (int i = 0; i != (bough_test::all() ? 10'000 : 30); ++i) make(0);
    const holding after = held_now();
    CHECK(after.descriptors == before.descriptors);
    CHECK(after.maps == before.maps);
}

} // namespace

TEST_CASE("joining: what has ended, or was never joined, leaves no descriptor and no map") {
    check_nothing_is_left<shared_memory>("shared_memory",
                                         [](auto& wire, status& s) { return shared_memory::join(wire, {}, s); });
    check_nothing_is_left<shared_memory_regions>(
        "shared_memory_regions", [](auto& wire, status& s) { return shared_memory_regions::join(wire, {}, s); });
    check_nothing_is_left<tcp>("tcp", [](auto& wire, status& s) { return tcp::join(wire, {}, s); });
    check_nothing_is_left<tcp>("tcp, far",
                               [](auto& wire, status& s) { return tcp::join(wire, {.near_sockets = false}, s); });
    const test_tcp::authority ours;
    const tls_options tls = ours.issue();
    check_nothing_is_left<tcp_tls>("tcp_tls",
                                   [&](auto& wire, status& s) { return tcp_tls::join(wire, {.tls = tls}, s); });
    check_nothing_is_left<shared_memory_tcp>("composite", [](auto& wire, status& s) {
        return join_composite(wire, {.node = wire.rank() < 2 ? "left" : "right"}, s);
    });
}
