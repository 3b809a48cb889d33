// SPDX-License-Identifier: BSL-1.0
// Letters: the messages under way in the static pass, as arrival times, first in first out per
// channel.
//
// In a tree every rank sends once at first, so the first message of each sender has a place of its
// own. The other messages wait in one list per receiver, which is searched while it is short. If a
// receiver has many messages, they are in lists per channel, found through a hash table.
#ifndef BOUGH_SIMULATE_DETAIL_LETTERS_HPP
#define BOUGH_SIMULATE_DETAIL_LETTERS_HPP

#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/simulate/detail/channel_table.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

class letters {
public:
    constexpr explicit letters(rank_t size) : first_to_(size, no_rank), first_arrival_ns_(size, 0.0) {}

    constexpr void put(rank_t from, rank_t to, double arrival_ns) {
        if (first_to_[from] == no_rank) {
            first_to_[from] = to;
            first_arrival_ns_[from] = arrival_ns;
            return;
        }
        if (boxes_.empty()) boxes_.resize(first_to_.size(), box{});
        const std::uint32_t made = make(from, arrival_ns);
        box& mine = boxes_[to];
        if (mine.letters == popular) return append(channel(from, to), made);
        append(mine.all, made);
        if (++mine.letters == popular) sort_out(to);
    }

    // Takes the oldest message from `from` to `to`, if there is one.
    constexpr bool take(rank_t from, rank_t to, double& arrival_ns) {
        if (first_to_[from] == to) {
            first_to_[from] = taken;
            arrival_ns = first_arrival_ns_[from];
            return true;
        }
        return !boxes_.empty() && extract(from, to, arrival_ns);
    }

private:
    static constexpr std::uint32_t none = channel_table::none;
    static constexpr std::uint32_t popular = 24; // a receiver with so many letters gets lists per channel
    static constexpr rank_t taken = no_rank - 1; // a sender's first message was taken; not a rank
    struct letter {
        double arrival_ns = 0;
        rank_t from = no_rank;
        std::uint32_t next = none;
    };
    struct list {
        std::uint32_t head = none, tail = none;
    };
    struct box {
        list all{};
        std::uint32_t letters = 0; // from `popular` on, the letters are in lists per channel, for good
    };

    constexpr bool extract(rank_t from, rank_t to, double& arrival_ns) {
        box& mine = boxes_[to];
        if (mine.letters == popular) {
            const std::uint32_t at = channels_.find(from, to);
            if (at == none || lists_[at].head == none) return false;
            arrival_ns = pool_[lists_[at].head].arrival_ns;
            remove(lists_[at], none, lists_[at].head);
            return true;
        }
        std::uint32_t before = none;
        for (std::uint32_t at = mine.all.head; at != none; before = at, at = pool_[at].next) {
            if (pool_[at].from != from) continue;
            arrival_ns = pool_[at].arrival_ns;
            remove(mine.all, before, at);
            --mine.letters;
            return true;
        }
        return false;
    }

    constexpr std::uint32_t make(rank_t from, double arrival_ns) {
        const std::uint32_t at = free_;
        if (at == none) {
            pool_.push_back({arrival_ns, from, none});
            return static_cast<std::uint32_t>(pool_.size() - 1);
        }
        free_ = pool_[at].next;
        pool_[at] = {arrival_ns, from, none};
        return at;
    }
    constexpr void append(list& l, std::uint32_t at) {
        (l.head == none ? l.head : pool_[l.tail].next) = at;
        l.tail = at;
    }
    constexpr void remove(list& l, std::uint32_t before, std::uint32_t at) {
        (before == none ? l.head : pool_[before].next) = pool_[at].next;
        if (l.tail == at) l.tail = before;
        pool_[at].next = free_;
        free_ = at;
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
        boxes_[to].all = {};
    }

    std::vector<rank_t> first_to_;
    std::vector<double> first_arrival_ns_;
    std::vector<box> boxes_; // by receiver; made when the first letter needs one
    std::vector<letter> pool_;
    std::uint32_t free_ = none;
    channel_table channels_; // numbers the channels to popular receivers
    std::vector<list> lists_;
};

} // namespace bough::detail

#endif
