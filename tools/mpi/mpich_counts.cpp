// SPDX-License-Identifier: BSL-1.0
// MPI-4's collectives with counts of MPI_Count (MPI_Bcast_c ...), as MPICH 4 has them. They match the
// others, so a call with one count that an int holds is made by the function with ints. Others go to MPICH,
// and so do all calls with a count or a place for each rank: ranks may give others, such as places that
// only the root has, and then some would find that ints hold them, and others that they do not.
#include "mpich_counts.hpp"

#include "report.hpp"
#include "world.hpp"

#include <climits>

#include <dlfcn.h>
#include <mpi.h>

#if MPI_VERSION >= 4

using namespace under_mpi;

namespace {

constexpr int no_call = INT_MIN;

// Of one call: its counts as ints, and whether all could be told so.
class narrowed {
public:
    narrowed(MPI_Comm comm, int root) noexcept : is_(seen(comm)), is_root_(is_.rank == root), fits_(is_seen()) {}
    bool is_seen() const noexcept { return is_.size != 0; }
    bool fit() const noexcept { return fits_; }
    bool is_root() const noexcept { return is_root_; }
    // Those that do not matter may be anything.
    int one(MPI_Count n, bool matters = true) noexcept {
        if (!matters) return 0;
        if (n < INT_MIN || n > INT_MAX) fits_ = false;
        return static_cast<int>(n);
    }

private:
    seen_comm is_;
    bool is_root_ = false, fits_ = false;
};

} // namespace

#define BOUGH_MPI_FUNCTION extern "C" [[gnu::visibility("default")]] int
#define BOUGH_LIST(...) __VA_ARGS__

// A function from its parameters, its arguments as they are, and as ints; `as` narrows them, in any order.
#define BOUGH_NARROW(Name, name, parameters, root, arguments, ints)                                                    \
    BOUGH_MPI_FUNCTION MPI_##Name##_c(BOUGH_LIST parameters, MPI_Comm comm) {                                          \
        static auto* const next = reinterpret_cast<decltype(&MPI_##Name##_c)>(::dlsym(RTLD_NEXT, "MPI_" #Name "_c"));  \
        narrowed as(comm, root);                                                                                       \
        const auto call = [&](auto... values) { return as.fit() ? MPI_##Name(values..., comm) : no_call; };            \
        if (const int code = call(BOUGH_LIST ints); code != no_call) return code;                                      \
        if (as.is_seen() && world::get().reports()) count_passed_on(collective::name, reason::large);                  \
        return next != nullptr ? next(BOUGH_LIST arguments, comm) : PMPI_##Name##_c(BOUGH_LIST arguments, comm);       \
    }

// A function that goes to MPICH whatever its arguments are.
#define BOUGH_PASS_ON(Name, name, parameters, arguments)                                                               \
    BOUGH_MPI_FUNCTION MPI_##Name##_c(BOUGH_LIST parameters, MPI_Comm comm) {                                          \
        static auto* const next = reinterpret_cast<decltype(&MPI_##Name##_c)>(::dlsym(RTLD_NEXT, "MPI_" #Name "_c"));  \
        if (world::get().reports() && seen(comm).size != 0) count_passed_on(collective::name, reason::wide);           \
        return next != nullptr ? next(BOUGH_LIST arguments, comm) : PMPI_##Name##_c(BOUGH_LIST arguments, comm);       \
    }

using type_t = MPI_Datatype;
using counts_t = const MPI_Count*;
using places_t = const MPI_Aint*;

BOUGH_NARROW(Bcast, bcast, (void* data, MPI_Count count, type_t type, int root), root, (data, count, type, root),
             (data, as.one(count), type, root))
BOUGH_NARROW(Allreduce, allreduce, (const void* in, void* out, MPI_Count count, type_t type, MPI_Op op), 0,
             (in, out, count, type, op), (in, out, as.one(count), type, op))
BOUGH_NARROW(Reduce, reduce, (const void* in, void* out, MPI_Count count, type_t type, MPI_Op op, int root), root,
             (in, out, count, type, op, root), (in, out, as.one(count), type, op, root))
BOUGH_NARROW(Scan, scan, (const void* in, void* out, MPI_Count count, type_t type, MPI_Op op), 0,
             (in, out, count, type, op), (in, out, as.one(count), type, op))
BOUGH_NARROW(Exscan, exscan, (const void* in, void* out, MPI_Count count, type_t type, MPI_Op op), 0,
             (in, out, count, type, op), (in, out, as.one(count), type, op))
BOUGH_NARROW(Reduce_scatter_block, reduce_scatter_block,
             (const void* in, void* out, MPI_Count count, type_t type, MPI_Op op), 0, (in, out, count, type, op),
             (in, out, as.one(count), type, op))
BOUGH_NARROW(Gather, gather,
             (const void* in, MPI_Count count, type_t type, void* out, MPI_Count out_count, type_t out_type, int root),
             root, (in, count, type, out, out_count, out_type, root),
             (in, as.one(count, in != MPI_IN_PLACE), type, out, as.one(out_count, as.is_root()), out_type, root))
BOUGH_NARROW(Scatter, scatter,
             (const void* in, MPI_Count count, type_t type, void* out, MPI_Count out_count, type_t out_type, int root),
             root, (in, count, type, out, out_count, out_type, root),
             (in, as.one(count, as.is_root()), type, out, as.one(out_count, out != MPI_IN_PLACE), out_type, root))
BOUGH_NARROW(Allgather, allgather,
             (const void* in, MPI_Count count, type_t type, void* out, MPI_Count out_count, type_t out_type), 0,
             (in, count, type, out, out_count, out_type),
             (in, as.one(count, in != MPI_IN_PLACE), type, out, as.one(out_count), out_type))
BOUGH_NARROW(Alltoall, alltoall,
             (const void* in, MPI_Count count, type_t type, void* out, MPI_Count out_count, type_t out_type), 0,
             (in, count, type, out, out_count, out_type),
             (in, as.one(count, in != MPI_IN_PLACE), type, out, as.one(out_count), out_type))

BOUGH_PASS_ON(Reduce_scatter, reduce_scatter, (const void* in, void* out, counts_t counts, type_t type, MPI_Op op),
              (in, out, counts, type, op))
BOUGH_PASS_ON(Gatherv, gatherv,
              (const void* in, MPI_Count count, type_t type, void* out, counts_t counts, places_t places,
               type_t out_type, int root),
              (in, count, type, out, counts, places, out_type, root))
BOUGH_PASS_ON(Scatterv, scatterv,
              (const void* in, counts_t counts, places_t places, type_t type, void* out, MPI_Count out_count,
               type_t out_type, int root),
              (in, counts, places, type, out, out_count, out_type, root))
BOUGH_PASS_ON(Allgatherv, allgatherv,
              (const void* in, MPI_Count count, type_t type, void* out, counts_t counts, places_t places,
               type_t out_type),
              (in, count, type, out, counts, places, out_type))
BOUGH_PASS_ON(Alltoallv, alltoallv,
              (const void* in, counts_t counts, places_t places, type_t type, void* out, counts_t out_counts,
               places_t out_places, type_t out_type),
              (in, counts, places, type, out, out_counts, out_places, out_type))

#endif
