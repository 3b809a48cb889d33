// SPDX-License-Identifier: BSL-1.0
// run_simulated: runs a network of NICs in virtual time. Each NIC runs its program in the machine,
// on real values.
//
//   struct hosts {
//       void input(rank_t rank, std::uint32_t instance, std::span<double> mine);               what the host brings
//       void complete(rank_t rank, std::uint32_t instance, std::span<const double> result);    what it is given
//   };
//   auto run = nic::run_simulated<double>(programs, op, model::lrc{.message_latency_ns = 2100, ...}, hosts);
//   run.finish_ns[root]
//
// Hosts run free: each rings for its next instance as soon as the bank is free. A NIC serves one
// message at a time, in the order in which they come. A message takes receive_ns, and then
// combine_ns or copy_ns for each such step that it sets free. A send keeps the NIC busy for send_ns
// when its step runs, and arrives latency_ns after that. The bell costs nothing; start_ns passes
// once, before the first. A credit costs what any message does. On full f-nomial trees the root's
// time is that of Moody's formula (bough/model/lrc_formula.hpp).
//
// {.enter_ns = times} says when each host enters its first instance, and so does a model with times
// of arrival (bough/model/arriving.hpp); with both, it enters so much later. Its NIC serves others
// before that. {.cores = n} lets the NICs share n processors: rank r runs on processor r mod n. A small
// machine whose kernel plays all the NICs works like that.
//
// With {.shuffle = true} there is no time: `seed` draws what happens next, among all messages under
// way and all hosts that may ring. It draws duplicates, too. Results must not depend on it.
#ifndef BOUGH_NIC_RUN_SIMULATED_HPP
#define BOUGH_NIC_RUN_SIMULATED_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/event_queue.hpp>
#include <bough/core/random.hpp>
#include <bough/core/rank.hpp>
#include <bough/model/arriving.hpp>
#include <bough/nic/assembled.hpp>
#include <bough/nic/machine.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::nic {

// How many instances run, and how badly messages come.
struct run_options {
    std::uint32_t instances = 1;
    bool shuffle = false;
    std::uint64_t seed = 0;
    // If shuffled: how many deliveries repeat a message that came before.
    std::uint32_t duplicates_percent = 0;
    std::uint32_t first_epoch = 0;      // may be close to 2^32: epochs wrap
    std::uint32_t first_turn = 0;       // counters wrap, too
    std::span<const double> enter_ns{}; // by rank; empty: 0 for all. Not used if shuffled
    std::uint32_t cores = 0;            // 0: each NIC has its own
};

// Times and counts of a run.
struct run_result {
    bool finished = false;           // every host was told of every instance
    std::vector<double> finish_ns{}; // when each host was told of its last instance; not if shuffled
    double makespan_ns = 0;
    std::uint64_t messages = 0; // with or without payload; credits do not count
    std::uint64_t credits = 0;
    std::uint64_t combines = 0;
    std::uint64_t duplicates = 0; // messages that were ignored
    std::uint64_t overruns = 0;   // messages that were refused: their place was not free
    std::uint64_t overwrites = 0; // messages that were taken though a step had still to read what was there
};

namespace detail {

template <class T, class Op, CostModel M, class Hosts>
class simulated_nics {
public:
    simulated_nics(std::span<const program> all, const Op& the_op, const M& costs, Hosts& the_hosts,
                   const run_options& how)
        : programs_(all), op_(the_op), model_(costs), hosts_(the_hosts), options_(how),
          random_(how.seed, 0x6e69'63, 0) {
        for (const program& p : all) {
            BOUGH_EXPECTS(p.head.ranks == all.size(), "programs: one per rank is needed, in their order");
            nics_.push_back(
                {make_state<T>(p, how.first_epoch, how.first_turn), 0, 0, !enters_by_time() || how.shuffle});
        }
        BOUGH_EXPECTS(how.enter_ns.empty() || how.enter_ns.size() == all.size(), "enter_ns: one per rank is needed");
        clocks_.resize(how.cores == 0 ? all.size() : how.cores, costs.start_ns());
        result_.finish_ns.resize(all.size(), 0);
    }

    run_result run() {
        if (options_.shuffle)
            draw_all();
        else
            time_all();
        result_.finished = true;
        for (const device& n : nics_) result_.finished = result_.finished && n.told == options_.instances;
        for (const double t : result_.finish_ns) result_.makespan_ns = std::max(result_.makespan_ns, t);
        return std::move(result_);
    }

private:
    struct device {
        state<T> memory;
        std::uint32_t rung; // number of instances that the host has entered
        std::uint32_t told; // number of instances that the host was told of
        bool entered;       // may the host ring for its first instance?
    };
    struct letter {
        message head;
        rank_t to;
        std::vector<T> payload;
    };
    struct port {
        simulated_nics& network;
        rank_t rank;
        void send(const message& m, const T* payload) { network.sent(rank, m, payload); }
        void notify(u32 epoch, const T* result, u32 count) { network.told(rank, epoch, {result, count}); }
        void combined(u32 count) {
            ++network.result_.combines;
            network.clock_of(rank) += network.model_.combine_ns(rank, bytes(count));
        }
        void copied(u32 count) { network.clock_of(rank) += network.model_.copy_ns(rank, bytes(count)); }
    };
    // Do hosts enter at different times?
    bool enters_by_time() const noexcept {
        return !options_.enter_ns.empty() || requires { model_.arrival_ns(rank_t{}); };
    }
    double enters_ns(rank_t rank) const {
        return model_.start_ns() + model::arrival_ns(model_, rank) +
               (options_.enter_ns.empty() ? 0 : options_.enter_ns[rank]);
    }
    double& clock_of(rank_t rank) { return clocks_[rank % clocks_.size()]; }
    static constexpr std::uint64_t bytes(u32 count) noexcept { return std::uint64_t{count} * sizeof(T); }

    void sent(rank_t from, const message& m, const T* payload) {
        if constexpr (requires { hosts_.sent(m, std::span<const T>(payload, m.count)); })
            hosts_.sent(m, std::span<const T>(payload, m.count));
        const auto post = [&](rank_t to) {
            double& clock_ns = clock_of(from);
            clock_ns += model_.send_ns(from, to, bytes(m.count));
            letter sent{m, to, std::vector<T>(payload, payload + m.count)};
            if (options_.shuffle)
                under_way_.push_back(std::move(sent));
            else
                due_.push(clock_ns + model_.latency_ns(from, to, bytes(m.count)), std::move(sent));
            const bool credit = (programs_[to].inlets[m.inlet].flags & inlet_credit) != 0;
            ++(credit ? result_.credits : result_.messages);
        };
        if (m.to != everyone) return post(m.to);
        for (rank_t to = 0; to != nics_.size(); ++to)
            if (to != from) post(to);
    }
    void told(rank_t rank, u32 epoch, std::span<const T> result) {
        hosts_.complete(rank, epoch - options_.first_epoch, result);
        ++nics_[rank].told;
        result_.finish_ns[rank] = clock_of(rank);
    }

    bool may_ring(rank_t rank) const {
        const device& n = nics_[rank];
        const u32 epoch = options_.first_epoch + n.rung;
        const u32 banks = u32{1} << programs_[rank].head.bank_bits;
        const auto& b = n.memory.banks[epoch & (banks - 1)];
        return n.entered && n.rung != options_.instances && b.epoch == epoch;
    }
    void ring_host(rank_t rank) {
        device& n = nics_[rank];
        const program& p = programs_[rank];
        const u16 slot = p.inlets[bell_inlet].slot;
        std::vector<T> input(slot == no_index ? 0 : p.slots[slot].count, T{});
        hosts_.input(rank, n.rung, std::span<T>(input));
        port out{*this, rank};
        const u32 epoch = options_.first_epoch + n.rung++;
        const answer a = ring(p, n.memory, epoch, input.data(), op_, out);
        BOUGH_EXPECTS(a == answer::taken, "ring: the bank was free");
    }

    // Would this message overwrite what a step has still to read?
    bool overwrites(const letter& l) const {
        const program& p = programs_[l.to];
        const u16 slot = p.inlets[l.head.inlet].slot;
        const auto& b = nics_[l.to].memory.banks[l.head.epoch & ((u32{1} << p.head.bank_bits) - 1)];
        if (slot == no_index || b.epoch == l.head.epoch) return false;
        const auto touches = [&](u16 read) {
            return read != no_index && p.slots[read].first < p.slots[slot].first + p.slots[slot].count &&
                   p.slots[slot].first < p.slots[read].first + p.slots[read].count;
        };
        for (u32 i = 0; i != p.head.steps; ++i)
            if (!is_done(p, b, i) && (touches(p.steps[i].a) || touches(p.steps[i].b))) return true;
        return false;
    }
    void take(const letter& l) {
        const bool harm = overwrites(l);
        port out{*this, l.to};
        switch (deliver(programs_[l.to], nics_[l.to].memory, l.head, l.payload.data(), op_, out)) {
        case answer::taken: result_.overwrites += harm ? 1 : 0; break;
        case answer::duplicate: ++result_.duplicates; break;
        default: ++result_.overruns; break;
        }
    }

    void time_all() {
        const auto ring_all = [&](rank_t rank) {
            while (may_ring(rank)) ring_host(rank);
        };
        for (rank_t r = 0; r != nics_.size(); ++r) {
            if (!enters_by_time()) {
                ring_all(r);
                continue;
            }
            const message bell{0, 0,          0,
                               0, bell_inlet, 0}; // says only that the host enters; ring_host fetches its input
            due_.push(enters_ns(r), {bell, r, {}});
        }
        while (!due_.empty()) {
            const letter l = due_.pop();
            double& clock_ns = clock_of(l.to);
            clock_ns = std::max(clock_ns, due_.now());
            if (l.head.inlet == bell_inlet) {
                nics_[l.to].entered = true;
            } else {
                clock_ns += model_.receive_ns(l.head.from, l.to, bytes(l.head.count));
                take(l);
            }
            ring_all(l.to);
        }
    }
    void draw_all() {
        std::vector<rank_t> ready;
        std::vector<letter> past; // some letters that came, to be repeated
        for (;;) {
            ready.clear();
            for (rank_t r = 0; r != nics_.size(); ++r)
                if (may_ring(r)) ready.push_back(r);
            const std::uint64_t choices = ready.size() + under_way_.size();
            if (choices == 0) return;
            if (!past.empty() && random_.below(100) < options_.duplicates_percent)
                take(letter(past[static_cast<std::size_t>(random_.below(past.size()))]));
            const auto drawn = static_cast<std::size_t>(random_.below(choices));
            if (drawn < ready.size()) {
                ring_host(ready[drawn]);
                continue;
            }
            letter& chosen = under_way_[drawn - ready.size()];
            std::swap(chosen, under_way_.back());
            letter l = std::move(under_way_.back());
            under_way_.pop_back();
            take(l);
            if (options_.duplicates_percent == 0) continue;
            if (past.size() < 64)
                past.push_back(std::move(l));
            else
                past[static_cast<std::size_t>(random_.below(64))] = std::move(l);
        }
    }

    std::span<const program> programs_;
    const Op& op_;
    const M& model_;
    Hosts& hosts_;
    run_options options_;
    random_sequence random_;
    std::vector<device> nics_;
    std::vector<double> clocks_;                     // of the processors
    bough::detail::event_queue<double, letter> due_; // letters under way
    std::vector<letter> under_way_;                  // instead, if there is no time
    run_result result_;
};

} // namespace detail

// Runs the programs until nothing is left to do. It always ends: what is lost is not sent again.
// Pre: programs[r] is rank r's, and all are of one assembly; T is default constructible.
template <class T, class Op, CostModel M, class Hosts>
run_result run_simulated(std::span<const program> programs, const Op& op, const M& model, Hosts&& hosts,
                         const run_options& options = {}) {
    return detail::simulated_nics<T, Op, M, std::remove_reference_t<Hosts>>(programs, op, model, hosts, options).run();
}

} // namespace bough::nic

#endif
