// SPDX-License-Identifier: BSL-1.0
// known_network: what the choice of an algorithm knows of the cables that join the ranks. Make one by
// know_network (bough/select/know_network.hpp).
//
//   communicator_options::network = know_network(network::torus({4, 4}, 50, 200), model::lrc{...});
//
// A communicator of some of the ranks gets what joins those.
#ifndef BOUGH_SELECT_KNOWN_NETWORK_HPP
#define BOUGH_SELECT_KNOWN_NETWORK_HPP

#include <bough/core/rank.hpp>
#include <bough/schedule/plan.hpp>
#include <bough/select/any_cost_model.hpp>
#include <bough/select/candidates.hpp>

#include <memory>
#include <span>

namespace bough::inline BOUGH_ABI {

struct decision; // bough/select/choose.hpp

// It never changes, and is equal on all ranks.
class known_network {
public:
    known_network() = default;
    known_network(const known_network&) = delete;
    known_network& operator=(const known_network&) = delete;
    virtual ~known_network() = default;

    // What is wrong with it for so many ranks, if anything.
    virtual status check(rank_t ranks) const = 0;
    // Chooses among these candidates, and those that are made for the network.
    virtual decision choose(const candidate_list& from, const dimensions& at, const problem& what,
                            const requirements& needed) const = 0;
    // The same for some of the ranks, which are numbered in the order given.
    // Pre: each member is a rank, once.
    virtual std::shared_ptr<const known_network> among(std::span<const rank_t> members) const = 0;
};

} // namespace bough

#endif
