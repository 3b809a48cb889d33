// SPDX-License-Identifier: BSL-1.0
// A plan by which every rank combines in its own order is for exact ops only, however it is wrapped.
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/census.hpp>
#include <bough/algorithm/leaders.hpp>
#include <bough/allreduce.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/schedule/any_algorithm.hpp>
#include <bough/select/choose.hpp>
#include <bough/select/standard/allreduce.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/binomial.hpp>

#include <span>
#include <string_view>
#include <utility>
#include <vector>

using namespace bough;

namespace {

constexpr model::alpha_beta_gamma network{.alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25};

template <class T>
std::vector<status> results_of(const auto& choice) {
    std::vector<status> results(7);
    in_process{7}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        std::vector<T> x(3, static_cast<T>(comm.rank() + 1));
        allreduce(comm, std::span(x), plus{}, choice, results[comm.rank()]);
        if (!results[comm.rank()] && x[2] != T{28}) results[comm.rank()].code = errc::protocol_error;
    });
    return results;
}

} // namespace

TEST_CASE("a census of doubles is refused, wrapped or composed") {
    for (const status& s : results_of<double>(any_algorithm(census{}))) {
        CHECK(s.code == errc::unsupported);
        CHECK(std::string_view(s.argument) ==
              "op: not known to be exact, but with this plan every rank combines in its own order");
    }
    const auto composed = compose_leaders(binomial{}, census{}, contiguous_groups{.ranks_per_group = 2});
    for (const status& s : results_of<double>(composed)) CHECK(s.code == errc::unsupported);
    for (const status& s : results_of<int>(any_algorithm(census{}))) CHECK(!s);
    for (const status& s : results_of<int>(composed)) CHECK(!s);
}

TEST_CASE("the census is chosen for exact ops only") {
    const dimensions at{.size = 7};
    problem what{.bytes = 8};
    const decision rounded = choose(standard_candidates<goal::allreduce>(at, what), at, what, network);
    what.exact_op = true;
    const decision exact = choose(standard_candidates<goal::allreduce>(at, what), at, what, network);
    CHECK(rounded.winner().what.text() != exact.winner().what.text());
    CHECK(exact.winner().what.algorithm == any_algorithm(census{}));
    CHECK(exact.winner().predicted_ns < rounded.winner().predicted_ns);
    // Offered all the same, it is excluded, with the reason.
    what.exact_op = false;
    const decision offered = choose(candidates<goal::allreduce>(census{}), at, what, network);
    CHECK(!offered);
    CHECK(offered.prospects[0].excluded == exclusion::not_exact);
}
