// SPDX-License-Identifier: BSL-1.0
// The walker: one pass over the steps of all ranks, without a queue of events. The walk
// (bough/model/walk.hpp, which says what a step costs and when) is this pass and no more. The
// simulator's static pass (bough/simulate/static.hpp) is this pass with noise.
//
// Nothing that ranks share, like a link, is modelled. So what a rank does follows from its own past
// and from the messages that it takes, and ranks may be visited in any order. A visit runs the
// steps of a rank up to the first message that has not been sent yet; when that message is sent,
// the rank is visited again. The visit emits the plan of the rank anew and skips what has run, or
// it runs the steps that an earlier visit has kept.
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
#include <bough/model/detail/mailbox.hpp>
#include <bough/model/detail/no_conditions.hpp>
#include <bough/model/detail/outbox.hpp>
#include <bough/model/detail/ports.hpp>
#include <bough/model/folded_ranks.hpp>
#include <bough/model/rendezvous.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

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

template <Plan P, CostModel M, class Conditions = no_conditions>
class walker {
    static constexpr bool ported = PortedCostModel<M>;
    static constexpr bool meets = has_rendezvous_v<M>;
    static constexpr bool folds = requires(const Conditions& c) { c.fold(); };
    using letter = std::conditional_t<ported, port_letter, std::conditional_t<meets, plain_letter, double>>;

public:
    static constexpr std::size_t most_kept = std::size_t{64} * 1024 * 1024 / sizeof(taped_step);
    // `kept` is how many steps all waiting ranks together may keep copies of.
    constexpr walker(const P& plan, const M& model, std::uint64_t bytes, std::uint64_t element_bytes,
                     std::size_t kept = most_kept, Conditions conditions = {})
        : plan_(plan), model_(model), conditions_(std::move(conditions)), sizes_(bytes, plan.blocks(), element_bytes),
          mail_(plan.size()), lanes_(plan.size(), lane{}), room_(kept / visited_ranks()) {
        if constexpr (ported) ports_ = bough::detail::plain_list<ports>(plan.size(), ports{});
        if (room_ < least_room) room_ = 0;
    }

    constexpr walk_result run() {
        const rank_t size = plan_.size();
        const bool outwards = flows_outwards();
        for (rank_t i = 0; i != size; ++i) {
            const rank_t r = from_virtual(outwards ? i : size - 1 - i, plan_.root(), size);
            if constexpr (folds)
                if (conditions_.fold() != nullptr && !conditions_.fold()->stands_for_others(r)) continue;
            begin(r);
            if (conditions_.is_enough(lanes_[r].clock_ns)) return so_far(r);
        }
        for (bough::detail::plain_list<rank_t> now; !woken_.empty();) {
            ++passes_;
            now.clear();
            std::swap(now, woken_);
            for (const rank_t r : now) {
                resume(r);
                if (conditions_.is_enough(lanes_[r].clock_ns)) return so_far(r);
            }
        }
        return summary();
    }

    // After run():
    constexpr double finish_ns(rank_t rank) const noexcept { return lanes_[rank].clock_ns; }
    // Steps, but a message in parts is one.
    constexpr std::uint64_t deeds() const noexcept { return deeds_; }
    constexpr const Conditions& conditions() const noexcept { return conditions_; }

private:
    static constexpr std::size_t least_room = 16; // steps per rank; keeping fewer does not pay
    // The rank no longer waits: the message was handed to it. Where messages may be rendezvous, none is
    // handed: there the rank has run all its steps, and waits, or waited, for its messages to begin.
    static constexpr rank_t handed = no_rank - 1;

    // How far a rank has come.
    struct lane {
        double clock_ns = 0;
        std::uint32_t done = 0;  // steps; a message in parts is one
        rank_t awaits = no_rank; // the sender of the message that it waits for
    };

    // Visits one rank: the sink that runs its steps, up to the first message that has not been sent
    // yet. It may keep the steps from there on.
    class visitor {
    public:
        constexpr visitor(walker& w, rank_t rank, const lane& from)
            : w_(w), rank_(rank), was_handed_(!meets && from.awaits == handed), done_(from.done), before_(done_),
              to_skip_(done_), clock_ns_(from.clock_ns), mine_(w.conditions_, rank) {}

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
            for (; !kept.empty(); ++kept.next) {
                const taped_step& s = kept.steps[kept.next];
                switch (s.verb) {
                case verb::send: run_send(s.peer, s.bytes); break;
                case verb::receive:
                    if (!run_receive(s.peer, s.bytes)) return awaits_ = s.peer, false;
                    break;
                case verb::combine: work(w_.model_.combine_ns(rank_, s.bytes)); break;
                case verb::copy: work(w_.model_.copy_ns(rank_, s.bytes)); break;
                }
                ++done_;
                parts_run_ += s.parts;
            }
            to_skip_ = done_;
            const bool ended = kept.complete;
            kept.clear();
            return !ended;
        }

        constexpr void start() { clock_ns_ = w_.conditions_.start(mine_, w_.model_, rank_); }
        // The plan was emitted to its end, or the steps that were kept are. Is it to be emitted again?
        constexpr bool again() {
            if (awaits_ != no_rank) {
                if (keeps_) w_.tapes_[rank_].complete = true;
                return false;
            }
            if constexpr (ported) hand_over(false);
            if constexpr (meets)
                if (!w_.outboxes_.empty()) {
                    const outbox<letter>& sent = w_.outboxes_[rank_];
                    if (!sent.empty()) return awaits_ = handed, false;
                    if (clock_ns_ < sent.there_ns) clock_ns_ = sent.there_ns;
                }
            if (!w_.conditions_.again(mine_, w_.model_, rank_, clock_ns_)) return false;
            w_.deeds_ += done_ - before_;
            done_ = before_ = to_skip_ = 0;
            return true;
        }
        constexpr void leave() {
            w_.lanes_[rank_] = {clock_ns_, done_, awaits_};
            w_.deeds_ += done_ - before_;
            if (parts_run_ != 0) w_.parts_ += parts_run_;
            w_.received_ += received_;
            if (awaits_ != no_rank) ++w_.waiting_;
            w_.conditions_.leave(mine_, rank_);
        }

    private:
        constexpr void work(double ns) { clock_ns_ = w_.conditions_.work(mine_, rank_, clock_ns_, ns); }

        constexpr void run_send(rank_t to, std::uint64_t bytes) {
            BOUGH_EXPECTS(to < w_.lanes_.size(), "plan: a step names a peer that is not a rank");
            ++w_.result_.messages;
            w_.result_.bytes += bytes;
            work(w_.model_.send_ns(rank_, to, bytes));
            if constexpr (ported) {
                hand_over(false);
                ports& mine = w_.ports_[rank_];
                mine.to = to, mine.bytes = bytes, mine.ready_ns = clock_ns_, mine.sent_last = true;
                mine.answers = mine.got_from == to ? mine.got : 0;
                ++mine.sends;
            } else if constexpr (meets) {
                if (w_.waits(rank_, to, bytes)) return w_.send(rank_, {{clock_ns_}, bytes, to});
                w_.post(rank_, {{clock_ns_}, bytes, to});
            } else {
                const double there_ns = clock_ns_ + w_.model_.latency_ns(rank_, to, bytes);
                const channel on = w_.channel_of(rank_, to);
                if (w_.waiting_ == 0 || w_.lanes_[on.to].awaits != on.from)
                    return w_.mail_.put(on.from, on.to, there_ns);
                if (w_.lanes_[on.to].clock_ns < there_ns) w_.lanes_[on.to].clock_ns = there_ns;
                w_.wake(on.to, handed);
            }
        }
        // False if the message has not been sent yet.
        constexpr bool run_receive(rank_t from, std::uint64_t bytes) {
            BOUGH_EXPECTS(from < w_.lanes_.size(), "plan: a step names a peer that is not a rank");
            if constexpr (ported) {
                hand_over(true);
                letter message{};
                if (!w_.mail_.take(from, rank_, message)) return false;
                ports& mine = w_.ports_[rank_];
                const bool duplex =
                    std::exchange(mine.sent_last, false) && message.then_receives && message.answers != mine.sends;
                mine.got_from = from, mine.got = message.number;
                double begin_ns = message.there_ns;
                if constexpr (meets)
                    if (message.announced) begin_ns = w_.meet(from, begin_ns, clock_ns_);
                if (begin_ns < mine.in_free_ns) begin_ns = mine.in_free_ns;
                if (begin_ns < clock_ns_ && !w_.model_.lands_early()) begin_ns = clock_ns_;
                mine.in_free_ns = begin_ns + w_.model_.port_ns(from, rank_, bytes, duplex);
                if (clock_ns_ < mine.in_free_ns) clock_ns_ = mine.in_free_ns;
            } else if constexpr (meets) {
                letter message{};
                if (!w_.mail_.take(from, rank_, message)) return false;
                if (message.announced) message.there_ns = w_.meet(from, message.there_ns, clock_ns_);
                if (clock_ns_ < message.there_ns) clock_ns_ = message.there_ns;
            } else if (!std::exchange(was_handed_, false)) {
                letter there_ns{};
                if (!w_.mail_.take(from, rank_, there_ns)) return false;
                if (clock_ns_ < there_ns) clock_ns_ = there_ns;
            }
            work(w_.model_.receive_ns(from, rank_, bytes));
            ++received_;
            return true;
        }
        // Hands the last send to the out port, now that it is known what comes after it.
        constexpr void hand_over(bool then_receives) {
            ports& mine = w_.ports_[rank_];
            if (mine.to == no_rank) return;
            const rank_t to = std::exchange(mine.to, no_rank);
            if constexpr (meets)
                if (w_.waits(rank_, to, mine.bytes))
                    return w_.send(rank_, {{mine.ready_ns, mine.sends, mine.answers, then_receives}, mine.bytes, to});
            const double begin_ns = mine.ready_ns < mine.out_free_ns ? mine.out_free_ns : mine.ready_ns;
            mine.out_free_ns = begin_ns + w_.model_.port_ns(rank_, to, mine.bytes, then_receives);
            const double there_ns = begin_ns + w_.model_.latency_ns(rank_, to, mine.bytes);
            const channel on = w_.channel_of(rank_, to);
            w_.mail_.put(on.from, on.to, {there_ns, mine.sends, mine.answers, then_receives});
            if (w_.waiting_ != 0 && w_.lanes_[on.to].awaits == on.from) w_.wake(on.to, no_rank);
        }

        constexpr void part(const slice& s) {
            if (to_skip_ == 0 || keeps_) ++parts_, part_bytes_ += w_.sizes_.bytes_of(s);
        }
        constexpr std::uint64_t message_bytes(const slice& last) {
            if (parts_ == 0) return w_.sizes_.bytes_of(last);
            parts_run_ += std::exchange(parts_, 0);
            return std::exchange(part_bytes_, 0) + w_.sizes_.bytes_of(last);
        }
        // The rank waits for this message, so all that follow are passed over.
        BOUGH_COLD constexpr void wait(rank_t from, std::uint64_t bytes, std::uint32_t parts) {
            awaits_ = from;
            parts_run_ -= parts;
            to_skip_ = std::numeric_limits<std::uint32_t>::max();
            keeps_ = w_.keeps() && w_.keep(rank_, verb::receive, from, bytes, parts);
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
            keeps_ = w_.keep(rank_, what, peer, bytes, std::exchange(parts_, 0));
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
        std::uint64_t parts_run_ = 0;
        std::uint64_t received_ = 0;
        double clock_ns_;
        typename Conditions::of_rank mine_;
    };

    constexpr rank_t visited_ranks() const {
        if constexpr (folds)
            if (conditions_.fold() != nullptr) return conditions_.fold()->members();
        return plan_.size();
    }
    // The channel that stands for this one.
    constexpr channel channel_of(rank_t from, rank_t to) const {
        if constexpr (folds)
            if (conditions_.fold() != nullptr) return conditions_.fold()->channel_of(from, to);
        return {from, to};
    }

    // Are the steps of a rank that waits to be kept? In a large group not the first time, as it may be
    // the only one.
    constexpr bool keeps() {
        if (room_ == 0 || (passes_ == 0 && visited_ranks() > 128)) return false;
        if (tapes_.empty()) tapes_ = std::vector<tape>(lanes_.size(), tape{});
        return true;
    }

    constexpr bool keep(rank_t rank, verb what, rank_t peer, std::uint64_t bytes, std::uint32_t parts) {
        bough::detail::plain_list<taped_step>& kept = tapes_[rank].steps;
        if (kept.size() == room_ || parts > 0xffff) return false;
        if (kept.capacity() == 0) kept.reserve(room_ < 64 ? room_ : 64);
        kept.push_back({bytes, peer, what, static_cast<std::uint16_t>(parts)});
        return true;
    }

    constexpr void begin(rank_t rank) {
        visitor v(*this, rank, lane{});
        v.start();
        emit(rank, v);
    }
    constexpr void resume(rank_t rank) {
        visitor v(*this, rank, lanes_[rank]);
        if constexpr (meets)
            if (std::exchange(lanes_[rank].awaits, no_rank) == handed) return v.again() ? emit(rank, v) : v.leave();
        if (!tapes_.empty() && !tapes_[rank].empty() && !v.rerun(tapes_[rank])) {
            if (!v.again()) return v.leave();
        }
        emit(rank, v);
    }
    constexpr void emit(rank_t rank, visitor& v) {
        do plan_.emit(rank, v);
        while (v.again());
        v.leave();
    }

    // --- rendezvous ---

    // Is this message a rendezvous, or behind one?
    constexpr bool waits(rank_t from, rank_t to, std::uint64_t bytes) const {
        return bytes > eager_bytes(model_, from, to) || (!outboxes_.empty() && !outboxes_[from].empty());
    }
    BOUGH_COLD constexpr void send(rank_t from, const sent_message<letter>& sent) {
        sent_message<letter> m = sent;
        m.letter.announced = m.bytes > eager_bytes(model_, from, m.to);
        if (outboxes_.empty()) outboxes_ = std::vector<outbox<letter>>(lanes_.size(), outbox<letter>{});
        const bool others = !outboxes_[from].empty();
        outboxes_[from].add(m);
        if (!others) post(from, m);
    }
    // Nothing is before this message: it begins, or, if it is a rendezvous, its notice goes out.
    constexpr void post(rank_t from, sent_message<letter> m) {
        m.letter.there_ns = m.letter.announced ? m.letter.there_ns + model_.latency_ns(from, m.to, 0)
                                               : begin(from, m, m.letter.there_ns);
        const channel on = channel_of(from, m.to);
        mail_.put(on.from, on.to, m.letter);
        if (waiting_ != 0 && lanes_[on.to].awaits == on.from) wake(on.to, no_rank);
    }
    // A message begins when those before it have, and not before `at_ns`. Returns when it is there.
    constexpr double begin(rank_t from, const sent_message<letter>& m, double at_ns) {
        double never = 0;
        double* free_ns = &never;
        if constexpr (ported)
            free_ns = &ports_[from].out_free_ns;
        else if (!outboxes_.empty())
            free_ns = &outboxes_[from].begun_ns;
        if (*free_ns < at_ns) *free_ns = at_ns;
        const double there_ns = *free_ns + model_.latency_ns(from, m.to, m.bytes);
        if constexpr (ported) *free_ns += model_.port_ns(from, m.to, m.bytes, m.letter.then_receives);
        return there_ns;
    }
    // The receiver of the rendezvous at the head of the outbox has been at it since `at_ns`, and its
    // notice came at `notice_ns`. Returns when the message is there.
    BOUGH_COLD constexpr double meet(rank_t from, double notice_ns, double at_ns) {
        if constexpr (folds)
            if (conditions_.fold() != nullptr) from = conditions_.fold()->stands_for(from);
        outbox<letter>& sent = outboxes_[from];
        const sent_message<letter> m = sent.take();
        const double both_ns = notice_ns < at_ns ? at_ns : notice_ns;
        const double there_ns = begin(from, m, both_ns + model_.latency_ns(m.to, from, 0));
        if (sent.there_ns < there_ns) sent.there_ns = there_ns;
        while (!sent.empty()) {
            if (sent.front().letter.announced) return post(from, sent.front()), there_ns;
            post(from, sent.take());
        }
        if (waiting_ != 0 && lanes_[from].awaits == handed) wake(from, handed);
        return there_ns;
    }

    constexpr void wake(rank_t rank, rank_t how) {
        lanes_[rank].awaits = how;
        --waiting_;
        woken_.push_back(rank);
    }

    // Does the root begin by sending? Then it is visited first and the others in the order of their
    // distance; otherwise the other way round. So no rank is visited in vain in rings, and in trees
    // whose parents have lower numbers than their children.
    constexpr bool flows_outwards() {
        bool decided = false, outwards = false;
        plan_.emit(plan_.root(), step_sink{[&](const step& s) {
                       if (!decided && s.communicates()) decided = true, outwards = s.verb == verb::send;
                   }});
        return outwards;
    }

    // What is known when the pass ends early, after a visit of this rank.
    constexpr walk_result so_far(rank_t rank) {
        result_.makespan_ns = lanes_[rank].clock_ns;
        result_.last_rank = rank;
        result_.steps = deeds_ + parts_;
        return result_;
    }
    constexpr walk_result summary() {
        result_.makespan_ns = lanes_[0].clock_ns;
        for (rank_t r = 0; r != plan_.size(); ++r) {
            if (result_.makespan_ns < lanes_[r].clock_ns)
                result_.makespan_ns = lanes_[r].clock_ns, result_.last_rank = r;
            if (lanes_[r].awaits == no_rank || result_.deadlock()) continue;
            result_.stuck = r, result_.stuck_on = lanes_[r].awaits;
            if constexpr (meets)
                if (result_.stuck_on == handed) result_.stuck_on = outboxes_[r].front().to;
        }
        result_.root_finish_ns = lanes_[plan_.root()].clock_ns;
        result_.steps = deeds_ + parts_;
        result_.unreceived = result_.messages - received_;
        return result_;
    }

    const P& plan_;
    const M& model_;
    Conditions conditions_;
    block_sizes sizes_;
    mailbox<letter> mail_;
    bough::detail::plain_list<lane> lanes_;
    bough::detail::plain_list<ports> ports_; // by rank, for a ported model
    std::vector<outbox<letter>> outboxes_;   // by rank; made when the first rendezvous is sent
    std::vector<tape> tapes_;                // made when the first rank keeps steps
    std::size_t room_;                       // of each tape, in steps
    bough::detail::plain_list<rank_t> woken_;
    rank_t waiting_ = 0;
    std::uint32_t passes_ = 0;
    std::uint64_t deeds_ = 0;
    std::uint64_t parts_ = 0;
    std::uint64_t received_ = 0;
    walk_result result_;
};

} // namespace detail

} // namespace bough::model

#endif
