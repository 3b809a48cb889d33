// SPDX-License-Identifier: BSL-1.0
// The collectives with an op.
#include "collectives.hpp"
#include <bough/allreduce.hpp>
#include <bough/core/config.hpp>
#include <bough/error.hpp>
#include <bough/exscan.hpp>
#include <bough/reduce.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/run_time.hpp>
#include <bough/scan.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <span>
#include <vector>

namespace under_mpi {

int error_class_of(const bough::status& s, const char* collective) noexcept {
    const auto say = [collective](const char* what) {
        std::fprintf(stderr, "bough: %s, rank %u of MPI_COMM_WORLD: %s\n", collective, world::get().rank(), what);
    };
    try {
        say(bough::message_of(s).c_str());
    } catch (const std::bad_alloc&) {
        say("it failed, and no memory is left to say why");
    }
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

int failed(frame& room, const bough::status& s, const char* name) noexcept {
    room.drop();
    return error_class_of(s, name);
}

namespace {

// One vector as elements of bough, and back.
class vector_of {
public:
    vector_of(const place& at, MPI_Datatype type, const shape& s) : at_(at), type_(type), shape_(s) {}

    BOUGH_ALWAYS_INLINE bough::const_elements in(const void* data, std::size_t count) {
        return {bytes_in(data, count), count, element(), {}};
    }
    // `reads`: they are an input, too.
    BOUGH_ALWAYS_INLINE bough::elements out(void* data, std::size_t count, bool reads) {
        if (is_in_memory()) return {at_.room.how.begin_of(data), count, element(), {}};
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
    // Elements that come somewhere else first, as the input may lie where they go.
    bough::elements out_later(void* data, std::size_t count) {
        const bough::elements here = spare(count);
        at_.room.brings(static_cast<const std::byte*>(here.data), data, count, type_, shape_);
        return here;
    }
    // MPI forbids buffers that overlap, and hosts let it pass. Then the input is copied first.
    BOUGH_ALWAYS_INLINE bough::const_elements apart_from(const void* data, void* out, std::size_t count) {
        if (!is_in_memory()) return in(data, count);
        const auto a = reinterpret_cast<std::uintptr_t>(data), b = reinterpret_cast<std::uintptr_t>(out);
        const std::size_t bytes = static_cast<std::size_t>(stride()) * count;
        if (a >= b + bytes || b >= a + bytes) return in(data, count);
        std::byte* const copy = at_.room.room(bytes);
        std::memcpy(copy, at_.room.how.begin_of(const_cast<void*>(data)), bytes);
        return {copy, count, element(), {}};
    }

private:
    bool is_in_memory() const noexcept { return at_.room.how.is_as_in_memory(); }
    const bough::run_time_type& element() const noexcept { return at_.room.how.element(); }
    std::ptrdiff_t stride() const noexcept {
        return element().extent != 0 ? element().extent : static_cast<std::ptrdiff_t>(element().size);
    }
    BOUGH_ALWAYS_INLINE const void* bytes_in(const void* data, std::size_t count) {
        void* const from = const_cast<void*>(data);
        return is_in_memory() ? at_.room.how.begin_of(from) : at_.room.reads(row(from, count), shape_);
    }
    blocks row(void* data, std::size_t count) const noexcept { return {.data = data, .count = count, .type = type_}; }

    const place& at_;
    MPI_Datatype type_;
    const shape& shape_;
};

// Makes a call once more. `writes`: this rank gets a vector. False: the buffers are unusual.
bool make_again(const place& at, const char* name, const known_call& known, const said_call& said, const void* in,
                void* out, bool writes, int& code) {
    const bool in_place = in == MPI_IN_PLACE || in == out;
    const void* const from = in_place ? out : in;
    if (from == nullptr || (writes && !in_place && !lie_apart(from, known.bytes, out, known.bytes))) return false;
    at.room.how.set(said.op, said.type);
    const bough::status ends = bough::detail::run_elements(at.comm, *known.call, from, writes ? out : nullptr,
                                                           at.room.how.op(), at.room.how.element());
    code = ends ? failed(at.room, ends, name) : MPI_SUCCESS;
    return true;
}

// allreduce, scan, exscan: all ranks give a vector. `writes`: this rank gets one.
template <class Collective, class Start>
int first_vector(const place& at, const char* name, const Collective& run, const Start& start, const void* in,
                 void* out, int count, MPI_Datatype type, MPI_Op op, bool writes) {
    if (count == 0) return MPI_SUCCESS;
    const shape& s = at.room.how.set(op, type);
    const auto n = static_cast<std::size_t>(count);
    if (s.size == 0) return MPI_SUCCESS;
    vector_of data(at, type, s);
    const bough::run_time_op& how = at.room.how.op();
    if (in == MPI_IN_PLACE || in == out) {
        const bough::elements all = data.out(out, n, true);
        if (!writes) at.room.brings_nothing();
        return make(at, name, run, start, all, how);
    }
    if (!writes) return make(at, name, run, start, data.in(in, n), data.spare(n), how);
    const bough::const_elements from = data.apart_from(in, out, n);
    return make(at, name, run, start, from, data.out(out, n, false), how);
}

template <class Collective, class Start>
int run_vector(const place& at, collective which, const char* name, const Collective& run, const Start& start,
               const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, bool writes) {
    const said_call said{.which = which, .count = count, .type = type, .op = op};
    int code = MPI_SUCCESS;
    if (const known_call known(at, said); known && make_again(at, name, known, said, in, out, writes, code))
        return code;
    return make_first(at, said, [&] { return first_vector(at, name, run, start, in, out, count, type, op, writes); });
}

} // namespace

bough::status find_greatest(const place& at, std::span<std::uint32_t> numbers) {
    const shape& s = at.room.how.set(MPI_MAX, MPI_UINT32_T);
    bough::status ends;
    bough::allreduce(at.comm, vector_of(at, MPI_UINT32_T, s).out(numbers.data(), numbers.size(), true),
                     at.room.how.op(), ends);
    at.room.drop();
    return ends;
}

int run_allreduce(const place& at, const void* in, void* out, int count, MPI_Datatype type, MPI_Op op) {
    return run_vector(at, collective::allreduce, "MPI_Allreduce", bough::allreduce, bough::start_allreduce, in, out,
                      count, type, op, true);
}
int run_scan(const place& at, const void* in, void* out, int count, MPI_Datatype type, MPI_Op op) {
    return run_vector(at, collective::scan, "MPI_Scan", bough::scan, bough::start_scan, in, out, count, type, op, true);
}
int run_exscan(const place& at, const void* in, void* out, int count, MPI_Datatype type, MPI_Op op) {
    return run_vector(at, collective::exscan, "MPI_Exscan", bough::exscan, bough::start_exscan, in, out, count, type,
                      op, at.comm.rank() != 0);
}

namespace {

int first_reduce(const place& at, const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, int root,
                 const char* name) {
    if (count == 0) return MPI_SUCCESS;
    const shape& s = at.room.how.set(op, type);
    const auto n = static_cast<std::size_t>(count);
    if (s.size == 0) return MPI_SUCCESS;
    vector_of data(at, type, s);
    const bough::run_time_op& how = at.room.how.op();
    const bough::root to{static_cast<bough::rank_t>(root)};
    if (at.comm.rank() != to.rank) {
        const bough::const_elements from = data.in(in, n);
        return make(at, name, bough::reduce, bough::start_reduce, from, bough::elements{nullptr, 0, from.type, {}}, how,
                    to);
    }
    if (in == MPI_IN_PLACE || in == out)
        return make(at, name, bough::reduce, bough::start_reduce, data.out(out, n, true), how, to);
    const bough::const_elements from = data.apart_from(in, out, n);
    return make(at, name, bough::reduce, bough::start_reduce, from, data.out(out, n, false), how, to);
}

} // namespace

int run_reduce(const place& at, const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, int root) {
    constexpr const char* name = "MPI_Reduce";
    const said_call said{.which = collective::reduce, .count = count, .root = root, .type = type, .op = op};
    const bool writes = at.comm.rank() == static_cast<bough::rank_t>(root);
    int code = MPI_SUCCESS;
    if (const known_call known(at, said); known && make_again(at, name, known, said, in, out, writes, code))
        return code;
    return make_first(at, said, [&] { return first_reduce(at, in, out, count, type, op, root, name); });
}

int run_reduce_scatter_block(const place& at, const void* in, void* out, int count, MPI_Datatype type, MPI_Op op) {
    if (count == 0) return MPI_SUCCESS;
    const shape& s = at.room.how.set(op, type);
    const auto n = static_cast<std::size_t>(count), all = n * at.comm.size();
    if (s.size == 0) return MPI_SUCCESS;
    vector_of data(at, type, s);
    const bool is_in_place = in == MPI_IN_PLACE || in == out;
    const bough::const_elements from = data.in(is_in_place ? out : in, all);
    return make(at, "MPI_Reduce_scatter_block", bough::reduce_scatter, bough::start_reduce_scatter, from,
                data.out_later(out, n), at.room.how.op());
}

int run_reduce_scatter(const place& at, const void* in, void* out, const int* counts, MPI_Datatype type, MPI_Op op) {
    const bough::rank_t size = at.comm.size();
    std::vector<std::size_t>& lengths = at.room.lengths;
    lengths.assign(counts, counts + size);
    std::size_t all = 0;
    for (const std::size_t n : lengths) all += n;
    if (all == 0) return MPI_SUCCESS;
    const shape& s = at.room.how.set(op, type);
    if (s.size == 0) return MPI_SUCCESS;
    vector_of data(at, type, s);
    const bool is_in_place = in == MPI_IN_PLACE || in == out;
    const bough::const_elements from = data.in(is_in_place ? out : in, all);
    const bough::elements mine = data.out_later(out, lengths[at.comm.rank()]);
    return make(at, "MPI_Reduce_scatter", bough::reduce_scatterv, bough::start_reduce_scatterv, from, mine,
                std::span<const std::size_t>(lengths), at.room.how.op());
}

} // namespace under_mpi
