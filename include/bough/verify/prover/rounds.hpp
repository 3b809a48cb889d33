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
#include <bough/verify/prover/step_graph.hpp>
#include <bough/verify/rules.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

// How far a message is.
struct message_progress {
    bool sent = false, received = false, queued = false;
    std::size_t payload = 0; // once it is sent, with eager slots: where the memory keeps it
};
// A message that may move on.
struct queued_message {
    std::uint32_t message = 0, turn = 0;
    rank_t from = 0, to = 0;
};
// Messages that may move on. A key is the turn of a message, then its place.
struct message_queue {
    plain_list<queued_message> places{}; // in the order in which they came
    plain_list<std::uint64_t> ready{};   // those that lacked only a port in the last round: keys, sorted
    plain_list<std::uint64_t> arrived{}; // the keys of all others

    // In the next place.
    constexpr std::uint64_t key_of(const queued_message& next) const {
        return std::uint64_t{next.turn} << 32 | static_cast<std::uint32_t>(places.size());
    }
    constexpr void clear() { places.clear(), ready.clear(), arrived.clear(); }
};
// How far the run is, between two rounds.
struct run_state {
    plain_list<std::uint32_t> waits{}; // by node: for how many others it still waits
    plain_list<message_progress> messages{};
    plain_list<std::uint32_t> sent_in{}, received_in{}; // by rank: the last round in which each port was used
    message_queue queue{};
    std::uint32_t round = 0; // the present one
};

template <class Memory>
class prover_rounds {
public:
    // `turns`: by message.
    constexpr prover_rounds(const step_graph& graph, const std::uint32_t* turns, run_state& state, Memory& memory,
                            findings& found, const verify_options& options)
        : graph_(graph), turns_(turns), state_(state), memory_(memory), found_(found), slots_(options.eager_slots) {
        if (options.hold) held_sends_ = held_sends(graph_);
    }

    // Before the first round.
    constexpr void start() {
        state_.waits.resize(graph_.size, 0);
        copy_elements(state_.waits.data(), graph_.waits, graph_.size);
        state_.messages.assign(graph_.message_count, message_progress{});
        state_.sent_in.resize(graph_.ranks, 0);
        state_.received_in.resize(graph_.ranks, 0);
        find_ready();
        run_local();
    }
    // To the end, to a fault, or until nothing moves any more; at most until `most` messages and blocks have been
    // handled in whole rounds. False: there is more to do.
    constexpr bool run(std::uint64_t most) {
        message_queue batch;
        while (!state_.queue.places.empty() && !found_.failed()) {
            if (handled_ >= most) return false;
            ++state_.round;
            batch.clear();
            std::swap(batch, state_.queue);
            done_.clear();
            serve(batch);
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

    // Moves messages on in the order of their keys. A message that lacked only a port still lacks
    // nothing else, so only its ports are looked at: thousands may wait for one port, and each round
    // passes all of them.
    constexpr void serve(message_queue& batch) {
        sort_keys(batch.arrived);
        const queued_message* const places = batch.places.data();
        const std::uint64_t* ready = batch.ready.data();
        const std::uint64_t* arrived = batch.arrived.data();
        const std::uint64_t *const ready_end = batch.ready.end(), *const arrived_end = batch.arrived.end();
        handled_ += batch.places.size();
        while (ready != ready_end || arrived != arrived_end)
            if (arrived != arrived_end && (ready == ready_end || *arrived < *ready))
                advance(places[static_cast<std::uint32_t>(*arrived++)]);
            else if (const queued_message& next = places[static_cast<std::uint32_t>(*ready++)]; lacks_port(next))
                wait_for_port(next);
            else
                advance(next);
    }
    // In many plans they come sorted.
    static constexpr void sort_keys(plain_list<std::uint64_t>& keys) {
        const std::uint64_t* const all = keys.data();
        for (std::size_t i = 1; i < keys.size(); ++i)
            if (all[i] < all[i - 1]) {
                std::sort(keys.begin(), keys.end());
                return;
            }
    }

    // Moves a message on as far as this round allows. It comes back in the next round if it lacked
    // only a port.
    constexpr void advance(const queued_message& next) {
        const std::uint32_t m = next.message;
        message_progress& at = progress(m);
        at.queued = false;
        if (!at.sent && may_be_sent(m)) {
            if (has_ports_to_send(next))
                send(m, next);
            else
                at.queued = true, wait_for_port(next);
        }
        if (at.sent && !at.received && may_be_received(m)) {
            if (has_port_to_receive(next))
                receive(m, next);
            else
                at.queued = true, wait_for_port(next);
        }
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
    // Without slots, a message is sent and received in one round.
    constexpr bool has_ports_to_send(const queued_message& next) const {
        return state_.sent_in.data()[next.from] != state_.round && (slots_ != 0 || has_port_to_receive(next));
    }
    constexpr bool has_port_to_receive(const queued_message& next) const {
        return state_.received_in.data()[next.to] != state_.round;
    }
    // Pre: it lacked only a port.
    constexpr bool lacks_port(const queued_message& next) const {
        return slots_ != 0 && progress(next.message).sent ? !has_port_to_receive(next) : !has_ports_to_send(next);
    }

    constexpr void send(std::uint32_t m, const queued_message& next) {
        const paired_message& msg = graph_.messages[m];
        state_.sent_in.data()[next.from] = state_.round;
        progress(m).sent = true;
        if (slots_ != 0) {
            progress(m).payload = memory_.payload_of_next();
            memory_.read_message(msg);
        }
        if (!is_held(msg)) done_.push_back(msg.send);
        if (msg.next != no_step) enqueue(msg.next);
    }
    constexpr void receive(std::uint32_t m, const queued_message& next) {
        const paired_message& msg = graph_.messages[m];
        state_.received_in.data()[next.to] = state_.round;
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
        const paired_message& msg = graph_.messages[m];
        const queued_message last{m, turns_[m], graph_.rank_of[msg.send], graph_.rank_of[msg.receive]};
        state_.queue.arrived.push_back(state_.queue.key_of(last));
        state_.queue.places.push_back(last);
    }
    // Only while a batch is served, in the order of its keys: so the new keys are sorted, too.
    constexpr void wait_for_port(const queued_message& next) {
        state_.queue.ready.push_back(state_.queue.key_of(next));
        state_.queue.places.push_back(next);
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
    const std::uint32_t* turns_;
    run_state& state_;
    Memory& memory_;
    findings& found_;
    std::uint32_t slots_;
    std::uint64_t handled_ = 0;            // messages and blocks
    plain_list<std::uint32_t> held_sends_; // by node, as held_sends(); empty: none is held
    plain_list<std::uint32_t> local_;      // local steps that are ready
    plain_list<std::uint32_t> done_;       // sends and receives that ended in this round
};

} // namespace bough::detail

#endif
