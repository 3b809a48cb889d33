// SPDX-License-Identifier: BSL-1.0
// busy_rank: what the steps of one rank tell about the price of a plan, without a walk: a lower bound,
// and an estimate if all ranks do much alike.
#ifndef BOUGH_SELECT_ANY_COST_MODEL_BUSY_RANK_HPP
#define BOUGH_SELECT_ANY_COST_MODEL_BUSY_RANK_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/model/arriving.hpp>
#include <bough/model/block_sizes.hpp>
#include <bough/model/rendezvous.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

// A walk passes so many parts of messages, or more, in the time of one step.
inline constexpr std::uint64_t parts_of_a_step = 8;

// When a rank would end if the others did what it does at the same time: the n-th message that it gets
// was then sent when it sent its own n-th, or its last.
struct alike_clock {
    double ns, out_ns, in_ns = 0;
    plain_list<double> sent_ns{};
    std::size_t received = 0;

    constexpr void work(double its_ns) { ns += its_ns; }
    constexpr void send(double send_ns, double port_ns) {
        ns += send_ns;
        const double begin_ns = std::max(ns, out_ns);
        sent_ns.push_back(begin_ns);
        out_ns = port_ns < 0 ? out_ns : begin_ns + port_ns;
    }
    constexpr void receive(double latency_ns, double receive_ns, double port_ns, bool lands_early) {
        double there_ns = latency_ns;
        if (!sent_ns.empty()) there_ns += sent_ns[std::min(received, sent_ns.size() - 1)];
        ++received;
        if (port_ns >= 0) {
            there_ns = std::max(there_ns, in_ns);
            if (!lands_early) there_ns = std::max(there_ns, ns);
            in_ns = there_ns += port_ns;
        }
        ns = std::max(ns, there_ns) + receive_ns;
    }
};

// The sink that adds up how long one rank is busy with its part, as if every message had been sent
// at once. It begins when the rank comes.
template <CostModel M>
class busy_rank {
public:
    constexpr busy_rank(const M& model, const model::block_sizes& sizes, rank_t rank)
        : model_(model), sizes_(sizes), rank_(rank), clock_ns_(model.start_ns() + model::arrival_ns(model, rank)),
          out_ns_(clock_ns_), alike_{clock_ns_, clock_ns_} {}

    constexpr double end_ns() const noexcept { return std::max(clock_ns_, out_ns_); }
    constexpr double alike_ns() const noexcept { return alike_.ns; }
    // Is a message of it longer than those that set out whether or not their receiver is ready?
    constexpr bool waits() const noexcept { return waits_; }
    constexpr std::uint64_t steps() const noexcept { return steps_ + parts_ / parts_of_a_step; }

    constexpr void send_part(rank_t, slice from) { part_bytes_ += sizes_.bytes_of(from), ++parts_; }
    constexpr void receive_part(rank_t, slice into) { part_bytes_ += sizes_.bytes_of(into), ++parts_; }
    constexpr void send(rank_t to, slice from) {
        const std::uint64_t bytes = message(from);
        const double send_ns = model_.send_ns(rank_, to, bytes);
        double port_ns = -1;
        if constexpr (model::has_rendezvous_v<M>) waits_ = waits_ || bytes > model::eager_bytes(model_, rank_, to);
        clock_ns_ += send_ns;
        if constexpr (PortedCostModel<M>) out_ns_ += port_ns = model_.port_ns(rank_, to, bytes, false);
        alike_.send(send_ns, port_ns);
    }
    constexpr void receive(rank_t from, slice into) {
        const std::uint64_t bytes = message(into);
        const double latency_ns = model_.latency_ns(from, rank_, bytes);
        const double receive_ns = model_.receive_ns(from, rank_, bytes);
        double there_ns = model_.start_ns() + model_.send_ns(from, rank_, bytes) + latency_ns, port_ns = -1;
        bool lands_early = true;
        if constexpr (PortedCostModel<M>) {
            lands_early = model_.lands_early();
            there_ns = std::max(there_ns, in_ns_);
            if (!lands_early) there_ns = std::max(there_ns, clock_ns_);
            there_ns += port_ns = model_.port_ns(from, rank_, bytes, false);
            in_ns_ = there_ns;
        }
        clock_ns_ = std::max(clock_ns_, there_ns) + receive_ns;
        alike_.receive(latency_ns, receive_ns, port_ns, lands_early);
    }
    constexpr void combine(slice, slice, slice out) { work(model_.combine_ns(rank_, sizes_.bytes_of(out))); }
    constexpr void copy(slice, slice to) { work(model_.copy_ns(rank_, sizes_.bytes_of(to))); }

private:
    constexpr void work(double ns) {
        clock_ns_ += ns;
        alike_.work(ns);
        ++steps_;
    }
    constexpr std::uint64_t message(const slice& s) {
        const std::uint64_t bytes = part_bytes_ + sizes_.bytes_of(s);
        part_bytes_ = 0;
        ++steps_;
        return bytes;
    }

    const M& model_;
    const model::block_sizes& sizes_;
    rank_t rank_;
    std::uint64_t part_bytes_ = 0;
    std::uint64_t steps_ = 0, parts_ = 0;
    double clock_ns_;
    double out_ns_;
    double in_ns_ = 0;
    alike_clock alike_;
    bool waits_ = false;
};

} // namespace bough::inline BOUGH_ABI::detail

#endif
