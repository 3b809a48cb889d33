// SPDX-License-Identifier: BSL-1.0
#include "report/hangs.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/report/diagnosis.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

namespace {

std::string words_of(const test::hanging_job& job) {
    static constexpr const char* how[] = {"stopped at call ", "skipped call ", "swapped call "};
    std::string text = "seed " + std::to_string(job.seed) + ": rank " + std::to_string(job.victim) + " of " +
                       std::to_string(job.size) + " " + how[static_cast<int>(job.how)] + std::to_string(job.at) +
                       ", polls " + std::to_string(job.polls) + ", calls";
    for (const test::made_call& c : job.calls)
        text += " " + std::to_string(static_cast<int>(c.collective)) + "/" + std::to_string(c.on) + "/" +
                std::to_string(c.count);
    return text;
}

} // namespace

TEST_CASE("diagnosis: of 300 hangs the reports of the survivors name the cause and the rank") {
    int exact = 0, hangs = 0;
    for (std::uint64_t seed = 1; hangs != 300; ++seed) {
        const test::hanging_job job = test::draw_hang(seed);
        const test::outcome_of_hang ended = test::run_hang(job);
        INFO(words_of(job));
        REQUIRE(ended.has_ended);
        if (!ended.has_failed && job.how == test::hang::swapped)
            continue; // two calls that need not wait for each other
        REQUIRE(ended.has_failed);
        ++hangs;
        bough::merged_reports all;
        std::string fault;
        for (const bough::rank_report& r : ended.survivors) {
            all.add(r, "a report", fault);
            REQUIRE(fault.empty());
        }
        const bough::diagnosis d = all.find();
        INFO(d.sentence);
        using cause = bough::diagnosis::cause;
        CHECK(std::find(d.ranks.begin(), d.ranks.end(), job.victim) != d.ranks.end());
        CHECK(d.sentence.find(std::to_string(job.victim)) != std::string::npos);
        if (job.how == test::hang::stopped)
            CHECK((d.what == cause::not_called || d.what == cause::stuck));
        else
            CHECK((d.what == cause::differs || d.what == cause::out_of_order || d.what == cause::not_called));
        exact += d.ranks.size() == 1;
    }
    INFO(exact);
    CHECK(exact >= 290);
}
