// SPDX-License-Identifier: BSL-1.0
// The optimal tree against exhaustive search, against every f-nomial, and against figures worked out independently.
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/model/lrc.hpp>
#include <bough/model/walk.hpp>
#include <bough/testing/tree_laws.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/tree/outline.hpp>
#include <bough/tree/postal.hpp>
#include <bough/verify/verify.hpp>

#include <algorithm>
#include <vector>

namespace {

using bough::postal_ns;
using bough::postal_tree;
using bough::rank_t;

static_assert(outline(postal_tree(1, 2, 1)) == "0");
static_assert(outline(postal_tree(8, 2, 1)) == "0(1 2 3 4 5(6 7))");
static_assert(outline(postal_tree(13, 1, 1)) == "0(1 2 3(4) 5(6 7) 8(9 10 11(12)))"); // Fibonacci
static_assert(outline(postal_tree(8, 0, 1)) == outline(bough::tree{bough::fnomial{.degree = 2}, 8}));
static_assert(outline(postal_tree(6, 100, 1)) == "0(1 2 3 4 5)");
static_assert(postal_ns(8, 2, 1) == 7);
static_assert(postal_tree(13, 5, 2).check() == bough::status{});

// What a reduction over `tree` takes under L and g = r + c.
template <class T>
double walked(const T& tree, double latency, double gap) {
    const bough::model::lrc model{.message_latency_ns = latency, .receive = {gap}};
    return bough::model::walk(bough::plan_reduce(tree, {.size = tree.size(), .root = tree.root()}), model, 8)
        .root_finish_ns;
}

// The best time of all trees over n ranks: the child taken in last has j of them. Every ordered tree is tried.
double exhaustive(rank_t n, double latency, double gap) {
    std::vector<double> best{0, 0};
    for (rank_t size = 2; size <= n; ++size) {
        best.push_back(1e300);
        for (rank_t j = 1; j != size; ++j)
            best[size] = std::min(best[size], std::max(best[size - j], best[j] + latency) + gap);
    }
    return best[n];
}
// A reduction over an f-nomial tree, worked out from its definition alone: in phase k the rank v takes in v + i f^k, i < f.
// Phases come one after the other; those of one phase are taken in as they become ready, or all as they become ready.
enum class takes { phase_by_phase, as_they_come };
double fnomial_ns(rank_t n, rank_t degree, double latency, double gap, takes how) {
    std::vector<double> ready(n, 0);
    for (rank_t v = n; v-- != 0;) { // children have higher numbers
        std::vector<double> there;
        const auto take_in = [&] {
            std::sort(there.begin(), there.end());
            for (const double t : there) ready[v] = std::max(ready[v], t) + gap;
            there.clear();
        };
        for (std::uint64_t step = 1; step < n && v % (step * degree) == 0; step *= degree) {
            for (std::uint64_t c = v + step; c < v + degree * step && c < n; c += step)
                there.push_back(ready[c] + latency);
            if (how == takes::phase_by_phase) take_in();
        }
        take_in();
    }
    return ready[0];
}
// The same by brute force: every list of parents in which ranks come after theirs.
double by_brute_force(rank_t n, double latency, double gap) {
    double best = 1e300;
    std::vector<rank_t> parent(n, 0);
    for (;;) {
        std::vector<double> ready(n, 0);
        for (rank_t v = n; --v != 0;) { // children in falling order: v is complete when its turn comes
            ready[parent[v]] = std::max(ready[parent[v]], ready[v] + latency) + gap;
        }
        best = std::min(best, ready[0]);
        rank_t v = n;
        while (--v > 1 && parent[v] == v - 1) parent[v] = 0;
        if (v <= 1) return best;
        ++parent[v];
    }
}

} // namespace

TEST_CASE("postal_tree: equal to exhaustive search, for many L and g") {
    int cases = 0;
    for (int gap = 1; gap <= 7; ++gap)
        for (int latency = 0; latency <= 14; ++latency) {
            ++cases;
            for (rank_t n = 2; n <= 40; ++n) {
                CAPTURE(n, latency, gap);
                const double best = exhaustive(n, latency, gap);
                if (n <= 6) REQUIRE(by_brute_force(n, latency, gap) == best);
                REQUIRE(postal_ns(n, latency, gap) == best);
                REQUIRE(walked(postal_tree(n, latency, gap), latency, gap) == best);
            }
        }
    CHECK(cases == 105);
    CHECK(postal_ns(30, 10, 0) == 10); // g = 0: everybody at once
}

TEST_CASE("postal_tree: never slower than any f-nomial tree") {
    for (rank_t n = 1; n <= 700; ++n) {
        if (!bough_test::sampled(n, 6)) continue;
        for (const double latency : {0.0, 300.0, 2100.0, 9000.0})
            for (const double gap : {420.0, 1920.0}) {
                CAPTURE(n, latency, gap);
                const double best = walked(postal_tree(n, latency, gap), latency, gap);
                REQUIRE(best == Approx(postal_ns(n, latency, gap)));
                for (rank_t f = 2; f <= 16; ++f)
                    REQUIRE(best <= walked(bough::table{bough::tree{bough::fnomial{.degree = f}, n}}, latency, gap) *
                                        (1 + 1e-12));
            }
    }
}

TEST_CASE("postal_tree: gain over the best f-nomial with measured parameters") {
    // L, r and C of Moody et al. 2003, Table 2. The totals in us are those of a prototype in another language, whose ranks
    // take in the children of one phase as they become ready.
    struct row {
        rank_t ranks;
        double combine, best_fnomial;
        rank_t degree; // that is best
        double four, optimal;
    };
    for (const row& r : {row{64, 1.50, 31.04, 3, 32.78, 28.94}, row{512, 0.67, 33.79, 3, 33.87, 28.50},
                         row{906, 1.50, 46.58, 4, 46.58, 38.90}, row{1812, 0.25, 31.09, 5, 31.85, 26.89},
                         row{65536, 1.50, 70.52, 3, 72.08, 56.72}}) {
        CAPTURE(r.ranks);
        const double gap = 0.42 + r.combine;
        double best = 1e300;
        rank_t degree = 0;
        for (rank_t f = 2; f <= 16; ++f) {
            CAPTURE(f);
            const double phases = fnomial_ns(r.ranks, f, 2.10, gap, takes::phase_by_phase);
            // bough's f-nomial tree takes in its children in a fixed order; the optimal one is faster than any order.
            const double fixed = walked(bough::table{bough::tree{bough::fnomial{.degree = f}, r.ranks}}, 2.10, gap);
            const double free = fnomial_ns(r.ranks, f, 2.10, gap, takes::as_they_come);
            REQUIRE(phases <= fixed * (1 + 1e-12));
            REQUIRE(free <= phases * (1 + 1e-12));
            REQUIRE(postal_ns(r.ranks, 2.10, gap) <= free * (1 + 1e-12));
            if (phases < best) best = phases, degree = f;
        }
        CHECK(9.20 + best == Approx(r.best_fnomial).margin(0.0051));
        CHECK(degree == r.degree);
        CHECK(9.20 + fnomial_ns(r.ranks, 4, 2.10, gap, takes::phase_by_phase) == Approx(r.four).margin(0.0051));
        CHECK(9.20 + postal_ns(r.ranks, 2.10, gap) == Approx(r.optimal).margin(0.0051));
        if (r.ranks > 64) CHECK(9.20 + postal_ns(r.ranks, 2.10, gap) < 0.87 * (9.20 + best));
    }
}

TEST_CASE("postal_tree: subtrees are intervals, and a reduction keeps rank order") {
    for (rank_t n = 1; n <= 60; ++n)
        for (const double latency : {0.0, 1.0, 3.5, 20.0}) {
            CAPTURE(n, latency);
            const bough::table tree = postal_tree(n, latency, 1);
            REQUIRE_FALSE(tree.check());
            // Received in order, the children of r continue r without a hole.
            std::vector<rank_t> last(n);
            for (rank_t r = n; r-- != 0;) {
                rank_t next = r + 1;
                for (rank_t i = tree.child_count(r); i-- != 0;) {
                    REQUIRE(tree.child(r, i) == next);
                    next = last[tree.child(r, i)];
                }
                last[r] = next;
            }
            REQUIRE(last[0] == n);
            const auto proof = verify(bough::plan_reduce(tree, {.size = n}));
            REQUIRE(proof);
            REQUIRE_FALSE(proof.traits.needs_commutative);
            for (rank_t root = 0; root < n; root += 7) {
                const bough::table other = postal_tree(n, latency, 1, root);
                REQUIRE_FALSE(other.check());
                REQUIRE(other.root() == root);
                REQUIRE(walked(other, latency, 1) == postal_ns(n, latency, 1));
            }
        }
}

TEST_CASE("postal_tree: N(t) grows as the recurrence says") {
    for (int latency = 0; latency <= 9; ++latency)
        for (int gap = 1; gap <= 4; ++gap) {
            std::vector<rank_t> reach; // N(t)
            for (int t = 0; t <= 30; ++t) {
                const auto at = [&](int s) { return s < 0 ? rank_t{0} : reach[static_cast<std::size_t>(s)]; };
                reach.push_back(t < gap + latency ? 1 : at(t - gap) + at(t - gap - latency));
                if (reach.back() > 5000) break;
                CAPTURE(latency, gap, t);
                REQUIRE(postal_ns(reach.back(), latency, gap) <= t);
                REQUIRE(postal_ns(reach.back() + 1, latency, gap) > t);
            }
        }
}
