// SPDX-License-Identifier: BSL-1.0
// order_search: looks for a broadcast that ends before a given time, by branch and bound. With send
// costs alone.
//
// A slot is the end of a send that some rank could make before that time. Slots are filled earliest
// first (lemma 1: no order loses by it). What is chosen for a slot is a class of ranks; a rank
// opens slots of its own, at its arrival plus one, two, ... times its cost. As soon as there are as
// many open slots as ranks left, the rest are leaves, and the search has found a broadcast. Leaves
// come last: a leaf that comes before a rank that opens slots could change places with it, and
// those slots would open earlier. A branch is cut in two cases. Either even ranks that are all as
// fast as the fastest one left would not open enough slots; or the ranks left would not, however
// they are assigned to the times at which such fast ranks would be served (but not before
// delivery_times allows).
#ifndef BOUGH_TREE_DETAIL_ORDER_SEARCH_HPP
#define BOUGH_TREE_DETAIL_ORDER_SEARCH_HPP

#include <bough/core/rank.hpp>
#include <bough/tree/detail/assignment.hpp>
#include <bough/tree/detail/class_table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <class Time>
class order_search {
public:
    enum class outcome : std::uint8_t { found, none, gave_up };

    // `earliest` has the earliest time of each delivery in any tree (delivery_times); empty: not
    // known.
    constexpr order_search(const std::vector<rank_class<Time>>& classes, Time root_send, std::vector<Time> earliest,
                           std::uint64_t budget)
        : classes_(classes), root_send_(root_send), earliest_(std::move(earliest)), budget_(budget) {
        for (const rank_class<Time>& c : classes_) {
            left_.push_back(c.ranks.size());
            ranks_left_ += c.ranks.size();
        }
    }

    // Is there a broadcast whose last delivery comes before `end`? If found, order() makes one (see
    // deliver).
    constexpr outcome before(Time end) {
        end_ = end;
        chosen_.clear();
        std::vector<Time> slots;
        open(slots, 0, Time{}, root_send_);
        return descend(slots);
    }
    constexpr std::vector<rank_t> order() const {
        std::vector<std::size_t> used(classes_.size(), 0);
        std::vector<rank_t> ranks;
        for (const std::size_t c : chosen_) ranks.push_back(classes_[c].ranks[used[c]++]);
        for (std::size_t c = 0; c != classes_.size(); ++c)
            while (used[c] != classes_[c].ranks.size()) ranks.push_back(classes_[c].ranks[used[c]++]);
        return ranks;
    }
    constexpr std::uint64_t budget() const noexcept { return budget_; }

private:
    // Adds the slots of a rank that is ready at `ready`, but no more than there are ranks left.
    // `slots` stays sorted from `from` on.
    constexpr void open(std::vector<Time>& slots, std::size_t from, Time ready, Time send) const {
        const std::size_t old = slots.size();
        for (Time done = ready + send; done < end_ && slots.size() - old < ranks_left_; done += send)
            slots.push_back(done);
        std::vector<Time> merged;
        merged.reserve(slots.size() - from);
        for (std::size_t a = from, b = old; a != old || b != slots.size();)
            merged.push_back(b == slots.size() || (a != old && !(slots[b] < slots[a])) ? slots[a++] : slots[b++]);
        if (merged.size() > ranks_left_) merged.resize(ranks_left_, Time{});
        slots.swap(merged);
    }

    // Could the ranks left be served if all were as fast as the fastest of them?
    constexpr bool hopeful(const std::vector<Time>& slots) const {
        std::size_t fastest = 0;
        while (left_[fastest] == 0) ++fastest;
        const Time send = classes_[fastest].send;
        // Slots come in the order of time; those opened on the way queue behind, each rank's one
        // after the other.
        std::size_t open_slots = slots.size();
        // sorted: first slots of ranks come in order, later ones are counted at once.
        std::vector<Time> made;
        for (std::size_t i = 0; i != slots.size() && open_slots < ranks_left_; ++i) {
            made.push_back(slots[i]);
            while (!made.empty() && open_slots < ranks_left_) {
                const Time at = made.back();
                made.pop_back();
                for (Time done = at + send; done < end_ && open_slots < ranks_left_; done += send) {
                    ++open_slots;
                    made.push_back(done);
                }
            }
        }
        return open_slots >= ranks_left_;
    }

    // Could the ranks left, each as fast as it is, be served at the earliest times of the
    // deliveries left?
    constexpr bool assignable(const std::vector<Time>& slots) {
        auto& [at, opened, merged, ranks, weight] = memory_;
        std::size_t fastest = 0;
        while (left_[fastest] == 0) ++fastest;
        const Time send = classes_[fastest].send;
        at = slots;
        std::size_t places = 0; // deliveries whose rank could still end a send
        for (; places != at.size() && places != ranks_left_; ++places) {
            const std::size_t number = chosen_.size() + places;
            if (number < earliest_.size() && at[places] < earliest_[number]) at[places] = earliest_[number];
            const Time ready = at[places];
            if (!(ready + send < end_)) break;
            opened.clear();
            for (Time done = ready + send; done < end_ && opened.size() < ranks_left_; done += send)
                opened.push_back(done);
            merged.clear();
            for (std::size_t a = places + 1, b = 0;
                 merged.size() < ranks_left_ && (a < at.size() || b < opened.size());)
                merged.push_back(b == opened.size() || (a < at.size() && !(opened[b] < at[a])) ? at[a++] : opened[b++]);
            at.resize(places + 1, Time{});
            at.insert(at.end(), merged.begin(), merged.end());
        }
        const auto needed = static_cast<std::uint32_t>(ranks_left_ - slots.size());
        // The fastest of them in turn: one for each place suffices, as a faster one never ends less.
        ranks.clear();
        for (std::size_t c = fastest; c != classes_.size() && ranks.size() != places; ++c)
            ranks.insert(ranks.end(), std::min(left_[c], places - ranks.size()), classes_[c].send);
        std::uint64_t in_order = 0;
        for (std::size_t i = 0; i != places; ++i) in_order += sends_before(end_, at[i], ranks[i], needed);
        if (in_order >= needed) return true;
        const std::uint64_t work = std::uint64_t{places} * places * places / 4;
        if (work > budget_) return true;
        budget_ -= work;
        weight.assign(places * places, 0);
        for (std::size_t i = 0; i != places; ++i)
            for (std::size_t j = 0; j != places; ++j)
                weight[i * places + j] = sends_before(end_, at[i], ranks[j], needed);
        return most_assigned(weight, places, places) >= needed;
    }

    constexpr outcome descend(const std::vector<Time>& slots) {
        if (slots.size() >= ranks_left_) return outcome::found;
        if (slots.empty()) return outcome::none;
        if (budget_ < ranks_left_) {
            budget_ = 0;
            return outcome::gave_up;
        }
        budget_ -= ranks_left_;
        if (!hopeful(slots) || !assignable(slots)) return outcome::none;
        const Time ready = slots.front();
        // From the first class on that is too slow to open a slot, ranks are leaves.
        for (std::size_t c = 0; c != classes_.size() && ready + classes_[c].send < end_; ++c) {
            if (left_[c] == 0) continue;
            --left_[c];
            --ranks_left_;
            chosen_.push_back(c);
            std::vector<Time> next = slots;
            open(next, 1, ready, classes_[c].send);
            const outcome result = descend(next);
            ++left_[c];
            ++ranks_left_;
            if (result != outcome::none) return result;
            chosen_.pop_back();
        }
        return outcome::none;
    }

    const std::vector<rank_class<Time>>& classes_;
    Time root_send_;
    std::vector<Time> earliest_;
    Time end_{};
    std::uint64_t budget_;
    std::vector<std::size_t> left_; // by class: how many ranks are left
    std::size_t ranks_left_ = 0;
    std::vector<std::size_t> chosen_;
    struct { // of assignable(), kept from call to call
        std::vector<Time> at, opened, merged, ranks;
        std::vector<std::int64_t> weight;
    } memory_;
};

} // namespace bough::detail

#endif
