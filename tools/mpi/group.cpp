// SPDX-License-Identifier: BSL-1.0
#include "group.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <numeric>
#include <utility>

namespace under_mpi {

namespace {

// Calls visit(r) for each rank of a communicator with its rank in MPI_COMM_WORLD, until that returns
// false; MPI_UNDEFINED: it has none. Allocates nothing.
template <class Visit>
void visit_members(MPI_Comm comm, const Visit& visit) {
    MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
    int size = 0;
    PMPI_Comm_size(comm, &size);
    PMPI_Comm_group(MPI_COMM_WORLD, &all);
    PMPI_Comm_group(comm, &some);
    bool goes_on = true;
    for (int first = 0; goes_on && first < size;) {
        std::array<int, 64> here{}, there{};
        const int n = std::min(size - first, static_cast<int>(here.size()));
        std::iota(here.begin(), here.begin() + n, first);
        PMPI_Group_translate_ranks(some, n, here.data(), all, there.data());
        for (int i = 0; goes_on && i != n; ++i) goes_on = visit(there[static_cast<std::size_t>(i)]);
        first += n;
    }
    PMPI_Group_free(&all);
    PMPI_Group_free(&some);
}
// False: a rank is not of this job.
bool find_seat(MPI_Comm comm, seat& at) noexcept {
    bool all_are = true;
    visit_members(comm, [&](int r) {
        all_are = r != MPI_UNDEFINED;
        if (all_are) at.add(static_cast<bough::rank_t>(r));
        return all_are;
    });
    return all_are;
}
seat first_seat(MPI_Comm comm, const host_group& host) noexcept {
    int rank = 0, size = 1;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    return {static_cast<bough::rank_t>(rank), static_cast<bough::rank_t>(size), host.number()};
}
std::vector<bough::rank_t> members_of(MPI_Comm comm) {
    std::vector<bough::rank_t> members;
    visit_members(comm, [&members](int r) { return members.push_back(static_cast<bough::rank_t>(r)), true; });
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
    if (made_) world::get().give_back(members_, std::move(*made_));
}

communicator* group::make(bool has_memory) noexcept {
    world& all = world::get();
    if (has_tried_ || !all.has_started() || !is_mpi_running()) return nullptr;
    has_tried_ = true;
    seat at = first_seat(comm_, host_);
    if (!find_seat(comm_, at)) {
        why_ = reason::other_job;
        return nullptr;
    }
    if (has_memory) // otherwise the others are told by make()
        try {
            members_ = members_of(comm_);
        } catch (const std::bad_alloc&) {
            has_memory = false;
        }
    why_ = all.make(has_memory ? &members_ : nullptr, at, for_, host_, made_);
    return made_ ? &made_->blocking : nullptr;
}

} // namespace under_mpi
