// SPDX-License-Identifier: BSL-1.0
// The choice is as good as the model is: what benchmark/run/choice counts, on fewer numbers of ranks and sizes.
#include "../../benchmark/run/choice.hpp"
#include "support/catch.hpp"

using namespace bough_benchmark;

TEST_CASE("choose: near the fastest, on networks that it was not fitted to", "[select][choose]") {
    std::size_t points = 0, near = 0;
    for_each_known_network([&](const char* name, const auto& network) {
        const auto fitted = fitted_to(network);
        for_each_choice_goal([&]<class Goal>(Goal, const char* goal_name) {
            for (const bough::rank_t p : {3u, 8u, 13u})
                for (const std::uint64_t bytes : {8u, 2048u, 32768u, 524288u}) {
                    const choice_point point = choose_on<Goal>(network, fitted, p, bytes);
                    INFO(name << ", " << goal_name << " over " << p << " ranks, " << bytes << " bytes: takes "
                              << point.chosen << ", not " << point.fastest);
                    CHECK(point.factor() >= 1 - 2 * bough::equal_price_share); // those are equal
                    CHECK(point.factor() <= 1.5);
                    ++points;
                    near += point.factor() <= 1.1;
                }
        });
    });
    CAPTURE(points, near);
    CHECK(near * 10 >= points * 9);
}

TEST_CASE("choose: near the fastest also on networks that nobody looked at", "[select][choose]") {
    std::size_t points = 0, near = 0;
    for_each_held_out_network(
        [&](const std::string& name, const auto& network) {
            const auto fitted = fitted_to(network);
            for_each_choice_goal([&]<class Goal>(Goal, const char* goal_name) {
                for (const bough::rank_t p : {6u, 11u})
                    for (const std::uint64_t bytes : {96u, 6144u, 393216u}) {
                        const choice_point point = choose_on<Goal>(network, fitted, p, bytes);
                        INFO(name << ", " << goal_name << " over " << p << " ranks, " << bytes << " bytes: takes "
                                  << point.chosen << ", not " << point.fastest);
                        CHECK(point.factor() <= 1.5);
                        ++points;
                        near += point.factor() <= 1.1;
                    }
            });
        },
        1);
    CAPTURE(points, near);
    CHECK(near * 10 >= points * 9);
}

TEST_CASE("choose: without what fans tell it would be worse", "[select][choose]") {
    // To send is free, to receive is not: the flat tree is the fastest broadcast.
    const bough::model::lrc network{.message_latency_ns = 2000, .receive = {400, 1.0}, .combine = {100, 0.5}};
    auto fitted = fitted_to(network);
    CHECK(fitted.held_alpha < 0.01);
    CHECK(fitted.receive_beta == Approx(1));
    CHECK(choose_on<bough::goal::broadcast>(network, fitted, 32, 2048).factor() < 1.01);
    std::swap(fitted.held_alpha, fitted.receive_alpha);
    std::swap(fitted.held_beta, fitted.receive_beta);
    CHECK(choose_on<bough::goal::broadcast>(network, fitted, 32, 2048).factor() > 1.5);
}

TEST_CASE("choose: without the measured bursts it would be worse", "[select][choose]") {
    const bough::model::loggops network{
        .message_latency_ns = 1200, .overhead = {200}, .gap = {150, 0.1}, .combine = {40, 0.12}};
    auto paper = fitted_to(network);
    CHECK(paper.held_alpha < 0.2);
    const auto good = choose_on<bough::goal::reduce_scatter>(network, paper, 64, 512);
    paper.held_alpha = paper.held_beta = 1;
    CHECK(choose_on<bough::goal::reduce_scatter>(network, paper, 64, 512).factor() > 1.3 * good.factor());
}
