// SPDX-License-Identifier: BSL-1.0
// An MPI in the comparison, under its own launcher.  mpi  |  mpi communicators
#include "../arguments.hpp"
#include "measured.hpp"

#include <cstdio>
#include <mpi.h>
#include <vector>

namespace {

class group_of_mpi {
public:
    group_of_mpi() {
        int r = 0, n = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &r);
        MPI_Comm_size(MPI_COMM_WORLD, &n);
        rank_ = static_cast<unsigned>(r), size_ = static_cast<unsigned>(n);
    }
    unsigned rank() const { return rank_; }
    unsigned size() const { return size_; }
    void allreduce(const std::vector<double>& in, std::vector<double>& out) {
        MPI_Allreduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    using values = std::vector<double>;
    void reduce(const values& in, values& out) {
        MPI_Reduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    }
    void broadcast(values& x) { MPI_Bcast(x.data(), static_cast<int>(x.size()), MPI_DOUBLE, 0, MPI_COMM_WORLD); }
    void allgather(const values& in, values& out) {
        const int n = static_cast<int>(in.size());
        MPI_Allgather(in.data(), n, MPI_DOUBLE, out.data(), n, MPI_DOUBLE, MPI_COMM_WORLD);
    }
    void reduce_scatter(const values& in, values& out) {
        MPI_Reduce_scatter_block(in.data(), out.data(), static_cast<int>(out.size()), MPI_DOUBLE, MPI_SUM,
                                 MPI_COMM_WORLD);
    }
    void scan(const values& in, values& out) {
        MPI_Scan(in.data(), out.data(), static_cast<int>(in.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    void alltoall(const values& in, values& out) {
        const int n = static_cast<int>(in.size() / size_);
        MPI_Alltoall(in.data(), n, MPI_DOUBLE, out.data(), n, MPI_DOUBLE, MPI_COMM_WORLD);
    }
    void gather(const values& in, values& out) {
        const int n = static_cast<int>(in.size());
        MPI_Gather(in.data(), n, MPI_DOUBLE, out.data(), n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    void scatter(const values& in, values& out) {
        const int n = static_cast<int>(out.size());
        MPI_Scatter(in.data(), n, MPI_DOUBLE, out.data(), n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    void exscan(const values& in, values& out) {
        MPI_Exscan(in.data(), out.data(), static_cast<int>(in.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    struct located { // MPI_DOUBLE_INT
        double value = 0;
        int location = 0;
    };
    void locate(const std::vector<located>& in, std::vector<located>& out) {
        MPI_Allreduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
    }
    void barrier() { MPI_Barrier(MPI_COMM_WORLD); }
    void broadcast_from_0(int& x) { MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD); }

private:
    unsigned rank_ = 0, size_ = 0;
};

// What a communicator costs: us for making it with its first allreduce, and bytes of memory of rank 0, shared pages
// divided among those that share them.
double memory_of_this_process() {
    double kilobytes = 0;
    if (std::FILE* const file = std::fopen("/proc/self/smaps_rollup", "r")) {
        char line[256];
        while (std::fgets(line, sizeof line, file) != nullptr)
            if (std::sscanf(line, "Pss: %lf kB", &kilobytes) == 1) break;
        std::fclose(file);
    }
    return 1024 * kilobytes;
}
void measure_communicators(const group_of_mpi& group) {
    constexpr int count = 200;
    std::vector<MPI_Comm> made(count, MPI_COMM_NULL);
    std::vector<double> us;
    const auto first_call = [](MPI_Comm comm) {
        double x = 1, sum = 0;
        MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    };
    first_call(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    const double before = memory_of_this_process();
    for (MPI_Comm& one : made) {
        const double begin = MPI_Wtime();
        MPI_Comm_dup(MPI_COMM_WORLD, &one);
        first_call(one);
        us.push_back(1e6 * (MPI_Wtime() - begin));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double bytes = (memory_of_this_process() - before) / count;
    for (MPI_Comm& one : made) MPI_Comm_free(&one);
    if (group.rank() == 0) std::printf("communicator_us 0 %.4f\ncommunicator_bytes 0 %.0f\n", peers::median(us), bytes);
}

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    group_of_mpi group;
    const arguments::list given(argc, argv, 1, "mpirun ... mpi [communicators]");
    if (!given.word(1, "the first word", {"communicators"}).empty()) {
        measure_communicators(group);
    } else {
        peers::pin(group.rank(), group.size());
        peers::measure(group);
    }
    MPI_Finalize();
}
