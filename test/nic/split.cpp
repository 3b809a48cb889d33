// SPDX-License-Identifier: BSL-1.0
// The vector split (Moody et al. 2003, section 5.3): its plans, its time on simulated NICs, and the choice of splits and degree.
#include "support/catch.hpp"
#include <bough/algorithm/reduce/vector_split.hpp>
#include <bough/model/lrc_formula.hpp>
#include <bough/nic/check.hpp>
#include <bough/nic/choose_target.hpp>
#include <bough/verify/verify.hpp>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

using namespace bough;

namespace {

static_assert(verify(plan_reduce(vector_split{.splits = 2, .degree = 3}, {.size = 12, .root = 7})));

// Moody's Table 2; a line through what combining one and two elements takes.
model::lrc quadrics(double first_ns, double second_ns, std::uint64_t element_bytes) {
    const double more = second_ns - first_ns;
    return {.message_latency_ns = 2100,
            .receive = {420, 0},
            .combine = {first_ns - more, more / static_cast<double>(element_bytes)},
            .startup_ns = 9200,
            .copy = {}};
}
const model::lrc float64_add = quadrics(1500, 2950, 8), int32_add = quadrics(250, 440, 4);

// What the paper's model says of a split: s exchanges, a tree over p / 2^s ranks, the parts to the root. For full trees.
double predicted_ns(const model::lrc& m, rank_t size, rank_t splits, rank_t degree, std::uint64_t bytes) {
    double ns = 0;
    for (rank_t j = 0; j != splits; ++j) {
        bytes /= 2;
        ns += m.message_latency_ns + m.receive.at_ns(bytes) + m.combine.at_ns(bytes);
    }
    ns += model::fnomial_full_ns(m, size >> splits, degree, bytes); // with C
    if (splits != 0) ns += m.message_latency_ns + ((1u << splits) - 1) * m.receive.at_ns(bytes);
    return ns;
}

// The time that programs take with real values, and whether the root got the sums.
struct measured {
    double ns = 0;
    bool correct = true;
};
measured measure(const model::lrc& m, rank_t size, const vector_split& split, std::uint32_t elements) {
    const auto made = nic::assemble_all(plan_reduce(split, {.size = size}), nic::needs_of<plus, double>,
                                        nic::capabilities_of<nic::simulated>, {.elements = elements, .credits = false});
    REQUIRE(made);
    struct hosts_type {
        rank_t size;
        measured& found;
        std::uint32_t heard = 0;
        static double value(rank_t r, std::size_t k) { return static_cast<double>(r * (k + 1)); }
        void input(rank_t r, std::uint32_t, std::span<double> mine) const {
            for (std::size_t k = 0; k != mine.size(); ++k) mine[k] = value(r, k);
        }
        void complete(rank_t r, std::uint32_t, std::span<const double> got) {
            if (r != 0) return;
            heard = static_cast<std::uint32_t>(got.size());
            const double ranks = static_cast<double>(size) * (size - 1) / 2;
            for (std::size_t k = 0; k != got.size(); ++k)
                found.correct = found.correct && got[k] == ranks * static_cast<double>(k + 1);
        }
    };
    measured found;
    hosts_type hosts{size, found};
    const auto run = nic::run_simulated<double>(made.programs, plus{}, m, hosts);
    found.correct = found.correct && run.finished && hosts.heard == elements;
    found.ns = run.finish_ns[0];
    return found;
}

} // namespace

TEST_CASE("the split is proved for every root, and its programs with it", "[nic]") {
    for (rank_t s = 0; s <= 3; ++s)
        for (rank_t f = 2; f <= 3; ++f)
            for (const rank_t size : {8u, 24u, 40u})
                for (const rank_t root : {0u, 1u, 5u, 7u}) {
                    const auto plan = plan_reduce(vector_split{.splits = s, .degree = f}, {.size = size, .root = root});
                    const auto proof = verify(plan);
                    REQUIRE(proof);
                    CHECK_FALSE(proof.traits.needs_commutative);
                    if (size != 24) continue;
                    const auto made = nic::assemble_all(plan, nic::needs_of<plus, double>,
                                                        nic::capabilities_of<nic::host>, {.elements = 13});
                    REQUIRE(made);
                    CHECK(nic::check(made.programs));
                }
    CHECK(vector_split{.splits = 3}.check({.size = 12}));
    CHECK(vector_split{.splits = 1, .degree = 1}.check({.size = 12}));
    CHECK(vector_split{.splits = 1}.check({.size = 12, .root = 0, .blocks = 3}));
}

TEST_CASE("2 to 16 elements, 0 to 4 splits: simulated NICs take what the paper's model says", "[nic]") {
    for (const model::lrc& m : {float64_add, int32_add})
        for (const std::uint32_t elements : {2u, 4u, 8u, 16u})
            for (rank_t s = 0; s <= 4 && elements >> s != 0; ++s)
                for (const auto& [degree, members] : {std::pair{2u, 4u}, {3u, 9u}, {4u, 4u}}) {
                    const rank_t size = members << s;
                    const measured run = measure(m, size, {.splits = s, .degree = degree}, elements);
                    CAPTURE(elements, s, degree, size);
                    CHECK(run.correct);
                    CHECK(std::abs(run.ns - predicted_ns(m, size, s, degree, 8 * elements)) < 1e-6 * run.ns);
                }
}

TEST_CASE("degree and splits are chosen together, and the choice turns where the paper's does", "[nic]") {
    const auto chosen = [](const model::lrc& m, rank_t size, std::uint64_t element_bytes, std::uint64_t elements) {
        const nic::target_choice made = nic::choose_target(size, element_bytes * elements, {.host = m, .nic = m},
                                                           {.elements = elements, .most_degree = 4});
        for (const nic::placement& p : made.tried) CHECK(p.predicted_ns >= made.winner().predicted_ns);
        return nic::placement(made.best_on(true));
    };
    // Combining is dear: doubles are split as often as they can be, from few ranks on.
    CHECK(chosen(float64_add, 2, 8, 2).splits == 0);
    CHECK(chosen(float64_add, 8, 8, 2).splits == 1);
    for (const std::uint64_t elements : {2u, 4u, 8u, 16u})
        CHECK((1u << chosen(float64_add, 256, 8, elements).splits) == elements);
    // And cheap: two integers are never split up to 256 ranks, 4 from 64 ranks on, 8 from 8, and 16 from 4; and not four
    // times, since the root would take in 15 messages.
    const auto first_split = [&](std::uint64_t elements) {
        rank_t size = 2;
        while (size <= 256 && chosen(int32_add, size, 4, elements).splits == 0) size *= 2;
        return size;
    };
    CHECK(first_split(2) == 512);
    CHECK(first_split(4) == 64);
    CHECK(first_split(8) == 8);
    CHECK(first_split(16) == 4);
    CHECK(chosen(int32_add, 256, 4, 16).splits == 3);
    // What was predicted is what such programs take.
    const nic::placement p = chosen(float64_add, 64, 8, 8);
    const measured run = measure(float64_add, 64, {.splits = p.splits, .degree = p.upper_degree}, 8);
    CHECK(run.correct);
    CHECK(std::abs(run.ns - p.predicted_ns) < 1e-6 * run.ns);
    // One element cannot be split, nor can an odd number of ranks.
    CHECK(nic::choose_target(8, 8, {.host = int32_add, .nic = float64_add}).best_with(true, 1) == nullptr);
    CHECK(nic::choose_target(9, 16, {.host = int32_add, .nic = float64_add}, {.elements = 2}).best_with(true, 1) ==
          nullptr);
}
