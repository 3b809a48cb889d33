// SPDX-License-Identifier: BSL-1.0
// Decides for a call whether bough takes it, and makes it as BOUGH_MPI says.
#ifndef BOUGH_TOOLS_MPI_ROUTE_HPP
#define BOUGH_TOOLS_MPI_ROUTE_HPP

#include "check.hpp"
#include "collectives.hpp"
#include "group.hpp"
#include "report.hpp"
#include <bough/os/clock.hpp>

#include <cstdio>
#include <exception>
#include <mpi.h>

namespace under_mpi {

// No exception may reach C. The others are told that this rank gives the call up.
template <class Take>
int take_guarded(const place& at, collective which, const Take& take) noexcept {
    try {
        return take(at);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bough: MPI_%s: %s\n", name_of(which), e.what());
    } catch (...) {
        std::fprintf(stderr, "bough: MPI_%s: an exception of an unknown kind\n", name_of(which));
    }
    at.room.drop();
    (void)at.comm.refuse({.code = bough::errc::no_resources});
    return MPI_ERR_NO_MEM;
}

// take(place) makes the call by bough, pass() by the host; describe() -> outcome, and allocates nothing.
template <class Describe, class Take, class Pass>
int route(group& of, MPI_Comm comm, collective which, const Describe& describe, const Take& take, const Pass& pass) {
    const setting is = world::get().is();
    communicator* const ours = of.use();
    if (ours == nullptr) {
        // In MPI_Init calls are not the program's.
        const bool is_programs = of.why() != reason::not_started || !world::get().has_started();
        if (is == setting::report && is_programs) count_passed_on(which, of.why());
        return pass();
    }
    const place at{*ours, of.blocking_frame(), nullptr, &of.blocking_calls()};
    if (is == setting::on) [[likely]]
        return take_guarded(at, which, take);
    const outcome will_be = describe();
    if (is == setting::report) {
        const std::uint64_t began = bough::detail::steady_now_ns();
        const int code = take_guarded(at, which, take);
        count_taken(which, will_be.bytes, bough::detail::steady_now_ns() - began);
        return code;
    }
    comparison results(will_be);
    const int host_code = pass();
    const int compared = take_guarded(at, which, [&](const place& here) {
        return compare_ends(here, which, comm, host_code == MPI_SUCCESS, results.given());
    });
    if (host_code != MPI_SUCCESS || compared != MPI_SUCCESS) return host_code != MPI_SUCCESS ? host_code : compared;
    results.host_has_run();
    const int code = take_guarded(at, which, take);
    if (code == MPI_SUCCESS) results.compare(which, comm);
    return code;
}

} // namespace under_mpi

#endif
