// SPDX-License-Identifier: BSL-1.0
// The collectives that combine nothing. What travels are bytes.
#include "collectives.hpp"
#include <bough/allgather.hpp>
#include <bough/alltoall.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/gather.hpp>
#include <bough/run_time.hpp>
#include <bough/scatter.hpp>

#include <cstring>
#include <span>

namespace under_mpi {

namespace {

constexpr bough::run_time_type bytes_type{.size = 1, .identity = 0x6d7062};

bough::const_elements some(const std::byte* data, std::size_t bytes) { return {data, bytes, bytes_type, {}}; }
bough::elements some(std::byte* data, std::size_t bytes) { return {data, bytes, bytes_type, {}}; }

blocks blocks_of(const void* data, int count, MPI_Datatype type) {
    return {.data = const_cast<void*>(data), .count = static_cast<std::size_t>(count), .type = type};
}

int nothing(const place& at) {
    at.room.drop();
    return MPI_SUCCESS;
}

// The lengths of blocks in bytes.
void set_lengths(std::vector<std::size_t>& lengths, const blocks& b, const shape& s) {
    lengths.resize(static_cast<std::size_t>(b.ranks));
    for (int r = 0; r != b.ranks; ++r)
        lengths[static_cast<std::size_t>(r)] = static_cast<std::size_t>(b.counts[r]) * s.size;
}
std::size_t sum_of(const std::vector<std::size_t>& lengths, std::size_t until) {
    std::size_t sum = 0;
    for (std::size_t r = 0; r != until; ++r) sum += lengths[r];
    return sum;
}
// The block of one rank, as the program describes it: of blocks that may differ in length, and of equal ones.
blocks block_of(const blocks& all, bough::rank_t r, const shape& s) {
    const int rank = static_cast<int>(r);
    return {.data = all.block_at(rank, s), .count = static_cast<std::size_t>(all.counts[rank]), .type = all.type};
}
blocks equal_block_of(const blocks& each, bough::rank_t r, const shape& s) {
    const auto by = static_cast<std::uintptr_t>(static_cast<std::ptrdiff_t>(r * each.count) * s.extent);
    void* const at = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(each.data) + by);
    return {.data = at, .count = each.count, .type = each.type};
}
// A row of `ranks` equal blocks, from one of them.
blocks row_of(const blocks& one, bough::rank_t ranks) {
    return {.data = one.data, .count = one.count * ranks, .type = one.type};
}
bool overlap(const std::byte* a, std::size_t a_bytes, const std::byte* b, std::size_t b_bytes) {
    const auto x = reinterpret_cast<std::uintptr_t>(a), y = reinterpret_cast<std::uintptr_t>(b);
    return x < y + b_bytes && y < x + a_bytes;
}
// MPI forbids buffers that overlap, and hosts let it pass. Then the input is copied first.
const std::byte* apart(const place& at, const std::byte* in, std::size_t bytes, const std::byte* out,
                       std::size_t out_bytes) {
    if (!overlap(in, bytes, out, out_bytes)) return in;
    std::byte* const copy = at.room.room(bytes);
    std::memcpy(copy, in, bytes);
    return copy;
}
bough::root root_of(int root) { return {static_cast<bough::rank_t>(root)}; }

// The blocks of all ranks as they travel, of which one is this rank's own, and as the program describes them.
struct gathered {
    const blocks& whole;
    const blocks own_block;
    const shape& s;
    std::span<std::byte> all, own;
};
// What this rank gives: its own block if it is in place, or what lies in `in`.
bough::const_elements given(const place& at, const blocks& in, const gathered& to) {
    if (in.data != MPI_IN_PLACE) {
        const shape s = shape_of(in.type);
        const std::size_t bytes = bytes_of(in, s);
        const std::byte* const mine = at.room.reads(in, s);
        const bool is_own = mine == to.own.data();
        return some(is_own ? mine : apart(at, mine, bytes, to.all.data(), to.all.size()), bytes);
    }
    if (!lies_as_it_travels(to.whole, to.s)) pack(to.own_block, to.s, to.own.data());
    return some(static_cast<const std::byte*>(to.own.data()), to.own.size());
}

struct scattered {
    bough::const_elements all;
    bough::elements own;
};
// The blocks that the root scatters, and where it puts its own one: nowhere else if `out` is in place.
scattered taken(const place& at, std::span<const std::byte> all, std::span<const std::byte> own, const blocks& out) {
    if (out.data == MPI_IN_PLACE)
        return {some(all.data(), all.size()), some(const_cast<std::byte*>(own.data()), own.size())};
    const shape s = shape_of(out.type);
    const std::size_t bytes = bytes_of(out, s);
    std::byte* const mine = at.room.writes(out, s);
    const std::byte* const from = mine == own.data() ? all.data() : apart(at, all.data(), all.size(), mine, bytes);
    return {some(from, all.size()), some(mine, bytes)};
}

// Makes a call once more that combines nothing.
int make_again(const place& at, const char* name, bough::detail::repeated_call& known, const void* in, void* out) {
    const bough::status ends = bough::detail::run_elements(at.comm, known, in, out, bough::detail::no_op{}, bytes_type);
    return ends ? failed(at.room, ends, name) : MPI_SUCCESS;
}
const void* block_at(const void* all, bough::rank_t r, std::size_t bytes) {
    return static_cast<const std::byte*>(all) + r * bytes;
}

int first_bcast(const place& at, void* buffer, int count, MPI_Datatype type, int root);
int first_gather(const place& at, const blocks& in, const blocks& out, int root);
int first_scatter(const place& at, const blocks& in, const blocks& out, int root);

} // namespace

int run_bcast(const place& at, void* buffer, int count, MPI_Datatype type, int root) {
    const said_call said{.which = collective::bcast, .count = count, .root = root, .type = type};
    const known_call known(at, said);
    if (known && buffer != nullptr) return make_again(at, "MPI_Bcast", *known.call, buffer, buffer);
    return make_first(at, said, [&] { return first_bcast(at, buffer, count, type, root); });
}

int run_gather(const place& at, const void* in, int count, MPI_Datatype type, void* out, int out_count,
               MPI_Datatype out_type, int root) {
    constexpr const char* name = "MPI_Gather";
    const bough::rank_t me = at.comm.rank();
    const bool is_root = me == static_cast<bough::rank_t>(root), in_place = in == MPI_IN_PLACE;
    said_call said{.which = collective::gather, .root = root};
    if (!in_place) said.count = count, said.type = type;
    if (is_root) said.other_count = out_count, said.other_type = out_type;
    if (const known_call known(at, said); known && (is_root ? out : in) != nullptr) {
        if (!is_root) return make_again(at, name, *known.call, in, nullptr);
        const void* const own = block_at(out, me, known.bytes);
        const void* const from = in_place ? own : in;
        if (from == own || lie_apart(from, known.bytes, out, known.bytes * at.comm.size()))
            return make_again(at, name, *known.call, from, out);
    }
    return make_first(at, said, [&] {
        return first_gather(at, blocks_of(in, count, type), is_root ? blocks_of(out, out_count, out_type) : blocks{},
                            root);
    });
}

int run_scatter(const place& at, const void* in, int count, MPI_Datatype type, void* out, int out_count,
                MPI_Datatype out_type, int root) {
    constexpr const char* name = "MPI_Scatter";
    const bough::rank_t me = at.comm.rank();
    const bool is_root = me == static_cast<bough::rank_t>(root), in_place = out == MPI_IN_PLACE;
    said_call said{.which = collective::scatter, .root = root};
    if (is_root) said.count = count, said.type = type;
    if (!in_place) said.other_count = out_count, said.other_type = out_type;
    if (const known_call known(at, said); known && (is_root ? in : out) != nullptr) {
        if (!is_root) return make_again(at, name, *known.call, nullptr, out);
        const void* const own = block_at(in, me, known.bytes);
        void* const to = in_place ? const_cast<void*>(own) : out;
        if (to == own || lie_apart(to, known.bytes, in, known.bytes * at.comm.size()))
            return make_again(at, name, *known.call, in, to);
    }
    return make_first(at, said, [&] {
        return first_scatter(at, is_root ? blocks_of(in, count, type) : blocks{}, blocks_of(out, out_count, out_type),
                             root);
    });
}

int run_barrier(const place& at) { return make(at, "MPI_Barrier", bough::barrier, bough::start_barrier); }

namespace {

int first_bcast(const place& at, void* buffer, int count, MPI_Datatype type, int root) {
    const shape s = shape_of(type);
    const blocks all{.data = buffer, .count = static_cast<std::size_t>(count), .type = type};
    const std::size_t bytes = bytes_of(all, s);
    if (bytes == 0) return MPI_SUCCESS;
    const bough::root from = root_of(root);
    // The root's bytes are only read.
    std::byte* const data =
        at.comm.rank() == from.rank ? const_cast<std::byte*>(at.room.reads(all, s)) : at.room.writes(all, s);
    return make(at, "MPI_Bcast", bough::broadcast, bough::start_broadcast, some(data, bytes), from);
}

int first_gather(const place& at, const blocks& in, const blocks& out, int root) {
    const bough::root to = root_of(root);
    if (at.comm.rank() != to.rank) {
        const shape s = shape_of(in.type);
        const std::size_t bytes = bytes_of(in, s);
        if (bytes == 0) return nothing(at);
        return make(at, "MPI_Gather", bough::gather, bough::start_gather, some(at.room.reads(in, s), bytes),
                    some(static_cast<std::byte*>(nullptr), 0), to);
    }
    const shape s = shape_of(out.type);
    const blocks whole = row_of(out, at.comm.size());
    const std::size_t bytes = bytes_of(out, s);
    if (bytes == 0) return nothing(at);
    const std::span<std::byte> all(at.room.writes(whole, s), bytes * at.comm.size());
    const std::span<std::byte> own = all.subspan(to.rank * bytes, bytes);
    const auto mine = given(at, in, {whole, equal_block_of(out, to.rank, s), s, all, own});
    return make(at, "MPI_Gather", bough::gather, bough::start_gather, mine, some(all.data(), all.size()), to);
}

int first_scatter(const place& at, const blocks& in, const blocks& out, int root) {
    const bough::root from = root_of(root);
    if (at.comm.rank() != from.rank) {
        const shape s = shape_of(out.type);
        const std::size_t bytes = bytes_of(out, s);
        if (bytes == 0) return nothing(at);
        std::byte* const mine = at.room.writes(out, s);
        return make(at, "MPI_Scatter", bough::scatter, bough::start_scatter,
                    some(static_cast<const std::byte*>(nullptr), 0), some(mine, bytes), from);
    }
    const shape s = shape_of(in.type);
    const std::size_t bytes = bytes_of(in, s), total = bytes * at.comm.size();
    if (bytes == 0) return nothing(at);
    const std::span<const std::byte> all(at.room.reads(row_of(in, at.comm.size()), s), total);
    const scattered parts = taken(at, all, all.subspan(from.rank * bytes, bytes), out);
    return make(at, "MPI_Scatter", bough::scatter, bough::start_scatter, parts.all, parts.own, from);
}

} // namespace

int run_gatherv(const place& at, const blocks& in, const blocks& out, int root) {
    const bough::root to = root_of(root);
    const auto run = [&](const bough::const_elements& mine, const bough::elements& all,
                         std::span<const std::size_t> lengths) {
        return make(at, "MPI_Gatherv", bough::gatherv, bough::start_gatherv, mine, all, lengths, to,
                    bough::counts_at_root{});
    };
    if (at.comm.rank() != to.rank) {
        const shape s = shape_of(in.type);
        return run(some(at.room.reads(in, s), bytes_of(in, s)), some(static_cast<std::byte*>(nullptr), 0), {});
    }
    const shape s = shape_of(out.type);
    set_lengths(at.room.lengths, out, s);
    const std::span<const std::size_t> lengths = at.room.lengths;
    const std::span<std::byte> all(at.room.writes(out, s), bytes_of(out, s));
    const std::span<std::byte> own = all.subspan(sum_of(at.room.lengths, to.rank), lengths[to.rank]);
    const auto mine = given(at, in, {out, block_of(out, to.rank, s), s, all, own});
    return run(mine, some(all.data(), all.size()), lengths);
}

int run_scatterv(const place& at, const blocks& in, const blocks& out, int root) {
    const bough::root from = root_of(root);
    const auto run = [&](const bough::const_elements& all, const bough::elements& mine,
                         std::span<const std::size_t> lengths) {
        return make(at, "MPI_Scatterv", bough::scatterv, bough::start_scatterv, all, mine, lengths, from,
                    bough::counts_at_root{});
    };
    if (at.comm.rank() != from.rank) {
        const shape s = shape_of(out.type);
        return run(some(static_cast<const std::byte*>(nullptr), 0), some(at.room.writes(out, s), bytes_of(out, s)), {});
    }
    const shape s = shape_of(in.type);
    set_lengths(at.room.lengths, in, s);
    const std::span<const std::size_t> lengths = at.room.lengths;
    const std::span<const std::byte> all(at.room.reads(in, s), bytes_of(in, s));
    const auto own = all.subspan(sum_of(at.room.lengths, from.rank), lengths[from.rank]);
    const scattered parts = taken(at, all, own, out);
    return run(parts.all, parts.own, lengths);
}

int run_allgather(const place& at, const blocks& in, const blocks& out) {
    const bough::rank_t size = at.comm.size(), me = at.comm.rank();
    const shape s = shape_of(out.type);
    const std::size_t bytes = bytes_of(out, s);
    if (bytes == 0) return nothing(at);
    const blocks whole = row_of(out, size);
    const std::span<std::byte> all(at.room.writes(whole, s), bytes * size);
    const std::span<std::byte> own = all.subspan(me * bytes, bytes);
    const auto mine = given(at, in, {whole, equal_block_of(out, me, s), s, all, own});
    return make(at, "MPI_Allgather", bough::allgather, bough::start_allgather, mine, some(all.data(), all.size()));
}

int run_allgatherv(const place& at, const blocks& in, const blocks& out) {
    const bough::rank_t me = at.comm.rank();
    const shape s = shape_of(out.type);
    set_lengths(at.room.lengths, out, s);
    const std::span<const std::size_t> lengths = at.room.lengths;
    const std::size_t total = bytes_of(out, s);
    if (total == 0) return nothing(at);
    const std::span<std::byte> all(at.room.writes(out, s), total);
    const std::span<std::byte> own = all.subspan(sum_of(at.room.lengths, me), lengths[me]);
    const auto mine = given(at, in, {out, block_of(out, me, s), s, all, own});
    return make(at, "MPI_Allgatherv", bough::allgatherv, bough::start_allgatherv, mine, some(all.data(), all.size()),
                lengths);
}

int run_alltoall(const place& at, const blocks& in, const blocks& out) {
    const bough::rank_t size = at.comm.size();
    const shape s = shape_of(out.type);
    const blocks whole = row_of(out, size);
    const std::size_t total = bytes_of(whole, s);
    if (total == 0) return nothing(at);
    std::byte* const all = at.room.writes(whole, s);
    if (in.data == MPI_IN_PLACE) {
        if (!lies_as_it_travels(whole, s)) pack(whole, s, all);
        return make(at, "MPI_Alltoall", bough::alltoall, bough::start_alltoall, some(all, total));
    }
    const shape from = shape_of(in.type);
    const blocks row = row_of(in, size);
    const std::size_t given = bytes_of(row, from);
    const std::byte* const mine = apart(at, at.room.reads(row, from), given, all, total);
    return make(at, "MPI_Alltoall", bough::alltoall, bough::start_alltoall, some(mine, given), some(all, total));
}

int run_alltoallv(const place& at, const blocks& in, const blocks& out) {
    const shape s = shape_of(out.type);
    set_lengths(at.room.lengths, out, s);
    const std::span<const std::size_t> lengths = at.room.lengths;
    const std::size_t total = bytes_of(out, s);
    std::byte* const all = at.room.writes(out, s);
    if (in.data == MPI_IN_PLACE) {
        if (total != 0 && !lies_as_it_travels(out, s)) pack(out, s, all);
        return make(at, "MPI_Alltoallv", bough::alltoallv, bough::start_alltoallv, some(all, total), lengths);
    }
    const shape from = shape_of(in.type);
    set_lengths(at.room.other_lengths, in, from);
    const std::size_t given = bytes_of(in, from);
    const std::byte* const mine = apart(at, at.room.reads(in, from), given, all, total);
    return make(at, "MPI_Alltoallv", bough::alltoallv, bough::start_alltoallv, some(mine, given),
                std::span<const std::size_t>(at.room.other_lengths), some(all, total), lengths);
}

} // namespace under_mpi
