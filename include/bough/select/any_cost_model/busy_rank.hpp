// SPDX-License-Identifier: BSL-1.0
// busy_rank: what the steps of one rank tell about the price of a plan, without a walk: a lower bound,
// and an estimate if all ranks do much alike.
#ifndef BOUGH_SELECT_ANY_COST_MODEL_BUSY_RANK_HPP
#define BOUGH_SELECT_ANY_COST_MODEL_BUSY_RANK_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/step.hpp>
#include <bough/model/arriving.hpp>
#include <bough/model/rendezvous.hpp>
#include <bough/model/taped_step.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

// A walk passes so many parts of messages, or more, in the time of one step.
inline constexpr std::uint64_t parts_of_a_step = 8;

// Adds up how long one rank is busy with its part, as if every message had been sent at once. It begins when
// the rank comes.
template <CostModel M>
class busy_rank {
public:
    constexpr busy_rank(const M& model, rank_t rank, std::span<const model::taped_step> steps)
        : clock_ns_(model.start_ns() + model::arrival_ns(model, rank)), out_ns_(clock_ns_), steps_(steps.size()) {
        double in_ns = 0;
        std::uint64_t parts = 0;
        for (const auto& s : steps) {
            parts += s.parts;
            switch (s.verb) {
            case verb::send:
                if constexpr (model::has_rendezvous_v<M>)
                    waits_ = waits_ || s.bytes > model::eager_bytes(model, rank, s.peer);
                clock_ns_ += model.send_ns(rank, s.peer, s.bytes);
                if constexpr (PortedCostModel<M>) out_ns_ += model.port_ns(rank, s.peer, s.bytes, false);
                break;
            case verb::receive: {
                double there_ns =
                    model.start_ns() + model.send_ns(s.peer, rank, s.bytes) + model.latency_ns(s.peer, rank, s.bytes);
                if constexpr (PortedCostModel<M>) {
                    there_ns = std::max(there_ns, in_ns);
                    if (!model.lands_early()) there_ns = std::max(there_ns, clock_ns_);
                    in_ns = there_ns += model.port_ns(s.peer, rank, s.bytes, false);
                }
                clock_ns_ = std::max(clock_ns_, there_ns) + model.receive_ns(s.peer, rank, s.bytes);
                break;
            }
            case verb::combine: clock_ns_ += model.combine_ns(rank, s.bytes); break;
            case verb::copy: clock_ns_ += model.copy_ns(rank, s.bytes); break;
            }
        }
        steps_ += parts / parts_of_a_step;
    }

    constexpr double end_ns() const noexcept { return std::max(clock_ns_, out_ns_); }
    // Is a message of it longer than those that set out whether or not their receiver is ready?
    constexpr bool waits() const noexcept { return waits_; }
    constexpr std::uint64_t steps() const noexcept { return steps_; }

private:
    double clock_ns_, out_ns_;
    std::uint64_t steps_;
    bool waits_ = false;
};

// When a rank would end if the others did what it does at the same time: the n-th message that it gets
// was then sent when it sent its own n-th, or its last.
template <CostModel M>
constexpr double alike_ns(const M& model, rank_t rank, std::span<const model::taped_step> steps) {
    double ns = model.start_ns() + model::arrival_ns(model, rank), out_ns = ns, in_ns = 0;
    plain_list<double> sent_ns;
    std::size_t received = 0;
    for (const auto& s : steps) switch (s.verb) {
        case verb::send:
            ns += model.send_ns(rank, s.peer, s.bytes);
            sent_ns.push_back(std::max(ns, out_ns));
            if constexpr (PortedCostModel<M>) out_ns = sent_ns.back() + model.port_ns(rank, s.peer, s.bytes, false);
            break;
        case verb::receive: {
            double there_ns = model.latency_ns(s.peer, rank, s.bytes);
            if (!sent_ns.empty()) there_ns += sent_ns[std::min(received, sent_ns.size() - 1)];
            ++received;
            if constexpr (PortedCostModel<M>) {
                there_ns = std::max(there_ns, in_ns);
                if (!model.lands_early()) there_ns = std::max(there_ns, ns);
                in_ns = there_ns += model.port_ns(s.peer, rank, s.bytes, false);
            }
            ns = std::max(ns, there_ns) + model.receive_ns(s.peer, rank, s.bytes);
            break;
        }
        case verb::combine: ns += model.combine_ns(rank, s.bytes); break;
        case verb::copy: ns += model.copy_ns(rank, s.bytes); break;
        }
    return ns;
}

} // namespace bough::inline BOUGH_ABI::detail

#endif
