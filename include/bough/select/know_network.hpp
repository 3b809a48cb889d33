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
#include <bough/core/status.hpp>
#include <bough/select/choose.hpp>
#include <bough/select/known_network.hpp>
#include <bough/select/on_network.hpp>
#include <bough/simulate/network.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

namespace detail {

template <CostModel M>
class network_of_ranks final : public known_network {
public:
    network_of_ranks(network over, const M& model)
        : over_(std::make_shared<const network>(std::move(over))), model_(model) {}
    network_of_ranks(const network_of_ranks& whole, std::span<const rank_t> members)
        : over_(whole.over_), model_(whole.model_), has_members_(true) {
        for (const rank_t r : members) hosts_.push_back(whole.host_of(r));
    }

    // Between some ranks there are ways if there are between all.
    status check(rank_t ranks) const override {
        if (!has_members_) return over_->check(ranks);
        if (ranks > hosts_.size()) return invalid_argument("network: must join the ranks of this communicator");
        return {};
    }
    decision choose(const candidate_list& from, const dimensions& at, const problem& what,
                    const requirements& needed) const override {
        if (!has_members_) return choose_on(*over_, from, at, what, needed);
        network some = *over_; // for this choice: its table of ways is large
        some.placement = hosts_;
        return choose_on(some, from, at, what, needed);
    }
    std::shared_ptr<const known_network> among(std::span<const rank_t> members) const override {
        return std::make_shared<network_of_ranks>(*this, members);
    }

private:
    std::uint32_t host_of(rank_t rank) const { return has_members_ ? hosts_[rank] : over_->host_of(rank); }
    decision choose_on(const network& over, candidate_list from, const dimensions& at, const problem& what,
                       const requirements& needed) const {
        add_network_candidates(from, at, what, over);
        return bough::choose(from, at, what, on_network{over, model_}, {.needed = needed});
    }

    std::shared_ptr<const network> over_; // of all ranks
    M model_;                             // of equal ranks: their numbers change in among()
    std::vector<std::uint32_t> hosts_{};  // of the members
    bool has_members_ = false;
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
