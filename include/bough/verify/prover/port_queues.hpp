// SPDX-License-Identifier: BSL-1.0
// port_queues: the messages that may move on, in the order in which ports serve them: by turns
// (bough/schedule/turns.hpp), and among equal turns by when a message became ready.
//
// A message that lacks only a port waits in the queue of that port, each queue in this order. A round
// looks at the first of each queue, and further only while the port at the other end is used: in an
// alltoall each of p ports has p - 1 messages, and p rounds that looked at all of them would take p^3.
#ifndef BOUGH_VERIFY_PROVER_PORT_QUEUES_HPP
#define BOUGH_VERIFY_PROVER_PORT_QUEUES_HPP

#include <bough/schedule/dependence.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

//   arrive(m)                   at any time: m may be able to move on; it is looked at in the next round
//   begin_round()
//   while (find_next())         next() is the message to be looked at
//       take() or leave_queue() or pass_over()
//   wait(m, port)               between begin_round() and end_round(): m joins a queue for the next round
//   end_round()
class port_queues {
public:
    constexpr port_queues(const std::vector<std::uint32_t>& turns, std::size_t ports)
        : keys_(turns.size(), 0), behind_(turns.size(), std::uint32_t{no_step}), queues_(ports, queue{}) {
        for (std::size_t m = 0; m != turns.size(); ++m) keys_[m] = std::uint64_t{turns[m]} << 32;
    }

    // Is there no message that may move on?
    constexpr bool empty() const noexcept { return arrived_.empty() && filled_.empty(); }
    // Pre: message `m` is neither in a queue nor has it arrived.
    constexpr void arrive(std::uint32_t m) {
        keys_[m] = (keys_[m] >> 32) << 32 | arrivals_++;
        arrived_.push_back({keys_[m], m});
    }

    constexpr void begin_round() {
        batch_.clear();
        std::swap(batch_, arrived_);
        std::sort(batch_.begin(), batch_.end(), [](const keyed& a, const keyed& b) { return a.key < b.key; });
        looked_at_ = 0;
        heads_.clear();
        for (const std::uint32_t port : filled_) {
            const std::uint32_t m = queues_[port].first;
            heads_.push_back({keys_[m], m, no_step, port});
        }
        std::make_heap(heads_.begin(), heads_.end(), is_later);
    }
    // False: all have been looked at.
    constexpr bool find_next() {
        if (looked_at_ == batch_.size() && heads_.empty()) return false;
        waited_ = looked_at_ == batch_.size() || (!heads_.empty() && heads_.front().key < batch_[looked_at_].key);
        if (waited_) std::pop_heap(heads_.begin(), heads_.end(), is_later);
        return true;
    }
    constexpr std::uint32_t next() const noexcept {
        return waited_ ? heads_.back().message : batch_[looked_at_].message;
    }
    // Has it come out of a queue?
    constexpr bool next_has_waited() const noexcept { return waited_; }
    // Takes the next message out. If it came out of a queue, that queue is looked at no more in this round.
    constexpr void take() {
        if (!waited_) {
            ++looked_at_;
            return;
        }
        const head taken = heads_.back();
        heads_.pop_back();
        queue& of = queues_[taken.port];
        const std::uint32_t later = behind_[taken.message];
        (taken.before == no_step ? of.first : behind_[taken.before]) = later;
        if (later == no_step) of.last = taken.before;
    }
    // Pre: the next message has waited. It goes on waiting, and so do all behind it.
    constexpr void leave_queue() { heads_.pop_back(); }
    // Pre: the next message has waited. It goes on waiting; the one behind it is looked at in its turn.
    constexpr void pass_over() {
        head& at = heads_.back();
        const std::uint32_t later = behind_[at.message];
        if (later == no_step) return heads_.pop_back();
        at = {keys_[later], later, at.message, at.port};
        std::push_heap(heads_.begin(), heads_.end(), is_later);
    }

    constexpr void wait(std::uint32_t m, std::uint32_t port) { waiting_.push_back({m, port}); }
    constexpr void end_round() {
        std::erase_if(filled_, [this](std::uint32_t port) { return queues_[port].first == no_step; });
        for (const auto& [m, port] : waiting_) join(m, port);
        waiting_.clear();
    }

private:
    struct keyed {
        std::uint64_t key;
        std::uint32_t message;
    };
    struct queue {
        std::uint32_t first = no_step, last = no_step;
    };
    struct head { // of what is left to look at of a queue
        std::uint64_t key;
        std::uint32_t message, before, port; // before: in the queue
    };
    struct in_vain {
        std::uint32_t message, port;
    };
    static constexpr bool is_later(const head& a, const head& b) noexcept { return a.key > b.key; }

    constexpr void join(std::uint32_t m, std::uint32_t port) {
        queue& to = queues_[port];
        if (to.first == no_step) filled_.push_back(port);
        std::uint32_t before = to.last; // most come in order
        if (before != no_step && keys_[before] > keys_[m]) {
            before = no_step;
            for (std::uint32_t at = to.first; keys_[at] < keys_[m]; at = behind_[at]) before = at;
        }
        std::uint32_t& link = before == no_step ? to.first : behind_[before];
        behind_[m] = link;
        link = m;
        if (behind_[m] == no_step) to.last = m;
    }

    std::vector<std::uint64_t> keys_;    // by message: its turn << 32 | when it arrived
    std::vector<std::uint32_t> behind_;  // by message: the one behind it in its queue
    std::vector<queue> queues_;          // by port
    std::vector<std::uint32_t> filled_;  // the ports with a queue that is not empty
    std::vector<keyed> arrived_, batch_; // for the next round; for this one
    std::vector<head> heads_;            // a heap of those that are left
    std::vector<in_vain> waiting_;       // they join their queues at the end of the round
    std::size_t looked_at_ = 0;          // of the batch
    std::uint32_t arrivals_ = 0;
    bool waited_ = false; // is the next message from a queue?
};

} // namespace bough::detail

#endif
