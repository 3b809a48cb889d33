// SPDX-License-Identifier: BSL-1.0
// The outbox: messages of the session itself (aborts, agreement), kept until the transport has sent
// them.
#ifndef BOUGH_SESSION_OUTBOX_HPP
#define BOUGH_SESSION_OUTBOX_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/contract.hpp>

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
        const auto at = first_of(bytes);
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
        const auto at = first_of(bytes);
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
    using buffers = std::vector<std::vector<std::byte>>;
    struct length {
        std::size_t bytes; // each buffer holds at least so many
        std::size_t room;
        buffers free; // its capacity is at least `room`
    };

    // The first length that is at least `bytes`. A linear search: there are few lengths.
    typename std::vector<length>::iterator first_of(std::size_t bytes) noexcept {
        auto at = lengths_.begin();
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

    std::vector<length> lengths_; // ascending, no two the same
    std::size_t room_ = 0;
};
// basic_spare_bytes as sessions use it.
using spare_bytes = basic_spare_bytes<0>;

// Keeps a session's own messages until the transport has sent them.
template <int>
class basic_outbox {
public:
    // The upper half of the ids of its posts; no operation's ticket has this value.
    static constexpr std::uint32_t id_mark = 0xffff'ffffu;

    // A rank that waits for long asks those that it waits for. So that this allocates nothing, there is room for some
    // messages without bytes.
    basic_outbox() {
        messages_.reserve(8);
        blocked_.reserve(8);
    }

    bool empty() const noexcept { return messages_.empty(); }
    std::size_t size() const noexcept { return messages_.size(); }

    // The next flush() sends it.
    void put(rank_t to, const envelope& tag, std::span<const std::byte> bytes) {
        messages_.push_back({to, tag, spare_.copy_of(bytes), std::uint64_t{id_mark} << 32 | next_id_++, false});
        blocked_.reserve(messages_.capacity()); // flush() allocates nothing
    }
    // Reserves memory for so many more messages, until unreserve. If it throws, nothing has
    // changed.
    void reserve(std::size_t messages, std::size_t bytes) {
        messages_.reserve(messages_.size() + spare_.room() + messages);
        blocked_.reserve(messages_.capacity());
        spare_.reserve(messages, bytes);
    }
    void unreserve(std::size_t messages, std::size_t bytes) noexcept { spare_.unreserve(messages, bytes); }

    // Posts the messages that are not posted yet, in order for each peer.
    template <Transport T>
    void flush(T& transport) {
        blocked_.clear();
        for (std::size_t i = 0; i != messages_.size();) {
            message& m = messages_[i];
            if (m.posted || is_blocked(m.to)) {
                ++i;
                continue;
            }
            const posted result = transport.post_send(m.to, m.tag, m.bytes, m.id);
            if (result == posted::complete || result == posted::failed) { // a lost peer needs no message
                spare_.give(std::move(m.bytes));
                messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(i));
                continue;
            }
            m.posted = result == posted::pending;
            if (!m.posted) blocked_.push_back(m.to); // the later ones must not overtake it
            ++i;
        }
    }
    // The post with this id has ended.
    void completed(std::uint64_t id) {
        for (std::size_t i = 0; i != messages_.size(); ++i) {
            if (!messages_[i].posted || messages_[i].id != id) continue;
            spare_.give(std::move(messages_[i].bytes));
            messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(i));
            return;
        }
    }
    // Is a message to this rank still here, because the transport has not taken it?
    bool holds_for(rank_t peer) const noexcept {
        for (const message& m : messages_)
            if (!m.posted && m.to == peer) return true;
        return false;
    }
    void forget(rank_t peer) {
        std::erase_if(messages_, [peer](const message& m) { return !m.posted && m.to == peer; });
    }

private:
    struct message {
        rank_t to;
        envelope tag;
        std::vector<std::byte> bytes;
        std::uint64_t id;
        bool posted;
    };
    bool is_blocked(rank_t to) const noexcept {
        for (const rank_t r : blocked_)
            if (r == to) return true;
        return false;
    }

    std::vector<message> messages_;
    std::vector<rank_t> blocked_; // ranks to which the transport takes no more, in this flush
    spare_bytes spare_;
    std::uint32_t next_id_ = 0;
};
using outbox = basic_outbox<0>;

} // namespace bough

#endif
