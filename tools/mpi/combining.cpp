// SPDX-License-Identifier: BSL-1.0
// The collectives with an op.
#include "collectives.hpp"
#include <bough/allreduce.hpp>
#include <bough/error.hpp>
#include <bough/exscan.hpp>
#include <bough/reduce.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/run_time.hpp>
#include <bough/scan.hpp>

#include <cstdio>
#include <cstring>
#include <span>

namespace under_mpi {

int error_class_of(const bough::status& s, const char* collective) {
    std::fprintf(stderr, "bough: %s, rank %u of MPI_COMM_WORLD: %s\n", collective, world::get().rank(),
                 bough::message_of(s).c_str());
    if (s.code == bough::errc::no_resources) return MPI_ERR_NO_MEM;
    if (s.code != bough::errc::call_mismatch) return MPI_ERR_OTHER;
    switch (s.mismatch) {
    case bough::mismatch::count: return MPI_ERR_TRUNCATE;
    case bough::mismatch::root: return MPI_ERR_ROOT;
    case bough::mismatch::op: return MPI_ERR_OP;
    case bough::mismatch::type: return MPI_ERR_TYPE;
    default: return MPI_ERR_OTHER;
    }
}

namespace {

// One vector as elements of bough, and back.
class vector_of {
public:
    vector_of(const place& at, MPI_Datatype type, const shape& s) : at_(at), type_(type), shape_(s) {}

    bough::const_elements in(const void* data, std::size_t count) {
        return {bytes_in(data, count), count, element(), {}};
    }
    // `reads`: they are an input, too.
    bough::elements out(void* data, std::size_t count, bool reads) {
        if (is_in_memory()) return {begin_of(data), count, element(), {}};
        const blocks all = row(data, count);
        std::byte* const to = at_.room.writes(all, shape_);
        if (reads && !lies_as_it_travels(all, shape_)) pack(all, shape_, to);
        return {to, count, element(), {}};
    }
    // Elements that are no result, as large as the others.
    bough::elements spare(std::size_t count) {
        const auto bytes = static_cast<std::size_t>(stride()) * count;
        return {at_.room.room(bytes), count, element(), {}};
    }
    // The memory of `count` elements that have been combined to where the program wants them.
    void copy_out(const bough::elements& from, void* to) {
        const blocks all = row(to, from.count);
        if (!is_in_memory()) {
            unpack(static_cast<std::byte*>(from.data), all, shape_);
            return;
        }
        auto* const there = static_cast<std::byte*>(begin_of(to));
        auto* const here = static_cast<const std::byte*>(from.data);
        if (element().pieces.empty()) {
            std::memcpy(there, here, from.count * shape_.size);
            return;
        }
        for (std::size_t i = 0; i != from.count; ++i)
            for (const bough::run_time_piece& p : element().pieces) {
                const auto place = static_cast<std::ptrdiff_t>(i) * shape_.extent + p.offset;
                std::memcpy(there + place, here + place, p.bytes);
            }
    }
    // MPI forbids buffers that overlap, and hosts let it pass. Then the input is copied first.
    bough::const_elements apart_from(const void* data, void* out, std::size_t count) {
        if (!is_in_memory()) return in(data, count);
        const auto a = reinterpret_cast<std::uintptr_t>(data), b = reinterpret_cast<std::uintptr_t>(out);
        const std::size_t bytes = static_cast<std::size_t>(stride()) * count;
        if (a >= b + bytes || b >= a + bytes) return in(data, count);
        std::byte* const copy = at_.room.room(bytes);
        std::memcpy(copy, begin_of(const_cast<void*>(data)), bytes);
        return {copy, count, element(), {}};
    }

private:
    bool is_in_memory() const noexcept { return at_.room.how.is_as_in_memory(); }
    const bough::run_time_type& element() const noexcept { return at_.room.how.element(); }
    std::ptrdiff_t stride() const noexcept {
        return element().extent != 0 ? element().extent : static_cast<std::ptrdiff_t>(element().size);
    }
    // Elements with pieces have their own address, solid ones that of their first byte.
    void* begin_of(void* data) const noexcept {
        const auto by = element().pieces.empty() ? static_cast<std::uintptr_t>(shape_.true_lb) : 0;
        return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(data) + by);
    }
    const void* bytes_in(const void* data, std::size_t count) {
        void* const from = const_cast<void*>(data);
        return is_in_memory() ? begin_of(from) : at_.room.reads(row(from, count), shape_);
    }
    blocks row(void* data, std::size_t count) const noexcept { return {.data = data, .count = count, .type = type_}; }

    const place& at_;
    MPI_Datatype type_;
    const shape& shape_;
};

int ended(const place& at, const bough::status& s, const char* name) {
    if (!s) [[likely]] {
        at.room.finish();
        return MPI_SUCCESS;
    }
    at.room.drop();
    return error_class_of(s, name);
}

// allreduce, scan, exscan: all ranks give a vector. `writes`: this rank gets one.
template <class Collective>
int run_vector(const place& at, const Collective& run, const void* in, void* out, int count, MPI_Datatype type,
               MPI_Op op, bool writes, const char* name) {
    const shape s = shape_of(type);
    const auto n = static_cast<std::size_t>(count);
    if (n * s.size == 0) return MPI_SUCCESS;
    at.room.how.set(op, type, s);
    vector_of data(at, type, s);
    bough::status ends;
    if (in == MPI_IN_PLACE || in == out) {
        run(at.comm, data.out(out, n, true), at.room.how.op(), ends);
    } else if (writes) {
        const bough::const_elements from = data.apart_from(in, out, n);
        run(at.comm, from, data.out(out, n, false), at.room.how.op(), ends);
    } else {
        const bough::const_elements from = data.in(in, n);
        run(at.comm, from, data.spare(n), at.room.how.op(), ends);
    }
    if (!ends && !writes) at.room.drop(); // nothing came
    return ended(at, ends, name);
}

} // namespace

int run_allreduce(const place& at, const void* in, void* out, int count, MPI_Datatype type, MPI_Op op) {
    return run_vector(at, bough::allreduce, in, out, count, type, op, true, "MPI_Allreduce");
}
int run_scan(const place& at, const void* in, void* out, int count, MPI_Datatype type, MPI_Op op) {
    return run_vector(at, bough::scan, in, out, count, type, op, true, "MPI_Scan");
}
int run_exscan(const place& at, const void* in, void* out, int count, MPI_Datatype type, MPI_Op op) {
    return run_vector(at, bough::exscan, in, out, count, type, op, at.comm.rank() != 0, "MPI_Exscan");
}

int run_reduce(const place& at, const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, int root) {
    const shape s = shape_of(type);
    const auto n = static_cast<std::size_t>(count);
    if (n * s.size == 0) return MPI_SUCCESS;
    at.room.how.set(op, type, s);
    vector_of data(at, type, s);
    const bough::root to{static_cast<bough::rank_t>(root)};
    bough::status ends;
    if (at.comm.rank() != to.rank) {
        const bough::const_elements from = data.in(in, n);
        bough::reduce(at.comm, from, bough::elements{nullptr, 0, from.type, {}}, at.room.how.op(), to, ends);
    } else if (in == MPI_IN_PLACE || in == out) {
        bough::reduce(at.comm, data.out(out, n, true), at.room.how.op(), to, ends);
    } else {
        const bough::const_elements from = data.apart_from(in, out, n);
        bough::reduce(at.comm, from, data.out(out, n, false), at.room.how.op(), to, ends);
    }
    return ended(at, ends, "MPI_Reduce");
}

int run_reduce_scatter_block(const place& at, const void* in, void* out, int count, MPI_Datatype type, MPI_Op op) {
    const shape s = shape_of(type);
    const auto n = static_cast<std::size_t>(count), all = n * at.comm.size();
    if (n * s.size == 0) return MPI_SUCCESS;
    at.room.how.set(op, type, s);
    vector_of data(at, type, s);
    const bool is_in_place = in == MPI_IN_PLACE || in == out;
    const bough::const_elements from = data.in(is_in_place ? out : in, all);
    const bough::elements mine = data.spare(n);
    bough::status ends;
    bough::reduce_scatter(at.comm, from, mine, at.room.how.op(), ends);
    if (!ends) data.copy_out(mine, out);
    at.room.drop();
    return ended(at, ends, "MPI_Reduce_scatter_block");
}

int run_reduce_scatter(const place& at, const void* in, void* out, const int* counts, MPI_Datatype type, MPI_Op op) {
    const shape s = shape_of(type);
    const bough::rank_t size = at.comm.size();
    std::vector<std::size_t>& lengths = at.room.lengths;
    lengths.assign(counts, counts + size);
    std::size_t all = 0;
    for (const std::size_t n : lengths) all += n;
    if (all * s.size == 0) return MPI_SUCCESS;
    at.room.how.set(op, type, s);
    vector_of data(at, type, s);
    const bool is_in_place = in == MPI_IN_PLACE || in == out;
    const bough::const_elements from = data.in(is_in_place ? out : in, all);
    const bough::elements mine = data.spare(lengths[at.comm.rank()]);
    bough::status ends;
    bough::reduce_scatterv(at.comm, from, mine, std::span<const std::size_t>(lengths), at.room.how.op(), ends);
    if (!ends) data.copy_out(mine, out);
    at.room.drop();
    return ended(at, ends, "MPI_Reduce_scatter");
}

} // namespace under_mpi
