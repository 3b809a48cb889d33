// SPDX-License-Identifier: BSL-1.0
// Reproducible sums: the same bits over every plan, every number of ranks and every order of the data.
#include "op/sums.hpp"

#include "op/big_integer.hpp"
#include "support/catch.hpp"
#include "support/plans.hpp"
#include "support/play.hpp"
#include "support/sanitizers.hpp"
#include <bough/allreduce.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/binned_sum.hpp>
#include <bough/op/exact_sum.hpp>
#include <bough/op/limb_sum.hpp>
#include <bough/op/soft_ops.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/in_process.hpp>

#include <mutex>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace bough;

// The share of rank r when `x` is dealt to p ranks.
std::span<const double> share(const std::vector<double>& x, rank_t r, rank_t p) {
    const std::size_t first = x.size() * r / p;
    return std::span(x).subspan(first, x.size() * (r + 1) / p - first);
}

// The bits of the sum of x by every allreduce and reduce over p ranks, dealt out in a new order for each.
template <class O>
std::set<std::uint64_t> results(const O& op, std::vector<double> x, rank_t p, rank_t root, test::numbers& random) {
    using state = state_of<O, double>;
    std::set<std::uint64_t> bits;
    test::for_each_plan({.size = p, .root = root}, [&]<class P>(const char* name, const P& plan) {
        constexpr bool all = std::is_same_v<decltype(plan.goal()), goal::allreduce>;
        if constexpr (all || std::is_same_v<decltype(plan.goal()), goal::reduce>) {
            INFO(name);
            random.shuffle(x);
            std::vector<std::vector<state>> inputs;
            for (rank_t r = 0; r != p; ++r)
                inputs.push_back(std::vector<state>(plan.blocks(), op.lift(share(x, r, p))));
            const auto outputs = test::play(test::steps_of(plan), inputs, op);
            for (rank_t r = 0; r != p; ++r)
                if (all || r == root)
                    for (const state& s : outputs[r]) bits.insert(test::bits_of(op.lower(s)));
        }
    });
    return bits;
}

template <class O>
void same_everywhere(const O& op) {
    test::numbers random(bough_test::seed());
    const rank_t most = bough_test::has_thread_sanitizer ? 24 : 64; // it takes twenty minutes, in one thread
    for (unsigned kind = 0; kind != 8; ++kind) {
        const std::vector<double> x = random.vector<double>(kind, 100);
        const std::set<std::uint64_t> expected{test::bits_of(op.lower(op.lift(std::span<const double>(x))))};
        for (rank_t p = 1; p <= most; ++p)
            if (p <= 3 || bough_test::sampled(p * 8 + kind, 16)) {
                INFO("kind " << kind << ", ranks " << p);
                REQUIRE(results(op, x, p, static_cast<rank_t>(random.next() % p), random) == expected);
            }
    }
}

TEST_CASE("exact_sum: same bits over every plan, 1 to 64 ranks, any order", "[frontdoor]") {
    same_everywhere(exact_sum{});
}
TEST_CASE("limb_sum: same bits over every plan, 1 to 64 ranks, any order", "[frontdoor]") {
    same_everywhere(limb_sum{});
}
TEST_CASE("binned_sum: same bits over every plan, 1 to 64 ranks, any order", "[frontdoor]") {
    same_everywhere(binned_sum<2>{});
    same_everywhere(binned_sum<3>{});
}
TEST_CASE("plus does not give the same bits over every plan", "[frontdoor]") {
    // Else the tests above would show nothing.
    test::numbers random(1);
    const std::vector<double> x = random.vector<double>(1, 100);
    std::set<std::uint64_t> bits;
    test::for_each_plan({.size = 13}, [&]<class P>(const char*, const P& plan) {
        if constexpr (std::is_same_v<decltype(plan.goal()), goal::allreduce>) {
            std::vector<std::vector<double>> inputs;
            for (rank_t r = 0; r != 13; ++r) inputs.push_back(std::vector<double>(plan.blocks(), x[r]));
            bits.insert(test::bits_of(test::play(test::steps_of(plan), inputs, plus{})[0][0]));
        }
    });
    CHECK(bits.size() > 3);
}

TEST_CASE("soft_plus gives the bits of plus over every plan", "[frontdoor]") {
    test::numbers random(bough_test::seed() + 9);
    for (const rank_t p : {2u, 7u, 13u, 32u}) {
        test::for_each_plan({.size = p}, [&]<class P>(const char* name, const P& plan) {
            if constexpr (std::is_same_v<decltype(plan.goal()), goal::allreduce>) {
                INFO(name);
                std::vector<std::vector<double>> inputs;
                for (rank_t r = 0; r != p; ++r) inputs.push_back(random.vector<double>(r % 4, plan.blocks()));
                const auto unit = test::play(test::steps_of(plan), inputs, plus{});
                const auto soft = test::play(test::steps_of(plan), inputs, soft_plus<f64_bits>{});
                for (std::size_t i = 0; i != unit[0].size(); ++i) {
                    REQUIRE(test::bits_of(unit[0][i]) == test::bits_of(soft[0][i]));
                    REQUIRE(test::bits_of(unit[p - 1][i]) == test::bits_of(soft[p - 1][i]));
                }
            }
        });
    }
}

TEST_CASE("front doors lift values and lower results", "[frontdoor]") {
    const std::vector<double> x = test::numbers(7).vector<double>(2, 60);
    test::big_integer sum;
    for (const double v : x) sum = sum + test::big_integer::of(v);
    for (const rank_t p : {1u, 2u, 3u, 5u}) {
        std::mutex mutex;
        std::set<std::string> faults;
        in_process{p}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            const auto fault = [&](const std::string& what) {
                std::lock_guard lock(mutex);
                faults.insert(what);
            };
            const rank_t me = comm.rank();
            std::error_code ec;
            // Each rank has its share of x, and every vector is shorter than 60 / p + 1: pad with -0.
            std::vector<double> mine(60 / p + 1, -0.0);
            const auto part = share(x, me, p);
            std::copy(part.begin(), part.end(), mine.begin());
            std::vector<double> out(mine.size());
            allreduce(comm, std::span(std::as_const(mine)), std::span(out), exact_sum{}, ec);
            if (ec) fault(ec.message());
            // Column sums, then their sum on one rank: not exact. Exact: lift all first.
            auto state = exact_sum{}.lift(part);
            allreduce(comm, std::span(&state, 1), exact_sum{}, recursive_doubling{});
            if (!test::correctly_rounded(sum, exact_sum{}.lower(state))) fault("not the sum");
            for (std::size_t i = 0; i != out.size(); ++i) {
                test::big_integer column;
                bool zero = true;
                for (rank_t r = 0; r != p; ++r)
                    if (i < share(x, r, p).size()) {
                        column = column + test::big_integer::of(share(x, r, p)[i]);
                        zero = false;
                    }
                if (!test::correctly_rounded(column, out[i])) fault("a column is wrong");
                if (zero && test::bits_of(out[i]) != test::bits_of(-0.0)) fault("not -0");
            }
            // In place at the root only; the data of others stay.
            std::vector<double> data = mine;
            reduce(comm, std::span(data), binned_sum<34 - 1>{}, root{p - 1}, fnomial{.degree = 3});
            if (data != (me == p - 1 ? out : mine)) fault("reduce");
            std::vector<float> none;
            allreduce(comm, std::span(none), binned_sum<2>{});
            float one = 0.5f;
            allreduce(comm, std::span(&one, 1), binned_sum<2>{});
            if (one != 0.5f * static_cast<float>(p)) fault("float");
            status s;
            allreduce(comm, std::span<const float>(&one, 1), std::span<float>(), exact_sum{}, s);
            if (s.code != errc::invalid_argument) fault("lengths differ, and no complaint");
        });
        INFO("ranks " << p);
        CHECK(faults == std::set<std::string>{});
    }
}

} // namespace
