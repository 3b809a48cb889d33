// SPDX-License-Identifier: BSL-1.0
// Programs as bytes: little endian, the same on every machine, and no damage goes unnoticed.
#include "nic/run.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/nic/assemble.hpp>
#include <bough/nic/assembled.hpp>
#include <bough/nic/program.hpp>
#include <bough/tree/fnomial.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

using namespace bough;
using nic::table_fault;

namespace {

constexpr nic::program sample() {
    return nic::assemble(plan_reduce(fnomial{.degree = 3}, {.size = 9}), 3, test::any_order,
                         nic::capabilities_of<nic::host>, {.banks = 2, .stream = 0x0102'0304})
        .program;
}

} // namespace

TEST_CASE("a program survives as bytes", "[nic]") {
    const nic::program p = sample();
    const std::vector<std::uint8_t> bytes = nic::encoded(p);
    CHECK(bytes.size() == nic::encoded_bytes(p.head));
    nic::program copy;
    CHECK(nic::decode(bytes, copy) == table_fault::none);
    CHECK(copy == p);

    nic::fixed_program<nic::limits{16, 16, 16, 16, 2, 16}> fixed;
    CHECK(nic::decode(bytes, fixed) == table_fault::none);
    CHECK(nic::checksum_of(fixed) == p.head.checksum);
    nic::fixed_program<nic::limits{2, 16, 16, 16, 2, 16}> small;
    CHECK(nic::decode(bytes, small) == table_fault::room);
    nic::fixed_program<nic::limits{16, 16, 16, 16, 1, 16}> one_bank;
    CHECK(nic::decode(bytes, one_bank) == table_fault::room);
}

TEST_CASE("the encoding is little endian, field by field", "[nic]") {
    const nic::program p = sample();
    const std::vector<std::uint8_t> bytes = nic::encoded(p);
    const std::array<std::uint8_t, 12> begin{'B', 'G', 'H', 'N', 2, 1, 0, 0, 3, 0, 9, 0};
    for (std::size_t i = 0; i != begin.size(); ++i) CHECK(bytes[i] == begin[i]);
    CHECK(bytes[12] == p.head.steps);
    const std::array<std::uint8_t, 4> stream{4, 3, 2, 1};
    for (std::size_t i = 0; i != 4; ++i) CHECK(bytes[24 + i] == stream[i]);
    CHECK(bytes[32] == static_cast<std::uint8_t>(p.steps[0].what));
    CHECK(bytes[32 + 10] == p.steps[0].wait);
}

TEST_CASE("a message is little endian, field by field", "[nic]") {
    constexpr nic::message m{0x0102'0304, 0x0506'0708, 0x090a, 0x0b0c, 0x0d0e, 0x0f10};
    constexpr std::array<std::uint8_t, nic::encoded_message_bytes> bytes{4,    3, 2,    1,    8,    7,    6,    5,
                                                                         0x0a, 9, 0x0c, 0x0b, 0x0e, 0x0d, 0x10, 0x0f};
    std::array<std::uint8_t, nic::encoded_message_bytes> out{};
    nic::encode(m, out.data());
    CHECK(out == bytes);
    nic::message back;
    nic::decode(bytes.data(), back);
    CHECK(back == m);
}

namespace {

template <nic::limits L>
constexpr bool fix_sample() {
    return nic::fix<L>(sample()).head.steps != 0;
}
template <nic::limits L>
concept fixes = requires {
    typename std::bool_constant<fix_sample<L>()>;
};

} // namespace

TEST_CASE("limits that a program does not fit are misuse", "[nic]") {
    constexpr nic::header h = sample().head;
    constexpr nic::limits just{h.steps, h.slots, h.counters, h.inlets, 2, h.elements};
    STATIC_REQUIRE(fixes<just>);
    STATIC_REQUIRE_FALSE(fixes<nic::limits{h.steps - 1u, h.slots, h.counters, h.inlets, 2, h.elements}>);
    STATIC_REQUIRE_FALSE(fixes<nic::limits{h.steps, h.slots - 1u, h.counters, h.inlets, 2, h.elements}>);
    STATIC_REQUIRE_FALSE(fixes<nic::limits{h.steps, h.slots, h.counters - 1u, h.inlets, 2, h.elements}>);
    STATIC_REQUIRE_FALSE(fixes<nic::limits{h.steps, h.slots, h.counters, h.inlets - 1u, 2, h.elements}>);
    STATIC_REQUIRE_FALSE(fixes<nic::limits{h.steps, h.slots, h.counters, h.inlets, 1, h.elements}>);
    STATIC_REQUIRE_FALSE(fixes<nic::limits{h.steps, h.slots, h.counters, h.inlets, 2, h.elements - 1u}>);
}

TEST_CASE("each damaged byte and each lost one is noticed", "[nic]") {
    const std::vector<std::uint8_t> bytes = nic::encoded(sample());
    nic::program p;
    for (std::size_t i = 0; i != bytes.size(); ++i)
        for (const std::uint8_t by : {std::uint8_t{1}, std::uint8_t{0x80}, std::uint8_t{0xff}}) {
            std::vector<std::uint8_t> damaged = bytes;
            damaged[i] = static_cast<std::uint8_t>(damaged[i] ^ by);
            CHECK(nic::decode(damaged, p) != table_fault::none);
        }
    for (std::size_t size = 0; size != bytes.size(); ++size)
        CHECK(nic::decode(std::span(bytes).first(size), p) == table_fault::length);
}

TEST_CASE("what is no program of this version is told apart", "[nic]") {
    const auto fault = [](auto&& change) {
        nic::program p = sample();
        change(p);
        p.head.checksum = nic::checksum_of(p);
        nic::program copy;
        return nic::decode(nic::encoded(p), copy);
    };
    CHECK(fault([](nic::program& p) { p.head.magic = 0; }) == table_fault::magic);
    CHECK(fault([](nic::program& p) { p.head.version = 1; }) == table_fault::version);
    CHECK(fault([](nic::program& p) { p.head.rank = 9; }) == table_fault::header);
    CHECK(fault([](nic::program& p) { p.head.bank_bits = 9; }) == table_fault::header);
    CHECK(fault([](nic::program& p) { p.steps[0].a = 77; }) == table_fault::step);
    CHECK(fault([](nic::program& p) { p.steps[0].what = nic::kind::unused; }) == table_fault::step);
    CHECK(fault([](nic::program& p) { p.steps[0].flags = 1; }) == table_fault::step);
    CHECK(fault([](nic::program& p) { p.slots[0].count = 1000; }) == table_fault::slot);
    CHECK(fault([](nic::program& p) { p.counters[0].increment = 0; }) == table_fault::counter);
    CHECK(fault([](nic::program& p) { p.inlets[1].counter = 99; }) == table_fault::inlet);
    CHECK(fault([](nic::program& p) { p.inlets[0].from = 2; }) == table_fault::bell);
}

TEST_CASE("equal arguments make equal programs, at compile time and at run time", "[nic]") {
    constexpr auto checksum = [] {
        return nic::assemble(plan_allreduce(recursive_doubling{}, {.size = 5}), 2, test::any_order,
                             nic::capabilities_of<nic::host>)
            .program.head.checksum;
    };
    static_assert(checksum() != 0);
    constexpr std::uint32_t compiled = checksum();
    CHECK(compiled == checksum());
}
