// SPDX-License-Identifier: BSL-1.0
// Flows: computes when messages that share the links of a network arrive. Messages share links like
// fluids, max-min fair: no flow can get more without taking from a flow that has no more than it.
//
// Rates change when a flow begins or ends. They are found by progressive filling: find the link
// that leaves least to each of its flows, give its flows that rate, and go on with the rest.
// Time: flows under way x links of their paths, per change.
//
// Which of two flows ends first may depend on the last bit of a rate. A compiler that fuses a
// multiplication with the addition after it rounds once less, and then a long run over shared links
// can end at another time: 1962.082 or 1963.137 us in doc/simulate.md. If you need the same times
// on every machine, compile with -ffp-contract=off, as the tool bough is compiled.
#ifndef BOUGH_SIMULATE_DETAIL_FLOWS_HPP
#define BOUGH_SIMULATE_DETAIL_FLOWS_HPP

#include <bough/simulate/network.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

class flows {
public:
    constexpr explicit flows(const network& n) : network_(n), links_(n.links().size(), state{}) {}

    // A message of `bytes` bytes sets out. False if it needs no time: it has no bytes or crosses no
    // link.
    constexpr bool begin(std::uint32_t message, const std::vector<std::uint32_t>& path, double bytes, double now_ns) {
        if (bytes <= 0 || path.empty()) return false;
        advance(now_ns);
        flow f{message, {}, bytes, 0, false};
        f.path = path;
        active_.push_back(static_cast<flow&&>(f));
        stale_ = true;
        return true;
    }

    constexpr bool idle() const noexcept { return active_.empty(); }

    // When the next flow ends, if no other begins before that. Pre: !idle().
    constexpr double next_end_ns() {
        if (stale_) share();
        double first = std::numeric_limits<double>::infinity();
        for (const flow& f : active_) {
            const double end = now_ns_ + f.left / f.rate;
            if (end < first) first = end;
        }
        return first;
    }

    // Lets time pass until the next flow ends. Calls ended(message) for each flow that ends then,
    // in the order in which they began.
    template <class Ended>
    constexpr void end_next(Ended&& ended) {
        const double end = next_end_ns();
        double least =
            std::numeric_limits<double>::infinity(); // if several end together, rounding may leave a little in some
        for (const flow& f : active_) least = f.left / f.rate < least ? f.left / f.rate : least;
        const double same = least * (1 + 0x1p-40);
        std::size_t kept = 0;
        // What has no time, since a cost is infinite or NaN, ends now: so each call ends a flow.
        for (flow& f : active_) f.done = !(f.left / f.rate > same);
        advance(end);
        ended_.clear();
        for (std::size_t i = 0; i != active_.size(); ++i) {
            if (active_[i].done) {
                ended_.push_back(active_[i].message);
            } else {
                if (kept != i) active_[kept] = static_cast<flow&&>(active_[i]);
                ++kept;
            }
        }
        while (active_.size() != kept) active_.pop_back();
        stale_ = true;
        for (const std::uint32_t m : ended_) ended(m);
    }

    // The rate of a message under way, in bytes per ns. For tests.
    constexpr double rate_of(std::uint32_t message) {
        if (stale_) share();
        for (const flow& f : active_)
            if (f.message == message) return f.rate;
        return 0;
    }

private:
    struct flow {
        std::uint32_t message = 0;
        std::vector<std::uint32_t> path{};
        double left = 0; // bytes
        double rate = 0; // bytes per ns
        bool done = false;
    };
    struct state {
        double left = 0;
        std::uint32_t flows = 0; // how many flows have no rate yet
    };

    constexpr void advance(double to_ns) {
        if (stale_ && to_ns > now_ns_ && !active_.empty()) share();
        for (flow& f : active_) {
            f.left -= f.rate * (to_ns - now_ns_);
            if (f.left < 0) f.left = 0;
        }
        now_ns_ = to_ns;
    }

    constexpr void share() {
        stale_ = false;
        used_.clear();
        for (flow& f : active_) {
            f.rate = 0;
            for (const std::uint32_t l : f.path) {
                if (links_[l].flows == 0) {
                    links_[l].left = network_.links()[l].bytes_per_ns;
                    used_.push_back(l);
                }
                ++links_[l].flows;
            }
        }
        for (std::size_t open = active_.size(); open != 0;) {
            double least = std::numeric_limits<double>::infinity();
            for (const std::uint32_t l : used_)
                if (links_[l].flows != 0 && links_[l].left / links_[l].flows < least)
                    least = links_[l].left / links_[l].flows;
            full_.clear();
            for (const std::uint32_t l : used_)
                if (links_[l].flows != 0 && links_[l].left / links_[l].flows <= least * (1 + 0x1p-40))
                    full_.push_back(l);
            for (const std::uint32_t l : full_) links_[l].left = -1;
            for (flow& f : active_) {
                if (f.rate != 0) continue;
                bool stops = false;
                for (const std::uint32_t l : f.path) stops |= links_[l].left < 0;
                if (!stops) continue;
                f.rate = least;
                --open;
            }
            // Count anew what is left to the other flows, so that no rounding errors pile up.
            for (const std::uint32_t l : used_) links_[l] = {network_.links()[l].bytes_per_ns, 0};
            for (const flow& f : active_)
                for (const std::uint32_t l : f.path) {
                    links_[l].left -= f.rate;
                    links_[l].flows += f.rate == 0;
                }
            for (const std::uint32_t l : used_)
                if (links_[l].left < 0) links_[l].left = 0;
        }
        for (const std::uint32_t l : used_) links_[l].flows = 0;
    }

    const network& network_;
    std::vector<state> links_;
    std::vector<flow> active_;
    std::vector<std::uint32_t> used_, full_, ended_;
    double now_ns_ = 0;
    bool stale_ = false;
};

} // namespace bough::detail

#endif
