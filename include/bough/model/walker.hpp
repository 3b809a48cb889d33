// SPDX-License-Identifier: BSL-1.0
// The walker: one pass over the steps of all ranks, without a queue of events. The walk
// (bough/model/walk.hpp, which says what a step costs and when) is this pass and no more. The
// simulator's static pass (bough/simulate/static.hpp) is this pass with noise.
//
// Nothing that ranks share, like a link, is modelled. So what a rank does follows from its own past
// and from the messages that it takes, and ranks may be visited in any order. A visit runs the
// steps of a rank up to the first message that has not been sent yet; when that message is sent,
// the rank is visited again. The visit emits the plan of the rank anew and skips what has run, or
// it runs the steps that an earlier visit has kept (detail/tapes.hpp). A plan may also have its steps written
// down (steps_of(rank)); then a visit reads on. How messages come to their receivers, and when, is in
// detail/carrier.hpp.
//
// `Conditions` says what may happen to ranks besides: when a rank starts, when a piece of work is
// done, and whether a rank runs the plan again; and when the pass may end before the plan does.
// no_conditions has the functions that are needed. They may have a member fold(), which says which
// ranks stand for all (bough/model/folded_ranks.hpp); only those are visited then.
#ifndef BOUGH_MODEL_WALKER_HPP
#define BOUGH_MODEL_WALKER_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/concepts/plan.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>
#include <bough/model/block_sizes.hpp>
#include <bough/model/detail/carrier.hpp>
#include <bough/model/detail/no_conditions.hpp>
#include <bough/model/detail/positions.hpp>
#include <bough/model/detail/tapes.hpp>
#include <bough/model/folded_ranks.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

namespace bough::inline BOUGH_ABI::model {

struct walk_result {
    double makespan_ns = 0;    // when the last rank ends
    double root_finish_ns = 0; // when the root ends
    rank_t last_rank = 0;      // the rank that ends last; the lowest if several do
    std::uint64_t steps = 0;
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0; // sent
    std::uint64_t unreceived = 0;
    // If the plan deadlocks: the lowest rank that waits for ever, and the rank for which it waits.
    // Then the figures above are of what ran.
    rank_t stuck = no_rank;
    rank_t stuck_on = no_rank;

    constexpr bool deadlock() const noexcept { return stuck != no_rank; }
    friend constexpr bool operator==(const walk_result&, const walk_result&) = default;
};

namespace detail {

// Has it its steps written down? It need not be a Plan then.
template <class P>
concept Taped = requires(const P& plan, rank_t rank) {
    { plan.steps_of(rank) } -> std::same_as<std::span<const taped_step>>;
};

template <class P, CostModel M, class Conditions = no_conditions>
requires(Plan<P> || Taped<P>) class walker {
    static constexpr bool may_fold = requires(const Conditions& c) { c.fold(); };
    using carrier = detail::carrier<M, may_fold>;

public:
    static constexpr std::size_t most_kept = std::size_t{64} * 1024 * 1024 / sizeof(taped_step);
    // `kept` is how many steps all waiting ranks together may keep copies of.
    constexpr walker(const P& plan, const M& model, std::uint64_t bytes, std::uint64_t element_bytes,
                     std::size_t kept = most_kept, Conditions conditions = {})
        : plan_(plan), model_(model), conditions_(std::move(conditions)), sizes_(bytes, plan.blocks(), element_bytes),
          visited_(fold_of(conditions_)), carrier_(model, visited_, plan.size()),
          tapes_(plan.size(), visited_.count(plan.size()), kept) {}

    constexpr walk_result run() {
        const rank_t size = plan_.size();
        const bool outwards = flows_outwards();
        for (rank_t i = 0; i != size; ++i) {
            const rank_t r = from_virtual(outwards ? i : size - 1 - i, plan_.root(), size);
            if (!visited_.has(r)) continue;
            begin(r);
            if (conditions_.is_enough(ranks()[r].clock_ns)) return so_far(r);
        }
        for (bough::detail::plain_list<rank_t> now; ranks().take_woken(now);) {
            tapes_.begin_pass();
            for (const rank_t r : now) {
                resume(r);
                if (conditions_.is_enough(ranks()[r].clock_ns)) return so_far(r);
            }
        }
        return summary();
    }

    // After run():
    constexpr double finish_ns(rank_t rank) const noexcept { return ranks()[rank].clock_ns; }
    // Steps, but a message in parts is one.
    constexpr std::uint64_t deeds() const noexcept { return deeds_; }
    constexpr const Conditions& conditions() const noexcept { return conditions_; }

private:
    // Visits one rank: the sink that runs its steps, up to the first message that has not been sent
    // yet. It may keep the steps from there on.
    class visitor {
    public:
        constexpr visitor(walker& w, rank_t rank, const position& from)
            : w_(w), rank_(rank), was_handed_(carrier::hands && from.awaits == positions::handed), done_(from.done),
              before_(done_), to_skip_(done_), clock_ns_(from.clock_ns), mine_(w.conditions_, rank) {}

        constexpr void send_part(rank_t, slice from) { part(from); }
        constexpr void receive_part(rank_t, slice into) { part(into); }
        constexpr void send(rank_t to, slice from) {
            if (to_skip_ != 0) return pass_over(verb::send, to, from);
            run_send(to, message_bytes(from));
            ++done_;
        }
        constexpr void receive(rank_t from, slice into) {
            if (to_skip_ != 0) return pass_over(verb::receive, from, into);
            const std::uint32_t parts = parts_;
            const std::uint64_t bytes = message_bytes(into);
            if (!run_receive(from, bytes)) return wait(from, bytes, parts);
            ++done_;
        }
        constexpr void combine(slice, slice, slice out) {
            if (to_skip_ != 0) return pass_over(verb::combine, no_rank, out);
            work(w_.model_.combine_ns(rank_, w_.sizes_.bytes_of(out)));
            ++done_;
        }
        constexpr void copy(slice, slice to) {
            if (to_skip_ != 0) return pass_over(verb::copy, no_rank, to);
            work(w_.model_.copy_ns(rank_, w_.sizes_.bytes_of(to)));
            ++done_;
        }

        // Runs the steps that were kept, to the end or to the next wait. True if they are used up
        // and there are more.
        constexpr bool rerun(tape& kept) {
            for (; !kept.empty(); ++kept.next)
                if (!run(kept.steps[kept.next])) return false;
            to_skip_ = done_;
            const bool ended = kept.complete;
            kept.clear();
            return !ended;
        }

        // Runs the steps of the rank, from where it is to the end or to the next wait.
        constexpr void run_on(std::span<const taped_step> all) {
            while (done_ != all.size() && run(all[done_])) {
            }
        }

        constexpr void start() { clock_ns_ = w_.conditions_.start(mine_, w_.model_, rank_); }
        // The plan was emitted to its end, or the steps that were kept are. Is it to be emitted again?
        constexpr bool again() {
            if (awaits_ != no_rank) {
                if (keeps_) w_.tapes_.complete(rank_);
                return false;
            }
            if (!w_.carrier_.end(rank_, clock_ns_)) return awaits_ = positions::itself, false;
            if (!w_.conditions_.again(mine_, w_.model_, rank_, clock_ns_)) return false;
            w_.deeds_ += done_ - before_;
            done_ = before_ = to_skip_ = 0;
            return true;
        }
        constexpr void leave() {
            w_.ranks().leave(rank_, {clock_ns_, done_, awaits_});
            w_.deeds_ += done_ - before_;
            w_.conditions_.leave(mine_, rank_);
        }

    private:
        // Runs a step that was written down. False: it waits for a message.
        BOUGH_ALWAYS_INLINE constexpr bool run(const taped_step& s) {
            switch (s.verb) {
            case verb::send: run_send(s.peer, s.bytes); break;
            case verb::receive:
                if (!run_receive(s.peer, s.bytes)) return awaits_ = s.peer, false;
                break;
            case verb::combine: work(w_.model_.combine_ns(rank_, s.bytes)); break;
            case verb::copy: work(w_.model_.copy_ns(rank_, s.bytes)); break;
            }
            ++done_;
            w_.parts_ += s.parts;
            return true;
        }
        constexpr void work(double ns) { clock_ns_ = w_.conditions_.work(mine_, rank_, clock_ns_, ns); }

        constexpr void run_send(rank_t to, std::uint64_t bytes) {
            BOUGH_EXPECTS(to < w_.ranks().size(), "plan: a step names a peer that is not a rank");
            ++w_.result_.messages;
            w_.result_.bytes += bytes;
            work(w_.model_.send_ns(rank_, to, bytes));
            w_.carrier_.send(rank_, to, bytes, clock_ns_);
        }
        // False if the message has not been sent yet.
        constexpr bool run_receive(rank_t from, std::uint64_t bytes) {
            BOUGH_EXPECTS(from < w_.ranks().size(), "plan: a step names a peer that is not a rank");
            const bool has_it = carrier::hands && std::exchange(was_handed_, false);
            if (!has_it && !w_.carrier_.receive(from, rank_, bytes, clock_ns_)) return false;
            work(w_.model_.receive_ns(from, rank_, bytes));
            ++w_.received_;
            return true;
        }

        constexpr void part(const slice& s) {
            if (to_skip_ == 0 || keeps_) ++parts_, part_bytes_ += w_.sizes_.bytes_of(s);
        }
        constexpr std::uint64_t message_bytes(const slice& last) {
            if (parts_ == 0) return w_.sizes_.bytes_of(last);
            w_.parts_ += std::exchange(parts_, 0);
            return std::exchange(part_bytes_, 0) + w_.sizes_.bytes_of(last);
        }
        // The rank waits for this message, so all that follow are passed over.
        BOUGH_COLD constexpr void wait(rank_t from, std::uint64_t bytes, std::uint32_t parts) {
            awaits_ = from;
            w_.parts_ -= parts;
            to_skip_ = std::numeric_limits<std::uint32_t>::max();
            keeps_ = w_.tapes_.begin() && w_.tapes_.keep(rank_, verb::receive, from, bytes, parts);
        }
        // Passes over a step that ran before, or that cannot run yet.
        BOUGH_ALWAYS_INLINE constexpr void pass_over(verb what, rank_t peer, const slice& s) {
            if (!keeps_)
                --to_skip_;
            else
                keep(what, peer, s);
        }
        BOUGH_COLD constexpr void keep(verb what, rank_t peer, const slice& s) {
            const std::uint64_t bytes = w_.sizes_.bytes_of(s) + std::exchange(part_bytes_, 0);
            keeps_ = w_.tapes_.keep(rank_, what, peer, bytes, std::exchange(parts_, 0));
        }

        walker& w_;
        rank_t rank_;
        rank_t awaits_ = no_rank;
        bool was_handed_;              // was it handed the message that it receives next?
        bool keeps_ = false;           // has it kept every step since it began to wait?
        std::uint32_t done_;           // how many steps have run
        std::uint32_t before_;         // how many of them before this visit
        std::uint32_t to_skip_;        // how many steps to pass over
        std::uint32_t parts_ = 0;      // parts of the message at hand, before its last
        std::uint64_t part_bytes_ = 0; // the bytes in these parts
        double clock_ns_;
        typename Conditions::of_rank mine_;
    };

    static constexpr const folded_ranks* fold_of(const Conditions& conditions) {
        if constexpr (may_fold)
            return conditions.fold();
        else
            return nullptr;
    }

    constexpr positions& ranks() noexcept { return carrier_.ranks(); }
    constexpr const positions& ranks() const noexcept { return carrier_.ranks(); }

    constexpr void begin(rank_t rank) {
        visitor v(*this, rank, position{});
        v.start();
        emit(rank, v);
    }
    constexpr void resume(rank_t rank) {
        visitor v(*this, rank, ranks()[rank]);
        if constexpr (carrier::meets)
            if (std::exchange(ranks()[rank].awaits, no_rank) == positions::itself)
                return v.again() ? emit(rank, v) : v.leave();
        if constexpr (!Taped<P>)
            if (tape* kept = tapes_.find(rank); kept != nullptr && !v.rerun(*kept)) {
                if (!v.again()) return v.leave();
            }
        emit(rank, v);
    }
    constexpr void emit(rank_t rank, visitor& v) {
        do {
            if constexpr (Taped<P>)
                v.run_on(plan_.steps_of(rank));
            else
                plan_.emit(rank, v);
        } while (v.again());
        v.leave();
    }

    // Does the root begin by sending? Then it is visited first and the others in the order of their
    // distance; otherwise the other way round. So no rank is visited in vain in rings, and in trees
    // whose parents have lower numbers than their children.
    constexpr bool flows_outwards() {
        if constexpr (Taped<P>) {
            for (const taped_step& s : plan_.steps_of(plan_.root()))
                if (s.peer != no_rank) return s.verb == verb::send;
            return false;
        } else {
            bool decided = false, outwards = false;
            plan_.emit(plan_.root(), step_sink{[&](const step& s) {
                           if (!decided && s.communicates()) decided = true, outwards = s.verb == verb::send;
                       }});
            return outwards;
        }
    }

    // What is known when the pass ends early, after a visit of this rank.
    constexpr walk_result so_far(rank_t rank) {
        result_.makespan_ns = ranks()[rank].clock_ns;
        result_.last_rank = rank;
        result_.steps = deeds_ + parts_;
        return result_;
    }
    constexpr walk_result summary() {
        result_.makespan_ns = ranks()[0].clock_ns;
        for (rank_t r = 0; r != plan_.size(); ++r) {
            if (result_.makespan_ns < ranks()[r].clock_ns)
                result_.makespan_ns = ranks()[r].clock_ns, result_.last_rank = r;
            if (ranks()[r].awaits == no_rank || result_.deadlock()) continue;
            result_.stuck = r, result_.stuck_on = ranks()[r].awaits;
            if constexpr (carrier::meets)
                if (result_.stuck_on == positions::itself) result_.stuck_on = carrier_.receiver_of_next(r);
        }
        result_.root_finish_ns = ranks()[plan_.root()].clock_ns;
        result_.steps = deeds_ + parts_;
        result_.unreceived = result_.messages - received_;
        return result_;
    }

    const P& plan_;
    const M& model_;
    Conditions conditions_;
    block_sizes sizes_;
    visited_ranks<may_fold> visited_;
    carrier carrier_;
    tapes tapes_;
    std::uint64_t deeds_ = 0;
    std::uint64_t parts_ = 0;
    std::uint64_t received_ = 0;
    walk_result result_;
};

} // namespace detail

} // namespace bough::model

#endif
