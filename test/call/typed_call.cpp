// SPDX-License-Identifier: BSL-1.0
// A call on the bytes of its elements is the same call, in each of its parts.
#include "support/catch.hpp"
#include <bough/call/typed_call.hpp>
#include <bough/op/arithmetic.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

using namespace bough;
using detail::runs_on_bytes_v;
using detail::typed_call;

static_assert(runs_on_bytes_v<double> && !runs_on_bytes_v<std::byte>);
static_assert(std::is_same_v<decltype(typed_call<double>{}.on_bytes()), typed_call<std::byte>>);

namespace {

void combine_many(const void*, const std::byte* const*, std::size_t, std::byte*, std::size_t) {}

template <class T>
bool is_same(std::span<const T> a, std::span<const T> b) {
    return a.data() == b.data() && a.size() == b.size();
}

} // namespace

TEST_CASE("typed_call: the same call on bytes, part by part", "[call][typed_call]") {
    const std::array<double, 4> in{};
    std::array<double, 4> out{};
    const std::array<std::uint64_t, 3> offsets{}, row_offsets{}, column_offsets{};
    const std::array<placed_block, 2> placed{};
    typed_call<double> typed{{.size = 5, .root = 3}, in.data(), out.data(), 4, make_any_op<double>(plus{}), false};
    typed.signature = {.count = 4, .op = 9, .type = 8, .plan = 7, .root = 3, .kind = 2, .late_ranks = 1, .name = 6};
    const int state = 0;
    typed.op.state = &state;
    typed.ranks = 2;
    typed.in_parts = true;
    typed.in_part = {1, 11};
    typed.out_part = {2, 12};
    typed.offsets = offsets;
    typed.exact = true;
    typed.row = 13;
    typed.row_offsets = row_offsets;
    typed.column_offsets = column_offsets;
    typed.placed = placed;
    typed.in_slots = true;
    typed.repeat = 14;
    typed.element_bytes = 24;
    typed.combine_many = &combine_many;

    const typed_call<std::byte> same = typed.on_bytes();
    CHECK(same.at.size == 5);
    CHECK(same.at.root == 3);
    CHECK(static_cast<const void*>(same.in) == in.data());
    CHECK(static_cast<void*>(same.out) == out.data());
    CHECK(same.count == 4);
    CHECK(same.op.function == typed.op.function);
    CHECK(same.op.state == &state);
    CHECK(same.op.id == typed.op.id);
    CHECK_FALSE(same.commutative);
    CHECK(same.signature == typed.signature);
    CHECK(same.ranks == 2);
    CHECK(same.in_parts);
    CHECK((same.in_part.first_block == 1 && same.in_part.count == 11));
    CHECK((same.out_part.first_block == 2 && same.out_part.count == 12));
    CHECK(is_same(same.offsets, typed.offsets));
    CHECK(same.exact);
    CHECK(same.row == 13);
    CHECK(is_same(same.row_offsets, typed.row_offsets));
    CHECK(is_same(same.column_offsets, typed.column_offsets));
    CHECK(is_same(same.placed, typed.placed));
    CHECK(same.in_slots);
    CHECK(same.repeat == 14);
    CHECK(same.element_bytes == 24);
    CHECK(same.combine_many == &combine_many);

    for (const call& c : {detail::call_of(typed), detail::call_of(same)}) {
        CHECK(static_cast<const void*>(c.input) == in.data());
        CHECK(static_cast<void*>(c.output) == out.data());
        CHECK((c.count == 4 && c.element_bytes == 24));
        CHECK(c.combine == typed.op.function);
        CHECK(c.combine_state == &state);
        CHECK(c.combine_many == &combine_many);
        CHECK((c.input_block == 1 && c.output_block == 2));
        CHECK(is_same(c.offsets, std::span<const std::uint64_t>(offsets)));
        CHECK(c.row == 13);
        CHECK(is_same(c.row_offsets, std::span<const std::uint64_t>(row_offsets)));
        CHECK(is_same(c.column_offsets, std::span<const std::uint64_t>(column_offsets)));
        CHECK(is_same(c.placed, std::span<const placed_block>(placed)));
        CHECK(c.in_slots);
        CHECK(c.repeat == 14);
    }
}
