// SPDX-License-Identifier: BSL-1.0
// class_table: the exact broadcast tree, by dynamic programming over how many ranks of each class
// are left to serve.
//
// Ranks of equal costs are one class; n distinct ranks are n classes of one rank. A sender s that
// has to serve the ranks i (so many of each class) sends first to the head of some part c of them.
// Then the head serves the rest of c, and the sender the ranks that are left:
//   time(s, i) = send(s) + min over parts c of max(time(s, i - c), lead(c))
//   lead(c)    = the time in which the best head of c gets the message itself and serves the rest of c
// With send costs alone the head of c is its fastest rank (lemma 2), so lead(c) = send(head) + min
// over parts d of max(lead(c - d), lead(d)) needs no other senders: 3^(n-1) steps for n distinct
// ranks, and as many again for the root. With receive costs the best head of each c is found once,
// for all senders.
// Source: the recurrence is that of Banikazemi, Moorthy, Panda, ICPP 1998, section 5; counting by
// classes that of Libeskind-Hadas, Hartline, Boothe, Rae, Swisher, "On Multicast Algorithms for
// Heterogeneous Networks of Workstations", JPDC 61(11), 2001. Splitting off lead(c) is bough's.
#ifndef BOUGH_TREE_DETAIL_CLASS_TABLE_HPP
#define BOUGH_TREE_DETAIL_CLASS_TABLE_HPP

#include <bough/core/rank.hpp>
#include <bough/tree/costs.hpp>
#include <bough/tree/table.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// Receivers of equal costs. Classes are in the order of fastest_first.
template <class Time>
struct rank_class {
    Time send;
    Time arrive;
    std::vector<rank_t> ranks;
};

template <class Time>
constexpr std::vector<rank_class<Time>> classes_of(const node_times<Time>& times, std::span<const rank_t> order) {
    std::vector<rank_class<Time>> classes;
    for (const rank_t r : order) {
        const bool same =
            !classes.empty() && !(classes.back().send != times.send[r]) && !(classes.back().arrive != times.arrive[r]);
        if (!same) classes.push_back({times.send[r], times.arrive[r], {}});
        classes.back().ranks.push_back(r);
    }
    return classes;
}

template <class Time>
class class_table {
public:
    constexpr class_table(const std::vector<rank_class<Time>>& classes, Time root_send, bool sends_only)
        : classes_(classes), root_send_(root_send), sends_only_(sends_only) {
        for (const rank_class<Time>& c : classes_) {
            strides_.push_back(states_);
            states_ *= c.ranks.size() + 1;
            binary_ = binary_ && c.ranks.size() == 1;
        }
    }

    // Comparisons that fill() makes, and numbers that it stores; 2^63 if there are more.
    static constexpr std::uint64_t work(const std::vector<rank_class<Time>>& classes, bool sends_only) noexcept {
        return product(classes, sends_only ? 2 : classes.size() + 1,
                       [](std::uint64_t m) { return m < 0xffff'ffffu ? (m + 1) * (m + 2) / 2 : m; });
    }
    static constexpr std::uint64_t memory(const std::vector<rank_class<Time>>& classes, bool sends_only) noexcept {
        return product(classes, sends_only ? 2 : classes.size() + 2, [](std::uint64_t m) { return m + 1; });
    }

    // Fills the table. Returns the shortest time in which the root serves all ranks.
    constexpr Time fill() {
        const std::size_t k = classes_.size();
        lead_.assign(states_, Time{});
        root_.assign(states_, Time{});
        if (!sends_only_) value_.assign(k, std::vector<Time>(states_, Time{}));
        digits_.assign(k, 0);
        for (std::size_t i = 1; i < states_; ++i) {
            std::size_t digit = 0;
            for (; digits_[digit] == classes_[digit].ranks.size(); ++digit) digits_[digit] = 0;
            ++digits_[digit];
            if (sends_only_) {
                const std::size_t head = first_class();
                const std::size_t rest = i - strides_[head];
                --digits_[head];
                if (rest != 0) lead_[i] = classes_[head].send + shortest(lead_.data() + strides_[head], rest).first;
                ++digits_[head];
            } else {
                lead_[i] = best_head(i).first;
                for (std::size_t s = 0; s != k; ++s)
                    value_[s][i] = classes_[s].send + shortest(value_[s].data(), i).first;
            }
            root_[i] = root_send_ + shortest(root_.data(), i).first;
        }
        return root_[states_ - 1];
    }

    // Pre: fill(). The tree, child by child.
    constexpr std::vector<tree_edge> edges(rank_t root) {
        struct task {
            rank_t sender;
            std::size_t sender_class; // classes_.size(): the root
            std::size_t left;         // the ranks to serve
        };
        std::vector<std::size_t> used(classes_.size(), 0);
        std::vector<tree_edge> made;
        std::vector<task> tasks{{root, classes_.size(), states_ - 1}};
        while (!tasks.empty()) {
            task t = tasks.back();
            tasks.pop_back();
            while (t.left != 0) {
                set_digits(t.left);
                const Time* rest = t.sender_class == classes_.size() ? root_.data()
                                   : sends_only_                     ? lead_.data() + strides_[t.sender_class]
                                                                     : value_[t.sender_class].data();
                const std::size_t part = shortest(rest, t.left).second;
                set_digits(part);
                const std::size_t head = sends_only_ ? first_class() : best_head(part).second;
                const rank_t child = classes_[head].ranks[used[head]++];
                made.push_back({t.sender, child});
                tasks.push_back({child, head, part - strides_[head]});
                t.left -= part;
            }
        }
        return made;
    }

private:
    template <class F>
    static constexpr std::uint64_t product(const std::vector<rank_class<Time>>& classes, std::uint64_t factor, F&& of) {
        constexpr std::uint64_t most = std::uint64_t{1} << 63;
        for (const rank_class<Time>& c : classes) {
            const std::uint64_t next = of(c.ranks.size());
            if (factor > most / next) return most;
            factor *= next;
        }
        return factor;
    }

    constexpr std::size_t first_class() const noexcept {
        std::size_t c = 0;
        while (digits_[c] == 0) ++c;
        return c;
    }
    constexpr void set_digits(std::size_t i) noexcept {
        for (std::size_t c = 0; c != classes_.size(); ++c)
            digits_[c] = i / strides_[c] % (classes_[c].ranks.size() + 1);
    }
    // For the ranks `i`, whose digits are set: when they all have the message, and the class of
    // their head.
    constexpr std::pair<Time, std::size_t> best_head(std::size_t i) const noexcept {
        std::pair<Time, std::size_t> best{Time{}, classes_.size()};
        for (std::size_t l = 0; l != classes_.size(); ++l) {
            if (digits_[l] == 0) continue;
            const Time time = classes_[l].arrive + value_[l][i - strides_[l]];
            if (best.second == classes_.size() || time < best.first) best = {time, l};
        }
        return best;
    }

    // The least max(rest[i - c], lead[c]) over all parts c of i that are not empty, and the first c
    // that has it. The digits of i are set.
    constexpr std::pair<Time, std::size_t> shortest(const Time* rest, std::size_t i) {
        std::pair<Time, std::size_t> best{rest[0] < lead_[i] ? lead_[i] : rest[0], i};
        const auto offer = [&](std::size_t c) {
            const Time a = rest[i - c], b = lead_[c];
            const Time later = a < b ? b : a;
            if (later < best.first) best = {later, c};
        };
        if (binary_) {
            for (std::size_t c = (i - 1) & i; c != 0; c = (c - 1) & i) offer(c);
            return best;
        }
        // Parts in mixed radix: the first digit runs fastest.
        part_.assign(classes_.size(), 0);
        for (std::size_t base = 0;;) {
            for (std::size_t c = base == 0 ? 1 : base; c <= base + digits_[0]; ++c) offer(c);
            std::size_t digit = 1;
            for (; digit < part_.size() && part_[digit] == digits_[digit]; ++digit) {
                base -= part_[digit] * strides_[digit];
                part_[digit] = 0;
            }
            if (digit >= part_.size()) return best;
            ++part_[digit];
            base += strides_[digit];
        }
    }

    const std::vector<rank_class<Time>>& classes_;
    Time root_send_;
    bool sends_only_;
    bool binary_ = true; // one rank in each class: a part is a set of bits
    std::size_t states_ = 1;
    std::vector<std::size_t> strides_;
    std::vector<std::size_t> digits_, part_;
    std::vector<Time> lead_, root_;
    std::vector<std::vector<Time>> value_; // by class of the sender; empty with send costs alone
};

} // namespace bough::detail

#endif
