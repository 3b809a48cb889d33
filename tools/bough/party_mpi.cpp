// SPDX-License-Identifier: BSL-1.0
// bough run over mpi: the ranks of mpirun.
#include "party.hpp"

#include "parse.hpp"

#ifdef BOUGH_TOOL_HAS_MPI
#include "party_of.hpp"
#include <bough/transport/mpi.hpp>

namespace {

// MPI lives as long as the party.
struct mpi_session {
    mpi_session() { MPI_Init(nullptr, nullptr); }
    ~mpi_session() { MPI_Finalize(); }
};
class mpi_party final : mpi_session, public cli::party_of<bough::mpi> {
public:
    mpi_party() : cli::party_of<bough::mpi>(bough::mpi{MPI_COMM_WORLD}) {}
};

} // namespace

std::unique_ptr<cli::party> cli::join_mpi() { return std::make_unique<mpi_party>(); }
#else
std::unique_ptr<cli::party> cli::join_mpi() { throw usage_error("--transport", "this bough was built without MPI"); }
#endif
