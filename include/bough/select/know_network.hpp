// SPDX-License-Identifier: BSL-1.0
// know_network: tells communicators what joins their ranks. Then automatic{} chooses by simulated runs over
// it, among the standard candidates and those that are made for the network (bough/select/on_network.hpp).
//
//   const auto joined = know_network(network::torus({4, 4}, 50, 200), model::lrc{.message_latency_ns = 1000});
//   communicator comm{std::move(link), {.network = joined}};
//   allreduce(comm, std::span(x), plus{});     // bucket or swing, from the size on from which it is faster
//
// Must be equal on all ranks. A choice takes about as long as its simulated runs: for each collective, root
// and power of two of bytes it is made once (communicator_options::cached_choices).
#ifndef BOUGH_SELECT_KNOW_NETWORK_HPP
#define BOUGH_SELECT_KNOW_NETWORK_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/core/contract.hpp>
#include <bough/select/choose.hpp>
#include <bough/select/known_network.hpp>
#include <bough/select/on_network.hpp>
#include <bough/simulate/network.hpp>

#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

namespace detail {

template <CostModel M>
class network_of_ranks final : public known_network {
public:
    network_of_ranks(network over, const M& model) : over_(std::move(over)), model_(model) {}

    status check(rank_t ranks) const override { return over_.check(ranks); }
    decision choose(const candidate_list& from, const dimensions& at, const problem& what,
                    const requirements& needed) const override {
        candidate_list all = from;
        add_network_candidates(all, at, what, over_);
        return bough::choose(all, at, what, on_network{over_, model_}, {.needed = needed});
    }
    std::shared_ptr<const known_network> among(std::span<const rank_t> members) const override {
        network some = over_;
        some.placement.clear();
        for (const rank_t r : members) some.placement.push_back(over_.host_of(r));
        return std::make_shared<network_of_ranks>(std::move(some), model_);
    }

private:
    network over_;
    M model_; // of equal ranks: their numbers change in among()
};

} // namespace detail

// What joins the ranks, by their numbers in the communicator; and what messages cost beside it, the same for
// all pairs of ranks.
template <CostModel M>
requires is_homogeneous_v<M> std::shared_ptr<const known_network> know_network(network over, const M& model) {
    return std::make_shared<detail::network_of_ranks<M>>(std::move(over), model);
}

} // namespace bough

#endif
