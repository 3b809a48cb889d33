// SPDX-License-Identifier: BSL-1.0
// A communicator that follows arrivals: a plan that hides a late rank is taken when one has been late,
// and dropped when it has stopped, by all ranks in the same call. Results are right whenever ranks come.
// Compiled alone, optimised: it prices many plans.
#include "support/catch.hpp"
#include "support/counted_new.hpp"
#include "support/until.hpp"
#include <bough/algorithm/allreduce/late_rank.hpp>
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/batch.hpp>
#include <bough/communicator/arrivals.hpp>
#include <bough/communicator/lateness.hpp>
#include <bough/communicator/spare_frame.hpp>
#include <bough/decision.hpp>
#include <bough/group.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>
#include <bough/run_time.hpp>
#include <bough/select/print_decision.hpp>
#include <bough/select/standard/allreduce.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/simulated.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

using namespace bough;
using detail::lateness, detail::lateness_of, detail::call_time, detail::not_measured;

namespace {

constexpr std::size_t long_count = 1 << 13;   // of 8 bytes: 64 KiB
constexpr std::size_t longer_count = 1 << 17; // where messages cost what they cost between threads
constexpr model::alpha_beta_gamma network{.alpha_ns = 1000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.1};

constexpr int most_turns = 300; // by then a rank that sleeps has been seen to be late, whatever else this machine does

// The rank that the next followed call of this communicator hides; no_rank: none.
template <class X>
rank_t hidden(communicator<X>& comm, std::size_t bytes = long_count * 8) {
    const decision d = decision_of<goal::allreduce>(comm, {.bytes = bytes, .element_bytes = 8});
    const auto* plan = d.winner().what.algorithm.template get<late_rank_allreduce>();
    return plan == nullptr ? no_rank : plan->late;
}

std::uint64_t value(rank_t rank, std::size_t i, std::uint64_t turn) {
    return (rank + 1) * 0x9e37'79b9'7f4a'7c15u ^ (i * 77 + turn);
}

// A group in virtual time, driven by one thread.
class party {
public:
    using link = simulated::endpoint;

    party(rank_t ranks, std::uint64_t seed, const communicator_options& options)
        : world_(ranks, {.seed = seed}), data_(ranks, std::vector<std::uint64_t>(long_count)) {
        for (rank_t r = 0; r != ranks; ++r)
            comm_.push_back(std::make_unique<communicator<link>>(world_.connect(r), options));
        calls_.resize(ranks);
    }
    ~party() {
        // The world never gives back what a crashed rank has posted, so that must stay.
        static auto& kept =
            *new std::vector<std::tuple<operation, std::unique_ptr<communicator<link>>, std::vector<std::uint64_t>>>;
        for (rank_t r = 0; r != size(); ++r)
            if (!world_.is_alive(r)) kept.emplace_back(std::move(calls_[r]), std::move(comm_[r]), std::move(data_[r]));
    }
    party(const party&) = delete;
    party& operator=(const party&) = delete;
    rank_t size() const { return static_cast<rank_t>(comm_.size()); }
    communicator<link>& operator[](rank_t r) { return *comm_[r]; }
    simulated& world() { return world_; }

    // One allreduce, to which each rank comes at this time. How many ranks have a wrong result, or an
    // error; of those that have not crashed.
    int call(const std::vector<std::uint64_t>& at_ns) {
        const std::uint64_t begin = world_.now_ns(), turn = ++turn_;
        std::vector<rank_t> order(size());
        for (rank_t r = 0; r != size(); ++r) order[r] = r;
        std::stable_sort(order.begin(), order.end(), [&](rank_t a, rank_t b) { return at_ns[a] < at_ns[b]; });
        for (const rank_t r : order) {
            for (world_.wake_at(begin + at_ns[r]); world_.now_ns() < begin + at_ns[r];) drive(begin + at_ns[r]);
            for (std::size_t i = 0; i != long_count; ++i) data_[r][i] = value(r, i, turn);
            if (world_.is_alive(r)) calls_[r] = start_allreduce(*comm_[r], data_[r], plus{});
        }
        const auto done = [this] {
            for (rank_t r = 0; r != size(); ++r)
                if (world_.is_alive(r) && !calls_[r].done()) return false;
            return true;
        };
        for (int i = 0; !done() && i != 1'000'000; ++i) drive(~std::uint64_t{0});
        settle();
        int wrong = 0;
        hangs_ = failed_ = 0;
        for (rank_t r = 0; r != size(); ++r) {
            if (!world_.is_alive(r)) continue;
            hangs_ += calls_[r].done() ? 0 : 1;
            failed_ += calls_[r].result() ? 1 : 0;
            bool right = calls_[r].done() && !calls_[r].result();
            for (std::size_t i = 0; i < long_count && right; i += 97) {
                std::uint64_t sum = 0;
                for (rank_t q = 0; q != size(); ++q) sum += value(q, i, turn);
                right = data_[r][i] == sum;
            }
            wrong += right ? 0 : 1;
        }
        return wrong;
    }
    // In the last call.
    int hangs() const { return hangs_; }
    int failed() const { return failed_; }
    // What all ranks take next; size() if they do not agree.
    rank_t hidden() {
        const rank_t first = ::hidden(*comm_[0]);
        for (auto& c : comm_)
            if (::hidden(*c) != first) return size();
        return first;
    }
    // All that is under way ends.
    void settle() {
        const auto busy = [this] {
            return std::any_of(comm_.begin(), comm_.end(), [this](auto& c) {
                return world_.is_alive(c->rank()) && c->shared_session()->outstanding() != 0;
            });
        };
        for (int i = 0; i != 100'000 && (turn_all() || busy()); ++i) drive(~std::uint64_t{0});
    }

private:
    bool turn_all() {
        bool moved = false;
        for (auto& c : comm_)
            if (world_.is_alive(c->rank())) moved |= c->progress();
        return moved;
    }
    void drive(std::uint64_t until) {
        if (turn_all() || world_.advance()) return;
        world_.advance_to(std::min(until, world_.now_ns() + 1'000'000));
    }

    simulated world_;
    std::vector<std::vector<std::uint64_t>> data_;
    std::vector<std::unique_ptr<communicator<link>>> comm_;
    std::vector<operation> calls_;
    std::uint64_t turn_ = 0;
    int hangs_ = 0, failed_ = 0;
};

std::vector<std::uint64_t> late(rank_t ranks, rank_t who, std::uint64_t ns) {
    std::vector<std::uint64_t> at(ranks, 0);
    if (who != no_rank) at[who] = ns;
    return at;
}

} // namespace

TEST_CASE("lateness: the rank that spends the least time in most calls, by the median gap") {
    using times = std::vector<call_time>;
    // Three ranks, three calls: rank 1 comes 5000 us after the others, once 9000.
    CHECK(lateness_of(times{5100, 9100, 5100, 100, 100, 100, 5100, 9200, 5200}, 3) == lateness{1, 22});
    CHECK(lateness{1, 22}.ns() == 4'194'304); // 5 ms, rounded down
    // It is late in two calls of four: not most.
    CHECK(lateness_of(times{900, 100, 900, 100, 100, 900, 100, 900}, 4) == lateness{});
    // In two of three; the median counts all three.
    CHECK(lateness_of(times{900, 900, 100, 100, 100, 900}, 3) == lateness{1, 19});
    CHECK(lateness_of(times{900, 900, 100, 100, 850, 900}, 3) == lateness{1, 15});
    // Others in turn, or two at a time: nobody.
    CHECK(lateness_of(times{100, 900, 900, 900, 100, 900, 900, 900, 100}, 3) == lateness{});
    CHECK(lateness_of(times{100, 100, 900, 900, 100, 100}, 2) == lateness{});
    // What a rank has not measured counts for none.
    CHECK(lateness_of(times{not_measured, 900, 100, 100}, 2) == lateness{1, 19});
    CHECK(lateness_of(times{900, not_measured, not_measured, 100}, 2) == lateness{});
    CHECK(lateness_of(times(6, not_measured), 3) == lateness{});
    CHECK(lateness_of(times(6, 0), 3) == lateness{});
    // Little is nothing.
    CHECK(lateness_of(times{107, 100}, 1) == lateness{});
    CHECK(lateness_of(times{108, 100}, 1) == lateness{1, 12});
    // Times beyond all are measured, and nothing overflows.
    CHECK(detail::call_time_of(~std::uint64_t{0}) == not_measured - 1);
    CHECK(lateness_of(times{not_measured - 1, 0}, 1) == lateness{1, 41});
    static_assert(lateness_of(std::array<call_time, 2>{1000, 10}, 1).rank == 1);
    CHECK(lateness{}.ns() == 0);
}

TEST_CASE("lateness: what lies about a border changes nothing, and a real change is seen at once") {
    detail::lateness_in_turn followed;
    // Rank `who` of three comes this much later in `often` of eight calls; in the others rank 0 does.
    const auto hear = [&](rank_t who, std::uint64_t us, std::size_t often = 8) {
        std::vector<call_time> times(24, static_cast<call_time>(us) + 100);
        for (std::size_t c = 0; c != 8; ++c) times[(c < often ? who : 0) * 8 + c] = 100;
        followed.hear(times, 8);
        return followed.now;
    };
    CHECK(hear(1, 4300) == lateness{1, 22});
    for (const std::uint64_t us : {4000u, 4300u, 3200u, 8300u, 8500u, 4100u, 10000u, 3150u})
        CHECK(hear(1, us) == lateness{1, 22});
    CHECK(hear(1, 3100) == lateness{1, 21}); // less than three quarters
    CHECK(hear(1, 4300) == lateness{1, 21}); // and from there on the way back is as long
    CHECK(hear(1, 5300) == lateness{1, 22});
    CHECK(hear(1, 10'600) == lateness{1, 23});
    CHECK(hear(1, 200'000) == lateness{1, 27});
    // In half of the calls it is still late, in less it is not; nor is it late anew in half.
    CHECK(hear(1, 200'000, 4) == lateness{1, 27});
    CHECK(hear(1, 200'000, 3) == lateness{0, 27});
    CHECK(hear(1, 200'000, 4) == lateness{0, 27}); // now rank 0 is
    CHECK(hear(1, 200'000) == lateness{1, 27});
    // In time, and late again by about as much.
    CHECK(hear(1, 0) == lateness{});
    CHECK(hear(1, 130'000) == lateness{1, 27});
    CHECK(hear(2, 130'000) == lateness{2, 26}); // another one
    // About the least lateness.
    CHECK(hear(2, 0) == lateness{});
    CHECK(hear(2, 7) == lateness{});
    CHECK(hear(2, 8) == lateness{2, 12});
    for (const std::uint64_t us : {7u, 8u, 6u, 9u}) CHECK(hear(2, us) == lateness{2, 12});
    CHECK(hear(2, 5) == lateness{});
}

TEST_CASE("arrivals: a late rank is hidden when it has been late, and no longer when it has stopped") {
    for (const std::uint32_t every : {1u, 2u, 4u, 7u, 40u}) {
        CAPTURE(every);
        party ranks(5, every, {.costs = network, .follow_arrivals = every});
        const std::uint32_t lag = std::max(every / 2, 1u);
        int wrong = 0;
        const auto calls = [&](std::uint32_t count, rank_t who, rank_t expected) {
            for (std::uint32_t i = 0; i != count; ++i) {
                wrong += ranks.call(late(5, who, 3'000'000));
                if (i + 1 != count) continue;
                CHECK(ranks.hidden() == expected);
            }
        };
        // In call every + 1 an exchange begins, and lag calls later the plan changes.
        calls(every + lag, 3, no_rank);
        calls(1, 3, 3);
        calls(2 * every, 3, 3);
        calls(3 * every, no_rank, no_rank);
        calls(3 * every, 0, 0);
        calls(3 * every, 4, 4); // another one
        CHECK(wrong == 0);
        CHECK(ranks.world().violations() == 0);
    }
}

namespace {

// Costs that count how often they are asked when a rank starts: once a walk, or more.
struct counting : model::alpha_beta_gamma {
    static inline std::uint64_t asked = 0;
    double start_ns() const {
        ++asked;
        return model::alpha_beta_gamma::start_ns();
    }
};

} // namespace

TEST_CASE("arrivals: lateness that hops about a border makes no new choice, and a real change one") {
    // One choice is remembered, so that each change would be a new one.
    for (const std::size_t remembered : {std::size_t{1}, std::size_t{256}}) {
        CAPTURE(remembered);
        party ranks(4, 7, {.cached_choices = remembered, .costs = counting{network}, .follow_arrivals = 2});
        int wrong = 0, choices = 0;
        const auto calls = [&](int count, rank_t who, const std::array<std::uint64_t, 2>& ns) {
            choices = 0;
            for (int i = 0; i != count; ++i) {
                const std::uint64_t before = counting::asked;
                wrong += ranks.call(late(4, who, ns[static_cast<std::size_t>(i) / 2 % 2])); // as long as one exchange
                choices += counting::asked != before ? 1 : 0;
            }
        };
        calls(8, 2, {4'400'000, 4'400'000});
        CHECK(choices == 2); // the usual plan, and the one that hides the rank
        CHECK(ranks.hidden() == 2);
        calls(40, 2, {3'900'000, 4'500'000});
        CHECK(choices == 0);
        calls(40, 2, {4'500'000, 9'000'000});
        CHECK(choices == 0);
        // Ten times as late: it is followed at the next exchange.
        calls(6, 2, {45'000'000, 45'000'000});
        CHECK(choices == 1);
        // In time and late again, by about as much: what is remembered is not chosen again. (Ranks do not end
        // at one moment, so on the way another rank may be late by some microseconds.)
        for (int turn = 0; turn != 3; ++turn) {
            calls(6, no_rank, {0, 0});
            CHECK(choices <= (remembered != 1 && turn != 0 ? 1 : 2));
            CHECK(ranks.hidden() == no_rank);
            calls(6, 2, {turn == 0 ? 40'000'000u : 50'000'000u, 30'000'000});
            CHECK(choices <= (remembered != 1 && turn != 0 ? 1 : 2));
            CHECK(ranks.hidden() == 2);
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("arrivals: ranks agree and results are right, whenever they come") {
    for (std::uint64_t seed = 1; seed != 25; ++seed) {
        CAPTURE(seed);
        std::mt19937_64 random(seed);
        const auto below = [&](std::uint64_t bound) { return random() % bound; };
        const auto size = static_cast<rank_t>(2 + below(6));
        party ranks(size, seed, {.costs = network, .follow_arrivals = static_cast<std::uint32_t>(1 + below(5))});
        int wrong = 0, apart = 0;
        rank_t who = static_cast<rank_t>(below(size));
        for (int i = 0; i != 24; ++i) {
            std::vector<std::uint64_t> at(size);
            for (std::uint64_t& ns : at) ns = below(i % 3 == 0 ? 2'000'000 : 20'000);
            if (below(8) == 0) who = static_cast<rank_t>(below(size + 2)); // perhaps nobody, from now on
            if (who < size) at[who] += below(6'000'000);
            wrong += ranks.call(at);
            apart += ranks.hidden() == size ? 1 : 0;
        }
        CHECK(wrong == 0);
        CHECK(apart == 0);
        CHECK(ranks.world().violations() == 0);
    }
}

TEST_CASE("arrivals: a rank that crashes, in an exchange or not, ends the calls of all others") {
    int crashed = 0;
    for (std::uint64_t seed = 1; seed != 41; ++seed) {
        CAPTURE(seed);
        std::mt19937_64 random(seed);
        const auto size = static_cast<rank_t>(2 + random() % 4), victim = static_cast<rank_t>(random() % size);
        party ranks(size, seed, {.costs = network, .follow_arrivals = static_cast<std::uint32_t>(1 + random() % 3)});
        ranks.world().inject({.what = simulated_fault::kind::crash, .at = 1 + random() % 900, .rank = victim});
        int hangs = 0, untold = 0;
        for (int i = 0; i != 12; ++i) {
            const bool was_alive = ranks.world().is_alive(victim);
            const int wrong = ranks.call(late(size, victim, 1'000'000));
            hangs += ranks.hangs();
            if (!was_alive) untold += ranks.failed() != static_cast<int>(size) - 1;
            if (was_alive && ranks.world().is_alive(victim)) untold += wrong;
        }
        crashed += ranks.world().is_alive(victim) ? 0 : 1;
        CHECK(hangs == 0);
        CHECK(untold == 0);
        CHECK(ranks.world().violations() == 0);
    }
    CHECK(crashed > 20);
}

TEST_CASE("arrivals: without the option, for short vectors and where bits are required nothing changes") {
    for (const bool follows : {false, true}) {
        party ranks(4, 1, {.costs = network, .follow_arrivals = follows ? 1u : 0u});
        for (int i = 0; i != 5; ++i) CHECK(ranks.call(late(4, 2, 5'000'000)) == 0);
        CHECK(ranks.hidden() == (follows ? 2 : no_rank));
        CHECK(hidden(ranks[0], (1 << 16) - 8) == no_rank);
        const problem what{.bytes = long_count * 8, .element_bytes = 8};
        for (const requirements& needed : {order_preserving, same_bits_for_any_partition}) {
            const decision d = decision_of<goal::allreduce>(ranks[0], what, {.required = needed});
            CHECK(d.winner().what.algorithm.get<late_rank_allreduce>() == nullptr);
        }
        CHECK(ranks[0].counters().calls == (follows ? 9 : 5)); // the exchanges are calls, too
        const std::string said = to_string(decision_of<goal::allreduce>(ranks[0], what));
        CHECK((said.find("rank 2 late by 4.19 ms") != std::string::npos) == follows);
        const problem in_series{.bytes = long_count * 8, .element_bytes = 8, .narrowing = 4};
        CHECK(decision_of<goal::allreduce>(ranks[0], in_series).what.late == no_rank);
    }
}

TEST_CASE("arrivals: once plans are known, nothing is allocated") {
    const auto allocated = [](std::uint32_t every) {
        party ranks(4, 3, {.costs = network, .follow_arrivals = every});
        int wrong = 0;
        std::size_t least = ~std::size_t{0}; // in four calls: two exchanges; more only if messages are early
        for (int i = 0; i != 20; ++i) {
            const std::size_t before = bough_test::allocations;
            for (int k = 0; k != 4; ++k) wrong += ranks.call(late(4, 1, 3'000'000));
            least = std::min(least, bough_test::allocations - before);
        }
        CHECK(wrong == 0);
        return least;
    };
    const std::size_t usual = allocated(0); // those of this test
    CHECK(allocated(2) == usual);
}

TEST_CASE("arrivals: blocking calls on one rank meet started ones on another, of any kind of data") {
    std::atomic<int> wrong{0}, hiding{0};
    in_process world{4};
    world.run([&](auto transport) {
        communicator comm{std::move(transport), {.timeout_ns = 60'000'000'000, .follow_arrivals = 3}};
        const rank_t me = comm.rank();
        std::vector<double> x(longer_count), y(longer_count);
        // All ranks see the same, so all end the first part after the same call.
        bool is_hidden = false;
        for (int turn = 0, last = most_turns; turn != last; ++turn) {
            if (!is_hidden && hidden(comm, longer_count * 8) == 2) is_hidden = true, last = turn + 12, ++hiding;
            if (me == 2 && !is_hidden) std::this_thread::sleep_for(std::chrono::milliseconds(8));
            std::fill(x.begin(), x.end(), static_cast<double>(me) + turn);
            const auto kind = (me + static_cast<rank_t>(turn)) % 3;
            if (kind == 0) {
                allreduce(comm, x, y, plus{});
            } else if (kind == 1) {
                operation op = start_allreduce(comm, std::span<const double>(x), std::span(y), plus{});
                op.wait();
            } else {
                y = x;
                allreduce(comm, std::span(y), plus{}, automatic{.late_ranks = true});
            }
            wrong += y.front() != 6 + 4 * turn || y.back() != 6 + 4 * turn;
            // What is not followed, between.
            barrier(comm);
            std::uint64_t least = me;
            allreduce(comm, std::span(&least, 1), min{});
            wrong += least != 0;
        }
    });
    CHECK(wrong == 0);
    CHECK(hiding == 4);
}

TEST_CASE("arrivals: calls that are started in advance take the plan of their number") {
    std::atomic<int> wrong{0};
    in_process{4}.run([&](auto transport) {
        communicator comm{std::move(transport), {.follow_arrivals = 1}};
        const rank_t me = comm.rank();
        std::vector<std::vector<std::uint64_t>> x(8, std::vector<std::uint64_t>(longer_count));
        for (std::uint64_t turn = 0; turn != 6; ++turn) {
            if (me == 3) std::this_thread::sleep_for(std::chrono::milliseconds(3));
            std::vector<operation> calls;
            for (auto& each : x) {
                std::fill(each.begin(), each.end(), me + turn);
                calls.push_back(start_allreduce(comm, each, plus{}));
            }
            for (auto call = calls.rbegin(); call != calls.rend(); ++call) call->wait();
            for (auto& each : x) wrong += each.front() != 6 + 4 * turn || each.back() != 6 + 4 * turn;
        }
    });
    CHECK(wrong == 0);
}

TEST_CASE("arrivals: elements of run-time types, ops on states and batches are in step, too") {
    std::atomic<int> wrong{0};
    in_process{3}.run([&](auto transport) {
        communicator comm{std::move(transport), {.follow_arrivals = 2}};
        const rank_t me = comm.rank();
        std::vector<float> x(1 << 15);
        for (int turn = 0; turn != 24; ++turn) {
            if (me == 1) std::this_thread::sleep_for(std::chrono::milliseconds(2));
            std::fill(x.begin(), x.end(), static_cast<float>(me));
            if (turn % 3 == 0) {
                allreduce(comm, elements{x.data(), x.size(), run_time_type_of<float>()}, make_any_op<float>(plus{}));
            } else if (turn % 3 == 1) {
                allreduce(comm, x, plus{});
            } else {
                batch all;
                all.add(std::span(x), plus{});
                allreduce(comm, all);
            }
            wrong += x.front() != 3 || x.back() != 3;
        }
    });
    CHECK(wrong == 0);
}

TEST_CASE("arrivals: a bound operation keeps its plan, whenever a rank has bound it") {
    std::atomic<int> wrong{0}, hiding{0};
    in_process{4}.run([&](auto transport) {
        communicator comm{std::move(transport), {.follow_arrivals = 2}};
        const rank_t me = comm.rank();
        std::vector<std::uint64_t> x(longer_count), y(longer_count);
        const auto call = [&] {
            if (me == 0) std::this_thread::sleep_for(std::chrono::milliseconds(8));
            std::fill(x.begin(), x.end(), me + 1);
            allreduce(comm, x, plus{});
            wrong += x.back() != 10;
        };
        persistent_operation bound;
        if (me == 1) bound = bind_allreduce(comm, y, plus{});
        for (int i = 0; i != most_turns && hidden(comm, longer_count * 8) != 0; ++i) call();
        hiding += hidden(comm, longer_count * 8) == 0;
        if (me != 1) bound = bind_allreduce(comm, y, plus{});
        for (int i = 0; i != 6; ++i) {
            std::fill(y.begin(), y.end(), me + 1);
            bound.start();
            bound.wait();
            wrong += y.back() != 10;
            call();
        }
    });
    CHECK(wrong == 0);
    CHECK(hiding == 4);
}

TEST_CASE("arrivals: calls with names are not followed, and communicators made of this one count for themselves") {
    std::atomic<int> wrong{0}, hiding{0};
    in_process{4}.run([&](auto transport) {
        communicator comm{std::move(transport), {.follow_arrivals = 1}};
        const rank_t me = comm.rank();
        std::vector<std::uint64_t> x(longer_count), y(longer_count);
        auto names = duplicate(comm);
        for (int i = 0; i != 4; ++i) {
            std::fill(x.begin(), x.end(), 1), std::fill(y.begin(), y.end(), 2);
            operation one, two; // in different orders
            const auto start_one = [&] { one = start_allreduce(names, x, plus{}, named{"one"}); };
            if (me % 2 == 0) start_one();
            two = start_allreduce(names, y, plus{}, named{"two"});
            if (me % 2 != 0) start_one();
            one.wait(), two.wait();
            wrong += x.back() != 4 || y.back() != 8;
        }
        auto half = split(comm, me / 2, me);
        const auto late_one = [&half] {
            return decision_of<goal::allreduce>(half, {.bytes = longer_count * 8}).what.late;
        };
        for (int i = 0; i != most_turns && late_one() != 1; ++i) {
            if (half.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(8));
            std::fill(x.begin(), x.end(), 1);
            allreduce(half, x, plus{});
            wrong += x.back() != 2;
        }
        hiding += late_one() == 1;
        hiding += hidden(comm, longer_count * 8) == no_rank;
    });
    CHECK(wrong == 0);
    CHECK(hiding == 8);
}

TEST_CASE("arrivals: ranks that follow differently get a call_mismatch, and nothing hangs") {
    for (const auto& every_of : {std::array{0u, 4u}, {4u, 0u}, {3u, 4u}, {8u, 2u}}) {
        CAPTURE(every_of);
        std::atomic<int> ended{0}, named{0};
        in_process{3}.run([&](auto transport) {
            const std::uint32_t every = every_of[transport.rank() == 0 ? 0 : 1];
            communicator comm{std::move(transport), {.timeout_ns = 20'000'000'000, .follow_arrivals = every}};
            std::vector<std::uint64_t> x(long_count, 1);
            status s;
            for (int i = 0; i != 12 && !s; ++i) allreduce(comm, x, plus{}, s);
            ended += bool(s);
            named += s.code == errc::call_mismatch || s.cause == errc::call_mismatch;
        });
        CHECK(ended == 3);
        CHECK(named == 3);
    }
}

TEST_CASE("arrivals: a rank that leaves in an exchange is an error of the next call, and nothing hangs") {
    std::atomic<int> failed{0}, wrong{0};
    in_process{3}.run([&](auto transport) {
        communicator comm{std::move(transport), {.timeout_ns = 20'000'000'000, .follow_arrivals = 2}};
        std::vector<std::uint64_t> x(long_count, 1);
        status s;
        for (int i = 0; i != 9 && !s; ++i) {
            if (i == 3 && comm.rank() == 1) return; // an exchange has begun with call 3, and ends with call 4
            std::fill(x.begin(), x.end(), 1);
            allreduce(comm, x, plus{}, s);
            wrong += !s && x.back() != 3;
        }
        failed += bool(s);
    });
    CHECK(failed == 2);
    CHECK(wrong == 0);
}

TEST_CASE("arrivals: a rank that does not come in time breaks the communicator, is named, and nothing hangs") {
    std::atomic<int> failed{0}, named{0}, reported{0}, at_once{0}, poisoned{0};
    std::atomic<bool> over{false};
    in_process{3}.run([&](auto transport) {
        int mine = 0; // reports
        communicator_options options{.timeout_ns = 300'000'000, .follow_arrivals = 1};
        options.report.on_failure = {
            .function = [](const report_sink& to, const rank_report&) { ++*static_cast<int*>(to.context); },
            .context = &mine};
        communicator comm{std::move(transport), options};
        std::vector<std::uint64_t> x(long_count, 1);
        status s;
        allreduce(comm, x, plus{}, s);
        if (comm.rank() == 2) {
            for (over.wait(false); false;) {
            }
        } else {
            operation given_up = start_allreduce(comm, x, plus{}); // begins an exchange, and rank 2 is away
            given_up.cancel();
            given_up.wait(s);
            failed += bool(s);
            allreduce(comm, x, plus{}, s); // needs that exchange
            at_once += mine == 1;
            failed += bool(s);
            named += (s.code == errc::deadline || s.cause == errc::deadline) && s.peer == 2 && s.operation == 3;
        }
        if (failed == 4) over = true, over.notify_all();
        allreduce(comm, x, plus{}, s);
        poisoned += s.code == errc::group_poisoned || s.code == errc::peer_aborted;
        reported += mine;
    });
    CHECK(failed == 4);
    CHECK(named == 2);
    CHECK(reported >= 2);
    CHECK(at_once == 2);
    CHECK(poisoned == 3);
}

TEST_CASE("arrivals: an exchange that fails between calls is reported") {
    std::atomic<int> reported{0}, failed{0}, started{0};
    in_process{3}.run([&](auto transport) {
        communicator_options options{.timeout_ns = 20'000'000'000, .follow_arrivals = 4};
        options.report.on_failure = {
            .function = [](const report_sink& to,
                           const rank_report&) { ++*static_cast<std::atomic<int>*>(to.context); },
            .context = &reported};
        communicator comm{std::move(transport), options};
        std::vector<std::uint64_t> x(long_count, 1);
        for (int i = 0; i != 4; ++i) allreduce(comm, x, plus{});
        const auto both_have_started = [&] {
            bough_test::until([&] { return started == 2; }, [&] { comm.progress(); });
        };
        if (comm.rank() == 1) return both_have_started(); // and is lost
        operation op = start_allreduce(comm, x, plus{});  // begins an exchange
        ++started;
        both_have_started();
        op.cancel();
        bough_test::until([&] { return bool(comm.poison()); }, [&] { comm.progress(); }); // nobody waits for it
        status s;
        barrier(comm, s);
        failed += s.code == errc::group_poisoned;
    });
    CHECK(failed == 2);
    CHECK(reported == 2);
}

TEST_CASE("arrivals: a call that all ranks refuse counts on none, wherever each has refused it") {
    std::atomic<int> refused{0}, wrong{0};
    in_process{2}.run([&](auto transport) {
        communicator comm{std::move(transport), {.timeout_ns = 20'000'000'000, .follow_arrivals = 2}};
        std::vector<std::uint64_t> x(long_count, 1), shorter(long_count / 2);
        status s;
        if (comm.rank() == 0) {
            allreduce(comm, x, shorter, plus{}, s);
        } else {
            comm.set_costs(model::alpha_beta_gamma{.alpha_ns = -1});
            allreduce(comm, x, plus{}, s); // refused when the plan is chosen
            comm.set_costs({});
        }
        refused += bool(s);
        for (int i = 0; i != 8; ++i) {
            allreduce(comm, x, plus{}, s);
            wrong += bool(s);
        }
    });
    CHECK(refused == 2);
    CHECK(wrong == 0);
}

TEST_CASE("arrivals: a hook must not start calls of a communicator that follows") {
    // It may run before the call that waits has its number, on some ranks.
    std::atomic<int> refused{0};
    in_process{2}.run([&](auto transport) {
        communicator comm{std::move(transport), {.timeout_ns = 20'000'000'000, .follow_arrivals = 1}};
        struct starts {
            communicator<in_process::endpoint>& comm;
            operation begun{};
            bool is_first = true;
        } hook{comm};
        std::vector<std::uint64_t> x(long_count, 1);
        status s;
        comm.set_while_waiting({[](void* context, std::uint32_t) {
                                    auto& its = *static_cast<starts*>(context);
                                    if (std::exchange(its.is_first, false)) its.begun = start_barrier(its.comm);
                                    return false;
                                },
                                &hook});
        if (comm.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        allreduce(comm, x, plus{}, s); // rank 0 waits
        if (comm.rank() == 1) return;
        refused += hook.begun.done() && hook.begun.result().code == errc::invalid_argument;
    });
    CHECK(refused == 1);
}

TEST_CASE("arrivals: a group shrinks while an exchange is under way, and its successor begins anew") {
    const bool one_leaves = GENERATE(false, true);
    const int before = GENERATE(1, 3); // calls; after three, a call has waited for the first exchange
    CAPTURE(one_leaves, before);
    std::atomic<int> wrong{0}, fresh{0}, begun{0};
    in_process{4}.run([&](auto transport) {
        communicator comm{std::move(transport), {.follow_arrivals = 1}};
        std::vector<std::uint64_t> x(long_count, 1);
        for (int i = 0; i != before; ++i) allreduce(comm, x, plus{});
        for (++begun; begun != 4;) std::this_thread::yield();
        if (one_leaves && comm.rank() == 3) return;
        if (comm.rank() == 0) { // the others do not begin it
            operation op = start_allreduce(comm, x, plus{});
            op.cancel();
            status s;
            op.wait(s);
            if (!one_leaves) wrong += comm.shared_session()->outstanding() != 1;
        }
        auto rest = shrink(comm);
        fresh += hidden(rest) == no_rank;
        for (int i = 0; i != 6; ++i) {
            std::fill(x.begin(), x.end(), 1);
            allreduce(rest, x, plus{});
            wrong += x.back() != rest.size();
        }
    });
    CHECK(wrong == 0);
    CHECK(fresh == (one_leaves ? 3 : 4));
}
