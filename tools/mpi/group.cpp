// SPDX-License-Identifier: BSL-1.0
#include "group.hpp"

#include "flights.hpp"

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
    if (made_) world::get().give_back(members_, std::move(*made_));
}

bool group::can_begin() {
    if (state_ == state::over || !world::get().has_started() || !is_mpi_running()) return false;
    members_ = members_of(comm_);
    if (members_.empty()) {
        never(reason::other_job);
        return false;
    }
    state_ = state::making;
    making_.emplace(members_);
    return true;
}
void group::finish() {
    if (making_->result()) made_.emplace(std::move(*making_->result()));
    making_.reset();
    state_ = state::over;
    why_ = made_ ? reason::none : reason::too_many;
}

communicator* group::use() {
    if (made_ && waiting.empty()) [[likely]]
        return &*made_;
    if (!waiting.empty()) {
        wait_for_turn(*this);
        return found();
    }
    if (!may_use()) return nullptr;
    while (!making_->is_over()) {
        const auto numbers = making_->numbers();
        making_->heard(host_->find_greatest(numbers.data(), static_cast<int>(numbers.size())));
    }
    finish();
    return found();
}

bool group::may_use() {
    if (made_ || state_ == state::making) return true;
    return state_ == state::untried && can_begin();
}

bool group::go_on() {
    while (making_ && !making_->is_over()) {
        const auto numbers = making_->numbers();
        bool good = true;
        if (!is_looking_) {
            is_looking_ = true;
            good = host_->begin_greatest(numbers.data(), static_cast<int>(numbers.size()));
        }
        if (good && !host_->has_found(good)) return false;
        is_looking_ = false;
        making_->heard(good);
    }
    if (making_) finish();
    return true;
}

} // namespace under_mpi
