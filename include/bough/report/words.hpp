// SPDX-License-Identifier: BSL-1.0
// Words: how reports name calls, ranks, sizes and times.
#ifndef BOUGH_REPORT_WORDS_HPP
#define BOUGH_REPORT_WORDS_HPP

#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/error.hpp>
#include <bough/op/names.hpp>
#include <bough/report/call_record.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

namespace bough::inline BOUGH_ABI::detail {

// "850 ns", "12 us", "2.3 s"
inline std::string duration_text(std::uint64_t ns) {
    struct unit {
        double ns;
        const char* name;
    };
    constexpr std::array<unit, 4> units{{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}}};
    std::size_t u = 0;
    while (u != 3 && static_cast<double>(ns) < units[u].ns) ++u;
    const double value = static_cast<double>(ns) / units[u].ns;
    std::array<char, 32> text{};
    (void)std::snprintf(text.data(), text.size(), value < 10 && u != 3 ? "%.1f %s" : "%.0f %s", value, units[u].name);
    return text.data();
}
// "1 byte", "24 bytes", "64 KiB"
inline std::string bytes_text(std::uint64_t bytes) {
    for (const auto& [unit, name] :
         {std::pair<std::uint64_t, const char*>{1u << 30, " GiB"}, {1u << 20, " MiB"}, {1u << 10, " KiB"}})
        if (bytes >= unit && bytes % unit == 0) return std::to_string(bytes / unit) + name;
    return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}
// "rank 5", "ranks 0-3, 5 and 7", "ranks 0, 2, 4, 6, 8, 10, 12, 14 and 20 others". Pre: in order.
inline std::string ranks_text(std::span<const rank_t> ranks) {
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    std::size_t shown = 0;
    for (std::size_t i = 0; i != ranks.size();) {
        std::size_t last = i;
        while (last + 1 != ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
        if (last < i + 2) last = i; // two neighbours are two ranks
        if (shown == 8 && last + 1 != ranks.size()) {
            const std::size_t left = ranks.size() - i;
            return text + " and " + std::to_string(left) + " others";
        }
        text += (i == 0 ? "" : last + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[i]);
        if (last != i) text += "-" + std::to_string(ranks[last]);
        ++shown;
        i = last + 1;
    }
    return text;
}
// "allreduce #17 of 8 bytes", "barrier #2 of communicator 3"
inline std::string call_words(const call_record& c, std::uint16_t context) {
    std::string text = call_text(c.signature.kind, c.number, context);
    if (c.bytes() != 0) text += (context == 0 ? " of " : ", ") + bytes_text(c.bytes());
    return text;
}
// What two calls of one number differ in: "count 8, where others have 4".
inline std::string difference_words(const call_signature& its, const call_signature& others) {
    const auto words = [](const char* what, const std::string& a, const std::string& b) {
        return std::string(what) + ' ' + a + ", where others have " + b;
    };
    if (its.name != others.name)
        return words("name", value_of(mismatch::name, its.name), value_of(mismatch::name, others.name));
    if (differ_in_values(its.op, others.op)) return "an op that differs" + numbers_text(its.op);
    if (its.op != others.op) return words("op", value_of(mismatch::op, its.op), value_of(mismatch::op, others.op));
    if (its.type != others.type)
        return words("type", value_of(mismatch::type, its.type), value_of(mismatch::type, others.type));
    if (its.count != others.count) return words("count", std::to_string(its.count), std::to_string(others.count));
    if (its.root != others.root) return words("root", std::to_string(its.root), std::to_string(others.root));
    return words("plan", value_of(mismatch::plan, its.plan), value_of(mismatch::plan, others.plan));
}

} // namespace bough::detail

#endif
