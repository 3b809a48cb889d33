// SPDX-License-Identifier: BSL-1.0
// Makes one rank's nodes into a program: conditions become counters, slices become slots, and the
// steps get an order in which bumps go forward.
//
// A *condition* is the set of events (messages that come, steps that have run) that a step waits
// for. Steps that wait for the same condition share one counter, which is full when all its events
// have happened. An event that belongs to one condition bumps that condition's counter. An event
// that belongs to several bumps a counter of its own, and steps `count` hand it on to each of the
// others.
#ifndef BOUGH_NIC_DETAIL_EMIT_HPP
#define BOUGH_NIC_DETAIL_EMIT_HPP

#include <bough/core/slice.hpp>
#include <bough/nic/assembled.hpp>
#include <bough/nic/capabilities.hpp>
#include <bough/nic/detail/network.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::nic::detail {

// Where blocks begin, in elements. The first (elements mod blocks) blocks have one element more.
class element_offsets {
public:
    constexpr element_offsets(std::uint32_t elements, block_t blocks)
        : share_(elements / blocks), longer_(elements % blocks) {}
    constexpr std::uint32_t of(block_t b) const noexcept { return b * share_ + std::min<std::uint32_t>(b, longer_); }
    constexpr std::uint32_t in(block_t first, block_t last) const noexcept { return of(last) - of(first); }

private:
    std::uint32_t share_, longer_;
};

// Numbers the inlets of a rank, by node: the bell, the multicast, other messages in program order,
// then credits.
template <int = 0>
constexpr std::vector<std::uint32_t> inlets_of(const rank_nodes& r, bool multicast) {
    std::vector<std::uint32_t> number;
    std::uint32_t next = multicast ? 2 : 1;
    for (const node& n : r.nodes) {
        if (!n.arrival)
            number.push_back(no_step);
        else if (number.empty())
            number.push_back(bell_inlet);
        else
            number.push_back(n.multicast ? std::uint32_t{multicast_inlet} : next++);
    }
    return number;
}

// What a program needs of a NIC.
struct emitted_needs {
    std::uint64_t most_sends = 0; // how many sends one arrival can set free, at most
    std::uint64_t longest = 0;    // the longest message, in elements
    std::uint64_t counters = 0, slots = 0, steps = 0, elements = 0, inlets = 0;
    bool combines = false;
};

template <int>
class basic_emitter {
public:
    constexpr basic_emitter(const rank_nodes& r, bool in_place, bool multicast, const element_offsets& offsets)
        : r_(r), in_place_(in_place), multicast_(multicast), offsets_(offsets) {}

    // Makes the program. `remote[i]` is the inlet at the peer, if node i is a send. Afterwards needs()
    // says what was needed; if a count exceeds 16 bits, the program must not be used.
    constexpr program run(const header& head, const std::vector<std::uint32_t>& remote) {
        out_ = program{};
        out_.head = head;
        lay_out();
        reduce();
        find_conditions();
        const std::vector<std::uint32_t> inlet_numbers = inlets_of(r_, multicast_);
        needs_.inlets = 1;
        for (const std::uint32_t i : inlet_numbers)
            if (i != no_step) needs_.inlets = std::max<std::uint64_t>(needs_.inlets, std::uint64_t{i} + 1);
        out_.inlets.resize(static_cast<std::size_t>(needs_.inlets), inlet{});
        for (std::uint32_t i = 0; i != r_.nodes.size(); ++i)
            if (r_.nodes[i].arrival) put_inlet(i, inlet_numbers[i]);
        for (std::uint32_t i = 0; i != r_.nodes.size(); ++i)
            if (r_.nodes[i].arrival) put_counts(i);
        for (std::uint32_t i = 0; i != r_.nodes.size(); ++i)
            if (!r_.nodes[i].arrival) put_step(i, remote[i]), put_counts(i);
        finish();
        return out_;
    }
    constexpr const emitted_needs& needs() const noexcept { return needs_; }

private:
    static constexpr u16 narrow(std::uint64_t n) noexcept { return static_cast<u16>(n); }
    constexpr std::size_t place(buffer b) const noexcept { return in_place_ ? storage_of(b) : b.index; }
    constexpr slice landing_of(std::uint32_t i) const {
        return i == 0 ? r_.bell : r_.nodes[r_.nodes[i].lands_with].s.out;
    }

    // Lays out the memory of a bank: for each buffer, the range of blocks that is touched.
    constexpr void lay_out() {
        const auto touch = [&](const slice& s) {
            if (s.count == 0) return;
            if (regions_.size() <= place(s.buffer)) regions_.resize(place(s.buffer) + 1, region{});
            regions_[place(s.buffer)].blocks.add(s.first);
            regions_[place(s.buffer)].blocks.add(s.last() - 1);
        };
        for (std::uint32_t i = 0; i != r_.nodes.size(); ++i) {
            const node& n = r_.nodes[i];
            if (n.arrival) {
                touch(landing_of(i));
                continue;
            }
            touch(n.s.a);
            if (n.s.reads_b()) touch(n.s.b);
            if (n.s.writes()) touch(n.s.out);
        }
        for (region& x : regions_) {
            x.base = needs_.elements;
            needs_.elements += offsets_.in(x.blocks.first, x.blocks.last);
        }
        out_.head.elements = static_cast<std::uint32_t>(needs_.elements);
    }
    constexpr u16 slot_of(const slice& s) {
        slot made;
        if (s.count != 0) {
            const region& x = regions_[place(s.buffer)];
            made.count = offsets_.in(s.first, s.last());
            made.first = static_cast<std::uint32_t>(x.base) + offsets_.in(x.blocks.first, s.first);
        }
        if (made.count == 0) made.first = 0;
        std::size_t i = 0;
        while (i != out_.slots.size() && out_.slots[i] != made) ++i;
        if (i == out_.slots.size()) out_.slots.push_back(made);
        needs_.slots = out_.slots.size();
        return narrow(i);
    }

    // Drops the prerequisites of each step that another of its prerequisites implies. Finds the
    // largest number of sends that wait for one arrival.
    constexpr void reduce() {
        const auto n = static_cast<std::uint32_t>(r_.nodes.size());
        bit_rows behind(n, n);
        before_.resize(n);
        for (std::uint32_t i = 0; i != n; ++i) {
            const node& x = r_.nodes[i];
            if (x.arrival) continue;
            std::vector<std::uint32_t> all = x.before;
            std::sort(all.begin(), all.end());
            all.erase(std::unique(all.begin(), all.end()), all.end());
            for (const std::uint32_t b : all) {
                bool implied = false;
                for (const std::uint32_t other : all) implied = implied || (other != b && behind.test(other, b));
                if (!implied) before_[i].push_back(b);
                behind.merge(i, b);
                behind.set(i, b);
            }
        }
        // Sends that need not wait for the host: they may follow the end of the instance before.
        std::uint64_t unrung = 0;
        const auto sends = [&](std::uint32_t i) { return r_.nodes[i].s.verb == verb::send && !r_.nodes[i].notice; };
        for (std::uint32_t i = 0; i != n; ++i)
            unrung += !r_.nodes[i].arrival && sends(i) && !behind.test(i, 0) ? 1u : 0u;
        for (std::uint32_t e = 0; e != n; ++e) {
            if (!r_.nodes[e].arrival) continue;
            std::uint64_t freed = unrung;
            for (std::uint32_t i = 0; i != n; ++i)
                if (!r_.nodes[i].arrival && sends(i) && behind.test(i, e)) freed += 1;
            needs_.most_sends = std::max(needs_.most_sends, freed);
        }
    }

    constexpr void find_conditions() {
        const auto n = static_cast<std::uint32_t>(r_.nodes.size());
        condition_of_.resize(n, std::uint32_t{no_step});
        std::vector<std::vector<std::uint32_t>> starting; // conditions by their first event
        starting.resize(n);
        const auto find = [&](const std::vector<std::uint32_t>& events) {
            for (const std::uint32_t c : starting[events.front()])
                if (conditions_[c] == events) return c;
            const auto c = static_cast<std::uint32_t>(conditions_.size());
            starting[events.front()].push_back(c);
            conditions_.push_back(events);
            return c;
        };
        for (std::uint32_t i = 0; i != n; ++i)
            if (!r_.nodes[i].arrival) condition_of_[i] = find(before_[i]);
        fed_by_.resize(n);
        for (std::uint32_t c = 0; c != conditions_.size(); ++c)
            for (const std::uint32_t e : conditions_[c]) fed_by_[e].push_back(c);
        bumped_by_.resize(n, std::uint32_t{no_step});
        for (std::uint32_t e = 0; e != n; ++e) {
            if (fed_by_[e].size() == 1) bumped_by_[e] = fed_by_[e].front();
            if (fed_by_[e].size() > 1) bumped_by_[e] = find(std::vector<std::uint32_t>{e});
        }
        needs_.counters = conditions_.size();
        for (const auto& events : conditions_) out_.counters.push_back({narrow(events.size()), 0, 0, 0});
    }

    constexpr void put_inlet(std::uint32_t i, std::uint32_t number) {
        const node& n = r_.nodes[i];
        inlet& in = out_.inlets[number];
        in.from = narrow(n.s.peer);
        in.counter = narrow(bumped_by_[i]);
        if (n.credit) {
            in.flags = inlet_credit;
            ++out_.counters[in.counter].primed;
            return;
        }
        const slice lands = landing_of(i);
        if (lands.count != 0)
            in.slot = slot_of(lands),
            needs_.longest = std::max<std::uint64_t>(needs_.longest, out_.slots[in.slot].count);
        for (std::uint32_t j = 0; j != r_.nodes.size() && i != 0; ++j)
            if (j != i && r_.nodes[j].arrival && j != 0 && r_.nodes[j].lands_with == n.lands_with)
                in.flags = inlet_accumulates, needs_.combines = true;
    }
    constexpr void put_counts(std::uint32_t e) {
        if (fed_by_[e].size() < 2) return;
        for (const std::uint32_t c : fed_by_[e]) {
            if (c == bumped_by_[e]) continue;
            step s;
            s.what = kind::count;
            s.wait = narrow(bumped_by_[e]);
            s.threshold = 1;
            s.bump = narrow(c);
            out_.steps.push_back(s);
        }
    }
    constexpr void put_step(std::uint32_t i, std::uint32_t remote) {
        const node& n = r_.nodes[i];
        step s;
        s.wait = narrow(condition_of_[i]);
        s.threshold = out_.counters[s.wait].increment;
        if (bumped_by_[i] != no_step) s.bump = narrow(bumped_by_[i]);
        if (n.notice) {
            s.what = kind::notify;
            if (n.s.a.count != 0) s.a = slot_of(n.s.a);
        } else if (n.s.verb == verb::send) {
            s.what = kind::send;
            s.peer = n.s.peer == no_rank ? everyone : narrow(n.s.peer);
            s.out = narrow(remote);
            if (!n.credit) // a send without a slot would be a credit
                s.a = slot_of(n.s.a), needs_.longest = std::max<std::uint64_t>(needs_.longest, out_.slots[s.a].count);
        } else {
            s.what = n.s.verb == verb::combine ? kind::combine : kind::copy;
            s.a = slot_of(n.s.a);
            if (n.s.verb == verb::combine) s.b = slot_of(n.s.b), needs_.combines = true;
            s.out = slot_of(n.s.out);
        }
        out_.steps.push_back(s);
    }
    // Puts steps that wait for the same counter side by side. The groups keep the order of their
    // first steps. A bump goes to a counter whose first step is further down than the step that
    // bumps, so bumps still go forward.
    constexpr void finish() {
        needs_.steps = out_.steps.size();
        std::vector<std::vector<step>> waiting;
        waiting.resize(out_.counters.size());
        std::vector<u16> order;
        for (const step& s : out_.steps) {
            if (waiting[s.wait].empty()) order.push_back(s.wait);
            waiting[s.wait].push_back(s);
        }
        out_.steps.clear();
        for (counter& c : out_.counters) c.first_step = narrow(needs_.steps);
        for (const u16 c : order) {
            out_.counters[c].first_step = narrow(out_.steps.size());
            out_.counters[c].steps = narrow(waiting[c].size());
            for (const step& s : waiting[c]) out_.steps.push_back(s);
        }
        out_.head.steps = narrow(needs_.steps);
        out_.head.slots = narrow(needs_.slots);
        out_.head.counters = narrow(needs_.counters);
        out_.head.inlets = narrow(needs_.inlets);
    }

    struct region {
        block_range blocks{};
        std::uint64_t base = 0;
    };
    const rank_nodes& r_;
    bool in_place_, multicast_;
    element_offsets offsets_;
    program out_{};
    emitted_needs needs_{};
    std::vector<region> regions_{};
    std::vector<std::vector<std::uint32_t>> before_{}, conditions_{}, fed_by_{};
    std::vector<std::uint32_t> condition_of_{}, bumped_by_{};
};
using emitter = basic_emitter<0>;

} // namespace bough::nic::detail

#endif
