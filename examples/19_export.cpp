// SPDX-License-Identifier: BSL-1.0
// A plan leaves as a file for a simulator, comes back, and is proved; a damaged file is refused on its line. And a picture.
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/interchange/export_goal.hpp>
#include <bough/interchange/import_goal_check.hpp>
#include <bough/model/logp.hpp>
#include <bough/simulate/export_svg.hpp>
#include <bough/verify/verify.hpp>

#include <iostream>
#include <sstream>

constexpr auto doubling = bough::plan_allreduce(bough::recursive_doubling{}, {.size = 3});
constexpr bough::model::loggops network{
    .message_latency_ns = 2500, .overhead = {1500}, .gap = {1000, 0.1}, .combine = {0, 0.25}};

void judge(const std::string& text) {
    const bough::goal_file file = bough::read_goal(text);
    const bough::goal_check structure = bough::check_goal(file); // matching, deadlock, volume: of any GOAL
    if (!structure.fault.none()) {
        std::cout << to_string(structure.fault) << '\n';
        return;
    }
    bough::imported_schedules made; // the data: of a file with annotations
    const bough::import_fault fault = schedules_of(file, made);
    std::cout << (fault.none() ? to_string(verify_schedules(doubling.goal(), made.at, made.schedules, made.scratch))
                               : to_string(fault))
              << '\n';
}

int main() {
    std::ostringstream plain, annotated, picture;
    bough::export_goal(plain, doubling, network, {.bytes = 64});
    std::cout << plain.str() << '\n';

    bough::export_goal(annotated, doubling, network, {.bytes = 64, .annotate = true});
    std::string text = annotated.str();
    judge(text);
    text.replace(text.find("l4 requires l3"), 14, "l4 requires l0");
    judge(text);
    text.replace(text.find("l1: recv 64b"), 12, "l1: recv 63b");
    judge(text);

    // Ranks down, time across: a file for any browser.
    export_svg(picture, trace(doubling, network, {.bytes = 64}), {.title = "three ranks"});
    std::cout << "a picture of " << picture.str().size() / 1024 << " KiB\n";
}
