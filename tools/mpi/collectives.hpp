// SPDX-License-Identifier: BSL-1.0
// MPI's collectives by those of bough. Arguments are MPI's, and have been checked by the host. Each
// returns an error class of MPI. A call that is only started needs its arguments, its types and its op
// until it has ended.
#ifndef BOUGH_TOOLS_MPI_COLLECTIVES_HPP
#define BOUGH_TOOLS_MPI_COLLECTIVES_HPP

#include "again.hpp"
#include "frame.hpp"
#include "world.hpp"
#include <bough/core/config.hpp>
#include <bough/core/status.hpp>
#include <bough/operation.hpp>

#include <cstddef>
#include <cstdint>
#include <mpi.h>
#include <span>

namespace under_mpi {

// One call: where it runs, and what it packs into.
struct place {
    communicator& comm;
    frame& room;
    bough::operation* starts = nullptr; // the call is started, and this is its operation; null: it is blocking
    lately* before = nullptr;           // the communicator's, of a blocking call
};

// The call that says the same, and was made lately. No call: there is none.
struct known_call {
    BOUGH_ALWAYS_INLINE known_call(const place& at, const said_call& said) noexcept {
        if (at.before == nullptr) return;
        const lately::one* const kept = at.before->find(said);
        if (kept != nullptr) call = at.comm.repeated_at(kept->at), bytes = kept->bytes;
    }
    explicit operator bool() const noexcept { return call != nullptr; }

    bough::detail::repeated_call* call = nullptr;
    std::size_t bytes = 0; // of a vector, or of one block
};
// Makes a call by make(), and keeps it.
template <class Make>
int make_first(const place& at, const said_call& said, const Make& make) {
    if (at.before == nullptr) return make();
    (void)at.comm.last_repeated();
    const int code = make();
    if (code == MPI_SUCCESS) at.before->keep(said, at.comm.last_repeated());
    return code;
}
// Do two buffers have no byte in common? Both are somewhere.
inline bool lie_apart(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) noexcept {
    const auto x = reinterpret_cast<std::uintptr_t>(a), y = reinterpret_cast<std::uintptr_t>(b);
    return x != 0 && y != 0 && (x >= y + b_bytes || y >= x + a_bytes);
}

// A call has failed: says so.
int failed(frame& room, const bough::status& s, const char* name) noexcept;
// A call has ended: puts the result where it belongs. `name`: as MPI calls it.
inline int ended(frame& room, const bough::status& s, const char* name) noexcept {
    if (s) [[unlikely]]
        return failed(room, s, name);
    room.finish();
    return MPI_SUCCESS;
}

// Makes a call by one of bough's doors, or starts it by the other one.
template <class Door, class Start, class... What>
int make(const place& at, const char* name, const Door& blocking, const Start& start, const What&... what) {
    if (at.starts != nullptr) {
        *at.starts = start(at.comm, what...);
        return MPI_SUCCESS;
    }
    bough::status ends;
    blocking(at.comm, what..., ends);
    return ended(at.room, ends, name);
}

int run_barrier(const place& at);
int run_bcast(const place& at, void* buffer, int count, MPI_Datatype type, int root);
int run_allreduce(const place& at, const void* in, void* out, int count, MPI_Datatype type, MPI_Op op);
int run_reduce(const place& at, const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, int root);
int run_scan(const place& at, const void* in, void* out, int count, MPI_Datatype type, MPI_Op op);
int run_exscan(const place& at, const void* in, void* out, int count, MPI_Datatype type, MPI_Op op);
int run_reduce_scatter_block(const place& at, const void* in, void* out, int count, MPI_Datatype type, MPI_Op op);
int run_reduce_scatter(const place& at, const void* in, void* out, const int* counts, MPI_Datatype type, MPI_Op op);
// `in` and `out` of those that combine nothing. MPI_IN_PLACE stands in `data`.
int run_gather(const place& at, const void* in, int count, MPI_Datatype type, void* out, int out_count,
               MPI_Datatype out_type, int root);
int run_gatherv(const place& at, const blocks& in, const blocks& out, int root);
int run_scatter(const place& at, const void* in, int count, MPI_Datatype type, void* out, int out_count,
                MPI_Datatype out_type, int root);
int run_scatterv(const place& at, const blocks& in, const blocks& out, int root);
int run_allgather(const place& at, const blocks& in, const blocks& out);
int run_allgatherv(const place& at, const blocks& in, const blocks& out);
int run_alltoall(const place& at, const blocks& in, const blocks& out);
int run_alltoallv(const place& at, const blocks& in, const blocks& out);

// Of each number the greatest over all ranks. Collective, and not one of the program's calls.
bough::status find_greatest(const place& at, std::span<std::uint32_t> numbers);

// Says what went wrong, on standard error; the class of MPI.
int error_class_of(const bough::status& s, const char* collective) noexcept;

} // namespace under_mpi

#endif
