// SPDX-License-Identifier: BSL-1.0
// What an MPI does when something goes wrong, under its own launcher.  mpi op|length|root|death|stop|late|nan|flood
#include "../arguments.hpp"
#include "told.hpp"

#include <csignal>
#include <mpi.h>

namespace {

int rank_in(MPI_Comm comm) {
    int r = 0;
    MPI_Comm_rank(comm, &r);
    return r;
}

// The communicator of ranks `first` and `first + 1`; MPI_COMM_NULL elsewhere.
MPI_Comm pair(int first) {
    const int me = rank_in(MPI_COMM_WORLD);
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, me == first || me == first + 1 ? 1 : MPI_UNDEFINED, me, &made);
    return made;
}

std::string text_of(int code) {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    return {text, static_cast<std::size_t>(length)};
}

void flood() {
    const int me = rank_in(MPI_COMM_WORLD);
    const MPI_Comm calls = pair(0), waits = pair(1);
    MPI_Barrier(MPI_COMM_WORLD);
    const double before = failures::most_mib();
    const failures::told told(static_cast<unsigned>(me));
    if (me == 2) std::this_thread::sleep_for(failures::late);
    if (waits != MPI_COMM_NULL) MPI_Barrier(waits);
    std::vector<char> bytes(failures::flood_bytes);
    if (calls != MPI_COMM_NULL)
        for (int i = 0; i != failures::flood_calls; ++i)
            MPI_Bcast(bytes.data(), failures::flood_bytes, MPI_CHAR, 0, calls);
    if (me != 2) told.say("success, and %.0f MiB more memory", failures::most_mib() - before);
    MPI_Barrier(MPI_COMM_WORLD);
}

void max_with_nan() {
    const int me = rank_in(MPI_COMM_WORLD);
    std::string all;
    for (const int where : {-1, 0, 1, 2}) {
        const double x = me == where ? failures::not_a_number : me + 1.0;
        double most = 0;
        MPI_Allreduce(&x, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        all += " " + std::to_string(most).substr(0, 3);
    }
    failures::told(static_cast<unsigned>(me)).say("success,%s", all.c_str());
}

void run(std::string_view what, const failures::told& joining) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (what == "flood") return flood();
    if (what == "nan") return max_with_nan();
    const int me = rank_in(MPI_COMM_WORLD);
    const failures::told told = what == "late" ? joining : failures::told(static_cast<unsigned>(me));
    const bool wrong = me == 1;
    const double x[2]{me + 1.0, 0};
    double sum[2]{};
    if (what == "death" && wrong) std::raise(SIGKILL);
    if (what == "stop" && wrong) std::raise(SIGSTOP);
    int code = 0;
    if (what == "root")
        code = MPI_Reduce(x, sum, 1, MPI_DOUBLE, MPI_SUM, wrong ? 1 : 0, MPI_COMM_WORLD);
    else
        code = MPI_Allreduce(x, sum, what == "length" && wrong ? 2 : 1, MPI_DOUBLE,
                             what == "op" && wrong ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
    if (code != MPI_SUCCESS) return told.say("an error: %s", text_of(code).c_str());
    told.say("success, %g", sum[0]);
    code = MPI_Barrier(MPI_COMM_WORLD);
    if (code != MPI_SUCCESS) told.say("in the next call, an error: %s", text_of(code).c_str());
}

} // namespace

int main(int argc, char** argv) {
    const char* const usage = "mpirun ... mpi op|length|root|death|stop|late|nan|flood";
    const arguments::list given(argc, argv, 2, usage);
    const std::string_view what =
        given.word(1, "what goes wrong", {"op", "length", "root", "death", "stop", "late", "nan", "flood"});
    if (what.empty()) given.refuse(argc, "is missing");
    const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
    if (rank == nullptr) rank = std::getenv("PMI_RANK");
    if (rank == nullptr) given.refuse(argc, "is not run by an mpirun that says the rank before MPI_Init");
    if (what == "late" && std::string_view(rank) == "1") std::this_thread::sleep_for(failures::late);
    const failures::told joining(static_cast<unsigned>(std::atoi(rank)));
    MPI_Init(&argc, &argv);
    run(what, joining);
    MPI_Finalize();
}
