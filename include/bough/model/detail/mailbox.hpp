// SPDX-License-Identifier: BSL-1.0
// The mailbox of the walk: the messages that are on their way and when they arrive, first in first
// out per channel.
//
// In a tree reduce every rank sends once. So the first message of each sender has its place in an
// array, where the receiver finds it at once. All others wait in one list per receiver, whose nodes
// are reused.
#ifndef BOUGH_MODEL_DETAIL_MAILBOX_HPP
#define BOUGH_MODEL_DETAIL_MAILBOX_HPP

#include <bough/core/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::model::detail {

template <class Letter>
class mailbox {
public:
    constexpr explicit mailbox(rank_t size) : first_to_(size, no_rank), first_(size, Letter{}) {}

    constexpr void put(rank_t from, rank_t to, const Letter& content) {
        if (first_to_[from] == no_rank) {
            first_to_[from] = to;
            first_[from] = content;
        } else {
            append(from, to, content);
        }
    }

    // Takes the oldest message from `from` to `to`, if there is one.
    constexpr bool take(rank_t from, rank_t to, Letter& content) {
        if (first_to_[from] == to) {
            first_to_[from] = taken;
            content = first_[from];
            return true;
        }
        return !lists_.empty() && extract(from, to, content);
    }

private:
    // A sender's first message was sent and taken. No rank has this number: groups have at most
    // 2^32 - 2.
    static constexpr rank_t taken = no_rank - 1;
    static constexpr std::uint32_t none = 0xffff'ffffu;

    struct envelope {
        Letter content{};
        rank_t from = no_rank;
        std::uint32_t next = none;
    };
    struct list {
        std::uint32_t head = none;
        std::uint32_t tail = none;
    };

    constexpr void append(rank_t from, rank_t to, const Letter& content) {
        if (lists_.empty()) lists_ = std::vector<list>(first_to_.size(), list{});
        std::uint32_t at = free_;
        if (at == none) {
            at = static_cast<std::uint32_t>(letters_.size());
            letters_.push_back({content, from, none});
        } else {
            free_ = letters_[at].next;
            letters_[at] = {content, from, none};
        }
        list& l = lists_[to];
        (l.head == none ? l.head : letters_[l.tail].next) = at;
        l.tail = at;
    }

    constexpr bool extract(rank_t from, rank_t to, Letter& content) {
        list& l = lists_[to];
        std::uint32_t before = none;
        for (std::uint32_t at = l.head; at != none; before = at, at = letters_[at].next) {
            envelope& found = letters_[at];
            if (found.from != from) continue;
            content = found.content;
            (before == none ? l.head : letters_[before].next) = found.next;
            if (l.tail == at) l.tail = before;
            found.next = free_;
            free_ = at;
            return true;
        }
        return false;
    }

    std::vector<rank_t> first_to_;
    std::vector<Letter> first_;
    std::vector<list> lists_; // by receiver; made when the first letter needs one
    std::vector<envelope> letters_;
    std::uint32_t free_ = none;
};

} // namespace bough::model::detail

#endif
