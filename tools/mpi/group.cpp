// SPDX-License-Identifier: BSL-1.0
#include "group.hpp"

#include <utility>

namespace under_mpi {

const char* text_of(reason why) noexcept {
    switch (why) {
    case reason::not_started: return "bough has not started";
    case reason::other_job: return "ranks of several jobs";
    case reason::too_many: return "too many communicators";
    case reason::inter: return "intercommunicator";
    case reason::alone: return "one rank";
    case reason::host_only: return "no such collective in bough";
    case reason::form: return "nonblocking";
    case reason::of_host: return "as the MPI itself calls it";
    case reason::first: return "nonblocking, before the first blocking one";
    default: return "";
    }
}

namespace {

// Empty: not all are in MPI_COMM_WORLD.
std::vector<bough::rank_t> members_of(MPI_Comm comm) {
    MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
    int size = 0;
    PMPI_Comm_size(comm, &size);
    PMPI_Comm_group(MPI_COMM_WORLD, &all);
    PMPI_Comm_group(comm, &some);
    std::vector<int> here(static_cast<std::size_t>(size)), there(here);
    for (int r = 0; r != size; ++r) here[static_cast<std::size_t>(r)] = r;
    PMPI_Group_translate_ranks(some, size, here.data(), all, there.data());
    PMPI_Group_free(&all);
    PMPI_Group_free(&some);
    std::vector<bough::rank_t> members;
    for (const int r : there) {
        if (r == MPI_UNDEFINED) return {};
        members.push_back(static_cast<bough::rank_t>(r));
    }
    return members;
}

bool is_mpi_running() {
    int has_begun = 0, has_ended = 0;
    PMPI_Initialized(&has_begun);
    PMPI_Finalized(&has_ended);
    return has_begun != 0 && has_ended == 0;
}

} // namespace

group::~group() {
    for (std::optional<communicator>* const one : {&later_, &made_})
        if (*one) world::get().give_back(members_, std::move(**one));
}

communicator* group::use() {
    if (made_) [[likely]]
        return &*made_;
    if (has_tried_ || !world::get().has_started() || !is_mpi_running()) return nullptr;
    has_tried_ = true;
    members_ = members_of(comm_);
    if (members_.empty()) {
        why_ = reason::other_job;
        return nullptr;
    }
    made_ = world::get().make(members_, *host_);
    if (made_) later_ = world::get().make(members_, *host_);
    if (!later_) made_.reset();
    why_ = made_ ? reason::none : reason::too_many;
    return made_ ? &*made_ : nullptr;
}

} // namespace under_mpi
