// SPDX-License-Identifier: BSL-1.0
// port_queues: rounds serve the same messages as when each looks at all that wait, in their order.
#include "support/catch.hpp"
#include <bough/verify/prover/port_queues.hpp>
#include <bough/verify/verify.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace {

using bough::no_step;
using bough::detail::port_queues;

struct message {
    std::uint32_t from, to, turn;
    std::uint32_t comes_in; // the round in which it is ready
};
using rounds = std::vector<std::vector<std::uint32_t>>; // by round: the messages served, in order

// As prover_rounds does it, where nothing but ports is to be waited for.
rounds served(const std::vector<message>& all, std::uint32_t ranks) {
    std::vector<std::uint32_t> turns;
    for (const message& m : all) turns.push_back(m.turn);
    bough::detail::queue_contents contents;
    contents.start(all.size(), ranks);
    port_queues queues(turns.data(), contents);
    rounds made;
    std::size_t left = all.size();
    for (std::uint32_t round = 0; left != 0; ++round) {
        for (std::uint32_t m = 0; m != all.size(); ++m)
            if (all[m].comes_in == round) queues.arrive(m);
        std::vector<unsigned char> sent(ranks, 0), received(ranks, 0);
        made.emplace_back();
        for (queues.begin_round(); queues.find_next();) {
            const std::uint32_t m = queues.next();
            const bool lacks_port = sent[all[m].from] != 0 || received[all[m].to] != 0;
            if (queues.next_has_waited() && lacks_port) {
                sent[all[m].from] != 0 ? queues.leave_queue() : queues.pass_over();
                continue;
            }
            queues.take();
            if (lacks_port) {
                queues.wait(m, all[m].from);
                continue;
            }
            sent[all[m].from] = received[all[m].to] = 1;
            made.back().push_back(m);
            --left;
        }
        queues.end_round();
    }
    return queues.empty() ? made : rounds{};
}

// Each round looks at all, by turn, and then by the round in which they came, and their numbers.
rounds served_by_looking_at_all(const std::vector<message>& all, std::uint32_t ranks) {
    std::vector<std::uint32_t> waiting;
    for (std::uint32_t m = 0; m != all.size(); ++m) waiting.push_back(m);
    std::stable_sort(waiting.begin(), waiting.end(), [&](std::uint32_t a, std::uint32_t b) {
        return all[a].turn != all[b].turn ? all[a].turn < all[b].turn : all[a].comes_in < all[b].comes_in;
    });
    rounds made;
    for (std::uint32_t round = 0; !waiting.empty(); ++round) {
        std::vector<unsigned char> sent(ranks, 0), received(ranks, 0);
        made.emplace_back();
        std::erase_if(waiting, [&](std::uint32_t m) {
            const auto [from, to, turn, comes_in] = all[m];
            if (comes_in > round || sent[from] != 0 || received[to] != 0) return false;
            sent[from] = received[to] = 1;
            made.back().push_back(m);
            return true;
        });
    }
    return made;
}

} // namespace

TEST_CASE("a message passes one that waits only where its ports are free") {
    CHECK(served({{0, 2, 1, 0}, {1, 2, 2, 0}, {1, 3, 3, 0}}, 4) == rounds{{0, 2}, {1}});
    // Without turns, the one that was ready first.
    CHECK(served({{0, 2, no_step, 0}, {1, 2, no_step, 1}, {1, 2, no_step, 0}}, 3) == rounds{{0}, {2}, {1}});
}

TEST_CASE("ports serve messages as if each round looked at all of them") {
    std::mt19937 random(1); // fixed: the same messages each time
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    for (int i = 0; i != 2000; ++i) {
        const std::uint32_t ranks = 2 + below(7), turns = 1 + below(40);
        std::vector<message> all(below(60));
        for (message& m : all) {
            m.from = below(ranks);
            m.to = (m.from + 1 + below(ranks - 1)) % ranks;
            m.turn = below(5) == 0 ? no_step : below(turns);
            m.comes_in = below(6);
        }
        REQUIRE(served(all, ranks) == served_by_looking_at_all(all, ranks));
    }
}
