// SPDX-License-Identifier: BSL-1.0
// run_in_slots: an alltoallv whose longest block is known, by a plan that passes on blocks of other ranks.
//
// Such a plan needs the length of every block that it passes on, which only the two ends know. So each block travels
// in a slot that has room for the longest one, behind its length. The end compares that length with the one it
// expects.
#ifndef BOUGH_CALL_IN_SLOTS_HPP
#define BOUGH_CALL_IN_SLOTS_HPP

#include <bough/algorithm/alltoall/pairwise.hpp>
#include <bough/call/blocks.hpp>
#include <bough/call/front_door.hpp>
#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/schedule/any_algorithm.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

namespace bough::inline BOUGH_ABI::detail {

// Blocks of one rank in slots. `Element`: const to pack, otherwise to unpack.
template <class Element>
struct slot_row {
    using value = std::remove_const_t<Element>;
    Element* data = nullptr;
    const rank_blocks* blocks = nullptr;
    std::byte* slots = nullptr;
    std::size_t slot_bytes = 0, element_bytes = 0; // an element as it travels

    status pack(rank_t ranks) const {
        for (rank_t r = 0; r != ranks; ++r) {
            std::byte* const slot = slots + r * slot_bytes;
            const std::uint64_t count = blocks->count(r);
            std::memcpy(slot, &count, length_bytes);
            std::byte* const first = slot + length_bytes;
            const std::size_t bytes = blocks->count(r) * element_bytes;
            if constexpr (travels_as_bytes_v<value>) {
                if (bytes != 0) std::memcpy(first, at(r), bytes);
            } else if (const status bad = detail::encode_all(at(r), blocks->count(r), first)) {
                return bad;
            }
            std::memset(first + bytes, 0, slot_bytes - length_bytes - bytes);
        }
        return {};
    }
    // An error: a block is not as long as its receiver expects.
    status unpack(rank_t ranks) const {
        for (rank_t r = 0; r != ranks; ++r) {
            const std::byte* const slot = slots + r * slot_bytes;
            std::uint64_t count = 0;
            std::memcpy(&count, slot, length_bytes);
            if (count != blocks->count(r))
                return {.code = errc::call_mismatch,
                        .mismatch = mismatch::count,
                        .peer = r,
                        .mine = blocks->count(r),
                        .theirs = count};
            const std::byte* const first = slot + length_bytes;
            if constexpr (travels_as_bytes_v<value>) {
                if (count != 0) std::memcpy(at(r), first, blocks->count(r) * element_bytes);
            } else {
                constexpr std::size_t size = wire_size_v<value>;
                for (std::size_t i = 0; i != blocks->count(r); ++i)
                    at(r)[i] = wire<value>::decode(std::span<const std::byte, size>(first + i * size, size));
            }
        }
        return {};
    }

    static constexpr std::size_t length_bytes = sizeof(std::uint64_t);

private:
    // If the type is known at run time only, an element is several bytes.
    Element* at(rank_t r) const noexcept {
        return data + blocks->first(r) * (std::same_as<value, std::byte> ? element_bytes : 1);
    }
};

// A call in slots, as one of p x p blocks of one element each. An error: they are too large.
template <class T>
status slots_of(const typed_call<T>& given, std::size_t most, typed_call<std::byte>& made) {
    const rank_t ranks = given.at.size;
    constexpr std::size_t length = slot_row<T>::length_bytes;
    const std::size_t largest = std::numeric_limits<std::uint32_t>::max() - length;
    if (most > largest / given.element_bytes) return size_overflow("at_most: a block would have 4 GiB or more");
    const std::size_t slot = length + most * given.element_bytes;
    const auto all = rank_blocks::equal(static_cast<rank_t>(std::size_t{ranks} * ranks), 1, slot);
    if (all.bad()) return size_overflow("at_most: a block for each rank, of more bytes than can be addressed");
    made.at = given.at;
    made.count = all.total();
    made.element_bytes = static_cast<std::uint32_t>(slot);
    made.in_parts = true;
    made.in_part = {given.in_part.first_block, ranks};
    made.out_part = {given.out_part.first_block, ranks};
    made.row = ranks;
    made.in_slots = true;
    made.signature = given.signature;
    made.signature.count = most;
    return {};
}

inline bool is_longer(const rank_blocks& blocks, rank_t ranks, std::size_t most) noexcept {
    for (rank_t r = 0; r != ranks; ++r)
        if (blocks.count(r) > most) return true;
    return false;
}

// run(slots) chooses the plan and runs the call.
template <RunsCalls Comm, class T, class Run>
status run_packed_slots(Comm& comm, const typed_call<T>& given, const rank_blocks& row, const rank_blocks& column,
                        typed_call<std::byte>& slots, const Run& run) {
    const rank_t ranks = given.at.size;
    const std::size_t bytes = slots.element_bytes, half = bytes * ranks;
    auto&& room = comm.template room<std::byte>();
    room.resize(2 * half);
    const slot_row<const T> sent{given.in, &comm.hold(row), room.data(), bytes, given.element_bytes};
    const slot_row<T> come{given.out, &comm.hold(column), room.data() + half, bytes, given.element_bytes};
    if (const status bad = comm.before([sent, ranks] { return sent.pack(ranks); })) return comm.refuse(bad);
    slots.in = sent.slots;
    slots.out = come.slots;
    return comm.then(run(), [come, ranks] { return come.unpack(ranks); });
}

// `given`: the call as it would run straight, by straight(). row, column and most: in elements.
template <RunsCalls Comm, class T, class Choice, class Straight>
status run_in_slots(Comm& comm, const typed_call<T>& given, const rank_blocks& row, const rank_blocks& column,
                    std::size_t most, const Choice& choice, const Straight& straight) {
    const rank_t ranks = given.at.size;
    if (detail::is_longer(row, ranks, most))
        return comm.refuse(invalid_argument("at_most: send_counts has a longer block"));
    if (detail::is_longer(column, ranks, most))
        return comm.refuse(invalid_argument("at_most: receive_counts has a longer block"));
    typed_call<std::byte> slots;
    const status too_large = detail::slots_of(given, most, slots);
    if constexpr (std::same_as<Choice, automatic>) {
        if (too_large) return straight(); // on all ranks
        const auto* best = detail::automatic_plan<goal::alltoall>(
            comm, slots, size_class_of(slots.count * slots.element_bytes), choice.required, 1);
        if (best == nullptr && comm.options().costs.check(comm.size())) return detail::refuse_choice(comm);
        if (best == nullptr || best->algorithm().template get<pairwise_alltoall>() != nullptr) return straight();
        return detail::run_packed_slots(comm, given, row, column, slots,
                                        [&] { return detail::run_typed(comm, *best, slots); });
    } else {
        if (too_large) return comm.refuse(too_large);
        return detail::run_packed_slots(comm, given, row, column, slots, [&] {
            return detail::run_cut<goal::alltoall>(comm, slots, ranks * ranks, choice);
        });
    }
}

} // namespace bough::detail

#endif
