// SPDX-License-Identifier: BSL-1.0
// traced_run: the calls in the traces of all ranks, with their times by one clock.
//
// The processes of a machine share a clock. Between machines times are aligned by the time of day,
// which is as exact as the machines keep it.
#ifndef BOUGH_INTERCHANGE_TRACED_RUN_HPP
#define BOUGH_INTERCHANGE_TRACED_RUN_HPP

#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/report/options.hpp>
#include <bough/report/read_trace.hpp>
#include <bough/report/trace_format.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

struct traced_message {
    operation_event::kind what{};
    std::uint64_t at_ns = 0, bytes = 0;
    std::uint32_t step = 0;
    rank_t peer = 0; // of the transport
};

// One rank's part in one call.
struct traced_call {
    std::uint32_t number = 0;
    std::uint8_t kind = 0;
    errc code = errc::ok;
    bool has_ended = false;
    rank_t root = 0;
    std::uint32_t element_bytes = 0;
    std::uint64_t count = 0, plan = 0;
    std::uint64_t begin_ns = 0, end_ns = 0;
    std::vector<traced_message> messages;

    std::uint64_t bytes() const noexcept { return count * element_bytes; }
};

// Ranks whose calls belong together: a communicator, the `instance`-th that has this number.
struct traced_group {
    std::uint32_t epoch = 0;
    std::uint16_t context = 0;
    rank_t size = 0; // of the transport
    std::vector<rank_t> members;
    std::uint32_t instance = 0;
    friend bool operator==(const traced_group&, const traced_group&) = default;
    friend bool operator<(const traced_group& a, const traced_group& b) {
        return std::tie(a.epoch, a.context, a.size, a.members, a.instance) <
               std::tie(b.epoch, b.context, b.size, b.members, b.instance);
    }
};

// One communicator of one rank.
struct traced_track {
    trace_header head{}; // of its first part
    traced_group of;
    std::uint64_t last_ns = 0; // of its last entry
    std::uint64_t closed_ns = 0, lost = 0;
    std::vector<traced_call> calls; // in the order in which they began
    std::vector<read_plan> plans;

    const read_plan* find_plan(std::uint64_t id) const noexcept {
        for (const read_plan& p : plans)
            if (p.id == id) return &p;
        return nullptr;
    }
};

struct traced_run {
    std::vector<traced_track> tracks; // by rank, then in the order of time
    std::uint64_t end_ns = 0;         // of the last entry; the first one is at 0
    std::vector<std::vector<rank_t>> machines;
};

template <int>
class run_collector {
public:
    explicit run_collector(const std::vector<read_part>& parts) {
        std::map<std::pair<std::pair<std::string, std::uint64_t>, std::uint32_t>, std::vector<const read_part*>> known;
        for (const read_part& p : parts)
            known[{{p.head.machine.data(), p.head.process}, p.head.communicator}].push_back(&p);
        for (auto& [key, list] : known) {
            std::stable_sort(list.begin(), list.end(),
                             [](const read_part* a, const read_part* b) { return a->head.part < b->head.part; });
            add_track(list);
        }
    }
    traced_run run() {
        align();
        std::stable_sort(made_.tracks.begin(), made_.tracks.end(), [](const traced_track& a, const traced_track& b) {
            return a.head.rank != b.head.rank ? a.head.rank < b.head.rank : a.head.steady_ns < b.head.steady_ns;
        });
        std::map<std::pair<rank_t, traced_group>, std::uint32_t> seen;
        for (traced_track& t : made_.tracks) t.of.instance = seen[{t.head.rank, t.of}]++;
        return std::move(made_);
    }

private:
    void add_track(const std::vector<const read_part*>& parts) {
        traced_track t;
        t.head = parts.front()->head;
        t.of = {t.head.epoch, t.head.context, t.head.size, parts.front()->members, 0};
        t.last_ns = t.head.steady_ns;
        std::map<std::uint32_t, std::size_t> in_flight; // by number
        for (const read_part* p : parts) {
            t.closed_ns = std::max(t.closed_ns, p->head.closed_ns);
            t.lost += p->head.lost;
            for (const read_plan& plan : p->plans) t.plans.push_back(plan);
            for (const trace_entry& e : p->entries) add(t, e, in_flight);
        }
        made_.tracks.push_back(std::move(t));
    }
    static void add(traced_track& t, const trace_entry& e, std::map<std::uint32_t, std::size_t>& in_flight) {
        using kind = operation_event::kind;
        const auto what = static_cast<kind>(e.what - 1);
        const std::uint64_t at_ns = std::max(e.at_ns, t.last_ns); // the clock never goes back
        t.last_ns = at_ns;
        if (what == kind::start) {
            in_flight[e.number] = t.calls.size();
            t.calls.push_back({.number = e.number,
                               .kind = static_cast<std::uint8_t>(e.step),
                               .root = e.peer,
                               .element_bytes = e.element,
                               .count = e.count,
                               .plan = e.plan_id,
                               .begin_ns = at_ns,
                               .messages = {}});
            return;
        }
        const auto its = in_flight.find(e.number);
        if (its == in_flight.end()) return; // its start was lost
        traced_call& c = t.calls[its->second];
        if (what != kind::end) return c.messages.push_back({what, at_ns, e.bytes, e.step, e.peer});
        c.has_ended = true;
        c.end_ns = at_ns;
        c.code = e.code <= static_cast<std::uint8_t>(last_errc) ? static_cast<errc>(e.code) : errc::ok;
        in_flight.erase(its);
    }
    // All times count from the first one. The machine of the first track sets the clock.
    void align() {
        std::map<std::string, std::int64_t> shift; // steady clock to time of day
        std::map<std::string, std::set<rank_t>> ranks;
        for (const traced_track& t : made_.tracks) {
            shift.try_emplace(t.head.machine.data(), static_cast<std::int64_t>(t.head.utc_ns - t.head.steady_ns));
            ranks[t.head.machine.data()].insert(t.head.rank);
        }
        for (const auto& [machine, its] : ranks) made_.machines.emplace_back(its.begin(), its.end());
        std::uint64_t first = ~std::uint64_t{0};
        const auto each_time = [this](const auto& f) {
            for (traced_track& t : made_.tracks) {
                f(t, t.head.steady_ns), f(t, t.last_ns);
                if (t.closed_ns != 0) f(t, t.closed_ns);
                for (traced_call& c : t.calls) {
                    f(t, c.begin_ns);
                    if (c.has_ended) f(t, c.end_ns);
                    for (traced_message& m : c.messages) f(t, m.at_ns);
                }
            }
        };
        each_time([&](const traced_track& t, std::uint64_t& ns) {
            if (shift.size() > 1) ns += static_cast<std::uint64_t>(shift[t.head.machine.data()]);
            first = std::min(first, ns);
        });
        each_time([&](const traced_track&, std::uint64_t& ns) { ns -= first; });
        for (traced_track& t : made_.tracks) {
            if (t.closed_ns != 0) t.closed_ns = std::max(t.closed_ns, t.last_ns);
            made_.end_ns = std::max({made_.end_ns, t.last_ns, t.closed_ns});
        }
        for (traced_track& t : made_.tracks)
            for (traced_call& c : t.calls)
                if (!c.has_ended) c.end_ns = t.closed_ns != 0 ? t.closed_ns : made_.end_ns;
    }

    traced_run made_;
};

} // namespace bough::detail

#endif
