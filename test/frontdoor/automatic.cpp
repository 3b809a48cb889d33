// SPDX-License-Identifier: BSL-1.0
// What automatic{} stands for: choices that are remembered, and properties that are required of them.
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/slow_rank.hpp>
#include <bough/algorithm/barrier/dissemination.hpp>
#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/concepts/forwarding_transport.hpp>
#include <bough/decision.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/heterogeneous.hpp>
#include <bough/model/lrc.hpp>
#include <bough/model/rendezvous.hpp>
#include <bough/multicast.hpp>
#include <bough/neighbour_allgather.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/select/choose.hpp>
#include <bough/select/standard/allreduce.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/binomial.hpp>

#include <atomic>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

using namespace bough;

namespace {

constexpr model::alpha_beta_gamma dear_messages{.alpha_ns = 1e9, .beta_ns_per_byte = 0, .gamma_ns_per_byte = 0};
constexpr model::alpha_beta_gamma dear_bytes{.alpha_ns = 0, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 1};
constexpr model::alpha_beta_gamma nothing{}; // costs nothing

// Values whose sum has other bits in another order.
double value(rank_t rank, std::size_t i) { return 1.0 / (1.0 + static_cast<double>(rank * 31 + i % 97)); }

template <class Choice>
std::vector<double> summed(auto& comm, std::size_t count, const Choice& choice) {
    std::vector<double> x(count);
    for (std::size_t i = 0; i != count; ++i) x[i] = value(comm.rank(), i);
    allreduce(comm, std::span(x), plus{}, choice);
    return x;
}

} // namespace

TEST_CASE("automatic: right under any costs, for any size", "[frontdoor][automatic]") {
    for (const rank_t p : {1u, 2u, 3u, 5u, 8u}) {
        std::atomic<int> wrong{0};
        in_process{p}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            for (const any_cost_model& costs :
                 {any_cost_model(dear_messages), any_cost_model(dear_bytes), any_cost_model(nothing),
                  any_cost_model(model::rendezvous{dear_bytes})}) {
                comm.set_costs(costs);
                for (const std::size_t count : {0u, 1u, 7u, 100u, 20'000u}) {
                    std::vector<std::uint64_t> x(count), expected(count, std::uint64_t{p} * (p + 1) / 2);
                    const auto fill = [&] { std::fill(x.begin(), x.end(), std::uint64_t{comm.rank()} + 1); };
                    for (int again = 0; again != 3; ++again) {
                        fill();
                        allreduce(comm, std::span(x), plus{});
                        wrong += x != expected;
                        fill();
                        allreduce(comm, std::span(x), plus{},
                                  automatic{.required = required(rank_consistent | order_preserving | any_size)});
                        wrong += x != expected;
                        fill();
                        reduce(comm, std::span(x), plus{}, root{p - 1});
                        if (comm.rank() == p - 1) wrong += x != expected;
                        broadcast(comm, std::span(x), root{p - 1});
                        wrong += x != expected;
                        std::vector<std::uint64_t> own(count, comm.rank()), all(count * p);
                        allgather(comm, std::span<const std::uint64_t>(own), std::span(all));
                        for (std::size_t i = 0; i != all.size(); ++i) wrong += all[i] != i / count;
                    }
                }
            }
        });
        CAPTURE(p);
        CHECK(wrong == 0);
    }
}

TEST_CASE("automatic: the required bits, whatever is chosen", "[frontdoor][automatic]") {
    for (const rank_t p : {3u, 5u, 7u}) {
        std::atomic<int> differ{0};
        in_process{p}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            const automatic same{.required = same_bits_as(recursive_doubling{}, {.size = comm.size()})};
            for (const auto& costs : {dear_messages, dear_bytes}) {
                comm.set_costs(costs);
                for (const std::size_t count : {1u, 50'000u})
                    differ += summed(comm, count, same) != summed(comm, count, recursive_doubling{});
            }
        });
        CAPTURE(p);
        CHECK(differ == 0);
    }
}

TEST_CASE("automatic: what nobody has is an error on every rank, and the next call works", "[frontdoor][automatic]") {
    std::atomic<int> refused{0}, wrong{0};
    in_process{3}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        int x = 1;
        for (int again = 0; again != 2; ++again) {
            status s;
            allreduce(comm, std::span(&x, 1), plus{},
                      automatic{.required = bracket_class{bracket_family("of nobody"), 1}}, s);
            refused += s.code == errc::unsupported;
        }
        x = 1;
        allreduce(comm, std::span(&x, 1), plus{});
        wrong += x != 3;
    });
    CHECK(refused == 6);
    CHECK(wrong == 0);
}

TEST_CASE("automatic: costs that are none are an error on every rank, and the next call works",
          "[frontdoor][automatic]") {
    const double infinite = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    std::vector<any_cost_model> unlawful;
    for (const double bad : {-1e9, infinite, -infinite, nan}) {
        unlawful.push_back(model::alpha_beta_gamma{.alpha_ns = bad, .beta_ns_per_byte = 1});
        unlawful.push_back(model::lrc{.message_latency_ns = bad, .startup_ns = 5});
        unlawful.push_back(model::lrc{.message_latency_ns = 5, .receive = {bad}});
    }
    for (const rank_t p : {2u, 5u}) {
        std::atomic<int> other{0};
        in_process{p}.run([&](auto transport) {
            communicator comm{std::move(transport), {.costs = unlawful.front()}};
            const auto check = [&](const status& s) {
                other += s.code != errc::unsupported || s.argument == nullptr ||
                         std::string(s.argument).substr(0, 6) != "costs:";
            };
            std::vector<rank_t> members(p);
            std::iota(members.begin(), members.end(), rank_t{0});
            const neighbourhood around = grid_neighbours{.extents = {p}, .offsets = {{1}, {-1}}};
            std::vector<int> x(100 * p, 1), y(200 * p, 1);
            for (const any_cost_model& costs : unlawful) {
                comm.set_costs(costs);
                barrier(comm, dissemination{}); // a named algorithm needs no price
                status s;
                for (int again = 0; again != 2; ++again) {
                    allreduce(comm, std::span(x), plus{}, s), check(s);
                    reduce(comm, std::span(x), plus{}, root{p - 1}, s), check(s);
                    broadcast(comm, std::span(x), root{1}, s), check(s);
                    allgather(comm, std::span(x).first(100), std::span(y).first(x.size()), s), check(s);
                    neighbour_allgather(comm, std::span(x), std::span(y).first(x.size() * 2), around, s), check(s);
                    multicast(comm, std::span(x), members, root{0}, s), check(s);
                }
            }
            comm.set_costs(nothing);
            std::fill(x.begin(), x.end(), 1);
            allreduce(comm, std::span(x), plus{});
            other += x != std::vector<int>(x.size(), static_cast<int>(p));
        });
        CAPTURE(p);
        CHECK(other == 0);
    }
}

TEST_CASE("any_algorithm: as a choice", "[frontdoor][automatic]") {
    std::atomic<int> refused{0}, wrong{0};
    in_process{5}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        for (const any_algorithm& a :
             {any_algorithm(recursive_doubling{}), any_algorithm(tree_allreduce{binomial{}})}) {
            std::vector<int> x(10, 1);
            allreduce(comm, std::span(x), plus{}, a);
            wrong += x != std::vector<int>(10, 5);
        }
        int y = 1;
        status s;
        allreduce(comm, std::span(&y, 1), plus{}, any_algorithm(tree_reduce{binomial{}}), s);
        refused += s.code == errc::invalid_argument;
    });
    CHECK(wrong == 0);
    CHECK(refused == 5);
}

// The choice for one root serves others: it is hardly dearer there than what would be chosen for them.
TEST_CASE("automatic: the choice for a like root is nearly the best", "[frontdoor][automatic]") {
    std::size_t choices = 0, near = 0;
    const any_cost_model costs = thread_costs;
    for (const rank_t p : {17u, 24u, 33u})
        for (const std::uint64_t bytes : {0u, 64u, 4096u, 65536u})
            for (const requirements& needed : {requirements{}, order_preserving})
                for (rank_t root = 1; root < p; root += 3) {
                    const problem what{.bytes = bytes};
                    const dimensions at{p, root}, like{p, detail::priced_root<goal::reduce>(at)};
                    const auto known = detail::standard_plan<goal::reduce>(like, what, costs, needed, nullptr);
                    const auto taken = detail::standard_plan<goal::reduce>(at, what, costs, needed, known.get());
                    const auto best = detail::standard_plan<goal::reduce>(at, what, costs, needed, nullptr);
                    REQUIRE((taken != nullptr && best != nullptr));
                    REQUIRE(taken->root() == root);
                    if (needed == order_preserving) REQUIRE(keeps_rank_order(taken->algorithm(), taken->at()));
                    const double factor = price_of(costs, what, *taken) / price_of(costs, what, *best);
                    CAPTURE(p, bytes, root, factor);
                    CHECK(factor <= 1.35);
                    ++choices, near += factor <= 1.1;
                }
    CAPTURE(choices, near);
    CHECK(near * 100 >= choices * 90);
}

TEST_CASE("automatic: a choice is made once for all roots of a broadcast, and the one not used for longest goes") {
    in_process(3).run([&](auto end) {
        communicator comm{std::move(end), {.cached_choices = 4}};
        int x = 0;
        std::vector<int> y(10'000);
        for (int again = 0; again != 3; ++again)
            for (rank_t r = 0; r != 3; ++r) {
                x = comm.rank() == r ? 7 : 0;
                broadcast(comm, std::span(&x, 1), root{r});
                REQUIRE(x == 7);
                broadcast(comm, std::span(y), root{r});
                REQUIRE(comm.core()->remembered_choices() <= 4);
            }
    });
}

TEST_CASE("automatic: costs of each rank make a plan around a slow one, until they say otherwise") {
    constexpr std::size_t count = 1 << 19;
    model::heterogeneous costs;
    for (rank_t r = 0; r != 6; ++r) {
        const double times = r == 4 ? 4 : 1;
        costs.send.push_back({1000 * times, 0.1 * times});
        costs.receive.push_back({1000 * times, 0.1 * times});
        costs.combine.push_back({0, 0.02});
    }
    std::atomic<int> wrong{0}, around{0};
    in_process{6}.run([&](auto transport) {
        communicator comm{std::move(transport), {.costs = model::heterogeneous_view{&costs}}};
        const std::vector<std::uint64_t> expected(count, 21);
        const auto run = [&] {
            std::vector<std::uint64_t> x(count, comm.rank() + 1);
            allreduce(comm, std::span(x), plus{});
            wrong += x != expected;
            const decision said =
                decision_of<goal::allreduce>(comm, {.bytes = count * 8, .element_bytes = 8, .exact_op = true});
            const auto* plan = said.winner().what.algorithm.get<slow_rank_allreduce>();
            return plan != nullptr && plan->slow == 4;
        };
        around += run();
        comm.set_costs({});
        around += 100 * run();
    });
    CHECK(wrong == 0);
    CHECK(around == 6);
}

namespace {

struct of_unknown_cores : forwarding_transport<in_process::endpoint> {
    using forwarding_transport::forwarding_transport;
    std::uint32_t cores() const noexcept { return 0; }
};

} // namespace

TEST_CASE("automatic: a transport need not know how many cores there are") {
    std::atomic<int> right{0};
    in_process{5}.run([&](auto transport) {
        communicator comm{of_unknown_cores{std::move(transport)}};
        std::vector<int> x(1000, 1);
        allreduce(comm, std::span(x), plus{});
        right += x == std::vector<int>(1000, 5);
    });
    CHECK(right == 5);
}
