// SPDX-License-Identifier: BSL-1.0
// The mailbox of the walk: the messages that are on their way and when they arrive, first in first
// out per channel.
//
// In a tree every rank sends once at first. So the first message of each sender has its place in an
// array, where the receiver finds it at once. The other messages wait in one list per receiver. If
// a search in it is long, the messages to this receiver are from then on in lists per channel,
// found through a hash table. The nodes of lists are reused.
#ifndef BOUGH_MODEL_DETAIL_MAILBOX_HPP
#define BOUGH_MODEL_DETAIL_MAILBOX_HPP

#include <bough/core/config.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>
#include <bough/model/channel_table.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI::model::detail {

using bough::detail::channel_table;

template <class Letter>
class mailbox {
public:
    constexpr explicit mailbox(rank_t size) : first_to_(size, no_rank), first_(size, Letter{}) {}

    constexpr void put(rank_t from, rank_t to, const Letter& content) {
        if (first_to_[from] == no_rank) {
            first_to_[from] = to;
            first_[from] = content;
        } else {
            post(from, to, content);
        }
    }

    // Takes the oldest message from `from` to `to`, if there is one.
    constexpr bool take(rank_t from, rank_t to, Letter& content) {
        if (first_to_[from] == to) {
            first_to_[from] = taken;
            content = first_[from];
            return true;
        }
        return !boxes_.empty() && extract(from, to, content);
    }

private:
    // A sender's first message was sent and taken. No rank has this number: groups have at most
    // 2^32 - 2.
    static constexpr rank_t taken = no_rank - 1;
    static constexpr std::uint32_t none = channel_table::none;
    // So many messages of other senders come before the one sought.
    static constexpr std::uint32_t long_search = 24;

    struct envelope {
        Letter content{};
        rank_t from = no_rank;
        std::uint32_t next = none;
    };
    struct list {
        std::uint32_t head = none, tail = none;
    };
    struct box {
        list all{};
        bool sorted = false; // the letters are in lists per channel, for good
    };

    constexpr void post(rank_t from, rank_t to, const Letter& content) {
        if (boxes_.empty()) boxes_ = bough::detail::plain_list<box>(first_to_.size(), box{});
        const std::uint32_t made = make(from, content);
        append(boxes_[to].sorted ? channel(from, to) : boxes_[to].all, made);
    }

    constexpr bool extract(rank_t from, rank_t to, Letter& content) {
        box& mine = boxes_[to];
        if (mine.sorted) {
            const std::uint32_t at = channels_.find(from, to);
            return at != none && lists_[at].head != none && remove(lists_[at], none, lists_[at].head, content);
        }
        std::uint32_t before = none, passed = 0;
        for (std::uint32_t at = mine.all.head; at != none; before = at, at = pool_[at].next, ++passed) {
            if (pool_[at].from != from) continue;
            remove(mine.all, before, at, content);
            if (passed >= long_search) sort_out(to);
            return true;
        }
        if (passed >= long_search) sort_out(to);
        return false;
    }

    constexpr std::uint32_t make(rank_t from, const Letter& content) {
        const std::uint32_t at = free_;
        if (at == none) {
            pool_.push_back({content, from, none});
            return static_cast<std::uint32_t>(pool_.size() - 1);
        }
        free_ = pool_[at].next;
        pool_[at] = {content, from, none};
        return at;
    }
    constexpr void append(list& l, std::uint32_t at) {
        (l.head == none ? l.head : pool_[l.tail].next) = at;
        l.tail = at;
    }
    constexpr bool remove(list& l, std::uint32_t before, std::uint32_t at, Letter& content) {
        content = pool_[at].content;
        (before == none ? l.head : pool_[before].next) = pool_[at].next;
        if (l.tail == at) l.tail = before;
        pool_[at].next = free_;
        free_ = at;
        return true;
    }

    constexpr list& channel(rank_t from, rank_t to) {
        return lists_[channels_.index(from, to, [&] { lists_.push_back({}); })];
    }
    BOUGH_COLD constexpr void sort_out(rank_t to) {
        for (std::uint32_t at = boxes_[to].all.head; at != none;) {
            const std::uint32_t next = pool_[at].next;
            pool_[at].next = none;
            append(channel(pool_[at].from, to), at);
            at = next;
        }
        boxes_[to] = {{}, true};
    }

    bough::detail::plain_list<rank_t> first_to_;
    bough::detail::plain_list<Letter> first_;
    bough::detail::plain_list<box> boxes_; // by receiver; made when the first letter needs one
    bough::detail::plain_list<envelope> pool_;
    std::uint32_t free_ = none;
    channel_table channels_; // numbers the channels to popular receivers
    bough::detail::plain_list<list> lists_;
};

} // namespace bough::model::detail

#endif
