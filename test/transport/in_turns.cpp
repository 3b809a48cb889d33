// SPDX-License-Identifier: BSL-1.0
// A peer that sends much does not keep a rank from the others, however few messages a poll may take.
#include "support/catch.hpp"
#include "transport/shared_memory_world.hpp"
#include <bough/remote/in_process.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/in_turns.hpp>
#include <bough/transport/one_sided.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

using namespace bough;

namespace {

constexpr rank_t ranks = 4;

// All but rank 0 send it six messages; it takes three at a time. The peers from whom the first nine are.
template <class End>
std::set<rank_t> first_senders(std::vector<End>& ends) {
    event one;
    for (End& end : ends) CHECK(end.poll(std::span(&one, 1)) == 0); // ranks that must meet have done so
    const std::vector<std::byte> bytes(8, std::byte{7});
    for (rank_t r = 1; r != ranks; ++r)
        for (int i = 0; i != 6; ++i) CHECK(ends[r].post_send(0, {}, bytes, 1) == posted::complete);
    std::set<rank_t> senders;
    std::vector<event> some(3);
    int polls = 0;
    for (int i = 0; i != 1000 && polls != 3; ++i) {
        const std::size_t found = ends[0].poll(some);
        polls += found != 0 ? 1 : 0;
        for (const event& e : std::span(some).first(found)) {
            senders.insert(e.peer);
            ends[0].release(e.id);
        }
    }
    CHECK(polls == 3);
    return senders;
}
const std::set<rank_t> all_of_them{1, 2, 3};

} // namespace

TEST_CASE("in_turns: in_process") {
    in_process world{ranks};
    std::vector<in_process::endpoint> ends;
    for (rank_t r = 0; r != ranks; ++r) ends.push_back(world.connect(r));
    CHECK(first_senders(ends) == all_of_them);
}

TEST_CASE("in_turns: shared_memory") {
    std::vector<shared_memory> ends = bough_test::shared_ends(ranks);
    CHECK(first_senders(ends) == all_of_them);
}

TEST_CASE("in_turns: one_sided") {
    const one_sided_options options;
    in_process_regions world(ranks, {.region_bytes = one_sided_bytes(ranks, options)});
    std::vector<one_sided<in_process_regions::endpoint>> ends;
    for (rank_t r = 0; r != ranks; ++r) ends.emplace_back(world.connect(r), options);
    for (int i = 0; i != 100; ++i)
        for (auto& end : ends) end.poll({}); // greetings
    CHECK(first_senders(ends) == all_of_them);
}

TEST_CASE("in_turns: each peer is looked at once, and again only if it had a message") {
    struct source {
        int has = 0, looks = 0;
    };
    std::vector<source> sources(40);
    sources[7].has = 5, sources[30].has = 2;
    std::vector<source*> peers;
    for (source& s : sources) peers.push_back(&s);
    std::vector<event> events(64);
    const auto peek = [](source& s, event&) { return ++s.looks, s.has != 0 && s.has-- != 0; };
    CHECK(bough::detail::take_in_turns(peers, events, peek) == 7);
    for (const source& s : sources) CHECK(s.looks == (&s == &sources[7] ? 6 : &s == &sources[30] ? 3 : 1));
    CHECK(peers[0] == &sources[0]);
    for (source& s : sources) s.has = 1; // more than may come: those behind come first the next time
    CHECK(bough::detail::take_in_turns(peers, std::span(events).first(10), peek) == 10);
    CHECK(peers[0] == &sources[10]);
    CHECK(bough::detail::take_in_turns(peers, {}, peek) == 0);
    CHECK(peers[0] == &sources[10]);
    int rest = 0;
    for (source& s : sources) rest += s.has = 3;
    while (const std::size_t found = bough::detail::take_in_turns(peers, events, peek)) rest -= static_cast<int>(found);
    CHECK(rest == 0);
}
