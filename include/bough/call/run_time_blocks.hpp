// SPDX-License-Identifier: BSL-1.0
// The same as run_time_call.hpp, for vectors with one block for each rank: gather, scatter, allgather,
// reduce_scatter and alltoall.
#ifndef BOUGH_CALL_RUN_TIME_BLOCKS_HPP
#define BOUGH_CALL_RUN_TIME_BLOCKS_HPP

#include <bough/call/blocks.hpp>
#include <bough/call/elements.hpp>
#include <bough/call/forms.hpp>
#include <bough/call/front_door.hpp>
#include <bough/call/run_time_call.hpp>
#include <bough/core/config.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

// The blocks of a vector, in units. Those of equal length come from the length of one of them.
inline rank_blocks equal_units(rank_t size, const run_time_type& type, std::size_t each) {
    return rank_blocks::equal(size, each, unit_of(type) == 0 ? 1 : unit_of(type));
}
inline rank_blocks units_of_counts(rank_t size, const run_time_type& type, std::span<const std::size_t> counts) {
    if (unit_of(type) == 0) return rank_blocks::equal(size, 0, 1); // check_type() reports it
    return rank_blocks::of(size, counts, unit_of(type), type.size / unit_of(type));
}
// The lengths of the blocks of a call, in units: those of equal ones; all that are listed; those listed
// at the root alone. `cut`: the vector that is cut into blocks, or this rank's block, `own`, where it has
// no more.
struct equal_lengths {};
struct lengths_at_root {
    std::span<const std::size_t> counts;
    root at;
};
template <class Choice>
auto lengths_known_by(std::span<const std::size_t> counts, root at) noexcept {
    if constexpr (is_counts_at_root_v<Choice>)
        return lengths_at_root{counts, at};
    else
        return counts;
}
template <RunsCalls Comm>
rank_blocks units_of_blocks(Comm& comm, const const_elements&, const const_elements& own, equal_lengths) {
    return equal_units(comm.size(), own.type, units_of(own));
}
template <RunsCalls Comm>
rank_blocks units_of_blocks(Comm& comm, const const_elements& cut, const const_elements&,
                            std::span<const std::size_t> counts) {
    return units_of_counts(comm.size(), cut.type, counts);
}
template <RunsCalls Comm>
rank_blocks units_of_blocks(Comm& comm, const const_elements&, const const_elements& own,
                            const lengths_at_root& known) {
    const std::size_t unit = unit_of(own.type);
    if (unit == 0) return rank_blocks::equal(comm.size(), 0, 1); // check_type() reports it
    return rank_blocks::at_root(comm.size(), comm.rank(), known.at, known.counts, units_of(own), unit,
                                own.type.size / unit);
}

struct block_sides {
    const const_elements& own; // this rank's block
    const const_elements& whole;
    bool has_whole = true; // this rank has the whole vector
    bool from_own = true;  // `own` is the input, and `whole` the output; otherwise the reverse
    const char* wrong_whole = "";
    const char* overlaps = "out: overlaps the input, but not as this rank's own block in its place";
};

// Elements with displacements, and what is wrong with these.
inline status check_displacements(const const_elements& x, rank_t size, bool may_differ) noexcept {
    if (x.displacements.empty()) return {};
    if (!may_differ) return invalid_argument("displacements: only where blocks may differ in length");
    return x.displacements.size() == size ? status{} : invalid_argument("displacements: one per rank is needed");
}

// The block of a rank as elements of their own.
inline const_elements block_of(const const_elements& whole, const rank_blocks& blocks, rank_t r) noexcept {
    if (blocks.bad() || unit_of(whole.type) == 0) return {nullptr, 0, whole.type, {}};
    const std::size_t units = whole.type.size / unit_of(whole.type);
    if (units == 0) return {whole.data, 0, whole.type, {}};
    if (units_of(whole) != blocks.total() || (!whole.displacements.empty() && whole.displacements.size() <= r))
        return {nullptr, 0, whole.type, {}};
    const std::ptrdiff_t first =
        whole.displacements.empty() ? static_cast<std::ptrdiff_t>(blocks.first(r) / units) : whole.displacements[r];
    const auto by = static_cast<std::uintptr_t>(first * extent_of(whole.type));
    return {reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(whole.data) + by),
            blocks.count(r) / units,
            whole.type,
            {}};
}

inline status check_sides(const block_sides& sides, const rank_blocks& blocks, rank_t rank, rank_t size,
                          bool combines) noexcept {
    if (const status bad = check_elements(sides.own, !sides.from_own)) return bad;
    if (blocks.bad()) return blocks.bad();
    if (!sides.own.displacements.empty())
        return invalid_argument("displacements: only of a vector with a block for each rank");
    if (units_of(sides.own) != blocks.count(rank)) return invalid_argument("counts: this rank's block is not as long");
    if (combines && unit_of(sides.own.type) != sides.own.type.size)
        return invalid_argument("type: has a unit, but an op combines whole elements");
    if (!sides.has_whole) return {};
    if (const status bad = check_elements(sides.whole, sides.from_own)) return bad;
    if (const status bad = check_displacements(sides.whole, size, !blocks.offsets().empty())) return bad;
    if (const status bad = check_alike(sides.own.type, sides.whole.type, combines)) return bad;
    if (units_of(sides.whole) != blocks.total()) return invalid_argument(sides.wrong_whole);
    if (!is_dense(sides.own) || !is_dense(sides.whole)) return {}; // what is packed may lie anywhere
    return check_blocks({sides.own.data, units_of(sides.own), sides.whole.data, units_of(sides.whole)}, blocks, rank,
                        true, unit_of(sides.own.type), sides.wrong_whole, sides.overlaps);
}

// `blocks`: in units. run(typed) chooses the plan and runs the call. Within guard_call.
template <RunsCalls Comm, class O, class Run>
status run_block_sides(Comm& comm, const block_sides& sides, const rank_blocks& blocks, const O& op,
                       const dimensions& at, const Run& run) {
    constexpr bool combines = !std::same_as<O, no_op>;
    const rank_t rank = comm.rank();
    if (const status bad = check_sides(sides, blocks, rank, comm.size(), combines)) return comm.refuse(bad);
    const std::size_t unit = unit_of(sides.own.type);
    message_form form = form_for(sides.own.type, op);
    std::size_t element_bytes = unit;
    if constexpr (combines) {
        if (const status bad = check_op(op, sides.own.type)) return comm.refuse(bad);
        element_bytes = form.stride;
        if (element_bytes > ~std::uint32_t{0} ||
            (element_bytes != 0 && blocks.total() > ~std::size_t{0} / 4 / element_bytes))
            return comm.refuse(size_overflow("counts: of more bytes than can be addressed"));
        if (sides.has_whole && form.as_in_memory && !lie_alike(sides.own.type, sides.whole.type))
            return comm.refuse(
                invalid_argument("out: lies otherwise than the input, and op takes elements as in memory"));
    }
    typed_call<std::byte> typed =
        run_time_typed(sides.own.type, element_bytes, blocks.total(), blocks.signature_count(), at);
    typed.in_parts = true;
    (blocks.are_agreed() ? typed.offsets : typed.row_offsets) = blocks.offsets();
    const auto go = [&](const std::byte* own, const std::byte* whole) {
        (sides.from_own ? typed.in_part : typed.out_part) = part{rank, units_of(sides.own)};
        if (sides.has_whole) (sides.from_own ? typed.out_part : typed.in_part) = part{0, units_of(sides.whole)};
        typed.in = sides.from_own ? own : whole;
        typed.out = const_cast<std::byte*>(sides.from_own ? whole : own);
        return with_op(comm, typed, sides.own.type, form, op, [&run, &typed] { return run(typed); });
    };
    const auto bytes_of = [](const const_elements& x) { return static_cast<const std::byte*>(x.data); };
    const bool dense_own = element_bytes == unit && is_dense(sides.own);
    const bool dense_whole = !sides.has_whole || (element_bytes == unit && is_dense(sides.whole));
    if (dense_own && dense_whole) return go(bytes_of(sides.own), sides.has_whole ? bytes_of(sides.whole) : nullptr);

    auto&& room = comm.template room<std::byte>();
    const message_layout own = layout_of(sides.own, form);
    message_layout whole{};
    const std::byte* own_at = bytes_of(sides.own);
    const std::byte* whole_at = sides.has_whole ? bytes_of(sides.whole) : nullptr;
    if (!dense_whole) {
        form = form_for(sides.whole.type, op);
        whole = layout_of(sides.whole, form);
        if (!sides.whole.displacements.empty()) {
            whole.offsets = comm.hold(blocks).offsets();
            whole.displacements = sides.whole.displacements;
        }
        std::byte* const message = aligned_room(room, blocks.total() * element_bytes);
        whole_at = message;
        if (!dense_own) own_at = message + blocks.first(rank) * element_bytes; // in its place
    } else {
        own_at = aligned_room(room, own.bytes());
    }
    std::byte* const own_buffer = const_cast<std::byte*>(own_at);
    std::byte* const whole_buffer = const_cast<std::byte*>(whole_at);
    if (sides.from_own && !dense_own)
        if (const status bad = pack_before(comm, own, own_buffer)) return comm.refuse(bad);
    if (!sides.from_own && !dense_whole)
        if (const status bad = pack_before(comm, whole, whole_buffer)) return comm.refuse(bad);
    const status ended = go(own_at, whole_at);
    if (sides.from_own && !dense_whole) return comm.then(ended, [whole, whole_buffer] { whole.unpack(whole_buffer); });
    if (!sides.from_own && !dense_own) return comm.then(ended, [own, own_buffer] { own.unpack(own_buffer); });
    return ended;
}

// --- the two ways in which a call gives its vectors ---

// A gather, scatter, allgather or reduce_scatter.
struct block_call {
    bool from_own = true; // each rank gives its block, and the whole comes out
    bool rooted = false;  // only the root has the whole
    root at{};
    bool has_whole(rank_t rank) const noexcept { return !rooted || rank == at.rank; }
};

template <RunsCalls Comm, class O, class Run>
status run_block_call(Comm& comm, const block_call& how, const const_elements& own, const const_elements& whole,
                      const rank_blocks& blocks, const O& op, const Run& run) {
    if (how.at.rank >= comm.size()) return comm.refuse(invalid_argument("root: not a rank of the group"));
    block_sides sides{own, whole, how.has_whole(comm.rank()), how.from_own};
    sides.wrong_whole =
        how.from_own ? "out: must hold one block for every rank" : "in: must hold one block for every rank";
    if (how.rooted) sides.overlaps = "out: overlaps the input, but not as the root's own block in its place";
    return run_block_sides(comm, sides, blocks, op, {.size = comm.size(), .root = how.at.rank}, run);
}

// This rank's block where the vector is in place. Its address means something only if the elements are plain.
inline elements own_elements(const elements& data, const block_call& how, rank_t rank, rank_t size) noexcept {
    if (!how.has_whole(rank)) return data;
    const std::size_t each = data.count / size, by = each * rank * data.type.size;
    return {reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(data.data) + by), each, data.type, {}};
}

// repeat_elements() for blocks of one length. `own`: this rank's; `whole`: all of them, if this rank has them.
template <class Goal, RunsPlans Comm, RunTimeData Own, RunTimeData Whole, class O, class Choice>
bool repeat_blocks(Comm& comm, const block_call& how, const Own& own, const Whole& whole, const O& op,
                   const Choice& choice, status& result) {
    if constexpr (std::same_as<Choice, automatic> && RepeatsCalls<Comm>) {
        const rank_t size = comm.size(), rank = comm.rank();
        const run_time_type& t = own.type;
        if (own.count > ~std::uint32_t{0} || !detail::is_default(choice)) return false;
        repeated_call* const known = detail::find_elements<Goal>(comm, own, own.count * size, op, how.at.rank);
        if (known == nullptr) return false;
        const bool has_whole = how.has_whole(rank);
        if (has_whole) {
            const auto a = reinterpret_cast<std::uintptr_t>(own.data), b = reinterpret_cast<std::uintptr_t>(whole.data);
            const std::size_t bytes = own.count * t.size;
            const bool is_apart = a >= b + bytes * size || b >= a + bytes;
            if (whole.count != own.count * size || whole.type.size != t.size || whole.type.identity != t.identity ||
                !is_plain(whole) || (!is_apart && a != b + rank * bytes))
                return false;
        }
        const void* const all = has_whole ? whole.data : nullptr;
        result = run_elements(comm, *known, how.from_own ? own.data : all,
                              const_cast<void*>(how.from_own ? all : own.data), op, t);
        return true;
    }
    return false;
}

// An input and an output.
template <RunsCalls Comm, class Counts, class O, class Run>
status run_blocks_apart(Comm& comm, const block_call& how, const const_elements& in, const const_elements& out,
                        const Counts& counts, const O& op, const Run& run) {
    return guard_call(comm, [&] {
        const const_elements& own = how.from_own ? in : out;
        const const_elements& whole = how.from_own ? out : in;
        const rank_blocks blocks = units_of_blocks(comm, how.has_whole(comm.rank()) ? whole : own, own, counts);
        return run_block_call(comm, how, own, whole, blocks, op, run);
    });
}
// One vector, in which this rank's block lies in its place; or that block alone, if the rank does not
// have the whole.
template <RunsCalls Comm, class Counts, class O, class Run>
status run_blocks_in_place(Comm& comm, const block_call& how, const const_elements& data, const Counts& counts,
                           const O& op, const Run& run) {
    return guard_call(comm, [&]() -> status {
        if (const status bad = check_type(data.type)) return comm.refuse(bad);
        const bool has_whole = how.has_whole(comm.rank());
        constexpr bool equal = std::same_as<Counts, equal_lengths>;
        if (equal && has_whole && units_of(data) % comm.size() != 0)
            return comm.refuse(
                invalid_argument(how.rooted ? "data: at the root, its length is not a multiple of the number of ranks"
                                            : "data: its length is not a multiple of the number of ranks"));
        const_elements own = data;
        if (equal && has_whole) own.count /= comm.size();
        const rank_blocks blocks = units_of_blocks(comm, data, own, counts);
        if (!equal && has_whole && !blocks.bad() && units_of(data) != blocks.total())
            return comm.refuse(invalid_argument(how.rooted ? "data: at the root, its length is not the sum of counts"
                                                           : "data: its length is not the sum of counts"));
        if (has_whole) own = block_of(data, blocks, comm.rank());
        return run_block_call(comm, how, own, data, blocks, op, run);
    });
}

// --- alltoall ---

// `in`: a row of blocks; `out`: a column. `row`, `column`: in units.
struct matrix_sides {
    const const_elements& in;
    const const_elements& out; // `in` itself: in place
    bool may_differ = false;   // the blocks, in length
};

inline status check_matrix(const matrix_sides& sides, const rank_blocks& row, const rank_blocks& column, rank_t rank,
                           rank_t size) noexcept {
    if (size > 0xffff) {
        status s = invalid_argument("comm: alltoall numbers a block for every two ranks, which are too many");
        s.code = errc::unsupported;
        return s;
    }
    for (const const_elements* side : {&sides.in, &sides.out}) {
        if (const status bad = check_elements(*side, side == &sides.out)) return bad;
        if (const status bad = check_displacements(*side, size, sides.may_differ)) return bad;
    }
    if (const status bad = check_alike(sides.in.type, sides.out.type, false)) return bad;
    if (row.bad()) return row.bad();
    if (column.bad()) return column.bad();
    if (units_of(sides.in) != row.total())
        return invalid_argument(sides.may_differ ? "send_counts: their sum is not the length of in"
                                                 : "in: its length is not a multiple of the number of ranks");
    if (units_of(sides.out) != column.total())
        return invalid_argument(sides.may_differ ? "receive_counts: their sum is not the length of out"
                                                 : "out: must be as long as the input");
    if (row.count(rank) != column.count(rank))
        return invalid_argument("receive_counts: this rank sends itself another number of elements");
    if (&sides.in == &sides.out || !is_dense(sides.in) || !is_dense(sides.out)) return {};
    const auto a = reinterpret_cast<std::uintptr_t>(sides.in.data);
    const auto b = reinterpret_cast<std::uintptr_t>(sides.out.data);
    const std::size_t unit = unit_of(sides.in.type);
    if (row.total() != 0 && column.total() != 0 && a < b + column.total() * unit && b < a + row.total() * unit)
        return invalid_argument("out: overlaps the input");
    return {};
}

// repeat_elements() for blocks of one length.
template <RunsPlans Comm, RunTimeData In, class Choice>
bool repeat_matrix(Comm& comm, const In& in, const elements& out, const Choice& choice, status& result) {
    if constexpr (std::same_as<Choice, automatic> && RepeatsCalls<Comm>) {
        const run_time_type& t = in.type;
        if (in.count > ~std::uint32_t{0} || !detail::is_default(choice)) return false;
        repeated_call* const known =
            detail::find_elements<goal::alltoall>(comm, in, in.count * comm.size(), no_op{}, 0);
        if (known == nullptr) return false;
        const auto a = reinterpret_cast<std::uintptr_t>(in.data), b = reinterpret_cast<std::uintptr_t>(out.data);
        const std::size_t bytes = in.count * t.size;
        if (out.count != in.count || out.type.size != t.size || out.type.identity != t.identity || !is_plain(out) ||
            (a < b + bytes && b < a + bytes))
            return false;
        result = run_elements(comm, *known, in.data, out.data, no_op{}, t);
        return true;
    }
    return false;
}

template <RunsCalls Comm, class Run>
status run_matrix(Comm& comm, const matrix_sides& sides, const rank_blocks& row, const rank_blocks& column,
                  const Run& run) {
    const rank_t rank = comm.rank(), size = comm.size();
    if (const status bad = check_matrix(sides, row, column, rank, size)) return comm.refuse(bad);
    const std::size_t unit = unit_of(sides.in.type), each = sides.may_differ ? 0 : row.count(0);
    const auto matrix = rank_blocks::equal(static_cast<rank_t>(std::size_t{size} * size), each, unit);
    if (matrix.bad()) return comm.refuse(matrix.bad());
    typed_call<std::byte> typed = run_time_typed(sides.in.type, unit, matrix.total(), each, {.size = size});
    typed.in_parts = true;
    typed.in_part = {static_cast<block_t>(std::size_t{rank} * size), row.total()};
    typed.out_part = {rank, column.total()};
    typed.row = size;
    typed.row_offsets = row.offsets();
    typed.column_offsets = column.offsets();
    const bool in_place = &sides.in == &sides.out;
    const bool packs = in_place || !is_dense(sides.in), unpacks = !is_dense(sides.out);
    typed.in = static_cast<const std::byte*>(sides.in.data);
    typed.out = static_cast<std::byte*>(const_cast<void*>(sides.out.data));
    if (!packs && !unpacks) return run(typed);

    auto&& room = comm.template room<std::byte>();
    const std::size_t first_bytes = packs ? (row.total() * unit + 63) / 64 * 64 : 0;
    std::byte* const message = aligned_room(room, first_bytes + (unpacks ? column.total() * unit : 0));
    std::byte* const result = message + first_bytes;
    const auto layout = [&](const const_elements& x, const rank_blocks& blocks) {
        message_layout made = layout_of(x, form_of(x.type, false));
        if (x.displacements.empty()) return made;
        made.offsets = comm.hold(blocks).offsets();
        made.displacements = x.displacements;
        return made;
    };
    if (packs) {
        if (const status bad = pack_before(comm, layout(sides.in, row), message)) return comm.refuse(bad);
        typed.in = message;
    }
    if (!unpacks) return run(typed);
    typed.out = result;
    const message_layout out = layout(sides.out, column);
    return comm.then(run(typed), [out, result] { out.unpack(result); });
}

} // namespace bough::inline BOUGH_ABI::detail

#endif
