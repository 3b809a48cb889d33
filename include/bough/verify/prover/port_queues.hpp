// SPDX-License-Identifier: BSL-1.0
// port_queues: the messages that may move on, in the order in which ports serve them: by turns
// (bough/verify/prover/turns.hpp), and among equal turns by when a message became ready.
//
// A message that lacks only a port waits in the queue of that port, each queue in this order. A round
// looks at the first of each queue, and further only while the port at the other end is used. In an
// alltoall each of p ports has p - 1 messages, and p rounds that looked at all of them would take p^3.
#ifndef BOUGH_VERIFY_PROVER_PORT_QUEUES_HPP
#define BOUGH_VERIFY_PROVER_PORT_QUEUES_HPP

#include <bough/core/plain_list.hpp>
#include <bough/schedule/dependence.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

// A message's place in a queue. `key`: its turn << 32 | when it arrived.
struct queued_message {
    std::uint64_t key = 0;
    std::uint32_t behind = no_step; // the one behind it
};
struct port_queue {
    std::uint32_t first = no_step, last = no_step;
};
// What waits between two rounds.
struct queue_contents {
    plain_list<queued_message> messages{};
    plain_list<port_queue> queues{};    // by port
    plain_list<std::uint32_t> filled{}; // the ports with a queue that is not empty
    plain_list<std::uint32_t> arrived{};
    std::uint32_t arrivals = 0;

    constexpr void start(std::size_t message_count, std::size_t ports) {
        messages.assign(message_count, queued_message{});
        queues.assign(ports, port_queue{});
    }
};

//   arrive(m)                   at any time: m may be able to move on; it is looked at in the next round
//   begin_round()
//   while (find_next())         next() is the message to be looked at
//       take() or leave_queue() or pass_over()
//   wait(m, port)               between begin_round() and end_round(): m joins a queue for the next round
//   end_round()
template <int>
class basic_port_queues {
public:
    // `turns`: by message.
    constexpr basic_port_queues(const std::uint32_t* turns, queue_contents& contents) noexcept
        : turns_(turns), kept_(contents) {}

    // Is there no message that may move on?
    constexpr bool empty() const noexcept { return kept_.arrived.empty() && kept_.filled.empty(); }
    // Pre: message `m` is neither in a queue nor has it arrived.
    constexpr void arrive(std::uint32_t m) {
        message(m).key = std::uint64_t{turns_[m]} << 32 | kept_.arrivals++;
        kept_.arrived.push_back(m);
    }

    constexpr void begin_round() {
        batch_.clear();
        std::swap(batch_, kept_.arrived);
        sort_batch();
        looked_at_ = 0;
        heads_.clear();
        for (const std::uint32_t port : kept_.filled) {
            const std::uint32_t m = queue(port).first;
            heads_.push_back({message(m).key, m, no_step, port});
        }
        std::make_heap(heads_.begin(), heads_.end(), is_later);
    }
    // False: all have been looked at.
    constexpr bool find_next() {
        const bool all_new = looked_at_ == batch_.size();
        if (heads_.empty()) {
            waited_ = false;
            return !all_new;
        }
        waited_ = all_new || heads_.front().key < message(batch_.data()[looked_at_]).key;
        if (waited_) std::pop_heap(heads_.begin(), heads_.end(), is_later);
        return true;
    }
    constexpr std::uint32_t next() const noexcept {
        return waited_ ? heads_.back().message : batch_.data()[looked_at_];
    }
    // Has it come out of a queue? Then which?
    constexpr bool next_has_waited() const noexcept { return waited_; }
    constexpr std::uint32_t port_of_next() const noexcept { return heads_.back().port; }
    // Takes the next message out. If it came out of a queue, this round looks at that queue no more.
    constexpr void take() {
        if (!waited_) {
            ++looked_at_;
            return;
        }
        const head taken = heads_.back();
        heads_.pop_back();
        port_queue& of = queue(taken.port);
        const std::uint32_t later = message(taken.message).behind;
        (taken.before == no_step ? of.first : message(taken.before).behind) = later;
        if (later == no_step) of.last = taken.before;
    }
    // Pre: the next message has waited. It goes on waiting, and so do all behind it.
    constexpr void leave_queue() { heads_.pop_back(); }
    // Pre: the next message has waited. It goes on waiting; the one behind it is looked at in its turn.
    constexpr void pass_over() {
        head& at = heads_.back();
        const std::uint32_t later = message(at.message).behind;
        if (later == no_step) return heads_.pop_back();
        at = {message(later).key, later, at.message, at.port};
        std::push_heap(heads_.begin(), heads_.end(), is_later);
    }

    constexpr void wait(std::uint32_t m, std::uint32_t port) { waiting_.push_back({m, port}); }
    constexpr void end_round() {
        kept_.filled.erase_if([this](std::uint32_t port) { return queue(port).first == no_step; });
        for (const in_vain& w : waiting_) join(w.message, w.port);
        waiting_.clear();
    }

private:
    struct head { // of what is left to look at of a queue
        std::uint64_t key;
        std::uint32_t message, before, port; // before: in the queue
    };
    struct in_vain {
        std::uint32_t message, port;
    };
    static constexpr bool is_later(const head& a, const head& b) noexcept { return a.key > b.key; }

    constexpr queued_message& message(std::uint32_t m) noexcept { return kept_.messages.data()[m]; }
    constexpr port_queue& queue(std::uint32_t port) noexcept { return kept_.queues.data()[port]; }

    // In many plans they come sorted.
    constexpr void sort_batch() {
        const auto comes_first = [this](std::uint32_t a, std::uint32_t b) { return message(a).key < message(b).key; };
        const std::uint32_t* const all = batch_.data();
        for (std::size_t i = 1; i < batch_.size(); ++i)
            if (comes_first(all[i], all[i - 1])) return std::sort(batch_.begin(), batch_.end(), comes_first);
    }
    constexpr void join(std::uint32_t m, std::uint32_t port) {
        port_queue& to = queue(port);
        if (to.first == no_step) kept_.filled.push_back(port);
        const std::uint64_t key = message(m).key;
        std::uint32_t before = to.last; // most come in order
        if (before != no_step && message(before).key > key) {
            before = no_step;
            for (std::uint32_t at = to.first; message(at).key < key; at = message(at).behind) before = at;
        }
        std::uint32_t& link = before == no_step ? to.first : message(before).behind;
        message(m).behind = link;
        link = m;
        if (message(m).behind == no_step) to.last = m;
    }

    const std::uint32_t* turns_;
    queue_contents& kept_;
    plain_list<std::uint32_t> batch_{}; // what had arrived before this round, in order
    plain_list<head> heads_{};          // a heap of those that are left
    plain_list<in_vain> waiting_{};     // they join their queues at the end of the round
    std::size_t looked_at_ = 0;         // of the batch
    bool waited_ = false;               // is the next message from a queue?
};
using port_queues = basic_port_queues<0>;

} // namespace bough::detail

#endif
