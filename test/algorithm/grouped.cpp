// SPDX-License-Identifier: BSL-1.0
#include "claims.hpp"
#include "proof.hpp"
#include "support/catch.hpp"
#include "support/mutants.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/alltoall/grouped.hpp>
#include <bough/alltoall.hpp>
#include <bough/communicator.hpp>
#include <bough/core/random.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/lrc.hpp>
#include <bough/model/rendezvous.hpp>
#include <bough/model/walk.hpp>
#include <bough/transport/in_process.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace bough;

namespace {

constexpr auto by_threes = [](rank_t size) {
    return plan_alltoall(grouped_alltoall{contiguous_groups{3}}, {.size = size});
};
constexpr auto by_pairs_in_lanes = [](rank_t size) {
    return plan_alltoall(grouped_alltoall{contiguous_groups{2}, 2}, {.size = size});
};
static_assert(test::proven_for<by_threes, 1, 2, 3, 4, 7, 8>());
static_assert(test::proven_for<by_pairs_in_lanes, 1, 2, 3, 4, 7>());

// Blocks and messages that pass from group to group.
struct crossing {
    std::map<std::pair<rank_t, rank_t>, std::uint32_t> messages;
    std::uint64_t blocks = 0;
    std::vector<std::uint32_t> of_rank;
};
template <class Groups>
crossing between(const plan<goal::alltoall, grouped_alltoall<Groups>>& p, const Groups& groups) {
    crossing found;
    found.of_rank.assign(p.size(), 0);
    for (rank_t r = 0; r != p.size(); ++r)
        for (const step& s : p.schedule_of(r).steps) {
            const rank_t from = groups.group_of(p.size(), r);
            if (s.verb != verb::send || groups.group_of(p.size(), s.peer) == from) continue;
            found.blocks += s.a.count;
            if (s.more) continue;
            ++found.messages[{from, groups.group_of(p.size(), s.peer)}];
            ++found.of_rank[r];
        }
    return found;
}

template <class Groups>
void check_groups(const Groups& groups, rank_t p) {
    for (const rank_t lanes : {1u, 2u, 3u, 100u}) {
        CAPTURE(label_of(groups).c_str(), p, lanes);
        const auto plan = plan_alltoall(grouped_alltoall{groups, lanes}, {.size = p, .root = p - 1});
        test::prove_with_claims(plan);
        REQUIRE(verify(plan, {.eager_slots = 1}));
        const crossing found = between(plan, groups);
        std::uint64_t blocks = 0;
        const rank_t count = groups.groups(p);
        std::vector<std::uint32_t> sent(count, 0);
        for (rank_t a = 0; a != count; ++a)
            for (rank_t b = 0; b != count; ++b) {
                if (a == b) continue;
                const rank_t expected = std::min(lanes, groups.members(p, b));
                CHECK(found.messages.at({a, b}) == expected);
                sent[a] += expected;
                blocks += std::uint64_t{groups.members(p, a)} * groups.members(p, b);
            }
        CHECK(found.blocks == blocks); // each once
        // The members of a group share the messages, if the groups that they go to are of one size.
        if (lanes == 1)
            for (rank_t r = 0; r != p; ++r) {
                const rank_t g = groups.group_of(p, r), members = groups.members(p, g);
                CHECK(found.of_rank[r] >= sent[g] / members);
                CHECK(found.of_rank[r] <= (sent[g] + members - 1) / members);
            }
    }
}

} // namespace

TEST_CASE("grouped: one message a lane between each two groups, each block once, whatever the groups' sizes") {
    for (rank_t p = 1; p <= 20; ++p)
        for (rank_t g = 1; g <= p; ++g) check_groups(contiguous_groups{g}, p);
    for (const std::vector<rank_t>& list : {std::vector<rank_t>{0, 1, 0, 2, 2, 2, 0, 1, 0},
                                            {0, 0, 0, 0, 0, 1},
                                            {1, 0, 0, 0, 0, 0},
                                            {0, 1, 2, 0, 1, 0, 0, 0, 3},
                                            {4, 3, 2, 1, 0, 0, 1, 2, 3, 4, 4, 4, 4}})
        check_groups(listed_groups(list), static_cast<rank_t>(list.size()));
}

TEST_CASE("grouped: many groups, of which one is smaller: nobody waits in a circle") {
    constexpr model::alpha_beta_gamma costs{.alpha_ns = 1000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0};
    for (const rank_t p : {21u, 22u, 23u, 25u, 41u})
        for (rank_t g = 2; g <= 9; ++g)
            for (rank_t lanes = 1; lanes <= g; ++lanes) {
                const auto plan = plan_alltoall(grouped_alltoall{contiguous_groups{g}, lanes}, {.size = p});
                CAPTURE(p, g, lanes);
                CHECK_FALSE(model::walk(plan, costs, std::uint64_t{p} * p).deadlock());
                if (p == 21) CHECK(verify(plan));
            }
}

TEST_CASE("grouped: with one lane, equal groups end where every message needs both its ranks") {
    constexpr model::alpha_beta_gamma costs{.alpha_ns = 1000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0};
    for (const rank_t each : {1u, 2u, 3u, 5u, 8u})
        for (rank_t count = 1; count != 7; ++count) {
            const rank_t p = each * count;
            const auto plan = plan_alltoall(grouped_alltoall{contiguous_groups{each}}, {.size = p});
            CAPTURE(each, count);
            CHECK_FALSE(model::walk(plan, model::rendezvous{costs}, std::uint64_t{p} * p).deadlock());
        }
}

TEST_CASE("grouped: unequal groups, scattered ones, and several lanes end where every message needs both its ranks") {
    random_sequence random(bough_test::seed(), 0, 0);
    for (int again = 0; again != 300; ++again) {
        const rank_t p = 2 + static_cast<rank_t>(random() % 40), most = 1 + static_cast<rank_t>(random() % 7);
        std::vector<rank_t> groups(p), number(most, no_rank);
        for (rank_t& g : groups) g = static_cast<rank_t>(random() % most);
        if (random() % 2 == 0) std::sort(groups.begin(), groups.end());
        rank_t count = 0;
        for (rank_t& g : groups) g = number[g] == no_rank ? number[g] = count++ : number[g];
        const grouped_alltoall algorithm{listed_groups{groups}, 1 + static_cast<rank_t>(random() % 6)};
        CAPTURE(p, groups, algorithm.lanes);
        const auto plan = plan_alltoall(algorithm, {.size = p});
        const model::rendezvous strict{model::lrc{.message_latency_ns = 1000}, 0};
        CHECK_FALSE(model::walk(plan, strict, std::uint64_t{64} * p * p).deadlock());
    }
}

TEST_CASE("grouped: with a lane for each rank nothing is handed out where it arrives") {
    const auto plan = plan_alltoall(grouped_alltoall{contiguous_groups{4}, 4}, {.size = 12});
    CHECK(test::prove_with_claims(plan).hops == 2);
    CHECK(verify(plan_alltoall(grouped_alltoall{contiguous_groups{4}}, {.size = 12})).traits.hops == 3);
}

TEST_CASE("grouped: the formula of the header against the walk") {
    const model::alpha_beta_gamma m{.alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25};
    for (const auto& [g, k] : {std::pair{1u, 3u}, {2u, 1u}, {2u, 3u}, {4u, 1u}, {3u, 2u}})
        for (const std::uint64_t bytes : {1u, 1000u}) {
            const rank_t p = g * (k * g + 1);
            const double b = m.beta_ns_per_byte * static_cast<double>(bytes);
            const double inside = 2.0 * (g - 1) * (m.alpha_ns + b * k * g) + (g - 1) * b;
            const double across = k * (m.alpha_ns + b * g * g);
            CAPTURE(g, k, bytes);
            CHECK(model::walk(plan_alltoall(grouped_alltoall{contiguous_groups{g}}, {.size = p}), m, bytes * p * p)
                      .makespan_ns == Approx(inside + across));
        }
}

TEST_CASE("grouped: every block arrives, also of unequal lengths in slots, and some are empty") {
    const listed_groups nodes{{0, 0, 1, 0, 2, 2, 1}};
    constexpr rank_t p = 7;
    // What rank i has for rank j.
    const auto length = [](rank_t i, rank_t j) { return std::size_t{(i * 3 + j * 5) % 4}; };
    const auto value = [](rank_t i, rank_t j, std::size_t k) {
        return std::uint32_t{i * 1000 + j * 10} + static_cast<std::uint32_t>(k);
    };
    for (const rank_t lanes : {1u, 2u}) {
        const grouped_alltoall through{nodes, lanes};
        std::vector<int> wrong(p, 0);
        in_process{p}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            const rank_t me = comm.rank();
            std::vector<std::uint32_t> in, expected, out;
            for (const std::size_t count : {0u, 1u, 300u}) {
                in.clear(), expected.clear();
                for (rank_t other = 0; other != p; ++other)
                    for (std::size_t k = 0; k != count; ++k) {
                        in.push_back(value(me, other, k));
                        expected.push_back(value(other, me, k));
                    }
                out.assign(in.size(), 0);
                alltoall(comm, std::span<const std::uint32_t>(in), std::span(out), through);
                wrong[me] += out != expected;
            }
            in.clear(), expected.clear();
            std::vector<std::size_t> send(p), receive(p);
            for (rank_t other = 0; other != p; ++other) {
                send[other] = length(me, other), receive[other] = length(other, me);
                for (std::size_t k = 0; k != send[other]; ++k) in.push_back(value(me, other, k));
                for (std::size_t k = 0; k != receive[other]; ++k) expected.push_back(value(other, me, k));
            }
            out.assign(expected.size(), 0);
            alltoallv(comm, std::span<const std::uint32_t>(in), send, std::span(out), receive, at_most{3}, through);
            wrong[me] += out != expected;
        });
        CHECK(wrong == std::vector<int>(p, 0));
    }
}

TEST_CASE("grouped: no mutant passes") {
    CHECK(test::spoil(plan_alltoall(grouped_alltoall{contiguous_groups{2}}, {.size = 5})) > 100);
    CHECK(test::spoil(plan_alltoall(grouped_alltoall{contiguous_groups{3}, 2}, {.size = 6})) > 100);
}

TEST_CASE("grouped: what it refuses, and what it is called") {
    const auto refusal = [](const auto& algorithm, const dimensions& at) {
        const status bad = check_plan(algorithm, at);
        return std::string(bad ? bad.argument : "");
    };
    using by_size = grouped_alltoall<contiguous_groups>;
    CHECK(refusal(by_size{{4}, 0}, {.size = 8}) == "lanes: at least one is needed");
    CHECK(refusal(by_size{{0}}, {.size = 8}) == "groups: a group needs at least one rank");
    CHECK(refusal(grouped_alltoall{listed_groups{{0, 1}}}, {.size = 3}) ==
          "groups: the list needs one number per rank");
    CHECK(refusal(by_size{{4}}, {.size = 8, .blocks = 8}) == "blocks: must be as many as pairs of ranks, size * size");
    CHECK(refusal(by_size{{4}}, {.size = 1u << 16}).starts_with("size: "));
    CHECK(label_of(by_size{{4}}) == label("grouped_alltoall{contiguous_groups{.ranks_per_group = 4}}"));
    CHECK(label_of(by_size{{4}, 2}) == label("grouped_alltoall{contiguous_groups{.ranks_per_group = 4}, .lanes = 2}"));
    CHECK(identity_of(by_size{{4}}) != 0);
    CHECK(identity_of(by_size{{4}}) != identity_of(by_size{{4}, 2}));
    CHECK(identity_of(by_size{{4}}) != identity_of(by_size{{2}}));
}
