// SPDX-License-Identifier: BSL-1.0
// The discrete-event engine: the simulator's full engine. It runs everything in the order of time.
//
// A rank's processor does one deed at a time: the next one of the program, or, with
// step_order::dependence, the first written of those that wait for nothing. The times of one
// message, in the words of the cost model:
//   send       send_ns on the sender's processor; then the message sets out. With ports it waits for the out port first.
//   wire       latency_ns. Over a network: the time of its flow (in_turn: after that of the message
//              before it), then latency_ns of a message without bytes, and hop_ns for each link.
//   receive    when it is there, receive_ns on the receiver's processor. With ports it passes the in
//              port first: in the order of receives or, with dependence and lands_early, of arrivals.
//   slots      a send for which no slot is free waits until a message is received and the news of
//              that is back, after latency_ns of a message without bytes.
//   rendezvous if a message is longer than eager_bytes, a notice goes out first. When the notice is
//              there and the receive is posted, an answer goes back, and then the message itself
//              goes. By dependence, and over a network: it goes at once; the receive is posted when what
//              it depends on is complete and the receive before it from that peer has begun; the send is
//              complete on arrival. In program order without a network: messages go in the order of
//              sends, a receive is posted when the rank comes to it, only the end waits for arrivals.
//   split      a rank that would wait is away, and comes back when it polls: bough/simulate/result.hpp
// In program order, without slots and network, the times are those of the walk and of the static pass.
//
// Time    per event the logarithm of the ranks; per change of flows: bough/simulate/detail/flows.hpp
// Memory  program order: as many steps of a rank as options.memory_bytes allows; dependence: all steps
#ifndef BOUGH_SIMULATE_ENGINE_HPP
#define BOUGH_SIMULATE_ENGINE_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/concepts/plan.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/event_queue.hpp>
#include <bough/model/rendezvous.hpp>
#include <bough/simulate/detail/agenda.hpp>
#include <bough/simulate/detail/deed_source.hpp>
#include <bough/simulate/detail/deeds.hpp>
#include <bough/simulate/detail/routes.hpp>
#include <bough/simulate/detail/sim_event.hpp>
#include <bough/simulate/detail/sim_rank.hpp>
#include <bough/simulate/detail/wires.hpp>
#include <bough/simulate/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <Plan P, CostModel M, class Noise>
class event_engine {
public:
    constexpr event_engine(const P& plan, const M& model, const Noise& noise, const sim_options& options)
        : plan_(plan), model_(model), noise_(noise), options_(options),
          by_dependence_(options.order == step_order::dependence), deeds_(plan, options),
          routes_(options.network, plan.size()) {
        posts_ahead_ = by_dependence_ || (routes_.exist() && any_rendezvous());
        for (rank_t r = 0; r != plan.size(); ++r) ranks_.emplace_back();
    }

    constexpr sim_result run() {
        for (rank_t r = 0; r != plan_.size(); ++r) queue_.push(arrives_ns(r), {what_begin, r});
        while (!queue_.empty() || !routes_.idle()) {
            if (!routes_.idle() && (queue_.empty() || routes_.next_end_ns() < queue_.next())) {
                const double now_ns = routes_.next_end_ns();
                routes_.end_next([&](std::uint32_t m) { flow_ended(m, now_ns); });
                continue;
            }
            const sim_event e = queue_.pop();
            const double now_ns = queue_.now();
            switch (e.what) {
            case what_begin: begin(e.a, now_ns); break;
            case what_free: posts_ahead_ ? completed(e.a, e.b, now_ns) : proceed(e.a, now_ns); break;
            case what_depart: depart(e.a, now_ns); break;
            case what_arrive: arrive(e.a, now_ns); break;
            case what_notice: notice(e.a, now_ns); break;
            case what_answer: answered(e.a, now_ns); break;
            case what_credit: credit(e.a, now_ns); break;
            case what_poll: polled(e.a, now_ns); break;
            }
        }
        return summary();
    }

private:
    static constexpr std::uint32_t none = wires::none;
    static constexpr bool ported = PortedCostModel<M>;
    using place = sim_message::place;

    // --- ranks ---

    constexpr double arrives_ns(rank_t rank) const { return detail::arrival_ns(model_, noise_, rank); }
    constexpr double work(rank_t rank, double now_ns, double ns) {
        ranks_[rank].busy_ns += ns * noise_.factor(rank);
        return noise_.work(rank, now_ns, ns);
    }
    constexpr double enter(rank_t rank, double now_ns, double ns) {
        ranks_[rank].busy_ns += ns * noise_.factor(rank);
        return noise_.enter(rank, now_ns, ns);
    }

    constexpr void begin(rank_t rank, double now_ns) {
        now_ns = enter(rank, now_ns, model_.start_ns());
        sim_rank& me = ranks_[rank];
        me.ended = false;
        if (!posts_ahead_) {
            deeds_.fill(me.todo, rank, 0);
            return later(rank, now_ns);
        }
        deeds_.link(me.todo, rank);
        me.clock_ns = now_ns;
        later(rank, now_ns);
    }
    constexpr void later(rank_t rank, double at_ns) {
        ranks_[rank].busy = true; // until then
        queue_.push(at_ns, {what_free, rank, none});
    }

    constexpr void end(rank_t rank, double now_ns) {
        sim_rank& me = ranks_[rank];
        me.clock_ns = now_ns;
        if (me.out.open != 0) return; // this is called again when its last rendezvous is complete
        now_ns = noise_.leave(rank, std::max(now_ns, me.out.there_ns));
        me.clock_ns = now_ns;
        me.ended = true;
        if (++me.operations >= options_.operations) return;
        me.busy_ns += options_.compute_ns * noise_.factor(rank);
        queue_.push(noise_.compute(rank, now_ns, options_.compute_ns), {what_begin, rank});
    }

    // --- waiting ---

    // What `rank` waited for is there: it goes on now, or when it polls next. Pre: it waits, since
    // clock_ns.
    constexpr void wake(rank_t rank, double now_ns) {
        sim_rank& me = ranks_[rank];
        if (!options_.split.on || (rank == plan_.root() && !options_.split.root_too)) return go_on(rank, now_ns);
        if (me.polls) return;
        const double back_ns = me.next_poll_ns(now_ns, options_.split.poll_ns);
        me.polls = true;
        me.away_ns += back_ns - me.clock_ns;
        me.clock_ns = back_ns;
        queue_.push(back_ns, {what_poll, rank});
    }
    constexpr void polled(rank_t rank, double now_ns) {
        sim_rank& me = ranks_[rank];
        me.polls = false;
        me.busy_ns += options_.split.poll_cost_ns * noise_.factor(rank);
        now_ns = noise_.compute(rank, now_ns, options_.split.poll_cost_ns);
        if (!posts_ahead_) return later(rank, now_ns);
        me.busy = true;
        queue_.push(now_ns, {what_free, rank, idle});
    }
    // What this deed waited for is there.
    constexpr void go_on_with(rank_t rank, std::uint32_t deed, double now_ns) {
        if (!posts_ahead_) return wake(rank, now_ns);
        sim_rank& me = ranks_[rank];
        me.todo.push_ready(deed);
        if (!me.busy && me.todo.may_run(by_dependence_)) wake(rank, now_ns);
    }
    constexpr void go_on(rank_t rank, double now_ns) {
        if (posts_ahead_)
            dispatch(rank, now_ns);
        else
            proceed(rank, std::max(now_ns, ranks_[rank].clock_ns));
    }

    // --- program order ---

    // The processor of `rank` is free: it goes on until it waits, or until something else comes first.
    constexpr void proceed(rank_t rank, double now_ns) {
        sim_rank& me = ranks_[rank];
        me.busy = false;
        for (;;) {
            agenda& todo = me.todo;
            if (todo.next == todo.deeds.size()) {
                if (!todo.truncated) return end(rank, now_ns);
                deeds_.fill(todo, rank, todo.skipped + todo.next);
            }
            const deed d = deeds_.unpack(todo.deeds[todo.next]);
            me.clock_ns = now_ns;
            if (d.verb == verb::send) {
                const std::uint32_t c = wires_.channel(rank, d.peer);
                if (!has_slot(c)) return void(wires_.at(c).sends = todo.next);
                now_ns = send(rank, d, c, now_ns, none);
            } else if (d.verb == verb::receive) {
                const std::uint32_t c = wires_.channel(d.peer, rank);
                if (!may_receive(c, now_ns)) return void(wires_.at(c).receive = todo.next);
                now_ns = receive(rank, d, c, now_ns);
            } else {
                now_ns = local(rank, d, now_ns);
            }
            ++todo.next;
            if (!queue_.empty() && queue_.next() < now_ns) return later(rank, now_ns);
            if (!routes_.idle() && routes_.next_end_ns() < now_ns) return later(rank, now_ns);
        }
    }

    constexpr double local(rank_t rank, const deed& d, double now_ns) {
        ++result_.events;
        return work(rank, now_ns,
                    d.verb == verb::copy ? model_.copy_ns(rank, d.bytes) : model_.combine_ns(rank, d.bytes));
    }

    // --- order of dependence, and rendezvous over a network ---

    // Deed `number` is complete, so what waited for it may run. none: the operation starts.
    constexpr void completed(rank_t rank, std::uint32_t number, double now_ns) {
        sim_rank& me = ranks_[rank];
        me.busy = false;
        if (number == none) {
            for (std::uint32_t i = 0; i != me.todo.deeds.size(); ++i)
                if (me.todo.pending[i] == 0) enable(rank, i, now_ns);
            if (me.todo.left == 0) return end(rank, now_ns);
        } else if (!waits_for_arrival(number)) {
            return complete_deed(rank, number, now_ns);
        }
        dispatch(rank, now_ns);
    }
    static constexpr std::uint32_t waits_bit = 1u << 31; // in a send's number: a rendezvous, complete on arrival
    static constexpr std::uint32_t idle = none - 1;      // no deed: the processor is free again
    static constexpr bool waits_for_arrival(std::uint32_t number) noexcept { return (number & waits_bit) != 0; }

    constexpr void complete_deed(rank_t rank, std::uint32_t number, double now_ns, bool from_afar = false) {
        sim_rank& me = ranks_[rank];
        me.todo.stages[number] = agenda::stage::complete;
        for (const std::uint32_t i : me.todo.dependents(number))
            if (--me.todo.pending[i] == 0) enable(rank, i, now_ns);
        if (--me.todo.left == 0) return end(rank, now_ns);
        if (!from_afar) return dispatch(rank, now_ns);
        if (!me.busy && me.todo.may_run(by_dependence_)) wake(rank, now_ns);
    }
    // Deed `i` no longer waits for any other deed of its own rank.
    constexpr void enable(rank_t rank, std::uint32_t i, double now_ns) {
        const deed d = deeds_.unpack(ranks_[rank].todo.deeds[i]);
        if (d.verb == verb::send) {
            const std::uint32_t c = wires_.channel(rank, d.peer);
            if (!has_slot(c)) return void(wires_.at(c).sends = i);
        } else if (d.verb == verb::receive) {
            const std::uint32_t c = wires_.channel(d.peer, rank);
            if (!may_receive(c, now_ns)) return void(wires_.at(c).receive = i);
        }
        ranks_[rank].todo.push_ready(i);
    }
    constexpr void dispatch(rank_t rank, double now_ns) {
        sim_rank& me = ranks_[rank];
        if (me.busy) return;
        if (!me.todo.may_run(by_dependence_)) {
            me.clock_ns = now_ns; // it waits
            return;
        }
        const std::uint32_t i = me.todo.pop_ready();
        const deed d = deeds_.unpack(me.todo.deeds[i]);
        me.busy = true;
        me.todo.stages[i] = agenda::stage::begun;
        std::uint32_t number = i;
        double end_ns = 0;
        if (d.verb == verb::send) {
            const bool rendezvous = meets(rank, d);
            end_ns = send(rank, d, wires_.channel(rank, d.peer), now_ns, rendezvous ? i : none);
            if (rendezvous) number |= waits_bit;
        } else if (d.verb == verb::receive) {
            end_ns = receive(rank, d, wires_.channel(d.peer, rank), now_ns);
        } else {
            end_ns = local(rank, d, now_ns);
        }
        const std::uint32_t next = me.todo.channel_next[i];
        if (next != none && --me.todo.pending[next] == 0) enable(rank, next, now_ns);
        queue_.push(end_ns, {what_free, rank, number});
    }

    // --- messages ---

    constexpr bool has_slot(std::uint32_t c) noexcept {
        return options_.slots == 0 || wires_.at(c).used < options_.slots;
    }
    // Is the next message of the channel there? If it is only offered, asks for it.
    constexpr bool may_receive(std::uint32_t c, double now_ns) {
        const std::uint32_t m = wires_.at(c).head;
        if (m == none) return false;
        sim_message& message = wires_.message(m);
        if (message.where == place::offered) answer(m, now_ns);
        return message.where == place::there;
    }

    // Sends a message. Returns when the sender's processor is free again.
    constexpr double send(rank_t rank, const deed& d, std::uint32_t c, double now_ns, std::uint32_t number) {
        ++result_.events;
        ++result_.messages;
        result_.bytes += d.bytes;
        ++wires_.at(c).used;
        const double end_ns = work(rank, now_ns, model_.send_ns(rank, d.peer, d.bytes));
        sim_rank& me = ranks_[rank];
        ++me.talk.sends;
        const bool rendezvous = meets(rank, d);
        const std::uint32_t m = wires_.append(c, {0, d.bytes, rank, d.peer, c, none, number,
                                                  rendezvous ? place::announced : place::under_way, rendezvous, d.turns,
                                                  me.talk.sends, me.talk.got_from == d.peer ? me.talk.got : 0});
        if (rendezvous) ++me.out.open, queue_.push(end_ns + model_.latency_ns(rank, d.peer, 0), {what_notice, m});
        if (!rendezvous && me.out.line.empty())
            set_out(m, end_ns);
        else if (!posts_ahead_)
            me.out.line.add(m, rendezvous ? -1 : end_ns);
        return end_ns;
    }
    constexpr bool any_rendezvous() const {
        if (!model::has_rendezvous_v<M> && options_.eager_bytes == sim_options{}.eager_bytes) return false; // quickly
        return deeds_.any([&](rank_t rank, const deed& d) { return d.verb == verb::send && meets(rank, d); });
    }
    constexpr bool meets(rank_t rank, const deed& d) const {
        return d.bytes > options_.eager_bytes || d.bytes > model::eager_bytes(model_, rank, d.peer);
    }
    // The notice of a rendezvous reaches the receiver.
    constexpr void notice(std::uint32_t m, double now_ns) {
        sim_message& message = wires_.message(m);
        message.where = place::offered;
        const std::uint32_t c = message.channel;
        if (wires_.at(c).head == m && wires_.at(c).receive != none) answer(m, now_ns);
    }
    constexpr void answer(std::uint32_t m, double now_ns) {
        sim_message& message = wires_.message(m);
        message.where = place::under_way;
        queue_.push(now_ns + model_.latency_ns(message.to, message.from, 0), {what_answer, m});
    }
    constexpr void answered(std::uint32_t m, double now_ns) {
        if (posts_ahead_) return set_out(m, now_ns);
        ranks_[wires_.message(m).from].out.line.answered(m, now_ns, [&](auto next, double at) { set_out(next, at); });
    }
    // The message itself sets out as soon as the out port is free.
    constexpr void set_out(std::uint32_t m, double now_ns) {
        const sim_message& message = wires_.message(m);
        if constexpr (ported) {
            sim_rank& from = ranks_[message.from];
            now_ns = std::max(now_ns, from.ports.out_free_ns);
            from.ports.out_free_ns = now_ns + model_.port_ns(message.from, message.to, message.bytes, message.turns);
        }
        if (routes_.exist())
            queue_.push(now_ns, {what_depart, m});
        else
            queue_.push(now_ns + model_.latency_ns(message.from, message.to, message.bytes), {what_arrive, m});
    }
    constexpr void depart(std::uint32_t m, double now_ns) {
        if (options_.in_turn && !wires_.takes_turn(m)) return;
        if (!routes_.begin(m, wires_.message(m), now_ns)) flow_ended(m, now_ns);
    }
    constexpr void flow_ended(std::uint32_t m, double now_ns) {
        const sim_message& message = wires_.message(m);
        const std::uint32_t next = options_.in_turn ? wires_.passes_turn(m) : none;
        if (next != none) queue_.push(now_ns, {what_depart, next});
        queue_.push(now_ns + model_.latency_ns(message.from, message.to, 0) + routes_.hops_ns(message),
                    {what_arrive, m});
    }

    constexpr void arrive(std::uint32_t m, double now_ns) {
        sim_message& message = wires_.message(m);
        if constexpr (ported) {
            // The port need not wait for the rank, so messages pass it in the order of arrival.
            sim_rank& to = ranks_[message.to];
            if (by_dependence_ && model_.lands_early() && message.there_ns == 0) {
                message.there_ns =
                    to.ports.pass_in(now_ns, model_.port_ns(message.from, message.to, message.bytes, message.turns));
                return queue_.push(message.there_ns, {what_arrive, m});
            }
        }
        message.there_ns = now_ns;
        message.where = place::there;
        const rank_t from = message.from, to = message.to;
        const std::uint32_t number = message.send;
        const bool rendezvous = message.rendezvous;
        sim_channel& channel = wires_.at(message.channel);
        if (channel.head == m && channel.receive != none) go_on_with(to, std::exchange(channel.receive, none), now_ns);
        if (!rendezvous) return;
        sim_rank& sender = ranks_[from];
        --sender.out.open;
        sender.out.there_ns = std::max(sender.out.there_ns, now_ns);
        if (posts_ahead_)
            complete_deed(from, number, now_ns, true);
        else if (sender.out.open == 0 && !sender.ended && !sender.busy &&
                 sender.todo.next == sender.todo.deeds.size() && !sender.todo.truncated)
            end(from, std::max(now_ns, sender.clock_ns));
    }

    // Receives a message. Returns when the receiver's processor is free again. Pre: the message is
    // there.
    constexpr double receive(rank_t rank, const deed& d, std::uint32_t c, double now_ns) {
        ++result_.events;
        const std::uint32_t m = wires_.at(c).head;
        const sim_message& message = wires_.message(m);
        sim_rank& me = ranks_[rank];
        me.talk.got_from = d.peer;
        me.talk.got = message.number;
        if constexpr (ported) {
            if (!by_dependence_ || !model_.lands_early()) {
                const bool duplex = d.turns && message.turns && message.answers != me.talk.sends;
                const double begin_ns = model_.lands_early() ? message.there_ns : std::max(message.there_ns, now_ns);
                now_ns = std::max(now_ns, me.ports.pass_in(begin_ns, model_.port_ns(d.peer, rank, d.bytes, duplex)));
            }
        }
        wires_.take(c);
        if (options_.slots == 0)
            --wires_.at(c).used;
        else
            queue_.push(now_ns + model_.latency_ns(rank, d.peer, 0), {what_credit, c});
        return work(rank, now_ns, model_.receive_ns(d.peer, rank, d.bytes));
    }
    constexpr void credit(std::uint32_t c, double now_ns) {
        sim_channel& channel = wires_.at(c);
        --channel.used;
        if (channel.sends == none) return;
        go_on_with(channel.from, std::exchange(channel.sends, none), now_ns);
    }

    // --- the end ---

    constexpr sim_result summary() {
        double busy_ns = 0;
        for (rank_t r = 0; r != plan_.size(); ++r) {
            const sim_rank& me = ranks_[r];
            result_.add(r, {arrives_ns(r), me.clock_ns, me.busy_ns, me.away_ns}, options_.per_rank);
            busy_ns += me.busy_ns;
            if (!me.ended && !result_.deadlock()) result_.stuck = r, result_.stuck_on = waits_for(r);
        }
        result_.end(ranks_[plan_.root()].clock_ns, busy_ns, wires_.taken());
        return std::move(result_);
    }
    constexpr rank_t waits_for(rank_t rank) noexcept {
        const agenda& todo = ranks_[rank].todo;
        const std::uint32_t first = posts_ahead_ ? todo.held_up() : todo.next;
        if (!posts_ahead_ && first == todo.deeds.size()) return wires_.message(ranks_[rank].out.line.first()).to;
        return first == none ? no_rank : todo.deeds[first].peer;
    }

    const P& plan_;
    const M& model_;
    const Noise& noise_;
    const sim_options& options_;
    bool by_dependence_;       // no class for each order: only what a rank runs next differs
    bool posts_ahead_ = false; // is a receive posted as soon as what it depends on is complete?
    deed_source<P> deeds_;
    routes routes_;
    wires wires_;
    event_queue<double, sim_event> queue_;
    std::vector<sim_rank> ranks_;
    sim_result result_;
};

} // namespace bough::detail

#endif
