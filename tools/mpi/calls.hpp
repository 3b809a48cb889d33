// SPDX-License-Identifier: BSL-1.0
// The calls of a program, as every MPI's arguments say them: for each, what it gives this rank, and how
// bough makes it. `by` decides who makes it, and whether it is only started:
//
//   int make(collective which, Describe describe, Take take);
//
// describe() -> outcome, and take(place) makes the call. Both hold copies of the arguments. `by.rank` and
// `by.size` are those of the communicator.
#ifndef BOUGH_TOOLS_MPI_CALLS_HPP
#define BOUGH_TOOLS_MPI_CALLS_HPP

#include "check.hpp"
#include "collectives.hpp"
#include "report.hpp"

#include <mpi.h>

namespace under_mpi {

// --- what each collective gives a rank ---

// `ranks` blocks of `count` elements; their bytes may be more than an int holds.
inline blocks row(const void* data, int count, MPI_Datatype type, int ranks = 1) {
    return {.data = const_cast<void*>(data),
            .count = static_cast<std::size_t>(count) * static_cast<std::size_t>(ranks),
            .type = type};
}
inline blocks row(const void* data, const int* counts, const int* displacements, MPI_Datatype type, int ranks) {
    blocks all{.data = const_cast<void*>(data), .type = type};
    all.counts = counts;
    all.displacements = displacements;
    all.ranks = ranks;
    return all;
}
inline std::size_t bytes_of(const blocks& b) { return b.type == MPI_DATATYPE_NULL ? 0 : bytes_of(b, shape_of(b.type)); }

// `has_result`: this rank gets one.
inline outcome gives(const blocks& result, bool has_result = true) {
    return {.result = has_result ? result : blocks{}, .bytes = bytes_of(result)};
}
// `in` is where a rank's elements lie, as many as those of `all`.
inline outcome reduces(const void* in, const blocks& all, MPI_Op op, bool has_result = true) {
    blocks given = all;
    if (in != MPI_IN_PLACE) given.data = const_cast<void*>(in);
    return {.result = has_result ? all : blocks{}, .given = given, .op = op, .bytes = bytes_of(all)};
}
inline outcome moves(const blocks& in, const blocks& out, bool has_result = true) {
    const bool reads = in.data != MPI_IN_PLACE && in.type != MPI_DATATYPE_NULL;
    return {.result = has_result ? out : blocks{}, .bytes = bytes_of(reads ? in : out)};
}
inline outcome cuts(const void* in, const blocks& result, const blocks& whole, MPI_Op op) {
    outcome of = reduces(in, whole, op);
    of.result = result;
    of.changed = in == MPI_IN_PLACE ? whole : blocks{};
    return of;
}

// --- the calls ---

template <class By>
int call_barrier(By&& by) {
    return by.make(
        collective::barrier, [] { return outcome{}; }, [](const place& at) { return run_barrier(at); });
}
template <class By>
int call_bcast(By&& by, void* data, int count, MPI_Datatype type, int root) {
    return by.make(
        collective::bcast, [=, is_root = by.rank == root] { return gives(row(data, count, type), !is_root); },
        [=](const place& at) { return run_bcast(at, data, count, type, root); });
}
template <class By>
int call_allreduce(By&& by, const void* in, void* out, int count, MPI_Datatype type, MPI_Op op) {
    return by.make(
        collective::allreduce, [=] { return reduces(in, row(out, count, type), op); },
        [=](const place& at) { return run_allreduce(at, in, out, count, type, op); });
}
template <class By>
int call_reduce(By&& by, const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, int root) {
    return by.make(
        collective::reduce, [=, is_root = by.rank == root] { return reduces(in, row(out, count, type), op, is_root); },
        [=](const place& at) { return run_reduce(at, in, out, count, type, op, root); });
}
template <class By>
int call_scan(By&& by, const void* in, void* out, int count, MPI_Datatype type, MPI_Op op) {
    return by.make(
        collective::scan, [=] { return reduces(in, row(out, count, type), op); },
        [=](const place& at) { return run_scan(at, in, out, count, type, op); });
}
template <class By>
int call_exscan(By&& by, const void* in, void* out, int count, MPI_Datatype type, MPI_Op op) {
    return by.make(
        collective::exscan,
        [=, has_result = by.rank != 0] { return reduces(in, row(out, count, type), op, has_result); },
        [=](const place& at) { return run_exscan(at, in, out, count, type, op); });
}
template <class By>
int call_reduce_scatter_block(By&& by, const void* in, void* out, int count, MPI_Datatype type, MPI_Op op) {
    return by.make(
        collective::reduce_scatter_block,
        [=, size = by.size] { return cuts(in, row(out, count, type), row(out, count, type, size), op); },
        [=](const place& at) { return run_reduce_scatter_block(at, in, out, count, type, op); });
}
template <class By>
int call_reduce_scatter(By&& by, const void* in, void* out, const int* counts, MPI_Datatype type, MPI_Op op) {
    const auto describe = [=, rank = by.rank, size = by.size] {
        blocks whole = row(out, 0, type);
        for (int r = 0; r != size; ++r) whole.count += static_cast<std::size_t>(counts[r]);
        return cuts(in, row(out, counts[rank], type), whole, op);
    };
    return by.make(collective::reduce_scatter, describe,
                   [=](const place& at) { return run_reduce_scatter(at, in, out, counts, type, op); });
}
// Lambdas capture the arguments, and make blocks of them where they are used: to copy blocks just filled
// is dearer than to fill them again.
template <class By>
int call_gather(By&& by, const void* in, int count, MPI_Datatype type, void* out, int out_count, MPI_Datatype out_type,
                int root) {
    const bool is_root = by.rank == root;
    const auto describe = [=, size = by.size] {
        return moves(row(in, count, type), is_root ? row(out, out_count, out_type, size) : blocks{});
    };
    return by.make(collective::gather, describe,
                   [=](const place& at) { return run_gather(at, in, count, type, out, out_count, out_type, root); });
}
template <class By>
int call_gatherv(By&& by, const void* in, int count, MPI_Datatype type, void* out, const int* counts,
                 const int* displacements, MPI_Datatype out_type, int root) {
    const blocks from = row(in, count, type);
    const blocks to = by.rank == root ? row(out, counts, displacements, out_type, by.size) : blocks{};
    return by.make(
        collective::gatherv, [=] { return moves(from, to); },
        [=](const place& at) { return run_gatherv(at, from, to, root); });
}
template <class By>
int call_scatter(By&& by, const void* in, int count, MPI_Datatype type, void* out, int out_count, MPI_Datatype out_type,
                 int root) {
    const bool is_root = by.rank == root;
    const auto describe = [=] {
        return moves(is_root ? row(in, count, type) : blocks{}, row(out, out_count, out_type), out != MPI_IN_PLACE);
    };
    return by.make(collective::scatter, describe,
                   [=](const place& at) { return run_scatter(at, in, count, type, out, out_count, out_type, root); });
}
template <class By>
int call_scatterv(By&& by, const void* in, const int* counts, const int* displacements, MPI_Datatype type, void* out,
                  int out_count, MPI_Datatype out_type, int root) {
    const blocks from = by.rank == root ? row(in, counts, displacements, type, by.size) : blocks{};
    const blocks to = row(out, out_count, out_type);
    return by.make(
        collective::scatterv, [=] { return moves(from, to, out != MPI_IN_PLACE); },
        [=](const place& at) { return run_scatterv(at, from, to, root); });
}
template <class By>
int call_allgather(By&& by, const void* in, int count, MPI_Datatype type, void* out, int out_count,
                   MPI_Datatype out_type) {
    return by.make(
        collective::allgather,
        [=, size = by.size] { return moves(row(in, count, type), row(out, out_count, out_type, size)); },
        [=](const place& at) { return run_allgather(at, row(in, count, type), row(out, out_count, out_type)); });
}
template <class By>
int call_allgatherv(By&& by, const void* in, int count, MPI_Datatype type, void* out, const int* counts,
                    const int* displacements, MPI_Datatype out_type) {
    const blocks from = row(in, count, type);
    const blocks to = row(out, counts, displacements, out_type, by.size);
    return by.make(
        collective::allgatherv, [=] { return moves(from, to); },
        [=](const place& at) { return run_allgatherv(at, from, to); });
}
template <class By>
int call_alltoall(By&& by, const void* in, int count, MPI_Datatype type, void* out, int out_count,
                  MPI_Datatype out_type) {
    return by.make(
        collective::alltoall,
        [=, size = by.size] { return moves(row(in, count, type), row(out, out_count, out_type, size)); },
        [=](const place& at) { return run_alltoall(at, row(in, count, type), row(out, out_count, out_type)); });
}
template <class By>
int call_alltoallv(By&& by, const void* in, const int* counts, const int* displacements, MPI_Datatype type, void* out,
                   const int* out_counts, const int* out_displacements, MPI_Datatype out_type) {
    const blocks from = row(in, counts, displacements, type, by.size);
    const blocks to = row(out, out_counts, out_displacements, out_type, by.size);
    return by.make(
        collective::alltoallv, [=] { return moves(from, to); },
        [=](const place& at) { return run_alltoallv(at, from, to); });
}

} // namespace under_mpi

#endif
