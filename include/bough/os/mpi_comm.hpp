// SPDX-License-Identifier: BSL-1.0
// Helpers for errors of MPI: their text, a communicator whose errors are returned for a while, and
// how its ranks agree on an error.
#ifndef BOUGH_OS_MPI_COMM_HPP
#define BOUGH_OS_MPI_COMM_HPP

#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <array>
#include <mpi.h>
#include <string>

namespace bough::inline BOUGH_ABI::detail {

// "MPI_Comm_dup: Other MPI error, ... Too many communicators".
inline std::string mpi_text(const char* call, int code) {
    std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
    int length = 0;
    const bool has_text = MPI_Error_string(code, text.data(), &length) == MPI_SUCCESS;
    return std::string(call) + (has_text ? ": " + std::string(text.data()) : std::string());
}

// While this object exists, calls return the errors of the communicator. Afterwards errors do what
// they did before.
class mpi_comm_errors {
public:
    explicit mpi_comm_errors(MPI_Comm comm) : comm_(comm) {
        MPI_Comm_get_errhandler(comm_, &before_);
        MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    }
    mpi_comm_errors(const mpi_comm_errors&) = delete;
    mpi_comm_errors& operator=(const mpi_comm_errors&) = delete;
    ~mpi_comm_errors() {
        MPI_Comm_set_errhandler(comm_, before_);
        if (before_ != MPI_ERRORS_ARE_FATAL && before_ != MPI_ERRORS_RETURN) MPI_Errhandler_free(&before_);
    }

private:
    MPI_Comm comm_;
    MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

// Collective: how many ranks of the communicator share this node, and which of them this one is.
inline status mpi_neighbours(MPI_Comm comm, int& here, int& place, std::string& text) {
    MPI_Comm node = MPI_COMM_NULL;
    const int code = MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    if (code != MPI_SUCCESS) {
        text = mpi_text("MPI_Comm_split_type", code);
        return {.code = errc::no_resources};
    }
    MPI_Comm_size(node, &here);
    MPI_Comm_rank(node, &place);
    MPI_Comm_free(&node);
    return {};
}

// Collective. Returns `mine` on a rank that has an error. The others get peer_aborted, with the
// error of the lowest such rank.
inline status mpi_agree(MPI_Comm over, const status& mine) {
    int me = 0, all = 1;
    MPI_Comm_rank(over, &me);
    MPI_Comm_size(over, &all);
    int lowest = mine ? me : all;
    MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_INT, MPI_MIN, over);
    if (lowest == all) return {};
    int code = static_cast<int>(mine.code);
    MPI_Bcast(&code, 1, MPI_INT, lowest, over);
    if (mine) return mine;
    return {.code = errc::peer_aborted, .cause = static_cast<errc>(code), .peer = static_cast<rank_t>(lowest)};
}

} // namespace bough::detail

#endif
