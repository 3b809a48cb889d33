// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "support/plans.hpp"
#include <bough/concepts/explain_plan.hpp>
#include <bough/engine/bound.hpp>
#include <bough/schedule/any_algorithm.hpp>
#include <bough/verify/verify.hpp>

#include <string>

using namespace bough;

static_assert(explain_algorithm<any_algorithm>());
static_assert(label_of(fnomial{.degree = 4}) == label("fnomial{.degree = 4}"));
static_assert(label_of(tree_reduce{ordered{chain{}}, 2}) == label("tree_reduce{ordered{chain}, .landing = 2}"));
static_assert(label_of(recursive_doubling{}) == label("recursive_doubling"));

namespace {
struct nameless {};
template <class T>
struct box {};
} // namespace

TEST_CASE("label: fields, and what is too long", "[schedule][label]") {
    CHECK(std::string(label("a").c_str()) == "a");
    CHECK(std::string(label("a").field("b", 1).field("c", 0, 0).field("d", 4294967295u).c_str()) ==
          "a{.b = 1, .d = 4294967295}");
    CHECK(std::string(label("a").field(label("b").field("c", 2)).field("d", 3).c_str()) == "a{b{.c = 2}, .d = 3}");
    CHECK(std::string(label_of(box<chain>{}).c_str()).find("box<chain>") != std::string::npos);
    CHECK(std::string(label_of(nameless{}).c_str()).find("nameless") != std::string::npos);
    label cut;
    for (int i = 0; i != 100; ++i) cut.append("xyz");
    CHECK(cut.size() == label::capacity);
    CHECK(std::string(cut.c_str()).size() == label::capacity);
    CHECK_FALSE(label("a") == label("b"));
    CHECK_FALSE(label("a") == label("aa"));
}

TEST_CASE("any_algorithm: answers as what it holds", "[schedule][any_algorithm]") {
    for (const rank_t p : {1u, 2u, 7u, 13u})
        for (const block_t blocks : {natural_blocks, 3u})
            test::for_each_plan({.size = p, .root = p / 2, .blocks = blocks}, [&](const char* name, const auto& plan) {
                using Goal = decltype(plan.goal());
                const any_algorithm any = plan.algorithm();
                const bough::plan<Goal, any_algorithm> same(any, plan.at());
                INFO(name << " over " << p);
                for (rank_t r = 0; r != p; ++r) {
                    CHECK(same.schedule_of(r) == plan.schedule_of(r));
                    CHECK(same.scratch(r) == plan.scratch(r));
                }
                CHECK(verify(same) == verify(plan));
                CHECK(any.claims(plan.at()) == claims_of(plan.algorithm(), plan.at()));
                CHECK(any.serves_kind(Goal::kind));
                CHECK(any.text() == label_of(plan.algorithm()));
                CHECK(bind_plan(same, 0).plan_id == bind_plan(plan, 0).plan_id);
                CHECK(bind_plan(same, 0).may_hold == bind_plan(plan, 0).may_hold);
            });
}

TEST_CASE("any_algorithm: is a value", "[schedule][any_algorithm]") {
    const any_algorithm a = tree_reduce{fnomial{3}};
    any_algorithm b = tree_reduce{fnomial{3}};
    CHECK(a == b);
    b = tree_reduce{fnomial{4}};
    CHECK_FALSE(a == b);
    CHECK_FALSE(a == any_algorithm(tree_broadcast{fnomial{3}}));
    const any_algorithm copy = a;
    CHECK(copy == a);
    REQUIRE(copy.get<tree_reduce<fnomial>>() != nullptr);
    CHECK(copy.get<tree_reduce<fnomial>>()->shape.degree == 3);
    CHECK(copy.get<tree_reduce<chain>>() == nullptr);
    CHECK_FALSE(a.check({.size = 3}));
    CHECK(any_algorithm(tree_reduce{fnomial{1}}).check({.size = 3}).code == errc::invalid_argument);
    CHECK_FALSE(a.serves_kind(goal::allreduce::kind));
    CHECK(b.natural_blocks(9) == 1);
}
