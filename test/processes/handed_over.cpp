// SPDX-License-Identifier: BSL-1.0
// A call that returns has handed its data over: a rank that then computes, or ends, delays and loses nothing.
#include "support/handed_over.hpp"

#include "processes/links.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/progress/events.hpp>
#include <bough/progress/thread.hpp>
#include <bough/transport/serialised.hpp>

#include <algorithm>
#include <cstddef>
#include <poll.h>
#include <thread>
#include <vector>

using namespace bough;
using namespace bough_test;

namespace {

struct far_tcp_link : tcp_link {
    static constexpr const char* name = "tcp over TCP";
    static auto join(auto& wire) { return tcp(wire, {.near_sockets = false}); }
};
// Whose sockets take little at once.
struct narrow_tcp_link : tcp_link {
    static constexpr const char* name = "tcp through narrow sockets";
    static constexpr bool is_narrow = true;
    static auto join(auto& wire) {
        return tcp(wire, {.unexpected_bytes_per_peer = 256 << 10, .socket_bytes = 4 << 10, .near_sockets = false});
    }
};
struct narrow_near_link : tcp_link {
    static constexpr const char* name = "tcp through narrow near sockets";
    static constexpr bool is_narrow = true;
    static auto join(auto& wire) {
        return tcp(wire, {.unexpected_bytes_per_peer = 256 << 10, .socket_bytes = 4 << 10});
    }
};
template <class Inner>
struct serialised_link {
    static constexpr const char* name = "serialised tcp";
    static auto join(auto& wire) { return serialised(Inner::join(wire)); }
};
template <class F>
void over_all_links(const F& trial) {
    over_each_link(trial);
    trial(far_tcp_link{});
    trial(narrow_tcp_link{});
    trial(narrow_near_link{});
    trial(serialised_link<tcp_link>{});
}

// Rank 0 starts more broadcasts than its sockets take while rank 1 is silent; `end(comm, ops)` waits until they are done.
// Then rank 0 is silent, and rank 1 gets them all.
template <class Link, class End>
void check_full_sockets(Link, const End& end) {
    meeting all;
    processes group(2, [&](auto& wire, report& told) {
        communicator comm{Link::join(wire), {.timeout_ns = 30'000'000'000}};
        std::vector<std::vector<int>> data(12, std::vector<int>(4'000, wire.rank() == 0 ? 6 : 0)); // 16,000 bytes
        std::vector<operation> ops;
        if (wire.rank() == 1) {
            all.come();
            told.check(all.await(2)); // rank 0 has started all of them
        }
        for (std::vector<int>& x : data) ops.push_back(start_broadcast(comm, std::span(x), root{0}));
        if (wire.rank() == 0) {
            told.check(!ops.back().done()); // nobody reads
            all.come();
            end(comm, ops);
        } else {
            status s;
            for (operation& op : ops) op.wait(s), told.check(!s);
        }
        for (const operation& op : ops) told.check(!op.result());
        for (const std::vector<int>& x : data) told.check(x == std::vector<int>(4'000, 6));
        all.come();
        told.check(all.await(4));
        told.phase = 1;
    });
    group.wait();
    for (const rank_t r : {0u, 1u})
        CHECK((group.exit_code(r) == 0 && group.of(r).wrong == 0 && group.of(r).phase == 1));
}

} // namespace

TEST_CASE("processes: a loop that sleeps on a descriptor, and a helper thread, see that full sockets have taken all") {
    check_full_sockets(narrow_tcp_link{}, [](auto& comm, std::vector<operation>& ops) {
        event_progress events{comm};
        const auto done = [&] { return std::all_of(ops.begin(), ops.end(), [](operation& op) { return op.done(); }); };
        while (!done()) {
            pollfd on{events.descriptor(), POLLIN, 0};
            ::poll(&on, 1, events.prepare());
            events.progress();
        }
    });
    check_full_sockets(serialised_link<narrow_near_link>{}, [](auto& comm, std::vector<operation>& ops) {
        progress_thread helper;
        helper.look_after(comm);
        for (operation& op : ops)
            while (!op.done()) std::this_thread::yield(); // this thread does not poll
    });
}

TEST_CASE("processes: a rank is silent between its calls, and the others have what it sent") {
    // Ints, about the lengths from which messages are gathered, stay with their sender, and fill a socket.
    over_all_links([]<class Link>(Link) {
        const bool is_narrow = requires { Link::is_narrow; };
        for (const rank_t ranks : {2u, 3u, 4u, 8u}) {
            std::vector<std::size_t> counts{1, 1'000, 4'097};
            if (ranks <= 3 || bough_test::all()) counts.insert(counts.end(), {16, 4'080, 20'000});
            if (!is_narrow && (ranks == 2 || bough_test::all())) counts.push_back(500'000);
            check_silence_between_calls(Link::name, ranks, counts, [](auto& wire) { return Link::join(wire); });
        }
    });
}

TEST_CASE("processes: a rank is silent after it has started operations") {
    over_all_links([]<class Link>(Link) {
        for (const rank_t ranks : {2u, 3u, 4u})
            check_silence_after_start(Link::name, ranks, [](auto& wire) { return Link::join(wire); });
    });
}

TEST_CASE("processes: a rank is silent after it has given up, refused or agreed") {
    over_all_links([]<class Link>(Link) {
        for (const rank_t ranks : {2u, 3u, 4u})
            check_silence_after_words(Link::name, ranks, [](auto& wire) { return Link::join(wire); });
    });
}

TEST_CASE("processes: a rank ends when its last call has returned, and its data arrive") {
    over_all_links([]<class Link>(Link) {
        for (const rank_t ranks : {2u, 4u})
            check_leaving(Link::name, ranks, bough_test::all() ? 40 : 4, [](auto& wire) { return Link::join(wire); });
    });
}
