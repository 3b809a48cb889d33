// SPDX-License-Identifier: BSL-1.0
// Many multicasts at once: one list of messages that spares the busy ranks, proved before it runs.
#include <bough/multicasts.hpp>
#include <bough/schedule/print_verdict.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/verify/verify.hpp>

#include <cstdio>
#include <span>
#include <vector>

int main() {
    // What a send costs each of eight ranks: two are fast. Three of them have something for all others.
    const std::vector<int> costs{1, 4, 4, 4, 4, 1, 4, 4};
    std::vector<bough::multicast_request> wanted{{.root = 1}, {.root = 3}, {.root = 6}};
    for (bough::multicast_request& w : wanted)
        for (bough::rank_t r = 0; r != 8; ++r)
            if (r != w.root) w.members.push_back(r);
    const std::span<const bough::multicast_request> all(wanted);

    // A tree for each by itself leans on the same fast ranks; one list balances them.
    const std::vector<int> receive(8, 1);
    const bough::tree_costs<int> model{.send = costs, .receive = receive};
    const auto apart = bough::independent_multicasts(model, all);
    const auto made = bough::balanced_multicasts(model, all);
    std::printf("a tree each: %lld, balanced: %lld\n", static_cast<long long>(apart.makespan),
                static_cast<long long>(made.makespan));

    const auto plan = bough::plan_multicasts(wanted, made.order, {.size = 8});
    std::printf("proof: %s\n", bough::to_string(bough::verify(plan)).c_str());
    auto wrong = made.order;
    wrong.pop_back();
    const auto lacking = bough::plan_multicasts(wanted, wrong, {.size = 8});
    std::printf("without the last message: %s\n", bough::to_string(bough::verify(lacking)).c_str());

    bough::in_process{8}.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        std::vector<int> data(3, 0); // part k is that of multicast k
        for (int k = 0; k != 3; ++k)
            if (wanted[static_cast<std::size_t>(k)].root == comm.rank()) data[static_cast<std::size_t>(k)] = 100 + k;
        bough::multicasts(comm, std::span(data), all, plan);
        if (comm.rank() == 7) std::printf("rank 7 has %d %d %d\n", data[0], data[1], data[2]);
    });
}
