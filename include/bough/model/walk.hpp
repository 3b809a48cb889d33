// SPDX-License-Identifier: BSL-1.0
// The walk: prices a plan by running its own steps against a CostModel. It needs no formula, and
// works for any algorithm and size.
//
// Every rank has a clock, which begins at start_ns, or arrival_ns(rank) later if the model has that, and runs its steps in
// program order:
//   send      the sender is busy for send_ns; the message arrives latency_ns later. A send never waits for the receiver.
//   receive   waits until the message has arrived, then takes receive_ns
//   combine   takes combine_ns;   copy takes copy_ns
// The n-th receive from a peer takes the n-th message of that peer. Links carry any number of messages at once.
//
// Under a PortedCostModel every rank also has an out port and an in port, which carry one message at a time each:
//   send      when send_ns is over, the message is handed to the out port, which it holds for port_ns from the moment that
//             the port is free; it is at the receiver latency_ns after it began. The sender goes on at once.
//   receive   the in port takes the messages in the order of the receives, each for port_ns, and not before it is there nor,
//             unless the model lands_early(), before the rank asks for it; then the rank takes receive_ns
// A message is duplex if it is half of an exchange. Then its sender's next message step is a
// receive, and its receiver's previous message step is a send, but not of a message that this one
// answers, that is, the message that the sender received last. The out port cannot know of the
// receiver, so it goes by the sender alone. Copies and combines in between do not count. A message
// in parts is one message.
//
//   walk(plan, model, bytes)          prices a vector of `bytes`, cut into the plan's blocks
//   finish_times(plan, model, bytes)  when each rank ends; it does not wait for its out port
//
// *Time*    one visit per rank if a pass in the order of the tree suffices (trees, rings).
//           Otherwise a rank that needs a message not yet sent is left, and visited again when the
//           message is sent. Its steps are then emitted anew, and those that have run are skipped.
//           From about its ninth visit on its next steps are kept, up to 64 MiB for all ranks.
// *Memory*  28 bytes per rank (ports: 100), 16 per message under way beyond the first of its sender (ports: 32), kept steps
#ifndef BOUGH_MODEL_WALK_HPP
#define BOUGH_MODEL_WALK_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/concepts/plan.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>
#include <bough/model/detail/mailbox.hpp>
#include <bough/model/detail/ports.hpp>

#include <cstddef>
#include <cstdint>
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

// The sizes of blocks. `bytes` bytes are cut into elements, and these into blocks; the first
// (elements mod blocks) blocks have one element more.
class block_sizes {
public:
    // Pre: blocks >= 1, element_bytes >= 1, bytes is a multiple of element_bytes.
    constexpr block_sizes(std::uint64_t bytes, block_t blocks, std::uint64_t element_bytes)
        : element_bytes_(element_bytes) {
        BOUGH_EXPECTS(element_bytes >= 1 && bytes % element_bytes == 0, "bytes: needs a whole number of elements");
        BOUGH_EXPECTS(blocks >= 1, "blocks: needs at least one");
        share_bytes_ = bytes / element_bytes / blocks * element_bytes;
        longer_ = static_cast<block_t>(bytes / element_bytes % blocks);
    }
    constexpr std::uint64_t bytes_of(const slice& s) const noexcept {
        if (longer_ == 0) return s.count * share_bytes_;
        return s.count * share_bytes_ + (elements_extra(s.last()) - elements_extra(s.first)) * element_bytes_;
    }

private:
    constexpr std::uint64_t elements_extra(block_t before) const noexcept {
        return before < longer_ ? before : longer_;
    }

    std::uint64_t element_bytes_;
    std::uint64_t share_bytes_ = 0; // of each block, at least
    block_t longer_ = 0;
};

namespace detail {

template <Plan P, CostModel M>
class walker {
    static constexpr bool ported = PortedCostModel<M>;
    using letter = std::conditional_t<ported, port_letter, double>;

public:
    // `kept` is how many steps all stuck ranks together may keep copies of.
    constexpr walker(const P& plan, const M& model, std::uint64_t bytes, std::uint64_t element_bytes,
                     std::size_t kept = most_kept)
        : plan_(plan), model_(model), sizes_(bytes, plan.blocks(), element_bytes), mail_(plan.size()),
          lanes_(plan.size(), lane{model.start_ns(), 0, no_rank}), room_(kept / plan.size()) {
        if constexpr (requires { model.arrival_ns(rank_t{}); })
            for (rank_t r = 0; r != plan.size(); ++r) lanes_[r].clock_ns += model.arrival_ns(r);
        if constexpr (ported) ports_ = std::vector<ports>(plan.size(), ports{});
        if (room_ < least_room) room_ = 0;
    }

    constexpr walk_result run() {
        const rank_t size = plan_.size();
        const bool outwards = flows_outwards();
        for (rank_t i = 0; i != size; ++i) visit(from_virtual(outwards ? i : size - 1 - i, plan_.root(), size));
        for (std::vector<rank_t> now; !woken_.empty();) {
            ++passes_;
            now.clear();
            std::swap(now, woken_);
            for (const rank_t r : now) visit(r);
        }
        return summary();
    }

    constexpr double finish_ns(rank_t rank) const noexcept { return lanes_[rank].clock_ns; }

private:
    static constexpr std::size_t most_kept = std::size_t{64} * 1024 * 1024 / sizeof(taped_step);
    static constexpr std::size_t least_room = 16; // steps per rank; keeping fewer does not pay
    static constexpr std::uint32_t first_kept_pass = 8;

    // How far a rank has come.
    struct lane {
        double clock_ns;
        std::uint32_t done; // steps
        rank_t awaits;      // the sender of the message that it is stuck on
    };

    // Runs the steps of one rank: what a step does to its clock and its ports.
    class actor {
    public:
        constexpr actor(walker& w, rank_t rank) : w_(w), rank_(rank), clock_ns_(w.lanes_[rank].clock_ns) {}

        // Runs one step. False if it has to wait for a message that has not been sent yet.
        constexpr bool run(verb what, rank_t peer, std::uint64_t bytes) {
            switch (what) {
            case verb::send: send(peer, bytes); break;
            case verb::receive: return receive(peer, bytes);
            case verb::combine: combine(bytes); break;
            case verb::copy: copy(bytes); break;
            }
            return true;
        }
        constexpr void combine(std::uint64_t bytes) { clock_ns_ += w_.model_.combine_ns(rank_, bytes); }
        constexpr void copy(std::uint64_t bytes) { clock_ns_ += w_.model_.copy_ns(rank_, bytes); }
        constexpr void send(rank_t to, std::uint64_t bytes) {
            BOUGH_EXPECTS(to < w_.lanes_.size(), "plan: a step names a peer that is not a rank");
            ++w_.result_.messages;
            w_.result_.bytes += bytes;
            clock_ns_ += w_.model_.send_ns(rank_, to, bytes);
            if constexpr (ported) {
                hand_over(false);
                ports& mine = w_.ports_[rank_];
                mine.to = to, mine.bytes = bytes, mine.ready_ns = clock_ns_, mine.sent_last = true;
                mine.answers = mine.got_from == to ? mine.got : 0;
                ++mine.sends;
            } else {
                post(to, clock_ns_ + w_.model_.latency_ns(rank_, to, bytes));
            }
        }
        constexpr bool receive(rank_t from, std::uint64_t bytes) {
            BOUGH_EXPECTS(from < w_.lanes_.size(), "plan: a step names a peer that is not a rank");
            if constexpr (ported) hand_over(true);
            letter message{};
            if (!w_.mail_.take(from, rank_, message)) return awaits_ = from, false;
            if constexpr (ported) {
                ports& mine = w_.ports_[rank_];
                const bool duplex =
                    std::exchange(mine.sent_last, false) && message.then_receives && message.answers != mine.sends;
                mine.got_from = from, mine.got = message.number;
                double begin_ns = message.there_ns;
                if (begin_ns < mine.in_free_ns) begin_ns = mine.in_free_ns;
                if (begin_ns < clock_ns_ && !w_.model_.lands_early()) begin_ns = clock_ns_;
                mine.in_free_ns = begin_ns + w_.model_.port_ns(from, rank_, bytes, duplex);
                if (clock_ns_ < mine.in_free_ns) clock_ns_ = mine.in_free_ns;
            } else {
                if (clock_ns_ < message) clock_ns_ = message;
            }
            clock_ns_ += w_.model_.receive_ns(from, rank_, bytes);
            ++received_;
            return true;
        }
        constexpr void leave(std::uint32_t steps, bool ended) {
            if constexpr (ported)
                if (ended) hand_over(false);
            lane& l = w_.lanes_[rank_];
            l = {clock_ns_, l.done + steps, awaits_};
            w_.received_ += received_;
            if (awaits_ != no_rank) ++w_.waiting_;
        }

    private:
        // Hands the last send to the out port, now that it is known what comes after it.
        constexpr void hand_over(bool then_receives) {
            ports& mine = w_.ports_[rank_];
            if (mine.to == no_rank) return;
            const rank_t to = std::exchange(mine.to, no_rank);
            const double begin_ns = mine.ready_ns < mine.out_free_ns ? mine.out_free_ns : mine.ready_ns;
            mine.out_free_ns = begin_ns + w_.model_.port_ns(rank_, to, mine.bytes, then_receives);
            post(to, {begin_ns + w_.model_.latency_ns(rank_, to, mine.bytes), mine.sends, mine.answers, then_receives});
        }
        constexpr void post(rank_t to, const letter& message) {
            w_.mail_.put(rank_, to, message);
            if (w_.waiting_ != 0 && w_.lanes_[to].awaits == rank_) w_.wake(to);
        }

        walker& w_;
        rank_t rank_;
        rank_t awaits_ = no_rank;
        std::uint64_t received_ = 0;
        double clock_ns_;
    };

    // The sink that runs the steps of one rank, up to the first message that has not been sent yet.
    // It may keep the steps from there on.
    class visitor {
    public:
        constexpr visitor(walker& w, rank_t rank)
            : w_(w), rank_(rank), actor_(w, rank), to_skip_(w.lanes_[rank].done) {}

        constexpr void send_part(rank_t, slice from) { part(from); }
        constexpr void receive_part(rank_t, slice into) { part(into); }
        constexpr void send(rank_t to, slice from) {
            if (to_skip_ != 0) return pass_over(verb::send, to, from);
            actor_.send(to, message_bytes(from));
            ++done_;
        }
        constexpr void receive(rank_t from, slice into) {
            if (to_skip_ != 0) return pass_over(verb::receive, from, into);
            run_receive(from, into);
        }
        constexpr void combine(slice, slice, slice out) {
            if (to_skip_ != 0) return pass_over(verb::combine, no_rank, out);
            actor_.combine(w_.sizes_.bytes_of(out));
            ++done_;
        }
        constexpr void copy(slice, slice to) {
            if (to_skip_ != 0) return pass_over(verb::copy, no_rank, to);
            actor_.copy(w_.sizes_.bytes_of(to));
            ++done_;
        }

        constexpr void leave() {
            actor_.leave(done_, !stuck_);
            if (keeps_) w_.tapes_[rank_].complete = true;
        }

    private:
        constexpr void run_receive(rank_t from, const slice& into) {
            const std::uint32_t parts = parts_;
            const std::uint64_t bytes = message_bytes(into);
            if (actor_.receive(from, bytes)) return void(++done_);
            done_ -= parts; // it comes back to the beginning of the message
            parts_ = parts, part_bytes_ = bytes - w_.sizes_.bytes_of(into);
            stuck_ = true;
            to_skip_ = 1; // all that follow
            keeps_ = w_.keeps();
            pass_over(verb::receive, from, into);
        }
        constexpr void part(const slice& s) {
            if (to_skip_ != 0 && !keeps_) return void(to_skip_ -= !stuck_);
            ++parts_, part_bytes_ += w_.sizes_.bytes_of(s);
            if (!stuck_) ++done_;
        }
        constexpr std::uint64_t message_bytes(const slice& last) {
            if (parts_ == 0) return w_.sizes_.bytes_of(last);
            parts_ = 0;
            return std::exchange(part_bytes_, 0) + w_.sizes_.bytes_of(last);
        }
        // Passes over a step that ran before, or that cannot run yet.
        constexpr void pass_over(verb what, rank_t peer, const slice& s) {
            if (keeps_)
                keep(what, peer, s);
            else if (!stuck_)
                --to_skip_;
        }
        constexpr void keep(verb what, rank_t peer, const slice& s) {
            const std::uint32_t steps = 1 + parts_;
            keeps_ = w_.keep(rank_, what, peer, message_bytes(s), steps);
        }

        walker& w_;
        rank_t rank_;
        actor actor_;
        std::uint32_t to_skip_;
        std::uint32_t done_ = 0;
        std::uint32_t parts_ = 0;      // parts of the message at hand, before its last
        std::uint64_t part_bytes_ = 0; // the bytes in these parts
        bool stuck_ = false;
        bool keeps_ = false; // has it kept every step since it got stuck?
    };

    // Are the steps of this stuck rank to be kept? That pays if a rank comes back many times.
    constexpr bool keeps() {
        if (room_ == 0 || passes_ < first_kept_pass) return false;
        if (tapes_.empty()) tapes_ = std::vector<tape>(lanes_.size(), tape{});
        return true;
    }

    constexpr bool keep(rank_t rank, verb what, rank_t peer, std::uint64_t bytes, std::uint32_t steps) {
        std::vector<taped_step>& kept = tapes_[rank].steps;
        if (kept.size() == room_ || steps > 0xffff) return false;
        if (kept.capacity() == 0) kept.reserve(room_ < 64 ? room_ : 64);
        kept.push_back({bytes, peer, what, static_cast<std::uint16_t>(steps)});
        return true;
    }

    constexpr void visit(rank_t rank) {
        if (!tapes_.empty() && !tapes_[rank].empty() && !rerun(rank)) return;
        visitor v(*this, rank);
        plan_.emit(rank, v);
        v.leave();
    }

    // Runs the steps that were kept. True if they are used up and there are more.
    constexpr bool rerun(rank_t rank) {
        tape& kept = tapes_[rank];
        actor a(*this, rank);
        std::uint32_t done = 0;
        for (; !kept.empty(); ++kept.next) {
            const taped_step& s = kept.steps[kept.next];
            if (!a.run(s.verb, s.peer, s.bytes)) return a.leave(done, false), false;
            done += s.steps;
        }
        const bool ended = kept.complete;
        a.leave(done, ended);
        kept.clear();
        return !ended;
    }

    constexpr void wake(rank_t rank) {
        lanes_[rank].awaits = no_rank;
        --waiting_;
        woken_.push_back(rank);
    }

    // Does the root begin by sending? Then it is visited first and the others in the order of their
    // distance; otherwise the other way round. So no rank is visited in vain in rings, and in trees
    // whose parents have lower numbers than their children.
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
            result_.steps += lanes_[r].done;
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
    mailbox<letter> mail_;
    std::vector<lane> lanes_;
    std::vector<ports> ports_; // by rank, for a ported model
    std::vector<tape> tapes_;  // made when the first rank is stuck
    std::size_t room_;         // of each tape, in steps
    std::vector<rank_t> woken_;
    rank_t waiting_ = 0;
    std::uint32_t passes_ = 0;
    std::uint64_t received_ = 0;
    walk_result result_;
};

} // namespace detail

// Prices a plan. Pre: bytes is a multiple of element_bytes.
template <Plan P, CostModel M>
constexpr walk_result walk(const P& plan, const M& model, std::uint64_t bytes, std::uint64_t element_bytes = 1) {
    return detail::walker<P, M>(plan, model, bytes, element_bytes).run();
}

// When each rank ends, or gets stuck if the plan deadlocks.
template <Plan P, CostModel M>
constexpr std::vector<double> finish_times(const P& plan, const M& model, std::uint64_t bytes,
                                           std::uint64_t element_bytes = 1) {
    detail::walker<P, M> walker(plan, model, bytes, element_bytes);
    walker.run();
    std::vector<double> times;
    for (rank_t r = 0; r != plan.size(); ++r) times.push_back(walker.finish_ns(r));
    return times;
}

// The degree in 2 .. max_degree whose plan has the least makespan; the smallest if several are
// equal.
// Pre: max_degree >= 2.
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
