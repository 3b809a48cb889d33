// SPDX-License-Identifier: BSL-1.0
// Read: recordings as they are read, from reports, report files and recording files.
//
// Nothing that a file says is believed before it was compared with the length of the file. A reader
// of a recording that its rank goes on to write may find a call that is half written.
#ifndef BOUGH_REPORT_READ_HPP
#define BOUGH_REPORT_READ_HPP

#include <bough/core/config.hpp>
#include <bough/core/memory_size.hpp>
#include <bough/core/rank.hpp>
#include <bough/report/call_record.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// One communicator of one rank.
struct recording {
    recording_header head{};
    std::vector<rank_t> members;    // ranks of the transport; all, if the communicator has all
    std::vector<call_record> calls; // in the order in which they were made

    // UTC; 0: not known, as the clocks were compared only once.
    std::uint64_t time_of(std::uint64_t ticks) const noexcept {
        const clock_mark &first = head.first, &last = head.latest;
        if (ticks == 0) return 0;
        if (last.ticks <= first.ticks || last.utc_ns <= first.utc_ns) return ticks == first.ticks ? first.utc_ns : 0;
        const double rate =
            static_cast<double>(last.utc_ns - first.utc_ns) / static_cast<double>(last.ticks - first.ticks);
        const double since = (static_cast<double>(ticks) - static_cast<double>(last.ticks)) * rate;
        return last.utc_ns + static_cast<std::uint64_t>(static_cast<std::int64_t>(since));
    }
    // The last thing that is known of the rank.
    std::uint64_t last_sign() const noexcept {
        std::uint64_t last = head.latest.utc_ns;
        for (const call_record& c : calls) last = std::max({last, time_of(c.begin), time_of(c.end)});
        return last;
    }
    const call_record* find(std::uint32_t number) const noexcept {
        for (const call_record& c : calls)
            if (c.number == number) return &c;
        return nullptr;
    }
    // The latest call; null: none was made.
    const call_record* latest() const noexcept { return calls.empty() ? nullptr : &calls.back(); }
    // What is noted of a call in flight; null: nothing.
    const waiting_record* waits_of(std::uint32_t number) const noexcept {
        if (head.moment.ticks == 0) return nullptr;
        for (std::uint32_t i = 0; i != std::min<std::uint32_t>(head.moment.in_flight, 8); ++i)
            if (head.moment.waiting[i].number == number) return &head.moment.waiting[i];
        return nullptr;
    }
    std::string plan_text(std::uint64_t plan) const {
        for (const plan_name& known : head.plans)
            if (known.plan != 0 && (known.plan == plan || known.plan == ~plan)) return known.text.data();
        return {};
    }
};

// Reads one recording from the front of `bytes`, and moves it on behind it. `fault`: what is wrong; then
// nothing is read. A recording that is cut behind its header is read as far as it goes.
template <int = 0>
bool read_recording(std::span<const std::byte>& bytes, recording& made, std::string& fault) {
    recording_header& head = made.head;
    const auto no = [&fault](std::string why) { return fault = std::move(why), false; };
    const std::size_t least = offsetof(recording_header, of);
    if (bytes.size() < least) return no("is cut: it ends in the first bytes of a recording");
    std::memcpy(static_cast<void*>(&head), bytes.data(), least);
    if (head.magic != recording_magic) return no("is no recording of bough");
    if (head.version != recording_version || head.header_bytes != sizeof head)
        return no("is of another version of bough: format " + std::to_string(head.version) + " with a head of " +
                  std::to_string(head.header_bytes) + " bytes; this one reads format " +
                  std::to_string(recording_version) + " with " + std::to_string(sizeof head));
    if (bytes.size() < sizeof head)
        return no("is cut: it has " + std::to_string(bytes.size()) + " of the first " + std::to_string(sizeof head) +
                  " bytes of a recording");
    std::memcpy(static_cast<void*>(&head), bytes.data(), sizeof head);
    const recording_identity& of = head.of;
    const bool is_sound = of.size != 0 && of.size <= 1u << 22 && of.rank < of.size && of.members <= of.size &&
                          of.calls != 0 && of.calls <= 1u << 20 && (of.calls & (of.calls - 1)) == 0 &&
                          head.bytes == head.end() && head.poison.code <= last_errc && head.poison.cause <= last_errc &&
                          head.poison.mismatch <= mismatch::name;
    if (!is_sound) return no("is broken: its head contradicts itself");
    if (bytes.size() < head.calls_at())
        return no("is cut: it has " + std::to_string(bytes.size()) + " of " + std::to_string(head.bytes) + " bytes");
    for (plan_name& name : head.plans) name.text.back() = '\0';

    made.members.assign(of.members == 0 ? of.size : of.members, 0);
    if (of.members == 0)
        for (rank_t r = 0; r != of.size; ++r) made.members[r] = r;
    else
        std::memcpy(made.members.data(), bytes.data() + head.members_at(), std::size_t{of.members} * 4);
    for (const rank_t r : made.members)
        if (r >= of.size) return no("is broken: it names a rank that the job does not have");

    const std::size_t whole = std::min(bytes.size(), memory_size(head.bytes));
    std::vector<call_record> ring((whole - head.calls_at()) / sizeof(call_record));
    if (!ring.empty())
        std::memcpy(static_cast<void*>(ring.data()), bytes.data() + head.calls_at(), ring.size() * sizeof ring[0]);
    made.calls.clear();
    for (std::size_t i = 0; i != ring.size(); ++i) {
        call_record& c = ring[i];
        if (c.its.state == call_state::none || (c.number & (of.calls - 1)) != i) continue;
        if (c.its.state > call_state::failed || c.its.code > last_errc) continue; // half written
        const bool is_past = static_cast<std::int32_t>(c.number - of.ended_at_once) <= 0 && of.ended_at_once != 0;
        if (c.its.state == call_state::in_flight && is_past) c.its.state = call_state::ended_at_once;
        made.calls.push_back(c);
    }
    // Numbers count up, and wrap around: the calls begin behind the widest gap.
    std::sort(made.calls.begin(), made.calls.end(),
              [](const call_record& a, const call_record& b) { return a.number < b.number; });
    if (!made.calls.empty() && made.calls.back().number - made.calls.front().number >= of.calls) {
        const auto wrapped = std::find_if(made.calls.begin(), made.calls.end(), [&](const call_record& c) {
            return c.number > std::numeric_limits<std::uint32_t>::max() / 2;
        });
        if (made.calls.front().number < of.calls && wrapped != made.calls.end())
            std::rotate(made.calls.begin(), wrapped, made.calls.end());
    }
    bytes = bytes.subspan(whole);
    return true;
}

} // namespace bough::detail

#endif
