// SPDX-License-Identifier: BSL-1.0
// Open MPI's requests for calls that bough makes: of one nonblocking call, or of a persistent one, which is
// started again and again.
#ifndef BOUGH_TOOLS_MPI_OPEN_MPI_REQUESTS_HPP
#define BOUGH_TOOLS_MPI_OPEN_MPI_REQUESTS_HPP

#include "flights.hpp"
#include "group.hpp"
#include "is_done.hpp"
#include "open_mpi_headers.hpp"

#include <mpi.h>

namespace under_mpi {

struct bough_request;
class request_flight final : public flight {
public:
    explicit request_flight(bough_request& of) noexcept : of_(of) {}
    MPI_Request request() override;
    void has_ended(int code) override;

private:
    bough_request& of_;
};

// The types and the op of a call, which the program may free once it is initialised. Null: none.
struct handles {
    ompi_datatype_t* one = nullptr;
    ompi_datatype_t* other = nullptr;
    ompi_op_t* op = nullptr;
};
// A persistent call: its arguments, and the ranks by themselves, as they may start calls of several requests in
// different orders.
class persistent_call {
public:
    persistent_call(ompi_communicator_t* comm, host_group& host, collective which, const handles& held) noexcept;
    persistent_call(const persistent_call&) = delete;
    persistent_call& operator=(const persistent_call&) = delete;
    virtual ~persistent_call();
    virtual void start(flight& f) = 0;

    group ours;

private:
    handles held_;
};

// Open MPI takes a collective's request for an ompi_coll_base_nbc_request_t, whose header does not
// compile outside of it. In that one's members it keeps the types and the op of a nonblocking call, which it
// holds until the call has ended (4.1; older ones do not).
struct bough_request {
    ompi_request_t super;
    void* of_open_mpi[4];
    request_flight* call;
    mca_coll_base_module_t* module; // held until the request is freed, as the communicator is
    ompi_communicator_t* comm;
    persistent_call* persistent; // null: it is nonblocking
};

// For a call that starts at once. Null: no memory is left.
bough_request* new_request(mca_coll_base_module_t* module, ompi_communicator_t* comm);
// The same for a persistent one, which is not active yet, and is the request's from then on.
bough_request* new_request(mca_coll_base_module_t* module, ompi_communicator_t* comm, persistent_call* of);
void free_request(bough_request* request);

// How a persistent call is started, for the calls of calls.hpp.
struct restarting {
    flight& f;
    communicator& ours;
    int rank, size;

    template <class Describe, class Take>
    int make(collective which, const Describe& describe, const Take& take) {
        start(f, ours, which, describe, take);
        return MPI_SUCCESS;
    }
};

// Initialises a persistent call, by bough if it can; collective. call(restarting) starts it; pass(request)
// initialises it by the host.
template <class Call, class Pass>
int initialise(mca_coll_base_module_t* module, ompi_communicator_t* comm, group& of, collective which,
               const handles& held, const Call& call, const Pass& pass, ompi_request_t** request) {
    class with_arguments final : public persistent_call {
    public:
        with_arguments(ompi_communicator_t* comm, host_group& host, collective which, const handles& held,
                       const Call& call) noexcept
            : persistent_call(comm, host, which, held), comm_(comm), call_(call) {}
        void start(flight& f) override {
            call_(restarting{f, *ours.use(), ompi_comm_rank(comm_), ompi_comm_size(comm_)});
        }

    private:
        ompi_communicator_t* comm_;
        Call call_;
    };

    const setting is = world::get().is();
    const bool may_be_taken = is != setting::check && world::get().has_started() && of.may_be_used();
    reason why = of.why();
    if (may_be_taken) {
        persistent_call* made = nullptr;
        (void)is_done([&] { made = new with_arguments(comm, of.host(), which, held, call); });
        bough_request* const its = made == nullptr ? nullptr : new_request(module, comm, made);
        if (its == nullptr) {
            delete made;
            group nothing(comm, of.host(), purpose::persistent(which));
            nothing.do_without();
            why = nothing.why();
        } else if (made->ours.use() != nullptr) {
            *request = &its->super;
            return MPI_SUCCESS;
        } else {
            why = made->ours.why();
            free_request(its);
        }
    }
    if (is == setting::report) count_passed_on(which, why, form::persistent);
    return pass(request);
}

} // namespace under_mpi

#endif
