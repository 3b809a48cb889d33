// SPDX-License-Identifier: BSL-1.0
// mca_coll_bough.so: a collective component of Open MPI 4. It stands above the other components:
// its module saves their functions, takes calls, and passes on the others.
#include "open_mpi_headers.hpp"
#include "route.hpp"
#include <bough/core/version.hpp>

#include <cstdio>
#include <new>

namespace {

using namespace under_mpi;
using coll_module = mca_coll_base_module_t;

class below_group final : public host_group {
public:
    below_group(ompi_communicator_t* comm, const mca_coll_base_comm_coll_t& below) : comm_(comm), below_(below) {}
    bool gather_from_all(const void* mine, int bytes, void* all) override {
        return below_.coll_allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm_,
                                     below_.coll_allgather_module) == MPI_SUCCESS;
    }
    bool find_greatest(std::uint32_t* numbers, int count) override {
        return below_.coll_allreduce(MPI_IN_PLACE, numbers, count, MPI_UINT32_T, MPI_MAX, comm_,
                                     below_.coll_allreduce_module) == MPI_SUCCESS;
    }

private:
    ompi_communicator_t* comm_;
    const mca_coll_base_comm_coll_t& below_;
};

// OBJ_NEW makes it; so what is C++ in it is behind a pointer.
struct bough_module {
    coll_module super;
    mca_coll_base_comm_coll_t below;
    group* ours;
};
bough_module& of(coll_module* module) { return *reinterpret_cast<bough_module*>(module); }

template <class Describe, class Take, class Pass>
int run(bough_module& m, ompi_communicator_t* comm, collective which, const Describe& describe, const Take& take,
        const Pass& pass) {
    below_group host(comm, m.below);
    return route(*m.ours, host, comm, which, describe, take, pass);
}

// pass_on(m, coll_x, arguments...): the same call, by the module below.
#define BOUGH_PASS_ON(name, ...) m.below.coll_##name(__VA_ARGS__, comm, m.below.coll_##name##_module)

int take_barrier(ompi_communicator_t* comm, coll_module* module) {
    bough_module& m = of(module);
    return run(
        m, comm, collective::barrier, [] { return outcome{}; }, run_barrier,
        [&] { return m.below.coll_barrier(comm, m.below.coll_barrier_module); });
}
int take_bcast(void* data, int count, ompi_datatype_t* type, int root, ompi_communicator_t* comm, coll_module* module) {
    bough_module& m = of(module);
    return run(
        m, comm, collective::bcast, [&] { return gives(row(data, count, type), ompi_comm_rank(comm) != root); },
        [&](const place& at) { return run_bcast(at, data, count, type, root); },
        [&] { return BOUGH_PASS_ON(bcast, data, count, type, root); });
}
int take_allreduce(const void* in, void* out, int count, ompi_datatype_t* type, ompi_op_t* op,
                   ompi_communicator_t* comm, coll_module* module) {
    bough_module& m = of(module);
    return run(
        m, comm, collective::allreduce, [&] { return gives(row(out, count, type), true, op); },
        [&](const place& at) { return run_allreduce(at, in, out, count, type, op); },
        [&] { return BOUGH_PASS_ON(allreduce, in, out, count, type, op); });
}
int take_reduce(const void* in, void* out, int count, ompi_datatype_t* type, ompi_op_t* op, int root,
                ompi_communicator_t* comm, coll_module* module) {
    bough_module& m = of(module);
    return run(
        m, comm, collective::reduce, [&] { return gives(row(out, count, type), ompi_comm_rank(comm) == root, op); },
        [&](const place& at) { return run_reduce(at, in, out, count, type, op, root); },
        [&] { return BOUGH_PASS_ON(reduce, in, out, count, type, op, root); });
}
int take_scan(const void* in, void* out, int count, ompi_datatype_t* type, ompi_op_t* op, ompi_communicator_t* comm,
              coll_module* module) {
    bough_module& m = of(module);
    return run(
        m, comm, collective::scan, [&] { return gives(row(out, count, type), true, op); },
        [&](const place& at) { return run_scan(at, in, out, count, type, op); },
        [&] { return BOUGH_PASS_ON(scan, in, out, count, type, op); });
}
int take_exscan(const void* in, void* out, int count, ompi_datatype_t* type, ompi_op_t* op, ompi_communicator_t* comm,
                coll_module* module) {
    bough_module& m = of(module);
    return run(
        m, comm, collective::exscan, [&] { return gives(row(out, count, type), ompi_comm_rank(comm) != 0, op); },
        [&](const place& at) { return run_exscan(at, in, out, count, type, op); },
        [&] { return BOUGH_PASS_ON(exscan, in, out, count, type, op); });
}
int take_reduce_scatter_block(const void* in, void* out, int count, ompi_datatype_t* type, ompi_op_t* op,
                              ompi_communicator_t* comm, coll_module* module) {
    bough_module& m = of(module);
    return run(
        m, comm, collective::reduce_scatter_block,
        [&] {
            return cuts(row(out, count, type), row(out, count * ompi_comm_size(comm), type), in == MPI_IN_PLACE, op);
        },
        [&](const place& at) { return run_reduce_scatter_block(at, in, out, count, type, op); },
        [&] { return BOUGH_PASS_ON(reduce_scatter_block, in, out, count, type, op); });
}
int take_reduce_scatter(const void* in, void* out, const int* counts, ompi_datatype_t* type, ompi_op_t* op,
                        ompi_communicator_t* comm, coll_module* module) {
    bough_module& m = of(module);
    const auto describe = [&] {
        int all = 0;
        for (int r = 0; r != ompi_comm_size(comm); ++r) all += counts[r];
        return cuts(row(out, counts[ompi_comm_rank(comm)], type), row(out, all, type), in == MPI_IN_PLACE, op);
    };
    return run(
        m, comm, collective::reduce_scatter, describe,
        [&](const place& at) { return run_reduce_scatter(at, in, out, counts, type, op); },
        [&] { return BOUGH_PASS_ON(reduce_scatter, in, out, counts, type, op); });
}
int take_gather(const void* in, int count, ompi_datatype_t* type, void* out, int out_count, ompi_datatype_t* out_type,
                int root, ompi_communicator_t* comm, coll_module* module) {
    bough_module& m = of(module);
    const blocks from = row(in, count, type), to = row(out, out_count, out_type);
    const bool is_root = ompi_comm_rank(comm) == root;
    return run(
        m, comm, collective::gather,
        [&] { return is_root ? moves(from, row(out, out_count * ompi_comm_size(comm), out_type)) : moves(from, {}); },
        [&](const place& at) { return run_gather(at, from, to, root); },
        [&] { return BOUGH_PASS_ON(gather, in, count, type, out, out_count, out_type, root); });
}
int take_gatherv(const void* in, int count, ompi_datatype_t* type, void* out, const int* counts,
                 const int* displacements, ompi_datatype_t* out_type, int root, ompi_communicator_t* comm,
                 coll_module* module) {
    bough_module& m = of(module);
    const bool is_root = ompi_comm_rank(comm) == root;
    const blocks from = row(in, count, type);
    const blocks to = is_root ? row(out, counts, displacements, out_type, ompi_comm_size(comm)) : blocks{};
    return run(
        m, comm, collective::gatherv, [&] { return moves(from, to); },
        [&](const place& at) { return run_gatherv(at, from, to, root); },
        [&] { return BOUGH_PASS_ON(gatherv, in, count, type, out, counts, displacements, out_type, root); });
}
int take_scatter(const void* in, int count, ompi_datatype_t* type, void* out, int out_count, ompi_datatype_t* out_type,
                 int root, ompi_communicator_t* comm, coll_module* module) {
    bough_module& m = of(module);
    const bool is_root = ompi_comm_rank(comm) == root;
    const blocks from = is_root ? row(in, count, type) : blocks{}, to = row(out, out_count, out_type);
    return run(
        m, comm, collective::scatter, [&] { return moves(from, to, out != MPI_IN_PLACE); },
        [&](const place& at) { return run_scatter(at, from, to, root); },
        [&] { return BOUGH_PASS_ON(scatter, in, count, type, out, out_count, out_type, root); });
}
int take_scatterv(const void* in, const int* counts, const int* displacements, ompi_datatype_t* type, void* out,
                  int out_count, ompi_datatype_t* out_type, int root, ompi_communicator_t* comm, coll_module* module) {
    bough_module& m = of(module);
    const bool is_root = ompi_comm_rank(comm) == root;
    const blocks from = is_root ? row(in, counts, displacements, type, ompi_comm_size(comm)) : blocks{};
    const blocks to = row(out, out_count, out_type);
    return run(
        m, comm, collective::scatterv, [&] { return moves(from, to, out != MPI_IN_PLACE); },
        [&](const place& at) { return run_scatterv(at, from, to, root); },
        [&] { return BOUGH_PASS_ON(scatterv, in, counts, displacements, type, out, out_count, out_type, root); });
}
int take_allgather(const void* in, int count, ompi_datatype_t* type, void* out, int out_count,
                   ompi_datatype_t* out_type, ompi_communicator_t* comm, coll_module* module) {
    bough_module& m = of(module);
    const blocks from = row(in, count, type), to = row(out, out_count, out_type);
    return run(
        m, comm, collective::allgather,
        [&] { return moves(from, row(out, out_count * ompi_comm_size(comm), out_type)); },
        [&](const place& at) { return run_allgather(at, from, to); },
        [&] { return BOUGH_PASS_ON(allgather, in, count, type, out, out_count, out_type); });
}
int take_allgatherv(const void* in, int count, ompi_datatype_t* type, void* out, const int* counts,
                    const int* displacements, ompi_datatype_t* out_type, ompi_communicator_t* comm,
                    coll_module* module) {
    bough_module& m = of(module);
    const blocks from = row(in, count, type);
    const blocks to = row(out, counts, displacements, out_type, ompi_comm_size(comm));
    return run(
        m, comm, collective::allgatherv, [&] { return moves(from, to); },
        [&](const place& at) { return run_allgatherv(at, from, to); },
        [&] { return BOUGH_PASS_ON(allgatherv, in, count, type, out, counts, displacements, out_type); });
}
int take_alltoall(const void* in, int count, ompi_datatype_t* type, void* out, int out_count, ompi_datatype_t* out_type,
                  ompi_communicator_t* comm, coll_module* module) {
    bough_module& m = of(module);
    const blocks from = row(in, count, type), to = row(out, out_count, out_type);
    return run(
        m, comm, collective::alltoall,
        [&] { return moves(from, row(out, out_count * ompi_comm_size(comm), out_type)); },
        [&](const place& at) { return run_alltoall(at, from, to); },
        [&] { return BOUGH_PASS_ON(alltoall, in, count, type, out, out_count, out_type); });
}
int take_alltoallv(const void* in, const int* counts, const int* displacements, ompi_datatype_t* type, void* out,
                   const int* out_counts, const int* out_displacements, ompi_datatype_t* out_type,
                   ompi_communicator_t* comm, coll_module* module) {
    bough_module& m = of(module);
    const blocks from = row(in, counts, displacements, type, ompi_comm_size(comm));
    const blocks to = row(out, out_counts, out_displacements, out_type, ompi_comm_size(comm));
    return run(
        m, comm, collective::alltoallv, [&] { return moves(from, to); },
        [&](const place& at) { return run_alltoallv(at, from, to); },
        [&] {
            return BOUGH_PASS_ON(alltoallv, in, counts, displacements, type, out, out_counts, out_displacements,
                                 out_type);
        });
}
int pass_alltoallw(const void* in, const int* counts, const int* displacements, ompi_datatype_t* const* types,
                   void* out, const int* out_counts, const int* out_displacements, ompi_datatype_t* const* out_types,
                   ompi_communicator_t* comm, coll_module* module) {
    bough_module& m = of(module);
    if (world::get().is() == setting::report)
        count_passed_on(collective::alltoallw, OMPI_COMM_IS_INTER(comm) ? reason::inter : reason::host_only);
    return BOUGH_PASS_ON(alltoallw, in, counts, displacements, types, out, out_counts, out_displacements, out_types);
}

// The functions of the modules below that this one calls.
#define BOUGH_EACH_BELOW(do_it)                                                                                        \
    do_it(allgather) do_it(allgatherv) do_it(allreduce) do_it(alltoall) do_it(alltoallv) do_it(alltoallw)              \
        do_it(barrier) do_it(bcast) do_it(exscan) do_it(gather) do_it(gatherv) do_it(reduce) do_it(reduce_scatter)     \
            do_it(reduce_scatter_block) do_it(scan) do_it(scatter) do_it(scatterv)

int enable(coll_module* module, ompi_communicator_t* comm) {
    bough_module& m = of(module);
    m.below = *comm->c_coll;
#define BOUGH_RETAIN(name)                                                                                             \
    if (m.below.coll_##name##_module != nullptr) OBJ_RETAIN(m.below.coll_##name##_module);
    BOUGH_EACH_BELOW(BOUGH_RETAIN)
    m.ours = new (std::nothrow) group;
    if (m.ours == nullptr) return OMPI_ERR_OUT_OF_RESOURCE;
    if (OMPI_COMM_IS_INTER(comm)) m.ours->never(reason::inter);
    if (comm == &ompi_mpi_comm_world.comm) {
        below_group host(comm, m.below);
        world::get().start(host, static_cast<bough::rank_t>(ompi_comm_rank(comm)),
                           static_cast<bough::rank_t>(ompi_comm_size(comm)), thread_mutex::is_needed);
    }
    return OMPI_SUCCESS;
}

void construct(bough_module* m) {
    m->below = {};
    m->ours = nullptr;
}
void destruct(bough_module* m) {
    delete m->ours;
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
    const bool reports = read_setting() == setting::report;
    if (is_world ? read_setting() == setting::off : !all.has_started() && !reports) return nullptr;
    if (OMPI_COMM_IS_INTER(comm) ? !reports : ompi_comm_size(comm) == 1) return nullptr;
    bough_module* const m = OBJ_NEW(bough_module);
    if (m == nullptr) return nullptr;
    *priority = 95; // above all that Open MPI has itself
    coll_module& f = m->super;
    f.coll_module_enable = enable;
    f.coll_allgather = take_allgather;
    f.coll_allgatherv = take_allgatherv;
    f.coll_allreduce = take_allreduce;
    f.coll_alltoall = take_alltoall;
    f.coll_alltoallv = take_alltoallv;
    f.coll_alltoallw = pass_alltoallw;
    f.coll_barrier = take_barrier;
    f.coll_bcast = take_bcast;
    f.coll_gather = take_gather;
    f.coll_gatherv = take_gatherv;
    f.coll_reduce = take_reduce;
    f.coll_reduce_scatter = take_reduce_scatter;
    f.coll_reduce_scatter_block = take_reduce_scatter_block;
    f.coll_scatter = take_scatter;
    f.coll_scatterv = take_scatterv;
    if (!OMPI_COMM_IS_INTER(comm)) {
        f.coll_exscan = take_exscan;
        f.coll_scan = take_scan;
    }
    return &f;
}

int close_component() {
    world& all = world::get();
    if (read_setting() == setting::report && all.rank() == 0) print_report();
    all.stop();
    return OMPI_SUCCESS;
}

constexpr mca_base_component_t component_head = {MCA_COLL_BASE_VERSION_2_0_0,
                                                 .mca_component_name = "bough",
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
void progress_host() { opal_progress(); }

} // namespace under_mpi

extern "C" [[gnu::visibility("default")]] mca_coll_base_component_t mca_coll_bough_component;
mca_coll_base_component_t mca_coll_bough_component = {.collm_version = component_head,
                                                      .collm_data = {MCA_BASE_METADATA_PARAM_CHECKPOINT, {}},
                                                      .collm_init_query = init_query,
                                                      .collm_comm_query = comm_query};
