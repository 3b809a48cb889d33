// SPDX-License-Identifier: BSL-1.0
// One rank of a run whose ranks are processes, over a transport that is chosen by name.
#ifndef BOUGH_TOOLS_PARTY_HPP
#define BOUGH_TOOLS_PARTY_HPP

#include "bench.hpp"
#include "commands.hpp"
#include "costs.hpp"
#include <bough/launch/job.hpp>
#include <bough/select/any_cost_model.hpp>
#include <bough/select/candidates.hpp>
#include <bough/select/ways.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

// Ranks that a choice asks for what it goes by.
class asked_ranks {
public:
    virtual ~asked_ranks() = default;
    virtual bough::rank_t rank() const = 0; // of which this is one
    // What automatic{} prices by; and what it knows of the ranks: cores, and who is near whom.
    virtual bough::any_cost_model costs() const = 0;
    virtual bough::problem known() = 0;
    // Collective: which ways the messages go that all ranks get in the plan of one candidate. `winner`: which, on rank 0;
    // if there is none, from.list.size().
    virtual std::vector<bough::message_way> ways_of(const bough::candidate_list& from, std::size_t winner,
                                                    bough::dimensions, const bough::problem&) = 0;
};
// Of threads.
std::unique_ptr<asked_ranks> ask_in_process(bough::rank_t ranks);

class party : public asked_ranks {
public:
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

// Throws usage_error for a transport that there is not, and for what does not go with it.
void check_transport(const transport_arguments&);

// Does the work as each rank of a group: of so many processes, which are started here; or of those that MPI has started, if
// the transport is mpi, or another launcher. Rank 0 alone says what is wrong with the arguments. What it returns is the exit
// status. Pre: the transport was checked, and is not in_process; `ranks` is not 0, unless others have started them.
enum class started_by { this_program, pmix, environment };
int run_as_ranks(const transport_arguments&, bough::rank_t ranks, started_by, const std::function<int(party&)>& work);

// The job that a launcher which speaks PMIx has started; throws usage_error where the tool was built without PMIx.
bough::job pmix_job();
// The job of the variables RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT.
bough::job environment_job();

} // namespace cli

#endif
