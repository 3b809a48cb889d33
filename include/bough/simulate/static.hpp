// SPDX-License-Identifier: BSL-1.0
// The static pass: the simulator's fast engine. It runs each step of a plan once, in the order in
// which messages make ranks ready, without a queue of events.
//
// The times are those of the walk (bough/model/walk.hpp): a rank does its steps in program order; a
// send takes send_ns and its message is there latency_ns later; a receive waits for the message and
// takes receive_ns. Nothing that ranks share, like a link, is modelled. So what a rank does follows
// from its own past and from the messages that it takes, and ranks may be visited in any order.
// Noise (bough/simulate/noise.hpp) is a function of rank and time, so it can be priced here.
//
// A rank's steps run as its plan emits them. A rank that must wait is left; it is visited again
// when its message has been sent, and is handed the message then. Early in a schedule the visit
// emits the schedule again and skips what was done. Later it runs a copy of the steps that were
// left, eight bytes each, as far as options.memory_bytes allows.
//
// Time     one visit per step; in addition, per wait, the steps skipped: patience_ at most, or one
//          in `window_`
// Memory   28 bytes per rank, 12 per message under way beyond the first of its sender, 8 per copied step (memory_bytes)
#ifndef BOUGH_SIMULATE_STATIC_HPP
#define BOUGH_SIMULATE_STATIC_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/concepts/plan.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/model/walk.hpp>
#include <bough/simulate/detail/deeds.hpp>
#include <bough/simulate/detail/letters.hpp>
#include <bough/simulate/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <Plan P, CostModel M, class Noise>
class static_pass {
public:
    constexpr static_pass(const P& plan, const M& model, const Noise& noise, const sim_options& options)
        : plan_(plan), model_(model), noise_(noise), options_(options),
          sizes_(options.bytes, plan.blocks(), options.element_bytes), letters_(plan.size()),
          lanes_(plan.size(), lane{}) {
        window_ = static_cast<std::uint32_t>(
            std::clamp<std::size_t>(options.memory_bytes / (sizeof(packed_deed) * plan.size()), 64, 1u << 30));
        if (options.operations > 1) operations_.resize(plan.size(), 0);
        if (options.per_rank) busy_.resize(plan.size(), 0.0);
    }

    constexpr sim_result run() {
        const rank_t size = plan_.size();
        const bool outwards = flows_outwards();
        for (rank_t i = 0; i != size; ++i) begin(from_virtual(outwards ? i : size - 1 - i, plan_.root(), size));
        for (std::vector<rank_t> now; !woken_.empty();) {
            now.clear();
            std::swap(now, woken_);
            for (const rank_t r : now) resume(r);
        }
        return summary();
    }

private:
    static constexpr std::uint32_t patience_ = 64; // up to so many steps are emitted again instead of copied
    static constexpr std::uint32_t none_ = 0xffff'ffffu;
    static constexpr rank_t handed_ = no_rank - 1; // it no longer waits: the message was handed to it

    // How far a rank has come.
    struct lane {
        double clock_ns = 0;
        std::uint32_t done = 0;  // how many deeds of this operation are done
        rank_t awaits = no_rank; // the sender of the message that it is stuck on
    };
    // The copied deeds of a rank: deeds_[first + at] up to deeds_[first + end]. If truncated, more
    // are still to be emitted.
    struct copied {
        std::size_t first = 0;
        std::uint32_t at = 0, end = 0, room = 0;
        bool truncated = false;
    };

    // Visits one rank: a sink that runs its deeds, up to the first message that has not been sent
    // yet.
    class visitor {
    public:
        constexpr visitor(static_pass& s, rank_t rank)
            : s_(s), rank_(rank), was_handed_(s.lanes_[rank].awaits == handed_), seen_(s.lanes_[rank].done),
              before_(seen_), skip_(seen_), clock_ns_(s.lanes_[rank].clock_ns), factor_(s.noise_.factor(rank)) {}

        constexpr void send_part(rank_t, slice from) { add_part(from); }
        constexpr void receive_part(rank_t, slice into) { add_part(into); }
        constexpr void send(rank_t to, slice from) {
            if (skips()) return;
            if (awaits_ != no_rank) return left_out(verb::send, to, from);
            ++seen_;
            do_send(to, s_.sizes_.bytes_of(from) + std::exchange(part_bytes_, 0));
        }
        constexpr void receive(rank_t from, slice into) {
            if (skips()) return;
            if (awaits_ == no_rank && do_receive(from, s_.sizes_.bytes_of(into) + part_bytes_)) {
                ++seen_;
                part_bytes_ = 0;
            } else {
                if (awaits_ == no_rank) block(from);
                left_out(verb::receive, from, into);
            }
        }
        constexpr void combine(slice, slice, slice out) {
            if (skips()) return;
            if (awaits_ != no_rank) return left_out(verb::combine, no_rank, out);
            ++seen_;
            work(s_.model_.combine_ns(rank_, s_.sizes_.bytes_of(out)));
        }
        constexpr void copy(slice, slice to) {
            if (skips()) return;
            if (awaits_ != no_rank) return left_out(verb::copy, no_rank, to);
            ++seen_;
            work(s_.model_.copy_ns(rank_, s_.sizes_.bytes_of(to)));
        }

        // Runs the deeds that were copied, to the end or to the next wait.
        constexpr void run_copied(copied& c) {
            skip_ = 0;
            std::uint32_t at = c.at;
            for (; at != c.end; ++at) {
                const deed d = s_.packer_.unpack(s_.deeds_[c.first + at]);
                switch (d.verb) {
                case verb::send: do_send(d.peer, d.bytes); break;
                case verb::receive:
                    if (!do_receive(d.peer, d.bytes)) awaits_ = d.peer;
                    break;
                case verb::combine: work(s_.model_.combine_ns(rank_, d.bytes)); break;
                case verb::copy: work(s_.model_.copy_ns(rank_, d.bytes)); break;
                }
                if (awaits_ != no_rank) break;
            }
            seen_ += at - c.at;
            c.at = at;
        }

        constexpr void enter() {
            const double ns = s_.model_.start_ns();
            busy_ns_ += ns * factor_;
            clock_ns_ = s_.noise_.enter(rank_, clock_ns_, ns);
        }
        constexpr void compute(double ns) {
            busy_ns_ += ns * factor_;
            clock_ns_ = s_.noise_.compute(rank_, clock_ns_, ns);
        }
        constexpr void at(double clock_ns) { clock_ns_ = clock_ns; }
        constexpr void end_operation() {
            clock_ns_ = s_.noise_.leave(rank_, clock_ns_);
            s_.result_.events += seen_ - before_;
            skip_ = seen_ = before_ = 0;
        }
        constexpr bool waits() const noexcept { return awaits_ != no_rank; }

        constexpr void leave() {
            static_pass& s = s_;
            s.lanes_[rank_] = {clock_ns_, seen_, awaits_};
            if (awaits_ != no_rank) ++s.waiting_;
            s.result_.events += seen_ - before_;
            s.received_ += received_;
            s.total_busy_ns_ += busy_ns_;
            if (!s.busy_.empty()) s.busy_[rank_] += busy_ns_;
        }

    private:
        // Is the next deed to be skipped? It was done before this visit, or it comes after the wait
        // that ended the visit and is not copied.
        BOUGH_ALWAYS_INLINE constexpr bool skips() noexcept { return skip_ != 0 && (--skip_, true); }
        constexpr void work(double ns) {
            busy_ns_ += ns * factor_;
            clock_ns_ = s_.noise_.work(rank_, clock_ns_, ns);
        }
        constexpr void do_send(rank_t to, std::uint64_t bytes) {
            BOUGH_EXPECTS(to < s_.lanes_.size(), "plan: a step names a peer that is not a rank");
            work(s_.model_.send_ns(rank_, to, bytes));
            ++s_.result_.messages;
            s_.result_.bytes += bytes;
            const double there_ns = clock_ns_ + s_.model_.latency_ns(rank_, to, bytes);
            if (s_.waiting_ != 0 && s_.lanes_[to].awaits == rank_)
                s_.hand_over(to, there_ns);
            else
                s_.letters_.put(rank_, to, there_ns);
        }
        constexpr bool do_receive(rank_t from, std::uint64_t bytes) {
            BOUGH_EXPECTS(from < s_.lanes_.size(), "plan: a step names a peer that is not a rank");
            if (!std::exchange(was_handed_, false)) {
                double there_ns = 0;
                if (!s_.letters_.take(from, rank_, there_ns)) return false;
                if (clock_ns_ < there_ns) clock_ns_ = there_ns;
            }
            work(s_.model_.receive_ns(from, rank_, bytes));
            ++received_;
            return true;
        }
        constexpr void block(rank_t on) {
            awaits_ = on;
            if (seen_ > patience_)
                copies_ = s_.copies_of(rank_);
            else
                skip_ = std::numeric_limits<std::uint32_t>::max();
        }
        constexpr void add_part(const slice& part) noexcept {
            if (skip_ == 0) part_bytes_ += s_.sizes_.bytes_of(part);
        }
        // Takes a deed after the wait that ended the visit.
        constexpr void left_out(verb what, rank_t peer, const slice& last) {
            if (copies_ != none_)
                s_.copy_deed(copies_, {what, peer, s_.sizes_.bytes_of(last) + std::exchange(part_bytes_, 0)});
        }

        static_pass& s_;
        rank_t rank_;
        rank_t awaits_ = no_rank;
        bool was_handed_;      // was it handed the message that it receives next?
        std::uint32_t seen_;   // how many deeds of this operation are done
        std::uint32_t before_; // how many were done before this visit
        std::uint32_t skip_;   // how many deeds are to be skipped
        std::uint32_t copies_ = none_;
        std::uint64_t part_bytes_ = 0;
        std::uint64_t received_ = 0;
        double clock_ns_;
        double busy_ns_ = 0;
        double factor_;
    };

    constexpr void begin(rank_t rank) {
        visitor v(*this, rank);
        v.at(noise_.arrival_ns(rank));
        v.enter();
        plan_.emit(rank, v);
        go_on(rank, v);
    }
    constexpr void resume(rank_t rank) {
        visitor v(*this, rank);
        const std::uint32_t copy = copy_of_.empty() ? none_ : copy_of_[rank];
        if (copy != none_ && copied_[copy].at != copied_[copy].end) {
            v.run_copied(copied_[copy]);
            if (!v.waits() && copied_[copy].truncated) {
                v.leave();
                visitor again(*this, rank);
                plan_.emit(rank, again);
                return go_on(rank, again);
            }
        } else {
            plan_.emit(rank, v);
        }
        go_on(rank, v);
    }
    // After a visit: if the operation is done, goes on with the next.
    constexpr void go_on(rank_t rank, visitor& v) {
        while (!v.waits()) {
            v.end_operation();
            if (operations_.empty() || ++operations_[rank] >= options_.operations) break;
            v.compute(options_.compute_ns);
            v.enter();
            plan_.emit(rank, v);
        }
        v.leave();
    }

    // Hands rank `to` the message that it waits for.
    constexpr void hand_over(rank_t to, double there_ns) {
        lane& l = lanes_[to];
        if (l.clock_ns < there_ns) l.clock_ns = there_ns;
        l.awaits = handed_;
        --waiting_;
        woken_.push_back(to);
    }

    // The number of a rank's copy, which is emptied.
    constexpr std::uint32_t copies_of(rank_t rank) {
        if (copy_of_.empty()) copy_of_.resize(lanes_.size(), std::uint32_t{none_});
        std::uint32_t& copy = copy_of_[rank];
        if (copy == none_) {
            copy = static_cast<std::uint32_t>(copied_.size());
            copied_.push_back({deeds_used_, 0, 0, 0, false});
        }
        copied_[copy].at = copied_[copy].end = 0;
        copied_[copy].truncated = false;
        return copy;
    }
    constexpr void copy_deed(std::uint32_t copy, const deed& d) {
        copied& c = copied_[copy];
        if (c.end == c.room) {
            // Only the youngest copy can grow.
            if (c.room == window_ || c.first + c.room != deeds_used_) return void(c.truncated = true);
            if (deeds_used_ == deeds_.size()) deeds_.resize(2 * deeds_.size() + 1024, packed_deed{});
            ++deeds_used_;
            ++c.room;
        }
        deeds_[c.first + c.end++] = packer_.pack(d);
    }

    // Does the root begin by sending? Then ranks are visited from the root on, in the order of
    // distance; otherwise the other way round.
    constexpr bool flows_outwards() const {
        bool decided = false, outwards = false;
        plan_.emit(plan_.root(), step_sink{[&](const step& s) {
                       if (!decided && s.communicates()) decided = true, outwards = s.verb == verb::send;
                   }});
        return outwards;
    }

    constexpr sim_result summary() {
        for (rank_t r = 0; r != plan_.size(); ++r) {
            const lane& l = lanes_[r];
            result_.add(r, {noise_.arrival_ns(r), l.clock_ns, busy_.empty() ? 0 : busy_[r], 0}, options_.per_rank);
            if (l.awaits != no_rank && !result_.deadlock()) result_.stuck = r, result_.stuck_on = l.awaits;
        }
        result_.end(lanes_[plan_.root()].clock_ns, total_busy_ns_, received_);
        return std::move(result_);
    }

    const P& plan_;
    const M& model_;
    const Noise& noise_;
    const sim_options& options_;
    model::block_sizes sizes_;
    letters letters_;
    deed_packer packer_;
    std::vector<lane> lanes_;
    std::vector<std::uint32_t> operations_; // by rank: how many are finished; empty if there is one only
    std::vector<double> busy_;              // by rank, if it is asked for
    std::vector<std::uint32_t> copy_of_;    // by rank; empty until the first copy is made
    std::vector<copied> copied_;
    std::vector<packed_deed> deeds_;
    std::size_t deeds_used_ = 0;
    std::vector<rank_t> woken_;
    std::uint32_t window_ = 0;
    rank_t waiting_ = 0;
    double total_busy_ns_ = 0;
    std::uint64_t received_ = 0;
    sim_result result_;
};

} // namespace bough::detail

#endif
