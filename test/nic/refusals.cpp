// SPDX-License-Identifier: BSL-1.0
// What a target cannot run is refused, with the reason; and listings.
#include "nic/run.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include <bough/algorithm/allreduce/census.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/nic/assemble.hpp>
#include <bough/nic/capabilities.hpp>
#include <bough/nic/listing.hpp>
#include <bough/op/exact_sum.hpp>
#include <bough/op/limb_sum.hpp>
#include <bough/op/soft_ops.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnomial.hpp>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

using namespace bough;
using nic::reason;

namespace {

constexpr nic::needs sum = nic::needs_of<plus, std::int64_t>;
constexpr auto sixteen = plan_reduce(binomial{}, {.size = 16});

reason why(const auto& plan, const nic::needs& op, const nic::capabilities& target,
           nic::assemble_options options = {}) {
    return nic::assemble_all(plan, op, target, options).why.reason;
}
constexpr nic::capabilities with(auto&& change) {
    nic::capabilities c = nic::host::limits;
    change(c);
    return c;
}

// Rank 1 waits for what nobody sends.
struct lonely {
    using serves = goals<goal::reduce>;
    constexpr void emit(const dimensions&, rank_t rank, StepSink auto&& out) const {
        if (rank == 1) out.receive(0, {bough::scratch(0), 0, 1});
    }
    constexpr block_t natural_blocks(rank_t) const { return 1; }
    constexpr block_t scratch(const dimensions&, rank_t) const { return 1; }
    constexpr status check(const dimensions&) const { return {}; }
    friend constexpr bool operator==(const lonely&, const lonely&) = default;
};

} // namespace

TEST_CASE("each reason to refuse", "[nic]") {
    const auto& host = nic::capabilities_of<nic::host>;
    CHECK(why(sixteen, sum, host) == reason::none);
    CHECK(why(sixteen, sum, with([](auto& c) { c.ranks = 15; })) == reason::ranks);
    CHECK(why(plan_reduce(binomial{}, {.size = 65535}), sum, host) == reason::ranks);
    CHECK(why(sixteen, sum, with([](auto& c) { c.steps = 8; })) == reason::steps);
    CHECK(why(sixteen, sum, with([](auto& c) { c.slots = 4; })) == reason::slots);
    CHECK(why(sixteen, sum, with([](auto& c) { c.counters = 3; })) == reason::counters);
    CHECK(why(sixteen, sum, with([](auto& c) { c.inlets = 4; })) == reason::inlets);
    CHECK(why(sixteen, sum, host, {.banks = 3}) == reason::banks);
    CHECK(why(sixteen, sum, host, {.banks = 512}) == reason::banks);
    CHECK(why(sixteen, sum, host, {.banks = 0}) == reason::banks);
    CHECK(why(sixteen, sum, with([](auto& c) { c.message_bytes = 7; })) == reason::message);
    CHECK(why(sixteen, sum, with([](auto& c) { c.memory_bytes = 39; })) == reason::memory);
    CHECK(why(sixteen, sum, host, {.elements = 65536}) == reason::elements);
    CHECK(why(sixteen, sum, nic::capabilities_of<nic::portals4>, {.multicast = true}) == reason::multicast);
    CHECK(why(plan_allreduce(binomial{}, {.size = 4}), sum, host, {.multicast = true}) == reason::multicast_plan);
    CHECK(why(sixteen, nic::needs_of<plus, double>, host, {.accumulate = true}) == reason::accumulate);
    CHECK(why(sixteen, sum, nic::capabilities_of<nic::cxi>, {.accumulate = true}) == reason::accumulate);
    CHECK(why(sixteen, nic::needs_of<plus, double>, nic::capabilities_of<nic::tc>) == reason::floating_point);
    CHECK(why(sixteen, nic::needs_of<plus, short>, nic::capabilities_of<nic::portals4>) == reason::element);
    CHECK(why(sixteen, nic::needs_of<multiplies, std::int64_t>, nic::capabilities_of<nic::portals4>) == reason::op);
    CHECK(why(sixteen, nic::needs_of<min, double>, nic::capabilities_of<nic::portals4>) == reason::op);
    CHECK(why(sixteen, sum, nic::capabilities_of<nic::portals4>) == reason::none);
    const auto around = plan_allreduce(ring{}, {.size = 4});
    CHECK(why(around, nic::needs_of<test::affine_op, std::uint64_t>, host, {.elements = 4}) == reason::commutative);
    const auto counted = plan_allreduce(census{}, {.size = 6});
    CHECK(why(counted, nic::needs_of<plus, double>, host) == reason::exact);
    // A multicast needs no more than one message at a time; a tree of sends, or credits, do.
    const auto& xdp = nic::capabilities_of<nic::xdp>;
    CHECK(why(sixteen, sum, xdp) == reason::sends);
    CHECK(why(sixteen, sum, xdp, {.credits = false}) == reason::none);
    CHECK(why(sixteen, sum, xdp, {.multicast = true}) == reason::none);
    CHECK(why(plan_allreduce(binomial{}, {.size = 16}), sum, xdp) == reason::sends);
    CHECK(why(plan_allreduce(binomial{}, {.size = 16}), sum, nic::capabilities_of<nic::tc>) == reason::none);
}

TEST_CASE("all ranks are refused, or none", "[nic]") {
    // Leaves would fit; the root's 99 messages do not, so no rank may start its NIC.
    const auto plan = plan_reduce(flat{}, {.size = 100});
    const auto few = with([](auto& c) { c.inlets = 64; });
    for (const rank_t rank : {0u, 5u, 99u}) {
        const auto made = nic::assemble(plan, rank, sum, few, {.credits = false});
        CHECK_FALSE(made);
        CHECK(made.why == nic::refusal{reason::inlets, 0, 100, 64});
    }
    // What only an inner rank does concerns the leaves too.
    CHECK(nic::assemble(sixteen, 15, nic::needs_of<multiplies, std::int64_t>, nic::portals4::limits).why.reason ==
          reason::op);
    CHECK(nic::assemble(sixteen, 15, sum, nic::host::limits).program ==
          nic::assemble_all(sixteen, sum, nic::host::limits).programs[15]);
}

TEST_CASE("the kernel's records are what is compiled for it", "[nic]") {
    using word = std::uint64_t;
    constexpr nic::needs add = nic::needs_of<plus, word>;
    const auto all_in_one = plan_reduce(flat{}, {.size = 16});
    for (const nic::capabilities* target : {&nic::xdp::limits, &nic::tc::limits}) {
        INFO(target->name);
        const auto no = [&](const auto& plan, const nic::needs& op, std::uint32_t elements) {
            return why(plan, op, *target, {.elements = elements, .credits = false});
        };
        CHECK(no(all_in_one, add, 64) == reason::none); // 16 x 64 elements: the whole bank
        CHECK(no(all_in_one, add, 65) == reason::bank);
        CHECK(no(all_in_one, add, 68) == reason::bank);
        CHECK(no(sixteen, add, 68) == reason::none);
        CHECK(no(sixteen, add, 69) == reason::message);
        CHECK(no(plan_reduce(binomial{}, {.size = 17}), add, 1) == reason::ranks);
        CHECK(no(sixteen, nic::needs_of<plus, std::int64_t>, 8) == reason::none);
        CHECK(no(sixteen, nic::needs_of<plus, std::int32_t>, 1) == reason::element_size);
        CHECK(no(sixteen, nic::moves_of<char>, 1) == reason::element_size);
        CHECK(no(sixteen, nic::moves_of<char>, 0) == reason::none);
        CHECK(no(sixteen, nic::needs_of<min, word>, 1) == reason::op);
        CHECK(no(sixteen, nic::needs_of<soft_plus<f64_bits>, double>, 1) == reason::none);
        CHECK(no(sixteen, nic::needs_of<soft_min<f64_bits>, double>, 1) == reason::op);
        CHECK(no(sixteen, nic::needs_of<soft_plus<f64_bits>, word>, 1) ==
              reason::op); // bits of doubles are no integers
        CHECK(no(sixteen, nic::needs_of<plus, double>, 1) == reason::floating_point);
    }
}

TEST_CASE("what an op that lifts its values asks of a NIC is what its states ask", "[nic]") {
    using exact = state_of<exact_sum, double>;
    using limbs = state_of<limb_sum, double>;
    STATIC_REQUIRE(nic::needs_of<exact_sum, double> == nic::needs_of<exact_sum, exact>);
    STATIC_REQUIRE(nic::needs_of<exact_sum, double> == nic::needs{.element = nic::element::opaque,
                                                                  .element_bytes = sizeof(exact),
                                                                  .op = nic::native::own,
                                                                  .commutative = true,
                                                                  .exact = true,
                                                                  .integer_only = true});
    STATIC_REQUIRE(nic::needs_of<limb_sum, double>.element_bytes == sizeof(limbs));
    CHECK(why(sixteen, nic::needs_of<exact_sum, double>, nic::riscv::limits, {.accumulate = true}) == reason::none);
    CHECK(why(sixteen, nic::needs_of<exact_sum, double>, nic::portals4::limits) == reason::element);
}

TEST_CASE("a refusal says how much was asked and how much there is", "[nic]") {
    const auto no = nic::assemble(sixteen, 0, sum, with([](auto& c) { c.steps = 8; }));
    CHECK_FALSE(no);
    CHECK(no.program == nic::program{});
    CHECK(nic::to_string(no.why) == "rank 0: more steps than the target has room for (9, and 8 is the most)");
    CHECK(nic::to_string(nic::assemble(sixteen, 7, sum, nic::host::limits, {.banks = 3}).why) ==
          "the number of banks is no power of two, or more than the target has");
}

TEST_CASE("a plan that is wrong is refused", "[nic]") {
    CHECK(why(plan_reduce(lonely{}, {.size = 2}), sum, nic::host::limits) == reason::wrong_plan);
}

TEST_CASE("listings", "[nic]") {
    std::string text;
    const auto add = [&](const char* title, const auto& plan, nic::assemble_options options) {
        text += std::string(title) + "\n";
        for (const nic::program& p : nic::assemble_all(plan, sum, nic::host::limits, options).programs)
            text += nic::listing(p);
    };
    add("reduce, binomial, 4 ranks", plan_reduce(binomial{}, {.size = 4}), {.banks = 2});
    add("allreduce, 4-nomial, 4 ranks, multicast, accumulating", plan_reduce(fnomial{4}, {.size = 4}),
        {.accumulate = true, .multicast = true});
    add("allreduce, ring, 3 ranks, 4 elements", plan_allreduce(ring{}, {.size = 3}), {.elements = 4});
    std::ifstream golden(bough_test::golden_path("nic_listings.txt"));
    std::stringstream want;
    want << golden.rdbuf();
    CHECK(text == want.str());
}
