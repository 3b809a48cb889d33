// SPDX-License-Identifier: BSL-1.0
// routes: how messages cross the network of a simulation, if it has one.
#ifndef BOUGH_SIMULATE_DETAIL_ROUTES_HPP
#define BOUGH_SIMULATE_DETAIL_ROUTES_HPP

#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>
#include <bough/simulate/detail/flows.hpp>
#include <bough/simulate/detail/wires.hpp>
#include <bough/simulate/network.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

class routes {
public:
    // nullptr: there is no network, and no message under way. Pre: the network outlives this object.
    constexpr routes(const network* over, rank_t ranks)
        : network_(over), nothing_(1, 0), flows_(over != nullptr ? *over : nothing_) {
        BOUGH_EXPECTS(over == nullptr || over->places(ranks),
                      "network: its placement names a host of the network for each rank");
    }
    routes(const routes&) = delete; // the flows refer to it
    routes& operator=(const routes&) = delete;

    constexpr bool exist() const noexcept { return network_ != nullptr; }

    // The messages under way:
    constexpr bool idle() const noexcept { return flows_.idle(); }
    constexpr double next_end_ns() { return flows_.next_end_ns(); }
    template <class Ended>
    constexpr void end_next(Ended&& ended) {
        flows_.end_next(std::forward<Ended>(ended));
    }

    // Message `m` goes onto the links. False: its bytes need no time there. Pre: exist().
    constexpr bool begin(std::uint32_t m, const sim_message& message, double now_ns) {
        find_path(message);
        return flows_.begin(m, path_, static_cast<double>(message.bytes), now_ns);
    }
    // What all links of its path take, besides the time for its bytes. Pre: exist().
    constexpr double hops_ns(const sim_message& message) {
        find_path(message);
        return network_->hop_ns * static_cast<double>(path_.size());
    }

private:
    constexpr void find_path(const sim_message& message) {
        path_.clear();
        const bool found = network_->path(network_->host_of(message.from), network_->host_of(message.to), path_);
        BOUGH_EXPECTS(found, "network: there is no way between two ranks that talk");
    }

    const network* network_;
    network nothing_;
    flows flows_;
    std::vector<std::uint32_t> path_;
};

} // namespace bough::detail

#endif
