// SPDX-License-Identifier: BSL-1.0
// Plans in trace files: what is written is read again, and a plan that contradicts itself is refused.
#include "support/catch.hpp"
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>
#include <bough/report/read_trace.hpp>
#include <bough/report/trace.hpp>
#include <bough/report/trace_file.hpp>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <unistd.h>
#include <vector>

using namespace bough;
using detail::read_plan;

namespace {

constexpr block_t blocks = 4;
constexpr rank_t size = 3;
constexpr slice from(block_t first, block_t count = 1) { return {bough::input, first, count}; }
constexpr slice into(block_t first, block_t count = 1) { return {bough::output, first, count}; }

// What a trace file says that was given these plans.
struct read_back {
    bool is_read = false;
    std::size_t rest = 0; // bytes that were not read
    detail::read_part part;
    std::string fault;
};
read_back through_file(const std::vector<traced_plan>& plans, std::uint64_t says_bytes = 0) {
    const std::string name = "/tmp/bough_test_" + std::to_string(::getpid()) + ".read.trace";
    {
        const std::shared_ptr<trace_place> place = trace_file(name);
        const auto its = place->open({.rank = 1, .size = size}, 7);
        REQUIRE(its != nullptr);
        for (const traced_plan& p : plans) its->add(p);
        for (const traced_plan& p : plans) CHECK(its->knows(p.id));
        CHECK_FALSE(its->knows(99));
    }
    std::ifstream in(name, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (says_bytes != 0)
        std::memcpy(bytes.data() + offsetof(detail::trace_header, bytes), &says_bytes, sizeof says_bytes);
    std::remove(name.c_str());
    std::span<const std::byte> rest = std::as_bytes(std::span(bytes.data(), bytes.size()));
    read_back made;
    made.is_read = detail::read_trace(rest, made.part, made.fault);
    made.rest = rest.size();
    return made;
}
bool is_same(const traced_cost& a, const traced_cost& b) {
    return a.peer == b.peer && a.send == b.send && a.latency == b.latency && a.port == b.port &&
           a.duplex_port == b.duplex_port && a.receive == b.receive && a.combine == b.combine && a.copy == b.copy &&
           a.bytes == b.bytes;
}
// Is a plan read that has these steps and costs?
bool is_taken(const std::vector<step>& steps, const std::vector<traced_cost>& costs = {}, block_t in = blocks,
              double start_ns = 0) {
    const read_back made =
        through_file({{.id = 1, .name = "it", .blocks = in, .start_ns = start_ns, .steps = steps, .costs = costs}});
    CHECK(made.is_read);
    CHECK(made.fault == (made.part.plans.empty() ? "is broken: a plan in it contradicts itself" : ""));
    return made.part.plans.size() == 1;
}

} // namespace

TEST_CASE("read_trace: a plan is read as it was written, with as much of its name as has room") {
    const std::vector<step> steps{send_step(2, from(0, 2), true), send_step(2, from(2, 2)), receive_step(0, into(3)),
                                  combine_step(from(1), into(3), into(1)),
                                  copy_step(from(0), {bough::scratch(0), 3, 1})};
    const std::vector<traced_cost> costs{{0, 1, 2, 3, 4, 5, 6, 7, 8}, {2, 1e15f, 0, 0, 0, 0, 0, 0, ~std::uint64_t{}}};
    const std::string longest(detail::trace_name_slots * sizeof(detail::trace_entry) - 1, 'l');
    for (const std::string& name : {std::string(), std::string("ring"), longest, longest + "and more"}) {
        const traced_plan plan{.id = 5,
                               .name = name.c_str(),
                               .blocks = blocks,
                               .has_ports = name.empty(),
                               .lands_early = !name.empty(),
                               .start_ns = 12.5,
                               .steps = steps,
                               .costs = costs};
        const traced_plan next{.id = 6, .name = "next", .blocks = 1};
        const read_back made = through_file({plan, next});
        REQUIRE(made.is_read);
        CHECK(made.fault.empty());
        CHECK(made.part.head.rank == 1);
        CHECK(made.part.members == std::vector<rank_t>{0, 1, 2});
        REQUIRE(made.part.plans.size() == 2);
        const read_plan& its = made.part.plans[0];
        CHECK(its.id == 5);
        CHECK(its.name == name.substr(0, longest.size()));
        CHECK(its.blocks == blocks);
        CHECK(its.has_ports == name.empty());
        CHECK(its.lands_early == !name.empty());
        CHECK(its.start_ns == 12.5);
        CHECK(its.steps == steps);
        REQUIRE(its.costs.size() == costs.size());
        for (std::size_t i = 0; i != costs.size(); ++i) CHECK(is_same(its.costs[i], costs[i]));
        CHECK(made.part.plans[1].name == "next");
        CHECK(made.part.plans[1].steps.empty());
    }
}

TEST_CASE("read_trace: a part that says to be longer than any file is read as far as it goes") {
    const std::vector<step> steps{send_step(2, from(0))};
    const std::vector<traced_plan> plans{{.id = 1, .name = "it", .blocks = blocks, .steps = steps}};
    constexpr std::uint64_t four_gib = std::uint64_t{1} << 32; // of a length of 32 bits, nothing is left
    for (const std::uint64_t said : {four_gib, four_gib + 64, 3 * four_gib + 640, std::uint64_t{1} << 63}) {
        const read_back made = through_file(plans, said);
        CHECK(made.is_read);
        CHECK(made.rest == 0);
        CHECK(made.fault.substr(0, 6) == "is cut");
        CHECK(made.part.plans.size() == 1);
    }
}

TEST_CASE("read_trace: a plan that contradicts itself is not read") {
    CHECK(is_taken({}));
    CHECK_FALSE(is_taken({}, {}, 0));
    CHECK(is_taken({}, {}, 1, 1e15));
    CHECK_FALSE(is_taken({}, {}, 1, 1e16));
    CHECK_FALSE(is_taken({}, {}, 1, -1));

    // Ranks and blocks.
    CHECK(is_taken({send_step(size - 1, from(blocks - 1))}));
    CHECK_FALSE(is_taken({send_step(size, from(0))}));
    CHECK_FALSE(is_taken({receive_step(no_rank, into(0))}));
    CHECK_FALSE(is_taken({send_step(0, from(blocks + 1, 0))}));
    CHECK_FALSE(is_taken({send_step(0, from(0, blocks + 1))}));
    CHECK_FALSE(is_taken({send_step(0, from(blocks - 1, 2))}));
    CHECK_FALSE(is_taken({copy_step(from(0), into(0, blocks + 1))}));
    CHECK_FALSE(is_taken({combine_step(from(0), into(1, blocks), into(0))}));
    step broken = copy_step(from(0), into(0));
    const unsigned char beyond = 9;
    std::memcpy(&broken.verb, &beyond, 1);
    CHECK_FALSE(is_taken({broken}));

    // Parts of one message: the next step goes on with it, to the same rank.
    const step part = send_step(0, from(0), true), rest = send_step(0, from(1)), before = send_step(2, from(3));
    CHECK(is_taken({part, rest}));
    CHECK(is_taken({part, part, rest, before}));
    CHECK(is_taken({before, part, rest}));
    CHECK(is_taken({receive_step(2, into(0)), part, rest}));
    CHECK_FALSE(is_taken({part}));
    CHECK_FALSE(is_taken({rest, part}));
    CHECK_FALSE(is_taken({part, send_step(2, from(1))}));
    CHECK_FALSE(is_taken({part, receive_step(0, into(1))}));
    CHECK_FALSE(is_taken({part, part, receive_step(0, into(1))}));
    CHECK_FALSE(is_taken({receive_step(2, into(0), true), receive_step(0, into(1))}));

    // What it costs.
    for (float traced_cost::*const its :
         {&traced_cost::send, &traced_cost::latency, &traced_cost::port, &traced_cost::duplex_port,
          &traced_cost::receive, &traced_cost::combine, &traced_cost::copy}) {
        traced_cost c;
        CHECK(is_taken({}, {c}));
        for (const float ns : {-1.f, 2e15f, std::numeric_limits<float>::quiet_NaN()}) {
            c.*its = ns;
            CHECK_FALSE(is_taken({}, {c}));
        }
    }
}
