// SPDX-License-Identifier: BSL-1.0
// The memory of a rank that the others write: a line of words for each of them, and behind the
// lines the region.
#ifndef BOUGH_TRANSPORT_RDMA_REGION_MEMORY_HPP
#define BOUGH_TRANSPORT_RDMA_REGION_MEMORY_HPP

#include <bough/core/memory_size.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/op.hpp>
#include <bough/transport/rdma/region_words.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

// Where a rank's memory begins: its peers need this to write there.
struct fabric_region_card {
    std::uint64_t address = 0, key = 0, bytes = 0;
};
// Checks what the cards say about the whole group. If there is an error, every rank gets one.
inline status agree_on_regions(std::span<const fabric_region_card> cards, rank_t me) noexcept {
    for (rank_t r = 0; r != cards.size(); ++r)
        if (cards[r].bytes != cards[me].bytes)
            return {.code = errc::invalid_argument, .peer = r, .argument = "region_bytes: must be equal on all ranks"};
    return {};
}

class fabric_region_memory {
public:
    fabric_region_memory(rank_t ranks, std::uint64_t bytes) noexcept : ranks_(ranks), bytes_((bytes + 63) / 64 * 64) {}

    // False: there is not so much memory.
    bool allocate() {
        // Zeros.
        memory_.reset(new (std::nothrow) fabric_line[memory_size(ranks_ + bytes_ / 64)]());
        return memory_ != nullptr;
    }
    // Pre: it is allocated, and outlives the device. False: so much memory may not be registered.
    template <RdmaMemory Device>
    bool register_for(Device& device, typename Device::memory& registered) const {
        const auto all = static_cast<std::size_t>((ranks_ + bytes_ / 64) * 64);
        return device.register_memory({first(), all}, Device::is_written, registered);
    }
    // What the others must know. Pre: it is registered.
    template <RdmaMemory Device>
    fabric_region_card card(Device& device, const typename Device::memory& registered) const {
        return {device.remote_address(first()), Device::remote_key(registered), bytes_};
    }
    std::span<std::byte> region() const noexcept {
        return {first() + std::size_t{64} * ranks_, static_cast<std::size_t>(bytes_)};
    }
    std::uint64_t word(rank_t from, fabric_ticket::what kind) const noexcept {
        std::uint64_t word = 0;
        std::memcpy(&word, first() + place_of_word(from, kind), sizeof word);
        return word;
    }
    // Where on any rank the words of a rank land, and the bytes of its region: counted from the
    // beginning of its memory.
    static std::uint64_t place_of_word(rank_t from, fabric_ticket::what kind) noexcept {
        return std::uint64_t{64} * from + 8 * (kind - fabric_ticket::hello);
    }
    std::uint64_t place_in_region(std::uint64_t offset) const noexcept { return std::uint64_t{64} * ranks_ + offset; }
    bool contains(std::uint64_t offset, std::size_t first, std::size_t second) const noexcept {
        return offset <= bytes_ && first <= bytes_ - offset && second <= bytes_ - offset - first;
    }
    // In a forked child: forgets the memory. It belongs to the parent, and the device may have
    // marked it so that only the parent may touch it.
    void abandon() noexcept { (void)memory_.release(); }

private:
    std::byte* first() const noexcept { return bytes_of_lines(memory_.get()); }

    rank_t ranks_;
    std::uint64_t bytes_;
    std::unique_ptr<fabric_line[]> memory_;
};

} // namespace bough::detail

#endif
