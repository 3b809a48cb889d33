// SPDX-License-Identifier: BSL-1.0
// Calls that break a rule: each is refused with a sentence, before anything is sent, in all forms of the front door.
#include "frontdoor/forms.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/self.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/tree/kary.hpp>
#include <bough/tree/table.hpp>

#include <atomic>
#include <vector>

using namespace bough;
using test::check_forms;

namespace {

struct minus_like { // not known to commute
    constexpr int operator()(int a, int b) const { return a * 2 - b; }
};

struct shy { // where it throws, it cannot travel
    bool throws = false;
};

} // namespace

template <>
struct bough::wire<shy> {
    static constexpr std::size_t size = 1;
    static void encode(const shy& x, std::span<std::byte, 1> out) {
        if (x.throws) throw 1;
        out[0] = std::byte{0};
    }
    static shy decode(std::span<const std::byte, 1>) { return {}; }
};

TEST_CASE("front doors: data") {
    communicator comm{self{}};
    std::vector<int> x(4, 1), y(4, 2);
    const std::span<int> none;
    const std::span<int> null(static_cast<int*>(nullptr), 3);
    const std::span<const int> null_in = null;
    const std::span<int> huge(x.data(), ~std::size_t{0} / 4);
    const errc bad = errc::invalid_argument;

    check_forms([&](auto&... r) { allreduce(comm, null, plus{}, r...); }, bad, "data: null");
    check_forms([&](auto&... r) { allreduce(comm, null_in, std::span(x).first(3), plus{}, r...); }, bad, "data: null");
    check_forms([&](auto&... r) { allreduce(comm, std::span(x).first(3), null, plus{}, r...); }, bad, "data: null");
    check_forms([&](auto&... r) { reduce(comm, null, plus{}, root{0}, r...); }, bad, "data: null");
    check_forms([&](auto&... r) { broadcast(comm, null, root{0}, r...); }, bad, "data: null");

    check_forms([&](auto&... r) { allreduce(comm, std::span(x), std::span(y).first(3), plus{}, r...); }, bad, "out: ");
    check_forms([&](auto&... r) { reduce(comm, std::span(x), none, plus{}, root{0}, r...); }, bad, "out: ");

    const std::span<int> low = std::span(x).first(3), high = std::span(x).last(3);
    check_forms([&](auto&... r) { allreduce(comm, low, high, plus{}, r...); }, bad, "out: overlaps");
    check_forms([&](auto&... r) { reduce(comm, high, low, plus{}, root{0}, r...); }, bad, "out: overlaps");

    check_forms([&](auto&... r) { allreduce(comm, huge, plus{}, r...); }, errc::size_overflow, "data:");
    check_forms([&](auto&... r) { broadcast(comm, huge, root{0}, r...); }, errc::size_overflow, "data:");

    // What is allowed: nothing at all, one behind the other, the same.
    check_forms([&](auto&... r) { allreduce(comm, none, plus{}, r...); }, errc::ok);
    check_forms([&](auto&... r) { allreduce(comm, none, std::span(x).first(0), plus{}, r...); }, errc::ok);
    check_forms([&](auto&... r) { reduce(comm, none, plus{}, root{0}, r...); }, errc::ok);
    check_forms([&](auto&... r) { broadcast(comm, none, root{0}, r...); }, errc::ok);
    check_forms([&](auto&... r) { allreduce(comm, std::span(x).first(2), std::span(x).last(2), plus{}, r...); },
                errc::ok);
    check_forms([&](auto&... r) { allreduce(comm, std::span(x), std::span(x), plus{}, r...); }, errc::ok);
    check_forms([&](auto&... r) { barrier(comm, r...); }, errc::ok);
    CHECK_FALSE(comm.poison());
}

TEST_CASE("front doors: roots, shapes and plans") {
    communicator comm{self{}};
    std::vector<int> x(4, 1);
    const std::span<int> data(x);
    const errc bad = errc::invalid_argument;
    check_forms([&](auto&... r) { reduce(comm, data, plus{}, root{1}, r...); }, bad, "root: ");
    check_forms([&](auto&... r) { reduce(comm, data, plus{}, root{no_rank}, r...); }, bad, "root: ");
    check_forms([&](auto&... r) { broadcast(comm, data, root{1}, r...); }, bad, "root: ");
    check_forms([&](auto&... r) { allreduce(comm, data, plus{}, fnomial{.degree = 1}, r...); }, bad, "degree: ");
    check_forms([&](auto&... r) { reduce(comm, data, plus{}, root{0}, fnomial{.degree = 0}, r...); }, bad, "degree: ");
    check_forms([&](auto&... r) { broadcast(comm, data, root{0}, kary{.arity = 0}, r...); }, bad, "arity: ");
    const table of_three{tree{chain{}, 3}};
    check_forms([&](auto&... r) { broadcast(comm, data, root{0}, of_three, r...); }, bad, "table: ");
    const auto plan = plan_allreduce(recursive_doubling{}, {.size = 2});
    check_forms([&](auto&... r) { allreduce(comm, data, plus{}, plan, r...); }, bad, "plan: its size");
    const auto tokens = plan_barrier(dissemination{}, {.size = 5});
    check_forms([&](auto&... r) { barrier(comm, tokens, r...); }, bad, "plan: its size");
    CHECK_FALSE(comm.poison());
}

TEST_CASE("front doors: an op that is not known to commute") {
    communicator comm{self{}};
    std::vector<int> x(4, 1), y(4, 0);
    const std::span<int> data(x), out(y);
    const minus_like op;
    const errc no = errc::unsupported;
    check_forms([&](auto&... r) { allreduce(comm, data, op, kary{.arity = 2}, r...); }, no, "op: ");
    check_forms([&](auto&... r) { allreduce(comm, data, out, op, tree_allreduce{kary{.arity = 3}}, r...); }, no,
                "op: ");
    check_forms([&](auto&... r) { reduce(comm, data, op, root{0}, kary{.arity = 2}, r...); }, no, "op: ");
    const auto plan = plan_reduce(kary{.arity = 2}, {.size = 1});
    check_forms([&](auto&... r) { reduce(comm, data, out, op, root{0}, plan, r...); }, no, "op: ");

    check_forms([&](auto&... r) { allreduce(comm, data, plus{}, kary{.arity = 2}, r...); }, errc::ok);
    check_forms([&](auto&... r) { allreduce(comm, data, op, r...); }, errc::ok);
    check_forms([&](auto&... r) { allreduce(comm, data, op, recursive_doubling{}, r...); }, errc::ok);
    check_forms([&](auto&... r) { allreduce(comm, data, op, fnomial{.degree = 3}, r...); }, errc::ok);
    check_forms([&](auto&... r) { reduce(comm, data, op, root{0}, r...); }, errc::ok);
    check_forms([&](auto&... r) { reduce(comm, data, op, root{0}, ordered{chain{}}, r...); }, errc::ok);
}

TEST_CASE("front doors: a call that all ranks refuse leaves the group as it was") {
    std::atomic<int> wrong{0};
    in_process(4).run([&](auto end) {
        communicator comm{std::move(end)};
        std::vector<int> x(10, static_cast<int>(comm.rank()));
        const auto other_root = plan_broadcast(chain{}, {.size = 4, .root = 2});
        for (int i = 0; i != 20; ++i) {
            status s;
            broadcast(comm, std::span(x), root{1}, other_root, s);
            wrong += s != invalid_argument("plan: its root is not the call's");
            reduce(comm, std::span(x), minus_like{}, root{1}, fnomial{.degree = 2}, s); // not rank order for this root
            wrong += s.code != errc::unsupported;
            broadcast(comm, std::span(x), root{4}, s);
            wrong += s.code != errc::invalid_argument;
            std::fill(x.begin(), x.end(), static_cast<int>(comm.rank()));
            allreduce(comm, std::span(x), plus{}, s);
            wrong += s || x[9] != 6;
        }
        wrong += bool(comm.poison());
    });
    CHECK(wrong == 0);
}

TEST_CASE("front doors: a call that one rank refuses fails on all, soon") {
    for (rank_t culprit = 0; culprit != 4; ++culprit)
        for (int which = 0; which != 7; ++which) {
            const errc why = which == 4   ? errc::op_threw
                             : which == 5 ? errc::size_overflow
                             : which == 6 ? errc::unsupported
                                          : errc::invalid_argument;
            std::atomic<int> wrong{0};
            const auto begin = std::chrono::steady_clock::now();
            in_process(4).run([&](auto end) {
                communicator comm{std::move(end)};
                std::vector<int> x(10, 1);
                const bool is_culprit = comm.rank() == culprit;
                const std::span<int> data(is_culprit ? nullptr : x.data(), 10);
                status first, later;
                if (which == 0) broadcast(comm, data, root{culprit}, first);
                if (which == 1) broadcast(comm, data, root{(culprit + 1) % 4}, first);
                if (which == 2) allreduce(comm, data, plus{}, first);
                if (which == 3) reduce(comm, data, plus{}, root{culprit}, first);
                const std::span<int> good(x);
                if (which == 4) {
                    std::vector<shy> shies(10, shy{is_culprit});
                    broadcast(comm, std::span(shies), root{culprit}, first);
                }
                if (which == 5)
                    allreduce(comm, is_culprit ? std::span(x.data(), ~std::size_t{0} / 4) : good, plus{}, first);
                if (which == 6 && is_culprit) allreduce(comm, good, minus_like{}, kary{.arity = 2}, first);
                if (which == 6 && !is_culprit) allreduce(comm, good, minus_like{}, first);
                // Who had rightly returned already learns of it from a later call.
                for (int i = 0; i != 1000 && !later; ++i) barrier(comm, later);
                if (is_culprit)
                    wrong += first.code != why;
                else
                    wrong += first && (first.code != errc::peer_aborted || first.cause != why || first.peer != culprit);
                const bool poisoned = later.code == errc::group_poisoned && later.cause == why;
                const bool aborted = later.code == errc::peer_aborted && later.cause == why;
                wrong += !poisoned && !aborted && later.code != why;
                wrong += later.peer != culprit;
            });
            CAPTURE(culprit, which);
            CHECK(wrong == 0);
            CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
        }
}

// None of them hears of the others' refusals before it has made its own.
TEST_CASE("refused: a call that all ranks refuse is over for all, however many they refuse at a time") {
    for (const std::uint32_t slots : {64u, 1u}) {
        std::atomic<int> wrong{0};
        in_process{3, {.slots = slots}}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            std::vector<int> x(3, 1);
            for (int round = 0; round != 3; ++round) {
                for (int i = 0; i != 3'000; ++i) {
                    status s;
                    broadcast(comm, std::span(x), root{7}, s);
                    wrong += s.code != errc::invalid_argument;
                }
                status s;
                barrier(comm, s);
                wrong += bool(s);
            }
        });
        CAPTURE(slots);
        CHECK(wrong == 0);
    }
}
