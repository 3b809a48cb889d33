// SPDX-License-Identifier: BSL-1.0
// A rank's agenda in the discrete-event engine: which deed may run next.
//
// In program order it is the deed after the last one. In the order of dependence
// (bough/schedule/dependence.hpp) a deed may run when all deeds that it depends on are complete and
// the one before it on its channel has begun. If several may run, the first written comes first. In
// program order over a network, with rendezvous, both must hold.
#ifndef BOUGH_SIMULATE_DETAIL_AGENDA_HPP
#define BOUGH_SIMULATE_DETAIL_AGENDA_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/step.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/schedule/schedule.hpp>
#include <bough/simulate/detail/deeds.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// Memory that link() uses again for each rank.
struct link_scratch {
    schedule steps{};
    std::vector<std::uint32_t> deed_of{}; // by step: its deed
    std::vector<std::uint64_t> edges{};   // from and to, packed
};

struct agenda {
    enum class stage : std::uint8_t { waits, begun, complete };

    std::vector<packed_deed> deeds;
    std::uint32_t next = 0;    // program order: the deed to run; otherwise the one after the last that ran
    std::uint32_t skipped = 0; // program order: how many deeds come before deeds[0]
    bool truncated = false;    // program order: there are more deeds than these
    std::uint32_t left = 0;    // how many deeds are not complete
    // Order of dependence, by deed:
    std::vector<std::uint32_t> pending;      // for how many others it still waits
    std::vector<std::uint32_t> first, after; // the deeds that depend on it, as compressed rows
    std::vector<std::uint32_t> channel_next; // the next deed on its channel
    std::vector<std::uint32_t> ready;        // a heap, the first written on top
    std::vector<stage> stages;

    // Program order: takes the deeds from number `from` on, `window` at most.
    template <class P, class Sizes>
    constexpr void fill(const P& plan, rank_t rank, const Sizes& sizes, deed_packer& packer, std::uint32_t from,
                        std::uint32_t window) {
        deeds.clear();
        next = 0;
        skipped = from;
        truncated = false;
        std::uint32_t seen = 0;
        bool sent = false;                 // was the last message step a send?
        std::uint32_t last_send = no_step; // the last send, as an index into deeds
        plan.emit(rank, deed_sink(sizes, plan.size(), [&](deed d) {
                      const bool keeps = seen++ >= from && deeds.size() < window;
                      truncated |= seen > from && !keeps;
                      if (d.verb == verb::receive) {
                          d.turns = sent;
                          if (last_send != no_step) deed_packer::set_turns(deeds[last_send]);
                      }
                      if (d.verb == verb::receive || d.verb == verb::send)
                          sent = d.verb == verb::send, last_send = no_step;
                      if (!keeps) return;
                      if (d.verb == verb::send) last_send = static_cast<std::uint32_t>(deeds.size());
                      deeds.push_back(packer.pack(d));
                  }));
    }

    // Order of dependence: takes all deeds, and links them.
    template <Plan P, class Sizes>
    constexpr void link(const P& plan, rank_t rank, const Sizes& sizes, deed_packer& packer, link_scratch& scratch) {
        schedule& all = scratch.steps;
        all.steps.clear();
        plan.emit(rank, all);
        fill(emitted{all.steps, plan.size()}, rank, sizes, packer, 0, no_step);
        const dependences d = infer_dependences(all.steps);
        std::vector<std::uint32_t>& deed_of = scratch.deed_of;
        deed_of.clear();
        std::uint32_t number = 0;
        for (const step& s : all) {
            deed_of.push_back(number);
            if (!s.more) ++number;
        }
        std::vector<std::uint64_t>& edges = scratch.edges;
        edges.clear();
        pending.clear();
        pending.resize(number, 0);
        channel_next.clear();
        channel_next.resize(number, std::uint32_t{no_step});
        for (std::uint32_t i = 0; i != all.size(); ++i) {
            for (const std::uint32_t before : d.of(i))
                if (deed_of[before] != deed_of[i]) edges.push_back(std::uint64_t{deed_of[before]} << 32 | deed_of[i]);
            if (d.channel[i] == no_step) continue;
            channel_next[deed_of[d.channel[i]]] = deed_of[i];
            ++pending[deed_of[i]];
        }
        std::sort(edges.begin(), edges.end());
        edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
        first.clear();
        first.resize(std::size_t{number} + 1, 0);
        after.clear();
        after.reserve(edges.size());
        for (const std::uint64_t e : edges) {
            const std::uint32_t to = static_cast<std::uint32_t>(e);
            ++first[static_cast<std::size_t>(e >> 32) + 1];
            ++pending[to];
            after.push_back(to);
        }
        for (std::uint32_t i = 0; i != number; ++i) first[i + 1] += first[i];
        stages.clear();
        stages.resize(number, stage::waits);
        ready.clear();
        left = number;
    }
    constexpr std::span<const std::uint32_t> dependents(std::uint32_t deed) const noexcept {
        return std::span<const std::uint32_t>(after).subspan(first[deed], first[deed + 1] - first[deed]);
    }
    constexpr void push_ready(std::uint32_t deed) {
        ready.push_back(deed);
        std::push_heap(ready.begin(), ready.end(), later);
    }
    // May the processor go on? If not `any_order`, only with the next deed.
    constexpr bool may_run(bool any_order) const noexcept {
        return !ready.empty() && (any_order || ready.front() == next);
    }
    constexpr std::uint32_t pop_ready() {
        std::pop_heap(ready.begin(), ready.end(), later);
        const std::uint32_t deed = ready.back();
        ready.pop_back();
        next = deed + 1;
        return deed;
    }
    // The first deed that waits for another rank: for its message, or that its own one arrives. no_step: none.
    constexpr std::uint32_t held_up() const noexcept {
        for (std::uint32_t i = 0; i != deeds.size(); ++i)
            if (stages[i] == stage::begun || (stages[i] == stage::waits && pending[i] == 0)) return i;
        return no_step;
    }

private:
    // A plan of one rank's steps, which were emitted before.
    struct emitted {
        const std::vector<step>& steps;
        rank_t ranks;
        constexpr rank_t size() const noexcept { return ranks; }
        constexpr void emit(rank_t, auto&& out) const {
            for (const step& s : steps) push_step(out, s);
        }
    };
    static constexpr bool later(std::uint32_t a, std::uint32_t b) noexcept { return a > b; }
};

} // namespace bough::detail

#endif
