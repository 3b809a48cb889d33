// SPDX-License-Identifier: BSL-1.0
// Ranks match plans by the names of algorithms, where a name tells its steps (identity_of). So two builds must do the same
// under one name, or have another version of plans (core/formats.hpp).
#include "support/plans.hpp"

#include "support/catch.hpp"
#include "support/golden.hpp"
#include <bough/core/collective_name.hpp>
#include <bough/core/formats.hpp>
#include <bough/engine/bound.hpp>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>

using namespace bough;

TEST_CASE("the steps behind each name are those of this version of plans") {
    std::map<std::string, std::uint64_t> steps_of; // by collective and text
    for (const rank_t p : {2u, 3u, 4u, 5u, 7u, 8u, 12u, 16u})
        for (const rank_t root : {0u, p - 1})
            test::for_each_plan(
                {.size = p, .root = root, .blocks = natural_blocks}, [&](const char*, const auto& plan) {
                    if (detail::identity_of_plan(plan) == 0) return; // matched by its steps
                    std::uint64_t& h = steps_of[std::string(collective_name(decltype(plan.goal())::kind)) + ": " +
                                                label_of(plan.algorithm()).c_str()];
                    for (rank_t r = 0; r != p; ++r) {
                        schedule made;
                        plan.emit(r, made);
                        h = detail::hash_steps(h, made.steps);
                    }
                });
    REQUIRE(steps_of.size() > 40);
    std::ostringstream text;
    text << "plans " << int{formats::plans} << '\n';
    for (const auto& [name, h] : steps_of) text << std::hex << h << ' ' << name << '\n';
    INFO("if a line has changed that was there before, ranks of older builds would do other steps: add one to "
         "formats::plans");
    const std::string path = bough_test::golden_path("plans_of_names.txt");
    if (std::getenv("BOUGH_REGOLD") != nullptr) std::ofstream(path) << text.str();
    std::ifstream file(path);
    const std::string kept((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    CHECK(text.str() == kept);
}
