// SPDX-License-Identifier: BSL-1.0
// One rank of a run whose ranks are processes, over a transport that is chosen by name.
#ifndef BOUGH_TOOLS_PARTY_HPP
#define BOUGH_TOOLS_PARTY_HPP

#include "bench.hpp"
#include "costs.hpp"
#include <bough/launch/job.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

class party {
public:
    virtual ~party() = default;
    virtual bough::rank_t rank() const = 0;
    virtual bough::rank_t size() const = 0;
    // Collective, as all that follows. The time of a run is that of its slowest rank; every rank gets the same.
    virtual timing time(const problem&, const workload&) = 0;
    // Pre: size() >= 3.
    virtual measured_costs measure(const bough::measure_options&) = 0;
};

// Each joins the job's ranks; where the tool was built without the transport, throws usage_error.
std::unique_ptr<party> join_shared_memory(bough::job);
// `tls`: nothing, or the files of a certificate, its key and its authorities.
std::unique_ptr<party> join_tcp(bough::job, const std::vector<std::string>& tls, bool tcp_only);
// As on so many nodes, of ranks that follow each other; 0: on those where they are.
std::unique_ptr<party> join_composite(bough::job, bough::rank_t nodes);
// `provider` as fi_info names it; empty: libfabric's choice.
std::unique_ptr<party> join_fabric(bough::job, const std::string& provider);
// `device` as ibv_devices lists it; empty: the first.
std::unique_ptr<party> join_verbs(bough::job, const std::string& device);
std::unique_ptr<party> join_mpi(); // of MPI_COMM_WORLD; the job is MPI's

// The job that a launcher which speaks PMIx has started; throws usage_error where the tool was built without PMIx.
bough::job pmix_job();

} // namespace cli

#endif
