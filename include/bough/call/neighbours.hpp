// SPDX-License-Identifier: BSL-1.0
// What the collectives of a neighbourhood share: where the blocks of a rank lie, and the way to a plan.
#ifndef BOUGH_CALL_NEIGHBOURS_HPP
#define BOUGH_CALL_NEIGHBOURS_HPP

#include <bough/algorithm/neighbours/by_dimension.hpp>
#include <bough/algorithm/neighbours/direct.hpp>
#include <bough/call/blocks.hpp>
#include <bough/call/forms.hpp>
#include <bough/call/front_door.hpp>
#include <bough/schedule/neighbourhood.hpp>
#include <bough/select/standard/neighbours.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <variant>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// The output of one rank. It lives as long as the operation.
struct neighbour_output {
    // From one place to another one, since both have the same block.
    struct repeat {
        block_t from = 0, to = 0;
    };
    std::vector<placed_block> placed; // ascending, each block once
    std::vector<repeat> repeats;
    block_t places = 0;

    // Is there something in each place after the call?
    bool is_full() const noexcept { return placed.size() + repeats.size() == places; }
};

// block_in(place): the block there, or neighbourhood::no_block. Pre: around.check() is ok.
template <class F>
neighbour_output neighbour_output_of(block_t places, F&& block_in) {
    neighbour_output made;
    made.places = places;
    for (block_t k = 0; k != places; ++k)
        if (const block_t b = block_in(k); b != neighbourhood::no_block) made.placed.push_back({b, k});
    std::sort(made.placed.begin(), made.placed.end(), [](const placed_block& a, const placed_block& b) {
        return a.block != b.block ? a.block < b.block : a.place < b.place;
    });
    std::size_t kept = 0;
    for (const placed_block& b : made.placed)
        if (kept != 0 && made.placed[kept - 1].block == b.block)
            made.repeats.push_back({made.placed[kept - 1].place, b.place});
        else
            made.placed[kept++] = b;
    made.placed.resize(kept);
    return made;
}
template <class Goal>
neighbour_output neighbour_output_of(const neighbourhood& around, rank_t rank) {
    return neighbour_output_of(around.receives(rank), [&](block_t k) {
        if constexpr (std::same_as<Goal, goal::neighbour_alltoall>)
            return around.arriving(rank, k);
        else if (const rank_t from = around.source(rank, k); from != no_rank)
            return block_t{from};
        else
            return neighbourhood::no_block;
    });
}

// Gives a call the lengths of its blocks. `each_alike`: those of a place are the same on all ranks of the grid.
template <class T>
void set_lengths(typed_call<T>& typed, const rank_blocks& row, const rank_blocks& column, bool each_alike) {
    typed.row_offsets = row.offsets();
    typed.column_offsets = column.offsets();
    if (!each_alike || row.offsets().size() == 1) return; // without offsets there are no blocks
    typed.offsets = row.offsets();
    typed.repeat = static_cast<block_t>(row.offsets().size() - 1);
    const std::size_t most = ~std::size_t{0} / 4 / typed.element_bytes; // it only tells how long the blocks are
    typed.count = row.total() > most / typed.at.size ? most : row.total() * typed.at.size;
    typed.signature.count = row.total();
}

// The call without its data. `each`: the elements of a block, 0 if blocks differ in length.
template <class Goal, class T>
status place_neighbours(typed_call<T>& typed, const neighbourhood& around, rank_t rank, std::size_t each,
                        std::size_t element_bytes) {
    constexpr bool is_alltoall = std::same_as<Goal, goal::neighbour_alltoall>;
    const rank_t size = typed.at.size;
    if (const block_t blocks = is_alltoall ? around.blocks(size) : size; blocks != 0) {
        const auto all = rank_blocks::equal(blocks, each, element_bytes);
        if (all.bad()) return all.bad();
        typed.count = all.total();
    }
    typed.in_parts = true;
    typed.in_part.first_block = is_alltoall ? around.first_block(rank) : rank;
    typed.row = is_alltoall ? around.sends(rank) : 1;
    return {};
}

template <class T, class U>
bool share_memory(std::span<const T> a, std::span<U> b) noexcept {
    const auto first = reinterpret_cast<std::uintptr_t>(a.data()), second = reinterpret_cast<std::uintptr_t>(b.data());
    return !a.empty() && !b.empty() && first < second + b.size_bytes() && second < first + a.size_bytes();
}

// Has the output `each` elements for each place? Pre: around.check() is ok.
inline status check_neighbour_output(const neighbourhood& around, rank_t rank, std::size_t out,
                                     std::size_t each) noexcept {
    const std::size_t places = around.receives(rank);
    if (places == 0 ? out == 0 : out % places == 0 && out / places == each) return {};
    return invalid_argument("out: must hold a block for each place in which this rank receives");
}
// Of an alltoall of equal blocks: sets how many elements each has. Pre: around.check() is ok.
inline status check_neighbour_lengths(const neighbourhood& around, rank_t rank, std::size_t in, std::size_t out,
                                      std::size_t& each) noexcept {
    const std::size_t sends = around.sends(rank), receives = around.receives(rank);
    if (sends == 0 ? in != 0 : in % sends != 0)
        return invalid_argument("in: must hold a block for each place from which this rank sends");
    each = sends != 0 ? in / sends : receives != 0 ? out / receives : 0;
    return check_neighbour_output(around, rank, out, each);
}

// The counts of an alltoallv on one rank.
class neighbour_counts {
public:
    // Pre: around.check() is ok; it outlives check().
    neighbour_counts(const neighbourhood& around, rank_t rank, std::span<const std::size_t> send,
                     std::span<const std::size_t> receive, std::size_t element_bytes, std::size_t units = 1)
        : row(rank_blocks::of(around.sends(rank), send, element_bytes, units)),
          column(rank_blocks::of(around.receives(rank), receive, element_bytes, units)) {
        if (send.size() != around.sends(rank))
            bad_ = invalid_argument("send_counts: one for each place from which this rank sends");
        else if (receive.size() != around.receives(rank))
            bad_ = invalid_argument("receive_counts: one for each place in which this rank receives");
        else if (row.bad() || column.bad())
            bad_ = row.bad() ? row.bad() : column.bad();
        else
            check_own(around, rank);
    }
    // The same counts on all ranks, for each offset of a grid.
    neighbour_counts(const neighbourhood& around, rank_t rank, std::span<const std::size_t> counts,
                     std::size_t element_bytes, std::size_t units = 1)
        : each_alike(true), row(rank_blocks::of(around.sends(rank), counts, element_bytes, units)), column(row) {
        if (!around.is_grid())
            bad_ = invalid_argument("counts: one list for all ranks is for grids; give send_counts and receive_counts");
        else if (counts.size() != around.sends(rank))
            bad_ = invalid_argument("counts: one for each offset of the grid");
        else if (row.bad())
            bad_ = row.bad();
    }
    // What is wrong with them, or with data of so many elements.
    status check(std::size_t in, std::size_t out) const noexcept {
        if (bad_) return bad_;
        if (in != row.total())
            return invalid_argument(each_alike ? "counts: their sum is not the length of in"
                                               : "send_counts: their sum is not the length of in");
        if (out != column.total())
            return invalid_argument(each_alike ? "counts: their sum is not the length of out"
                                               : "receive_counts: their sum is not the length of out");
        return own_;
    }

    bool each_alike = false; // on all ranks
    rank_blocks row, column;

private:
    void check_own(const neighbourhood& around, rank_t rank) noexcept {
        for (block_t k = 0; k != around.receives(rank); ++k) {
            const block_t b = around.arriving(rank, k);
            if (b == neighbourhood::no_block || around.owner(b) != rank) continue;
            if (column.count(k) != row.count(b - around.first_block(rank)))
                own_ = invalid_argument("receive_counts: this rank sends itself another number of elements");
        }
    }
    status bad_{}, own_{}; // of the counts; of a block to this rank itself
};

// The plan that the costs choose.
template <class Goal>
using neighbour_plan = std::variant<decltype(make_plan<Goal>(direct_neighbours{}.algorithm_for(Goal{}), {})),
                                    decltype(make_plan<Goal>(by_dimension{}.algorithm_for(Goal{}), {}))>;

template <class Goal, RunsCalls Comm, class T>
const neighbour_plan<Goal>* choose_neighbour_plan(Comm& comm, const typed_call<T>& typed, const neighbourhood& around) {
    const std::uint8_t size_class = size_class_of(typed.count * typed.element_bytes);
    const std::uint64_t lengths = typed.repeat == 0 ? 0 : hash_offsets(typed.offsets);
    const choice_key key{.kind = Goal::kind, .size_class = size_class, .members = around.hash() ^ lengths};
    return comm.template remember_plan<neighbour_plan<Goal>>(key, [&] {
        using combined = std::remove_cvref_t<decltype(by_dimension{}.algorithm_for(Goal{}))>;
        bool combines = false;
        if (around.is_grid() && !around.grid().offsets.empty()) {
            const problem what = detail::problem_of(comm, size_class, false);
            const any_cost_model& costs = comm.options().costs;
            if (costs.check(typed.at.size)) return std::shared_ptr<const neighbour_plan<Goal>>();
            if (typed.repeat != 0) {
                combines = bough::combines_lengths(around, typed.offsets, typed.at, what, costs);
            } else {
                const decision made = choose_for_neighbours<Goal>(around, typed.at, what, costs);
                if (!made) return std::shared_ptr<const neighbour_plan<Goal>>();
                combines = made.winner().what.algorithm.template get<combined>() != nullptr;
            }
        }
        const Goal wanted{around};
        return std::make_shared<const neighbour_plan<Goal>>(
            combines ? neighbour_plan<Goal>(make_plan<Goal>(by_dimension{}.algorithm_for(wanted), typed.at))
                     : neighbour_plan<Goal>(make_plan<Goal>(direct_neighbours{}.algorithm_for(wanted), typed.at)));
    });
}

// Runs a call whose data are in their places. Pre: around.check() is ok.
template <class Goal, RunsCalls Comm, class T, class Choice>
status run_neighbours(Comm& comm, typed_call<T> typed, const neighbourhood& around, const neighbour_output& given,
                      std::size_t each, const Choice& choice) {
    static_assert(explain_choice<Goal, Choice>());
    const auto unchanged = [](const auto& c) { return c; };
    const neighbour_output& kept = comm.hold(given);
    typed.placed = kept.placed;
    if (kept.placed.empty()) typed.out_part.count = 0; // nothing comes
    status ended;
    if constexpr (std::same_as<Choice, automatic>) {
        const auto run = [&](const auto& plan) { return detail::run_typed(comm, plan, typed); };
        // Blocks whose lengths only their two ends know go straight.
        const bool chooses = typed.row_offsets.empty() || typed.repeat != 0;
        const auto* best = chooses ? detail::choose_neighbour_plan<Goal>(comm, typed, around) : nullptr;
        if (chooses && best == nullptr) return detail::refuse_choice(comm);
        ended = chooses
                    ? std::visit(run, *best)
                    : detail::run_choice<Goal>(comm, typed, direct_neighbours{}.algorithm_for(Goal{around}), unchanged);
    } else if constexpr (FamilyFor<Choice, Goal>) {
        ended = detail::run_choice<Goal>(comm, typed, choice.algorithm_for(Goal{around}), unchanged);
    } else {
        if (!(choice.goal() == Goal{around}))
            return comm.refuse(invalid_argument("neighbours: not those of the given plan or algorithm"));
        ended = detail::run_choice<Goal>(comm, typed, choice, unchanged);
    }
    if (kept.repeats.empty()) return ended;
    const std::size_t length = std::same_as<T, std::byte> ? each * typed.element_bytes : each;
    return comm.then(ended, [&kept, out = typed.out, length] {
        for (const neighbour_output::repeat& r : kept.repeats)
            std::copy_n(out + r.from * length, length, out + r.to * length);
    });
}

} // namespace bough::detail

#endif
