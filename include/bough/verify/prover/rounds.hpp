// SPDX-License-Identifier: BSL-1.0
// prover_rounds: runs the steps of all ranks in rounds. In each round a rank may send one message
// and receive one; local steps take no time.
//
// Ports serve the message with the earlier turn first (bough/schedule/turns.hpp), and among equals
// the one that became ready first. The ranks' numbers do not matter.
#ifndef BOUGH_VERIFY_PROVER_ROUNDS_HPP
#define BOUGH_VERIFY_PROVER_ROUNDS_HPP

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
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <class Memory>
class prover_rounds {
public:
    // The graph is linked.
    constexpr prover_rounds(const step_graph& graph, Memory& memory, findings& found, const verify_options& options)
        : graph_(graph), memory_(memory), found_(found), slots_(options.eager_slots), waits_(graph.waits()),
          messages_(graph.messages().size(), progress{}),
          queues_(graph.turns(), graph.ranks() * (slots_ == 0 ? std::size_t{1} : std::size_t{2})) {
        if (options.hold) held_sends_ = graph.held_sends();
        ports_.sent_in.resize(graph.ranks(), 0);
        ports_.received_in.resize(graph.ranks(), 0);
    }

    // To the end, to a fault, or until nothing moves any more, which is a fault.
    constexpr void run() {
        start();
        run_local();
        while (!queues_.empty() && !found_.failed()) {
            ++ports_.round;
            done_.clear();
            serve();
            if (done_.empty()) break;
            for (const std::uint32_t n : done_) complete(n);
            run_local();
        }
        if (found_.failed()) return;
        found_.traits().rounds = ports_.round;
        find_stuck();
    }

private:
    static constexpr std::uint32_t done_mark = 0xffff'ffffu; // in waits_

    struct progress { // of a message
        bool sent = false, received = false, queued = false;
        std::size_t payload = 0; // once it is sent: where the memory keeps it
    };
    // The ports of all ranks: the last round in which each was used.
    struct ports {
        std::uint32_t round = 0; // the present one
        std::vector<std::uint32_t> sent_in{}, received_in{};
    };

    // --- messages ---

    // Moves on what may move, in the order of keys.
    constexpr void serve() {
        for (queues_.begin_round(); queues_.find_next();) {
            const std::uint32_t m = queues_.next();
            if (!queues_.next_has_waited() || !lacks_port(m))
                queues_.take(), advance(m);
            else if (is_used(port_of(m)))
                queues_.leave_queue(); // all behind it need this port, too
            else
                queues_.pass_over(); // the port at its other end is used
        }
        queues_.end_round();
    }

    // Moves a message on as far as this round allows. It waits if it lacks only a port.
    constexpr void advance(std::uint32_t m) {
        progress& at = messages_[m];
        at.queued = false;
        const auto wait = [&] { at.queued = true, queues_.wait(m, port_of(m)); };
        if (!at.sent && may_be_sent(m)) has_ports_to_send(m) ? send(m) : wait();
        if (at.sent && !at.received && may_be_received(m)) has_port_to_receive(m) ? receive(m) : wait();
    }

    constexpr bool may_be_sent(std::uint32_t m) const {
        const step_graph::message& msg = message(m);
        if (waits_[msg.send] != 0 || (msg.previous != no_step && !messages_[msg.previous].sent)) return false;
        return slots_ == 0 ? may_be_received(m) : has_slot(m);
    }
    constexpr bool may_be_received(std::uint32_t m) const {
        const step_graph::message& msg = message(m);
        return waits_[msg.receive] == 0 && (msg.previous == no_step || messages_[msg.previous].received);
    }
    // Has the message `slots_` places before it on the channel been received?
    constexpr bool has_slot(std::uint32_t m) const {
        for (std::uint32_t k = 0; k != slots_; ++k) {
            m = message(m).previous;
            if (m == no_step) return true;
        }
        return messages_[m].received;
    }
    constexpr rank_t from(std::uint32_t m) const { return graph_.rank_of(message(m).send); }
    constexpr rank_t to(std::uint32_t m) const { return graph_.rank_of(message(m).receive); }
    // Without slots, a message is sent and received in one round.
    constexpr bool has_ports_to_send(std::uint32_t m) const {
        return ports_.sent_in[from(m)] != ports_.round && (slots_ != 0 || has_port_to_receive(m));
    }
    constexpr bool has_port_to_receive(std::uint32_t m) const { return ports_.received_in[to(m)] != ports_.round; }
    // In whose queue a message waits: first those of the ports that send, then those that receive.
    constexpr std::uint32_t port_of(std::uint32_t m) const {
        return messages_[m].sent ? graph_.ranks() + to(m) : from(m);
    }
    constexpr bool is_used(std::uint32_t port) const {
        return port < graph_.ranks() ? ports_.sent_in[port] == ports_.round
                                     : ports_.received_in[port - graph_.ranks()] == ports_.round;
    }
    // Pre: it lacked only a port.
    constexpr bool lacks_port(std::uint32_t m) const {
        return messages_[m].sent ? !has_port_to_receive(m) : !has_ports_to_send(m);
    }

    constexpr void send(std::uint32_t m) {
        const step_graph::message& msg = message(m);
        ports_.sent_in[graph_.rank_of(msg.send)] = ports_.round;
        messages_[m].sent = true;
        messages_[m].payload = memory_.read_message(msg);
        if (!is_held(msg)) done_.push_back(msg.send);
        if (msg.next != no_step) enqueue(msg.next);
    }
    constexpr void receive(std::uint32_t m) {
        const step_graph::message& msg = message(m);
        ports_.received_in[graph_.rank_of(msg.receive)] = ports_.round;
        messages_[m].received = true;
        if (found_.failed()) return;
        memory_.write_message(msg, messages_[m].payload);
        if (slots_ == 0) memory_.forget_messages(); // no other is under way
        done_.push_back(msg.receive);
        // The next may be received now, and a slot is free for one behind.
        for (std::uint32_t later = msg.next, k = 0; later != no_step && k <= slots_; ++k) {
            enqueue(later);
            later = message(later).next;
        }
    }
    // Does the message stay with its sender until a combine has read it?
    constexpr bool is_held(const step_graph::message& msg) const {
        if (held_sends_.empty()) return false;
        bool held = false;
        graph_.for_each_after(msg.receive, [&](std::uint32_t later) { held |= held_sends_[later] == msg.send; });
        return held;
    }
    constexpr void enqueue(std::uint32_t m) {
        if (messages_[m].queued || messages_[m].received) return;
        messages_[m].queued = true;
        queues_.arrive(m);
    }
    constexpr const step_graph::message& message(std::uint32_t m) const { return graph_.messages()[m]; }

    // --- steps ---

    // Finds what is ready at the start. A receive does not bring its message into the queue here:
    // its send does, when it is ready. Otherwise the ranks' numbers would matter.
    constexpr void start() {
        for (std::uint32_t n = 0; n != graph_.size(); ++n) {
            if (waits_[n] != 0) continue;
            const std::uint32_t m = graph_.message_of(n);
            if (graph_.step_of(n).more)
                --waits_[graph_.last_part(n)];
            else if (m == no_step || message(m).send == n)
                ready(n);
        }
    }
    // Node `n` waits for no other node any more.
    constexpr void ready(std::uint32_t n) {
        const std::uint32_t m = graph_.message_of(n);
        if (graph_.step_of(n).more) {
            const std::uint32_t last = graph_.last_part(n);
            if (--waits_[last] == 0) ready(last);
        } else if (m == no_step) {
            local_.push_back(n);
        } else if (n == message(m).send || messages_[m].sent || waits_[message(m).send] == 0) {
            enqueue(m);
        }
    }
    constexpr void run_local() {
        while (!local_.empty() && !found_.failed()) {
            const std::uint32_t n = local_.back();
            local_.pop_back();
            if (memory_.run(n)) complete(n);
        }
    }
    // Node `last` is done, and if it is a message's last part, the other parts are.
    constexpr void complete(std::uint32_t last) {
        const std::uint32_t m = graph_.message_of(last);
        const std::uint32_t parts = m == no_step ? 1 : message(m).parts;
        for (std::uint32_t n = last + 1 - parts; n != last + 1; ++n) {
            waits_[n] = done_mark;
            if (!held_sends_.empty() && held_sends_[n] != no_step) complete(held_sends_[n]);
            graph_.for_each_after(n, [this](std::uint32_t later) {
                if (--waits_[later] == 0) ready(later);
            });
        }
    }
    constexpr void find_stuck() {
        for (std::uint32_t n = 0; n != graph_.size(); ++n) {
            if (waits_[n] == done_mark) continue;
            const step& s = graph_.step_of(n);
            found_.fail(fault::deadlock, graph_.rank_of(n), graph_.index_of(n), s.communicates() ? 0 : s.out.first,
                        s.peer);
            return;
        }
    }

    const step_graph& graph_;
    Memory& memory_;
    findings& found_;
    std::uint32_t slots_;
    std::vector<std::uint32_t> held_sends_; // by node, as step_graph::held_sends(); empty: none is held
    std::vector<std::uint32_t> waits_;      // by node
    std::vector<progress> messages_;
    ports ports_;
    std::vector<std::uint32_t> local_; // local steps that are ready
    port_queues queues_;
    std::vector<std::uint32_t> done_; // sends and receives that ended in this round
};

} // namespace bough::detail

#endif
