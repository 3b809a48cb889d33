// SPDX-License-Identifier: BSL-1.0
// What comes in one poll: messages and a difference between calls, many messages at once.
#include "support/catch.hpp"
#include <bough/algorithm/gather/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/communicator.hpp>
#include <bough/concepts/forwarding_transport.hpp>
#include <bough/gather.hpp>
#include <bough/op/any_op.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/session/session.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/flat.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

using namespace bough;

namespace {

using end_of = in_process::endpoint;

// Notes which messages are there, and what is done with others.
struct watched_end : forwarding_transport<end_of> {
    watched_end(end_of&& end, std::set<std::uint64_t>& in_hand, int& others)
        : forwarding_transport<end_of>(std::move(end)), there(&in_hand), wrong(&others) {}
    std::size_t poll(std::span<event> events) {
        const std::size_t found = inner_.poll(events);
        for (const event& e : events.first(found))
            if (e.what == event::kind::arrived) there->insert(e.id);
        return found;
    }
    bool claim(std::uint64_t handle) {
        *wrong += there->count(handle) == 0;
        return inner_.claim(handle);
    }
    void release(std::uint64_t handle) {
        if (there->erase(handle) == 0) return void(++*wrong);
        inner_.release(handle);
    }
    std::set<std::uint64_t>* there;
    int* wrong;
};

template <class T>
struct rank_of {
    explicit rank_of(T end) : its(std::move(end)) {}
    template <class P>
    void start(const P& plan, const call_signature& said) {
        work = std::make_unique<prepared>(bind_plan(plan, its.rank()));
        envelope tag;
        tag.operation = 1;
        call_signature signature = said;
        signature.plan = work->bound().plan_id;
        auto* bytes = reinterpret_cast<std::byte*>(data.data());
        its.start(op, *work, {bytes, bytes, data.size(), 8, any.function, any.state}, tag, signature, 1'000'000'000);
    }
    session<T> its;
    std::vector<std::uint64_t> data = std::vector<std::uint64_t>(12, 1);
    plus add{};
    any_op any = make_any_op<std::uint64_t>(add);
    std::unique_ptr<prepared> work;
    session_operation op;
};

// Counts polls and events by turns.
struct counted_end : forwarding_transport<end_of> {
    counted_end(end_of&& end, std::size_t& events) : forwarding_transport<end_of>(std::move(end)), found(&events) {}
    std::size_t poll(std::span<event> events) {
        const std::size_t now = inner_.poll(events);
        *found += now;
        return now;
    }
    std::size_t* found;
};

} // namespace

TEST_CASE("batch: what a dispute takes back is not used afterwards, in whichever order messages come") {
    for (const rank_t liar : {1u, 2u}) {
        CAPTURE(liar);
        in_process world{3};
        std::set<std::uint64_t> there;
        int wrong = 0;
        rank_of<watched_end> root{watched_end{world.connect(0), there, wrong}};
        rank_of<end_of> one{world.connect(1)}, two{world.connect(2)};
        const auto plan = plan_gather(flat{}, {.size = 3});
        const call_signature said{.count = 12, .op = 1, .type = 8, .root = 0, .kind = goal::gather::kind};
        call_signature lie = said;
        lie.count = 13;
        root.start(plan, said);
        one.start(plan, liar == 1 ? lie : said);
        two.start(plan, liar == 2 ? lie : said);
        for (int i = 0; i != 1000; ++i) root.its.progress(), one.its.progress(), two.its.progress();
        CHECK(wrong == 0);
        CHECK(root.op.result());
    }
}

TEST_CASE("batch: a hook hears of each message twice, and a turn has an end") {
    constexpr rank_t size = 301;
    struct counts {
        std::array<int, 6> of{};
        bool after_end = false;
        static void see(void* context, const operation_event& e) {
            counts& its = *static_cast<counts*>(context);
            its.after_end = its.after_end || its.of[static_cast<std::size_t>(operation_event::kind::end)] != 0;
            ++its.of[static_cast<std::size_t>(e.what)];
        }
        int operator[](operation_event::kind what) const { return of[static_cast<std::size_t>(what)]; }
    };
    for (const bool is_watched : {false, true}) {
        CAPTURE(is_watched);
        in_process world{size};
        std::size_t found = 0, most = 0;
        counts seen;
        communicator_options options;
        if (is_watched) options.report.hook = {&counts::see, &seen};
        communicator<counted_end> root_of_all{counted_end{world.connect(0), found}, options};
        std::deque<communicator<end_of>> others;
        for (rank_t r = 1; r != size; ++r) others.emplace_back(world.connect(r));
        std::vector<int> in(1, 7);
        std::vector<int> out(size);
        const auto plan = plan_gather(flat{}, {.size = size});
        for (auto& other : others) gather(other, in, root{0}, plan);
        auto running = start_gather(root_of_all, in, out, root{0}, plan);
        while (!running.done()) {
            const std::size_t before = found;
            running.poll();
            most = std::max(most, found - before);
        }
        CHECK(std::ranges::all_of(out, [](int x) { return x == 7; }));
        CHECK(most <= 64);
        if (!is_watched) continue;
        using kind = operation_event::kind;
        CHECK(seen[kind::arrived] == 300);
        CHECK(seen[kind::combined] == 300);
        CHECK(seen[kind::end] == 1);
        CHECK_FALSE(seen.after_end);
    }
}

TEST_CASE("batch: for a caller that waits, too, a turn has an end") {
    constexpr rank_t size = 200; // its plan is a short one
    in_process world{size};
    std::size_t arrived = 0;
    communicator_options options;
    options.report.hook = {[](void* context, const operation_event& e) {
                               *static_cast<std::size_t*>(context) += e.what == operation_event::kind::arrived;
                           },
                           &arrived};
    communicator<in_process::endpoint> root_of_all{world.connect(0), options};
    std::deque<communicator<in_process::endpoint>> others;
    for (rank_t r = 1; r != size; ++r) others.emplace_back(world.connect(r));
    std::vector<int> in(1, 7), out(size);
    const auto plan = plan_gather(flat{}, {.size = size});
    for (auto& other : others) gather(other, in, root{0}, plan);
    gather(root_of_all, in, out, root{0}, plan);
    CHECK(std::ranges::all_of(out, [](int x) { return x == 7; }));
    CHECK(arrived == size - 1);
}

TEST_CASE("batch: messages of later operations are left where they are") {
    constexpr rank_t size = 4;
    in_process world{size};
    std::deque<communicator<end_of>> all;
    for (rank_t r = 0; r != size; ++r) all.emplace_back(world.connect(r));
    const auto plan = plan_reduce(flat{}, {.size = size});
    for (int round = 0; round != 100; ++round) {
        int x = 1;
        for (int ahead = 0; ahead != 5; ++ahead) // the others run ahead of the root
            for (rank_t r = 1; r != size; ++r) reduce(all[r], std::span(&x, 1), plus{}, root{0}, plan);
        for (int ahead = 0; ahead != 5; ++ahead) {
            int sum = 1;
            reduce(all[0], std::span(&sum, 1), plus{}, root{0}, plan);
            CHECK(sum == 4);
        }
    }
    // Of 500 calls, each 64th looks at all peers; it may find one early message of each.
    const counters of_root = all[0].counters();
    CHECK(of_root.early_messages <= 500 / 64 * (size - 1));
}

namespace {

struct end_that_counts_polls : end_of {
    end_that_counts_polls(end_of&& end, int& polls) : end_of(std::move(end)), count(&polls) {}
    std::size_t poll(std::span<event> events) {
        ++*count;
        return end_of::poll(events);
    }
    int* count;
};

} // namespace

TEST_CASE("batch: a rank that only sends polls now and then") {
    in_process world{2};
    int polls = 0;
    communicator<end_of> root_of_all{world.connect(0)};
    communicator<end_that_counts_polls> leaf{end_that_counts_polls{world.connect(1), polls}};
    const auto plan = plan_reduce(flat{}, {.size = 2});
    int x = 1;
    for (int call = 0; call != 640; ++call) {
        reduce(leaf, std::span(&x, 1), plus{}, root{0}, plan);
        int sum = 1;
        reduce(root_of_all, std::span(&sum, 1), plus{}, root{0}, plan);
        CHECK(sum == 2);
    }
    CHECK(polls >= 9);
    CHECK(polls <= 20);
}
