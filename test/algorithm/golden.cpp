// SPDX-License-Identifier: BSL-1.0
// Printed schedules, as kept in test/golden/: a change of a generator or of the printer shows up in review, line by line.
#include "support/golden.hpp"

#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/lowest_bit_first.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/schedule/print.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/verify/verify.hpp>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

using namespace bough;

namespace {

template <Plan P>
std::string text_of(const P& plan) {
    std::string text;
    for (rank_t r = 0; r != plan.size(); ++r)
        text += "rank " + std::to_string(r) + "\n" + to_string(plan.schedule_of(r)) + "\n";
    const verdict proof = verify(plan);
    return text + to_string(proof) + "\n" + to_string(proof.traits);
}

template <Plan P>
void compare(const char* name, const P& plan) {
    const std::string path = bough_test::golden_path(std::string("schedule_") + name + ".txt");
    const std::string now = text_of(plan);
    if (const char* regold = std::getenv("BOUGH_REGOLD"); regold != nullptr && *regold == '1') {
        std::ofstream(path, std::ios::binary) << now;
        WARN("rewritten: " << path);
    }
    std::ifstream file(path, std::ios::binary);
    const std::string kept{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    INFO("kept in " << path
                    << "; if the change is meant, run this test once with BOUGH_REGOLD=1 and review the difference");
    CHECK(now == kept);
}

} // namespace

TEST_CASE("printed schedules, as kept in golden/") {
    compare("reduce_fnomial_3_of_9", plan_reduce(fnomial{.degree = 3}, {.size = 9}));
    compare("allreduce_recursive_doubling_of_7", plan_allreduce(recursive_doubling{}, {.size = 7}));
    compare("allgather_circulant_of_7", plan_allgather(circulant{}, {.size = 7}));
    compare("reduce_scatter_circulant_of_7", plan_reduce_scatter(circulant{}, {.size = 7}));
    compare("allreduce_circulant_of_7", plan_allreduce(circulant{}, {.size = 7}));
    compare("reduce_scatter_lowest_bit_first_of_7", plan_reduce_scatter(lowest_bit_first{}, {.size = 7}));
    compare("broadcast_binomial_of_6_root_2", plan_broadcast(binomial{}, {.size = 6, .root = 2}));
}
