// SPDX-License-Identifier: BSL-1.0
// What ranks send ahead for newer operations does not stop older ones: over rings of shared memory, in which bytes run out
// as well as messages, and over tcp, where nothing is in place.
#include "support/catch.hpp"
#include "support/two_late.hpp"
#include "transport/shared_memory_world.hpp"
#include "transport/tcp_ranks.hpp"

#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;

namespace {

// What each rank reports.
template <class T, class F>
std::vector<status> ends_of_all(std::vector<T> transports, const F& program) {
    std::vector<status> ends(transports.size());
    std::vector<std::thread> threads;
    for (std::size_t r = 0; r != transports.size(); ++r)
        threads.emplace_back([&, r, mine = std::move(transports[r])]() mutable { ends[r] = program(std::move(mine)); });
    for (std::thread& t : threads) t.join();
    return ends;
}

template <class Make>
void check_sent_ahead(const Make& make) {
    struct load {
        int messages;
        std::size_t bytes;
    };
    for (const load l : {load{1, 8}, {20, 8}, {8, 16'384}, {4, 32'768}, {2, 65'536}, {3, 1'000'000}}) {
        CAPTURE(l.messages, l.bytes);
        for (const status& s : ends_of_all(make(3), [&](auto t) {
                 return bough_test::early_messages_in_the_way(std::move(t), l.messages, l.bytes);
             }))
            CHECK(s.code == errc::ok);
        for (const status& s : ends_of_all(make(4), [&](auto t) {
                 return bough_test::held_messages_in_the_way(std::move(t), l.messages, l.bytes);
             }))
            CHECK(s.code == errc::ok);
    }
}

} // namespace

TEST_CASE("shared_memory: what is sent ahead leaves its room to older operations") {
    check_sent_ahead([](rank_t ranks) { return bough_test::shared_ends(ranks); });
}

TEST_CASE("tcp: what is sent ahead leaves its room to older operations") {
    check_sent_ahead([](rank_t ranks) { return test_tcp::ends_of(ranks); });
}
