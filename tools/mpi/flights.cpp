// SPDX-License-Identifier: BSL-1.0
#include "flights.hpp"

#include <array>
#include <cstdio>

namespace under_mpi {

namespace {

int end_of(flight& f) noexcept {
    const bough::status s = f.operation.result();
    if (!s) return ended(f.room, s, "");
    std::array<char, 40> name{};
    const bool is_persistent = f.how == form::persistent;
    std::snprintf(name.data(), name.size(), is_persistent ? "MPI_%s_init" : "MPI_I%s", name_of(f.which));
    if (is_persistent) name[4] = static_cast<char>(name[4] - 'a' + 'A');
    return ended(f.room, s, name.data());
}

} // namespace

flights& flights::get() { return never_destroyed<flights>::get(); }

int flights::progress() noexcept {
    if (count_ == 0) [[likely]]
        return 0;
    const std::unique_lock held(mutex_, std::try_to_lock);
    if (!held || is_busy_) return 0;
    is_busy_ = true;
    int ended_now = 0;
    // Calls may begin meanwhile: ops and the host's progress are the program's.
    for (std::size_t i = 0; i != begun_.size();) {
        flight& f = *begun_[i];
        // All are of one session, so the first one polls for all.
        if (!(i == 0 ? f.operation.poll() : f.operation.done())) {
            ++i;
            continue;
        }
        begun_[i] = begun_.back();
        begun_.pop_back();
        --count_;
        ++ended_now;
        const int code = end_of(f);
        if (f.began_ns != 0) count_taken(f.which, f.bytes, bough::detail::steady_now_ns() - f.began_ns, f.how);
        f.has_ended(code);
    }
    is_busy_ = false;
    return ended_now;
}

} // namespace under_mpi
