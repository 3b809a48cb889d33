// SPDX-License-Identifier: BSL-1.0
// Groups of fabric for tests, over each provider that is here.
#ifndef BOUGH_TEST_FABRIC_RANKS_HPP
#define BOUGH_TEST_FABRIC_RANKS_HPP

#include "support/catch.hpp"
#include "support/joined_ends.hpp"
#include "support/sample.hpp"
#include "support/told.hpp"
#include <bough/launch.hpp>
#include <bough/transport/fabric.hpp>
#include <bough/transport/fabric/regions.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace test_fabric {

using bough::rank_t;

// The providers that need no network but this machine's, and are here. Warns of the others. The datagrams of libfabric 1.17
// for BOUGH_TEST_ALL=1 only: once in many runs fi_cq_read does not return.
inline std::vector<bough::fabric_options> offered_here() {
    std::vector<bough::fabric_options> found;
    for (const char* provider : {"tcp;ofi_rxm", "udp;ofi_rxd", "shm"}) {
        bough::fabric_options o;
        o.provider = provider;
        if (o.provider == "udp;ofi_rxd" && !bough_test::all()) continue;
        if (o.provider != "shm") o.node = "127.0.0.1";
        o.linger_ns = 30'000'000; // ends that one thread drives cannot answer
        o.timeout_ns = 20'000'000'000;
        if (bough::detail::fabric_device{}.open(o))
            WARN("skipped: libfabric has no provider " << provider << " here");
        else
            found.push_back(o);
    }
    return found;
}

// All ends of a group, for tests that drive them from one thread. `why`, if given: how each rank's join ended.
inline std::vector<bough::fabric> ends_of(const std::vector<bough::fabric_options>& options,
                                          std::vector<bough::status>* why = nullptr) {
    return bough_test::joined_ends<bough::fabric>(
        static_cast<rank_t>(options.size()),
        [&](rank_t r, auto& wire, bough::status& result) { return bough::fabric::join(wire, options[r], result); },
        why);
}
inline std::vector<bough::fabric> ends_of(rank_t ranks, const bough::fabric_options& options) {
    return ends_of(std::vector(ranks, options));
}
inline std::vector<bough::fabric_regions> regions_of(const std::vector<bough::fabric_regions_options>& options,
                                                     std::vector<bough::status>* why = nullptr) {
    return bough_test::joined_ends<bough::fabric_regions>(
        static_cast<rank_t>(options.size()),
        [&](rank_t r, auto& wire, bough::status& result) {
            return bough::fabric_regions::join(wire, options[r], result);
        },
        why);
}

// What has come to an end within some polls of all. On a busy machine a socket's bytes come when the kernel's own thread
// for them has had its turn, so the last polls leave it some.
template <class End>
std::vector<bough::event> poll_all(std::vector<End>& ends, rank_t at) {
    std::vector<bough::event> seen;
    for (int idle = 0; idle != 220; ++idle) {
        if (idle > 200) std::this_thread::sleep_for(std::chrono::microseconds(100));
        for (rank_t r = 0; r != ends.size(); ++r) {
            std::array<bough::event, 8> events;
            const std::size_t found = ends[r].poll(events);
            if (found != 0) idle = 0;
            for (std::size_t i = 0; i != found && r == at; ++i) seen.push_back(events[i]);
        }
    }
    return seen;
}
// The same, until there are so many, or 20 s have passed; and what comes right behind them.
template <class End>
std::vector<bough::event> await_all(std::vector<End>& ends, rank_t at, std::size_t count) {
    std::vector<bough::event> seen;
    for (const std::uint64_t last = ends[at].now_ns() + 20'000'000'000;;) {
        const bool over = seen.size() >= count || ends[at].now_ns() >= last;
        for (const bough::event& e : poll_all(ends, at)) seen.push_back(e);
        if (over) return seen;
    }
}

static_assert(bough::detail::RdmaDevice<bough::detail::fabric_device>);

// A device whose rank, if it joins in this thread, has a fault before the others greet it.
struct faulty_device : bough::detail::fabric_device {
    enum class fault { none, has_no_memory, finds_nobody, may_not_register };
    static inline thread_local fault here = fault::none;

    bough::status describe(bough::detail::fabric_card& card, rank_t ranks) {
        if (here == fault::has_no_memory) throw std::bad_alloc();
        return fabric_device::describe(card, ranks);
    }
    template <bough::WireUp W>
    bough::status connect(W& wire, std::span<const bough::detail::fabric_card> cards, rank_t me,
                          std::uint64_t last_ns) {
        if (here == fault::finds_nobody) return {.code = bough::errc::unsupported};
        return fabric_device::connect(wire, cards, me, last_ns);
    }
    bool register_memory(std::span<const std::byte> bytes, std::uint64_t access, memory& registered) {
        return here != fault::may_not_register && fabric_device::register_memory(bytes, access, registered);
    }
};
// Joins three ranks over each provider, of which rank 1 has each fault.
// join(options, wire, status) -> std::unique_ptr<End>.
template <class End, class Join>
void check_faults_are_told(const std::string& about_memory, const Join& join) {
    using fault = faulty_device::fault;
    for (bough::fabric_options options : offered_here()) {
        if (options.provider == "shm") continue; // one process
        options.timeout_ns = options.linger_ns = 300'000'000'000;
        for (const fault f : {fault::has_no_memory, fault::finds_nobody, fault::may_not_register}) {
            std::vector<bough::status> why;
            const std::uint64_t begin = bough::detail::steady_now_ns();
            const auto ends = bough_test::joined_ends<std::unique_ptr<End>>(
                3,
                [&](rank_t r, auto& wire, bough::status& result) {
                    faulty_device::here = r == 1 ? f : fault::none;
                    auto made = join(options, wire, result);
                    return made ? std::optional(std::move(made)) : std::nullopt;
                },
                &why);
            CAPTURE(options.provider, static_cast<int>(f));
            CHECK(bough::detail::steady_now_ns() - begin < options.timeout_ns / 3);
            CHECK(ends.empty());
            bough_test::check_told(why,
                                   f == fault::finds_nobody ? bough::errc::unsupported : bough::errc::no_resources);
            CHECK(bough_test::argument_of(why[1]) == (f == fault::may_not_register ? about_memory : ""));
        }
    }
}

// A job whose process dies as soon as so many exchanges are over; 0: it lives.
struct dying_job {
    bough::job world;
    int exchanges;
    rank_t rank() const { return world.rank(); }
    rank_t size() const { return world.size(); }
    bough::status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns) {
        const bough::status told = world.exchange(mine, all, timeout_ns);
        if (--exchanges == 0) ::raise(SIGKILL);
        return told;
    }
};
// Over each provider, what ranks 0 and 1 of three see when rank 2 dies after the first exchange of joining, or the last.
// join(options, wire, status) -> whether it has joined.
template <class Join>
void check_death_while_joining(const Join& join) {
    for (bough::fabric_options options : offered_here())
        for (const int exchanges : {1, 2}) {
            options.timeout_ns = 300'000'000'000; // longer than a test may take
            const bough::launch_report report = bough::launch(3, [&](bough::job world) {
                dying_job wire{std::move(world), 0};
                if (wire.rank() == 2) wire.exchanges = exchanges;
                bough::status why;
                if (join(options, wire, why)) return 2;
                return why.code == bough::errc::peer_dead && why.peer == 2 ? 0 : 3;
            });
            CAPTURE(options.provider, exchanges, describe(report));
            for (const rank_t r : {0u, 1u}) CHECK(report.ranks[r].code == 0);
        }
}

} // namespace test_fabric

#endif
