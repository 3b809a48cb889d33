// SPDX-License-Identifier: BSL-1.0
// read_trace: the parts of trace files, as they are read.
//
// Nothing that a file says is believed before it was compared with its length. A file that its process
// goes on to write, or that is cut, is read as far as it goes.
#ifndef BOUGH_REPORT_READ_TRACE_HPP
#define BOUGH_REPORT_READ_TRACE_HPP

#include <bough/core/config.hpp>
#include <bough/core/memory_size.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>
#include <bough/report/trace.hpp>
#include <bough/report/trace_format.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// A plan, as one rank has written it.
struct read_plan {
    std::uint64_t id = 0;
    std::string name;
    block_t blocks = 1;
    double start_ns = 0;
    bool has_ports = false, lands_early = false;
    std::vector<step> steps;
    std::vector<traced_cost> costs;
};

struct read_part {
    trace_header head{};
    std::vector<rank_t> members; // ranks of the transport
    std::vector<trace_entry> entries;
    std::vector<read_plan> plans;
};

// False: its slots contradict themselves.
template <int = 0>
bool read_trace_plan(std::span<const std::byte> slots, const trace_entry& its, rank_t size, read_plan& made) {
    constexpr std::size_t slot = sizeof(trace_entry);
    trace_plan_head about;
    std::memcpy(&about, slots.data(), slot);
    made.id = its.plan_id;
    made.blocks = its.number;
    made.start_ns = about.start_ns;
    made.has_ports = about.has_ports != 0;
    made.lands_early = about.lands_early != 0;
    const auto* const name = reinterpret_cast<const char*>(slots.data() + slot);
    made.name.assign(name, std::find(name, name + trace_name_slots * slot, '\0'));
    slots = slots.subspan((1 + trace_name_slots) * slot);
    made.steps.resize(its.bytes);
    for (step& s : made.steps) {
        std::uint8_t verb = 0, more = 0;
        std::memcpy(&verb, slots.data() + offsetof(step, verb), 1);
        std::memcpy(&more, slots.data() + offsetof(step, more), 1);
        if (verb > static_cast<std::uint8_t>(verb::copy) || more > 1) return false;
        std::memcpy(static_cast<void*>(&s), slots.data(), sizeof s);
        if (s.communicates() && s.peer >= size) return false;
        for (const slice& part : {s.a, s.b, s.out})
            if (part.first > made.blocks || part.count > made.blocks - part.first) return false;
        slots = slots.subspan(slot);
    }
    if (!made.steps.empty() && made.steps.back().more) return false;
    for (std::size_t i = 0; i + 1 < made.steps.size(); ++i)
        if (made.steps[i].more &&
            (made.steps[i + 1].verb != made.steps[i].verb || made.steps[i + 1].peer != made.steps[i].peer))
            return false;
    made.costs.resize(its.count);
    for (traced_cost& c : made.costs) {
        std::memcpy(static_cast<void*>(&c), slots.data(), sizeof c);
        for (const float ns : {c.send, c.latency, c.port, c.duplex_port, c.receive, c.combine, c.copy})
            if (!(ns >= 0 && ns <= 1e15f)) return false;
        slots = slots.subspan(slot);
    }
    return made.blocks != 0 && made.start_ns >= 0 && made.start_ns <= 1e15;
}

// Reads one part from the front of `bytes`, and moves it on behind it. `fault`: what is wrong; if the
// result is false, nothing was read.
template <int = 0>
bool read_trace(std::span<const std::byte>& bytes, read_part& made, std::string& fault) {
    const auto no = [&fault](std::string why) { return fault = std::move(why), false; };
    trace_header& head = made.head;
    const std::size_t least = offsetof(trace_header, job);
    if (bytes.size() < least) return no("is cut: it ends in the first bytes of a part");
    std::memcpy(static_cast<void*>(&head), bytes.data(), least);
    if (head.magic != trace_magic) return no("is no trace of bough");
    if (head.version != trace_version || head.header_bytes != sizeof head)
        return no("is of another version of bough: format " + std::to_string(head.version) + " with a head of " +
                  std::to_string(head.header_bytes) + " bytes; this one reads format " + std::to_string(trace_version) +
                  " with " + std::to_string(sizeof head));
    if (bytes.size() < sizeof head) return no("is cut: it ends in the head of a part");
    std::memcpy(static_cast<void*>(&head), bytes.data(), sizeof head);
    const bool is_sound = head.size != 0 && head.size <= 1u << 22 && head.rank < head.size &&
                          head.members <= head.size && head.slots_at() <= head.bytes && head.bytes % 64 == 0;
    if (!is_sound) return no("is broken: its head contradicts itself");
    if (bytes.size() < head.slots_at()) return no("is cut: it ends in the head of a part");
    head.machine.back() = '\0';
    made.members.assign(head.members == 0 ? head.size : head.members, 0);
    if (head.members == 0)
        for (rank_t r = 0; r != head.size; ++r) made.members[r] = r;
    else
        std::memcpy(made.members.data(), bytes.data() + sizeof head, std::size_t{head.members} * 4);
    for (const rank_t r : made.members)
        if (r >= head.size) return no("is broken: it names a rank that the job does not have");
    if (bytes.size() < head.bytes)
        fault = "is cut: it has " + std::to_string(bytes.size()) + " of " + std::to_string(head.bytes) +
                " bytes of its last part";

    const std::size_t whole = std::min(bytes.size(), memory_size(head.bytes));
    std::span<const std::byte> slots = bytes.subspan(head.slots_at(), whole - head.slots_at());
    while (slots.size() >= sizeof(trace_entry)) {
        trace_entry its;
        std::memcpy(&its, slots.data(), sizeof its);
        if (its.what == 0) break;
        slots = slots.subspan(sizeof its);
        if (its.what == trace_entry::plan) {
            const std::size_t room = slots.size() / sizeof its, fixed = 1 + trace_name_slots;
            if (room < fixed || its.bytes > room - fixed || its.count > room - fixed - its.bytes) {
                if (fault.empty()) fault = "is broken: a plan in it is longer than its part";
                break;
            }
            read_plan plan;
            if (detail::read_trace_plan(slots, its, static_cast<rank_t>(made.members.size()), plan))
                made.plans.push_back(std::move(plan));
            else if (fault.empty())
                fault = "is broken: a plan in it contradicts itself";
            slots = slots.subspan((fixed + its.bytes + its.count) * sizeof its);
        } else if (its.what <= 1 + static_cast<std::uint8_t>(operation_event::kind::end)) {
            made.entries.push_back(its);
        } else {
            if (fault.empty()) fault = "is broken: it has an entry that nobody writes";
            break;
        }
    }
    bytes = bytes.subspan(whole);
    return true;
}

} // namespace bough::detail

#endif
