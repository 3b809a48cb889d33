// SPDX-License-Identifier: BSL-1.0
// A run_time_op where the engine asks for a combine_function: the result takes the place of either operand or of neither,
// elements are aligned or not, small or larger than what the stack has room for.
#include "support/catch.hpp"
#include <bough/op/run_time_op.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

using namespace bough;
using detail::message_form, detail::run_time_combiner, detail::form_of;

namespace {

struct call_log {
    std::size_t bytes = 1, calls = 0, elements = 0, misaligned = 0, alignment = 1;
    const void* last_in = nullptr;
    const void* last_inout = nullptr;
};
// inout = 3 in + inout, byte by byte: tells left from right.
void weigh(void* context, const void* in, void* inout, std::size_t count) {
    call_log& l = *static_cast<call_log*>(context);
    ++l.calls;
    l.elements += count;
    l.last_in = in;
    l.last_inout = inout;
    l.misaligned += reinterpret_cast<std::uintptr_t>(in) % l.alignment != 0;
    l.misaligned += reinterpret_cast<std::uintptr_t>(inout) % l.alignment != 0;
    const auto* a = static_cast<const unsigned char*>(in);
    auto* b = static_cast<unsigned char*>(inout);
    for (std::size_t i = 0; i != count * l.bytes; ++i) b[i] = static_cast<unsigned char>(3 * a[i] + b[i]);
}
// The same for an op that commutes: a sum.
void add(void* context, const void* in, void* inout, std::size_t count) {
    call_log& l = *static_cast<call_log*>(context);
    ++l.calls;
    l.last_in = in;
    l.last_inout = inout;
    const auto* a = static_cast<const unsigned char*>(in);
    auto* b = static_cast<unsigned char*>(inout);
    for (std::size_t i = 0; i != count * l.bytes; ++i) b[i] = static_cast<unsigned char>(a[i] + b[i]);
}

std::vector<std::byte> pattern(std::size_t n, unsigned seed) {
    std::vector<std::byte> made(n);
    for (std::size_t i = 0; i != n; ++i) made[i] = static_cast<std::byte>(i * 7 + seed * 31);
    return made;
}

} // namespace

TEST_CASE("run-time op: operands in rank order, wherever the result goes") {
    for (const std::size_t size : {std::size_t{1}, std::size_t{8}, std::size_t{12}, std::size_t{3000}})
        for (const std::size_t shift : {std::size_t{0}, std::size_t{1}})
            for (const std::size_t count : {std::size_t{1}, std::size_t{5}, std::size_t{700}}) {
                const run_time_type type{.size = size};
                const message_form form = form_of(type, false);
                call_log seen{.bytes = size, .alignment = detail::alignment_of(type, size)};
                std::vector<std::max_align_t> spare(run_time_combiner::spare_bytes(form) / sizeof(std::max_align_t) +
                                                    1);
                const run_time_op op{.function = weigh, .context = &seen};
                const run_time_combiner combiner(op, type, form, reinterpret_cast<std::byte*>(spare.data()));
                const std::size_t n = size * count;
                const auto a = pattern(n + 1, 1), b = pattern(n + 1, 2);
                std::vector<std::byte> right(n);
                for (std::size_t i = 0; i != n; ++i)
                    right[i] = static_cast<std::byte>(3 * static_cast<unsigned>(a[i + shift]) +
                                                      static_cast<unsigned>(b[i + shift]));
                CAPTURE(size, shift, count);
                const auto is_right = [&](const std::vector<std::byte>& out) {
                    return std::equal(right.begin(), right.end(), out.begin() + static_cast<std::ptrdiff_t>(shift));
                };
                auto upper = b, lower = a, apart = pattern(n + 1, 3);
                run_time_combiner::combine(&combiner, a.data() + shift, upper.data() + shift, upper.data() + shift,
                                           count);
                CHECK(is_right(upper));
                run_time_combiner::combine(&combiner, lower.data() + shift, b.data() + shift, lower.data() + shift,
                                           count);
                CHECK(is_right(lower));
                run_time_combiner::combine(&combiner, a.data() + shift, b.data() + shift, apart.data() + shift, count);
                CHECK(is_right(apart));
                CHECK(seen.elements == 3 * count);
                CHECK(seen.misaligned == 0);
                auto same = a;
                run_time_combiner::combine(&combiner, same.data(), same.data(), same.data(), count);
                bool all = true;
                for (std::size_t i = 0; i != n; ++i)
                    all &= same[i] == static_cast<std::byte>(4 * static_cast<unsigned>(a[i]));
                CHECK(all);
            }
}

TEST_CASE("run-time op: nothing is copied where the result may take the place of an operand") {
    alignas(16) std::byte a[64]{}, b[64]{};
    call_log seen{.bytes = 8};
    const run_time_type type{.size = 8};
    const run_time_combiner ordered({.function = weigh, .context = &seen}, type, form_of(type, false), nullptr);
    run_time_combiner::combine(&ordered, a, b, b, 8);
    CHECK(seen.last_in == a);
    CHECK(seen.last_inout == b);
    const run_time_combiner commuting({.function = add, .context = &seen, .commutative = true}, type,
                                      form_of(type, false), nullptr);
    run_time_combiner::combine(&commuting, a, b, a, 8);
    CHECK(seen.last_in == b);
    CHECK(seen.last_inout == a);
    CHECK(seen.calls == 2);
    // The place of the left operand, by way of other memory.
    run_time_combiner::combine(&ordered, a, b, a, 8);
    CHECK(seen.last_inout != a);
    CHECK(seen.last_inout != b);
}

TEST_CASE("run-time op: forms of messages") {
    CHECK(form_of({.size = 8, .extent = 24}, false).stride == 8);
    CHECK(form_of({.size = 8, .extent = 24}, true).stride == 24);
    CHECK(form_of({.size = 8, .extent = 24}, true).strides_fit_type);
    CHECK(form_of({.size = 8, .extent = -24}, true).stride == 16); // one at a time: the function steps backwards
    CHECK(!form_of({.size = 8, .extent = -24}, true).strides_fit_type);
    const run_time_piece pieces[] = {{-8, 8}, {40, 4}};
    const message_form form = form_of({.size = 12, .extent = 8, .pieces = pieces}, true);
    CHECK(form.stride == 64);
    CHECK(form.begin == -8);
    CHECK(!form.strides_fit_type);
}

TEST_CASE("run-time op: elements that lie otherwise than in an array are handed over one at a time") {
    struct pair {
        const void *in, *inout;
        std::size_t count;
        bool operator==(const pair&) const = default;
    };
    std::vector<pair> seen;
    const auto note = [](void* context, const void* in, void* inout, std::size_t count) {
        static_cast<std::vector<pair>*>(context)->push_back({in, inout, count});
    };
    const run_time_type backwards{.size = 8, .extent = -24};
    const message_form form = form_of(backwards, true);
    REQUIRE(!form.strides_fit_type);
    alignas(16) std::byte a[64]{}, b[64]{};
    const run_time_combiner combiner({.function = note, .context = &seen, .as_in_memory = true}, backwards, form,
                                     nullptr);
    run_time_combiner::combine(&combiner, a, b, b, 4);
    CHECK(seen == std::vector<pair>{{a, b, 1}, {a + 16, b + 16, 1}, {a + 32, b + 32, 1}, {a + 48, b + 48, 1}});
}

TEST_CASE("run-time op: as in memory, the address of an element, not of its bytes, is handed over") {
    const run_time_piece pieces[] = {{-8, 8}};
    const run_time_type type{.size = 8, .extent = 16, .pieces = pieces};
    alignas(16) std::byte a[32]{}, b[32]{};
    call_log seen;
    const auto note = [](void* context, const void* in, void* inout, std::size_t) {
        static_cast<call_log*>(context)->last_in = in;
        static_cast<call_log*>(context)->last_inout = inout;
    };
    const run_time_combiner combiner({.function = note, .context = &seen, .as_in_memory = true}, type,
                                     form_of(type, true), nullptr);
    run_time_combiner::combine(&combiner, a, b, b, 2);
    CHECK(seen.last_in == a + 8);
    CHECK(seen.last_inout == b + 8);
}
