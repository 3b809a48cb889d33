// SPDX-License-Identifier: BSL-1.0
// The C interface of the playground: what the page is told, for every collective and algorithm.
#include "algorithms.hpp"
#include "answers.hpp"
#include "question.hpp"
#include "short_name.hpp"
#include "support/catch.hpp"
#include "timed_model.hpp"
#include <bough/bough.hpp>

#include <nlohmann/json.hpp>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace {

using nlohmann::json;

json catalogue() { return json::parse(bough_playground_catalogue("")); }
json plan(const std::string& question) { return json::parse(bough_playground_plan(question.c_str())); }
json steps(const std::string& question) { return json::parse(bough_playground_steps(question.c_str())); }
json fastest(const std::string& question) { return json::parse(bough_playground_fastest(question.c_str())); }

std::string question_of(const json& collective, const json& algorithm, int ranks) {
    return "collective=" + collective["name"].get<std::string>() +
           "&algorithm=" + algorithm["name"].get<std::string>() + "&ranks=" + std::to_string(ranks);
}
template <class F>
void for_each_plan(F&& f) {
    const json all = catalogue();
    for (const json& c : all["collectives"])
        for (const json& a : c["algorithms"]) f(c, a);
}

// Some algorithms refuse some numbers of ranks, and some collectives some trees.
bool refused(const json& answer) { return answer.contains("refused"); }

} // namespace

TEST_CASE("the playground knows what the tool knows") {
    const json all = catalogue();
    REQUIRE(all["collectives"].size() == cli::all_collectives().size());
    for (const json& c : all["collectives"]) {
        const auto found = cli::find_collective(c["name"].get<std::string>());
        std::size_t names = cli::named_algorithms(found).size();
        if (cli::has_trees(found)) names += cli::shape_names().size();
        CHECK(c["algorithms"].size() == names);
        for (const json& a : c["algorithms"])
            CHECK_NOTHROW(cli::find_algorithm(found, {a["name"].get<std::string>(), {}, a["ordered"].get<bool>()}));
    }
}

TEST_CASE("every plan of the playground is proved, and runs") {
    int plans = 0;
    for_each_plan([&](const json& c, const json& a) {
        for (const int p : {1, 2, 7, 8, 13}) {
            const std::string question = question_of(c, a, p);
            CAPTURE(question);
            const json answer = plan(question);
            if (refused(answer)) continue;
            ++plans;
            CHECK(answer["verdict"]["right"] == true);
            CHECK(answer["traits"].size() >= 11);
            CHECK(answer["tree"].is_null() == !a["tree"]);
            const json& run = answer["run"];
            CHECK(run["stuck"].is_null());
            REQUIRE(run["first"].size() == static_cast<std::size_t>(p) + 1);
            // Columns: each message is sent once and received once, and deeds are the steps in order.
            std::map<std::int32_t, int> sent, received;
            const auto *const verb = bough_playground_numbers("verb"), *const peer = bough_playground_numbers("peer"),
                              *const message = bough_playground_numbers("message"),
                              *const step = bough_playground_numbers("step");
            const auto *const begin = bough_playground_times("begin"), *const end = bough_playground_times("end");
            for (std::size_t r = 0; r != static_cast<std::size_t>(p); ++r) {
                std::int32_t before = -1;
                for (std::size_t i = run["first"][r]; i != run["first"][r + 1].get<std::size_t>(); ++i) {
                    CHECK(begin[i] <= end[i]);
                    CHECK(step[i] > before);
                    before = step[i];
                    if (verb[i] == 0) ++sent[message[i]];
                    if (verb[i] == 1) ++received[message[i]];
                    CHECK((verb[i] <= 1) == (peer[i] >= 0));
                }
            }
            CHECK(sent == received);
            CHECK(sent.size() == run["messages"].get<std::size_t>());
            for (const auto& [number, times] : sent) CHECK(times == 1);
        }
    });
    CHECK(plans > 300);
}

TEST_CASE("the steps that the playground shows are those of the plan") {
    const json shown = steps("collective=allreduce&algorithm=ring&ranks=5&rank=2");
    const auto plan = bough::plan_allreduce(bough::ring{}, {.size = 5});
    const bough::schedule schedule = plan.schedule_of(2);
    REQUIRE(shown["steps"].size() == schedule.size());
    for (std::size_t i = 0; i != schedule.size(); ++i) {
        CHECK(shown["steps"][i]["text"] == bough::to_string(schedule[i]));
        CHECK(shown["steps"][i]["number"] == i);
    }
}

TEST_CASE("a plan that lacks any step is found wrong") {
    for (const char* const what :
         {"collective=allreduce&algorithm=recursive_doubling&ranks=7",
          "collective=reduce&algorithm=kary&ranks=6&root=2", "collective=broadcast&algorithm=scatter_ring&ranks=5",
          "collective=alltoall&algorithm=bruck&ranks=5",
          "collective=exscan&algorithm=inclusive_then_exclusive&ranks=6"}) {
        const std::string question = what;
        const int p = plan(question)["size"];
        for (int r = 0; r != p; ++r) {
            const std::size_t count = steps(question + "&rank=" + std::to_string(r))["steps"].size();
            for (std::size_t i = 0; i != count; ++i) {
                const std::string edit = std::to_string(r) + "." + std::to_string(i) + ".drop";
                CAPTURE(question, edit);
                const json broken = plan(question + "&edit=" + edit);
                CHECK(broken["verdict"]["right"] == false);
                CHECK(broken["verdict"]["sentence"].get<std::string>().starts_with("rank "));
                CHECK(!broken.contains("traits"));
                const json left = steps(question + "&rank=" + std::to_string(r) + "&edit=" + edit);
                CHECK(left["steps"].size() == count);
                CHECK(left["steps"][i]["number"].is_null());
            }
        }
    }
}

TEST_CASE("any change of a step has an answer") {
    const std::string question = "collective=allreduce&algorithm=halving_doubling&ranks=6";
    int wrong = 0, right = 0, unfit = 0;
    for (const char* const change :
         {"twice", "swap", "peer.0", "peer.1", "peer.5", "peer.6", "peer.2147483647", "a.input:0:1", "a.output:0:4",
          "a.scratch0:0:1", "b.output:1:1", "out.input:0:1", "out.scratch63:0:1", "out.output:0:0",
          "out.output:2147483647:2147483647", "a.scratch1:3:9", "b.scratch0:0:2147483647"})
        for (int r = 0; r != 6; ++r)
            for (int i = 0; i != 12; ++i) {
                const std::string edit = std::to_string(r) + "." + std::to_string(i) + "." + change;
                CAPTURE(edit);
                const json answer = plan(question + "&edit=" + edit);
                if (refused(answer))
                    ++unfit;
                else
                    ++(answer["verdict"]["right"] == true ? right : wrong);
            }
    CHECK(wrong > 200);
    CHECK(right > 0); // such as a copy that is done twice
    CHECK(unfit > 0);
    // Two changes that heal each other: the operands of a combine are exchanged twice.
    const json twice = plan("ranks=4&edit=0.2.swap~0.2.swap");
    CHECK(twice["verdict"]["right"] == true);
    CHECK(plan("ranks=4&edit=0.2.swap")["verdict"]["fault"] != "none");
}

TEST_CASE("a plan that waits for ever says who waits") {
    // Rank 0 of a binomial tree waits for its child, which sends to another.
    const json answer = plan("collective=reduce&algorithm=binomial&ranks=4&edit=1.0.peer.3");
    CHECK(answer["verdict"]["right"] == false);
    CHECK(answer["run"]["stuck"]["rank"] == 0);
    CHECK(answer["run"]["stuck"]["on"] == 1);
    CHECK(answer["run"]["unended"][0] == 0);
    CHECK(plan("ranks=4")["run"]["unended"].empty());
}

TEST_CASE("the playground says why it refuses") {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"ranks=257", "--ranks"},
        {"ranks=0", "--ranks"},
        {"ranks=x", "--ranks"},
        {"ranks=5&root=5", "--root"},
        {"collective=none", "COLLECTIVE"},
        {"collective=neighbour_allgather", "COLLECTIVE"},
        {"algorithm=none", "known are"},
        {"algorithm=ring&degree=3", "--degree"},
        {"collective=reduce&algorithm=flat&ordered=1&blocks=0", "--blocks"},
        {"model=1,2", "--model"},
        {"model=1000,0,0,nan,0", "--model"},
        {"bytes=1,2", "--bytes"},
        {"collective=alltoall&algorithm=pairwise&ranks=256", "--ranks"},
        {"edit=0.99.drop", "edit"},
        {"edit=13.0.drop", "edit"},
        {"edit=0.0.nonsense", "edit"},
        {"edit=0.0.out.scratch64:0:1", "edit"},
        {"collective=allgather&algorithm=neighbour_exchange&ranks=7", "refuses"}};
    for (const auto& [question, expected] : cases) {
        CAPTURE(question);
        const json answer = plan(question);
        REQUIRE(refused(answer));
        CHECK(answer["refused"].get<std::string>().find(expected) != std::string::npos);
    }
    CHECK(bough_playground_numbers("none") == nullptr);
    CHECK(bough_playground_times("none") == nullptr);
}

// Of the others some are beyond the limits that compilers have by default.
TEST_CASE("the C++ of the playground proves short plans while it compiles") {
    const auto is_proved_early = [](const std::string& question) {
        return plan(question)["cpp"].get<std::string>().find("static_assert") != std::string::npos;
    };
    CHECK(is_proved_early("algorithm=recursive_doubling&ranks=13"));
    CHECK(is_proved_early("algorithm=recursive_doubling&ranks=13&edit=4.3.drop"));
    CHECK(!is_proved_early("algorithm=swing&ranks=16"));
    CHECK(!is_proved_early("algorithm=ring&ranks=13"));
    CHECK(!is_proved_early("algorithm=late_rank&ranks=16"));
    CHECK(!is_proved_early("algorithm=chain&ranks=4&blocks=100"));
}

TEST_CASE("the map of the playground is what choose says") {
    const json row = fastest("collective=allreduce&ranks=12&bytes=8,64K,1M&model=5000,1,0.25");
    REQUIRE(row["cells"].size() == 3);
    const bough::model::alpha_beta_gamma model{.alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25};
    for (const json& cell : row["cells"]) {
        const bough::dimensions at{.size = 12};
        const bough::problem what{.bytes = cell["bytes"]};
        const auto made = bough::choose(bough::standard_candidates<bough::goal::allreduce>(at, what), at, what,
                                        bough::any_cost_model(model));
        CHECK(cell["ns"] == made.winner().predicted_ns);
    }
}

TEST_CASE("the map of the playground is of calls in a loop") {
    const json row = fastest("collective=broadcast&ranks=4&bytes=8&model=2000,2000,0,0.1,0.05");
    REQUIRE(row["cells"].size() == 1);
    const cli::timed_model model = cli::parse_timed_model("2000,2000,0,0.1,0.05");
    const auto costs = std::visit([](const auto& m) -> bough::any_cost_model { return m; }, model.costs);
    const bough::dimensions at{.size = 4};
    const bough::problem what{.bytes = 8};
    const auto list = bough::standard_candidates<bough::goal::broadcast>(at, what);
    const auto alone = bough::choose(list, at, what, costs);
    const auto in_a_loop = bough::choose(list, at, what, costs, {.in_a_loop = true});
    CHECK(!(alone.winner().what == in_a_loop.winner().what)); // or this would test nothing
    CHECK(row["cells"][0]["ns"] == in_a_loop.winner().predicted_ns);
    CHECK(row["cells"][0]["algorithm"] == cli::short_name(in_a_loop.winner().what.algorithm, 4));
}

// What the playground writes in C++ is C++, and the same algorithm.
#define PLAYGROUND_WRITTEN(...)                                                                                        \
    { #__VA_ARGS__, bough::algorithm_for < goal>(__VA_ARGS__) }

namespace {

using written = std::map<std::string, bough::any_algorithm>;

template <class Goal>
void check_written(const char* collective, const written& known) {
    const auto c = cli::find_collective(collective);
    const auto check = [&](const std::string& name, const std::string& more, const cli::algorithm_name& wanted) {
        CAPTURE(collective, name, more);
        const std::string ranks = name.starts_with("trivance") ? "3" : "4"; // powers of three only
        const std::string question =
            "collective=" + std::string(collective) + "&algorithm=" + name + more + "&ranks=" + ranks;
        const auto asked = playground::parse_plan(playground::question(question));
        const auto found = known.find(asked.cpp);
        REQUIRE(found != known.end());
        CHECK(found->second == cli::find_algorithm(c, wanted));
        CHECK(plan(question)["cpp"].get<std::string>().find(asked.cpp) != std::string::npos);
    };
    for (const auto& a : cli::named_algorithms(c)) {
        check(std::string(a.name), "", {std::string(a.name), {}, false});
        if (a.of_degree) check(std::string(a.name), "&degree=2", {std::string(a.name), 2, false});
    }
}

} // namespace

TEST_CASE("the algorithms of the playground in C++") {
    using namespace bough;
    {
        using goal = bough::goal::allreduce;
        check_written<goal>("allreduce",
                            {PLAYGROUND_WRITTEN(bough::recursive_doubling{}),
                             PLAYGROUND_WRITTEN(bough::halving_doubling_allreduce{}),
                             PLAYGROUND_WRITTEN(bough::binary_blocks_allreduce{}),
                             PLAYGROUND_WRITTEN(bough::per_level_allreduce{}),
                             PLAYGROUND_WRITTEN(bough::per_level_allreduce{.form = bough::level_form::exchange}),
                             PLAYGROUND_WRITTEN(bough::circulant{}),
                             PLAYGROUND_WRITTEN(bough::circulant{.ports = 2}),
                             PLAYGROUND_WRITTEN(bough::lowest_bit_first{}),
                             PLAYGROUND_WRITTEN(bough::lowest_bit_first{.aggregation_limit = 2}),
                             PLAYGROUND_WRITTEN(bough::ring{}),
                             PLAYGROUND_WRITTEN(bough::double_tree_allreduce{}),
                             PLAYGROUND_WRITTEN(bough::inexact_census{}),
                             PLAYGROUND_WRITTEN(bough::dual_root_allreduce{}),
                             PLAYGROUND_WRITTEN(bough::dual_root_allreduce{.arity = 2}),
                             PLAYGROUND_WRITTEN(bough::trivance_allreduce{}),
                             PLAYGROUND_WRITTEN(bough::inexact_trivance_census{}),
                             PLAYGROUND_WRITTEN(bough::swing{}),
                             PLAYGROUND_WRITTEN(bough::swing{.ports = 2}),
                             PLAYGROUND_WRITTEN(bough::bucket{}),
                             PLAYGROUND_WRITTEN(bough::bucket{.ports = 2}),
                             PLAYGROUND_WRITTEN(bough::late_rank_allreduce{}),
                             PLAYGROUND_WRITTEN(bough::slow_rank_allreduce{}),
                             PLAYGROUND_WRITTEN(bough::by_owner_allreduce{})});
    }
    {
        using goal = bough::goal::reduce;
        check_written<goal>(
            "reduce", {PLAYGROUND_WRITTEN(bough::halving_gather{}), PLAYGROUND_WRITTEN(bough::binary_blocks_reduce{}),
                       PLAYGROUND_WRITTEN(bough::per_level_reduce{}), PLAYGROUND_WRITTEN(bough::ring_reduce{}),
                       PLAYGROUND_WRITTEN(bough::circulant_reduce{}), PLAYGROUND_WRITTEN(bough::double_tree_reduce{}),
                       PLAYGROUND_WRITTEN(bough::by_owner_reduce{})});
    }
    {
        using goal = bough::goal::broadcast;
        check_written<goal>("broadcast",
                            {PLAYGROUND_WRITTEN(bough::scatter_allgather{bough::binomial{}, bough::circulant{}}),
                             PLAYGROUND_WRITTEN(bough::scatter_allgather{bough::binomial{}, bough::ring{}}),
                             PLAYGROUND_WRITTEN(bough::circulant_broadcast{}),
                             PLAYGROUND_WRITTEN(bough::double_tree_broadcast{})});
    }
    {
        using goal = bough::goal::reduce_scatter;
        check_written<goal>("reduce_scatter",
                            {PLAYGROUND_WRITTEN(bough::recursive_halving{}),
                             PLAYGROUND_WRITTEN(bough::pairwise_reduce_scatter{}),
                             PLAYGROUND_WRITTEN(bough::by_owner_reduce_scatter{}),
                             PLAYGROUND_WRITTEN(bough::circulant{}), PLAYGROUND_WRITTEN(bough::circulant{.ports = 2}),
                             PLAYGROUND_WRITTEN(bough::lowest_bit_first_reduce_scatter{}),
                             PLAYGROUND_WRITTEN(bough::lowest_bit_first_reduce_scatter{.aggregation_limit = 2}),
                             PLAYGROUND_WRITTEN(bough::ring_reduce_scatter{}), PLAYGROUND_WRITTEN(bough::swing{}),
                             PLAYGROUND_WRITTEN(bough::bucket{}), PLAYGROUND_WRITTEN(bough::bucket{.ports = 2})});
    }
    {
        using goal = bough::goal::allgather;
        check_written<goal>(
            "allgather",
            {PLAYGROUND_WRITTEN(bough::recursive_doubling_allgather{}), PLAYGROUND_WRITTEN(bough::bruck_allgather{}),
             PLAYGROUND_WRITTEN(bough::neighbour_exchange{}), PLAYGROUND_WRITTEN(bough::circulant{}),
             PLAYGROUND_WRITTEN(bough::circulant{.ports = 2}), PLAYGROUND_WRITTEN(bough::lowest_bit_first_allgather{}),
             PLAYGROUND_WRITTEN(bough::lowest_bit_first_allgather{.aggregation_limit = 2}),
             PLAYGROUND_WRITTEN(bough::ring_allgather{}), PLAYGROUND_WRITTEN(bough::swing{}),
             PLAYGROUND_WRITTEN(bough::bucket{}), PLAYGROUND_WRITTEN(bough::bucket{.ports = 2})});
    }
    {
        using goal = bough::goal::barrier;
        check_written<goal>(
            "barrier", {PLAYGROUND_WRITTEN(bough::recursive_doubling{}), PLAYGROUND_WRITTEN(bough::dissemination{})});
    }
    {
        using goal = bough::goal::scan;
        check_written<goal>(
            "scan", {PLAYGROUND_WRITTEN(bough::recursive_doubling_scan{}), PLAYGROUND_WRITTEN(bough::chain_scan{})});
    }
    {
        using goal = bough::goal::exscan;
        check_written<goal>("exscan", {PLAYGROUND_WRITTEN(bough::recursive_doubling_exscan{}),
                                       PLAYGROUND_WRITTEN(bough::inclusive_then_exclusive{}),
                                       PLAYGROUND_WRITTEN(bough::chain_exscan{})});
    }
    {
        using goal = bough::goal::alltoall;
        check_written<goal>("alltoall", {PLAYGROUND_WRITTEN(bough::pairwise_alltoall{}),
                                         PLAYGROUND_WRITTEN(bough::pairwise_alltoall{.ahead = 2}),
                                         PLAYGROUND_WRITTEN(bough::bruck_alltoall{}),
                                         PLAYGROUND_WRITTEN(bough::bruck_alltoall{.ports = 2})});
    }
}

TEST_CASE("the trees of the playground in C++") {
    // The shapes; each collective has its own family of algorithms over them.
    using goal = bough::goal::reduce;
    const written known{
        PLAYGROUND_WRITTEN(bough::tree_reduce{bough::binomial{}}),
        PLAYGROUND_WRITTEN(bough::tree_reduce{bough::binomial{bough::orientation::high}}),
        PLAYGROUND_WRITTEN(bough::tree_reduce{bough::fnomial{.degree = 5}}),
        PLAYGROUND_WRITTEN(bough::tree_reduce{bough::degree_k{.k = 5}}),
        PLAYGROUND_WRITTEN(bough::tree_reduce{bough::kary{.arity = 5}}),
        PLAYGROUND_WRITTEN(bough::tree_reduce{bough::chain{}}),
        PLAYGROUND_WRITTEN(bough::tree_reduce{bough::flat{}}),
        PLAYGROUND_WRITTEN(bough::tree_reduce{bough::bine{}}),
        PLAYGROUND_WRITTEN(bough::tree_reduce{bough::ordered{bough::binomial{}}}),
        PLAYGROUND_WRITTEN(bough::tree_reduce{bough::ordered{bough::fnomial{.degree = 5}}}),
    };
    const auto cpp_of = [](const std::string& more) {
        return playground::parse_plan(playground::question("collective=reduce&ranks=4&algorithm=" + more)).cpp;
    };
    std::set<std::string> made;
    for (const cli::shape_name& s : cli::shape_names())
        made.insert(cpp_of(std::string(s.name) + (s.takes_degree ? "&degree=5" : "")));
    made.insert(cpp_of("binomial&ordered=1"));
    made.insert(cpp_of("fnomial&degree=5&ordered=1"));
    for (const std::string& text : made) {
        CAPTURE(text);
        REQUIRE(known.contains(text));
        const std::string of_type = text.substr(0, text.find('{'));
        CHECK(of_type == "bough::tree_reduce");
        // The C++ says what bough says of the algorithm, but for bough:: and empty braces.
        std::string plain = text;
        for (const std::string noise : {"bough::", "{}"})
            for (auto at = plain.find(noise); at != std::string::npos; at = plain.find(noise))
                plain.erase(at, noise.size());
        CHECK(plain == known.at(text).text().c_str());
    }
    CHECK(made.size() == known.size());
}
