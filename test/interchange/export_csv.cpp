// SPDX-License-Identifier: BSL-1.0
// CSV and DOT: every step and every message once, as counted another way.
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/interchange/export_csv.hpp>
#include <bough/interchange/export_dot.hpp>

#include <algorithm>
#include <sstream>
#include <string>

using namespace bough;

namespace {

std::size_t count_of(const std::string& text, const std::string& what) {
    std::size_t count = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
    return count;
}

template <Plan P>
void check(const P& plan) {
    std::ostringstream csv, dot;
    export_csv(csv, plan, {.bytes = 100});
    export_dot(dot, plan);
    step_counts all;
    std::uint64_t dependences_of_all = 0;
    for (rank_t r = 0; r != plan.size(); ++r) {
        plan.emit(r, all);
        dependences_of_all += infer_dependences(plan.schedule_of(r).steps).before.size();
    }
    const std::string table = csv.str(), graph = dot.str();
    CHECK(count_of(table, "\n") == all.steps() + 1);
    CHECK(count_of(table, ",combine,") == all.combines);
    CHECK(count_of(table, ",send,") + count_of(table, ",receive,") == all.sends + all.receives + all.parts);
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);) CHECK(std::count(line.begin(), line.end(), ',') == 16);
    CHECK(count_of(graph, "label=\"rank ") == plan.size());
    CHECK(count_of(graph, "penwidth=1.4") == all.sends);
    CHECK(count_of(graph, " -> r") == all.sends + dependences_of_all);
}

} // namespace

TEST_CASE("CSV of a plan") {
    std::ostringstream out;
    export_csv(out, plan_allreduce(recursive_doubling{}, {.size = 2}), {.bytes = 8});
    const std::string text = out.str();
    CHECK(text.starts_with("rank,step,verb,peer,more,a_buffer,a_first,a_count,b_buffer,b_first,b_count,"
                           "out_buffer,out_first,out_count,bytes,after,posted_after\n"
                           "0,0,send,1,0,input,0,1,,,,,,,8,,\n"
                           "0,1,receive,1,0,,,,,,,scratch0,0,1,8,,\n"));
}

TEST_CASE("CSV and DOT have every step once") {
    for (const rank_t p : {1u, 2u, 5u, 8u}) {
        CAPTURE(p);
        check(plan_allreduce(recursive_doubling{}, {.size = p}));
        check(plan_allreduce(ring{}, {.size = p}));
        check(plan_allgather(circulant{}, {.size = p}));
    }
}
