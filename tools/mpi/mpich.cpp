// SPDX-License-Identifier: BSL-1.0
// bough_mpich.so: preloaded before MPICH, it has MPI's blocking collectives. A call that is wrong, or that
// bough does not take, goes to MPICH (PMPI_), which says what is wrong with it. bough_mpich_nodes.so, preloaded
// behind it, is the same for jobs on several nodes; the one that does not take the job hands its calls on.
#include "calls.hpp"
#include "end_job.hpp"
#include "handles.hpp"
#include "mpich_counts.hpp"
#include "never_destroyed.hpp"
#include "route.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <mpi.h>
#include <mutex>
#include <new>
#include <utility>

namespace under_mpi {

namespace {

class mpich_group final : public host_group {
public:
    explicit mpich_group(MPI_Comm comm) noexcept : comm_(comm) {}
    bool gather_from_all(const void* mine, int bytes, void* all) override {
        return PMPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm_) == MPI_SUCCESS;
    }
    bool find_greatest(std::uint32_t* numbers, int count) override {
        return PMPI_Allreduce(MPI_IN_PLACE, numbers, count, MPI_UINT32_T, MPI_MAX, comm_) == MPI_SUCCESS;
    }
    bool start_greatest(std::uint32_t* numbers, int count, MPI_Request& request) override {
        return PMPI_Iallreduce(MPI_IN_PLACE, numbers, count, MPI_UINT32_T, MPI_MAX, comm_, &request) == MPI_SUCCESS;
    }
    std::uint32_t number() const noexcept override { return 0; } // a handle is of this rank alone

private:
    MPI_Comm comm_;
};

// A communicator of the program with all that is known of it; an attribute of the communicator.
struct known_comm {
    explicit known_comm(MPI_Comm of) noexcept : handle(of), host(of), ours(of, host) {
        int is_inter = 0;
        PMPI_Comm_test_inter(of, &is_inter);
        PMPI_Comm_rank(of, &rank);
        PMPI_Comm_size(of, &size);
        if (is_inter != 0)
            ours.never(reason::inter); // even if this rank's group is of one rank
        else if (size == 1)
            ours.never(reason::alone);
    }
    MPI_Comm handle;
    mpich_group host;
    group ours;
    int rank = 0, size = 1;
    known_comm *before = nullptr, *after = nullptr; // of those in the same list
    bool is_being_freed = false;                    // the program is in MPI_Comm_free or MPI_Comm_disconnect
    bool is_forgotten = false;                      // MPICH has deleted the attribute
};

// Is a handle of the same kind as another one? It may still be of nothing.
bool is_of_kind(int handle, int known) noexcept {
    constexpr unsigned kind = 0x3c000000, storage = 0xc0000000;
    const auto is = static_cast<unsigned>(handle), like = static_cast<unsigned>(known);
    return (is & kind) == (like & kind) && (is & storage) != 0;
}

// A receive that never ends: MPICH's progress runs when it is tested, of messages and of all else. (A probe
// looks at its own queue only.)
class never_ending {
public:
    void start() {
        PMPI_Comm_dup(MPI_COMM_SELF, &comm_);
        PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
        PMPI_Irecv(&word_, 1, MPI_INT, 0, 0, comm_, &request_);
    }
    void stop() {
        PMPI_Cancel(&request_);
        PMPI_Wait(&request_, MPI_STATUS_IGNORE);
        PMPI_Comm_free(&comm_);
    }
    // Questions whose answers call no error handler of the program: the errors are of this communicator.
    bool is_comm(MPI_Comm comm) const noexcept {
        int unused = 0;
        return is_of_kind(comm, MPI_COMM_WORLD) && PMPI_Comm_compare(comm_, comm, &unused) == MPI_SUCCESS;
    }
    bool is_op(MPI_Op op) const noexcept {
        const int one = 1;
        int unused = 0;
        return is_of_kind(op, MPI_SUM) && PMPI_Reduce(&one, &unused, 0, MPI_INT, op, 0, comm_) == MPI_SUCCESS;
    }
    // Does MPICH send an element of this type? It does not if nobody has committed the type. Nothing is sent.
    bool takes(MPI_Datatype type) const noexcept {
        return PMPI_Send(&word_, 1, type, MPI_PROC_NULL, 0, comm_) == MPI_SUCCESS;
    }
    void test() {
        if (request_ == MPI_REQUEST_NULL || is_tested_.test_and_set(std::memory_order_acquire)) return;
        int is_over = 0;
        PMPI_Test(&request_, &is_over, MPI_STATUS_IGNORE);
        is_tested_.clear(std::memory_order_release);
    }

private:
    MPI_Comm comm_ = MPI_COMM_NULL;
    MPI_Request request_ = MPI_REQUEST_NULL;
    int word_ = 0;
    std::atomic_flag is_tested_; // by one thread at a time
};
never_ending progress_of_mpich;

class known_comms {
public:
    static known_comms& get() { return never_destroyed<known_comms>::get(); }
    // When MPI has started; and before it ends.
    void start() {
        int rank = 0, size = 1, threads = MPI_THREAD_SINGLE;
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
        PMPI_Comm_size(MPI_COMM_WORLD, &size);
        PMPI_Query_thread(&threads);
        mpich_group host(MPI_COMM_WORLD);
        world::get().start(host, static_cast<bough::rank_t>(rank), static_cast<bough::rank_t>(size),
                           threads == MPI_THREAD_MULTIPLE);
        is_started_ = world::get().has_started() || world::get().reports();
        if (!is_started_) return;
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key_, nullptr);
        progress_of_mpich.start();
    }
    void stop() {
        if (!is_started_) return;
        is_started_ = false;
        for (known_comm*& first : lists_)
            while (first != nullptr) delete std::exchange(first, first->after);
        has_stopped_ = true;
        if (world::get().reports() && world::get().rank() == 0) print_report();
        world::get().stop();
        progress_of_mpich.stop();
        PMPI_Comm_free_keyval(&key_);
    }
    // Null: calls of this communicator go to MPICH. The attribute is not asked for: while a communicator
    // is freed, callbacks of the program may call collectives, and MPICH has freed some attributes.
    known_comm* find(MPI_Comm comm) {
        if (!is_started_) return nullptr;
        if (known_comm* const one = look_up(comm)) return one;
        if (!progress_of_mpich.is_comm(comm)) return nullptr;
        auto* const made = new (std::nothrow) known_comm(comm);
        if (made == nullptr) { // the other ranks have one
            std::fputs("bough: no memory is left for a communicator\n", stderr);
            end_job(MPI_COMM_WORLD);
        }
        if (PMPI_Comm_set_attr(comm, key_, made) != MPI_SUCCESS) return delete made, nullptr; // it has been raised
        const std::scoped_lock held(mutex_);
        known_comm*& first = list_of(comm);
        made->after = first;
        if (first != nullptr) first->before = made;
        return first = made;
    }
    // Frees a communicator by free(). What is known of it stays until its last callback has run.
    template <class Free>
    int free_by(MPI_Comm comm, const Free& free) {
        known_comm* const one = find(comm);
        if (one == nullptr) return free();
        mark_as_freed(one, true);
        const int code = free();
        mark_as_freed(one, false); // it stays if it had an error, or a call is under way
        return code;
    }

private:
    static int forget(MPI_Comm, int, void* value, void*) {
        known_comms& all = get();
        if (all.has_stopped_) return MPI_SUCCESS; // stop() has deleted it
        auto* const one = static_cast<known_comm*>(value);
        all.change(one, one->is_forgotten, true);
        return MPI_SUCCESS;
    }
    void mark_as_freed(known_comm* one, bool is) { change(one, one->is_being_freed, is); }
    // MPICH may forget it on one thread while another one frees it: the second of them deletes it.
    void change(known_comm* one, bool& flag, bool to) {
        {
            const std::scoped_lock held(mutex_);
            flag = to;
            if (!one->is_forgotten || one->is_being_freed) return;
            (one->before != nullptr ? one->before->after : list_of(one->handle)) = one->after;
            if (one->after != nullptr) one->after->before = one->before;
        }
        delete one;
    }
    known_comm* look_up(MPI_Comm comm) {
        const std::scoped_lock held(mutex_);
        for (known_comm* one = list_of(comm); one != nullptr; one = one->after)
            if (one->handle == comm) return one;
        return nullptr;
    }
    // Handles of communicators are numbers that count up.
    known_comm*& list_of(MPI_Comm comm) noexcept { return lists_[static_cast<unsigned>(comm) % lists_.size()]; }

    thread_mutex mutex_; // of the lists, and of what is said of a communicator's end
    std::array<known_comm*, 256> lists_{};
    bool has_stopped_ = false;
    int key_ = MPI_KEYVAL_INVALID;
    bool is_started_ = false;
};

// --- what goes to MPICH because it is wrong ---

bool is_good(MPI_Datatype type) noexcept { return type != MPI_DATATYPE_NULL && is_of_kind(type, MPI_INT); }
bool is_good(const void* data, int count, MPI_Datatype type) noexcept {
    if (count < 0 || !is_good(type)) return false;
    if (count == 0) return true; // even if nobody has committed the type
    if (known_type_of(type) != known_type::none) return data != nullptr;
    return progress_of_mpich.takes(type); // types with absolute addresses may begin at 0
}
bool is_good(const void* data, const int* counts, const int* places, MPI_Datatype type, int size) noexcept {
    if (counts == nullptr || places == nullptr || !is_good(type)) return false;
    for (int r = 0; r != size; ++r)
        if (!is_good(data, counts[r], type)) return false;
    return true;
}
bool is_root(int root, const known_comm& of) noexcept { return root >= 0 && root < of.size; }

// One of the program's own combines any.
bool may_combine(MPI_Op op, MPI_Datatype type) noexcept {
    if (op == MPI_OP_NULL || op == MPI_REPLACE || op == MPI_NO_OP) return false;
    const known_op how = known_op_of(op);
    return how == known_op::none ? progress_of_mpich.is_op(op) : combines(how, type);
}
bool is_good_pair(const void* in, const void* out, int count, MPI_Datatype type, MPI_Op op, bool has_result = true) {
    const bool is_in_place = in == MPI_IN_PLACE;
    if (!is_in_place && !is_good(in, count, type)) return false;
    if (has_result && (out == MPI_IN_PLACE || !is_good(out, count, type))) return false;
    return may_combine(op, type);
}

// --- who makes a call ---

template <class Pass>
struct caller {
    known_comm* of;
    MPI_Comm comm;
    Pass pass;
    int rank, size;

    template <class Describe, class Take>
    int make(collective which, const Describe& describe, const Take& take) {
        bool is_of_host = false; // the error, so MPICH has raised it
        const int code = route(of->ours, comm, which, describe, take, [&] {
            const int its = pass();
            is_of_host = its != MPI_SUCCESS;
            return its;
        });
        if (code != MPI_SUCCESS && !is_of_host) PMPI_Comm_call_errhandler(comm, code);
        return code;
    }
};
template <class Pass>
caller<Pass> waits(known_comm* of, MPI_Comm comm, Pass pass) {
    return {of, comm, pass, of->rank, of->size};
}

void start_bough() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0, major = 0;
    PMPI_Get_library_version(text, &length);
    constexpr int built_for = MPICH_NUMVERSION / 10'000'000;
    if (const char* const is = std::strstr(text, "MPICH Version:");
        is == nullptr || std::sscanf(is, "MPICH Version: %d.", &major) != 1 || major != built_for) {
        if (!is_for_nodes) // one library says it
            std::fprintf(stderr, "bough: was built for MPICH %d and this is another; it is not used\n", built_for);
        return;
    }
    known_comms::get().start(); // also with BOUGH_MPI=off, which may be said on this rank alone
}
// A program of Open MPI has other types under the same names.
void refuse_open_mpi() {
    if (::dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world") == nullptr) return;
    std::fputs("bough: the program uses Open MPI, and was started by a launcher of MPICH\n", stderr);
    std::_Exit(2);
}

// How a type was made. Of one that was made with counts of MPI_Count (MPI_Type_contiguous_c ...) the functions with
// ints have an error.
#if MPI_VERSION >= 4
struct envelope {
    explicit envelope(MPI_Datatype type) {
        PMPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &combiner);
    }
    MPI_Count integers = 0, addresses = 0, counts = 0, types = 0;
    int combiner = MPI_COMBINER_NAMED;
};
#else
struct envelope {
    explicit envelope(MPI_Datatype type) { PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner); }
    int integers = 0, addresses = 0, types = 0;
    int combiner = MPI_COMBINER_NAMED;
};
#endif
// The one other type of which a type is a row; it must be freed unless it is one of MPI's own.
struct row_of_type {
    row_of_type(MPI_Datatype type, const envelope& made) {
        int number = 1;
        MPI_Aint bounds[2] = {};
#if MPI_VERSION >= 4
        MPI_Count large[2] = {};
        PMPI_Type_get_contents_c(type, made.integers, made.addresses, made.counts, made.types, &number, bounds, large,
                                 &of);
        count = made.counts != 0 ? static_cast<std::size_t>(large[0]) : static_cast<std::size_t>(number);
#else
        PMPI_Type_get_contents(type, made.integers, made.addresses, made.types, &number, bounds, &of);
        count = static_cast<std::size_t>(number);
#endif
        if (made.combiner != MPI_COMBINER_CONTIGUOUS) count = 1;
    }
    MPI_Datatype of = MPI_DATATYPE_NULL;
    std::size_t count = 1;
};

// How an element of a type lies in memory, and whether its bytes lie in the order in which they travel.
shape find_shape(MPI_Datatype type) {
    MPI_Count size = 0;
    MPI_Aint lb = 0, extent = 0, true_lb = 0, true_extent = 0;
    PMPI_Type_size_x(type, &size);
    PMPI_Type_get_extent(type, &lb, &extent);
    PMPI_Type_get_true_extent(type, &true_lb, &true_extent);
    shape s{.size = static_cast<std::size_t>(size), .extent = extent, .true_lb = true_lb, .true_extent = true_extent};
    if (size != true_extent) return s;
    const envelope made(type);
    if (made.combiner == MPI_COMBINER_NAMED) s.is_solid = true;
    if (made.combiner != MPI_COMBINER_DUP && made.combiner != MPI_COMBINER_CONTIGUOUS &&
        made.combiner != MPI_COMBINER_RESIZED)
        return s;
    row_of_type row(type, made);
    s.is_solid = find_shape(row.of).is_solid_row(row.count);
    if (envelope(row.of).combiner != MPI_COMBINER_NAMED) PMPI_Type_free(&row.of);
    return s;
}

} // namespace

shape shape_of(MPI_Datatype type) {
    // MPI's own types stay what they are.
    static thread_local MPI_Datatype last = MPI_DATATYPE_NULL;
    static thread_local shape last_shape;
    if (type == last) return last_shape;
    const shape s = find_shape(type);
    if (known_type_of(type) != known_type::none) last = type, last_shape = s;
    return s;
}
void combine_by_host(MPI_Op op, MPI_Datatype type, const void* in, void* inout, int count) {
    PMPI_Reduce_local(in, inout, count, type, op);
}
void progress_host() { progress_of_mpich.test(); }
seen_comm seen(MPI_Comm comm) noexcept {
    const known_comm* const of = known_comms::get().find(comm);
    if (of == nullptr || of->ours.why() == reason::inter) return {};
    return {of->rank, of->size};
}

} // namespace under_mpi

// --- MPI's functions ---

using namespace under_mpi;

#define BOUGH_MPI_FUNCTION extern "C" [[gnu::visibility("default")]] int

// The function of the library behind this one: bough's for several nodes, or MPICH's own.
#define BOUGH_NEXT(Name)                                                                                               \
    ([] {                                                                                                              \
        static auto* const next = reinterpret_cast<decltype(&MPI_##Name)>(::dlsym(RTLD_NEXT, "MPI_" #Name));           \
        return next != nullptr ? next : PMPI_##Name;                                                                   \
    }())

BOUGH_MPI_FUNCTION MPI_Init(int* argc, char*** argv) {
    refuse_open_mpi();
    const int code = BOUGH_NEXT(Init)(argc, argv);
    if (code == MPI_SUCCESS) start_bough();
    return code;
}
BOUGH_MPI_FUNCTION MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    refuse_open_mpi();
    const int code = BOUGH_NEXT(Init_thread)(argc, argv, required, provided);
    if (code == MPI_SUCCESS) start_bough();
    return code;
}
BOUGH_MPI_FUNCTION MPI_Finalize() {
    known_comms::get().stop();
    return BOUGH_NEXT(Finalize)();
}

// Callbacks of the communicator's attributes may call its collectives.
BOUGH_MPI_FUNCTION MPI_Comm_free(MPI_Comm* comm) {
    const auto free = [comm] { return BOUGH_NEXT(Comm_free)(comm); };
    return comm == nullptr ? free() : known_comms::get().free_by(*comm, free);
}
BOUGH_MPI_FUNCTION MPI_Comm_disconnect(MPI_Comm* comm) {
    const auto free = [comm] { return BOUGH_NEXT(Comm_disconnect)(comm); };
    return comm == nullptr ? free() : known_comms::get().free_by(*comm, free);
}

// A collective, from its parameters, its arguments, and when they are good; `of` is what is known of the
// communicator.
#define BOUGH_LIST(...) __VA_ARGS__
#define BOUGH_TAKE(Name, name, parameters, arguments, good)                                                            \
    BOUGH_MPI_FUNCTION MPI_##Name(BOUGH_LIST parameters, MPI_Comm comm) {                                              \
        const auto pass_on = [=] { return PMPI_##Name(BOUGH_LIST arguments, comm); };                                  \
        known_comm* const of = known_comms::get().find(comm);                                                          \
        if (of == nullptr) return BOUGH_NEXT(Name)(BOUGH_LIST arguments, comm);                                        \
        if (of->size != 1 && of->ours.why() != reason::inter && !(good)) return pass_on();                             \
        return call_##name(waits(of, comm, pass_on), BOUGH_LIST arguments);                                            \
    }

BOUGH_MPI_FUNCTION MPI_Barrier(MPI_Comm comm) {
    known_comm* const of = known_comms::get().find(comm);
    if (of == nullptr) return BOUGH_NEXT(Barrier)(comm);
    return call_barrier(waits(of, comm, [=] { return PMPI_Barrier(comm); }));
}
BOUGH_TAKE(Bcast, bcast, (void* data, int count, MPI_Datatype type, int root), (data, count, type, root),
           is_root(root, *of) && data != MPI_IN_PLACE && is_good(data, count, type))
BOUGH_TAKE(Allreduce, allreduce, (const void* in, void* out, int count, MPI_Datatype type, MPI_Op op),
           (in, out, count, type, op), is_good_pair(in, out, count, type, op))
BOUGH_TAKE(Reduce, reduce, (const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, int root),
           (in, out, count, type, op, root),
           is_root(root, *of) && (root == of->rank || in != MPI_IN_PLACE) &&
               is_good_pair(in, out, count, type, op, root == of->rank))
BOUGH_TAKE(Scan, scan, (const void* in, void* out, int count, MPI_Datatype type, MPI_Op op), (in, out, count, type, op),
           is_good_pair(in, out, count, type, op))
BOUGH_TAKE(Exscan, exscan, (const void* in, void* out, int count, MPI_Datatype type, MPI_Op op),
           (in, out, count, type, op), out != MPI_IN_PLACE && is_good_pair(in, out, count, type, op, of->rank != 0))
BOUGH_TAKE(Reduce_scatter_block, reduce_scatter_block,
           (const void* in, void* out, int count, MPI_Datatype type, MPI_Op op), (in, out, count, type, op),
           is_good_pair(in, out, count, type, op))
namespace {
bool is_good_cut(const void* in, const void* out, const int* counts, MPI_Datatype type, MPI_Op op, int size) {
    if (counts == nullptr || !is_good(type)) return false;
    int most = 0; // not their sum, which an int may not hold: it matters only whether there are some
    for (int r = 0; r != size; ++r) {
        if (counts[r] < 0) return false;
        most = std::max(most, counts[r]);
    }
    return out != MPI_IN_PLACE && (in == MPI_IN_PLACE || is_good(in, most, type)) && may_combine(op, type);
}
// What a rank gives, and what it gets: blocks, or a block for each rank.
bool is_good_block(const void* in, int count, MPI_Datatype type, bool may_be_in_place) {
    return in == MPI_IN_PLACE ? may_be_in_place : is_good(in, count, type);
}
} // namespace
BOUGH_TAKE(Reduce_scatter, reduce_scatter, (const void* in, void* out, const int* counts, MPI_Datatype type, MPI_Op op),
           (in, out, counts, type, op), is_good_cut(in, out, counts, type, op, of->size))
BOUGH_TAKE(Gather, gather,
           (const void* in, int count, MPI_Datatype type, void* out, int out_count, MPI_Datatype out_type, int root),
           (in, count, type, out, out_count, out_type, root),
           is_root(root, *of) && is_good_block(in, count, type, root == of->rank) &&
               (root != of->rank || (is_good_block(out, out_count, out_type, false))))
BOUGH_TAKE(Gatherv, gatherv,
           (const void* in, int count, MPI_Datatype type, void* out, const int* counts, const int* places,
            MPI_Datatype out_type, int root),
           (in, count, type, out, counts, places, out_type, root),
           is_root(root, *of) && is_good_block(in, count, type, root == of->rank) &&
               (root != of->rank || (out != MPI_IN_PLACE && is_good(out, counts, places, out_type, of->size))))
BOUGH_TAKE(Scatter, scatter,
           (const void* in, int count, MPI_Datatype type, void* out, int out_count, MPI_Datatype out_type, int root),
           (in, count, type, out, out_count, out_type, root),
           is_root(root, *of) && is_good_block(out, out_count, out_type, root == of->rank) &&
               (root != of->rank || (is_good_block(in, count, type, false))))
BOUGH_TAKE(Scatterv, scatterv,
           (const void* in, const int* counts, const int* places, MPI_Datatype type, void* out, int out_count,
            MPI_Datatype out_type, int root),
           (in, counts, places, type, out, out_count, out_type, root),
           is_root(root, *of) && is_good_block(out, out_count, out_type, root == of->rank) &&
               (root != of->rank || (in != MPI_IN_PLACE && is_good(in, counts, places, type, of->size))))
BOUGH_TAKE(Allgather, allgather,
           (const void* in, int count, MPI_Datatype type, void* out, int out_count, MPI_Datatype out_type),
           (in, count, type, out, out_count, out_type),
           is_good_block(in, count, type, true) && is_good_block(out, out_count, out_type, false))
BOUGH_TAKE(Allgatherv, allgatherv,
           (const void* in, int count, MPI_Datatype type, void* out, const int* counts, const int* places,
            MPI_Datatype out_type),
           (in, count, type, out, counts, places, out_type),
           is_good_block(in, count, type, true) && out != MPI_IN_PLACE &&
               is_good(out, counts, places, out_type, of->size))
BOUGH_TAKE(Alltoall, alltoall,
           (const void* in, int count, MPI_Datatype type, void* out, int out_count, MPI_Datatype out_type),
           (in, count, type, out, out_count, out_type),
           is_good_block(in, count, type, true) && is_good_block(out, out_count, out_type, false))
BOUGH_TAKE(Alltoallv, alltoallv,
           (const void* in, const int* counts, const int* places, MPI_Datatype type, void* out, const int* out_counts,
            const int* out_places, MPI_Datatype out_type),
           (in, counts, places, type, out, out_counts, out_places, out_type),
           (in == MPI_IN_PLACE || is_good(in, counts, places, type, of->size)) && out != MPI_IN_PLACE &&
               is_good(out, out_counts, out_places, out_type, of->size))

BOUGH_MPI_FUNCTION MPI_Alltoallw(const void* in, const int* counts, const int* places, const MPI_Datatype* types,
                                 void* out, const int* out_counts, const int* out_places, const MPI_Datatype* out_types,
                                 MPI_Comm comm) {
    if (world::get().reports()) count_passed_on(collective::alltoallw, reason::host_only);
    return BOUGH_NEXT(Alltoallw)(in, counts, places, types, out, out_counts, out_places, out_types, comm);
}
