// SPDX-License-Identifier: BSL-1.0
#include "heterogeneous.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/multicast/many.hpp>
#include <bough/model/heterogeneous.hpp>
#include <bough/model/walk.hpp>
#include <bough/tree/fnf.hpp>
#include <bough/tree/multicasts.hpp>
#include <bough/verify/verify.hpp>

#include <set>

using namespace bough;
using test::cost_source;

namespace {

constexpr std::int64_t twice_figure_1(bool balanced) {
    const std::vector<multicast_request> wanted{{0, {1, 2, 3, 4, 5, 6, 7}}, {5, {0, 1, 2, 3, 4, 6, 7}}};
    const tree_costs<int> costs{.send = test::figure_1};
    return balanced ? balanced_multicasts(costs, std::span<const multicast_request>(wanted)).makespan
                    : independent_multicasts(costs, std::span<const multicast_request>(wanted)).makespan;
}
static_assert(twice_figure_1(true) < twice_figure_1(false));

std::vector<multicast_request> random_requests(cost_source& random, rank_t n, std::uint32_t count) {
    std::vector<multicast_request> wanted;
    for (std::uint32_t k = 0; k != count; ++k) {
        multicast_request w{random.below(n), {}};
        for (rank_t r = 0; r != n; ++r)
            if (random.below(3) != 0) w.members.push_back(r); // the root may be among them
        std::swap(w.members.empty() ? w.root : w.members[0], w.members.empty() ? w.root : w.members.back());
        wanted.push_back(std::move(w));
    }
    return wanted;
}

// Every member once, from somebody who had it; the messages of a multicast make its table.
void check(const many_multicasts<std::int64_t>& made, const std::vector<multicast_request>& wanted) {
    std::vector<std::set<rank_t>> have;
    for (const auto& w : wanted) have.push_back({w.root});
    for (const auto& m : made.order) {
        CHECK(have[m.multicast].contains(m.parent));
        CHECK(have[m.multicast].insert(m.child).second);
    }
    for (std::size_t k = 0; k != wanted.size(); ++k) {
        std::set<rank_t> all(wanted[k].members.begin(), wanted[k].members.end());
        all.insert(wanted[k].root);
        CHECK(have[k] == all);
        const auto places = detail::places_of(wanted[k]);
        CHECK(test::is_tree(made.trees[k], static_cast<rank_t>(places.size()), 0));
        std::vector<rank_t> next(places.size(), 0);
        for (const auto& m : made.order) {
            if (m.multicast != k) continue;
            const auto place = static_cast<rank_t>(std::find(places.begin(), places.end(), m.parent) - places.begin());
            CHECK(places[made.trees[k].child(place, next[place]++)] == m.child);
        }
    }
}

} // namespace

TEST_CASE("many multicasts: whole, in an order that can be done, and as long as the walk of that order takes") {
    cost_source random(81);
    for (int i = 0; i != (bough_test::all() ? 300 : 40); ++i) {
        const rank_t n = 1 + random.below(24);
        const auto send = random.costs(n, 1, 9), receive = random.costs(n, 1, 5);
        const tree_costs<int> costs{
            .send = send, .receive = i % 2 == 0 ? std::span<const int>{} : receive, .latency = i % 3};
        const auto requests = random_requests(random, n, 1 + random.below(6));
        const std::span<const multicast_request> wanted(requests);
        model::heterogeneous model;
        model.message_latency_ns = costs.latency;
        for (rank_t r = 0; r != n; ++r) {
            model.send.push_back({static_cast<double>(send[r]), 0});
            if (!costs.receive.empty()) model.receive.push_back({static_cast<double>(receive[r]), 0});
        }
        for (const auto& made : {independent_multicasts(costs, wanted), balanced_multicasts(costs, wanted)}) {
            CAPTURE(n, i);
            check(made, requests);
            CHECK(multicasts_time(costs, wanted, made.order) == made.makespan);
            // A second derivation: the steps of the ranks, walked. Without receive costs a rank that waits for one
            // message may not send another meanwhile, as its program is in order.
            const auto steps = plan_multicasts(requests, made.order, {.size = n});
            CHECK(verify(steps));
            const double walked = model::walk(steps, model, 8 * requests.size()).makespan_ns;
            if (costs.receive.empty())
                CHECK(walked >= static_cast<double>(made.makespan));
            else
                CHECK(walked == static_cast<double>(made.makespan));
        }
    }
}

TEST_CASE("one multicast to all is fnf") {
    cost_source random(82);
    for (rank_t n = 1; n <= 20; ++n) {
        const auto send = random.costs(n, 1, 9);
        const rank_t root = random.below(n);
        multicast_request all{root, {}};
        for (rank_t r = 0; r != n; ++r) all.members.push_back(r);
        const tree_costs<int> costs{.send = send};
        CHECK(independent_multicasts(costs, std::span<const multicast_request>(&all, 1)).makespan ==
              broadcast_time(fnf_tree(costs, root), costs));
    }
}

TEST_CASE("balanced is never later than independent, and much earlier on average where many share few fast ranks") {
    cost_source random(83);
    double apart = 0, balanced = 0;
    for (int i = 0; i != 30; ++i) {
        std::vector<int> send(32, 16);
        for (int k = 0; k != 8; ++k) send[random.below(32)] = 4;
        const auto requests = random_requests(random, 32, 8);
        const tree_costs<int> costs{.send = send};
        const auto a = independent_multicasts(costs, std::span<const multicast_request>(requests)).makespan;
        const auto b = balanced_multicasts(costs, std::span<const multicast_request>(requests)).makespan;
        CHECK(b <= a);
        apart += static_cast<double>(a);
        balanced += static_cast<double>(b);
    }
    CHECK(balanced < 0.75 * apart);
}
