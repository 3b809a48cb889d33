// SPDX-License-Identifier: BSL-1.0
// What gather, scatter, reduce_scatter and allgather share: a vector with one block for each rank,
// and the rules for its parts.
#ifndef BOUGH_CALL_BLOCKS_HPP
#define BOUGH_CALL_BLOCKS_HPP

#include <bough/call/front_door.hpp>
#include <bough/call/repeat_call.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// The bytes of an element, in memory or on its way, whichever is more.
template <class T>
inline constexpr std::size_t block_element_bytes = std::max<std::size_t>(sizeof(T), wire_size_v<T>);

// Where the blocks of a vector begin, in elements.
class rank_blocks {
public:
    // A block of `each` elements for every rank.
    static rank_blocks equal(rank_t size, std::size_t each, std::size_t element_bytes) {
        rank_blocks made;
        made.each_ = each;
        if (each > most(element_bytes) / size)
            made.bad_ = size_overflow("data: a block for each rank, of more bytes than can be addressed");
        else
            made.total_ = each * size;
        return made;
    }
    // A block of counts[r] * units elements for rank r.
    static rank_blocks of(rank_t size, std::span<const std::size_t> counts, std::size_t element_bytes,
                          std::size_t units = 1) {
        rank_blocks made;
        if (counts.size() != size) {
            made.bad_ = invalid_argument("counts: one per rank is needed");
            return made;
        }
        made.offsets_.reserve(counts.size() + 1);
        made.offsets_.push_back(0);
        for (const std::size_t count : counts) {
            if (units != 0 && count > (most(element_bytes) - made.total_) / units) {
                made.bad_ = size_overflow("counts: of more bytes than can be addressed");
                return made;
            }
            made.total_ += count * units;
            made.offsets_.push_back(made.total_);
        }
        return made;
    }

    // The same where only the root `at` has `counts`; another rank has its own block, of `own` elements.
    static rank_blocks at_root(rank_t size, rank_t rank, root at, std::span<const std::size_t> counts, std::size_t own,
                               std::size_t element_bytes, std::size_t units = 1) {
        rank_blocks made;
        if (rank == at.rank || rank >= size) {
            made = of(size, counts, element_bytes, units);
        } else if (own > most(element_bytes)) {
            made.bad_ = size_overflow("data: more bytes than can be addressed");
        } else {
            made.offsets_.assign(std::size_t{size} + 1, 0);
            std::fill(made.offsets_.begin() + static_cast<std::ptrdiff_t>(rank) + 1, made.offsets_.end(), own);
            made.total_ = own;
        }
        made.are_agreed_ = false;
        return made;
    }

    // The error, if there is one; then no other member may be used.
    const status& bad() const noexcept { return bad_; }
    std::size_t total() const noexcept { return total_; }
    std::size_t first(rank_t r) const noexcept {
        return offsets_.empty() ? r * each_ : static_cast<std::size_t>(offsets_[r]);
    }
    std::size_t count(rank_t r) const noexcept {
        return offsets_.empty() ? each_ : static_cast<std::size_t>(offsets_[r + 1] - offsets_[r]);
    }
    // Empty: equal blocks.
    std::span<const std::uint64_t> offsets() const noexcept { return offsets_; }
    // Does each rank know all of them?
    bool are_agreed() const noexcept { return are_agreed_; }
    // The count on which ranks must agree: of one block if all are equal, otherwise of all
    // together; none if ranks do not know them all.
    std::size_t signature_count() const noexcept { return !are_agreed_ ? 0 : offsets_.empty() ? each_ : total_; }

private:
    rank_blocks() = default;
    static constexpr std::size_t most(std::size_t element_bytes) noexcept {
        return ~std::size_t{0} / 2 / element_bytes;
    }

    status bad_{};
    std::size_t each_ = 0;
    std::size_t total_ = 0;
    bool are_agreed_ = true;
    std::vector<std::uint64_t> offsets_;
};

// The memory of one rank: its own block, and at the root (or everywhere, if there is no root) the
// whole vector.
struct block_memory {
    const void* own = nullptr;
    std::size_t own_count = 0;
    const void* whole = nullptr;
    std::size_t whole_count = 0;
};

// `has_whole`: this rank has the whole vector. `wrong_whole`: the sentence for a whole vector whose
// length is not that of all blocks together.
inline status
check_blocks(const block_memory& memory, const rank_blocks& blocks, rank_t rank, bool has_whole,
             std::size_t element_bytes, const char* wrong_whole,
             const char* overlaps = "out: overlaps the input, but not as the root's own block in its place") {
    if (blocks.bad()) return blocks.bad();
    if (memory.own_count != blocks.count(rank)) return invalid_argument("counts: this rank's block is not as long");
    if (const status bad = check_data(memory.own, memory.own_count, element_bytes)) return bad;
    if (!has_whole) return {};
    if (memory.whole_count != blocks.total()) return invalid_argument(wrong_whole);
    if (const status bad = check_data(memory.whole, memory.whole_count, element_bytes)) return bad;
    const auto own = reinterpret_cast<std::uintptr_t>(memory.own);
    const auto whole = reinterpret_cast<std::uintptr_t>(memory.whole);
    const bool apart = own >= whole + memory.whole_count * element_bytes ||
                       whole >= own + memory.own_count * element_bytes || memory.own_count == 0;
    if (!apart && own != whole + blocks.first(rank) * element_bytes) return invalid_argument(overlaps);
    return {};
}

// The rules for a whole vector that every rank gives as data.
inline status check_equal_cut(std::size_t length, rank_t size) noexcept {
    if (length % size == 0) return {};
    return invalid_argument("data: its length is not a multiple of the number of ranks");
}
inline status check_sum(std::size_t length, const rank_blocks& blocks) noexcept {
    if (blocks.bad()) return blocks.bad();
    return length == blocks.total() ? status{} : invalid_argument("data: its length is not the sum of counts");
}

// A rank's own block in the in-place form. There `data` is the block itself, or the whole vector
// where a rank has it. Empty if the vector is too short; check_blocks reports that.
template <class T>
std::span<T> own_block(std::span<T> data, const rank_blocks& blocks, rank_t rank, bool has_whole = true) noexcept {
    if (!has_whole) return data;
    if (blocks.bad() || data.size() != blocks.total()) return {};
    return data.subspan(blocks.first(rank), blocks.count(rank));
}

// Where the pieces of blocks begin, and the end: each block is cut as evenly as can be. `offsets`: those
// of the blocks, and the end.
inline std::vector<std::uint64_t> cut_further(std::span<const std::uint64_t> offsets, block_t pieces) {
    std::vector<std::uint64_t> made(1, offsets.front());
    made.reserve((offsets.size() - 1) * pieces + 1);
    for (std::size_t b = 1; b != offsets.size(); ++b) {
        const std::uint64_t count = offsets[b] - offsets[b - 1];
        for (block_t k = 0; k != pieces; ++k)
            made.push_back(made.back() + count / pieces + (k < count % pieces ? 1 : 0));
    }
    return made;
}

// Runs the plan that the caller chose, on a vector of so many blocks, or of a multiple for an allgather
// or a reduce_scatter: there a plan may cut the block of each rank. `trees` makes an algorithm from a
// tree source.
template <class Goal, RunsCalls Comm, class T, class Choice, class Trees = as_chosen>
status run_cut(Comm& comm, const typed_call<T>& typed, block_t blocks, const Choice& choice, const Trees& trees = {}) {
    constexpr bool may_cut = std::same_as<Goal, goal::allgather> || std::same_as<Goal, goal::reduce_scatter>;
    block_t planned = blocks; // trees always fit, see their check()
    if constexpr (is_plan<Choice>::value)
        planned = choice.size() != comm.size() ? blocks : choice.blocks();
    else if constexpr (!TreeSource<Choice>)
        planned = bough::algorithm_for<Goal>(choice).natural_blocks(comm.size());
    if (may_cut ? planned == 0 || planned % blocks != 0 : planned != blocks)
        return comm.refuse(invalid_argument(may_cut ? "plan: must have as many blocks for every rank"
                                            : Goal::kind == goal::alltoall::kind
                                                ? "plan: must have one block for every two ranks"
                                                : "plan: must have one block for every rank"));
    const block_t pieces = planned / blocks;
    if (pieces == 1) return detail::run_choice<Goal>(comm, typed, choice, trees);
    typed_call<T> cut = typed;
    cut.in_part.first_block *= pieces;
    cut.out_part.first_block *= pieces;
    std::vector<std::uint64_t> offsets;
    if (!typed.offsets.empty()) {
        offsets = cut_further(typed.offsets, pieces);
    } else if (typed.count / blocks % pieces != 0) { // evenly spread, pieces would not begin where blocks do
        const std::uint64_t each[] = {0, typed.count / blocks};
        offsets = cut_further(each, pieces);
        cut.repeat = pieces;
    }
    cut.offsets = offsets;
    return detail::run_choice<Goal>(comm, cut, choice, trees);
}

// The same, or the plan that the costs choose among the standard candidates; such a call is remembered.
// `O`: the op; void: there is none.
template <class Goal, class O, RunsCalls Comm, class T, class Choice, class Trees = as_chosen>
status run_blocks(Comm& comm, const typed_call<T>& typed, block_t blocks, const Choice& choice,
                  const Trees& trees = {}) {
    if constexpr (std::same_as<Choice, automatic>)
        return detail::run_and_remember<Goal, O>(comm, typed, choice);
    else
        return detail::run_cut<Goal>(comm, typed, blocks, choice, trees);
}

} // namespace bough::detail

#endif
