// SPDX-License-Identifier: BSL-1.0
// The matrix: every plan of a collective x ranks x root x blocks x count x op x in place or not, over threads.
//
// Expected is a sequential fold over the ranks' data. Every buffer lies between guard bytes, input that must not be
// written is compared, and all cases of one number of ranks run on one communicator, one behind the other.
#ifndef BOUGH_TEST_MATRIX_MATRIX_HPP
#define BOUGH_TEST_MATRIX_MATRIX_HPP

#include "support/plans.hpp"
#include "support/sample.hpp"
#include <bough/communicator.hpp>
#include <bough/error.hpp>
#include <bough/op/any_op.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace test::matrix {

using bytes = std::vector<std::byte>;

// A kind of element with its op, seen as bytes: plus, a product of matrices, a fused struct.
struct kind {
    const char* name;
    bough::any_op op;
};
std::span<const kind> kinds();
// Fills one rank's vector.
void fill(std::span<std::byte> data, bough::rank_t rank, std::uint64_t salt);
// op over the vectors of the ranks 0 to size - 1, rank by rank.
bytes fold(const kind& k, std::uint64_t count, bough::rank_t size, std::uint64_t salt);

// Memory between guards.
class guarded {
public:
    explicit guarded(std::size_t size, std::byte content = std::byte{0xcd});
    std::span<std::byte> data() noexcept { return std::span(memory_).subspan(guard, size_); }
    std::byte* get() noexcept { return size_ == 0 ? nullptr : data().data(); }
    bool intact() const noexcept;
    bool holds(std::span<const std::byte> expected) noexcept;

private:
    static constexpr std::size_t guard = 64;
    bytes memory_;
    std::size_t size_;
};

// A plan, whatever its type, and how a communicator runs it.
template <class T>
struct planned {
    std::string name;
    bough::dimensions at{};
    bool keeps_order = false;
    std::function<bough::status(bough::communicator<T>&, const bough::call&, bough::call_signature)> run;
};

template <class T>
struct one_case {
    const planned<T>* plan = nullptr;
    const kind* element = nullptr;
    std::uint64_t count = 0;
    bool in_place = false;
};

// What one rank finds wrong with its part of a case; empty: nothing.
template <class T, class Goal>
std::string run_case(bough::communicator<T>& comm, const one_case<T>& c, std::uint64_t salt) {
    using namespace bough;
    const std::size_t size = static_cast<std::size_t>(c.count) * c.element->op.element_size;
    const rank_t rank = comm.rank();
    const rank_t root = c.plan->at.root;
    constexpr bool is_broadcast = Goal::kind == goal::broadcast::kind;
    constexpr bool is_reduce = Goal::kind == goal::reduce::kind;
    guarded in(size), out(size, std::byte{0x77});
    if (!is_broadcast || rank == root) fill(in.data(), rank, salt);
    const bytes before(in.data().begin(), in.data().end());
    const bool same = c.in_place || is_broadcast;
    const bool has_result = !is_reduce || rank == root;
    call what;
    what.input = in.get();
    what.output = !has_result ? nullptr : same ? in.get() : out.get();
    what.count = c.count;
    what.element_bytes = static_cast<std::uint32_t>(c.element->op.element_size);
    what.combine = c.element->op.function;
    call_signature signature;
    signature.count = c.count;
    signature.root = root;
    const status s = c.plan->run(comm, what, signature);
    if (s) return message_of(s);
    if (!in.intact() || !out.intact()) return "bytes beside the data are written";
    if (has_result) {
        bytes expected(size);
        if (is_broadcast)
            fill(expected, root, salt);
        else
            expected = fold(*c.element, c.count, comm.size(), salt);
        if (!(same ? in : out).holds(expected)) return "the result is wrong";
    }
    if ((!has_result || !same) && !in.holds(before)) return "the input is written";
    return {};
}

// The plans of a goal on `size` ranks.
template <class T, class Goal>
std::vector<planned<T>> plans_of(bough::rank_t size) {
    using namespace bough;
    std::vector<planned<T>> plans;
    const auto add = [&](const dimensions& at) {
        for_each_plan(at, [&]<class P>(const char* name, const P& plan) {
            if constexpr (std::is_same_v<decltype(plan.goal()), Goal>)
                plans.push_back(
                    {std::string(name) + ", root " + std::to_string(at.root) + ", blocks " +
                         std::to_string(plan.blocks()),
                     plan.at(), !Goal::combines || keeps_rank_order(plan.algorithm(), plan.at()),
                     [plan](communicator<T>& comm, const call& c, call_signature s) { return comm.run(plan, c, s); }});
        });
    };
    for (rank_t root = 0; root != size; ++root) {
        if (size > 8 && root != 0 && root != size / 2 && root != size - 1) continue;
        for (const block_t blocks : {1u, 4u}) add({.size = size, .root = root, .blocks = blocks});
    }
    return plans;
}

// All cases on `size` ranks, or a sample.
template <class T, class Goal>
std::vector<one_case<T>> cases_of(const std::vector<planned<T>>& plans, bough::rank_t size, std::uint64_t keep_one_in) {
    std::vector<one_case<T>> cases;
    std::uint64_t number = 0;
    const std::vector<std::uint64_t> counts{0, 1, size - 1, size, size + std::uint64_t{1}, 1000};
    for (const planned<T>& plan : plans)
        for (std::size_t k = 0; k != counts.size(); ++k) {
            if (k > 1 && counts[k] <= counts[k - 1]) continue;
            for (const kind& element : kinds())
                for (const bool in_place : {true, false}) {
                    if (Goal::combines && !element.op.traits.commutative && !plan.keeps_order) continue;
                    if (bough_test::sampled(++number * 64 + size, keep_one_in))
                        cases.push_back({&plan, &element, counts[k], in_place});
                }
        }
    return cases;
}

} // namespace test::matrix

#endif
