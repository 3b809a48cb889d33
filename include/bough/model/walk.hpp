// SPDX-License-Identifier: BSL-1.0
// The walk: prices a plan by running its own steps against a CostModel. No formula, any algorithm, any size.
//
// Every rank has a clock, which begins at start_ns, and runs its steps in program order:
//   send      the sender is busy for send_ns; the message arrives latency_ns later. A send never waits for the receiver.
//   receive   waits until the message has arrived, then takes receive_ns
//   combine   takes combine_ns;   copy takes copy_ns
// The n-th receive from a peer takes the n-th message of that peer. Links carry any number of messages at once.
//
//   walk(plan, model, bytes)          prices a vector of `bytes`, cut into the plan's blocks
//   finish_times(plan, model, bytes)  when each rank ends
//
// *Time*    one visit per rank where a pass in order of the tree suffices (trees, rings); otherwise a rank that meets a
//           message not yet sent is left, and visited again when it is: its steps are emitted anew, those run skipped.
// *Memory*  28 bytes per rank, and 16 per message under way beyond the first of its sender.
#ifndef BOUGH_MODEL_WALK_HPP
#define BOUGH_MODEL_WALK_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/concepts/plan.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>
#include <bough/model/detail/mailbox.hpp>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace bough::model {

struct walk_result {
    double makespan_ns = 0;    // when the last rank ends
    double root_finish_ns = 0; // when the root ends
    rank_t last_rank = 0;      // the rank that ends last; the lowest of equals
    std::uint64_t steps = 0;
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0; // sent
    std::uint64_t unreceived = 0;
    // A plan that deadlocks: the lowest rank that waits for ever, and for whom. The figures above are of what ran.
    rank_t stuck = no_rank;
    rank_t stuck_on = no_rank;

    constexpr bool deadlock() const noexcept { return stuck != no_rank; }
    friend constexpr bool operator==(const walk_result&, const walk_result&) = default;
};

// The sizes of blocks: `bytes` cut into elements, and these into blocks; the first (elements mod blocks) have one more.
class block_sizes {
public:
    // Pre: blocks >= 1, element_bytes >= 1, bytes is a multiple of element_bytes.
    constexpr block_sizes(std::uint64_t bytes, block_t blocks, std::uint64_t element_bytes)
        : element_bytes_(element_bytes) {
        BOUGH_EXPECTS(element_bytes >= 1 && bytes % element_bytes == 0, "bytes: needs a whole number of elements");
        BOUGH_EXPECTS(blocks >= 1, "blocks: needs at least one");
        share_ = bytes / element_bytes / blocks;
        longer_ = static_cast<block_t>(bytes / element_bytes % blocks);
    }
    constexpr std::uint64_t bytes_of(const slice& s) const noexcept {
        return (s.count * share_ + (elements_extra(s.last()) - elements_extra(s.first))) * element_bytes_;
    }

private:
    constexpr std::uint64_t elements_extra(block_t before) const noexcept {
        return before < longer_ ? before : longer_;
    }

    std::uint64_t element_bytes_;
    std::uint64_t share_ = 0;
    block_t longer_ = 0;
};

namespace detail {

template <Plan P, CostModel M>
class walker {
public:
    constexpr walker(const P& plan, const M& model, std::uint64_t bytes, std::uint64_t element_bytes)
        : plan_(plan), model_(model), sizes_(bytes, plan.blocks(), element_bytes), mail_(plan.size()),
          lanes_(plan.size(), lane{model.start_ns(), 0, no_rank}) {}

    constexpr walk_result run() {
        const rank_t size = plan_.size();
        const bool outwards = flows_outwards();
        for (rank_t i = 0; i != size; ++i) visit(from_virtual(outwards ? i : size - 1 - i, plan_.root(), size));
        for (std::vector<rank_t> now; !woken_.empty();) {
            now.clear();
            std::swap(now, woken_);
            for (const rank_t r : now) visit(r);
        }
        return summary();
    }

    constexpr double finish_ns(rank_t rank) const noexcept { return lanes_[rank].clock_ns; }

private:
    // Where a rank stands.
    struct lane {
        double clock_ns;
        std::uint32_t done; // steps
        rank_t awaits;      // the sender of the message that it is stuck on
    };

    // The sink that runs the steps of one rank, up to the first message that was not sent yet.
    class visitor {
    public:
        constexpr visitor(walker& w, rank_t rank)
            : w_(w), rank_(rank), skip_(w.lanes_[rank].done), clock_ns_(w.lanes_[rank].clock_ns) {}

        constexpr void send_part(rank_t, slice from) {
            if (runs()) part_bytes_ += w_.sizes_.bytes_of(from);
        }
        constexpr void receive_part(rank_t, slice into) {
            if (runs()) ++parts_, part_bytes_ += w_.sizes_.bytes_of(into);
        }
        constexpr void send(rank_t to, slice from) {
            if (!runs()) return;
            BOUGH_EXPECTS(to < w_.lanes_.size(), "plan: a step names a peer that is not a rank");
            const std::uint64_t bytes = std::exchange(part_bytes_, 0) + w_.sizes_.bytes_of(from);
            clock_ns_ += w_.model_.send_ns(rank_, to, bytes);
            w_.mail_.put(rank_, to, clock_ns_ + w_.model_.latency_ns(rank_, to, bytes));
            ++w_.result_.messages;
            w_.result_.bytes += bytes;
            if (w_.waiting_ != 0 && w_.lanes_[to].awaits == rank_) w_.wake(to);
        }
        constexpr void receive(rank_t from, slice into) {
            if (!runs()) return;
            BOUGH_EXPECTS(from < w_.lanes_.size(), "plan: a step names a peer that is not a rank");
            double arrival_ns = 0;
            if (!w_.mail_.take(from, rank_, arrival_ns)) {
                awaits_ = from;
                seen_ -= 1 + parts_; // it comes back to the beginning of the message
                skip_ = std::numeric_limits<std::uint32_t>::max();
                return;
            }
            if (clock_ns_ < arrival_ns) clock_ns_ = arrival_ns;
            clock_ns_ += w_.model_.receive_ns(from, rank_, std::exchange(part_bytes_, 0) + w_.sizes_.bytes_of(into));
            parts_ = 0;
            ++received_;
        }
        constexpr void combine(slice, slice, slice out) {
            if (runs()) clock_ns_ += w_.model_.combine_ns(rank_, w_.sizes_.bytes_of(out));
        }
        constexpr void copy(slice, slice to) {
            if (runs()) clock_ns_ += w_.model_.copy_ns(rank_, w_.sizes_.bytes_of(to));
        }

        constexpr void leave() {
            w_.result_.steps += seen_ - w_.lanes_[rank_].done;
            w_.received_ += received_;
            w_.lanes_[rank_] = {clock_ns_, seen_, awaits_};
            if (awaits_ != no_rank) ++w_.waiting_;
        }

    private:
        constexpr bool runs() noexcept {
            if (seen_ >= skip_) return ++seen_, true;
            if (awaits_ == no_rank) ++seen_;
            return false;
        }

        walker& w_;
        rank_t rank_;
        rank_t awaits_ = no_rank;
        std::uint32_t seen_ = 0;
        std::uint32_t skip_;
        std::uint32_t parts_ = 0;      // of the message at hand, before its last
        std::uint64_t part_bytes_ = 0; // in them
        std::uint64_t received_ = 0;
        double clock_ns_;
    };

    constexpr void visit(rank_t rank) {
        visitor v(*this, rank);
        plan_.emit(rank, v);
        v.leave();
    }

    constexpr void wake(rank_t rank) {
        lanes_[rank].awaits = no_rank;
        --waiting_;
        woken_.push_back(rank);
    }

    // Does the root begin by sending? Then visit it first and the others in the order of their distance; otherwise the
    // other way round. In trees with parents below their children, and in rings, nobody is then visited in vain.
    constexpr bool flows_outwards() const {
        bool decided = false, outwards = false;
        plan_.emit(plan_.root(), step_sink{[&](const step& s) {
                       if (!decided && s.communicates()) decided = true, outwards = s.verb == verb::send;
                   }});
        return outwards;
    }

    constexpr walk_result summary() {
        result_.makespan_ns = lanes_[0].clock_ns;
        for (rank_t r = 0; r != plan_.size(); ++r) {
            if (result_.makespan_ns < lanes_[r].clock_ns)
                result_.makespan_ns = lanes_[r].clock_ns, result_.last_rank = r;
            if (lanes_[r].awaits != no_rank && !result_.deadlock())
                result_.stuck = r, result_.stuck_on = lanes_[r].awaits;
        }
        result_.root_finish_ns = lanes_[plan_.root()].clock_ns;
        result_.unreceived = result_.messages - received_;
        return result_;
    }

    const P& plan_;
    const M& model_;
    block_sizes sizes_;
    mailbox mail_;
    std::vector<lane> lanes_;
    std::vector<rank_t> woken_;
    rank_t waiting_ = 0;
    std::uint64_t received_ = 0;
    walk_result result_;
};

} // namespace detail

// Pre: bytes is a multiple of element_bytes.
template <Plan P, CostModel M>
constexpr walk_result walk(const P& plan, const M& model, std::uint64_t bytes, std::uint64_t element_bytes = 1) {
    return detail::walker<P, M>(plan, model, bytes, element_bytes).run();
}

// When each rank ends (in a plan that deadlocks: gets stuck).
template <Plan P, CostModel M>
constexpr std::vector<double> finish_times(const P& plan, const M& model, std::uint64_t bytes,
                                           std::uint64_t element_bytes = 1) {
    detail::walker<P, M> walker(plan, model, bytes, element_bytes);
    walker.run();
    std::vector<double> times;
    for (rank_t r = 0; r != plan.size(); ++r) times.push_back(walker.finish_ns(r));
    return times;
}

// The degree in 2 .. max_degree whose plan has the least makespan; the smallest of equals. Pre: max_degree >= 2.
//   best_degree_by_walk([](rank_t f) { return plan_reduce(tree_reduce{fnomial{.degree = f}}, {.size = 31}); }, m, 8, 16)
template <class PlanOfDegree, CostModel M>
constexpr rank_t best_degree_by_walk(const PlanOfDegree& plan_of, const M& model, std::uint64_t bytes,
                                     rank_t max_degree, std::uint64_t element_bytes = 1) {
    BOUGH_EXPECTS(max_degree >= 2, "max_degree: an f-nomial tree needs at least 2");
    rank_t best = 2;
    double best_ns = walk(plan_of(rank_t{2}), model, bytes, element_bytes).makespan_ns;
    for (rank_t f = 3; f <= max_degree; ++f) {
        const double ns = walk(plan_of(f), model, bytes, element_bytes).makespan_ns;
        if (ns < best_ns) best = f, best_ns = ns;
    }
    return best;
}

} // namespace bough::model

#endif
