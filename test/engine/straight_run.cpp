// SPDX-License-Identifier: BSL-1.0
#include "engine/port.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/halving_doubling.hpp>
#include <bough/algorithm/allreduce/per_level.hpp>
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/per_level.hpp>
#include <bough/core/random.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/engine/straight_run.hpp>
#include <bough/tree/fnomial.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

using namespace bough;

namespace {

// x -> a x + b modulo 2^32: composing two of them is associative and does not commute.
struct affine {
    std::uint32_t a = 1, b = 0;
    friend bool operator==(const affine&, const affine&) = default;
};
affine then(affine first, affine second) { return {second.a * first.a, second.a * first.b + second.b}; }
void compose(const void*, const std::byte* lower, const std::byte* upper, std::byte* out, std::size_t count) {
    for (std::size_t i = 0; i != count; ++i) {
        affine x, y;
        std::memcpy(&x, lower + i * sizeof x, sizeof x);
        std::memcpy(&y, upper + i * sizeof y, sizeof y);
        x = then(x, y);
        std::memcpy(out + i * sizeof x, &x, sizeof x);
    }
}

// Messages between the ranks of one test, in order for each pair.
struct mail {
    struct message {
        std::uint32_t segment;
        std::vector<std::byte> bytes;
    };
    std::map<std::pair<rank_t, rank_t>, std::deque<message>> boxes; // by sender and receiver
};

// One rank: its prepared plan, and a port that serves both ways to run it.
struct rank_end {
    rank_end(mail& m, rank_t r, bound_schedule bound, std::vector<affine> data)
        : box(m), me(r), work(std::move(bound)), values(std::move(data)) {}

    // --- the port ---
    posted send(std::uint32_t step, rank_t to, std::uint32_t segment, const std::byte* data, std::uint64_t bytes) {
        if (refuse_sends != 0) return --refuse_sends, posted::would_block;
        if (std::exchange(leaves_later, false) || !posts.empty()) { // in order
            posts.push_back({step, to, segment, {data, static_cast<std::size_t>(bytes)}});
            return posted::pending;
        }
        box.boxes[{me, to}].push_back({segment, {data, data + bytes}});
        return posted::complete;
    }
    next_message next(rank_t from, std::uint32_t segment, held_message& found) {
        auto& queue = box.boxes[{from, me}];
        if (queue.empty()) return next_message::none;
        read = std::move(queue.front());
        queue.pop_front();
        if (read.segment != segment || show_other) {
            stray = from;
            return next_message::other;
        }
        stray = from; // until it is released
        found = {read.bytes.data(), read.bytes.size(), 7, from, true};
        return next_message::expected;
    }
    posted take(const held_message&, std::byte*, std::uint64_t, std::uint32_t) { return posted::failed; }
    bool claim(const held_message& m) { return m.handle == 7; }
    void release(const held_message&) { stray = no_rank; }

    void start() {
        call c;
        c.input = c.output = reinterpret_cast<std::byte*>(values.data());
        c.count = values.size();
        c.element_bytes = sizeof(affine);
        c.combine = &compose;
        work.prepare(c);
        REQUIRE(work.is_short());
        work.straight().start(combine_of(c));
        straight = true;
        go();
    }
    bool done() { return straight ? finished : work.engine().done(); }
    // Runs as far as messages are there.
    void go() {
        if (straight) {
            const auto now = work.straight().run(*this);
            finished = now == straight_run::state::done;
            if (now == straight_run::state::leaves) hand_over();
            return;
        }
        for (const post& p : std::exchange(posts, {})) { // they are read only now
            box.boxes[{me, p.to}].push_back({p.segment, {p.data.begin(), p.data.end()}});
            work.engine().completed(p.step);
            work.engine().go_on(*this);
        }
        work.engine().retry(*this);
        for (const auto& channel : work.incoming())
            for (auto& queue = box.boxes[{channel.peer, me}]; !queue.empty();) {
                mail::message m = std::move(queue.front());
                queue.pop_front();
                arrive(channel.peer, std::move(m));
            }
    }
    void hand_over() {
        straight = false;
        work.resume(*this);
        if (stray != no_rank) arrive(std::exchange(stray, no_rank), std::move(read));
    }
    void arrive(rank_t from, mail::message m) {
        for (auto& channel : work.incoming()) {
            if (channel.peer != from) continue;
            REQUIRE(m.segment == channel.arrived);
            kept.push_back(std::make_unique<mail::message>(std::move(m)));
            const auto& bytes = kept.back()->bytes;
            const std::uint32_t step = work.bound().receives[channel.first + channel.arrived++];
            work.engine().arrived(step, {bytes.data(), bytes.size(), 7, from, true});
            work.engine().go_on(*this);
            return;
        }
        FAIL("a message from a rank that this one does not receive from");
    }

    mail& box;
    rank_t me;
    prepared work;
    std::vector<affine> values;
    mail::message read;
    std::vector<std::unique_ptr<mail::message>> kept; // what the engine may still read
    rank_t stray = no_rank;
    struct post {
        std::uint32_t step;
        rank_t to;
        std::uint32_t segment;
        std::span<const std::byte> data;
    };
    std::vector<post> posts; // that are pending
    std::uint32_t refuse_sends = 0;
    bool leaves_later = false, show_other = false, straight = false, finished = false;
};
static_assert(StraightPort<rank_end> && EnginePort<rank_end>);

// Runs an allreduce on all ranks, in an order that `random` chooses. Every turn has one chance in
// `hand_over_in` that a rank goes on in its engine; 0: none has.
template <class A>
void run(const A& algorithm, rank_t size, std::size_t count, random_sequence& random, std::uint64_t hand_over_in) {
    const auto plan = plan_allreduce(algorithm, {.size = size});
    mail box;
    std::vector<std::unique_ptr<rank_end>> ranks;
    std::vector<affine> expected(count);
    for (rank_t r = 0; r != size; ++r) {
        std::vector<affine> data(count);
        for (std::size_t i = 0; i != count; ++i) {
            data[i] = {2 * static_cast<std::uint32_t>(r + i) + 1, static_cast<std::uint32_t>(7 * r + i)};
            expected[i] = r == 0 ? data[i] : then(expected[i], data[i]);
        }
        ranks.push_back(std::make_unique<rank_end>(box, r, bind_plan(plan, r), std::move(data)));
    }
    std::vector<bool> started(size, false);
    std::size_t left = size;
    for (int turn = 0; left != 0; ++turn) {
        REQUIRE(turn < 100'000);
        const auto r = static_cast<rank_t>(random() % size);
        rank_end& end = *ranks[r];
        if (started[r] && end.done()) continue;
        if (!started[r]) {
            started[r] = true;
            if (hand_over_in != 0 && random() % hand_over_in == 0) end.refuse_sends = 1;
            if (hand_over_in != 0 && random() % hand_over_in == 0) end.leaves_later = true;
            end.start();
        } else {
            if (hand_over_in != 0 && random() % hand_over_in == 0) end.leaves_later = true;
            end.show_other = hand_over_in != 0 && random() % hand_over_in == 0;
            if (end.straight && hand_over_in != 0 && random() % hand_over_in == 0) end.hand_over();
            end.go();
        }
        if (end.done()) --left;
    }
    for (const auto& end : ranks) {
        REQUIRE(end->values == expected);
        REQUIRE((hand_over_in != 0 || end->straight)); // none had to be handed over
    }
    for (const auto& [pair, queue] : box.boxes) REQUIRE(queue.empty());
}

} // namespace

TEST_CASE("straight_run: results are those of the fold, in rank order, without the engine") {
    random_sequence random(1, 0, 0);
    for (rank_t p = 1; p <= 17; ++p)
        for (const std::size_t count : {1u, 3u, 40u}) {
            run(recursive_doubling{}, p, count, random, 0);
            run(tree_allreduce{fnomial{3}}, p, count, random, 0);
            run(per_level_allreduce{.form = level_form::exchange}, p, count, random, 0);
        }
}

TEST_CASE("straight_run: the engine goes on from any step, whatever happens") {
    random_sequence random(2, 0, 0);
    for (int round = 0; round != 20; ++round)
        for (const rank_t p : {2u, 3u, 5u, 8u, 13u}) {
            run(recursive_doubling{}, p, 3, random, 4);
            run(tree_allreduce{fnomial{3}}, p, 2, random, 3);
            run(per_level_allreduce{}, p, 40, random, 5);
            run(per_level_allreduce{.form = level_form::exchange}, p, 1, random, 2);
        }
}

TEST_CASE("straight_run: an op that throws releases its message") {
    mail box;
    const auto plan = plan_allreduce(recursive_doubling{}, {.size = 2});
    rank_end one(box, 0, bind_plan(plan, 0), {affine{3, 4}});
    box.boxes[{1, 0}].push_back({0, std::vector<std::byte>(sizeof(affine))});
    call c;
    c.input = c.output = reinterpret_cast<std::byte*>(one.values.data());
    c.count = 1;
    c.element_bytes = sizeof(affine);
    c.combine = [](const void*, const std::byte*, const std::byte*, std::byte*, std::size_t) { throw 1; };
    one.work.prepare(c);
    one.work.straight().start(combine_of(c));
    CHECK_THROWS_AS(one.work.straight().run(one), int);
    CHECK(one.stray == no_rank);
    CHECK(one.work.engine().done()); // it has not begun
}

TEST_CASE("straight_run: a message that its sender took back is left to the engine") {
    struct deserted : rank_end {
        using rank_end::rank_end;
        bool claim(const held_message&) { return false; }
    };
    mail box;
    const auto plan = plan_allreduce(recursive_doubling{}, {.size = 2});
    deserted one(box, 0, bind_plan(plan, 0), {affine{3, 4}});
    box.boxes[{1, 0}].push_back({0, std::vector<std::byte>(sizeof(affine))});
    call c;
    c.input = c.output = reinterpret_cast<std::byte*>(one.values.data());
    c.count = 1;
    c.element_bytes = sizeof(affine);
    c.combine = &compose;
    one.work.prepare(c);
    one.work.straight().start(combine_of(c));
    CHECK(one.work.straight().run(one) == straight_run::state::leaves);
    CHECK(one.values[0] == affine{3, 4});
    CHECK(one.stray == 1); // not released
}

TEST_CASE("straight_run: a message of another length is left to the engine") {
    mail box;
    const auto plan = plan_allreduce(recursive_doubling{}, {.size = 2});
    rank_end one(box, 0, bind_plan(plan, 0), {affine{3, 4}});
    box.boxes[{1, 0}].push_back({0, std::vector<std::byte>(sizeof(affine) + 1)});
    one.start();
    CHECK_FALSE(one.straight);
    CHECK(one.work.engine().error() == errc::protocol_error);
}

TEST_CASE("prepared: only calls whose messages are all short run straight") {
    const auto plan = plan_allreduce(recursive_doubling{}, {.size = 2});
    prepared work(bind_plan(plan, 0));
    std::vector<std::byte> data(2 * prepared::short_message);
    call c;
    c.input = c.output = data.data();
    c.element_bytes = 1;
    for (const auto& [count, is_short] :
         {std::pair{prepared::short_message, true}, {prepared::short_message + 1, false}, {std::uint64_t{0}, true}}) {
        c.count = count;
        work.prepare(c);
        CHECK(work.is_short() == is_short);
    }
}
