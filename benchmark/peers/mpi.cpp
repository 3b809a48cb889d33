// SPDX-License-Identifier: BSL-1.0
// An MPI in the comparison, under its own launcher.
#include "../arguments.hpp"
#include "measured.hpp"

#include <mpi.h>

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

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    group_of_mpi group;
    const arguments::list given(argc, argv, 0, "mpirun ... mpi");
    peers::pin(group.rank(), group.size());
    peers::measure(group);
    MPI_Finalize();
}
