// SPDX-License-Identifier: BSL-1.0
// A frame: what one call needs besides the program's own buffers. Data that do not lie as they
// travel are packed into its rooms, and unpacked at the call's end; so bough sees bytes, and ranks
// may describe the same message by different types.
#ifndef BOUGH_TOOLS_MPI_FRAME_HPP
#define BOUGH_TOOLS_MPI_FRAME_HPP

#include "host.hpp"
#include <bough/op/run_time_op.hpp>
#include <bough/op/run_time_type.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mpi.h>
#include <vector>

namespace under_mpi {

// A vector with a block for each rank, as MPI's v-forms describe it; or one block.
struct blocks {
    void* data = nullptr;
    std::size_t count = 0; // of elements, if there are no counts
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const int* counts = nullptr; // by rank
    const int* displacements = nullptr;
    int ranks = 0;

    void* block_at(int r, const shape& s) const noexcept {
        const auto by = static_cast<std::uintptr_t>(displacements[r] * s.extent);
        return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(data) + by);
    }
};

std::size_t bytes_of_each(const blocks& b, const shape& s) noexcept; // of a vector with counts
inline std::size_t bytes_of(const blocks& b, const shape& s) noexcept {
    return b.counts == nullptr ? b.count * s.size : bytes_of_each(b, s);
}
// Pack or unpack them all, one behind the other.
void pack(const blocks& from, const shape& s, std::byte* to);
void unpack(const std::byte* from, const blocks& to, const shape& s);
// Do the bytes lie in memory as they travel?
bool lies_as_it_travels(const blocks& b, const shape& s) noexcept;
std::byte* first_byte(const blocks& b, const shape& s) noexcept;
// Null: it is not a row of elements that lies in memory as it travels, or it has no bytes.
inline std::byte* solid_row(const blocks& b, const shape& s) noexcept {
    if (b.counts != nullptr || !s.is_solid_row(b.count) || b.count * s.size == 0) return nullptr;
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(b.data) +
                                        static_cast<std::uintptr_t>(s.true_lb));
}

// How an MPI's op combines elements of one type. It must not move while it is used.
class combiner {
public:
    combiner() = default;
    combiner(const combiner&) = delete;
    combiner& operator=(const combiner&) = delete;

    // What follows is about these, until the next time. The shape of the type.
    const shape& set(MPI_Op op, MPI_Datatype type) {
        if (!is_predefined_ || handle_ != op || type_ != type) set_anew(op, type);
        return shape_;
    }
    const bough::run_time_op& op() const noexcept { return op_; }
    const bough::run_time_type& element() const noexcept { return element_; }
    // An element in bough's hands is an element in memory; otherwise it is packed.
    bool is_as_in_memory() const noexcept { return way_ != way::packed; }
    // Where elements in memory begin for bough: those with pieces have their own address, solid
    // ones that of their first byte.
    void* begin_of(void* data) const noexcept {
        const auto by = element_.pieces.empty() ? static_cast<std::uintptr_t>(shape_.true_lb) : 0;
        return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(data) + by);
    }
    // From bough's hands to where the program wants them. Gaps stay as they are.
    void copy_out(const std::byte* from, void* to, std::size_t count) const;

private:
    enum class way : std::uint8_t { solid, pair, packed };
    void set_anew(MPI_Op op, MPI_Datatype type);
    static void combine_in_memory(void* self, const void* in, void* inout, std::size_t count);
    static void combine_packed(void* self, const void* in, void* inout, std::size_t count);

    MPI_Op handle_ = MPI_OP_NULL;
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
    shape shape_{};
    way way_ = way::solid;
    bool is_predefined_ = false; // then nothing of this changes as long as the handles are the same
    bough::run_time_op op_{};
    bough::run_time_type element_{};
    std::array<bough::run_time_piece, 2> pieces_{};
    std::vector<std::byte> left_, right_; // of combine_packed
};

class frame {
public:
    // The bytes as they travel: in place, or packed into a room of this frame. At most three rooms.
    const std::byte* reads(const blocks& b, const shape& s) {
        const std::byte* const row = solid_row(b, s);
        return row != nullptr ? row : reads_any(b, s);
    }
    // Where the bytes shall come: in place, or a room that finish() unpacks. At most once a call.
    std::byte* writes(const blocks& b, const shape& s) {
        std::byte* const row = solid_row(b, s);
        return row != nullptr ? row : writes_any(b, s);
    }
    // Elements of `how` that will come here are for `count` elements at `to`, and finish() copies
    // them there.
    void brings(const std::byte* here, void* to, std::size_t count, MPI_Datatype type, const shape& s);
    // What comes is no result of this rank.
    void brings_nothing() noexcept { pending_ = pending::nothing; }
    // Memory of `bytes`, aligned to a cache line.
    std::byte* room(std::size_t bytes);
    // The call has ended: puts the result where it belongs.
    void finish() {
        if (pending_ != pending::nothing) bring();
        drop();
    }
    // The same, but there is no result.
    void drop() noexcept { used_ = 0, pending_ = pending::nothing; }

    std::vector<std::size_t> lengths, other_lengths; // of blocks, in bytes
    combiner how;

private:
    const std::byte* reads_any(const blocks& b, const shape& s);
    std::byte* writes_any(const blocks& b, const shape& s);
    void bring();

    struct memory {
        std::unique_ptr<std::byte[]> bytes{};
        std::size_t size = 0;
    };
    std::array<memory, 4> rooms_{};
    std::size_t used_ = 0;
    enum class pending : std::uint8_t { nothing, packed, elements } pending_ = pending::nothing;
    const std::byte* came_ = nullptr;
    blocks goes_to_{};
    shape goes_as_{};
};

} // namespace under_mpi

#endif
