// SPDX-License-Identifier: BSL-1.0
// Ops that reveal the order of their operands, over every plan that claims rank order, 1 to 33 ranks, every root: the
// result is that of the sequential fold. Composition of affine maps modulo 2^64, and strings that are appended.
#include "matrix/run.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace test::matrix {
namespace {

struct affine { // x -> a x + b
    std::uint64_t a, b;
};
struct then {
    constexpr affine operator()(const affine& f, const affine& g) const { return {g.a * f.a, g.a * f.b + g.b}; }
};

struct text {
    std::array<char, 60> letters;
    std::uint32_t length;
};
struct append { // as much as fits
    text operator()(const text& left, const text& right) const {
        text joined = left;
        for (std::uint32_t i = 0; i != right.length && joined.length != joined.letters.size(); ++i)
            joined.letters[joined.length++] = right.letters[i];
        return joined;
    }
};

const kind order_kinds[] = {{"affine", bough::make_any_op<affine>(then{})},
                            {"text", bough::make_any_op<text>(append{}), [](std::byte* element) {
                                 text t{};
                                 std::memcpy(t.letters.data(), element, 2);
                                 t.length = static_cast<unsigned char>(t.letters[0]) % 5 == 0 ? 2 : 1;
                                 if (t.length == 1) t.letters[1] = 0;
                                 std::memcpy(element, &t, sizeof t);
                             }}};

// All plans that keep order; each with both ops, in place or not, a few elements more than blocks.
template <class Goal>
std::size_t check_order(std::uint64_t keep_one_in) {
    using namespace bough;
    using thread_end = in_process::endpoint;
    std::size_t total = 0, plans_in_order = 0;
    for (rank_t size = 1; size != 34; ++size) {
        const auto plans = plans_of<thread_end, Goal>(size, true);
        std::vector<one_case<thread_end>> cases;
        std::uint64_t number = 0;
        for (const auto& plan : plans) {
            if (!plan.keeps_order) continue;
            ++plans_in_order;
            for (const kind& element : order_kinds)
                if (bough_test::sampled(++number * 64 + size, (keep_one_in * size + 32) / 33))
                    cases.push_back({&plan, &element, size + std::uint64_t{2}, number % 4 < 2, false});
        }
        faults seen;
        in_process(size).run([&](auto end) {
            communicator comm{std::move(end)};
            run_all<thread_end, Goal>(comm, cases, seen);
        });
        CAPTURE(size, seen.found);
        CHECK(seen.found.empty());
        total += cases.size();
    }
    CHECK(plans_in_order >= 33 * 2);
    return total;
}

} // namespace
} // namespace test::matrix

TEST_CASE("order: every plan that claims rank order keeps it, whatever the root") {
    using namespace test::matrix;
    CHECK(check_order<bough::goal::reduce>(90) > 300);
    CHECK(check_order<bough::goal::allreduce>(90) > 300);
    CHECK(check_order<bough::goal::scan>(1) > 200);
    CHECK(check_order<bough::goal::exscan>(1) > 300);
    CHECK(check_order<bough::goal::reduce_scatter>(1) > 150);
}
