// SPDX-License-Identifier: BSL-1.0
// traffic over a network: how many bytes each link carries, and which one needs longest for them.
//
//   const network torus = network::torus({8, 8}, 50, 200);
//   const link_traffic t = traffic(plan_allreduce(ring{}, {.size = 64}), torus, 1 << 20);
//   t.bytes[l]                       what link l of torus.links() carries
//   t.busiest_ns                     how long the busiest link needs: no run of the plan takes less
//   torus.links()[t.busiest].from    where that link begins
//
// Counts by groups of ranks, without a network: bough/schedule/traffic.hpp.
// *Time*: the steps of the plan, and the links of each message's path.
#ifndef BOUGH_SIMULATE_NETWORK_TRAFFIC_HPP
#define BOUGH_SIMULATE_NETWORK_TRAFFIC_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/model/block_sizes.hpp>
#include <bough/simulate/network.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI {

// What a plan puts on the links of a network. Messages between ranks of one host pass no link.
struct link_traffic {
    std::vector<std::uint64_t> bytes;         // by link, in the order of network::links()
    std::uint64_t messages = 0;               // of all ranks, also those that pass no link
    std::uint32_t busiest = network::nowhere; // the link that needs longest; the first of several. nowhere: none
    double busiest_ns = 0;                    // how long it needs: its bytes by its speed
    friend bool operator==(const link_traffic&, const link_traffic&) = default;
};

namespace detail {

template <int = 0>
class link_traffic_sink {
public:
    link_traffic_sink(link_traffic& sum, const network& over, const model::block_sizes& sizes, rank_t rank)
        : sum_(sum), over_(over), sizes_(sizes), rank_(rank) {}

    void send_part(rank_t to, slice from) {
        if (to != to_) {
            to_ = to;
            path_.clear();
            over_.path(over_.host_of(rank_), over_.host_of(to), path_);
        }
        for (const std::uint32_t l : path_) sum_.bytes[l] += sizes_.bytes_of(from);
    }
    void send(rank_t to, slice from) {
        send_part(to, from);
        ++sum_.messages;
    }
    void receive(rank_t, slice) {}
    void receive_part(rank_t, slice) {}
    void combine(slice, slice, slice) {}
    void copy(slice, slice) {}

private:
    link_traffic& sum_;
    const network& over_;
    const model::block_sizes& sizes_;
    rank_t rank_, to_ = no_rank;
    std::vector<std::uint32_t> path_; // to rank to_
};

} // namespace detail

// What the messages of all ranks put on the links, if a vector of `bytes` bytes is cut into the plan's
// blocks. Pre: over.check(plan.size()) is ok; bytes is a multiple of element_bytes, which is at least 1.
template <Plan P>
link_traffic traffic(const P& plan, const network& over, std::uint64_t bytes, std::uint64_t element_bytes = 1) {
    BOUGH_EXPECTS(!over.check(plan.size()),
                  "traffic: needs a network with a host for each rank, and a way between them");
    link_traffic sum;
    sum.bytes.assign(over.links().size(), 0);
    const model::block_sizes sizes(bytes, plan.blocks(), element_bytes);
    for (rank_t r = 0; r != plan.size(); ++r) {
        detail::link_traffic_sink<> sink(sum, over, sizes, r);
        plan.emit(r, sink);
    }
    for (std::uint32_t l = 0; l != sum.bytes.size(); ++l) {
        const double ns = static_cast<double>(sum.bytes[l]) / over.links()[l].bytes_per_ns;
        if (ns > sum.busiest_ns) sum.busiest_ns = ns, sum.busiest = l;
    }
    return sum;
}

} // namespace bough

#endif
