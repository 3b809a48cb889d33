// SPDX-License-Identifier: BSL-1.0
#include "open_mpi_requests.hpp"

#include "is_done.hpp"

#include <cstddef>

namespace under_mpi {

MPI_Request request_flight::request() { return &of_.super; }
void request_flight::has_ended(int code) {
    of_.super.req_status.MPI_ERROR = code;
    ompi_request_complete(&of_.super, true);
}

persistent_call::persistent_call(ompi_communicator_t* comm, host_group& host, collective which,
                                 const handles& held) noexcept
    : ours(comm, host, purpose::persistent(which)), held_(held) {
    if (held_.one != nullptr) OBJ_RETAIN(held_.one);
    if (held_.other != nullptr) OBJ_RETAIN(held_.other);
    if (held_.op != nullptr) OBJ_RETAIN(held_.op);
}
persistent_call::~persistent_call() {
    if (held_.one != nullptr) OBJ_RELEASE(held_.one);
    if (held_.other != nullptr) OBJ_RELEASE(held_.other);
    if (held_.op != nullptr) OBJ_RELEASE(held_.op);
}

namespace {

int free_by_host(ompi_request_t** freed) {
    if (!REQUEST_COMPLETE(*freed)) return MPI_ERR_REQUEST;
    // When a wait ends with an error, Open MPI frees the request, persistent or not, before it calls the error
    // handler. A persistent one is still the program's.
    const bool has_just_failed = (*freed)->req_persistent && (*freed)->req_state == OMPI_REQUEST_INACTIVE &&
                                 (*freed)->req_status.MPI_ERROR != MPI_SUCCESS;
    if (has_just_failed) {
        (*freed)->req_status.MPI_ERROR = MPI_SUCCESS;
        return OMPI_SUCCESS;
    }
    free_request(reinterpret_cast<bough_request*>(*freed));
    *freed = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}
int cancel_by_host(ompi_request_t*, int) { return MPI_ERR_REQUEST; }

void make_active(bough_request& r) {
    r.super.req_complete = REQUEST_PENDING;
    r.super.req_state = OMPI_REQUEST_ACTIVE;
    r.super.req_status = {};
    r.super.req_status.MPI_SOURCE = MPI_UNDEFINED;
    r.super.req_status.MPI_TAG = MPI_UNDEFINED;
}
int start_by_host(std::size_t count, ompi_request_t** requests) {
    for (std::size_t i = 0; i != count; ++i) {
        auto& r = *reinterpret_cast<bough_request*>(requests[i]);
        if (r.super.req_state == OMPI_REQUEST_ACTIVE) return MPI_ERR_REQUEST;
        make_active(r);
        r.persistent->start(*r.call);
    }
    return MPI_SUCCESS;
}

void construct_request(bough_request* r) {
    OMPI_REQUEST_INIT(&r->super, false);
    r->super.req_type = OMPI_REQUEST_COLL;
    for (void*& word : r->of_open_mpi) word = nullptr;
    r->super.req_free = free_by_host;
    r->super.req_cancel = cancel_by_host;
    r->call = nullptr;
    (void)is_done([r] { r->call = new request_flight(*r); });
    r->persistent = nullptr;
}
void destruct_request(bough_request* r) { delete r->call; }
OBJ_CLASS_INSTANCE(bough_request, ompi_request_t, construct_request, destruct_request);

bough_request* new_inactive(mca_coll_base_module_t* module, ompi_communicator_t* comm) {
    auto* request = OBJ_NEW(bough_request);
    if (request == nullptr) return nullptr;
    if (request->call == nullptr) {
        OBJ_RELEASE(request);
        return nullptr;
    }
    request->super.req_mpi_object.comm = comm;
    request->module = module;
    request->comm = comm;
    OBJ_RETAIN(module);
    OBJ_RETAIN(comm);
    return request;
}

} // namespace

bough_request* new_request(mca_coll_base_module_t* module, ompi_communicator_t* comm) {
    bough_request* const made = new_inactive(module, comm);
    if (made != nullptr) make_active(*made);
    return made;
}
bough_request* new_request(mca_coll_base_module_t* module, ompi_communicator_t* comm, persistent_call* of) {
    bough_request* const made = new_inactive(module, comm);
    if (made == nullptr) return nullptr;
    OMPI_REQUEST_INIT(&made->super, true);
    made->super.req_start = start_by_host;
    made->call->how = form::persistent;
    made->persistent = of;
    return made;
}
void free_request(bough_request* request) {
    OMPI_REQUEST_FINI(&request->super);
    delete request->persistent;
    OBJ_RELEASE(request->module);
    OBJ_RELEASE(request->comm);
    OBJ_RELEASE(request);
}

} // namespace under_mpi
