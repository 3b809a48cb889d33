// SPDX-License-Identifier: BSL-1.0
// Partial calls: the result is that of the ranks that have come, in rank order; all ranks have the same
// one, and know whose it is; a late rank keeps nobody waiting, up to the bound; and every wait has an
// end.
#include "call/partial.hpp"

#include "support/catch.hpp"
#include "support/until.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/call/named.hpp>
#include <bough/call/partial.hpp>
#include <bough/core/absence.hpp>
#include <bough/error.hpp>
#include <bough/group.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/exact_sum.hpp>
#include <bough/op/min_max.hpp>
#include <bough/op/quantised_sum.hpp>
#include <bough/operation.hpp>
#include <bough/progress/thread.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/serialised.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;
using namespace std::chrono_literals;
using bough_test::until;
namespace calls = test::partial_calls;

namespace {

// One long from each rank: a bit of its own. The result says who is in it.
template <class Comm>
status add(Comm& comm, long& sum, partial how, contributors* came = nullptr) {
    const std::vector<long> in(1, 1L << comm.rank());
    std::vector<long> out(1, -1);
    how.contributed = came;
    status s;
    allreduce(comm, in, out, plus{}, how, s);
    sum = out[0];
    return s;
}
bool is_of(const status& s, errc code) { return s.code == code || s.cause == code; }

// A pair that travels by its wire form.
struct pair {
    std::uint8_t tag = 0;
    std::uint32_t value = 0;
    friend bool operator==(const pair&, const pair&) = default;
};

} // namespace

template <>
struct bough::wire<pair> {
    static constexpr std::size_t size = 5;
    static void encode(const pair& x, std::span<std::byte, size> to) {
        to[0] = std::byte{x.tag};
        for (std::size_t i = 0; i != 4; ++i) to[1 + i] = static_cast<std::byte>(x.value >> 8 * i);
    }
    static pair decode(std::span<const std::byte, size> from) {
        pair x{static_cast<std::uint8_t>(from[0]), 0};
        for (std::size_t i = 0; i != 4; ++i) x.value |= static_cast<std::uint32_t>(from[1 + i]) << 8 * i;
        return x;
    }
};

TEST_CASE("partial: any ranks late, the fold over those that have come, the same everywhere") {
    const std::uint64_t rounds = bough_test::all() ? 4'000 : 150;
    std::uint64_t without = 0;
    for (rank_t p = 1; p != 10; ++p) {
        std::vector<std::vector<calls::outcome>> had(p, std::vector<calls::outcome>(rounds));
        std::vector<int> wrong(p, -1);
        in_process{p}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            wrong[comm.rank()] = calls::exercise(
                comm, 0, rounds, [&](std::uint64_t k, const calls::outcome& o) { had[comm.rank()][k] = o; });
            barrier(comm);
        });
        for (rank_t r = 0; r != p; ++r) {
            CAPTURE(p, r);
            CHECK(wrong[r] == 0);
            CHECK(had[r] == had[0]);
        }
        for (const calls::outcome& o : had[0]) without += o.who != (std::uint64_t{1} << p) - 1;
    }
    CHECK(without > rounds / 2); // ranks did come too late
}

TEST_CASE("partial: among the calls of a split, beside other calls, with a helper, and with a hook") {
    std::array<int, 7> wrong{};
    in_process{7}.run([&](auto transport) {
        communicator comm{serialised{std::move(transport)}};
        const rank_t me = comm.rank();
        progress_thread helper;
        helper.look_after(comm);
        auto half = split(comm, me % 2, comm.size() - me);
        int turns = 0;
        half.set_while_waiting({[](void* count, std::uint32_t) { return ++*static_cast<int*>(count), false; }, &turns});
        std::vector<calls::outcome> seen;
        for (std::uint64_t k = 0; k != 10; ++k) {
            std::vector<long> x(2000, 1);
            operation flying = start_allreduce(half, x, plus{});
            wrong[me] +=
                calls::exercise(half, k * 5, 5, [&](std::uint64_t, const calls::outcome& o) { seen.push_back(o); });
            flying.wait();
            wrong[me] += x[1999] != half.size();
            wrong[me] += calls::exercise(comm, k * 5, 2, [](std::uint64_t, const calls::outcome&) {});
        }
        // All ranks of the half have seen the same.
        std::vector<std::uint64_t> lowest, highest;
        for (const calls::outcome& o : seen) lowest.insert(lowest.end(), {o.hash, o.who});
        highest = lowest;
        allreduce(half, lowest, min{});
        allreduce(half, highest, max{});
        wrong[me] += lowest != highest;
        wrong[me] += turns == 0;
        barrier(comm);
        helper.leave(comm);
    });
    CHECK(wrong == std::array<int, 7>{});
}

TEST_CASE("partial: a late rank keeps nobody waiting, gets what the others had, and is waited for at the bound") {
    for (const std::uint32_t behind : {0u, 1u, 3u, 8u}) {
        std::atomic<std::uint32_t> made{0};
        std::atomic<int> wrong{0};
        std::array<std::vector<long>, 3> sums;
        in_process{3}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            comm.set_timeout(60s);
            const partial how{.at_least = 2, .behind = behind};
            if (comm.rank() == 2) {
                until([&] { return made == behind; });
                std::this_thread::sleep_for(50ms);
                wrong += made != behind; // the next call waits for this rank
            }
            for (std::uint32_t k = 0; k != behind + 5; ++k) {
                long sum = 0;
                contributors came;
                wrong += static_cast<bool>(add(comm, sum, how, &came));
                wrong += k < behind && (sum != 3 || came.has(2) || came.count() != 2);
                if (comm.rank() == 0) ++made;
                sums[comm.rank()].push_back(sum);
            }
            barrier(comm);
        });
        CAPTURE(behind);
        CHECK(wrong == 0);
        CHECK(sums[1] == sums[0]);
        CHECK(sums[2] == sums[0]);
    }
}

TEST_CASE("partial: a rank that is always some calls late, with long results and short ones") {
    constexpr std::uint32_t rounds = 60, late = 5;
    for (const std::size_t count : {std::size_t{4}, std::size_t{100'000}}) {
        std::atomic<std::uint32_t> made{0};
        std::atomic<int> wrong{0};
        in_process{4}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            comm.set_timeout(60s);
            contributors came;
            std::vector<long> in(count, 1L << comm.rank()), out(count);
            for (std::uint32_t k = 0; k != rounds; ++k) {
                if (comm.rank() == 3) until([&] { return made >= k + late || made == rounds; });
                allreduce(comm, in, out, plus{}, partial{.at_least = 3, .behind = late, .contributed = &came});
                const bool is_without = k + late < rounds; // at the end there is nobody to be behind of
                wrong += is_without && (out[0] != 7 || out[count - 1] != 7 || came.has(3));
                if (comm.rank() == 0) ++made;
            }
            barrier(comm);
        });
        CAPTURE(count);
        CHECK(wrong == 0);
    }
}

TEST_CASE("partial: what a late rank brings goes into a later call, and nothing is lost") {
    std::array<long, 5> total{}, brought{};
    in_process{5}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        const rank_t me = comm.rank();
        long rest = 0;
        contributors came;
        std::vector<long> in(1), out(1);
        for (std::uint64_t k = 0; k != 200; ++k) {
            if (bough_test::mixed(k * 5 + me) % 4 == 0) std::this_thread::sleep_for(200us);
            const long fresh = static_cast<long>(bough_test::mixed(k * 7 + me) % 1000);
            brought[me] += fresh;
            in[0] = rest + fresh;
            // The last call waits for all.
            allreduce(comm, in, out, plus{},
                      partial{.at_least = k == 199 ? 5u : 1u, .behind = 20, .contributed = &came});
            rest = came.has(me) ? 0 : in[0];
            total[me] += out[0];
        }
    });
    for (const long t : total) CHECK(t == brought[0] + brought[1] + brought[2] + brought[3] + brought[4]);
}

TEST_CASE("partial: every kind of op and element, also for a late rank") {
    std::array<int, 4> wrong{};
    in_process{4}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        const rank_t me = comm.rank();
        const partial how{.at_least = 3};
        const auto come = [&] { // rank 3 is late
            if (me == 3) std::this_thread::sleep_for(100ms);
        };
        contributors came;
        partial says = how;
        says.contributed = &came;

        const std::vector<pair> mine(3, pair{static_cast<std::uint8_t>(me), me + 1});
        std::vector<pair> all(3);
        come();
        allreduce(
            comm, mine, all,
            [](const pair& a, const pair& b) {
                return pair{b.tag, a.value};
            },
            says);
        wrong[me] += came.count() != 3 || all[2] != pair{2, 1};

        const std::array<double, 2> x{1e16, me == 1 ? 1.0 : -5e15};
        std::array<double, 2> sum{};
        come();
        allreduce(comm, x, sum, exact_sum{}, says);
        wrong[me] += came.count() != 3 || sum[0] != 3e16 || sum[1] != -1e16 + 1;

        const std::vector<float> g(1000, 0.5f);
        std::vector<float> scaled(1000);
        come();
        allreduce(comm, g, scaled, quantised_sum{}, says);
        wrong[me] += came.count() != 3 || scaled[999] < 1.4f || scaled[999] > 1.6f;
        barrier(comm);
    });
    CHECK(wrong == std::array<int, 4>{});
}

TEST_CASE("partial: one rank alone, nobody late, and reused memory") {
    std::atomic<int> wrong{0};
    in_process{1}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        long sum = 0;
        contributors came;
        wrong += static_cast<bool>(add(comm, sum, {.within = 1h, .at_least = 0, .behind = 0}, &came));
        wrong += sum != 1 || came.count() != 1 || !came.has(0);
    });
    in_process{5}.run([&](auto transport) { // all come: nobody waits for an hour
        communicator comm{std::move(transport)};
        for (int i = 0; i != 100; ++i) {
            long sum = 0;
            wrong += static_cast<bool>(add(comm, sum, {.within = 1h}));
            wrong += sum != 31;
        }
    });
    CHECK(wrong == 0);
}

TEST_CASE("partial: a rank that never comes is named when it is needed, and learns it when it comes") {
    std::array<status, 3> first, second;
    std::atomic<int> wrong{0};
    std::atomic<bool> may_come{false};
    in_process{3}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        comm.set_timeout(1s);
        const rank_t me = comm.rank();
        const partial how{.at_least = 2, .behind = 2};
        if (me == 2) until([&] { return may_come.load(); });
        long sum = 0;
        for (int k = 0; k != 2; ++k) wrong += add(comm, sum, how) || sum != 3;
        first[me] = add(comm, sum, how);
        // And where so many must contribute.
        second[me] = add(comm, sum, {.at_least = 3});
        if (me == 0) may_come = true;
        comm.set_timeout(30s);
        std::vector<int> x(10, 1); // the ranks are in step
        allreduce(comm, x, plus{});
        wrong += x[9] != 3;
    });
    CHECK(wrong == 0);
    for (const auto& all : {first, second})
        for (rank_t r = 0; r != 3; ++r) {
            CAPTURE(r, message_of(all[r]));
            CHECK(all[r].code == (r == 0 ? errc::deadline : errc::peer_aborted));
            CHECK(is_deadline(all[r]));
            CHECK(names_missing(all[r]));
            CHECK(all[r].peer == 2);
            CHECK(all[r].missing == 1);
        }
}

TEST_CASE("partial: a decider that never comes is named") {
    std::array<status, 3> ended;
    std::atomic<int> wrong{0}, gave_up{0};
    in_process{3}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        comm.set_timeout(300ms);
        long sum = 0;
        if (comm.rank() == 1) until([&] { return gave_up == 2; });
        ended[comm.rank()] = add(comm, sum, {.decider = 1});
        ++gave_up;
        comm.set_timeout(30s);
        wrong += add(comm, sum, {.at_least = 3, .decider = 2}) || sum != 7;
    });
    CHECK(wrong == 0);
    for (rank_t r = 0; r != 3; ++r) {
        CAPTURE(r, message_of(ended[r]));
        CHECK(is_deadline(ended[r]));
        CHECK(ended[r].peer == 1);
        CHECK(ended[r].missing == 1);
    }
}

TEST_CASE("partial: calls that differ are found out, whichever rank differs") {
    enum class other { plain, count, terms, op, type, collective };
    for (const other what : {other::plain, other::count, other::terms, other::op, other::type, other::collective})
        for (rank_t odd = 0; odd != 4; ++odd) { // 0 decides; 3 is late
            std::array<status, 4> ended;
            in_process{4}.run([&](auto transport) {
                communicator comm{std::move(transport)};
                comm.set_timeout(20s);
                const rank_t me = comm.rank();
                const bool differs = me == odd;
                if (me == 3) std::this_thread::sleep_for(20ms);
                const partial how{.within = 1ms};
                const std::vector<int> in(differs && what == other::count ? 5 : 4, 1);
                std::vector<int> out(in.size());
                status s;
                if (!differs || what == other::count)
                    allreduce(comm, in, out, plus{}, how, s);
                else if (what == other::plain)
                    allreduce(comm, in, out, plus{}, s);
                else if (what == other::terms)
                    allreduce(comm, in, out, plus{}, partial{.within = 1ms, .behind = 3}, s);
                else if (what == other::op)
                    allreduce(comm, in, out, max{}, how, s);
                else if (what == other::collective)
                    barrier(comm, s);
                else {
                    const std::vector<float> x(4, 1);
                    std::vector<float> y(4);
                    allreduce(comm, x, y, plus{}, how, s);
                }
                if (!s) barrier(comm, s); // a rank may rightly have gone on
                ended[me] = s;
            });
            for (rank_t r = 0; r != 4; ++r) {
                CAPTURE(static_cast<int>(what), odd, r, message_of(ended[r]));
                CHECK(is_of(ended[r], errc::call_mismatch));
            }
        }
}

TEST_CASE("partial: a call that two ranks have decided is found out, though it ended well") {
    std::atomic<bool> is_at_work{false}, has_second_ended{false};
    std::array<status, 3> first, second;
    in_process{3}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        comm.set_timeout(20s);
        const rank_t me = comm.rank();
        const std::vector<long> in(1, 1);
        std::vector<long> out(1);
        // Ranks 0 and 2 combine while rank 1 decides and ends.
        const auto add_slowly = [&](long a, long b) {
            is_at_work = true;
            until([&] { return has_second_ended.load(); });
            return a + b;
        };
        if (me == 1) until([&] { return is_at_work.load(); });
        allreduce(comm, in, out, add_slowly, partial{.at_least = me == 1 ? 1u : 2u, .decider = me == 1 ? 1u : 0u},
                  first[me]);
        if (me == 1) has_second_ended = true;
        allreduce(comm, in, out, plus{}, partial{.at_least = 3}, second[me]);
    });
    for (rank_t r = 0; r != 3; ++r) {
        CAPTURE(r, message_of(first[r]), message_of(second[r]));
        CHECK(!first[r]);
        CHECK(is_of(second[r], errc::call_mismatch));
        CHECK(second[r].operation == 1);
    }
}

TEST_CASE("partial: ranks whose costs choose different plans are found out") {
    std::array<status, 3> ended;
    in_process{3}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        comm.set_timeout(20s);
        if (comm.rank() == 1) // a start costs nothing here, and much there
            comm.set_costs(model::alpha_beta_gamma{.alpha_ns = 0.01, .beta_ns_per_byte = 1e3, .gamma_ns_per_byte = 0});
        else
            comm.set_costs(model::alpha_beta_gamma{.alpha_ns = 1e9, .beta_ns_per_byte = 1e-6, .gamma_ns_per_byte = 0});
        const std::vector<long> in(3000, 1);
        std::vector<long> out(in.size());
        allreduce(comm, in, out, plus{}, partial{.at_least = 3}, ended[comm.rank()]);
    });
    for (rank_t r = 0; r != 3; ++r) {
        CAPTURE(r, message_of(ended[r]));
        CHECK(is_of(ended[r], errc::call_mismatch));
        CHECK(ended[r].mismatch == mismatch::plan);
    }
}

TEST_CASE("partial: wrong arguments are refused, and the others are told") {
    std::array<std::vector<status>, 2> ended;
    in_process{2}.run([&](auto transport) {
        communicator base{std::move(transport)};
        const rank_t me = base.rank();
        const auto refused = [&](const auto& call) {
            communicator comm = duplicate(base);
            std::vector<int> in(2, 1), out(2);
            status s;
            call(comm, in, out, s);
            ended[me].push_back(s);
        };
        refused([](auto& comm, auto& in, auto& out, status& s) {
            allreduce(comm, in, out, plus{}, partial{.decider = 2}, s);
        });
        refused([](auto& comm, auto& in, auto& out, status& s) {
            allreduce(comm, in, out, plus{}, partial{.at_least = 3}, s);
        });
        refused(
            [](auto& comm, auto& in, auto&, status& s) { allreduce(comm, in, std::span(in), plus{}, partial{}, s); });
        refused([](auto& comm, auto& in, auto& out, status& s) {
            allreduce(comm, in, std::span(out).first(1), plus{}, partial{}, s);
        });
        refused([me](auto& comm, auto& in, auto& out, status& s) { // one rank only
            allreduce(comm, in, out, plus{}, partial{.within = 1h, .at_least = me == 1 ? 3u : 2u}, s);
        });
        communicator with_names = duplicate(base);
        std::vector<int> in(2, 1), out(2);
        status s;
        allreduce(with_names, in, out, plus{}, named{"first"}, s);
        allreduce(with_names, in, out, plus{}, partial{}, s);
        ended[me].push_back(s);
        barrier(base);
    });
    for (const rank_t r : {0u, 1u}) {
        REQUIRE(ended[r].size() == 6);
        for (std::size_t i = 0; i != 6; ++i) {
            CAPTURE(r, i, message_of(ended[r][i]));
            CHECK(is_of(ended[r][i], errc::invalid_argument));
        }
    }
}

TEST_CASE("partial: another call is cancelled, a communicator breaks, and the group, while a rank waits") {
    for (const int what : {0, 1, 2, 3}) {
        std::array<status, 3> ended;
        in_process{3}.run([&](auto transport) {
            communicator base{std::move(transport)};
            communicator comm = duplicate(base);
            comm.set_timeout(20s);
            const rank_t me = comm.rank();
            long sum = 0;
            if (me == 2) { // for which the others wait
                std::this_thread::sleep_for(20ms);
                if (what == 2) return; // leaves the group
                if (what == 3) {
                    { const communicator gone = std::move(comm); } // makes no call of it any more
                    return barrier(base);
                }
                std::vector<int> in(2, 1), out(1);
                status s;
                if (what == 0)
                    allreduce(comm, in, out, plus{}, partial{.at_least = 3}, s); // refused
                else
                    start_allreduce(comm, in, plus{}).cancel(); // another call
                ended[me] = {};
                return;
            }
            ended[me] = add(comm, sum, {.within = 1h, .at_least = 3});
            if (what == 3) barrier(base);
        });
        for (const rank_t r : {0u, 1u}) {
            CAPTURE(what, r, message_of(ended[r]));
            CHECK(ended[r]);
            CHECK(!is_deadline(ended[r]));
        }
    }
}
