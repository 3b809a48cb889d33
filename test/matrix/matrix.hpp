// SPDX-License-Identifier: BSL-1.0
// The matrix: every plan of a collective x ranks x root x blocks x count x op x in place or not x blocks of even or of
// random length, over threads.
//
// Expected is a sequential fold over the ranks' data, or their data put together. Every buffer lies between guard bytes,
// input that must not be written is compared, and all cases of one number of ranks run on one communicator, one behind
// the other.
#ifndef BOUGH_TEST_MATRIX_MATRIX_HPP
#define BOUGH_TEST_MATRIX_MATRIX_HPP

#include "support/plans.hpp"
#include "support/sample.hpp"
#include <bough/communicator.hpp>
#include <bough/error.hpp>
#include <bough/op/any_op.hpp>
#include <bough/schedule/claims.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace test::matrix {

using bytes = std::vector<std::byte>;

// A kind of element with its op, seen as bytes: plus, a product of matrices, a fused struct.
struct kind {
    const char* name;
    bough::any_op op;
    void (*make)(std::byte* element) = nullptr; // makes a value of random bytes; null: any bytes are one
};
std::span<const kind> kinds();
// Fills a piece of one rank's vector, that begins `first` bytes from its begin.
void fill(const kind& k, std::span<std::byte> data, bough::rank_t rank, std::uint64_t salt, std::uint64_t first = 0);
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
    bool consistent = true; // claims that ranks get the same bits
    bool direct = false;    // no rank needs scratch
    std::function<bough::status(bough::communicator<T>&, const bough::call&, bough::call_signature)> run;
};

template <class T>
struct one_case {
    const planned<T>* plan = nullptr;
    const kind* element = nullptr;
    std::uint64_t count = 0; // of alltoall: of a block
    bool in_place = false;
    bool cut = false; // into blocks of random lengths, some of them 0
};

// Elements [first, last) of the whole vector, which begin with `block`.
struct stretch {
    std::uint64_t first = 0, last = 0;
    bough::block_t block = 0;
    bool empty() const { return first == last; }
};

template <class Goal>
inline constexpr bool is_cut_by_rank =
    Goal::kind == bough::goal::gather::kind || Goal::kind == bough::goal::scatter::kind ||
    Goal::kind == bough::goal::reduce_scatter::kind || Goal::kind == bough::goal::allgather::kind;

// Where blocks begin, and the end.
std::vector<std::uint64_t> offsets_of(std::uint64_t count, bough::block_t blocks, bool random, std::uint64_t salt);

// The blocks of a rank, where each of `size` ranks has as many.
inline stretch own_blocks(bough::rank_t size, bough::rank_t rank, const std::vector<std::uint64_t>& offsets) {
    const auto each = static_cast<bough::block_t>((offsets.size() - 1) / size);
    return {offsets[rank * each], offsets[(rank + 1) * each], rank * each};
}
// What rank `rank` gives, and gets.
template <class Goal>
stretch input_of(bough::rank_t size, bough::rank_t rank, bough::rank_t root,
                 const std::vector<std::uint64_t>& offsets) {
    using namespace bough::goal;
    if constexpr (Goal::kind == gather::kind || Goal::kind == allgather::kind)
        return own_blocks(size, rank, offsets);
    else if constexpr (Goal::kind == scatter::kind)
        return {0, rank == root ? offsets.back() : 0, 0};
    else
        return {0, offsets.back(), 0};
}
template <class Goal>
stretch output_of(bough::rank_t size, bough::rank_t rank, bough::rank_t root,
                  const std::vector<std::uint64_t>& offsets) {
    using namespace bough::goal;
    if constexpr (Goal::kind == scatter::kind || Goal::kind == reduce_scatter::kind)
        return own_blocks(size, rank, offsets);
    else if constexpr (Goal::kind == gather::kind || Goal::kind == reduce::kind)
        return {0, rank == root ? offsets.back() : 0, 0};
    else
        return {0, offsets.back(), 0};
}
// The piece `out` of the result of a rank.
template <class Goal>
bytes expected_of(const kind& k, bough::rank_t size, bough::rank_t rank, bough::rank_t root, std::uint64_t salt,
                  const std::vector<std::uint64_t>& offsets, const stretch& out) {
    using namespace bough::goal;
    const std::size_t e = k.op.element_size;
    bytes result(static_cast<std::size_t>(out.last - out.first) * e);
    if (result.empty()) return result;
    if constexpr (Goal::kind == gather::kind || Goal::kind == allgather::kind) {
        for (bough::rank_t r = 0; r != size; ++r) {
            const stretch own = own_blocks(size, r, offsets);
            fill(k,
                 std::span(result).subspan(static_cast<std::size_t>(own.first) * e,
                                           static_cast<std::size_t>(own.last - own.first) * e),
                 r, salt, own.first * e);
        }
    } else if constexpr (Goal::kind == broadcast::kind || Goal::kind == scatter::kind) {
        fill(k, result, root, salt, out.first * e);
    } else {
        constexpr bool prefix = Goal::kind == scan::kind || Goal::kind == exscan::kind;
        const bytes all = fold(k, offsets.back(), prefix ? rank + (Goal::kind == scan::kind ? 1 : 0) : size, salt);
        std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(out.first * e), result.size(), result.begin());
    }
    return result;
}

// What one rank finds wrong with its part of a case; empty: nothing.
template <class T, class Goal>
std::string run_case(bough::communicator<T>& comm, const one_case<T>& c, std::uint64_t salt) {
    using namespace bough;
    const std::size_t e = c.element->op.element_size;
    const rank_t rank = comm.rank(), root = c.plan->at.root;
    constexpr bool is_broadcast = Goal::kind == goal::broadcast::kind;
    const block_t blocks = std::max<block_t>(1, c.plan->at.blocks);
    const std::vector<std::uint64_t> offsets = offsets_of(c.count, blocks, c.cut, salt);
    const stretch in = input_of<Goal>(comm.size(), rank, root, offsets);
    stretch out = output_of<Goal>(comm.size(), rank, root, offsets);
    if (Goal::kind == goal::exscan::kind && rank == 0) out = {}; // gets nothing
    // In place, both lie in one vector; `from` and `to` are where.
    const bool same = c.in_place || is_broadcast;
    const std::uint64_t first = in.empty() ? out.first : out.empty() ? in.first : std::min(in.first, out.first);
    const std::uint64_t last = std::max(in.last, out.last);
    const auto length = [e](std::uint64_t elements) { return static_cast<std::size_t>(elements) * e; };
    guarded one(length(same ? last - first : in.last - in.first)), other(length(same ? 0 : out.last - out.first));
    const auto piece = [&](const stretch& s, guarded& memory) {
        return memory.data().subspan(same && !s.empty() ? length(s.first - first) : 0, length(s.last - s.first));
    };
    const std::span<std::byte> from = piece(in, one), to = piece(out, same ? one : other);
    if (!is_broadcast || rank == root) fill(*c.element, from, rank, salt, in.first * e);
    const bytes before(one.data().begin(), one.data().end());
    call what;
    what.input = in.empty() ? nullptr : from.data();
    what.output = out.empty() ? nullptr : to.data();
    what.input_block = in.block;
    what.output_block = out.block;
    what.count = c.count;
    what.element_bytes = static_cast<std::uint32_t>(e);
    what.combine = c.element->op.function;
    if (c.cut) what.offsets = offsets;
    call_signature signature;
    signature.count = c.count;
    signature.root = root;
    const status s = c.plan->run(comm, what, signature);
    if (s) return message_of(s);
    if (!one.intact() || !other.intact()) return "bytes beside the data are written";
    if (!std::ranges::equal(to, expected_of<Goal>(*c.element, comm.size(), rank, root, salt, offsets, out)))
        return "the result is wrong";
    if ((out.empty() || !same) && !std::ranges::equal(one.data(), before)) return "the input is written";
    return {};
}

// The same of alltoall: c.count elements go from each rank to each, or up to as many.
template <class T, class Goal>
requires(Goal::kind == bough::goal::alltoall::kind) std::string
    run_case(bough::communicator<T>& comm, const one_case<T>& c, std::uint64_t salt) {
    using namespace bough;
    const std::size_t e = c.element->op.element_size;
    const rank_t rank = comm.rank(), size = comm.size();
    const auto count_of = [&](rank_t from, rank_t to) {
        const std::uint64_t x = bough_test::mixed(salt * 100'000 + from * 100 + to);
        return !c.cut ? c.count : x % 3 == 0 ? 0 : x / 4 % (c.count + 1);
    };
    std::vector<std::uint64_t> row{0}, column{0};
    bytes expected;
    for (rank_t r = 0; r != size; ++r) {
        row.push_back(row.back() + count_of(rank, r));
        column.push_back(column.back() + count_of(r, rank));
    }
    guarded in(static_cast<std::size_t>(row.back()) * e), out(static_cast<std::size_t>(column.back()) * e);
    for (rank_t r = 0; r != size; ++r) {
        const auto length = [e](std::uint64_t elements) { return static_cast<std::size_t>(elements) * e; };
        fill(*c.element, in.data().subspan(length(row[r]), length(row[r + 1] - row[r])), rank, salt, r * 1'000'000);
        bytes block(length(column[r + 1] - column[r]));
        fill(*c.element, block, r, salt, rank * 1'000'000);
        expected.insert(expected.end(), block.begin(), block.end());
    }
    const bytes before(in.data().begin(), in.data().end());
    call what;
    what.input = in.get();
    what.output = out.get();
    what.count = c.cut ? 0 : c.count * size * size;
    what.element_bytes = static_cast<std::uint32_t>(e);
    what.input_block = rank * size;
    what.output_block = rank;
    what.row = size;
    if (c.cut) what.row_offsets = row, what.column_offsets = column;
    call_signature signature;
    signature.count = c.count;
    const status s = c.plan->run(comm, what, signature);
    if (s) return message_of(s);
    if (!in.intact() || !out.intact()) return "bytes beside the data are written";
    if (!out.holds(expected)) return "the result is wrong";
    if (!in.holds(before)) return "the input is written";
    return {};
}

// The plans of a goal on `size` ranks.
template <class T, class Goal>
std::vector<planned<T>> plans_of(bough::rank_t size, bool all_roots = false) {
    using namespace bough;
    std::vector<planned<T>> plans;
    const auto add = [&](const dimensions& at) {
        for_each_plan_of<Goal>(at, [&](const char* name, const auto& plan) {
            const std::string full =
                std::string(name) + ", root " + std::to_string(at.root) + ", blocks " + std::to_string(plan.blocks());
            for (const auto& known : plans)
                if (known.name == full) return; // its natural blocks are those of another form
            bool direct = true;
            for (rank_t r = 0; r != size; ++r) direct = direct && plan.scratch(r) == 0;
            plans.push_back(
                {full, plan.at(), !Goal::combines || keeps_rank_order(plan.algorithm(), plan.at()),
                 claims_of(plan.algorithm(), plan.at()).rank_consistent, direct,
                 [plan](communicator<T>& comm, const call& c, call_signature s) { return comm.run(plan, c, s); }});
        });
    };
    constexpr bool has_root = Goal::kind < goal::scan::kind;
    for (rank_t root = 0; root != (has_root ? size : 1); ++root) {
        if (!all_roots && size > 8 && root != 0 && root != size / 2 && root != size - 1) continue;
        for (const block_t blocks : {natural_blocks, block_t{1}, block_t{4}})
            add({.size = size, .root = root, .blocks = blocks});
    }
    return plans;
}

// All cases on `size` ranks, or a sample.
template <class T, class Goal>
std::vector<one_case<T>> cases_of(const std::vector<planned<T>>& plans, bough::rank_t size, std::uint64_t keep_one_in) {
    using namespace bough;
    std::vector<one_case<T>> cases;
    std::uint64_t number = 0;
    const std::vector<std::uint64_t> counts{0, 1, size - 1, size, size + std::uint64_t{1}, 1000};
    for (const planned<T>& plan : plans)
        for (std::size_t k = 0; k != counts.size(); ++k) {
            if (k > 1 && counts[k] <= counts[k - 1]) continue;
            for (const kind& element : kinds())
                for (const bool in_place : {true, false})
                    for (const bool cut : {false, true}) {
                        if (in_place && !Goal::in_place) continue;
                        if (Goal::combines && !element.op.traits.commutative && !plan.keeps_order) continue;
                        constexpr bool pairs = Goal::kind == goal::alltoall::kind;
                        if (cut && !is_cut_by_rank<Goal> && !(pairs && plan.direct)) continue;
                        const std::uint64_t count = pairs && k == 5 ? 1000 / size + 1 : counts[k];
                        if (bough_test::sampled(++number * 64 + size, keep_one_in))
                            cases.push_back({&plan, &element, count, in_place, cut});
                    }
        }
    return cases;
}

} // namespace test::matrix

#endif
