// SPDX-License-Identifier: BSL-1.0
// Listing: prints a NIC program as text, and refusals, verdicts and proofs as sentences.
//
//   std::cout << nic::listing(program);
//
//   rank 2 of 8: 4 steps, 3 counters, 3 slots, 3 elements a bank, 1 bank
//     inlet 0  host    [0..1)                       -> c0
//     inlet 1  3       [2..3)                       -> c0
//     inlet 2  0       credit                       -> c1, 1 at the start
//     step 0   c0 = 2  [1..2) = op([0..1), [2..3))  -> c1
//     step 1   c1 = 2  send [1..2) to 0, inlet 2    -> c2
//     step 2   c2 = 1  notify
//     step 3   c2 = 1  credit to 3, inlet 1
// Ranges are elements of a bank's memory. "c1 = 2" means: the step runs when counter 1 has been
// bumped twice in its turn.
#ifndef BOUGH_NIC_LISTING_HPP
#define BOUGH_NIC_LISTING_HPP

#include <bough/nic/assembled.hpp>
#include <bough/nic/capabilities.hpp>
#include <bough/nic/check.hpp>
#include <bough/nic/prove.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bough::inline BOUGH_ABI::nic {

namespace detail {

template <class Program>
std::string range_text(const Program& p, u16 i) {
    const slot& s = p.slots[i];
    return "[" + std::to_string(s.first) + ".." + std::to_string(s.first + s.count) + ")";
}
template <class Program>
std::string step_text(const Program& p, const step& s) {
    const auto range = [&](u16 i) { return range_text(p, i); };
    const auto to = [&] {
        return " to " + (s.peer == everyone ? std::string("everyone") : std::to_string(s.peer)) + ", inlet " +
               std::to_string(s.out);
    };
    switch (s.what) {
    case kind::combine: return range(s.out) + " = op(" + range(s.a) + ", " + range(s.b) + ")";
    case kind::copy: return range(s.out) + " = " + range(s.a);
    case kind::send: return s.a == no_index ? "credit" + to() : "send " + range(s.a) + to();
    case kind::count: return "count";
    case kind::notify: return s.a == no_index ? "notify" : "notify " + range(s.a);
    case kind::unused: break;
    }
    return "?";
}
inline std::string widened(std::string text, std::size_t width) {
    if (text.size() < width) text.append(width - text.size(), ' ');
    return text;
}
inline std::string counted(std::uint64_t n, const char* what) {
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

} // namespace detail

// Pre: sound(p) is none.
template <class Program>
std::string listing(const Program& p) {
    using namespace detail;
    const header& h = p.head;
    std::string text = "rank " + std::to_string(h.rank) + " of " + std::to_string(h.ranks) + ": " +
                       counted(h.steps, "step") + ", " + counted(h.counters, "counter") + ", " +
                       counted(h.slots, "slot") + ", " + counted(h.elements, "element") + " a bank, " +
                       counted(std::uint64_t{1} << h.bank_bits, "bank") + "\n";
    std::vector<std::vector<std::string>> rows; // label, when or from, what, bump
    for (u32 i = 0; i != h.inlets; ++i) {
        const inlet& in = p.inlets[i];
        if (in.from == no_index) continue;
        std::string lands = in.slot == no_index ? "nothing" : range_text(p, in.slot);
        std::string bump = "-> c" + std::to_string(in.counter);
        if ((in.flags & inlet_credit) != 0) lands = "credit", bump += ", 1 at the start";
        if ((in.flags & inlet_accumulates) != 0) lands += " accumulates";
        rows.push_back({"inlet " + std::to_string(i), i == bell_inlet ? "host" : std::to_string(in.from), lands, bump});
    }
    for (u32 i = 0; i != h.steps; ++i) {
        const step& s = p.steps[i];
        rows.push_back({"step " + std::to_string(i), "c" + std::to_string(s.wait) + " = " + std::to_string(s.threshold),
                        step_text(p, s), s.bump == no_index ? "" : "-> c" + std::to_string(s.bump)});
    }
    std::size_t width[3] = {0, 0, 0};
    for (const auto& row : rows)
        for (std::size_t c = 0; c != 3; ++c)
            if (c != 2 || !row[3].empty()) width[c] = std::max(width[c], row[c].size());
    for (const auto& row : rows) {
        std::string line = "  " + widened(row[0], width[0]) + "  " + widened(row[1], width[1]) + "  ";
        line += row[3].empty() ? row[2] : widened(row[2], width[2]) + "  " + row[3];
        text += line + "\n";
    }
    return text;
}

// Such as "rank 0: more steps than the target has room for (70, and 64 is the most)".
inline std::string to_string(const refusal& r) {
    std::string text = r.rank == no_rank ? "" : "rank " + std::to_string(r.rank) + ": ";
    text += describe(r.reason);
    if (r.needed > r.limit)
        text += " (" + std::to_string(r.needed) + ", and " + std::to_string(r.limit) + " is the most)";
    return text;
}

// Such as "rank 3, step 2: a step waits for ever".
inline std::string to_string(const program_verdict& v) {
    std::string text;
    if (v.rank != no_rank) text = "rank " + std::to_string(v.rank);
    if (v.step != 0xffff'ffffu) text += ", step " + std::to_string(v.step);
    if (v.inlet != 0xffff'ffffu) text += ", inlet " + std::to_string(v.inlet);
    if (!text.empty()) text += ": ";
    return text + (v.fault == program_fault::table ? describe(v.table) : describe(v.fault));
}

// Such as "rank 0: not tried: a rank has more messages than 16, the bell included".
inline std::string to_string(const order_proof& proof) {
    return (proof.rank == no_rank ? "" : "rank " + std::to_string(proof.rank) + ": ") + describe(proof.reason);
}

} // namespace bough::nic

#endif
