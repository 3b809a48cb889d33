// SPDX-License-Identifier: BSL-1.0
// Ranks that differ in speed: the tree that the numbering gives, three better ones, and how good they are.
#include <bough/broadcast.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/optimal.hpp>
#include <bough/tree/outline.hpp>
#include <bough/tree/spoc.hpp>
#include <bough/tree/tree.hpp>

#include <cstdio>
#include <span>
#include <utility>
#include <vector>

// What sending one message costs each rank, in microseconds: the first and the sixth are fast.
constexpr int send_us[] = {100, 300, 300, 300, 300, 100, 300, 300};
constexpr std::span costs(send_us);

// Trees are values: these are built and compared by the compiler.
static_assert(broadcast_time(bough::tree{bough::binomial{}, 8}, costs) == 700);
static_assert(broadcast_time(bough::spoc_tree(costs), costs) == 500);
static_assert(broadcast_time(bough::fnf_tree(costs), costs) == 400);
static_assert(bough::optimal_tree(costs).certificate.found == 400);

void show(const char* name, const bough::table& tree, std::span<const int> send) {
    const auto known = bough::certify(tree, send);
    std::printf("%-9s %4lld us, optimum %4lld us   %s\n", name, static_cast<long long>(known.found),
                static_cast<long long>(known.lower_bound), bough::outline(tree).str().c_str());
}

int main() {
    show("binomial", bough::table{bough::tree{bough::binomial{}, 8}}, costs);
    show("spoc", bough::spoc_tree(costs), costs);
    show("fnf", bough::fnf_tree(costs), costs);

    // Fastest first is not always best.
    const std::vector<int> odd{1, 4, 4, 4, 3, 4, 2};
    show("fnf", bough::fnf_tree(std::span(odd)), odd);
    show("optimal", bough::optimal_tree(std::span(odd)).tree, odd);

    // Receiving costs too, and messages travel: 30 us.
    const bough::tree_costs<int> both{.send = send_us, .receive = send_us, .latency = 30};
    std::printf("with receive costs: fnf %lld us, optimum %lld us\n",
                static_cast<long long>(bough::broadcast_time(bough::fnf_tree(both), both)),
                static_cast<long long>(bough::optimal_tree(both).certificate.found));

    // A tree is a choice wherever a collective takes one.
    bough::in_process{8}.run([](auto transport) {
        bough::communicator comm{std::move(transport)};
        int word = comm.rank() == 0 ? 42 : 0;
        bough::broadcast(comm, std::span(&word, 1), bough::root{0}, bough::fnf_tree(costs));
        if (comm.rank() == 7) std::printf("rank 7 has %d\n", word);
    });
}
