// SPDX-License-Identifier: BSL-1.0
// Opens the communicator of a bough::mpi: duplicates the user's, and agrees with the other ranks on
// the options.
#ifndef BOUGH_TRANSPORT_MPI_OPENING_HPP
#define BOUGH_TRANSPORT_MPI_OPENING_HPP

#include <bough/core/formats.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/os/mpi_comm.hpp>
#include <bough/transport/join_room.hpp>
#include <bough/transport/mpi/group.hpp>
#include <bough/transport/mpi/options.hpp>
#include <bough/transport/mpi/parting.hpp>

#include <algorithm>
#include <cstdint>
#include <mpi.h>
#include <string>
#include <unistd.h>

namespace bough::inline BOUGH_ABI::detail {

// Checks what this rank can see alone, duplicates the communicator, and calls allocate(size).
template <class F>
status duplicate_for(mpi_group& g, MPI_Comm of, const mpi_options& o, std::string& text, const F& allocate) {
    const char* const wrong = o.window < 1 || o.window > 4096 ? "window: must be 1 to 4096"
                              : o.eager_bytes > 1u << 20      ? "eager_bytes: at most 1 MiB"
                                                              : nullptr;
    // In any case: the others are already doing so and would wait.
    const int code = MPI_Comm_dup(of, &g.comm);
    if (code != MPI_SUCCESS) g.comm = MPI_COMM_NULL;
    if (wrong != nullptr) return invalid_argument(wrong);
    if (code != MPI_SUCCESS) {
        text = mpi_text("MPI_Comm_dup", code);
        return {.code = errc::no_resources};
    }
    MPI_Comm_set_errhandler(g.comm, MPI_ERRORS_RETURN);
    int me = 0, all = 1;
    MPI_Comm_rank(g.comm, &me);
    MPI_Comm_size(g.comm, &all);
    g.rank = static_cast<rank_t>(me);
    g.size = static_cast<rank_t>(all);
    return attempted([&] { return allocate(g.size), status{}; });
}

// Collective: do all ranks speak what this one speaks? Each rank that differs from rank 0 names it,
// and the others name the lowest that differs.
inline status mpi_compare_builds(MPI_Comm over, rank_t me, rank_t size) {
    const build_card mine = build_card_of(wire_format::mpi);
    const auto heard_from = [&](rank_t r) {
        build_card theirs = mine;
        MPI_Bcast(theirs.data(), static_cast<int>(theirs.size()), MPI_BYTE, static_cast<int>(r), over);
        return compare_builds(mine, theirs, r);
    };
    const status first = heard_from(0);
    std::uint32_t lowest = first ? me : size;
    MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_UINT32_T, MPI_MIN, over);
    if (lowest == size) return {};
    const status other = heard_from(lowest);
    return first ? first : other;
}

// Collective over `of`: ok on all ranks, or an error on all. `text`: MPI's words on this rank.
template <class F>
status open_mpi_group(mpi_group& g, MPI_Comm of, const mpi_options& o, std::string& text, const F& allocate) {
    mpi_parting::give_back();
    mpi_comm_errors quiet(of);
    status well;
    for (int tries = 0; tries != 2; ++tries) {
        text.clear();
        well = mpi_agree(of, duplicate_for(g, of, o, text, allocate));
        if (!well) break;
        if (g.comm != MPI_COMM_NULL) MPI_Comm_free(&g.comm); // on all ranks that have one
        // Communicators may have run out because peers of ended transports have yet to say bye.
        if (tries == 0) mpi_parting::give_back(1'000'000'000);
    }
    if (!well) well = mpi_compare_builds(g.comm, g.rank, g.size);
    if (well && g.comm != MPI_COMM_NULL) MPI_Comm_free(&g.comm);
    if (well) return well;
    const long online = ::sysconf(_SC_NPROCESSORS_ONLN); // cores of the node, not of this process alone
    int here = 1, place = 0;
    well = mpi_agree(g.comm, mpi_neighbours(g.comm, here, place, text));
    if (well) return MPI_Comm_free(&g.comm), well;
    g.cores = place == 0 ? static_cast<std::uint32_t>(std::max(online, 1l)) : 0;
    g.oversubscribed = here > online;
    std::uint32_t least[2] = {o.window, o.eager_bytes};
    MPI_Allreduce(MPI_IN_PLACE, least, 2, MPI_UINT32_T, MPI_MIN, g.comm);
    g.options = {least[0], least[1]};
    MPI_Allreduce(MPI_IN_PLACE, &g.cores, 1, MPI_UINT32_T, MPI_SUM, g.comm);
    return {};
}

} // namespace bough::detail

#endif
