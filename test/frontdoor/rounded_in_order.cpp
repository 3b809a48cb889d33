// SPDX-License-Identifier: BSL-1.0
// rounded_once where the values themselves travel: the bits of a sum in rank order, in every form of a call;
// and what happens to a call in which a rank is lost, gives up, or differs, before its owners have combined and after.
#include "support/rounded.hpp"

#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/by_owner.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/allreduce.hpp>
#include <bough/batch.hpp>
#include <bough/communicator.hpp>
#include <bough/decision.hpp>
#include <bough/error.hpp>
#include <bough/exscan.hpp>
#include <bough/op/any_op.hpp>
#include <bough/op/min_max.hpp>
#include <bough/op/quantised_sum.hpp>
#include <bough/op/rounded_once.hpp>
#include <bough/operation.hpp>
#include <bough/reduce.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/run_time.hpp>
#include <bough/scan.hpp>
#include <bough/select/standard/allreduce.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/simulated.hpp>
#include <bough/tree/fnomial.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace bough;
using bough_test::contribution_of;
using bough_test::in_rank_order;
using bough_test::same_bits;

// Counts how many blocks have been combined.
struct counting : rounded_once<> {
    std::size_t* combined = nullptr;
    template <bough::detail::narrower<float> T>
    void combine_many(const std::byte* const* operands, std::size_t size, std::byte* out, std::size_t count) const {
        ++*combined;
        rounded_once<>::combine_many<T>(operands, size, out, count);
    }
};

std::vector<std::size_t> counts_for(rank_t ranks) { return {0, 1, ranks - 1, ranks, 2 * ranks + 1, 5001}; }

// Every form of allreduce, reduce and reduce_scatter on one rank. Returns how many results were wrong.
template <class T, class O, class Comm, class Choice>
int wrong_results(Comm& comm, std::size_t count, const O& op, const Choice& choice) {
    const rank_t me = comm.rank(), ranks = comm.size();
    const std::vector<T> mine = contribution_of<T>(me, count), expected = in_rank_order<T>(ranks, count, op);
    int wrong = 0;
    const auto check = [&](const std::vector<T>& made, const std::vector<T>& right) {
        wrong += !same_bits(made, right);
    };

    std::vector<T> x = mine, out(count);
    allreduce(comm, std::span(x), op, choice);
    check(x, expected);
    for (int turn = 0; turn != 3; ++turn) { // the same call again
        out.assign(count, T(7.f));
        allreduce(comm, std::span<const T>(mine), std::span(out), op, choice);
        check(out, expected);
    }
    x = mine;
    auto started = start_allreduce(comm, std::span(x), op, choice);
    started.wait();
    check(x, expected);
    auto bound = bind_allreduce(comm, std::span(x), op, choice);
    for (int turn = 0; turn != 3; ++turn) {
        x = mine;
        bound.start();
        bound.wait();
        check(x, expected);
    }
    for (const rank_t to : {rank_t{0}, ranks - 1}) {
        x = mine;
        reduce(comm, std::span(x), op, root{to}, choice);
        check(x, me == to ? expected : mine);
        out.assign(count, T(7.f));
        auto begun = start_reduce(comm, std::span<const T>(mine), std::span(out), op, root{to}, choice);
        begun.wait();
        check(out, me == to ? expected : std::vector<T>(count, T(7.f)));
    }
    // One block for each rank, of equal length; then of unlike ones, some empty.
    const std::size_t whole = count * ranks;
    const std::vector<T> longer = contribution_of<T>(me, whole), all = in_rank_order<T>(ranks, whole, op);
    const auto block = [&](std::size_t first, std::size_t length) {
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
        return std::vector<T>(begin, begin + static_cast<std::ptrdiff_t>(length));
    };
    out.assign(count, T(7.f));
    reduce_scatter(comm, std::span<const T>(longer), std::span(out), op, choice);
    check(out, block(me * count, count));
    std::vector<T> in_place = longer;
    auto bound_scatter = bind_reduce_scatter(comm, std::span(in_place), op, choice);
    for (int turn = 0; turn != 2; ++turn) {
        in_place = longer;
        bound_scatter.start();
        bound_scatter.wait();
        const auto own = in_place.begin() + static_cast<std::ptrdiff_t>(me * count);
        check(std::vector<T>(own, own + static_cast<std::ptrdiff_t>(count)), block(me * count, count));
    }
    std::vector<std::size_t> lengths(ranks, 0);
    for (std::size_t left = whole, r = 0; r != ranks; ++r) {
        lengths[r] = r + 1 == ranks ? left : std::min(left, r % 3 * count);
        left -= lengths[r];
    }
    std::size_t first = 0;
    for (rank_t r = 0; r != me; ++r) first += lengths[r];
    out.assign(lengths[me], T(7.f));
    reduce_scatterv(comm, std::span<const T>(longer), std::span(out), std::span<const std::size_t>(lengths), op,
                    choice);
    check(out, block(first, lengths[me]));
    return wrong;
}

TEST_CASE("rounded_once by owners: the bits of a sum in rank order, in every form", "[frontdoor]") {
    for (rank_t ranks = 1; ranks != 10; ++ranks) {
        CAPTURE(ranks);
        std::vector<int> wrong(ranks, -1);
        in_process{ranks}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            int found = 0;
            for (const std::size_t count : counts_for(ranks)) {
                found += wrong_results<bf16>(comm, count, rounded_once{}, by_owner{});
                found += wrong_results<fp16>(comm, count, rounded_once<>{.before = 0.3f, .after = 0.1f}, by_owner{});
            }
            found += wrong_results<fp8_e5m2>(comm, 77, rounded_once<max>{.after = 3.f}, by_owner{});
            found += wrong_results<fp8_e4m3>(comm, 77, rounded_once{}, by_owner{});
            found += wrong_results<float>(comm, 1234, rounded_once<plus, double>{.after = 0.1}, by_owner{});
            wrong[comm.rank()] = found;
        });
        CHECK(wrong == std::vector<int>(ranks, 0));
    }
}

TEST_CASE("rounded_once left to itself: long vectors travel as they are, short ones as states", "[frontdoor]") {
    for (const rank_t ranks : {3u, 4u, 7u}) {
        CAPTURE(ranks);
        constexpr std::size_t long_count = 60'007;
        std::vector<int> wrong(ranks, -1);
        in_process{ranks}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            const auto in_series = [&](std::size_t count) {
                const decision d =
                    decision_of<goal::allreduce>(comm, {.bytes = 4 * count, .element_bytes = 4, .narrowing = 2});
                return combines_in_series(d.winner().what.algorithm);
            };
            int found = !in_series(long_count) + in_series(2);
            // The choice is what is said: the bits show it.
            found += wrong_results<bf16>(comm, long_count, rounded_once<>{.after = 0.25f}, automatic{});
            const std::vector<fp16> mine = contribution_of<fp16>(comm.rank(), long_count);
            std::vector<fp16> x = mine;
            auto few = contribution_of<fp16>(comm.rank(), 2);
            std::vector<float> states(few.begin(), few.end());
            for (int turn = 0; turn != 2; ++turn) { // the second is remembered
                x = mine;
                allreduce(comm, std::span(x), rounded_once{});
                found += !same_bits(x, in_rank_order<fp16>(ranks, long_count, rounded_once{}));
                few = contribution_of<fp16>(comm.rank(), 2);
                states.assign(few.begin(), few.end());
                allreduce(comm, std::span(few), rounded_once{});
                allreduce(comm, std::span(states), plus{});
                found += few[0].bits() != fp16::rounded(states[0]).bits() ||
                         few[1].bits() != fp16::rounded(states[1]).bits();
            }
            // Another algorithm, or a bracket that it does not have, runs on states.
            x = mine;
            states.assign(mine.begin(), mine.end());
            allreduce(comm, std::span(x), rounded_once{}, ring{});
            allreduce(comm, std::span(states), plus{}, ring{});
            for (std::size_t i = 0; i != long_count; ++i) found += x[i].bits() != fp16::rounded(states[i]).bits();
            x = mine;
            states.assign(mine.begin(), mine.end());
            allreduce(comm, std::span(x), rounded_once{}, fnomial{.degree = 2});
            allreduce(comm, std::span(states), plus{}, fnomial{.degree = 2});
            for (std::size_t i = 0; i != long_count; ++i) found += x[i].bits() != fp16::rounded(states[i]).bits();
            x = mine;
            states.assign(mine.begin(), mine.end());
            allreduce(comm, std::span(x), rounded_once{}, automatic{.required = same_bits_for_any_partition});
            allreduce(comm, std::span(states), plus{}, automatic{.required = same_bits_for_any_partition});
            for (std::size_t i = 0; i != long_count; ++i) found += x[i].bits() != fp16::rounded(states[i]).bits();
            wrong[comm.rank()] = found;
        });
        CHECK(wrong == std::vector<int>(ranks, 0));
    }
}

TEST_CASE("rounded_once by owners: several in flight, ended in another order on each rank", "[frontdoor]") {
    for (const rank_t ranks : {2u, 3u, 5u, 8u}) {
        CAPTURE(ranks);
        std::vector<int> wrong(ranks, -1);
        in_process{ranks}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            constexpr std::array<std::size_t, 6> counts{70'001, 3, 4096, 0, 20'000, 801};
            int found = 0;
            for (int turn = 0; turn != 3; ++turn) {
                std::vector<std::vector<bf16>> data;
                std::deque<operation> all;
                for (const std::size_t count : counts) data.push_back(contribution_of<bf16>(comm.rank(), count));
                for (std::vector<bf16>& x : data)
                    all.push_back(start_allreduce(comm, std::span(x), rounded_once<>{.after = 0.5f}, by_owner{}));
                for (std::size_t k = 0; k != counts.size(); ++k) {
                    const std::size_t i = (k * 5 + comm.rank()) % counts.size();
                    all[i].wait();
                    found += !same_bits(data[i], in_rank_order<bf16>(ranks, counts[i], rounded_once<>{.after = 0.5f}));
                }
            }
            wrong[comm.rank()] = found;
        });
        CHECK(wrong == std::vector<int>(ranks, 0));
    }
}

TEST_CASE("rounded_once by owners: ranks whose counts, ops or scales differ are told", "[frontdoor]") {
    // What the ranks are told; `sentence` is there, and no rank is told another difference.
    const auto all_hear = [](rank_t ranks, const std::string& sentence, const auto& run) {
        std::vector<status> said(ranks);
        in_process{ranks}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            run(comm, said[comm.rank()]);
        });
        bool is_there = false;
        for (const status& s : said) {
            CAPTURE(message_of(s));
            const bool is_mismatch = s.code == errc::call_mismatch;
            const bool is_sentence = message_of(s).find(sentence) != std::string::npos;
            CHECK((is_mismatch ? is_sentence : s.code == errc::peer_aborted || s.code == errc::group_poisoned));
            is_there |= is_sentence;
        }
        CHECK(is_there);
    };
    all_hear(3, "the count differs (40", [](auto& comm, status& s) {
        std::vector<bf16> x(comm.rank() == 1 ? 40'000u : 40'001u);
        allreduce(comm, std::span(x), rounded_once{}, by_owner{}, s);
    });
    // One rank would divide what others only add.
    all_hear(3, "the op differs in its numbers, such as a scale before or after (rounded_once on both ranks)",
             [](auto& comm, status& s) {
                 std::vector<bf16> x(40'000);
                 allreduce(comm, std::span(x), rounded_once<>{.after = comm.rank() == 1 ? 0.5f : 1.f}, by_owner{}, s);
             });
    all_hear(3, "the op differs in its numbers", [](auto& comm, status& s) {
        std::vector<float> x(40'000);
        allreduce(comm, std::span(x), quantised_sum<>{.after = comm.rank() == 1 ? 0.5f : 1.f}, s);
    });
    // One short and one long: their choices differ, too, and so do the types that travel.
    all_hear(4, "the count differs (4", [](auto& comm, status& s) {
        std::vector<bf16> x(comm.rank() == 1 ? 4u : 400'001u);
        allreduce(comm, std::span(x), rounded_once{}, s);
    });
    all_hear(3, "the plan differs (0x", [](auto& comm, status& s) {
        std::vector<bf16> x(400'001);
        if (comm.rank() == 1)
            allreduce(comm, std::span(x), rounded_once{}, ring{}, s);
        else
            allreduce(comm, std::span(x), rounded_once{}, by_owner{}, s);
    });
    all_hear(3, "the op differs (", [](auto& comm, status& s) {
        std::vector<bf16> x(40'000);
        if (comm.rank() == 2)
            allreduce(comm, std::span(x), plus{}, by_owner{}, s);
        else
            allreduce(comm, std::span(x), rounded_once{}, by_owner{}, s);
    });
}

// A user's op with a number. Each rank would add another one.
struct plus_and {
    double more = 0;
    double operator()(double a, double b) const noexcept { return a + b + more; }
    std::uint64_t hash_of_values() const noexcept { return std::bit_cast<std::uint64_t>(more); }
};

TEST_CASE("an op's numbers are compared, also where a few values travel as states", "[frontdoor]") {
    using narrow = std::span<bf16>;
    using call = std::function<void(communicator<in_process::endpoint>&, narrow, const rounded_once<>&, status&)>;
    const auto said_by_all = [](const call& run, int turns_before) {
        std::vector<status> said(3);
        in_process{3}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            std::vector<bf16> x(12, bf16(1.f));
            rounded_once<> op{.after = 0.5f};
            status& mine = said[comm.rank()];
            for (int turn = 0; turn != turns_before && !mine; ++turn) run(comm, x, op, mine); // is remembered
            if (comm.rank() == 1) op.after = 0.25f;
            if (!mine) run(comm, x, op, mine);
        });
        bool is_told = false, is_sentence = false;
        for (const status& s : said) {
            CAPTURE(message_of(s));
            is_told |= s.code == errc::call_mismatch && s.mismatch == mismatch::op;
            is_sentence |= message_of(s).find("the op differs in its numbers, such as a scale before or after "
                                              "(rounded_once on both ranks)") != std::string::npos;
        }
        CHECK(is_told);
        return is_sentence;
    };
    const call calls[] = {
        [](auto& comm, narrow x, const auto& op, status& s) { allreduce(comm, x, op, s); },
        [](auto& comm, narrow x, const auto& op, status& s) { allreduce(comm, x, op, ring{}, s); },
        [](auto& comm, narrow x, const auto& op, status& s) { reduce(comm, x, op, root{1}, s); },
        [](auto& comm, narrow x, const auto& op, status& s) { reduce_scatter(comm, x, op, s); },
        [](auto& comm, narrow x, const auto& op, status& s) { scan(comm, x, op, s); },
        [](auto& comm, narrow x, const auto& op, status& s) { exscan(comm, x, op, s); },
        [](auto& comm, narrow x, const auto& op, status& s) { start_allreduce(comm, x, op).wait(s); },
        [](auto& comm, narrow x, const auto& op, status& s) {
            auto bound = bind_reduce(comm, x, op, root{0});
            bound.start();
            bound.wait(s);
        },
        [](auto& comm, narrow x, const auto& op, status& s) {
            batch all;
            all.add(x, op);
            allreduce(comm, all, s);
        },
        [](auto& comm, narrow x, const auto& op, status& s) {
            float states[] = {static_cast<float>(x[0])};
            allreduce(comm, std::span(states), op, s);
        },
    };
    for (std::size_t i = 0; i != std::size(calls); ++i)
        for (const int turns_before : {0, 3}) {
            CAPTURE(i, turns_before);
            const bool is_sentence = said_by_all(calls[i], turns_before);
            if (i < 2) CHECK(is_sentence); // envelopes alone tell less
        }

    std::vector<status> said(2);
    in_process{2}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        status& mine = said[comm.rank()];
        double x = 1;
        plus_and op;
        for (int turn = 0; turn != 4 && !mine; ++turn) {
            if (turn == 3 && comm.rank() == 1) op.more = 2;
            allreduce(comm, std::span(&x, 1), op, mine);
        }
    });
    CHECK((message_of(said[0]) + message_of(said[1])).find("the op differs in its numbers") != std::string::npos);

    std::vector<status> at_run_time(2);
    in_process{2}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        status& mine = at_run_time[comm.rank()];
        double x = 1;
        const elements data{&x, 1, run_time_type_of<double>()};
        plus_and op;
        for (int turn = 0; turn != 4 && !mine; ++turn) {
            if (turn == 3 && comm.rank() == 1) op.more = 2;
            allreduce(comm, data, make_any_op<double>(op), mine);
        }
    });
    for (const status& s : at_run_time) CHECK(s.operation == 4);
    CHECK((message_of(at_run_time[0]) + message_of(at_run_time[1])).find("the op differs in its numbers") !=
          std::string::npos);
}

// --- what goes wrong in the middle ---

using link = simulated::endpoint;

struct trial {
    rank_t ranks = 5;
    std::size_t count = 700; // so messages stay with their senders
    std::size_t combined = 0;
    simulated world;
    std::deque<communicator<link>> comms;
    std::vector<std::vector<bf16>> in, out;
    std::deque<std::optional<operation>> all;

    explicit trial(std::uint64_t seed) : world(5, {.seed = seed}) {
        for (rank_t r = 0; r != ranks; ++r) {
            comms.emplace_back(world.connect(r));
            in.push_back(contribution_of<bf16>(r, count));
            out.emplace_back(count);
        }
    }
    void start() {
        counting op;
        op.combined = &combined;
        all.clear();
        for (rank_t r = 0; r != ranks; ++r)
            all.emplace_back(
                start_allreduce(comms[r], std::span<const bf16>(in[r]), std::span(out[r]), op, by_owner{}));
    }
    // Until this many blocks have been combined.
    void until(std::size_t blocks) {
        for (int turn = 0; combined < blocks && turn != 100'000; ++turn) {
            bool moved = false;
            for (rank_t r = 0; r != ranks && combined < blocks; ++r)
                if (world.is_alive(r)) moved |= comms[r].progress();
            if (!moved) world.advance();
        }
    }
    // Until all have ended on the ranks that live. False: they do not.
    bool end() {
        for (int turn = 0; turn != 1'000'000; ++turn) {
            bool done = true, moved = false;
            for (rank_t r = 0; r != ranks; ++r) {
                if (!world.is_alive(r)) continue;
                moved |= comms[r].progress();
                done &= all[r]->done();
            }
            if (done) return true;
            if (!moved) world.advance();
        }
        return false;
    }
    bool is_right(rank_t r) { return same_bits(out[r], in_rank_order<bf16>(ranks, count, rounded_once{})); }
};

TEST_CASE("rounded_once by owners: a rank that gives up ends the call, and the next one is well", "[frontdoor]") {
    for (std::size_t blocks = 0; blocks != 6; ++blocks) { // how many owners have combined theirs
        for (std::uint64_t seed = bough_test::seed(); seed != bough_test::seed() + 8; ++seed) {
            CAPTURE(blocks, seed);
            trial t(seed);
            t.start();
            t.until(blocks);
            REQUIRE(t.combined == blocks);
            const auto gives_up = static_cast<rank_t>(seed % t.ranks);
            t.all[gives_up]->cancel();
            REQUIRE(t.end());
            for (rank_t r = 0; r != t.ranks; ++r) {
                CAPTURE(r);
                const status said = t.all[r]->result();
                CHECK((!said ? t.is_right(r) : said.code == errc::cancelled || said.cause == errc::cancelled));
                CHECK((r != gives_up || blocks == t.ranks || said.code == errc::cancelled));
                CHECK(same_bits(t.in[r], contribution_of<bf16>(r, t.count)));
            }
            t.start();
            REQUIRE(t.end());
            for (rank_t r = 0; r != t.ranks; ++r) CHECK((t.all[r]->result().code == errc::ok && t.is_right(r)));
        }
    }
}

TEST_CASE("rounded_once by owners: a rank that is lost is named to those that needed it", "[frontdoor]") {
    for (std::size_t blocks = 0; blocks != 6; ++blocks) {
        for (std::uint64_t seed = bough_test::seed(); seed != bough_test::seed() + 8; ++seed) {
            CAPTURE(blocks, seed);
            trial t(seed);
            t.start();
            t.until(blocks);
            REQUIRE(t.combined == blocks);
            const auto lost = static_cast<rank_t>(seed % t.ranks);
            for (rank_t r = 0; r != t.ranks; ++r)
                if (r != lost) t.world.happen({.what = simulated_fault::kind::sever, .rank = lost, .peer = r});
            REQUIRE(t.end());
            bool anybody = false;
            for (rank_t r = 0; r != t.ranks; ++r) {
                if (r == lost) continue;
                CAPTURE(r);
                const status said = t.all[r]->result();
                anybody |= static_cast<bool>(said);
                CHECK((!said ? t.is_right(r) : said.code == errc::peer_dead || said.cause == errc::peer_dead));
                CHECK((!said || said.peer == lost));
            }
            CHECK((anybody || blocks == t.ranks));
        }
    }
}

} // namespace
