// SPDX-License-Identifier: BSL-1.0
// What bough needs of the MPI under which it runs. Open MPI's component gives it; all else is written over
// PMPI_ calls, for any MPI.
#ifndef BOUGH_TOOLS_MPI_HOST_HPP
#define BOUGH_TOOLS_MPI_HOST_HPP

#include <cstddef>
#include <cstdint>
#include <mpi.h>

namespace under_mpi {

// How an element of a type lies in memory.
struct shape {
    std::size_t size = 0; // bytes that travel
    std::ptrdiff_t extent = 0;
    std::ptrdiff_t true_lb = 0, true_extent = 0;
    bool is_solid = false; // its bytes lie without gaps, in the order in which they travel, from true_lb on

    bool is_solid_row(std::size_t count) const noexcept {
        return is_solid && (count <= 1 || extent == static_cast<std::ptrdiff_t>(size));
    }
};
shape shape_of(MPI_Datatype type);

// inout[i] = in[i] op inout[i], for an op and a type that the host has found to fit.
void combine_by_host(MPI_Op op, MPI_Datatype type, const void* in, void* inout, int count);

// The host's own messages move on.
void progress_host();

// The host's own collectives on one communicator, by which bough's part of it is made. All ranks call
// them, in the same order as their other collectives there. False: the host had an error.
class host_group {
public:
    virtual ~host_group() = default;
    virtual bool gather_from_all(const void* mine, int bytes, void* all) = 0;
    virtual bool find_greatest(std::uint32_t* numbers, int count) = 0; // of each number, over all ranks
    // The same, but it does not wait. The request is for PMPI_Test.
    virtual bool start_greatest(std::uint32_t* numbers, int count, MPI_Request& request) = 0;
    // The same on all its ranks, and no other communicator of theirs has it now. 0: there is none.
    virtual std::uint32_t number() const noexcept = 0;
};

} // namespace under_mpi

#endif
