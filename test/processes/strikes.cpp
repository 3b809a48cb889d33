// SPDX-License-Identifier: BSL-1.0
// Operations are cancelled, destroyed and timed out at random among others in flight, over two
// communicators: the others end well with the right data, always, and every rank says of the struck ones
// what happened, and who did it. One thread drives all ranks, so the interleaving is that of the seed.
//   BOUGH_TEST_ALL=1   10,000 strikes over each transport instead of 300
#include "support/catch.hpp"
#include "support/joined_ends.hpp"
#include "support/sample.hpp"
#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/shared_memory.hpp>
#include <bough/transport/simulated.hpp>
#include <bough/transport/tcp.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace bough;
using bough_test::mixed;
using word = std::uint64_t;

constexpr rank_t p = 4;
constexpr std::size_t most = 8; // operations in flight on a rank

enum class blow : std::uint8_t { none, cancel, destroy, time_out };

// One call: what it is, and who strikes it how.
struct plan_of_call {
    int what = 0; // allreduce, reduce to a root, broadcast from it
    rank_t root = 0;
    std::size_t count = 1;
    blow how = blow::none;
    rank_t who = 0;
    std::uint64_t after = 0; // turns
};

struct one_call {
    std::vector<word> x;
    std::optional<operation> op;
    bool started = false, struck = false;
};

template <class End>
struct strikes {
    std::vector<communicator<End>> first, second;
    std::function<void()> idle = [] {}; // time passes
    std::uint64_t dice = 0;
    std::uint64_t struck = 0, failed = 0, good = 0;
    std::string problem;

    std::uint64_t roll(std::uint64_t below) { return (dice = mixed(dice + 1)) % below; }

    communicator<End>& comm(rank_t r, std::size_t k) { return k % 2 == 0 ? first[r] : second[r]; }
    static word value(rank_t r, std::size_t k) { return (r + 1) * (k + 1); }
    static word sum(std::size_t k) { return p * (p + 1) / 2 * (k + 1); }

    void start(rank_t r, std::size_t k, const plan_of_call& c, one_call& mine) {
        mine.x.assign(c.count, value(r, k));
        communicator<End>& on = comm(r, k);
        if (c.what == 0) mine.op = start_allreduce(on, mine.x, plus{});
        if (c.what == 1) mine.op = start_reduce(on, mine.x, plus{}, root{c.root});
        if (c.what == 2) mine.op = start_broadcast(on, mine.x, root{c.root});
        mine.started = true;
    }
    void strike(const plan_of_call& c, one_call& mine) {
        mine.struck = true;
        if (mine.op->done()) return;
        ++struck;
        if (c.how == blow::cancel) mine.op->cancel();
        if (c.how == blow::time_out) mine.op->set_timeout_ns(1);
        if (c.how != blow::destroy) return;
        mine.op.reset();
        mine.x = {}; // a sanitizer sees who still uses it
    }
    void judge(rank_t r, std::size_t k, const plan_of_call& c, const one_call& mine) {
        if (!mine.op) return; // destroyed
        const status& s = mine.op->result();
        if (!s) {
            ++good;
            const bool has_sum = c.what == 0 || (c.what == 1 && comm(r, k).rank() == c.root);
            const word right = has_sum ? sum(k) : c.what == 2 ? value(comm(r, k).world_rank(c.root), k) : 0;
            if (right != 0)
                for (const word w : mine.x)
                    if (w != right) return void(problem = "an operation ended well with wrong data");
            return;
        }
        ++failed;
        if (c.how == blow::none) return void(problem = "an operation failed that nobody had struck: " + message_of(s));
        const errc first_cause = s.code == errc::peer_aborted ? s.cause : s.code;
        if (c.how == blow::time_out ? first_cause != errc::deadline : first_cause != errc::cancelled)
            return void(problem = "an operation failed for another reason: " + message_of(s));
        if (c.how != blow::time_out && r != c.who && s.peer != c.who)
            return void(problem = "a cancelled operation does not name who cancelled it: " + message_of(s));
        if (s.operation == 0) problem = "a failed operation does not say which it is";
    }

    void round() {
        const std::size_t calls = 1 + roll(most);
        const bool strikes_at_all = roll(8) != 0;
        std::vector<plan_of_call> plans(calls);
        for (plan_of_call& c : plans) {
            c.what = static_cast<int>(roll(3));
            c.root = static_cast<rank_t>(roll(p));
            c.count = roll(4) == 0 ? 1 + roll(40'000) : 1 + roll(100);
            c.how = strikes_at_all && roll(2) == 0 ? static_cast<blow>(1 + roll(3)) : blow::none;
            c.who = static_cast<rank_t>(roll(p));
            c.after = roll(60);
        }
        std::array<std::vector<one_call>, p> all;
        for (auto& mine : all) mine.resize(calls);
        const auto begin = std::chrono::steady_clock::now();
        for (std::uint64_t turn = 0;; ++turn) {
            bool is_over = true;
            for (rank_t r = 0; r != p; ++r) {
                std::size_t next = 0;
                while (next != calls && all[r][next].started) ++next;
                if (next != calls && roll(3) == 0) start(r, next, plans[next], all[r][next]);
                for (std::size_t k = 0; k != calls; ++k) {
                    one_call& mine = all[r][k];
                    const plan_of_call& c = plans[k];
                    if (mine.started && !mine.struck && c.how != blow::none && c.who == r && turn >= c.after)
                        strike(c, mine);
                    is_over &= mine.started && (!mine.op || mine.op->done());
                }
                first[r].progress();
            }
            if (is_over) break;
            idle();
            if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(60)) {
                problem = "an operation never ends";
                return;
            }
        }
        for (rank_t r = 0; r != p && problem.empty(); ++r) {
            for (std::size_t k = 0; k != calls; ++k) judge(r, k, plans[k], all[r][k]);
            if (first[r].poison() || second[r].poison()) problem = "a communicator is broken";
        }
    }
};

template <class End>
void strike_at_random(std::vector<End>&& ends, const std::function<void()>& idle) {
    strikes<End> on;
    on.idle = idle;
    on.dice = bough_test::seed();
    for (End& end : ends) on.first.emplace_back(std::move(end));
    for (rank_t r = 0; r != p; ++r) // as split would, for which each rank needs a thread of its own
        on.second.emplace_back(on.first[r].shared_session(), std::vector<rank_t>{3, 1, 0, 2}, std::uint16_t{7},
                               on.first[r].options());
    const std::uint64_t enough = bough_test::all() ? 10'000 : 300;
    std::uint64_t rounds = 0;
    while (on.struck < enough && on.problem.empty()) {
        on.round();
        ++rounds;
    }
    INFO("BOUGH_TEST_SEED=" << bough_test::seed() << ", round " << rounds);
    CHECK(on.problem == "");
    CHECK(on.struck >= enough);
    CHECK(on.good > on.failed / 4);
    CHECK(on.failed > on.struck);
}

} // namespace

TEST_CASE("strikes: operations that nobody struck end well, simulated") {
    simulated world{p};
    std::vector<simulated::endpoint> ends;
    for (rank_t r = 0; r != p; ++r) ends.push_back(world.connect(r));
    strike_at_random(std::move(ends), [&] {
        if (!world.advance()) world.advance_to(world.now_ns() + 1000);
    });
    CHECK(world.violations() == 0);
}

TEST_CASE("strikes: operations that nobody struck end well, over shared memory") {
    strike_at_random(bough_test::joined_ends<shared_memory>(
                         p, [](rank_t, auto& wire, status& s) { return shared_memory::join(wire, {}, s); }),
                     [] {});
}

TEST_CASE("strikes: operations that nobody struck end well, over tcp") {
    strike_at_random(
        bough_test::joined_ends<tcp>(p, [](rank_t, auto& wire, status& s) { return tcp::join(wire, {}, s); }), [] {});
}
