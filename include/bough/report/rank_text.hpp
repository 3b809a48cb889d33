// SPDX-License-Identifier: BSL-1.0
// rank_text: what the recordings of one rank say, as lines of text.
#ifndef BOUGH_REPORT_RANK_TEXT_HPP
#define BOUGH_REPORT_RANK_TEXT_HPP

#include <bough/core/collective_name.hpp>
#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/error.hpp>
#include <bough/report/call_record.hpp>
#include <bough/report/read.hpp>
#include <bough/report/words.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// "waits for ranks 4 (step 3) and 6"
inline std::string waiting_text(const waiting_record& w) {
    std::string text = "step " + std::to_string(w.steps - std::min(w.steps, w.steps_left)) + " of " +
                       std::to_string(w.steps) + ", waits for ";
    const std::uint32_t known = std::min(w.count, waiting_record::most);
    if (known == 0) return text + "nobody";
    text += w.count == 1 ? "rank " : "ranks ";
    for (std::uint32_t i = 0; i != known; ++i) {
        text += i == 0 ? "" : i + 1 == w.count ? " and " : ", ";
        text += std::to_string(w.edges[i].rank);
        if (w.edges[i].step != 0xffff'ffffu) text += " (step " + std::to_string(w.edges[i].step) + ")";
    }
    return w.count == known ? text : text + " and " + std::to_string(w.count - known) + " others";
}

inline std::string call_line(const recording& in, const call_record& c, std::uint64_t now_ns) {
    std::string text = call_words(c, in.head.of.context);
    if (const std::string plan = in.plan_text(c.signature.plan); !plan.empty()) text += " by " + plan;
    const std::uint64_t begin = in.time_of(c.begin), end = in.time_of(c.end);
    const auto ago = [now_ns](std::uint64_t ns) {
        return ns == 0 ? std::string() : ", " + duration_text(now_ns - std::min(ns, now_ns)) + " ago";
    };
    const std::string took = begin != 0 && end > begin ? " after " + duration_text(end - begin) : "";
    switch (c.its.state) {
    case call_state::ended_at_once: return text + ": ended at once" + ago(begin);
    case call_state::ended: return text + ": ended" + took + ago(end);
    case call_state::failed: return text + ": failed" + took + ago(end) + ": " + describe(c.its.code);
    default: break;
    }
    text += ": in flight";
    if (begin != 0) text += " for " + duration_text(now_ns - std::min(begin, now_ns));
    return text;
}

// `most`: of the calls of a communicator that have ended.
template <int = 0>
std::string rank_text(const std::vector<const recording*>& its, std::uint64_t now_ns, std::size_t most) {
    if (its.empty()) return {};
    const recording_identity& first = its[0]->head.of;
    std::string text = "rank " + std::to_string(first.rank) + " of " + std::to_string(first.size) + "\n";
    if (its[0]->head.poison.code != errc::ok) text += "  broken: " + message_of(its[0]->head.poison.as_status()) + "\n";
    for (const recording* r : its) {
        const recording_identity& of = r->head.of;
        const counters& n = r->head.counts;
        std::vector<rank_t> members = r->members;
        std::sort(members.begin(), members.end());
        text += "  communicator " + std::to_string(of.context) + " of " + ranks_text(members);
        if (of.epoch > 1) text += ", epoch " + std::to_string(of.epoch);
        text += (of.is_closed != 0 ? ", closed" : "") + std::string(": ") + std::to_string(n.messages) +
                (n.messages == 1 ? " message with " : " messages with ") + bytes_text(n.bytes) + " sent; " +
                std::to_string(n.waits) + " waits, " + std::to_string(n.retries) + " retries, " +
                bytes_text(n.early_bytes) + " came early\n";
        std::size_t ended = 0;
        for (std::size_t i = r->calls.size(); i-- != 0;) {
            const call_record& c = r->calls[i];
            const bool has_ended = c.its.state == call_state::ended || c.its.state == call_state::ended_at_once;
            if (has_ended && ended++ >= most) continue;
            text += "    " + call_line(*r, c, now_ns) + "\n";
            if (const waiting_record* w = r->waits_of(c.number); w != nullptr && !has_ended)
                text += "      " + waiting_text(*w) + "\n";
        }
        if (ended > most) text += "    and " + std::to_string(ended - most) + " calls before\n";
        const recording_moment& moment = r->head.moment;
        for (std::uint32_t i = 0; i != std::min<std::uint32_t>(moment.early, 8); ++i) {
            const early_record& e = moment.early_messages[i];
            text += "    early: " + bytes_text(e.bytes) + " from rank " + std::to_string(e.from) + " for " +
                    call_text(static_cast<std::uint8_t>(e.kind), e.number, of.context) + "\n";
        }
        if (moment.early > 8) text += "    and " + std::to_string(moment.early - 8) + " early messages more\n";
    }
    return text;
}

} // namespace bough::detail

#endif
