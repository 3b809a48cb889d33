// SPDX-License-Identifier: BSL-1.0
// bough schedule: prints what each rank does.
#include "catalogue.hpp"
#include "commands.hpp"
#include "describe.hpp"
#include "on_network.hpp"
#include "parse.hpp"
#include <bough/schedule/dependence.hpp>
#include <bough/schedule/print.hpp>
#include <bough/schedule/schedule.hpp>

#include <iostream>
#include <optional>
#include <sstream>

namespace cli {

namespace {

json steps_of(const bough::schedule& schedule) {
    const auto dependences = bough::infer_dependences(schedule.steps);
    json steps = json::array();
    for (std::size_t i = 0; i != schedule.size(); ++i)
        steps.push_back(json_of(schedule[i], dependences.of(i), dependences.channel[i]));
    return steps;
}

void print_steps(std::ostream& out, const bough::schedule& schedule) {
    std::istringstream lines(bough::to_string(schedule));
    for (std::string line; std::getline(lines, line);) out << "  " << line << '\n';
}

} // namespace

int schedule(const schedule_arguments& typed) {
    const problem what = parse_plan(typed.plan);
    std::optional<bough::rank_t> only;
    if (!typed.rank.empty()) only = static_cast<bough::rank_t>(parse_number("--rank", typed.rank, 0, what.at.size - 1));
    check_affordable(what, only);

    with_plan(what, [&](const auto& plan) {
        const bough::rank_t first = only.value_or(0);
        const bough::rank_t last = only ? *only + 1 : plan.size();
        if (typed.plan.format == "json") {
            json document = json_of(what);
            document["ranks"] = json::array();
            for (bough::rank_t r = first; r != last; ++r)
                document["ranks"].push_back({{"rank", r}, {"steps", steps_of(plan.schedule_of(r))}});
            print(std::cout, document);
            return;
        }
        std::cout << text_of(what) << '\n';
        for (bough::rank_t r = first; r != last; ++r) {
            std::cout << "rank " << r << '\n';
            print_steps(std::cout, plan.schedule_of(r));
        }
    });
    return 0;
}

} // namespace cli
