// SPDX-License-Identifier: BSL-1.0
// The outbox: messages of the session itself (aborts, agreement), kept until the transport has sent
// them.
#ifndef BOUGH_SESSION_OUTBOX_HPP
#define BOUGH_SESSION_OUTBOX_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/moved_list.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// Memory of used messages, for later ones. Memory that was reserved comes back here; other memory
// is freed.
//
// A message takes the shortest buffer that is long enough. So as long as no more messages of a
// length are in use than were reserved for that length, none has to allocate, whatever other
// lengths there are.
template <int>
class basic_spare_bytes {
public:
    // Reserves so many more messages of so many bytes each. If it throws, nothing has changed.
    void reserve(std::size_t messages, std::size_t bytes) {
        if (messages == 0) return;
        buffers more(messages);
        for (std::vector<std::byte>& x : more) x.reserve(bytes);
        length* const at = first_of(bytes);
        if (at == lengths_.end() || at->bytes != bytes) {
            lengths_.insert(at, {bytes, messages, std::move(more)});
        } else {
            at->free.reserve(at->room + messages);
            for (std::vector<std::byte>& x : more) at->free.push_back(std::move(x));
            at->room += messages;
        }
        room_ += messages;
    }
    // Ends one reserve(). Buffers in use come back later, as far as there is room left.
    void unreserve(std::size_t messages, std::size_t bytes) noexcept {
        if (messages == 0) return;
        length* const at = first_of(bytes);
        BOUGH_EXPECTS(at != lengths_.end() && at->bytes == bytes && at->room >= messages, "bytes: not reserved");
        room_ -= messages;
        at->room -= messages;
        if (at->free.size() > at->room) at->free.resize(at->room);
        if (at->room == 0) lengths_.erase(at);
    }
    std::size_t room() const noexcept { return room_; }
    std::vector<std::byte> of_size(std::size_t bytes) {
        std::vector<std::byte> x = take(bytes);
        x.resize(bytes);
        return x;
    }
    std::vector<std::byte> copy_of(std::span<const std::byte> bytes) {
        std::vector<std::byte> x = take(bytes.size());
        x.assign(bytes.begin(), bytes.end());
        return x;
    }
    void give(std::vector<std::byte>&& bytes) noexcept {
        for (auto at = lengths_.end(); at != lengths_.begin();) {
            --at;
            if (at->bytes > bytes.capacity() || at->free.size() == at->room) continue;
            at->free.push_back(std::move(bytes));
            return;
        }
    }

private:
    using buffers = detail::moved_list<std::vector<std::byte>>;
    struct length {
        std::size_t bytes; // each buffer holds at least so many
        std::size_t room;
        buffers free; // its capacity is at least `room`
    };

    // The first length that is at least `bytes`. A linear search: there are few lengths.
    length* first_of(std::size_t bytes) noexcept {
        length* at = lengths_.begin();
        while (at != lengths_.end() && at->bytes < bytes) ++at;
        return at;
    }
    // Empty, if no free buffer is long enough.
    std::vector<std::byte> take(std::size_t bytes) noexcept {
        for (auto at = first_of(bytes); at != lengths_.end(); ++at) {
            if (at->free.empty()) continue;
            std::vector<std::byte> x = std::move(at->free.back());
            at->free.pop_back();
            return x;
        }
        return {};
    }

    detail::moved_list<length> lengths_; // ascending, no two the same
    std::size_t room_ = 0;
};
// basic_spare_bytes as sessions use it.
using spare_bytes = basic_spare_bytes<0>;

// Keeps a session's own messages until the transport has sent them.
//
// Those that the transport has not taken are in one list for each rank, and these ranks in another. So
// whether something waits for a rank is known at once, and a flush() that the transport refuses costs one
// post for each rank, however many messages wait.
template <int>
class basic_outbox {
public:
    // The upper half of the ids of its posts; no operation's ticket has this value.
    static constexpr std::uint32_t id_mark = 0xffff'ffffu;

    // A rank that waits for long asks those that it waits for. So that this allocates nothing, there is room for some
    // messages without bytes.
    explicit basic_outbox(rank_t ranks) : peers_(ranks) { messages_.reserve(8); }

    bool empty() const noexcept { return size_ == 0; }
    std::size_t size() const noexcept { return size_; }

    // The next flush() sends it.
    BOUGH_COLD void put(rank_t to, const envelope& tag, std::span<const std::byte> bytes) {
        if (free_ == none) {
            messages_.emplace_back();
            free_ = static_cast<std::uint32_t>(messages_.size() - 1);
        }
        message& m = messages_[free_];
        m.bytes = spare_.copy_of(bytes); // may throw
        m.tag = tag;
        const std::uint32_t at = std::exchange(free_, std::exchange(m.next, none));
        ++size_;
        has_untried_ = true;
        peer& p = peers_[to];
        (p.first == none ? p.first : messages_[p.last].next) = at;
        if (p.first == at) {
            (first_ == no_rank ? first_ : peers_[last_].next) = to;
            last_ = to;
        }
        p.last = at;
    }
    // Reserves memory for so many more messages, until unreserve. If it throws, nothing has
    // changed.
    void reserve(std::size_t messages, std::size_t bytes) {
        messages_.reserve(messages_.size() + spare_.room() + messages);
        spare_.reserve(messages, bytes);
    }
    void unreserve(std::size_t messages, std::size_t bytes) noexcept { spare_.unreserve(messages, bytes); }

    // Posts the messages that are not posted yet, in order for each peer.
    template <Transport T>
    BOUGH_COLD void flush(T& transport) {
        has_untried_ = false;
        rank_t before = no_rank;
        for (rank_t to = first_; to != no_rank;) {
            peer& p = peers_[to];
            while (p.first != none && post_first(transport, to)) {
            }
            const rank_t next = p.next;
            p.first == none ? unlink(to, before) : void(before = to);
            to = next;
        }
    }
    // The post with this id has ended.
    void completed(std::uint64_t id) noexcept {
        const auto at = static_cast<std::uint32_t>(id);
        if (at < messages_.size() && messages_[at].posted) free(at);
    }
    // Is a message to this rank still here, because the transport has not taken it?
    bool holds_for(rank_t to) const noexcept { return first_ != no_rank && peers_[to].first != none; }
    bool holds_any() const noexcept { return first_ != no_rank; }
    // Has one been put since the last flush()?
    bool has_untried() const noexcept { return has_untried_; }
    // Must data to this rank wait, as messages to it are still here? Then data_may_go() says when to try
    // again.
    bool holds_back(rank_t to) noexcept { return holds_for(to) && (data_waits_ = true); }
    bool data_waits() const noexcept { return data_waits_; }
    // Since the last call, has a rank been cleared while data waited? The data that still waits then says
    // so anew.
    bool data_may_go() noexcept {
        if (!holds_any()) data_waits_ = false;
        return std::exchange(has_cleared_, false);
    }
    BOUGH_COLD void forget(rank_t to) noexcept {
        if (!holds_for(to)) return;
        while (peers_[to].first != none) free(take_first(to));
        rank_t before = no_rank;
        for (rank_t r = first_; r != to; r = peers_[r].next) before = r;
        unlink(to, before);
    }

private:
    static constexpr std::uint32_t none = 0xffff'ffffu;
    struct message {
        envelope tag;
        std::vector<std::byte> bytes;
        std::uint32_t next = none; // to the same rank, or free
        bool posted = false;
    };
    struct peer {
        std::uint32_t first = none, last = none; // of the messages to it that are not posted
        rank_t next = no_rank;                   // for which there are some
    };

    // False: the transport has no room.
    template <Transport T>
    bool post_first(T& transport, rank_t to) {
        const std::uint32_t at = peers_[to].first;
        const message& m = messages_[at];
        const posted result = transport.post_send(to, m.tag, m.bytes, std::uint64_t{id_mark} << 32 | at);
        if (result == posted::would_block) return false;
        take_first(to);
        result == posted::pending ? void(messages_[at].posted = true) : free(at); // a lost peer needs no message
        return true;
    }
    std::uint32_t take_first(rank_t to) noexcept {
        const std::uint32_t at = peers_[to].first;
        peers_[to].first = std::exchange(messages_[at].next, none);
        return at;
    }
    void free(std::uint32_t at) noexcept {
        message& m = messages_[at];
        spare_.give(std::move(m.bytes));
        m.bytes = {};
        m.posted = false;
        m.next = std::exchange(free_, at);
        --size_;
    }
    // There is no message to this rank any more. `before`: the rank before it; no_rank: it is the first.
    void unlink(rank_t to, rank_t before) noexcept {
        (before == no_rank ? first_ : peers_[before].next) = std::exchange(peers_[to].next, no_rank);
        if (last_ == to) last_ = before;
        has_cleared_ = data_waits_;
    }

    detail::moved_list<message> messages_;
    std::uint32_t free_ = none;      // of messages_
    std::size_t size_ = 0;           // of messages_ that are not free
    detail::plain_list<peer> peers_; // by rank
    rank_t first_ = no_rank, last_ = no_rank;
    bool has_untried_ = false;
    bool data_waits_ = false, has_cleared_ = false;
    spare_bytes spare_;
};
using outbox = basic_outbox<0>;

} // namespace bough

#endif
