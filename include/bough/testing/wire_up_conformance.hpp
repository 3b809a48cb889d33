// SPDX-License-Identifier: BSL-1.0
// The rules of a WireUp, as code. Every rank calls the check with its own end, in a thread or a
// process of its own:
//
//   const auto fault = bough::testing::check_wire_up(wire);
//   if (fault) std::puts(fault.sentence);
//
// The last part of the check breaks the wire-up on purpose: nothing can be exchanged afterwards.
#ifndef BOUGH_TESTING_WIRE_UP_CONFORMANCE_HPP
#define BOUGH_TESTING_WIRE_UP_CONFORMANCE_HPP

#include <bough/concepts/explain_wire_up.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <span>
#include <thread>
#include <type_traits>
#include <vector>

namespace bough::inline BOUGH_ABI::testing {

// The rules; W1 to W3 are those of bough/concepts/wire_up.hpp.
enum class wire_up_rule : std::uint8_t {
    none,     // all rules hold
    identity, // rank() and size() are those of the job
    exchange, // W1, W3: it ends with every rank's bytes in order of rank, once every rank has called
    length,   // W2: a call with a wrong length gets invalid_argument, and is no exchange
    deadline, // W3: it ends in time if a rank does not call; then nothing more can be exchanged
};

// The rule that was broken.
struct wire_up_fault {
    wire_up_rule rule = wire_up_rule::none;
    const char* sentence = "";
    constexpr explicit operator bool() const noexcept { return rule != wire_up_rule::none; } // true: broken
};

// How thorough the check is.
struct wire_up_check {
    std::uint32_t exchanges = 40;
    std::uint64_t timeout_ns = 10'000'000'000; // for exchanges that should end well
    std::uint64_t short_timeout_ns = 100'000'000;
    bool break_it = true; // also test an exchange that one rank does not call
};

namespace detail {

// Byte i of what rank r says in exchange n.
constexpr std::byte said(std::uint32_t n, rank_t r, std::size_t i) noexcept {
    return static_cast<std::byte>((n * 31u + r * 7u + i * 3u + i / 256u) & 0xffu);
}

template <class W>
wire_up_fault exchanges(W& wire, const wire_up_check& options) {
    constexpr std::size_t lengths[] = {4, 0, 1, 8, 33, most_wire_up_bytes, 64};
    const rank_t me = wire.rank(), ranks = wire.size();
    std::vector<std::byte> mine, all;
    for (std::uint32_t n = 0; n != options.exchanges; ++n) {
        // One rank comes late, or passes a wrong length.
        if (n % ranks == me && n % 5 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        mine.resize(lengths[n % std::size(lengths)]);
        all.assign(mine.size() * ranks, std::byte{0xee});
        for (std::size_t i = 0; i != mine.size(); ++i) mine[i] = said(n, me, i);
        if (n % ranks == me) {
            std::vector<std::byte> wrong(all.size() + 1), longer(most_wire_up_bytes + 1);
            std::vector<std::byte> room(longer.size() * ranks);
            if (wire.exchange(mine, wrong, options.timeout_ns).code != errc::invalid_argument ||
                wire.exchange(longer, room, options.timeout_ns).code != errc::invalid_argument)
                return {wire_up_rule::length, "a wrong length is not invalid_argument"};
        }
        if (wire.exchange(mine, all, options.timeout_ns))
            return {wire_up_rule::exchange, "an exchange that every rank calls ends with an error"};
        for (rank_t r = 0; r != ranks; ++r)
            for (std::size_t i = 0; i != mine.size(); ++i)
                if (all[r * mine.size() + i] != said(n, r, i))
                    return {wire_up_rule::exchange, "not every rank's bytes, in order of rank"};
    }
    return {};
}

// Sleeps meanwhile, in a thread of its own: the result says how long that took, which is longer than
// `asked` where others keep the machine busy.
inline std::future<std::chrono::nanoseconds> sleep_beside(std::chrono::nanoseconds asked) {
    return std::async(std::launch::async, [asked]() -> std::chrono::nanoseconds {
        const auto start = std::chrono::steady_clock::now();
        std::this_thread::sleep_for(asked);
        return std::chrono::steady_clock::now() - start;
    });
}

// Tests an exchange to which the last rank does not come.
template <class W>
wire_up_fault broken_exchange(W& wire, const wire_up_check& options) {
    using clock = std::chrono::steady_clock;
    const auto patience = std::chrono::nanoseconds(options.short_timeout_ns);
    if (wire.rank() + 1 == wire.size()) {
        std::this_thread::sleep_for(4 * patience);
        return {};
    }
    std::vector<std::byte> mine(8), all(8 * std::size_t{wire.size()});
    auto sleeper = sleep_beside(patience);
    const auto start = clock::now();
    const status first = wire.exchange(mine, all, options.short_timeout_ns);
    const auto lasted = clock::now() - start;
    if (first.code != errc::deadline && first.code != errc::peer_dead)
        return {wire_up_rule::deadline, "a rank has not called, but the others hear neither deadline nor peer_dead"};
    if (lasted > 3 * sleeper.get()) return {wire_up_rule::deadline, "an exchange that a rank does not call ends late"};
    if (!wire.exchange(mine, all, options.short_timeout_ns))
        return {wire_up_rule::deadline, "an exchange ends well after another one has failed"};
    return {};
}

} // namespace detail

// The first rule that this rank sees broken, if there is one. Collective.
template <class W>
wire_up_fault check_wire_up(W& wire, const wire_up_check& options = {}) {
    static_assert(explain_wire_up<W>());
    if (wire.size() == 0 || wire.rank() >= wire.size()) return {wire_up_rule::identity, "rank() is not below size()"};
    std::uint32_t who[2] = {wire.rank(), wire.size()};
    std::vector<std::uint32_t> all(2 * std::size_t{wire.size()});
    if (wire.exchange(std::as_bytes(std::span(who)), std::as_writable_bytes(std::span(all)), options.timeout_ns))
        return {wire_up_rule::exchange, "the first exchange ends with an error"};
    for (rank_t r = 0; r != wire.size(); ++r)
        if (all[2 * std::size_t{r}] != r || all[2 * std::size_t{r} + 1] != wire.size())
            return {wire_up_rule::identity, "the ranks do not agree on who they are"};
    if (const wire_up_fault bad = detail::exchanges(wire, options)) return bad;
    if (options.break_it && wire.size() > 1) return detail::broken_exchange(wire, options);
    return {};
}

} // namespace bough::testing

#endif
