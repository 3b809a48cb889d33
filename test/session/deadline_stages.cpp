// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/session/deadline_stages.hpp>

#include <cstdint>
#include <utility>
#include <vector>

using bough::detail::deadline_stages;
using due = deadline_stages::due;

namespace {

constexpr std::uint64_t ms = 1'000'000;

// What is due between `from` and `until`, of a rank that looks every millisecond, and when (in ms).
std::vector<std::pair<due, std::uint64_t>> seen(deadline_stages& stages, std::uint64_t from, std::uint64_t until,
                                                bool asks) {
    std::vector<std::pair<due, std::uint64_t>> all;
    for (std::uint64_t now = from; now <= until; now += ms) {
        const due what = stages.at(now);
        if (what == due::nothing || (what == due::question && stages.asked_)) continue; // a session asks once
        if (what == due::question && asks) stages.asked_ = true;
        all.emplace_back(what, (now - from) / ms);
        if (what == due::end) break;
    }
    return all;
}

} // namespace

TEST_CASE(
    "deadline_stages: a question after a quarter of a second, and the last stages in the last quarter of the time") {
    deadline_stages stages;
    stages.set_timeout(5000 * ms, 4000 * ms);
    CHECK(stages.part_ns() == 250 * ms);
    CHECK(seen(stages, 5000 * ms, 10'000 * ms, true) ==
          std::vector<std::pair<due, std::uint64_t>>{{due::question, 250},
                                                     {due::search, 3000},
                                                     {due::search_again, 3500},
                                                     {due::proposal, 3750},
                                                     {due::end, 4000}});
}

TEST_CASE(
    "deadline_stages: the last stages of a long time take two seconds; the question of a short one comes at its half") {
    deadline_stages hour;
    hour.set_timeout(1, 3'600'000 * ms);
    CHECK(hour.part_ns() == 500 * ms);
    CHECK(hour.time_of(due::search) == 1 + 3'598'000 * ms);
    deadline_stages soon;
    soon.set_timeout(1000 * ms, 400 * ms);
    const auto all = seen(soon, 1000 * ms, 2000 * ms, true);
    REQUIRE(all.size() == 5);
    CHECK(all.front() == std::pair<due, std::uint64_t>{due::question, 200});
    CHECK(all.back() == std::pair<due, std::uint64_t>{due::end, 400});
}

TEST_CASE("deadline_stages: an operation that could not ask is due again, until the search begins") {
    deadline_stages stages;
    stages.set_timeout(1, 4000 * ms);
    std::uint64_t questions = 0;
    for (const auto& [what, when] : seen(stages, 1, 2999 * ms, false)) {
        CHECK(what == due::question);
        CHECK(when == 250 * ++questions);
    }
    CHECK(questions == 11);
    CHECK(stages.at(3001 * ms) == due::search);
}

TEST_CASE("deadline_stages: a rank that looks too late goes through every stage, with time for each") {
    deadline_stages stages;
    stages.set_timeout(1, 4000 * ms);
    const auto all = seen(stages, 100'000 * ms, 200'000 * ms, true);
    CHECK(all == std::vector<std::pair<due, std::uint64_t>>{
                     {due::search, 0}, {due::search_again, 250}, {due::proposal, 500}, {due::end, 750}});
}

TEST_CASE("deadline_stages: the time begins at the first look, and begins anew with another timeout") {
    deadline_stages stages;
    stages.timeout_ns_ = 4000 * ms;
    CHECK(stages.at(9000 * ms) == due::nothing); // begins now
    CHECK(stages.deadline_ns_ == 13'000 * ms);
    stages.start_clock(9100 * ms); // has begun
    CHECK(stages.deadline_ns_ == 13'000 * ms);
    CHECK(stages.at(12'100 * ms) == due::search);
    stages.set_timeout(12'200 * ms, 8000 * ms);
    CHECK(stages.deadline_ns_ == 20'200 * ms);
    CHECK(stages.at(12'450 * ms) == due::question);
}

TEST_CASE("deadline_stages: without a deadline there is nothing but the question") {
    deadline_stages stages;
    stages.set_timeout(5 * ms, bough::forever);
    CHECK(stages.deadline_ns_ == bough::forever);
    CHECK(stages.at(255 * ms) == due::question);
    stages.asked_ = true;
    CHECK(stages.at(505 * ms) == due::question); // it was due again before it was known to be asked
    CHECK(stages.at(1'000'000'000 * ms) == due::nothing);
}
