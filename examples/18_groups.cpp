// SPDX-License-Identifier: BSL-1.0
// Nodes of several ranks: an allreduce in two levels, proved as one plan, and what each way sends between nodes.
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/composed.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/allreduce.hpp>
#include <bough/schedule/traffic.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/verify/verify.hpp>

#include <cstdio>
#include <span>
#include <utility>
#include <vector>

constexpr bough::contiguous_groups nodes{.ranks_per_group = 4};

// Every rank works across nodes for its share of the vector; or one rank of each node works for all of it.
constexpr auto lanes = bough::compose(bough::ring{}, bough::circulant{}, nodes);
constexpr auto leaders = bough::compose_leaders(bough::binomial{}, bough::circulant{}, nodes);
static_assert(bough::proven<bough::verify(bough::plan_allreduce(lanes, {.size = 12}))>());

void show(const char* name, const auto& choice) {
    const auto plan = bough::plan_allreduce(choice, {.size = 48});
    const auto traffic = bough::traffic(plan, [](bough::rank_t r) { return r / 4; });
    std::printf("%-8s %5.2f vectors between nodes, in %llu messages\n", name,
                static_cast<double>(traffic.across.blocks) / plan.blocks(),
                static_cast<unsigned long long>(traffic.across.messages));
}

int main() {
    show("flat", bough::circulant{});
    show("lanes", lanes);
    show("leaders", leaders);

    bough::in_process{12}.run([](auto transport) {
        bough::communicator comm{std::move(transport)};
        std::vector<long> x(1000, comm.rank());
        bough::allreduce(comm, std::span(x), bough::plus{}, lanes);
        if (comm.rank() == 0) std::printf("0 + 1 + ... + 11 = %ld\n", x[0]);
    });
}
