// SPDX-License-Identifier: BSL-1.0
// mca_coll_bough.so: a collective component of Open MPI 4. It stands above the other components:
// its module saves their functions, takes calls, and passes on the others. mca_coll_bough_nodes.so is the same for
// jobs on several nodes.
#include "calls.hpp"
#include "end_job.hpp"
#include "open_mpi_headers.hpp"
#include "open_mpi_requests.hpp"
#include "route.hpp"
#include <bough/core/version.hpp>

#include <cstddef>
#include <cstdio>
#include <new>

#ifdef BOUGH_UNDER_MPI_NODES
#define BOUGH_COMPONENT mca_coll_bough_nodes_component
#define BOUGH_COMPONENT_NAME "bough_nodes"
#else
#define BOUGH_COMPONENT mca_coll_bough_component
#define BOUGH_COMPONENT_NAME "bough"
#endif

namespace {

using namespace under_mpi;
using coll_module = mca_coll_base_module_t;

class below_group final : public host_group {
public:
    below_group(ompi_communicator_t* comm, const mca_coll_base_comm_coll_t& below) noexcept
        : comm_(comm), below_(below) {}
    bool gather_from_all(const void* mine, int bytes, void* all) override {
        return below_.coll_allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm_,
                                     below_.coll_allgather_module) == MPI_SUCCESS;
    }
    bool find_greatest(std::uint32_t* numbers, int count) override {
        return below_.coll_allreduce(MPI_IN_PLACE, numbers, count, MPI_UINT32_T, MPI_MAX, comm_,
                                     below_.coll_allreduce_module) == MPI_SUCCESS;
    }
    bool start_greatest(std::uint32_t* numbers, int count, MPI_Request& request) override {
        return below_.coll_iallreduce(MPI_IN_PLACE, numbers, count, MPI_UINT32_T, MPI_MAX, comm_, &request,
                                      below_.coll_iallreduce_module) == MPI_SUCCESS;
    }
    std::uint32_t number() const noexcept override { return comm_->c_contextid + 1; }

private:
    ompi_communicator_t* comm_;
    const mca_coll_base_comm_coll_t& below_;
};

// What is C++ in a module. It lies in the module's own memory, so that no rank can fail to make it alone.
struct communicator_state {
    communicator_state(ompi_communicator_t* comm, const mca_coll_base_comm_coll_t& below) noexcept
        : host(comm, below), ours(comm, host) {}
    below_group host;
    group ours;
};
struct bough_module { // OBJ_NEW makes it
    coll_module super;
    mca_coll_base_comm_coll_t below;
    alignas(communicator_state) std::byte memory[sizeof(communicator_state)];
    communicator_state* state; // null until it is enabled
};
bough_module& of(coll_module* module) { return *reinterpret_cast<bough_module*>(module); }

// From 4.1 on Open MPI holds the types and the op of a nonblocking call. Bough holds those of a persistent one.
constexpr bool takes_nonblocking = OMPI_MAJOR_VERSION == 4 && OMPI_MINOR_VERSION >= 1;
int progress_flights() { return flights::get().progress(); }

// --- who makes a call ---

template <class Pass>
struct blocking {
    bough_module& m;
    ompi_communicator_t* comm;
    Pass pass;
    int rank = ompi_comm_rank(comm), size = ompi_comm_size(comm);

    template <class Describe, class Take>
    int make(collective which, const Describe& describe, const Take& take) {
        return route(m.state->ours, comm, which, describe, take, pass);
    }
};
template <class Pass>
struct nonblocking {
    bough_module& m;
    ompi_communicator_t* comm;
    ompi_request_t** request;
    Pass pass;
    int rank = ompi_comm_rank(comm), size = ompi_comm_size(comm);

    template <class Describe, class Take>
    int make(collective which, const Describe& describe, const Take& take) {
        return begin(
            m.state->ours, which, describe, take, pass,
            [&]() -> flight* {
                bough_request* const made = new_request(&m.super, comm);
                return made == nullptr ? nullptr : made->call;
            },
            request);
    }
};
template <class Pass>
blocking<Pass> waits(bough_module& m, ompi_communicator_t* comm, Pass pass) {
    return {m, comm, pass};
}
template <class Pass>
nonblocking<Pass> goes_on(bough_module& m, ompi_communicator_t* comm, ompi_request_t** request, Pass pass) {
    return {m, comm, request, pass};
}

// --- the module's functions ---

int take_barrier(ompi_communicator_t* comm, coll_module* module) {
    bough_module& m = of(module);
    return call_barrier(waits(m, comm, [&m, comm] { return m.below.coll_barrier(comm, m.below.coll_barrier_module); }));
}
int take_ibarrier(ompi_communicator_t* comm, ompi_request_t** request, coll_module* module) {
    bough_module& m = of(module);
    return call_barrier(goes_on(m, comm, request, [&m, comm](ompi_request_t** to) {
        return m.below.coll_ibarrier(comm, to, m.below.coll_ibarrier_module);
    }));
}

int take_barrier_init(ompi_communicator_t* comm, ompi_info_t* info, ompi_request_t** request, coll_module* module) {
    bough_module& m = of(module);
    return initialise(
        module, comm, m.state->ours, collective::barrier, {}, [](restarting by) { call_barrier(by); },
        [=, &m](ompi_request_t** to) {
            return m.below.coll_barrier_init(comm, info, to, m.below.coll_barrier_init_module);
        },
        request);
}

// The forms of a collective, from its parameters and its arguments, and the handles of these that matter on a
// rank; pass_on: the same call by the module below.
#define BOUGH_LIST(...) __VA_ARGS__
#define BOUGH_BLOCKING(name, parameters, arguments)                                                                    \
    int take_##name(BOUGH_LIST parameters, ompi_communicator_t* comm, coll_module* module) {                           \
        bough_module& m = of(module);                                                                                  \
        const auto pass_on = [=, &m] {                                                                                 \
            return m.below.coll_##name(BOUGH_LIST arguments, comm, m.below.coll_##name##_module);                      \
        };                                                                                                             \
        return call_##name(waits(m, comm, pass_on), BOUGH_LIST arguments);                                             \
    }
#define BOUGH_NONBLOCKING(name, parameters, arguments)                                                                 \
    int take_i##name(BOUGH_LIST parameters, ompi_communicator_t* comm, ompi_request_t** request,                       \
                     coll_module* module) {                                                                            \
        bough_module& m = of(module);                                                                                  \
        const auto pass_on = [=, &m](ompi_request_t** to) {                                                            \
            return m.below.coll_i##name(BOUGH_LIST arguments, comm, to, m.below.coll_i##name##_module);                \
        };                                                                                                             \
        return call_##name(goes_on(m, comm, request, pass_on), BOUGH_LIST arguments);                                  \
    }
#define BOUGH_PERSISTENT(name, parameters, arguments, ...)                                                             \
    int take_##name##_init(BOUGH_LIST parameters, ompi_communicator_t* comm, ompi_info_t* info,                        \
                           ompi_request_t** request, coll_module* module) {                                            \
        bough_module& m = of(module);                                                                                  \
        [[maybe_unused]] const int rank = ompi_comm_rank(comm);                                                        \
        const auto pass_on = [=, &m](ompi_request_t** to) {                                                            \
            return m.below.coll_##name##_init(BOUGH_LIST arguments, comm, info, to,                                    \
                                              m.below.coll_##name##_init_module);                                      \
        };                                                                                                             \
        const auto call = [=](restarting by) { call_##name(by, BOUGH_LIST arguments); };                               \
        return initialise(module, comm, m.state->ours, collective::name, {__VA_ARGS__}, call, pass_on, request);       \
    }
#define BOUGH_FORMS(name, parameters, arguments, ...)                                                                  \
    BOUGH_BLOCKING(name, parameters, arguments)                                                                        \
    BOUGH_NONBLOCKING(name, parameters, arguments)                                                                     \
    BOUGH_PERSISTENT(name, parameters, arguments, __VA_ARGS__)

using type_t = ompi_datatype_t*;
using op_t = ompi_op_t*;

BOUGH_FORMS(bcast, (void* data, int count, type_t type, int root), (data, count, type, root), type)
BOUGH_BLOCKING(allreduce, (const void* in, void* out, int count, type_t type, op_t op), (in, out, count, type, op))
BOUGH_PERSISTENT(allreduce, (const void* in, void* out, int count, type_t type, op_t op), (in, out, count, type, op),
                 type, nullptr, op)
BOUGH_FORMS(reduce, (const void* in, void* out, int count, type_t type, op_t op, int root),
            (in, out, count, type, op, root), type, nullptr, op)
BOUGH_FORMS(scan, (const void* in, void* out, int count, type_t type, op_t op), (in, out, count, type, op), type,
            nullptr, op)
BOUGH_FORMS(exscan, (const void* in, void* out, int count, type_t type, op_t op), (in, out, count, type, op), type,
            nullptr, op)
BOUGH_FORMS(reduce_scatter_block, (const void* in, void* out, int count, type_t type, op_t op),
            (in, out, count, type, op), type, nullptr, op)
BOUGH_FORMS(reduce_scatter, (const void* in, void* out, const int* counts, type_t type, op_t op),
            (in, out, counts, type, op), type, nullptr, op)
BOUGH_FORMS(gather, (const void* in, int count, type_t type, void* out, int out_count, type_t out_type, int root),
            (in, count, type, out, out_count, out_type, root), in == MPI_IN_PLACE ? nullptr : type,
            rank == root ? out_type : nullptr)
BOUGH_FORMS(gatherv,
            (const void* in, int count, type_t type, void* out, const int* counts, const int* places, type_t out_type,
             int root),
            (in, count, type, out, counts, places, out_type, root), in == MPI_IN_PLACE ? nullptr : type,
            rank == root ? out_type : nullptr)
BOUGH_FORMS(scatter, (const void* in, int count, type_t type, void* out, int out_count, type_t out_type, int root),
            (in, count, type, out, out_count, out_type, root), rank == root ? type : nullptr,
            out == MPI_IN_PLACE ? nullptr : out_type)
BOUGH_FORMS(scatterv,
            (const void* in, const int* counts, const int* places, type_t type, void* out, int out_count,
             type_t out_type, int root),
            (in, counts, places, type, out, out_count, out_type, root), rank == root ? type : nullptr,
            out == MPI_IN_PLACE ? nullptr : out_type)
BOUGH_FORMS(allgather, (const void* in, int count, type_t type, void* out, int out_count, type_t out_type),
            (in, count, type, out, out_count, out_type), in == MPI_IN_PLACE ? nullptr : type, out_type)
BOUGH_FORMS(allgatherv,
            (const void* in, int count, type_t type, void* out, const int* counts, const int* places, type_t out_type),
            (in, count, type, out, counts, places, out_type), in == MPI_IN_PLACE ? nullptr : type, out_type)
BOUGH_FORMS(alltoall, (const void* in, int count, type_t type, void* out, int out_count, type_t out_type),
            (in, count, type, out, out_count, out_type), in == MPI_IN_PLACE ? nullptr : type, out_type)
BOUGH_FORMS(alltoallv,
            (const void* in, const int* counts, const int* places, type_t type, void* out, const int* out_counts,
             const int* out_places, type_t out_type),
            (in, counts, places, type, out, out_counts, out_places, out_type), in == MPI_IN_PLACE ? nullptr : type,
            out_type)

void note_passed_on(ompi_communicator_t* comm, collective which, reason why, form how) {
    if (world::get().is() == setting::report)
        count_passed_on(which, OMPI_COMM_IS_INTER(comm) ? reason::inter : why, how);
}

// Copies of communicators that are under way agree on their numbers by calls like these, which
// their ranks make in different orders.
bool may_be_of_open_mpi(int count, type_t type, op_t op) noexcept {
    return count <= 2 && type == MPI_INT && (op == MPI_MAX || op == MPI_MIN);
}
int take_iallreduce(const void* in, void* out, int count, type_t type, op_t op, ompi_communicator_t* comm,
                    ompi_request_t** request, coll_module* module) {
    bough_module& m = of(module);
    const auto pass_on = [=, &m](ompi_request_t** to) {
        return m.below.coll_iallreduce(in, out, count, type, op, comm, to, m.below.coll_iallreduce_module);
    };
    if (!may_be_of_open_mpi(count, type, op))
        return call_allreduce(goes_on(m, comm, request, pass_on), in, out, count, type, op);
    note_passed_on(comm, collective::allreduce, reason::of_host, form::nonblocking);
    return pass_on(request);
}

// --- those that are passed on ---

int pass_alltoallw(const void* in, const int* counts, const int* places, type_t const* types, void* out,
                   const int* out_counts, const int* out_places, type_t const* out_types, ompi_communicator_t* comm,
                   coll_module* module) {
    bough_module& m = of(module);
    note_passed_on(comm, collective::alltoallw, reason::host_only, form::blocking);
    return m.below.coll_alltoallw(in, counts, places, types, out, out_counts, out_places, out_types, comm,
                                  m.below.coll_alltoallw_module);
}
int pass_alltoallw_init(const void* in, const int* counts, const int* places, type_t const* types, void* out,
                        const int* out_counts, const int* out_places, type_t const* out_types,
                        ompi_communicator_t* comm, ompi_info_t* info, ompi_request_t** request, coll_module* module) {
    bough_module& m = of(module);
    note_passed_on(comm, collective::alltoallw, reason::host_only, form::persistent);
    return m.below.coll_alltoallw_init(in, counts, places, types, out, out_counts, out_places, out_types, comm, info,
                                       request, m.below.coll_alltoallw_init_module);
}
int pass_ialltoallw(const void* in, const int* counts, const int* places, type_t const* types, void* out,
                    const int* out_counts, const int* out_places, type_t const* out_types, ompi_communicator_t* comm,
                    ompi_request_t** request, coll_module* module) {
    bough_module& m = of(module);
    note_passed_on(comm, collective::alltoallw, reason::host_only, form::nonblocking);
    return m.below.coll_ialltoallw(in, counts, places, types, out, out_counts, out_places, out_types, comm, request,
                                   m.below.coll_ialltoallw_module);
}

// The functions that this module has; some are not for intercommunicators.
#define BOUGH_EACH_BLOCKING(do_it)                                                                                     \
    do_it(allgather) do_it(allgatherv) do_it(allreduce) do_it(alltoall) do_it(alltoallv) do_it(barrier) do_it(bcast)   \
        do_it(gather) do_it(gatherv) do_it(reduce) do_it(reduce_scatter) do_it(reduce_scatter_block) do_it(scatter)    \
            do_it(scatterv)
#define BOUGH_EACH_NONBLOCKING(do_it)                                                                                  \
    do_it(iallgather) do_it(iallgatherv) do_it(iallreduce) do_it(ialltoall) do_it(ialltoallv) do_it(ibarrier)          \
        do_it(ibcast) do_it(igather) do_it(igatherv) do_it(ireduce) do_it(ireduce_scatter)                             \
            do_it(ireduce_scatter_block) do_it(iscatter) do_it(iscatterv)
#define BOUGH_EACH_PERSISTENT(do_it)                                                                                   \
    do_it(allgather_init) do_it(allgatherv_init) do_it(allreduce_init) do_it(alltoall_init) do_it(alltoallv_init)      \
        do_it(barrier_init) do_it(bcast_init) do_it(gather_init) do_it(gatherv_init) do_it(reduce_init)                \
            do_it(reduce_scatter_init) do_it(reduce_scatter_block_init) do_it(scatter_init) do_it(scatterv_init)
#define BOUGH_EACH_PASSED(do_it) do_it(alltoallw) do_it(ialltoallw) do_it(alltoallw_init)
#define BOUGH_EACH_OF_ONE_GROUP(do_it) do_it(exscan) do_it(scan)
#define BOUGH_EACH_NONBLOCKING_OF_ONE_GROUP(do_it) do_it(iexscan) do_it(iscan)
#define BOUGH_EACH_PERSISTENT_OF_ONE_GROUP(do_it) do_it(exscan_init) do_it(scan_init)
#define BOUGH_EACH_BELOW(do_it)                                                                                        \
    BOUGH_EACH_BLOCKING(do_it)                                                                                         \
    BOUGH_EACH_NONBLOCKING(do_it)                                                                                      \
    BOUGH_EACH_PERSISTENT(do_it)                                                                                       \
    BOUGH_EACH_PASSED(do_it)                                                                                           \
    BOUGH_EACH_OF_ONE_GROUP(do_it) BOUGH_EACH_NONBLOCKING_OF_ONE_GROUP(do_it) BOUGH_EACH_PERSISTENT_OF_ONE_GROUP(do_it)

int enable(coll_module* module, ompi_communicator_t* comm) {
    bough_module& m = of(module);
    m.below = *comm->c_coll;
#define BOUGH_RETAIN(name)                                                                                             \
    if (m.below.coll_##name##_module != nullptr) OBJ_RETAIN(m.below.coll_##name##_module);
    BOUGH_EACH_BELOW(BOUGH_RETAIN)
    m.state = new (m.memory) communicator_state(comm, m.below);
    if (OMPI_COMM_IS_INTER(comm)) m.state->ours.never(reason::inter);
    if (comm == &ompi_mpi_comm_world.comm) {
        world::get().start(m.state->host, static_cast<bough::rank_t>(ompi_comm_rank(comm)),
                           static_cast<bough::rank_t>(ompi_comm_size(comm)), thread_mutex::is_needed);
        if (world::get().has_started()) opal_progress_register(progress_flights);
    }
    return OMPI_SUCCESS;
}

void construct(bough_module* m) {
    m->below = {};
    m->state = nullptr;
}
void destruct(bough_module* m) {
    if (m->state != nullptr) m->state->~communicator_state();
#define BOUGH_RELEASE(name)                                                                                            \
    if (m->below.coll_##name##_module != nullptr) OBJ_RELEASE(m->below.coll_##name##_module);
    BOUGH_EACH_BELOW(BOUGH_RELEASE)
}
OBJ_CLASS_INSTANCE(bough_module, mca_coll_base_module_t, construct, destruct);

int init_query(bool, bool has_threads) {
    // Memory of MPI's objects is laid out as in the headers with which this was compiled.
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0, major = 0, minor = 0, release = 0;
    PMPI_Get_library_version(text, &length);
    if (std::sscanf(text, "Open MPI v%d.%d.%d", &major, &minor, &release) < 2 || major != OMPI_MAJOR_VERSION ||
        minor != OMPI_MINOR_VERSION) {
        if (!is_for_nodes) // one library says it
            std::fprintf(stderr, "bough: was built for Open MPI %d.%d and this is %d.%d; it is not used\n",
                         OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, major, minor);
        return OMPI_ERR_NOT_AVAILABLE;
    }
    thread_mutex::is_needed = has_threads;
    return OMPI_SUCCESS;
}

coll_module* comm_query(ompi_communicator_t* comm, int* priority) {
    *priority = -1;
    const world& all = world::get();
    const bool is_world = comm == &ompi_mpi_comm_world.comm;
    const bool reports = all.reports();
    // BOUGH_MPI=off on this rank alone must be found by all, so world::start() decides.
    if (!is_world && !all.has_started() && !reports) return nullptr;
    if (OMPI_COMM_IS_INTER(comm) ? !reports : ompi_comm_size(comm) == 1) return nullptr;
    bough_module* const m = OBJ_NEW(bough_module);
    if (m == nullptr) { // the other ranks have one
        std::fputs("bough: no memory is left for a communicator\n", stderr);
        end_job(MPI_COMM_WORLD);
        return nullptr;
    }
    *priority = is_for_nodes ? 94 : 95; // above all that Open MPI has itself
    coll_module& f = m->super;
    f.coll_module_enable = enable;
#define BOUGH_TAKE(name) f.coll_##name = take_##name;
#define BOUGH_PASS(name) f.coll_##name = pass_##name;
    const bool has_one_group = !OMPI_COMM_IS_INTER(comm);
    BOUGH_EACH_BLOCKING(BOUGH_TAKE)
    BOUGH_EACH_PASSED(BOUGH_PASS)
    if (has_one_group) {
        BOUGH_EACH_OF_ONE_GROUP(BOUGH_TAKE)
    }
    if (takes_nonblocking) {
        BOUGH_EACH_NONBLOCKING(BOUGH_TAKE)
        BOUGH_EACH_PERSISTENT(BOUGH_TAKE)
    }
    if (takes_nonblocking && has_one_group) {
        BOUGH_EACH_NONBLOCKING_OF_ONE_GROUP(BOUGH_TAKE)
        BOUGH_EACH_PERSISTENT_OF_ONE_GROUP(BOUGH_TAKE)
    }
    return &f;
}

int close_component() {
    world& all = world::get();
    opal_progress_unregister(progress_flights);
    if (all.reports() && all.rank() == 0) print_report();
    all.stop();
    return OMPI_SUCCESS;
}

constexpr mca_base_component_t component_head = {MCA_COLL_BASE_VERSION_2_0_0,
                                                 .mca_component_name = BOUGH_COMPONENT_NAME,
                                                 .mca_component_major_version = BOUGH_VERSION_MAJOR,
                                                 .mca_component_minor_version = BOUGH_VERSION_MINOR,
                                                 .mca_component_release_version = BOUGH_VERSION_PATCH,
                                                 .mca_open_component = nullptr,
                                                 .mca_close_component = close_component,
                                                 .mca_query_component = nullptr,
                                                 .mca_register_component_params = nullptr,
                                                 .mca_component_flags = 0,
                                                 .reserved = {}};

} // namespace

namespace under_mpi {

shape shape_of(MPI_Datatype type) {
    const opal_datatype_t& t = type->super;
    // This flag says that elements of the type map follow each other in memory.
    return {.size = t.size,
            .extent = t.ub - t.lb,
            .true_lb = t.true_lb,
            .true_extent = t.true_ub - t.true_lb,
            .is_solid = (t.flags & OPAL_DATATYPE_FLAG_CONTIGUOUS) != 0 &&
                        static_cast<std::ptrdiff_t>(t.size) == t.true_ub - t.true_lb};
}
// MPI_Reduce_local without its checks of the arguments, which cost more than to combine a few numbers.
void combine_by_host(MPI_Op op, MPI_Datatype type, const void* in, void* inout, int count) {
    const mca_coll_base_comm_coll_t& self = *ompi_mpi_comm_self.comm.c_coll;
    self.coll_reduce_local(in, inout, count, type, op, self.coll_reduce_local_module);
}
void progress_host() { opal_progress(); }

} // namespace under_mpi

extern "C" [[gnu::visibility("default")]] mca_coll_base_component_t BOUGH_COMPONENT;
mca_coll_base_component_t BOUGH_COMPONENT = {.collm_version = component_head,
                                             .collm_data = {MCA_BASE_METADATA_PARAM_CHECKPOINT, {}},
                                             .collm_init_query = init_query,
                                             .collm_comm_query = comm_query};
