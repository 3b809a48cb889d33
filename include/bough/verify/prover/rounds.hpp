// SPDX-License-Identifier: BSL-1.0
// prover_rounds: runs the steps of all ranks in rounds. In each round a rank may send one message
// and receive one; local steps take no time.
//
// Ports serve the message with the earlier turn first (bough/verify/prover/turns.hpp), and among
// equals the one that became ready first. The ranks' numbers do not matter.
#ifndef BOUGH_VERIFY_PROVER_ROUNDS_HPP
#define BOUGH_VERIFY_PROVER_ROUNDS_HPP

#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/step.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/schedule/traits.hpp>
#include <bough/verify/prover/findings.hpp>
#include <bough/verify/prover/port_queues.hpp>
#include <bough/verify/prover/step_graph.hpp>
#include <bough/verify/rules.hpp>

#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

// How far a message is.
struct message_progress {
    bool sent = false, received = false, queued = false;
    std::size_t payload = 0; // once it is sent, with eager slots: where the memory keeps it
};
// How far the run is, between two rounds.
struct run_state {
    plain_list<std::uint32_t> waits{}; // by node: for how many others it still waits
    plain_list<message_progress> messages{};
    plain_list<std::uint32_t> sent_in{}, received_in{}; // by rank: the last round in which each port was used
    queue_contents queue{};
    std::uint32_t round = 0; // the present one
};

template <class Memory>
class prover_rounds {
public:
    // `turns`: by message.
    constexpr prover_rounds(const step_graph& graph, const std::uint32_t* turns, run_state& state, Memory& memory,
                            findings& found, const verify_options& options)
        : graph_(graph), state_(state), memory_(memory), found_(found), slots_(options.eager_slots),
          queues_(turns, state.queue) {
        if (options.hold) held_sends_ = held_sends(graph_);
    }

    // Before the first round.
    constexpr void start() {
        state_.waits.resize(graph_.size, 0);
        copy_elements(state_.waits.data(), graph_.waits, graph_.size);
        state_.messages.assign(graph_.message_count, message_progress{});
        state_.sent_in.resize(graph_.ranks, 0);
        state_.received_in.resize(graph_.ranks, 0);
        state_.queue.start(graph_.message_count, std::size_t{graph_.ranks} * 2);
        find_ready();
        run_local();
    }
    // To the end, to a fault, or until nothing moves any more; at most until `most` messages and blocks
    // have been handled in whole rounds. False: there is more to do.
    constexpr bool run(std::uint64_t most) {
        while (!queues_.empty() && !found_.failed()) {
            if (handled_ >= most) return false;
            ++state_.round;
            done_.clear();
            serve();
            if (done_.empty()) break;
            for (std::size_t i = 0; i != done_.size(); ++i) complete(done_.data()[i]);
            run_local();
        }
        return true;
    }
    // Behind the last round: has every step been run?
    constexpr void finish() {
        if (found_.failed()) return;
        found_.traits().rounds = state_.round;
        const std::uint32_t* const waits = state_.waits.data();
        for (std::uint32_t n = 0; n != graph_.size; ++n)
            if (waits[n] != done_mark) return fail_stuck(n);
    }

private:
    static constexpr std::uint32_t done_mark = 0xffff'ffffu; // in waits

    // --- messages ---

    // Moves on what may move, in the order of the queues.
    constexpr void serve() {
        for (queues_.begin_round(); queues_.find_next(); ++handled_) {
            const std::uint32_t m = queues_.next();
            if (!queues_.next_has_waited() || !lacks_port(m))
                queues_.take(), advance(m);
            else if (is_used(queues_.port_of_next()))
                queues_.leave_queue(); // all behind it need this port, too
            else
                queues_.pass_over(); // the port at its other end is used
        }
        queues_.end_round();
    }

    // Moves a message on as far as this round allows. It waits if it lacks only a port.
    constexpr void advance(std::uint32_t m) {
        message_progress& at = progress(m);
        at.queued = false;
        if (!at.sent && may_be_sent(m)) has_ports_to_send(m) ? send(m) : wait_for_port(m);
        if (at.sent && !at.received && may_be_received(m)) has_port_to_receive(m) ? receive(m) : wait_for_port(m);
    }
    constexpr void wait_for_port(std::uint32_t m) {
        progress(m).queued = true;
        const bool is_first = is_used(from(m)) && !progress(m).sent;
        queues_.wait(m, is_first ? from(m) : graph_.ranks + to(m));
    }

    constexpr bool may_be_sent(std::uint32_t m) const {
        const paired_message& msg = graph_.messages[m];
        return waits(msg.send) == 0 && (msg.previous == no_step || progress(msg.previous).sent) &&
               (slots_ == 0 ? may_be_received(m) : has_slot(m));
    }
    constexpr bool may_be_received(std::uint32_t m) const {
        const paired_message& msg = graph_.messages[m];
        return waits(msg.receive) == 0 && (msg.previous == no_step || progress(msg.previous).received);
    }
    // Has the message `slots_` places before it on the channel been received?
    constexpr bool has_slot(std::uint32_t m) const {
        for (std::uint32_t k = 0; k != slots_; ++k) {
            m = graph_.messages[m].previous;
            if (m == no_step) return true;
        }
        return progress(m).received;
    }
    constexpr rank_t from(std::uint32_t m) const { return graph_.rank_of[graph_.messages[m].send]; }
    constexpr rank_t to(std::uint32_t m) const { return graph_.rank_of[graph_.messages[m].receive]; }
    // Without slots, a message is sent and received in one round.
    constexpr bool has_ports_to_send(std::uint32_t m) const {
        return state_.sent_in.data()[from(m)] != state_.round && (slots_ != 0 || has_port_to_receive(m));
    }
    constexpr bool has_port_to_receive(std::uint32_t m) const {
        return state_.received_in.data()[to(m)] != state_.round;
    }
    // First the ports that send, then those that receive.
    constexpr bool is_used(std::uint32_t port) const {
        return port < graph_.ranks ? state_.sent_in.data()[port] == state_.round
                                   : state_.received_in.data()[port - graph_.ranks] == state_.round;
    }
    // Pre: it lacked only a port.
    constexpr bool lacks_port(std::uint32_t m) const {
        return progress(m).sent ? !has_port_to_receive(m) : !has_ports_to_send(m);
    }

    constexpr void send(std::uint32_t m) {
        const paired_message& msg = graph_.messages[m];
        state_.sent_in.data()[from(m)] = state_.round;
        progress(m).sent = true;
        if (slots_ != 0) {
            progress(m).payload = memory_.payload_of_next();
            memory_.read_message(msg);
        }
        if (!is_held(msg)) done_.push_back(msg.send);
        if (msg.next != no_step) enqueue(msg.next);
    }
    constexpr void receive(std::uint32_t m) {
        const paired_message& msg = graph_.messages[m];
        state_.received_in.data()[to(m)] = state_.round;
        progress(m).received = true;
        if (found_.failed()) return;
        if (slots_ != 0)
            memory_.write_message(msg, progress(m).payload);
        else if (!memory_.carry(msg))
            return;
        handled_ += graph_.steps[msg.receive].out.count * std::uint64_t{msg.parts};
        done_.push_back(msg.receive);
        // The next may be received now, and a slot is free for one behind.
        for (std::uint32_t later = msg.next, k = 0; later != no_step && k <= slots_; ++k) {
            enqueue(later);
            later = graph_.messages[later].next;
        }
    }
    // Does the message stay with its sender until a combine has read it?
    constexpr bool is_held(const paired_message& msg) const {
        if (held_sends_.empty()) return false;
        const std::uint32_t end = graph_.after_first[msg.receive + 1];
        for (std::uint32_t e = graph_.after_first[msg.receive]; e != end; ++e)
            if (held_sends_.data()[graph_.after[e]] == msg.send) return true;
        return false;
    }
    constexpr void enqueue(std::uint32_t m) {
        message_progress& at = progress(m);
        if (at.queued || at.received) return;
        at.queued = true;
        queues_.arrive(m);
    }
    constexpr message_progress& progress(std::uint32_t m) { return state_.messages.data()[m]; }
    constexpr const message_progress& progress(std::uint32_t m) const { return state_.messages.data()[m]; }
    constexpr std::uint32_t waits(std::uint32_t n) const { return state_.waits.data()[n]; }

    // --- steps ---

    // Finds what is ready at the start. A receive does not bring its message into the queue here:
    // its send does, when it is ready. Otherwise the ranks' numbers would matter.
    constexpr void find_ready() {
        std::uint32_t* const waits = state_.waits.data();
        for (std::uint32_t n = 0; n != graph_.size; ++n) {
            if (waits[n] != 0) continue;
            if (graph_.last[n] != n)
                --waits[graph_.last[n]];
            else if (graph_.steps[n].verb != verb::receive)
                ready(n);
        }
    }
    // Node `n` waits for no other node any more.
    constexpr void ready(std::uint32_t n) {
        const std::uint32_t m = graph_.message_of[n];
        if (m == no_step)
            local_.push_back(n);
        else if (graph_.last[n] != n)
            release(graph_.last[n]);
        else if (n == graph_.messages[m].send || progress(m).sent || waits(graph_.messages[m].send) == 0)
            enqueue(m);
    }
    constexpr void release(std::uint32_t n) {
        if (--state_.waits.data()[n] == 0) ready(n);
    }
    constexpr void run_local() {
        while (!local_.empty() && !found_.failed()) {
            const std::uint32_t n = local_.back();
            local_.pop_back();
            handled_ += std::uint64_t{1} + graph_.steps[n].out.count;
            if (memory_.run(n)) complete(n);
        }
    }
    // Node `last` is done, and if it is a message's last part, the other parts are.
    constexpr void complete(std::uint32_t last) {
        const std::uint32_t m = graph_.message_of[last];
        for (std::uint32_t n = m == no_step ? last : last + 1 - graph_.messages[m].parts; n != last + 1; ++n) {
            state_.waits.data()[n] = done_mark;
            if (!held_sends_.empty() && held_sends_.data()[n] != no_step) complete(held_sends_.data()[n]);
            const std::uint32_t end = graph_.after_first[n + 1];
            for (std::uint32_t e = graph_.after_first[n]; e != end; ++e) release(graph_.after[e]);
        }
    }
    constexpr void fail_stuck(std::uint32_t n) {
        const step& s = graph_.steps[n];
        found_.fail(fault::deadlock, graph_.rank_of[n], graph_.index_of(n), s.communicates() ? 0 : s.out.first, s.peer);
    }

    const step_graph& graph_;
    run_state& state_;
    Memory& memory_;
    findings& found_;
    std::uint32_t slots_;
    port_queues queues_;
    std::uint64_t handled_ = 0;            // messages and blocks
    plain_list<std::uint32_t> held_sends_; // by node, as held_sends(); empty: none is held
    plain_list<std::uint32_t> local_;      // local steps that are ready
    plain_list<std::uint32_t> done_;       // sends and receives that ended in this round
};

} // namespace bough::detail

#endif
