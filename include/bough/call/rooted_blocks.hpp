// SPDX-License-Identifier: BSL-1.0
// What gather and scatter share: the root has the whole vector, and every rank, the root too, has one
// block of it. In a gather the blocks are the input, in a scatter the output.
#ifndef BOUGH_CALL_ROOTED_BLOCKS_HPP
#define BOUGH_CALL_ROOTED_BLOCKS_HPP

#include <bough/call/arguments.hpp>
#include <bough/call/blocks.hpp>
#include <bough/call/forms.hpp>
#include <bough/call/front_door.hpp>
#include <bough/call/repeat_call.hpp>
#include <bough/call/runs_calls.hpp>
#include <bough/core/rank.hpp>
#include <bough/tree/flat.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

namespace bough::inline BOUGH_ABI::detail {

// A call with blocks of any lengths. `Gathers`: they are the input.
template <class Goal, template <class> class TreeAlgorithm, bool Gathers>
struct rooted_blocks {
    // `whole` is looked at only at the root.
    template <class T, RunsCalls Comm, class Own, class Whole, class Choice>
    static status run(Comm& comm, std::span<Own> own, std::span<Whole> whole, const rank_blocks& blocks, root at,
                      const Choice& choice) {
        static_assert(explain_wire<T>());
        if (at.rank >= comm.size()) return comm.refuse(invalid_argument("root: not a rank of the group"));
        const bool is_root = comm.rank() == at.rank;
        if (const status bad = check_blocks({own.data(), own.size(), whole.data(), whole.size()}, blocks, comm.rank(),
                                            is_root, sizeof(T), wrong_whole))
            return comm.refuse(bad);
        const T* in = nullptr;
        T* out = nullptr;
        if constexpr (Gathers) {
            in = own.data();
            if (is_root) out = whole.data();
        } else {
            out = own.data();
            if (is_root) in = whole.data();
        }
        if (status said; blocks.offsets().empty() &&
                         detail::repeat_call<Goal, void>(comm, in, out, blocks.total(), at.rank, nullptr, choice, said))
            return said;
        typed_call<T> typed{
            .at = {.size = comm.size(), .root = at.rank}, .in = in, .out = out, .count = blocks.total()};
        typed.in_parts = true;
        const part mine{comm.rank(), own.size()}, all = is_root ? part{0, whole.size()} : part{};
        typed.in_part = Gathers ? mine : all;
        typed.out_part = Gathers ? all : mine;
        (blocks.are_agreed() ? typed.offsets : typed.row_offsets) = blocks.offsets();
        typed.signature = signature_of<T, void>(blocks.signature_count(), at.rank);
        return detail::run_blocks<Goal, void>(comm, typed, comm.size(), choice, over_trees<TreeAlgorithm>{});
    }
    template <class T, RunsCalls Comm, class Choice>
    static status apart(Comm& comm, std::span<const T> in, std::span<T> out, const rank_blocks& blocks, root at,
                        const Choice& choice) {
        if constexpr (Gathers)
            return run<T>(comm, in, out, blocks, at, choice);
        else
            return run<T>(comm, out, in, blocks, at, choice);
    }
    template <class T, RunsCalls Comm, class Choice>
    static status in_place(Comm& comm, std::span<T> data, const rank_blocks& blocks, root at, const Choice& choice) {
        const std::span<T> own = own_block(data, blocks, comm.rank(), comm.rank() == at.rank);
        if constexpr (Gathers)
            return run<T>(comm, std::span<const T>(own), data, blocks, at, choice);
        else
            return run<T>(comm, own, std::span<const T>(data), blocks, at, choice);
    }

private:
    static constexpr const char* wrong_whole =
        Gathers ? "out: must hold one block for every rank" : "in: must hold one block for every rank";
};

// The plan by which a call runs.
template <class Choice>
constexpr const Choice& straight_or(const Choice& choice) noexcept {
    return choice;
}
constexpr flat straight_or(const counts_at_root&) noexcept { return {}; }

// The forms with blocks of one length.
template <class Goal, template <class> class TreeAlgorithm, bool Gathers>
struct rooted_block_forms : takes<Goal, parameters{.root = true, .trees = true}> {
    using trees = over_trees<TreeAlgorithm>;
    template <class On, class T, std::size_t Extent, NotData Choice = automatic>
    static status call(On& on, std::span<T, Extent> data, root at, const Choice& choice = {}) {
        return guard_call(on, [&]() -> status {
            const bool is_root = on.rank() == at.rank;
            if (is_root && data.size() % on.size() != 0)
                return on.refuse(
                    invalid_argument("data: at the root, its length is not a multiple of the number of ranks"));
            const std::size_t each = is_root ? data.size() / on.size() : data.size();
            const auto blocks = rank_blocks::equal(on.size(), each, block_element_bytes<T>);
            return rooted_blocks<Goal, TreeAlgorithm, Gathers>::template in_place<T>(on, data, blocks, at, choice);
        });
    }
    template <class On, class T, std::size_t Extent, class U, std::size_t InExtent, NotData Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, InExtent> in, std::span<T, Extent> out, root at,
                       const Choice& choice = {}) {
        return detail::guard_call(on, [&]() -> status {
            const auto blocks = rank_blocks::equal(on.size(), Gathers ? in.size() : out.size(), block_element_bytes<T>);
            return rooted_blocks<Goal, TreeAlgorithm, Gathers>::template apart<T>(on, in, out, blocks, at, choice);
        });
    }
};
// The forms with blocks whose lengths are listed: on all ranks, or at the root alone. In the latter case
// blocks go straight, as a rank that passed one on would have to know its length.
template <class Goal, template <class> class TreeAlgorithm, bool Gathers>
struct rooted_list_forms : takes<Goal, parameters{.root = true, .lists = true, .trees = true}> {
    using trees = over_trees<TreeAlgorithm>;
    template <class On, class T, std::size_t Extent, NotData Choice = automatic>
    static status call(On& on, std::span<T, Extent> data, std::span<const std::size_t> counts, root at,
                       const Choice& choice = {}) {
        return guard_call(on, [&]() -> status {
            const auto blocks = blocks_of<T, Choice>(on, counts, at, data.size());
            if (on.rank() == at.rank && !blocks.bad() && data.size() != blocks.total())
                return on.refuse(invalid_argument("data: at the root, its length is not the sum of counts"));
            return rooted_blocks<Goal, TreeAlgorithm, Gathers>::template in_place<T>(on, data, blocks, at,
                                                                                     detail::straight_or(choice));
        });
    }
    template <class On, class T, std::size_t Extent, class U, std::size_t InExtent, NotData Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, InExtent> in, std::span<T, Extent> out, std::span<const std::size_t> counts,
                       root at, const Choice& choice = {}) {
        return detail::guard_call(on, [&]() -> status {
            const auto blocks = blocks_of<T, Choice>(on, counts, at, Gathers ? in.size() : out.size());
            return rooted_blocks<Goal, TreeAlgorithm, Gathers>::template apart<T>(on, in, out, blocks, at,
                                                                                  detail::straight_or(choice));
        });
    }

private:
    template <class T, class Choice, class On>
    static rank_blocks blocks_of(On& on, std::span<const std::size_t> counts, root at, std::size_t own) {
        if constexpr (is_counts_at_root_v<Choice>)
            return rank_blocks::at_root(on.size(), on.rank(), at, counts, own, block_element_bytes<T>);
        else
            return rank_blocks::of(on.size(), counts, block_element_bytes<T>);
    }
};

} // namespace bough::detail

#endif
