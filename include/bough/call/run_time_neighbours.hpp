// SPDX-License-Identifier: BSL-1.0
// The same as run_time_call.hpp, for the collectives of a neighbourhood.
#ifndef BOUGH_CALL_RUN_TIME_NEIGHBOURS_HPP
#define BOUGH_CALL_RUN_TIME_NEIGHBOURS_HPP

#include <bough/call/elements.hpp>
#include <bough/call/neighbours.hpp>
#include <bough/call/run_time_blocks.hpp>
#include <bough/call/run_time_call.hpp>
#include <bough/schedule/neighbourhood.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// Pre: around.check() is ok.
inline status check_neighbour_sides(const const_elements& in, const const_elements& out, const neighbourhood& around,
                                    rank_t rank, bool may_differ) noexcept {
    if (const status bad = check_elements(in, false)) return bad;
    if (const status bad = check_elements(out, true)) return bad;
    for (const const_elements* side : {&in, &out}) {
        const block_t places = side == &in ? around.sends(rank) : around.receives(rank);
        if (side->displacements.empty()) continue;
        if (!may_differ) return invalid_argument("displacements: only where blocks may differ in length");
        if (side->displacements.size() != places) return invalid_argument("displacements: one per place is needed");
    }
    if (const status bad = check_alike(in.type, out.type, false)) return bad;
    if (!is_dense(in) || !is_dense(out)) return {};
    const auto bytes_of = [](const const_elements& x) {
        return std::span(static_cast<const std::byte*>(x.data), units_of(x) * unit_of(x.type));
    };
    return share_memory<std::byte>(bytes_of(in), bytes_of(out))
               ? invalid_argument("out: overlaps the input, and there is no in-place form")
               : status{};
}

// `counts`: of blocks that differ in length, in units; null: each has `each` of them. Pre: all has been checked.
template <class Goal, RunsCalls Comm, class Choice>
status run_checked_neighbours(Comm& comm, const const_elements& in, const const_elements& out,
                              const neighbourhood& around, std::size_t each, const neighbour_counts* counts,
                              const Choice& choice) {
    const std::size_t unit = unit_of(in.type);
    typed_call<std::byte> typed = run_time_typed(in.type, unit, 0, each, {.size = comm.size()});
    if (const status bad = detail::place_neighbours<Goal>(typed, around, comm.rank(), each, unit))
        return comm.refuse(bad);
    if (counts != nullptr) detail::set_lengths(typed, counts->row, counts->column, counts->each_alike);
    typed.in_part.count = units_of(in);
    typed.out_part = {0, units_of(out)};
    typed.in = static_cast<const std::byte*>(in.data);
    typed.out = static_cast<std::byte*>(const_cast<void*>(out.data));
    const neighbour_output places = detail::neighbour_output_of<Goal>(around, comm.rank());
    const auto run = [&] { return detail::run_neighbours<Goal>(comm, typed, around, places, each, choice); };
    const bool packs = !is_dense(in), unpacks = !is_dense(out);
    if (!packs && !unpacks) return run();

    auto&& room = comm.template room<std::byte>();
    const std::size_t first_bytes = packs ? (units_of(in) * unit + 63) / 64 * 64 : 0;
    std::byte* const message = aligned_room(room, first_bytes + (unpacks ? units_of(out) * unit : 0));
    std::byte* const result = message + first_bytes;
    const auto layout = [&](const const_elements& x, bool is_row) {
        message_layout made = layout_of(x, form_of(x.type, false));
        if (counts != nullptr) made.offsets = is_row ? counts->row.offsets() : counts->column.offsets();
        made.displacements = x.displacements;
        return made;
    };
    if (packs) {
        if (const status bad = pack_before(comm, layout(in, true), message)) return comm.refuse(bad);
        typed.in = message;
    }
    if (!unpacks) return run();
    typed.out = result;
    const message_layout to = layout(out, false);
    if (places.is_full()) return comm.then(run(), [to, result] { to.unpack(result); });
    // A place without a neighbour stays as it is.
    std::vector<block_t> with_a_neighbour;
    for (const placed_block& b : places.placed) with_a_neighbour.push_back(b.place);
    for (const neighbour_output::repeat& r : places.repeats) with_a_neighbour.push_back(r.to);
    const std::vector<block_t>& arrive = comm.hold(with_a_neighbour);
    return comm.then(run(), [to, result, &arrive, each] { to.unpack_only(result, arrive, each); });
}

// Blocks of one length. In and out: elements or const_elements.
template <class Goal, RunsCalls Comm, class Choice>
status run_time_neighbours(Comm& comm, const const_elements& in, const const_elements& out, const neighbourhood& around,
                           const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        const rank_t rank = comm.rank();
        if (const status bad = around.check(comm.size())) return comm.refuse(bad);
        if (const status bad = check_neighbour_sides(in, out, around, rank, false)) return comm.refuse(bad);
        std::size_t each = units_of(in);
        if constexpr (std::same_as<Goal, goal::neighbour_alltoall>) {
            if (const status bad = check_neighbour_lengths(around, rank, units_of(in), units_of(out), each))
                return comm.refuse(bad);
        } else {
            if (const status bad = check_neighbour_output(around, rank, units_of(out), each)) return comm.refuse(bad);
        }
        return detail::run_checked_neighbours<Goal>(comm, in, out, around, each, nullptr, choice);
    });
}
// An alltoall of blocks that differ in length. make_counts(unit, units): in units of so many bytes, so many an element.
template <RunsCalls Comm, class F, class Choice>
status run_time_neighbour_lengths(Comm& comm, const const_elements& in, const const_elements& out,
                                  const neighbourhood& around, const F& make_counts, const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        const rank_t rank = comm.rank();
        if (const status bad = around.check(comm.size())) return comm.refuse(bad);
        if (const status bad = check_neighbour_sides(in, out, around, rank, true)) return comm.refuse(bad);
        const std::size_t unit = unit_of(in.type);
        const neighbour_counts counts = make_counts(unit, in.type.size / unit);
        if (const status bad = counts.check(units_of(in), units_of(out))) return comm.refuse(bad);
        return detail::run_checked_neighbours<goal::neighbour_alltoall>(comm, in, out, around, 0, &comm.hold(counts),
                                                                        choice);
    });
}

} // namespace bough::inline BOUGH_ABI::detail

#endif
