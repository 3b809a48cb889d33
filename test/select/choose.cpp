// SPDX-License-Identifier: BSL-1.0
#include "everything.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/allreduce/halving_doubling.hpp>
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/binary_blocks.hpp>
#include <bough/algorithm/broadcast/circulant.hpp>
#include <bough/algorithm/broadcast/double_tree.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/halving_doubling.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/algorithm/scan/chain.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/logp.hpp>
#include <bough/model/lrc.hpp>
#include <bough/model/rendezvous.hpp>
#include <bough/select/choose.hpp>
#include <bough/select/print_decision.hpp>
#include <bough/select/standard/allgather.hpp>
#include <bough/select/standard/allreduce.hpp>
#include <bough/select/standard/alltoall.hpp>
#include <bough/select/standard/barrier.hpp>
#include <bough/select/transport_costs.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/tree/kary.hpp>
#include <bough/verify/verify_claims.hpp>

#include <algorithm>
#include <limits>
#include <sstream>
#include <string>

using namespace bough;

namespace {

constexpr model::lrc nic{
    .message_latency_ns = 2000, .receive = {400, 1.0}, .combine = {100, 0.5}, .startup_ns = 300, .copy = {20, 0.1}};
constexpr model::alpha_beta_gamma paper{.alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25};
constexpr model::alpha_beta_gamma one_way{
    .alpha_ns = 1000, .beta_ns_per_byte = 0.1, .gamma_ns_per_byte = 0.2, .f_alpha = 0.6, .f_beta = 0.8, .early = true};
// Half of the time of a message is spent on the way, and so are notices and answers.
constexpr model::alpha_beta_gamma on_the_way{
    .alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25, .held_alpha = 0.5, .held_beta = 0.5};

// By the walk alone, without any_cost_model.
template <class M>
double walked(const candidate& c, const dimensions& at, const problem& what, const M& model) {
    const dimensions d = test::with_blocks(c, at);
    return model::walk(plan<goal::barrier, any_algorithm>(c.algorithm, d), model, what.bytes, what.element_bytes)
        .makespan_ns;
}

} // namespace

TEMPLATE_TEST_CASE("choose: the cheapest by the walk, the first of equals", "[select][choose]", model::lrc,
                   model::alpha_beta_gamma, model::rendezvous<model::alpha_beta_gamma>) {
    std::vector<TestType> models;
    if constexpr (std::is_same_v<TestType, model::lrc>)
        models = {nic};
    else if constexpr (std::is_same_v<TestType, model::alpha_beta_gamma>)
        models = {paper, one_way};
    else
        models = {TestType(paper), TestType(one_way, 4096)};
    std::uint64_t number = 0;
    for (const auto& model : models)
        for (const rank_t p : {1u, 2u, 3u, 5u, 7u, 8u, 13u, 24u, 33u})
            for (const std::uint64_t bytes : {0u, 8u, 4096u, 65536u, 1u << 20}) {
                if (p > 8 && !bough_test::sampled(++number, 4)) continue;
                const dimensions at{.size = p};
                const problem what{.bytes = bytes};
                test::for_each_goal(at, [&]<class Goal>(Goal, const candidate_list& all) {
                    const decision quick = choose(all, at, what, model);
                    const decision full = choose(all, at, what, model, {.price_all = true});
                    INFO("kind " << int{Goal::kind} << ", " << p << " ranks, " << bytes << " bytes");
                    REQUIRE(quick);
                    REQUIRE(full);
                    const decision exact = choose(all, at, what, model, {.exact = true});
                    REQUIRE(exact);
                    CHECK(exact.winner() == full.winner());
                    // Prices of large plans may be those of small ones, drawn out.
                    CHECK(walked(quick.winner().what, at, what, model) <=
                          1.03 * walked(full.winner().what, at, what, model));
                    CHECK(quick.prospects.size() == all.list.size());
                    double best = std::numeric_limits<double>::infinity();
                    for (const prospect& one : full.prospects) {
                        INFO(one.what.text().c_str());
                        if (one.excluded != exclusion::none) {
                            CHECK(one.excluded == exclusion::dimensions);
                            continue;
                        }
                        const double expected = walked(one.what, at, what, model);
                        // One rank stands for all where they do alike, up to a combine that is cut in two, and to blocks
                        // that differ by a byte.
                        if (one.what.algorithm.claims(test::with_blocks(one.what, at)).symmetric)
                            CHECK(one.predicted_ns == Approx(expected).epsilon(0.1));
                        else
                            CHECK(one.predicted_ns == expected);
                        CHECK(any_cost_model(model)
                                  .bound_ns(plan_ref(one.what.algorithm, test::with_blocks(one.what, at)), what)
                                  .ns <= expected * (1 + 1e-12));
                        best = std::min(best, one.predicted_ns);
                    }
                    CHECK(full.winner().predicted_ns <= best * (1 + equal_price_share));
                    // The first of those.
                    for (const candidate& c : all.list) {
                        const auto one = std::find_if(full.prospects.begin(), full.prospects.end(),
                                                      [&](const prospect& q) { return q.what == c; });
                        if (one->excluded != exclusion::none || one->predicted_ns > best * (1 + equal_price_share))
                            continue;
                        CHECK(full.winner().what == c);
                        break;
                    }
                });
            }
}

TEST_CASE("choose: where ranks do alike and blocks are equal, one stands for all", "[select][choose]") {
    for (const rank_t p : {2u, 3u, 7u, 8u, 13u, 30u})
        test::for_each_goal({.size = p}, [&]<class Goal>(Goal, const candidate_list& all) {
            const problem what{.bytes = std::uint64_t{p} * p * 64};
            for (const candidate& c : all.list) {
                const dimensions at = test::with_blocks(c, {.size = p});
                if (c.algorithm.check(at) || !c.algorithm.claims(at).symmetric) continue;
                INFO(c.text().c_str() << " over " << p << " ranks");
                const auto check = [&](const auto& costs) {
                    CHECK(any_cost_model(costs).symmetric_price_ns(plan_ref(c.algorithm, at), what) ==
                          Approx(walked(c, at, what, costs)).epsilon(1e-9));
                };
                check(paper);
                check(model::rendezvous{paper});
                check(model::rendezvous{on_the_way, p * 64});
            }
        });
}

TEST_CASE("choose: binary blocks are not chosen for messages that nobody has asked for", "[select][choose]") {
    // 13 ranks and 64 KiB: doc/algorithms/binary_blocks.md.
    const auto among = candidates<goal::allreduce>(binary_blocks{}, halving_doubling{}, ring{});
    const problem what{.bytes = 65536, .element_bytes = 8};
    const decision eager = choose(among, {.size = 13}, what, paper, {.price_all = true});
    const decision strict = choose(among, {.size = 13}, what, model::rendezvous{paper}, {.price_all = true});
    CHECK(eager.winner().what.text() == "binary_blocks_allreduce");
    CHECK(eager.winner().predicted_ns == Approx(235'464));
    CHECK(strict.winner().what.text() == "ring");
    CHECK(strict.prospects[2].predicted_ns == Approx(316'000));
    // Where ranks share cores the limit holds, too.
    const problem shared{.bytes = 65536, .element_bytes = 8, .cores = 2, .switch_ns = 100};
    CHECK(price_of(any_cost_model(model::rendezvous{paper}), shared, plan_allreduce(binary_blocks{}, {.size = 13})) >
          price_of(any_cost_model(paper), shared, plan_allreduce(binary_blocks{}, {.size = 13})) + 50'000);
}

namespace {

// Lawful but for one cost of one pair of ranks.
struct one_bad_cost {
    double ns = 0;
    int which = 0; // of the costs below
    constexpr double of(int cost) const { return cost == which ? ns : 100; }
    constexpr double start_ns() const { return of(0); }
    constexpr double send_ns(rank_t, rank_t to, std::uint64_t) const { return to == 1 ? of(1) : 100; }
    constexpr double latency_ns(rank_t, rank_t to, std::uint64_t) const { return to == 1 ? of(2) : 100; }
    constexpr double receive_ns(rank_t, rank_t to, std::uint64_t) const { return to == 1 ? of(3) : 100; }
    constexpr double combine_ns(rank_t, std::uint64_t) const { return of(4); }
    constexpr double copy_ns(rank_t, std::uint64_t) const { return of(5); }
};
struct no_way_from_0_to_2 : model::lrc {
    static constexpr bool homogeneous = false;
    constexpr double latency_ns(rank_t from, rank_t to, std::uint64_t bytes) const {
        return from == 0 && to == 2 ? std::numeric_limits<double>::quiet_NaN() : lrc::latency_ns(from, to, bytes);
    }
};
// A broadcast over three ranks that rests on messages that nobody has asked for: rank 1 wants the word of
// rank 2 first, to which rank 0 sends last.
struct unasked {
    using serves = goals<goal::broadcast>;
    constexpr void emit(const dimensions&, rank_t rank, StepSink auto& out) const {
        if (rank == 0) out.send(1, {input, 0, 1}), out.send(2, {input, 0, 1});
        if (rank == 1) out.receive(2, {output, 0, 1}), out.receive(0, {output, 0, 1});
        if (rank == 2) out.receive(0, {output, 0, 1}), out.send(1, {output, 0, 1});
    }
    constexpr block_t natural_blocks(rank_t) const { return 1; }
    constexpr block_t scratch(const dimensions&, rank_t) const { return 0; }
    constexpr status check(const dimensions&) const { return {}; }
    friend constexpr bool operator==(const unasked&, const unasked&) = default;
};
struct one_bad_port : one_bad_cost {
    constexpr double port_ns(rank_t, rank_t to, std::uint64_t, bool) const { return to == 1 ? of(6) : 100; }
    constexpr bool lands_early() const { return true; }
};

} // namespace

TEST_CASE("choose: a plan without a price does not win, and says so", "[select][choose]") {
    const double infinite = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    const auto among = candidates<goal::allreduce>(ring{}, recursive_doubling{}, halving_doubling{});
    const std::string why = "has no price: a cost is infinite, negative or not a number";
    const auto check = [&](const any_cost_model& costs) {
        for (const bool all : {false, true}) {
            const decision d = choose(among, {.size = 7}, {.bytes = 4096}, costs, {.price_all = all});
            CHECK_FALSE(d);
            for (const prospect& p : d.prospects) {
                CHECK(p.excluded == exclusion::no_price);
                CHECK(reason_text(p) == why);
            }
            CHECK(to_string(d).find("none of the candidates may be taken") != std::string::npos);
            CHECK(d == choose(among, {.size = 7}, {.bytes = 4096}, costs, {.price_all = all}));
        }
        CHECK(std::string(costs.check(7).argument).substr(0, 6) == "costs:");
    };
    for (const double bad : {-1e9, infinite, -infinite, nan}) {
        for (const int which : {0, 1, 2, 3, 4}) {
            CAPTURE(bad, which);
            check(one_bad_cost{bad, which});
            check(one_bad_port{{bad, which}});
        }
        check(one_bad_port{{bad, 6}});
        check(model::alpha_beta_gamma{.alpha_ns = bad, .beta_ns_per_byte = 1}); // one rank stands for all
        check(model::alpha_beta_gamma{.alpha_ns = 1, .gamma_ns_per_byte = bad});
        CHECK(any_cost_model(one_bad_cost{bad, 5}).check(7));
    }
    for (const rank_t p : {1u, 2u, 7u}) CHECK_FALSE(any_cost_model(paper).check(p));
    CHECK_FALSE(any_cost_model(one_bad_cost{0, 2}).check(7));
    // A copy that no step makes has no say.
    CHECK(choose(among, {.size = 8}, {.bytes = 4096}, any_cost_model(one_bad_cost{nan, 5})));
    // Where one plan avoids what has no price, it wins.
    const auto two = candidates<goal::broadcast>(tree_broadcast{flat{}}, tree_broadcast{chain{}});
    const decision d = choose(two, {.size = 3}, {.bytes = 8}, no_way_from_0_to_2{nic});
    REQUIRE(d);
    CHECK(d.winner().what.text() == "tree_broadcast{chain}");
    CHECK(d.prospects[1].excluded == exclusion::no_price);
    // Among plans, too.
    const auto by_flat = plan_broadcast(flat{}, {.size = 3});
    const auto by_chain = plan_broadcast(chain{}, {.size = 3});
    CHECK(choose(no_way_from_0_to_2{nic}, {.bytes = 8}, by_flat, by_chain).winner == 1);
    CHECK(choose(any_cost_model(no_way_from_0_to_2{nic}), {.bytes = 8}, by_flat, by_chain).winner == 1);
    CHECK(choose(any_cost_model(no_way_from_0_to_2{nic}), {.bytes = 8}, by_chain, by_flat).winner == 0);
}

TEST_CASE("choose: a plan that rests on messages that nobody has asked for is out where that counts",
          "[select][choose]") {
    const auto among = candidates<goal::broadcast>(unasked{}, tree_broadcast{chain{}});
    CHECK(choose(among, {.size = 3}, {.bytes = 8}, paper, {.price_all = true}).prospects[1].excluded ==
          exclusion::none);
    const decision d = choose(among, {.size = 3}, {.bytes = 8}, model::rendezvous{paper});
    REQUIRE(d);
    CHECK(d.winner().what.text() == "tree_broadcast{chain}");
    CHECK(d.prospects[1].excluded == exclusion::deadlock);
    CHECK(to_string(d).find("does not end") != std::string::npos);
    // Among plans, too.
    const auto alone = plan_broadcast(unasked{}, {.size = 3});
    const auto by_chain = plan_broadcast(chain{}, {.size = 3});
    CHECK(choose(model::rendezvous{paper}, {.bytes = 8}, alone, by_chain).winner == 1);
}

TEST_CASE("choose: costs of zero are costs", "[select][choose]") {
    const decision d =
        choose(test::everything_for_allreduce({.size = 6}), {.size = 6}, {.bytes = 4096}, model::alpha_beta_gamma{});
    REQUIRE(d);
    CHECK(d.winner().predicted_ns == 0);
    for (const prospect& p : d.prospects) CHECK(p.excluded != exclusion::no_price);
    CHECK(to_string(d).find("0.00 us") != std::string::npos);
}

TEST_CASE("choose: required properties", "[select][choose]") {
    const dimensions at{.size = 13};
    const problem what{.bytes = 1 << 20};
    test::for_each_goal(at, [&]<class Goal>(Goal, const candidate_list& all) {
        if constexpr (Goal::combines) {
            for (const requirements& needed :
                 {requirements{order_preserving}, requirements{rank_consistent}, order_preserving | any_size}) {
                const decision d = choose(all, at, what, paper, {.needed = required(needed)});
                for (const prospect& one : d.prospects) {
                    if (one.excluded == exclusion::dimensions) continue;
                    const claims said = one.what.algorithm.claims(test::with_blocks(one.what, at));
                    const bool has = (!needed.order_preserving || said.keeps_rank_order) &&
                                     (!needed.rank_consistent || said.rank_consistent) &&
                                     (!needed.any_size || said.any_size);
                    INFO(one.what.text().c_str());
                    CHECK((one.excluded == exclusion::none) == has);
                }
            }
        }
    });
    const auto all = test::everything_for_allreduce(at);
    const decision same = choose(all, at, what, paper, {.needed = same_bits_as(recursive_doubling{}, at)});
    REQUIRE(same);
    CHECK(same.winner().what.algorithm == any_algorithm(halving_doubling_allreduce{}));
    const decision none = choose(all, at, what, paper, {.needed = bracket_class{bracket_family("nobody's"), 0}});
    CHECK_FALSE(none);
    CHECK(to_string(none).find("none of the candidates may be taken") != std::string::npos);
}

namespace {

// A user's scan, which says nothing of bits, or what is not so.
struct silent_scan {
    using serves = goals<goal::scan>;
    constexpr block_t natural_blocks(rank_t) const noexcept { return 1; }
    constexpr status check(const dimensions&) const noexcept { return {}; }
    constexpr bool keeps_rank_order(const dimensions&) const noexcept { return true; }
    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        chain_scan{}.emit(at, rank, out);
    }
    constexpr block_t scratch(const dimensions& at, rank_t rank) const noexcept { return rank == 0 ? 0 : at.blocks; }
    friend constexpr bool operator==(const silent_scan&, const silent_scan&) = default;
};
struct sworn_scan : silent_scan {
    constexpr bool rank_consistent(const dimensions&) const noexcept { return true; }
};

} // namespace

TEST_CASE("choose: a scan that does not say that its ranks get the same bits has not this property",
          "[select][choose]") {
    const dimensions at{.size = 5};
    const auto found = [&](const auto& algorithm, const problem& what, const requirements& needed) {
        const decision d = choose(candidates<goal::scan>(algorithm), at, what, paper, {.needed = required(needed)});
        return d.prospects[0].excluded;
    };
    CHECK(found(silent_scan{}, {.bytes = 64}, order_preserving) == exclusion::none);
    CHECK(found(silent_scan{}, {.bytes = 64}, rank_consistent) == exclusion::not_consistent);
    CHECK(found(chain_scan{}, {.bytes = 64}, rank_consistent) == exclusion::not_consistent);
    CHECK(found(silent_scan{}, {.bytes = 64, .exact_op = true}, rank_consistent) == exclusion::none);
    // What it says is what counts; verify_claims finds that this is not true.
    CHECK(found(sworn_scan{}, {.bytes = 64}, rank_consistent) == exclusion::none);
    for (const block_t blocks : {1u, 2u}) {
        const dimensions cut{.size = 5, .blocks = blocks};
        CHECK(verify_claims(plan<goal::scan, any_algorithm>(silent_scan{}, cut)));
        CHECK(verify_claims(plan<goal::scan, any_algorithm>(sworn_scan{}, cut)).untrue == claim::same_bits);
    }
}

TEST_CASE("choose: says why", "[select][choose]") {
    auto from = candidates<goal::allreduce>(recursive_doubling{}, ring{}, tree_allreduce{kary{2}});
    from.add(tree_allreduce{chain{}}, 64).add(tree_reduce{chain{}}).add(tree_allreduce{fnomial{1}});
    const decision d = choose(from, {.size = 7}, {.bytes = 1 << 20}, paper, {.needed = order_preserving});
    std::ostringstream out;
    out << d;
    const std::string text = out.str();
    INFO(text);
    for (const char* part :
         {"allreduce over 7 ranks, 1048576 bytes, rank order required: tree_allreduce{chain} in 64 blocks, ",
          "of 2 candidates, the model expects it to be the fastest", "recursive_doubling", "at least ",
          ": its busiest rank alone takes that long", "tree_allreduce{kary{.arity = 2}}",
          "out: does not keep rank order, and that is required", "out: is an algorithm of another collective",
          "out: refuses: degree: "})
        CHECK(text.find(part) != std::string::npos);
    CHECK(time_text(0) == "0.00 us");
    CHECK(time_text(1234) == "1.23 us");
    CHECK(time_text(99'940) == "99.9 us");
    CHECK(time_text(999'400) == "999 us");
    CHECK(time_text(1'000'000) == "1.00 ms");
    CHECK(time_text(12.5e9) == "12.5 s");
    CHECK(factor_text(1.005) == "1.00");
    CHECK(factor_text(12.996) == "13.00");
    // What no number tells: a cast of it to an integer would be undefined.
    constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(time_text(1e24) == "1000000000000000 s");
    for (const double ns : {2e24, 1e300, inf}) CHECK(time_text(ns) == "over 1e15 s");
    for (const double ns : {-1.0, -inf, nan}) CHECK(time_text(ns) == "no time");
    CHECK(factor_text(1e15) == "1000000000000000.00");
    for (const double factor : {2e15, 1e300, inf}) CHECK(factor_text(factor) == "over 1e15");
    for (const double factor : {-1.0, -inf, nan}) CHECK(factor_text(factor) == "no");
    CHECK(has_factor(3, 2));
    CHECK_FALSE(has_factor(3, 0));
    CHECK_FALSE(has_factor(0, 0));
    CHECK_FALSE(has_factor(inf, 2));
    CHECK_FALSE(has_factor(inf, inf));
    CHECK_FALSE(has_factor(nan, 2));
}

TEST_CASE("choose: a pure function, also beyond what it may walk", "[select][choose]") {
    const dimensions at{.size = 300};
    const problem what{.bytes = (1 << 26) + 1}; // blocks differ in length: no price follows from that of others
    candidate_list all = test::everything_for_broadcast(at);
    all.add(circulant_broadcast{}, 400).add(double_tree_broadcast{}, 400);
    const choose_options few{.most_steps = 0};
    const decision d = choose(all, at, what, paper, few);
    CHECK(d == choose(all, at, what, paper, few));
    bool left_out = false;
    for (const prospect& one : d.prospects) left_out |= one.excluded == exclusion::too_many_steps;
    CHECK(left_out);
    CHECK(d);
}

TEST_CASE("choose: ranks that share cores wait longer", "[select][choose]") {
    const any_cost_model costs = nic;
    const auto p = plan_allreduce(recursive_doubling{}, {.size = 8});
    const double alone = costs.price_ns(plan_ref(p), {.bytes = 8});
    CHECK(alone == model::walk(p, nic, 8).makespan_ns);
    CHECK(costs.price_ns(plan_ref(p), {.bytes = 8, .cores = 8}) == alone);
    // Three rounds, each with a turn of the four ranks of a core; and 24 messages to be taken in by two cores.
    const problem two_cores{.bytes = 8, .cores = 2, .switch_ns = 1000};
    CHECK(costs.price_ns(plan_ref(p), two_cores) == Approx(alone + 3 * 4000 + 24 * nic.message_ns(8) / 2));
    CHECK(costs.symmetric_price_ns(plan_ref(p), two_cores) == Approx(costs.price_ns(plan_ref(p), two_cores)));
    CHECK(price_of(nic, two_cores, p) == Approx(costs.price_ns(plan_ref(p), two_cores)));
    CHECK(price_of(costs, {.bytes = 8}, p) == alone);
}

TEST_CASE("choose: of ranks that share cores the price is never below its bound", "[select][choose]") {
    const any_cost_model costs = model::loggp(2000, 2000, 0, 0.1);
    for (const rank_t p : {2u, 5u, 16u})
        for (const std::uint64_t bytes : {8u, 65536u})
            for (const candidate& c : test::everything_for_allreduce({.size = p}).list) {
                const block_t blocks = c.blocks == natural_blocks ? c.algorithm.natural_blocks(p) : c.blocks;
                if (c.algorithm.check({p, 0, blocks})) continue;
                const plan_ref one(c.algorithm, {p, 0, blocks});
                const problem what{.bytes = bytes, .cores = 2, .switch_ns = 5000};
                CAPTURE(p, bytes, c.text().c_str());
                CHECK(costs.bound_ns(one, what).ns <= costs.price_ns(one, what) * (1 + 1e-9));
            }
}

TEST_CASE("choose: barriers have the fewest rounds, or the fewest messages where ranks share cores",
          "[select][choose]") {
    const any_cost_model costs = model::loggp(2000, 2000, 0, 0.1);
    const dimensions at{.size = 16};
    const auto winner = [&](const problem& what) {
        return std::string(
            choose(standard_candidates<goal::barrier>(at, what), at, what, costs).winner().what.text().c_str());
    };
    CHECK(winner({}).starts_with("dissemination"));
    CHECK(winner({.cores = 16}).starts_with("dissemination"));
    CHECK(winner({.cores = 2, .switch_ns = 5000}).starts_with("tree_allreduce"));
}

TEST_CASE("choose: a few ranks that share cores tell all others at once", "[select][choose]") {
    const any_cost_model costs = model::loggp(70, 75, 0, 0.05); // of shared memory
    const auto winner = [&]<class Goal>(Goal, rank_t size, const problem& what) {
        const dimensions at{.size = size};
        return std::string(choose(standard_candidates<Goal>(at, what), at, what, costs).winner().what.text().c_str());
    };
    const problem shared{.bytes = 8, .element_bytes = 8, .cores = 2, .switch_ns = 1500};
    CHECK(winner(goal::allreduce{}, 4, shared) == "per_level in exchange{4}");
    CHECK(winner(goal::allreduce{}, 8, shared).starts_with("per_level in exchange{8}"));
    CHECK(winner(goal::barrier{}, 4, {.cores = 2, .switch_ns = 1500}) == "dissemination{.ports = 3}");
    CHECK(winner(goal::allgather{}, 6, shared) == "circulant_allgather{.ports = 5}");
    CHECK(winner(goal::alltoall{}, 8, {.bytes = 512, .element_bytes = 8, .cores = 2, .switch_ns = 1500}) ==
          "pairwise_alltoall{.ahead = 6}");
    CHECK(winner(goal::alltoall{}, 16, {.bytes = 2048, .element_bytes = 8}) == "bruck_alltoall");
    CHECK(winner(goal::allreduce{}, 16, {.bytes = 8, .element_bytes = 8}) == "recursive_doubling");
}

TEST_CASE("any_cost_model: none, and those that a transport states", "[select][choose]") {
    struct says_nothing {};
    struct says_all {
        static model::lrc default_costs() { return nic; }
        static double switch_ns() { return 7; }
        static rank_t cores() { return 3; }
    };
    CHECK_FALSE(any_cost_model{});
    const auto p = plan_allreduce(recursive_doubling{}, {.size = 8});
    REQUIRE(default_costs_of(says_all{}));
    CHECK(price_of(default_costs_of(says_all{}), {.bytes = 8}, p) == price_of(nic, {.bytes = 8}, p));
    CHECK(switch_ns_of(says_all{}) == 7);
    CHECK(cores_of(says_all{}) == 3);
    CHECK(price_of(default_costs_of(says_nothing{}), {.bytes = 8}, p) == price_of(thread_costs, {.bytes = 8}, p));
    CHECK(switch_ns_of(says_nothing{}) == problem{}.switch_ns);
    CHECK(cores_of(says_nothing{}) == no_rank);
}
