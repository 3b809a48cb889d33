// SPDX-License-Identifier: BSL-1.0
#include "frame.hpp"

#include "end_job.hpp"
#include "handles.hpp"

#include <climits>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace under_mpi {

namespace {

constexpr std::size_t line = 64;                                  // of a cache
constexpr std::size_t most_packed_at_once = std::size_t{1} << 30; // MPI_Pack counts in int

[[noreturn]] void cannot_pack() { // what pack() made would be a wrong result
    std::fputs("bough: MPI_Pack makes another number of bytes than MPI_Type_size says\n", stderr);
    end_job(MPI_COMM_WORLD);
    std::abort();
}

std::size_t elements_at_once(const shape& s) noexcept {
    return std::clamp<std::size_t>(most_packed_at_once / std::max<std::size_t>(s.size, 1), 1, INT_MAX);
}
void* moved(void* from, std::size_t elements, const shape& s) noexcept {
    const auto by = static_cast<std::uintptr_t>(static_cast<std::ptrdiff_t>(elements) * s.extent);
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(from) + by);
}

// A row of elements at MPI_BOTTOM, which MPICH's MPI_Pack refuses: one element of another type, at another
// address.
struct row_at_bottom {
    row_at_bottom(std::size_t elements, MPI_Datatype of) {
        const int count = static_cast<int>(elements);
        MPI_Aint here = 0;
        PMPI_Get_address(&anchor, &here);
        const MPI_Aint back = -here;
        PMPI_Type_create_hindexed(1, &count, &back, of, &type);
        PMPI_Type_commit(&type);
    }
    row_at_bottom(const row_at_bottom&) = delete;
    row_at_bottom& operator=(const row_at_bottom&) = delete;
    ~row_at_bottom() { PMPI_Type_free(&type); }
    char anchor = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
};

int pack_some(void* from, std::size_t n, MPI_Datatype type, std::byte* to, int bytes) {
    int position = 0;
    if (from != nullptr) {
        PMPI_Pack(from, static_cast<int>(n), type, to, bytes, &position, MPI_COMM_SELF);
    } else {
        row_at_bottom row(n, type);
        PMPI_Pack(&row.anchor, 1, row.type, to, bytes, &position, MPI_COMM_SELF);
    }
    return position;
}
int unpack_some(const std::byte* from, void* to, std::size_t n, MPI_Datatype type, int bytes) {
    int position = 0;
    if (to != nullptr) {
        PMPI_Unpack(from, bytes, &position, to, static_cast<int>(n), type, MPI_COMM_SELF);
    } else {
        row_at_bottom row(n, type);
        PMPI_Unpack(from, bytes, &position, &row.anchor, 1, row.type, MPI_COMM_SELF);
    }
    return position;
}

std::byte* pack_row(void* from, std::size_t count, MPI_Datatype type, const shape& s, std::byte* to) {
    for (std::size_t done = 0; done < count && s.size != 0;) {
        const std::size_t n = std::min(count - done, elements_at_once(s));
        const int bytes = static_cast<int>(n * s.size);
        if (pack_some(moved(from, done, s), n, type, to, bytes) != bytes) cannot_pack();
        to += bytes;
        done += n;
    }
    return to;
}
const std::byte* unpack_row(const std::byte* from, void* to, std::size_t count, MPI_Datatype type, const shape& s) {
    for (std::size_t done = 0; done < count && s.size != 0;) {
        const std::size_t n = std::min(count - done, elements_at_once(s));
        const int bytes = static_cast<int>(n * s.size);
        if (unpack_some(from, moved(to, done, s), n, type, bytes) != bytes) cannot_pack();
        from += bytes;
        done += n;
    }
    return from;
}

// The bytes [from, to) behind the address of a row of elements in which its data lie.
struct row_bounds {
    std::ptrdiff_t from = 0, to = 0;
};
row_bounds bounds_of_row(std::size_t count, const shape& s) noexcept {
    const std::ptrdiff_t last = count == 0 ? 0 : static_cast<std::ptrdiff_t>(count - 1) * s.extent;
    return {std::min<std::ptrdiff_t>(0, last) + s.true_lb,
            std::max<std::ptrdiff_t>(0, last) + s.true_lb + s.true_extent};
}

} // namespace

std::size_t bytes_of_each(const blocks& b, const shape& s) noexcept {
    std::size_t all = 0;
    for (int r = 0; r != b.ranks; ++r) all += static_cast<std::size_t>(b.counts[r]) * s.size;
    return all;
}

void pack(const blocks& from, const shape& s, std::byte* to) {
    if (from.counts == nullptr) {
        pack_row(from.data, from.count, from.type, s, to);
        return;
    }
    for (int r = 0; r != from.ranks; ++r) {
        const std::size_t bytes = static_cast<std::size_t>(from.counts[r]) * s.size;
        if (bytes == 0) continue;
        if (s.is_solid_row(static_cast<std::size_t>(from.counts[r])))
            std::memcpy(to, static_cast<std::byte*>(from.block_at(r, s)) + s.true_lb, bytes);
        else
            pack_row(from.block_at(r, s), static_cast<std::size_t>(from.counts[r]), from.type, s, to);
        to += bytes;
    }
}

void unpack(const std::byte* from, const blocks& to, const shape& s) {
    if (to.counts == nullptr) {
        unpack_row(from, to.data, to.count, to.type, s);
        return;
    }
    for (int r = 0; r != to.ranks; ++r) {
        const std::size_t bytes = static_cast<std::size_t>(to.counts[r]) * s.size;
        if (bytes == 0) continue;
        if (s.is_solid_row(static_cast<std::size_t>(to.counts[r])))
            std::memcpy(static_cast<std::byte*>(to.block_at(r, s)) + s.true_lb, from, bytes);
        else
            unpack_row(from, to.block_at(r, s), static_cast<std::size_t>(to.counts[r]), to.type, s);
        from += bytes;
    }
}

bool lies_as_it_travels(const blocks& b, const shape& s) noexcept {
    if (s.size == 0) return true;
    if (b.counts == nullptr) return s.is_solid_row(b.count);
    if (!s.is_solid_row(2)) return false;
    long long next = 0;
    bool has_begun = false;
    for (int r = 0; r != b.ranks; ++r) {
        if (b.counts[r] == 0) continue;
        if (!has_begun) next = b.displacements[r];
        has_begun = true;
        if (b.displacements[r] != next) return false;
        next += b.counts[r];
    }
    return true;
}

std::byte* first_byte(const blocks& b, const shape& s) noexcept {
    void* at = b.data;
    if (b.counts != nullptr)
        for (int r = 0; r != b.ranks; ++r)
            if (b.counts[r] != 0) {
                at = b.block_at(r, s);
                break;
            }
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(at) + static_cast<std::uintptr_t>(s.true_lb));
}

void combiner::set_anew(MPI_Op op, MPI_Datatype type) {
    handle_ = op;
    type_ = type;
    const shape& s = shape_ = shape_of(type);
    const known_op op_is = known_op_of(op);
    const known_type type_is = known_type_of(type);
    is_predefined_ = op_is != known_op::none && type_is != known_type::none;
    int commutes = 1;
    if (op_is == known_op::none) PMPI_Op_commutative(op, &commutes);
    // Neither op nor type has a number that is the same on all ranks, unless both are MPI's own.
    op_ = {.function = combine_in_memory,
           .context = this,
           .commutative = commutes != 0,
           .exact = is_predefined_ && type_is == known_type::integer,
           .identity = 0x6d7069u + static_cast<std::uint64_t>(op_is)};
    element_ = {.size = s.size, .identity = 0x6d7069};
    way_ = way::solid;
    if (s.is_solid_row(2)) return;
    if (type_is == known_type::pair) { // a value and an int
        const std::size_t value = s.size - sizeof(int), at = (value + alignof(int) - 1) / alignof(int) * alignof(int);
        way_ = way::pair;
        pieces_ = {bough::run_time_piece{0, value},
                   bough::run_time_piece{static_cast<std::ptrdiff_t>(at), sizeof(int)}};
        element_.extent = s.extent;
        element_.pieces = pieces_;
        op_.as_in_memory = true;
        return;
    }
    way_ = way::packed;
    element_.alignment = 1;
    op_.function = combine_packed;
}

void combiner::combine_in_memory(void* self, const void* in, void* inout, std::size_t count) {
    const combiner& c = *static_cast<combiner*>(self);
    const auto back = [&c](auto* bytes) { return bytes - (c.way_ == way::solid ? c.shape_.true_lb : 0); };
    auto* from = static_cast<const std::byte*>(in);
    auto* to = static_cast<std::byte*>(inout);
    while (count != 0) {
        const int n = static_cast<int>(std::min<std::size_t>(count, INT_MAX / 2));
        combine_by_host(c.handle_, c.type_, back(from), back(to), n);
        from += n * c.shape_.extent;
        to += n * c.shape_.extent;
        count -= static_cast<std::size_t>(n);
    }
}

void combiner::combine_packed(void* self, const void* in, void* inout, std::size_t count) {
    combiner& c = *static_cast<combiner*>(self);
    const shape& s = c.shape_;
    constexpr std::size_t chunk = std::size_t{1} << 18;
    const std::size_t most = std::max<std::size_t>(1, chunk / std::max<std::size_t>(1, s.size));
    auto* from = static_cast<const std::byte*>(in);
    auto* to = static_cast<std::byte*>(inout);
    while (count != 0) {
        const std::size_t n = std::min(count, most);
        const row_bounds at = bounds_of_row(n, s);
        const auto bytes = static_cast<std::size_t>(at.to - at.from);
        c.left_.assign(bytes + line, std::byte{}); // what lies in the gaps is nobody's
        c.right_.assign(bytes + line, std::byte{});
        // The address of element 0 need not lie in the memory itself; but the program's op may know that elements
        // are aligned.
        const auto base = [&at](std::vector<std::byte>& room) {
            const auto least = reinterpret_cast<std::uintptr_t>(room.data()) - static_cast<std::uintptr_t>(at.from);
            return reinterpret_cast<void*>((least + line - 1) / line * line);
        };
        void *const left = base(c.left_), *const right = base(c.right_);
        unpack_row(from, left, n, c.type_, s);
        unpack_row(to, right, n, c.type_, s);
        combine_by_host(c.handle_, c.type_, left, right, static_cast<int>(n));
        pack_row(right, n, c.type_, s, to);
        from += n * s.size;
        to += n * s.size;
        count -= n;
    }
}

void combiner::copy_out(const std::byte* from, void* to, std::size_t count) const {
    auto* const there = static_cast<std::byte*>(begin_of(to));
    if (element_.pieces.empty()) {
        std::memcpy(there, from, count * shape_.size);
        return;
    }
    for (std::size_t i = 0; i != count; ++i)
        for (const bough::run_time_piece& p : element_.pieces) {
            const auto place = static_cast<std::ptrdiff_t>(i) * shape_.extent + p.offset;
            std::memcpy(there + place, from + place, p.bytes);
        }
}

const std::byte* frame::reads_any(const blocks& b, const shape& s) {
    const std::size_t bytes = bytes_of(b, s);
    if (bytes == 0) return nullptr;
    if (lies_as_it_travels(b, s)) return first_byte(b, s);
    std::byte* const to = room(bytes);
    pack(b, s, to);
    return to;
}

std::byte* frame::writes_any(const blocks& b, const shape& s) {
    const std::size_t bytes = bytes_of(b, s);
    if (bytes == 0) return nullptr;
    if (lies_as_it_travels(b, s)) return first_byte(b, s);
    std::byte* const to = room(bytes);
    came_ = to;
    goes_to_ = b;
    goes_as_ = s;
    pending_ = pending::packed;
    return to;
}

void frame::brings(const std::byte* here, void* to, std::size_t count, MPI_Datatype type, const shape& s) {
    came_ = here;
    goes_to_ = {.data = to, .count = count, .type = type};
    goes_as_ = s;
    pending_ = how.is_as_in_memory() ? pending::elements : pending::packed;
}

std::byte* frame::room(std::size_t bytes) {
    memory& m = rooms_[used_++];
    if (m.size < bytes + line) {
        m.bytes.reset();
        m.size = 0; // in case that the next line throws
        m.bytes = std::make_unique_for_overwrite<std::byte[]>(bytes + line);
        m.size = bytes + line;
    }
    const std::size_t beyond = reinterpret_cast<std::uintptr_t>(m.bytes.get()) % line;
    return m.bytes.get() + (line - beyond) % line;
}

void frame::bring() {
    if (pending_ == pending::packed) unpack(came_, goes_to_, goes_as_);
    if (pending_ == pending::elements) how.copy_out(came_, goes_to_.data, goes_to_.count);
}

} // namespace under_mpi
