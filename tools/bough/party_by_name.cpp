// SPDX-License-Identifier: BSL-1.0
// Ranks that are processes, over a transport that is typed.
#include "party.hpp"

#include "commands.hpp"
#include "parse.hpp"

#ifdef __linux__
#include <bough/launch.hpp>
#endif

#include <algorithm>
#include <array>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

namespace cli {

namespace {

// Transports whose ranks are processes of a job, whoever has started it.
constexpr std::array<const char*, 5> of_processes{"shared_memory", "tcp", "composite", "fabric", "verbs"};

bool is_of_processes(const std::string& transport) {
    return std::find(of_processes.begin(), of_processes.end(), transport) != of_processes.end();
}
std::unique_ptr<party> join(const transport_arguments& typed, bough::job job) {
    if (typed.transport == "tcp") return join_tcp(std::move(job), typed.tls, typed.tcp_only);
    if (typed.transport == "composite") {
        const bough::rank_t ranks = job.size();
        return join_composite(
            std::move(job),
            typed.nodes.empty() ? 0 : static_cast<bough::rank_t>(parse_number("--nodes", typed.nodes, 1, ranks)));
    }
    if (typed.transport == "fabric") return join_fabric(std::move(job), typed.provider);
    if (typed.transport == "verbs") return join_verbs(std::move(job), typed.device);
    return join_shared_memory(std::move(job));
}

// One rank of a job, from its start to its exit status; only rank 0 speaks of what all find.
template <class Join>
int run_as_rank(bough::rank_t expected, const std::function<int(party&)>& work, Join&& join, bool speaks = true) {
    try {
        const std::unique_ptr<party> mine = join();
        speaks = mine->rank() == 0;
        if (expected != 0 && expected != mine->size())
            throw usage_error("--ranks", "the launcher has started " + std::to_string(mine->size()));
        const int result = work(*mine);
        std::cout.flush();
        return result;
    } catch (const usage_error& e) {
        if (speaks) std::cerr << "bough: " << e.what() << '\n';
        return 2;
    } catch (const std::exception& e) {
        std::cerr << "bough: " << e.what() << '\n';
        return 3;
    }
}

int run_local(const transport_arguments& typed, bough::rank_t ranks, const std::function<int(party&)>& work) {
#ifdef __linux__
    std::cout.flush();
    const bough::launch_report report = bough::launch(ranks, [&](bough::job job) {
        const bool speaks = job.rank() == 0;
        return run_as_rank(
            ranks, work, [&] { return join(typed, std::move(job)); }, speaks);
    });
    if (report.ok()) return 0;
    const bough::rank_end& first = report.ranks[report.first_failed];
    if (first.what == bough::rank_end::how::exited) return first.code;
    std::cerr << "bough: " << describe(report) << '\n';
    return 3;
#else
    (void)ranks, (void)work;
    throw usage_error("--transport", typed.transport + " needs Linux");
#endif
}

} // namespace

void check_transport(const transport_arguments& typed) {
    if (typed.transport != "in_process" && typed.transport != "mpi" && !typed.transport.empty() &&
        !is_of_processes(typed.transport))
        throw usage_error("--transport",
                          "there is no '" + typed.transport +
                              "'; known are in_process, shared_memory, tcp, composite, fabric, verbs, mpi");
    if (!typed.nodes.empty() && typed.transport != "composite") throw usage_error("--nodes", "goes with composite");
    if (!typed.provider.empty() && typed.transport != "fabric") throw usage_error("--provider", "goes with fabric");
    if (!typed.device.empty() && typed.transport != "verbs") throw usage_error("--device", "goes with verbs");
    if (!typed.tls.empty() && typed.transport != "tcp") throw usage_error("--tls", "goes with tcp");
    if (typed.tcp_only && typed.transport != "tcp") throw usage_error("--tcp-only", "goes with tcp");
}

int run_as_ranks(const transport_arguments& typed, bough::rank_t ranks, started_by who,
                 const std::function<int(party&)>& work) {
    if (typed.transport == "mpi") return run_as_rank(ranks, work, join_mpi);
    if (who == started_by::pmix) return run_as_rank(ranks, work, [&] { return join(typed, pmix_job()); });
    if (who == started_by::environment) return run_as_rank(ranks, work, [&] { return join(typed, environment_job()); });
    return run_local(typed, ranks, work);
}

} // namespace cli
