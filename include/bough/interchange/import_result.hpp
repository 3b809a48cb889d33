// SPDX-License-Identifier: BSL-1.0
// What the readers of foreign schedules return: the schedules, or the first line of the file that
// is wrong.
#ifndef BOUGH_INTERCHANGE_IMPORT_RESULT_HPP
#define BOUGH_INTERCHANGE_IMPORT_RESULT_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/rank.hpp>
#include <bough/schedule/print_verdict.hpp>
#include <bough/schedule/schedule.hpp>
#include <bough/schedule/traits.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bough::inline BOUGH_ABI {

// The first thing that is wrong in a file, and where.
struct import_fault {
    std::string sentence{}; // empty: none
    std::size_t line = 0;   // from 1; 0: no line in particular
    rank_t rank = no_rank;
    std::uint32_t step = 0xffff'ffffu; // as in the file, from 0; 0xffff'ffff: no step in particular

    bool none() const noexcept { return sentence.empty(); }
    friend bool operator==(const import_fault&, const import_fault&) = default;
};

// The fault as text, such as "line 12, rank 3, step 2: the sentence".
inline std::string to_string(const import_fault& f) {
    std::string where;
    const auto add = [&](const std::string& part) { where += (where.empty() ? "" : ", ") + part; };
    if (f.line != 0) add("line " + std::to_string(f.line));
    if (f.rank != no_rank) add("rank " + std::to_string(f.rank));
    if (f.step != 0xffff'ffffu) add("step " + std::to_string(f.step));
    return where.empty() ? f.sentence : where + ": " + f.sentence;
}

// Schedules that came from a file, ready for verify_schedules, and where in the file each step
// stands.
struct imported_schedules {
    std::uint8_t kind = 0; // of the goal
    dimensions at{};
    std::vector<schedule> schedules;
    std::vector<block_t> scratch;                 // by rank: the limit
    std::vector<std::vector<std::size_t>> lines;  // by rank, then step: the line in the file
    std::vector<std::vector<std::uint32_t>> step; // by rank, then step: the number in the file

    // Translates a verdict of verify_schedules into the lines and numbers of the file.
    import_fault fault_of(const verdict& v) const {
        if (v) return {};
        import_fault f{bough::to_string(v), 0, v.rank, 0xffff'ffffu};
        if (v.rank >= lines.size()) return f;
        std::size_t i = v.step;
        if (i >= lines[v.rank].size()) { // a result is wrong: name the last step that wrote it
            const auto writes = [&](const bough::step& s) {
                return s.writes() && s.out.buffer == output && s.out.first <= v.block && v.block < s.out.last();
            };
            i = lines[v.rank].size();
            while (i != 0 && !writes(schedules[v.rank][i - 1])) --i;
            if (i-- == 0) return f;
            f.sentence.erase(0, f.sentence.find(", ") + 2); // the fault has the rank already
        } else if (const std::size_t colon = f.sentence.find(": "); colon != std::string::npos) {
            // The fault has the file's numbers, not those of the translation.
            f.sentence.erase(0, colon + 2);
        }
        f.line = lines[v.rank][i];
        f.step = step[v.rank][i];
        return f;
    }
};

} // namespace bough

#endif
