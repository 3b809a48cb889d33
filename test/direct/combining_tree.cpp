// SPDX-License-Identifier: BSL-1.0
// Combining trees: results in rank order whoever comes last, over processes and threads; deaths, mismatches, the ends of
// operations that are given up; and that nobody is needed once all have come.
#if defined(__linux__)
#include "support/affine.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include "support/until.hpp"
#include "transport/shared_memory_world.hpp"
#include <bough/direct/combining_tree.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/remote/common_memory.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <latch>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;
using bough_test::affine;
using bough_test::compose;
using bough_test::expected;
using bough_test::mixed;
using bough_test::processes;
using bough_test::report;
using bough_test::until;
using bough_test::value_of;

namespace {

using tree_type = combining_tree<common_memory>;

void sleep_us(std::uint64_t us) { std::this_thread::sleep_for(std::chrono::microseconds(us)); }

// One operation of rank r, with its data.
struct task {
    std::uint64_t k;
    bool all;
    rank_t root;
    std::vector<affine> in, out;
    operation op{};

    task(std::uint64_t number, tree_type& tree)
        : k(number), all(number % 3 == 0), root(static_cast<rank_t>(number % tree.size())) {
        constexpr std::array<std::size_t, 4> counts{1, 0, 5, 256};
        const std::size_t count = counts[number / 5 % 4];
        for (std::size_t i = 0; i != count; ++i) in.push_back(value_of(k, tree.rank(), i));
        out.resize(count);
        if (all)
            op = start_allreduce(tree, in, out, compose{});
        else
            op = start_reduce(tree, in, out, compose{}, bough::root{root});
    }
    int wrong(tree_type& tree) {
        status s;
        op.wait(s);
        int bad = s ? 1 : 0;
        if (all || root == tree.rank())
            for (std::size_t i = 0; i != out.size(); ++i) bad += out[i] == expected(k, tree.size(), i) ? 0 : 1;
        return bad;
    }
};

// Random skew, every root, up to eleven operations in flight, waited for in any order.
int exercise(tree_type& tree, std::uint64_t rounds) {
    int wrong = 0;
    std::vector<task> flying;
    for (std::uint64_t k = 0; k != rounds; ++k) {
        const std::uint64_t dice = mixed(k * 977 + tree.rank());
        if (dice % 5 == 0) sleep_us(dice / 8 % 150);
        flying.emplace_back(k, tree);
        while (flying.size() > 10 || (!flying.empty() && mixed(dice) % 3 == 0)) {
            const std::size_t i = mixed(dice + flying.size()) % flying.size();
            wrong += flying[i].wrong(tree);
            flying.erase(flying.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
    for (task& t : flying) wrong += t.wrong(tree);
    return wrong;
}

bool is_death_of(const status& s, rank_t dead) {
    return (s.code == errc::peer_dead || s.cause == errc::peer_dead) && s.peer == dead;
}
status sum_until_an_error(tree_type& tree) {
    for (std::uint64_t i = 0;; ++i) {
        std::uint64_t x = 1;
        status s;
        start_allreduce(tree, std::span(&x, 1), plus{}).wait(s);
        if (s) return s;
        if (x != tree.size()) return {.code = errc::protocol_error};
    }
}

// Trees of threads, joined by a thread each.
template <class F>
void threads(rank_t ranks, const combining_tree_options& options, F&& f) {
    testing::thread_wire_up world{ranks};
    std::vector<std::thread> all;
    for (rank_t r = 0; r != ranks; ++r)
        all.emplace_back([&, r] {
            auto wire = world.of(r);
            combining_tree tree{common_memory{wire}, options};
            f(tree);
        });
    for (std::thread& t : all) t.join();
}

} // namespace

TEST_CASE("combining_tree: every number of processes, every root, in rank order, whoever comes last") {
    for (rank_t p = 1; p != 10; ++p) {
        processes group(p, [&](auto& wire, report& told) {
            combining_tree tree{common_memory{wire}, {.in_flight = p % 2 == 0 ? 8u : 3u}};
            told.wrong = static_cast<std::uint64_t>(exercise(tree, 120));
            told.phase = 1;
        });
        group.wait();
        for (rank_t r = 0; r != p; ++r) {
            CHECK(group.exit_code(r) == 0);
            CHECK(group.of(r).phase == 1);
            CHECK(group.of(r).wrong == 0);
        }
    }
}
TEST_CASE("combining_tree: over threads, and with memory for a single operation") {
    for (const std::uint32_t in_flight : {1u, 4u}) {
        std::atomic<int> wrong{0};
        threads(5, {.in_flight = in_flight}, [&](tree_type& tree) { wrong += exercise(tree, 200); });
        CHECK(wrong == 0);
    }
}
TEST_CASE("combining_tree: once all have come the result is there, though every other rank is at work elsewhere") {
    for (const rank_t p : {2u, 5u, 8u})
        for (rank_t last = 0; last != p; ++last) {
            std::atomic<rank_t> came{0};
            std::atomic<int> wrong{0};
            threads(p, {}, [&](tree_type& tree) {
                const rank_t me = tree.rank();
                std::uint64_t x = me;
                until([&] { return me != last || came == p - 1; });
                operation op = start_reduce(tree, std::span(&x, 1), plus{}, root{0});
                wrong += me != 0 && !op.done(); // it has done its part
                ++came;
                until([&] { return came >= p; });
                if (me == 0) {
                    wrong += !op.poll() || x != p * (p - 1) / 2; // looked at once
                    came = p + 1;
                }
                until([&] { return came == p + 1; }); // calls nothing meanwhile
            });
            CHECK(wrong == 0);
        }
}
TEST_CASE(
    "combining_tree: a rank that dies is an error on every other one; one that leaves after its part is not missed") {
    for (const rank_t victim : {0u, 1u, 3u}) {
        processes group(4, [&](auto& wire, report& told) {
            combining_tree tree{common_memory{wire}};
            std::uint64_t x = 1;
            allreduce(tree, std::span(&x, 1), plus{});
            told.phase = 1;
            if (tree.rank() == victim) {
                for (int i = 0; i != 20; ++i) {
                    x = 1;
                    allreduce(tree, std::span(&x, 1), plus{});
                }
                std::raise(SIGKILL);
            }
            told.result = sum_until_an_error(tree);
            told.phase = 2;
        });
        group.wait();
        for (rank_t r = 0; r != 4; ++r)
            if (r != victim) {
                CHECK(group.of(r).phase == 2);
                CHECK(is_death_of(group.of(r).result, victim));
            }
    }
    std::atomic<int> wrong{0};
    std::atomic<rank_t> away{0};
    testing::thread_wire_up world{3};
    std::vector<std::thread> all;
    for (rank_t r = 0; r != 3; ++r)
        all.emplace_back([&, r] {
            std::uint64_t x = r + 1;
            operation op;
            {
                auto wire = world.of(r);
                combining_tree tree{common_memory{wire}};
                until([&] { return r != 2 || away == 1; }); // rank 1 is gone
                op = start_reduce(tree, std::span(&x, 1), plus{}, root{0});
                until([&] { return r != 0 || op.poll(); });
            }
            wrong += op.result() ? 1 : 0;
            op = {};
            if (r == 1) away = 1;
            wrong += r == 0 && x != 6;
        });
    for (std::thread& t : all) t.join();
    CHECK(wrong == 0);
}
TEST_CASE("combining_tree: a rank that dies while it combines for others is an error, and not for ever") {
    struct deadly {
        bool kills = false;
        std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const {
            if (kills) std::raise(SIGKILL);
            return a + b;
        }
    };
    processes group(4, [&](auto& wire, report& told) {
        combining_tree tree{common_memory{wire}};
        if (tree.rank() == 3) { // all others have come
            told.phase = 1;
            until([&] { return told.phase == 2; });
            std::uint64_t x = 1;
            allreduce(tree, std::span(&x, 1), deadly{true});
        }
        std::uint64_t x = 1;
        operation op = start_allreduce(tree, std::span(&x, 1), deadly{});
        told.phase = 1;
        op.wait(told.result);
        told.phase = 2;
    });
    REQUIRE(group.reached(1));
    group.of(3).phase = 2;
    group.wait();
    for (rank_t r = 0; r != 3; ++r) {
        CHECK(group.of(r).phase == 2);
        CHECK(is_death_of(group.of(r).result, 3));
    }
}
TEST_CASE("combining_tree: another call, a throwing op, a call too long and a missing rank are errors on every rank") {
    std::array<status, 4> said;
    std::atomic<int> open{0}; // groups after their end
    const auto all = [&](auto&& call) {
        threads(4, {.most_bytes = 64}, [&](tree_type& tree) {
            std::vector<std::uint64_t> x(8, 1);
            operation op = call(tree, std::span(x));
            op.wait(said[tree.rank()]);
            // A rank whose part was done before is told in its next call.
            if (!said[tree.rank()]) said[tree.rank()] = sum_until_an_error(tree);
            status next;
            start_allreduce(tree, x, plus{}).wait(next);
            open += next.code != errc::group_poisoned;
        });
    };
    const auto is = [](const status& s, errc code) { return s.code == code || s.cause == code; };
    all([](tree_type& tree, std::span<std::uint64_t> x) {
        return start_reduce(tree, x, plus{}, root{tree.rank() == 2 ? 1u : 0u});
    });
    for (const status& s : said) {
        CHECK(is(s, errc::call_mismatch));
        CHECK(s.mismatch == mismatch::root);
    }
    all([](tree_type& tree, std::span<std::uint64_t> x) {
        return start_allreduce(tree, x, [me = tree.rank()](std::uint64_t a, std::uint64_t b) {
            if (a + b > 2) throw std::runtime_error("no");
            return a + b;
        });
    });
    for (const status& s : said) CHECK(is(s, errc::op_threw));
    all([](tree_type& tree, std::span<std::uint64_t> x) {
        static thread_local std::vector<std::uint64_t> long_one(9, 1);
        return start_allreduce(tree, tree.rank() == 1 ? std::span(long_one) : x, plus{});
    });
    for (const status& s : said) CHECK((is(s, errc::size_overflow) || is(s, errc::call_mismatch)));
    CHECK(open == 0);
    std::atomic<int> started{0}, over{0};
    threads(4, {}, [&](tree_type& tree) {
        std::uint64_t x = 1;
        operation op;
        if (tree.rank() != 2) op = start_allreduce(tree, std::span(&x, 1), plus{});
        ++started;
        until([&] { return started == 4; }); // who has come is known
        if (tree.rank() == 1) op.set_timeout_ns(1);
        op.wait(said[tree.rank()]);
        ++over;
        until([&] { return over == 4; });
    });
    said[2] = said[1];
    for (const status& s : said) CHECK((s.peer == 2 && names_missing(s) && s.missing == 1));
    for (const status& s : said) CHECK(is(s, errc::deadline));
}
TEST_CASE("combining_tree: a blocking call leaves its error where it is told to, or throws it") {
    std::atomic<int> right{0};
    std::latch both_ended(2); // a refused call ends the group, and what the other rank still waits for
    threads(2, {}, [&](tree_type& tree) {
        std::vector<std::uint64_t> x(2, tree.rank() + 1u);
        status s{.code = errc::deadline};
        allreduce(tree, x, plus{}, s);
        std::error_code ec = make_error_code(errc::deadline);
        reduce(tree, x, plus{}, root{0}, ec);
        right += !s && !ec && x[1] == (tree.rank() == 0 ? 6u : 3u);
        both_ended.arrive_and_wait();
        reduce(tree, x, plus{}, root{2}, s);
        right += s.code == errc::invalid_argument || s.cause == errc::invalid_argument;
        try {
            allreduce(tree, x, plus{});
        } catch (const error&) {
            ++right;
        }
    });
    CHECK(right == 6);
}

TEST_CASE("combining_tree: an operation that is cancelled or destroyed in flight ends the group, each once") {
    for (const bool destroy : {false, true}) {
        std::atomic<int> wrong{0}, started{0};
        std::atomic<bool> given_up{false};
        threads(3, {}, [&](tree_type& tree) {
            std::uint64_t x = 1, y = 1;
            status s, t;
            if (tree.rank() == 2) {
                until([&] { return given_up.load(); });
                start_allreduce(tree, std::span(&x, 1), plus{}).wait(s);
                wrong += s.code != errc::group_poisoned || s.cause != errc::cancelled;
                return;
            }
            operation op = start_allreduce(tree, std::span(&x, 1), plus{});
            operation other = start_allreduce(tree, std::span(&y, 1), plus{});
            ++started;
            until([&] { return started == 2; });
            if (tree.rank() == 1) {
                if (destroy) {
                    op = {};
                } else {
                    op.cancel();
                    op.wait(s);
                    wrong += s.code != errc::cancelled;
                }
                given_up = true;
                other.wait(t);
                wrong += t.code != errc::group_poisoned;
                return;
            }
            op.wait(s);
            other.wait(t);
            wrong += s.code != errc::peer_aborted || s.cause != errc::cancelled || !t;
        });
        CHECK(wrong == 0);
    }
}
TEST_CASE(
    "combining_tree: options that break a rule, or differ, and memory that does not suffice are errors of each call") {
    for (const int broken : {0, 1, 2}) {
        testing::thread_wire_up world{2};
        std::array<status, 2> said;
        std::atomic<int> made{0};
        std::vector<std::thread> all;
        for (rank_t r = 0; r != 2; ++r)
            all.emplace_back([&, r] {
                auto wire = world.of(r);
                combining_tree tree{common_memory{wire, {.bytes = broken == 2 ? 1'000u : 100'000u}},
                                    {.most_bytes = broken == 0   ? 0u
                                                   : broken == 1 ? 64u + 64u * r
                                                                 : 4096u}};
                ++made;
                until([&] { return made == 2; });
                std::uint64_t x = 1;
                start_allreduce(tree, std::span(&x, 1), plus{}).wait(said[r]);
            });
        for (std::thread& t : all) t.join();
        for (const status& s : said)
            CHECK((s.code == errc::group_poisoned ? s.cause : s.code) == errc::invalid_argument);
        testing::thread_wire_up alone{1};
        auto wire = alone.of(0);
        status why;
        CHECK_FALSE(common_memory::join(wire, why, {.bytes = 0}));
        CHECK(why.code == errc::invalid_argument);
    }
}
// Over one mapping, so that ThreadSanitizer sees all of it.
TEST_CASE("combining_words: threads that race to each node") {
    using words = detail::combining_words;
    for (const rank_t p : {2u, 3u, 7u}) {
        const words::shape shape{p, 2, 64};
        std::vector<std::byte> room(shape.bytes() + 64);
        auto* at = room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64) % 64;
        std::atomic<int> wrong{0};
        std::vector<std::thread> all;
        for (rank_t r = 0; r != p; ++r)
            all.emplace_back([&, r] {
                const words w(at, shape);
                for (std::uint64_t k = 0; k != 150; ++k) {
                    const affine mine = value_of(k, r, 0);
                    const auto combine = [](const std::byte* lower, const std::byte* upper, std::byte* out) {
                        affine a, b;
                        std::memcpy(&a, lower, sizeof a);
                        std::memcpy(&b, upper, sizeof b);
                        a = compose{}(a, b);
                        std::memcpy(out, &a, sizeof a);
                    };
                    rank_t peer = no_rank;
                    until([&] { return w.is_turn(k); });
                    w.contribute(r, k, {.count = k}, std::as_bytes(std::span(&mine, 1)), peer, combine);
                    until([&] { return w.is_done(k); });
                    affine result;
                    std::memcpy(&result, w.result(k), sizeof result);
                    wrong += !(result == expected(k, p, 0));
                    w.release(k, p);
                }
            });
        for (std::thread& t : all) t.join();
        CHECK(wrong == 0);
    }
}
#endif
