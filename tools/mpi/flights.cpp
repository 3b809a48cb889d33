// SPDX-License-Identifier: BSL-1.0
#include "flights.hpp"

#include <string>

namespace under_mpi {

namespace {

constexpr bough::run_time_type no_elements{};

std::string mpi_name(collective which) { return std::string("MPI_I") + name_of(which); }

} // namespace

flights& flights::get() {
    static flights* const only = new flights;
    return *only;
}

void flights::add(flight& f, group* of) {
    {
        const std::scoped_lock held(mutex_);
        if (of == nullptr) {
            begun_.push_back(&f);
        } else {
            if (of->waiting.empty()) making_.push_back(of);
            of->waiting.push_back(&f);
        }
        ++count_;
    }
    progress();
}

int flights::progress() {
    if (count_ == 0) [[likely]]
        return 0;
    const std::unique_lock held(mutex_, std::try_to_lock);
    if (!held || is_busy_) return 0;
    is_busy_ = true;
    const int ended = look_at_all();
    is_busy_ = false;
    return ended;
}

// True: none waits any more.
bool flights::begin_waiting(group& of) {
    if (!of.go_on()) return false;
    while (!of.waiting.empty()) {
        flight& f = *of.waiting.front();
        of.waiting.pop_front();
        int code = MPI_SUCCESS;
        if (communicator* const ours = of.found()) {
            code = take_guarded({*ours, f.room, &f.operation}, f.which, f.take);
        } else {
            if (world::get().is() == setting::report) count_passed_on(f.which, of.why(), form::nonblocking);
            code = f.pass(&f.passed);
            f.began_ns = 0;
        }
        if (code == MPI_SUCCESS) {
            begun_.push_back(&f);
        } else {
            --count_;
            f.has_ended(code);
        }
    }
    return true;
}

int flights::look_at_all() {
    std::erase_if(making_, [this](group* of) { return begin_waiting(*of); });
    int ended_now = 0;
    bool has_polled = false;
    for (std::size_t i = 0; i != begun_.size();) {
        flight& f = *begun_[i];
        int code = MPI_SUCCESS, is_over = 0;
        if (f.passed != MPI_REQUEST_NULL) {
            code = PMPI_Test(&f.passed, &is_over, MPI_STATUS_IGNORE);
            if (code != MPI_SUCCESS) is_over = 1;
        } else { // all are of one session, so one of them polls for all
            is_over = has_polled ? f.operation.done() : f.operation.poll();
            has_polled = true;
            if (is_over != 0) code = ended(f.room, f.operation.result(), mpi_name(f.which).c_str());
        }
        if (is_over == 0) {
            ++i;
            continue;
        }
        begun_[i] = begun_.back();
        begun_.pop_back();
        --count_;
        ++ended_now;
        if (f.began_ns != 0)
            count_taken(f.which, f.bytes, bough::detail::steady_now_ns() - f.began_ns, form::nonblocking);
        f.has_ended(code);
    }
    return ended_now;
}

void wait_for_turn(const group& of) {
    while (!of.waiting.empty()) {
        flights::get().progress();
        progress_host();
    }
}

} // namespace under_mpi
