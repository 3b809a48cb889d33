// SPDX-License-Identifier: BSL-1.0
// shared_long_sends: the messages of a rank that are too long for a ring. They stay in the rank's
// memory until their receivers have read them.
#ifndef BOUGH_TRANSPORT_SHARED_MEMORY_LONG_SENDS_HPP
#define BOUGH_TRANSPORT_SHARED_MEMORY_LONG_SENDS_HPP

#include <bough/concepts/protocol.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/transport/shared_memory/link.hpp>
#include <bough/transport/shared_memory/links.hpp>
#include <bough/transport/shared_memory/pieces.hpp>
#include <bough/transport/shared_memory/sender.hpp>
#include <bough/transport/shared_memory/ways.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

class shared_long_sends {
public:
    explicit shared_long_sends(rank_t ranks) { open_.reserve(ranks); }

    bool empty() const noexcept { return open_.empty(); }
    // Whether a message is sent in this way: it does not fit into the ring, or its receiver can
    // read it in place.
    static bool is_long(const shared_link& l, std::span<const std::byte> bytes, const shared_pieces& mine) noexcept {
        return sent_way(bytes.size(), l.out.eager_bytes()) == protocol::staged || is_in_place(bytes, mine);
    }
    posted post(shared_link& l, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id,
                const shared_pieces& mine) {
        std::uint32_t where = l.process.reads_me ? in_private : to_be_staged;
        std::uint64_t place = reinterpret_cast<std::uintptr_t>(bytes.data());
        if (is_in_place(bytes, mine)) {
            where = in_segment;
            place = mine.offset_of(bytes.data());
        }
        const bool was_open = l.out.has_open();
        if (!l.out.push_long(tag, bytes, id, where, place)) return posted::would_block;
        if (!was_open) open_.push_back(&l);
        return posted::pending;
    }
    // Reports the messages that have been read, and copies out pieces of those that are wanted so.
    std::size_t go_on(std::span<event> events, const shared_links& links) {
        std::size_t found = 0;
        for (shared_link* l : open_) {
            found += l->out.acknowledged(l->peer, events.subspan(found));
            if (!l->loss.gone && l->out.stage()) links.nudge(*l);
        }
        std::erase_if(open_, [](const shared_link* l) { return !l->out.has_open(); });
        return found;
    }
    // Takes a message back. False: no message has this id.
    bool cancel(std::uint64_t id, shared_pieces& mine, const shared_links& links) {
        for (shared_link* l : open_)
            if (l->out.cancel(id, [&](std::span<const std::byte> bytes, std::uint32_t ticket) {
                    return mine.take_out(bytes, {l->peer, ticket});
                }))
                return links.nudge(*l), true;
        return false;
    }
    void cancel_all() noexcept {
        for (shared_link* l : open_) l->out.cancel_all();
    }

private:
    static constexpr std::size_t in_place_bytes = 4096; // shorter payloads are copied, even out of the heap

    static bool is_in_place(std::span<const std::byte> bytes, const shared_pieces& mine) noexcept {
        return bytes.size() >= in_place_bytes && mine.is_shared(bytes);
    }

    std::vector<shared_link*> open_; // peers to which long messages are under way
};

} // namespace bough::detail

#endif
