// SPDX-License-Identifier: BSL-1.0
// early_list: messages that wait for their operation, in the order in which they came.
//
// Three things are found without a search, however many wait: the first message of a call, the
// messages of one sender that still lie in the transport, and how much of that sender was copied.
// Memory grows with the most that waited at a time, and is used again.
#ifndef BOUGH_SESSION_EARLY_LIST_HPP
#define BOUGH_SESSION_EARLY_LIST_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/moved_list.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/session/operation_table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

struct early_message {
    event what;
    early_message *before = nullptr, *after = nullptr;                 // in order of arrival
    early_message *next_of_call = nullptr, *last_of_call = nullptr;    // the last one: known to the first
    early_message *before_of_peer = nullptr, *after_of_peer = nullptr; // of those that are in place
    bool in_place = false;                                             // it lies in the transport
    bool under_way = false;                                            // its payload is on the way to a copy
};

template <int>
class basic_early_list {
public:
    struct of_peer {
        early_message *first = nullptr, *last = nullptr; // that are in place
        std::uint32_t in_place = 0;
        std::uint64_t early_bytes = 0, held_bytes = 0; // copies, for whoever copies
    };

    // Up to 16 messages from up to 256 ranks are remembered in memory that is allocated here.
    explicit basic_early_list(rank_t ranks) : peers_(std::min<std::size_t>(ranks, 256)) {
        more(16);
        calls_.reserve(16);
        allocations_ = 0;
    }
    bool empty() const noexcept { return count_ == 0; }
    std::size_t size() const noexcept { return count_; }
    std::uint32_t in_place() const noexcept { return in_place_; }
    std::uint64_t allocations() const noexcept { return allocations_; } // since it was made
    early_message* first() const noexcept { return first_; }
    // The first message of a sender that is in place; null: there is none.
    early_message* first_of(rank_t r) const noexcept { return r < peers_.size() ? peers_[r].first : nullptr; }
    // What is known of a sender.
    of_peer& peer(rank_t r) {
        if (r >= peers_.size()) {
            ++allocations_;
            peers_.resize(std::max<std::size_t>(std::size_t{r} + 1, 2 * peers_.size()));
        }
        return peers_[r];
    }

    // If memory runs out, nothing has changed.
    early_message& append(const event& e, bool in_place) {
        of_peer& sender = peer(e.peer);
        if (free_ == nullptr) more(count_);
        const std::size_t had = calls_.capacity();
        calls_.reserve(calls_.size() + 1);
        allocations_ += calls_.capacity() != had;
        early_message& m = *std::exchange(free_, free_->after);
        m = {.what = e, .before = last_};
        (last_ == nullptr ? first_ : last_->after) = &m;
        last_ = &m;
        ++count_;
        if (early_message* head = calls_.find(key_of(e.envelope))) {
            head->last_of_call = head->last_of_call->next_of_call = &m;
        } else {
            m.last_of_call = &m;
            calls_.put(key_of(e.envelope), m);
        }
        if (!in_place) return m;
        m.in_place = true;
        m.before_of_peer = sender.last;
        (sender.last == nullptr ? sender.first : sender.last->after_of_peer) = &m;
        sender.last = &m;
        ++sender.in_place, ++in_place_;
        return m;
    }
    // The first message of a call of this epoch; null: there is none.
    early_message* find(const envelope& call) const noexcept {
        for (early_message* m = calls_.find(key_of(call)); m != nullptr; m = m->next_of_call)
            if (m->what.envelope.epoch == call.epoch) return m;
        return nullptr;
    }
    // The message is a copy now.
    void leaves_transport(early_message& m) noexcept {
        if (!std::exchange(m.in_place, false)) return;
        of_peer& sender = peers_[m.what.peer];
        (m.before_of_peer == nullptr ? sender.first : m.before_of_peer->after_of_peer) = m.after_of_peer;
        (m.after_of_peer == nullptr ? sender.last : m.after_of_peer->before_of_peer) = m.before_of_peer;
        --sender.in_place, --in_place_;
    }
    event take_out(early_message& m) noexcept {
        leaves_transport(m);
        const std::uint64_t key = key_of(m.what.envelope);
        early_message* head = calls_.find(key);
        if (head == &m) {
            calls_.erase(key, m);
            if (m.next_of_call != nullptr) {
                m.next_of_call->last_of_call = m.last_of_call;
                calls_.put(key, *m.next_of_call);
            }
        } else {
            early_message* prior = head;
            while (prior->next_of_call != &m) prior = prior->next_of_call;
            prior->next_of_call = m.next_of_call;
            if (head->last_of_call == &m) head->last_of_call = prior;
        }
        (m.before == nullptr ? first_ : m.before->after) = m.after;
        (m.after == nullptr ? last_ : m.after->before) = m.before;
        --count_;
        m.after = free_;
        free_ = &m;
        return m.what;
    }

private:
    static std::uint64_t key_of(const envelope& call) noexcept {
        return std::uint64_t{call.epoch} << 48 ^ std::uint64_t{call.context} << 32 ^ call.operation;
    }
    void more(std::size_t count) {
        const std::size_t had = blocks_.capacity();
        blocks_.reserve(blocks_.size() + 1);
        allocations_ += blocks_.capacity() != had;
        ++allocations_;
        blocks_.push_back(std::make_unique<early_message[]>(count));
        for (std::size_t i = count; i-- != 0;) {
            blocks_.back()[i].after = free_;
            free_ = &blocks_.back()[i];
        }
    }

    moved_list<std::unique_ptr<early_message[]>> blocks_;
    plain_list<of_peer> peers_;
    operation_table<early_message> calls_; // the first message of each
    early_message *first_ = nullptr, *last_ = nullptr, *free_ = nullptr;
    std::size_t count_ = 0;
    std::uint32_t in_place_ = 0;
    std::uint64_t allocations_ = 0;
};
using early_list = basic_early_list<0>;

} // namespace bough::detail

#endif
