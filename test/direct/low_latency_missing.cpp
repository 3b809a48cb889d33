// SPDX-License-Identifier: BSL-1.0
// low_latency: a deadline names the ranks that did not come, in the same words on every rank that waited, and nobody who only
// waits. Ranks are threads; the time is that of none of them: it goes on when each rank that waits has looked around.
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/direct/low_latency.hpp>
#include <bough/error.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/remote/in_process.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <latch>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;
using bough_test::mixed;

namespace {

constexpr low_latency_form forms[] = {low_latency_form::flat, low_latency_form::doubling, low_latency_form::tree};
constexpr std::uint64_t ms = 1'000'000, tick_ns = ms / 10;
const std::string end = ": the operation did not end by its deadline";

using plain = in_process_regions::endpoint;

// A clock that ranks share. A tick has passed when each rank has looked that is not away.
class common_clock {
public:
    explicit common_clock(rank_t size) : looks_(size) {}
    std::uint64_t look(rank_t me) {
        looks_[me] = now_ + 1;
        std::uint64_t least = ~std::uint64_t{0};
        for (const std::atomic<std::uint64_t>& n : looks_) least = std::min(least, n.load());
        std::uint64_t before = now_;
        while (before < least && !now_.compare_exchange_weak(before, least)) continue;
        return now_ns();
    }
    std::uint64_t now_ns() const { return (now_ + 1) * tick_ns; }
    void leave(rank_t me) { looks_[me] = away; }
    void come_back(rank_t me) { looks_[me] = now_.load(); }

private:
    static constexpr std::uint64_t away = std::uint64_t{1} << 62;
    std::deque<std::atomic<std::uint64_t>> looks_; // the tick that each waits for
    std::atomic<std::uint64_t> now_{0};
};

// It calls before_put before each of its puts, and may refuse every third.
class watched : public plain {
public:
    watched(plain&& base, common_clock& clock, bool refuses, std::function<void()> before_put)
        : plain(std::move(base)), clock_(&clock), refuses_(refuses), before_put_(std::move(before_put)) {}
    posted put(rank_t to, std::uint64_t offset, std::span<const std::byte> first, std::span<const std::byte> second,
               std::uint64_t id) {
        if (refuses_ && ++tries_ % 3 == 0) return posted::would_block;
        before_put_();
        return plain::put(to, offset, first, second, id);
    }
    std::uint64_t now_ns() const { return clock_->look(rank()); }
    template <class Landed>
    void wait(std::uint32_t, std::uint64_t, Landed&&) const {
        std::this_thread::yield();
    }

private:
    common_clock* clock_;
    bool refuses_;
    std::uint32_t tries_ = 0;
    std::function<void()> before_put_;
};

struct ended {
    status result;      // of the call that failed
    std::uint32_t call; // its number
};

// Ranks that allreduce and barrier in turn until one fails; at most `calls`. Some stop at one of their puts, until all others
// have ended, or until it is a given time.
struct trial {
    struct stop {
        std::uint32_t at_put = 0, at_call = 0; // that put of its, or the beginning of that call; counted from 1
        std::uint64_t until_ns = ~std::uint64_t{0};
    };
    rank_t size;
    low_latency_form form;
    std::vector<std::pair<rank_t, stop>> stops{};
    std::uint32_t calls = 6;
    std::uint32_t k = 2;
    bool refuses = false;

    std::vector<ended> run() const {
        const low_latency_options options{.form = form, .k = k, .timeout_ns = 16 * ms};
        in_process_regions world(size, {.region_bytes = low_latency_bytes(size, options)});
        common_clock clock(size);
        std::set<rank_t> late;
        for (const auto& [r, how] : stops)
            if (how.until_ns == ~std::uint64_t{0}) late.insert(r);
        std::latch others(static_cast<std::ptrdiff_t>(size - late.size())), all(static_cast<std::ptrdiff_t>(size));
        std::vector<ended> ends(size);
        std::vector<std::thread> threads;
        for (rank_t r = 0; r != size; ++r)
            threads.emplace_back([&, r] {
                std::uint32_t puts = 0, call = 0;
                const auto stop_if = [&](auto&& is_due) {
                    for (const auto& [who, how] : stops) {
                        if (who != r || !is_due(how)) continue;
                        while (!late.contains(r) && clock.look(r) < how.until_ns) std::this_thread::yield();
                        if (!late.contains(r)) continue;
                        clock.leave(r);
                        others.wait();
                        clock.come_back(r);
                    }
                };
                {
                    low_latency<watched> group(watched(world.connect(r), clock, refuses,
                                                       [&] {
                                                           ++puts;
                                                           stop_if([&](const stop& s) { return s.at_put == puts; });
                                                       }),
                                               options);
                    status why;
                    while (!why && call != calls) {
                        ++call;
                        stop_if([&](const stop& s) { return s.at_call == call; });
                        std::array<long, 2> x{1, r};
                        call % 2 == 1 ? allreduce(group, x, plus{}, why) : barrier(group, why);
                        if (!why && call % 2 == 1 && x[0] != size) why.code = errc::protocol_error;
                    }
                    ends[r] = {why, call};
                    clock.leave(r);
                    if (!late.contains(r)) others.count_down();
                    all.arrive_and_wait(); // as long as their lines are needed
                }
            });
        for (std::thread& t : threads) t.join();
        return ends;
    }
};

std::string call_of(std::uint32_t number) {
    return (number % 2 == 1 ? "allreduce #" : "barrier #") + std::to_string(number);
}

// What is wrong with what they say; empty: nothing.
std::string complaint(const std::vector<ended>& ends, rank_t missing) {
    const std::string who = "rank " + std::to_string(missing) + " is missing in ";
    std::string sentence;
    std::uint32_t number = 0;
    for (rank_t r = 0; r != ends.size(); ++r) {
        if (r == missing) continue;
        const status& s = ends[r].result;
        const std::string said = std::to_string(r) + " says " + message_of(s);
        if (s.code != errc::deadline && (s.code != errc::peer_aborted || s.cause != errc::deadline)) return said;
        if (message_of(s) != who + call_of(s.operation) + " (it does not answer)" + end) return said;
        if (s.operation != ends[r].call && s.operation + 1 != ends[r].call) return said;
        if (s.peer != missing || s.missing != 1 || !is_missing(s, missing)) return said;
        if (!sentence.empty() && sentence != message_of(s)) return said + " BUT " + sentence;
        sentence = message_of(s);
        number = s.operation;
    }
    const std::string late = "this rank, " + std::to_string(missing) + ", came too late to " + call_of(number) + end;
    return message_of(ends[missing].result) == late ? "" : "the late one says " + message_of(ends[missing].result);
}

} // namespace

TEST_CASE("low_latency: a rank that stops before a call or amid it is named by all, and told that it comes too late") {
    std::set<low_latency_form> seen;
    std::uint32_t amid = 0;
    for (std::uint64_t i = 0; i != (bough_test::all() ? 1500u : 75u); ++i) {
        const std::uint64_t drawn = mixed(mixed(bough_test::seed()) ^ i);
        const auto size = static_cast<rank_t>(2 + drawn % 8);
        const auto missing = static_cast<rank_t>((drawn >> 8) % size);
        const low_latency_form form = forms[(drawn >> 16) % 3];
        trial::stop stop;
        if ((drawn >> 24) % 3 == 0)
            stop.at_call = static_cast<std::uint32_t>(1 + (drawn >> 32) % 4);
        else
            stop.at_put =
                static_cast<std::uint32_t>(1 + (drawn >> 32) % (form == low_latency_form::flat ? 3 * (size - 1) : 4));
        const auto ends =
            trial{.size = size, .form = form, .stops = {{missing, stop}}, .refuses = (drawn >> 44) % 2 == 0}.run();
        CAPTURE(i, size, missing, static_cast<int>(form), stop.at_put, stop.at_call);
        CHECK(complaint(ends, missing) == "");
        seen.insert(form);
        for (const ended& e : ends) amid += e.call != ends[(missing + 1) % size].call;
    }
    CHECK(seen.size() == 3);
    CHECK(amid != 0); // some had ended the call in which others waited
}

TEST_CASE("low_latency: two ranks are missing") {
    for (const low_latency_form form : forms) {
        const auto ends = trial{8, form, {{2, {.at_call = 3}}, {5, {.at_call = 3}}}}.run();
        CAPTURE(static_cast<int>(form));
        for (const rank_t r : {0u, 1u, 3u, 4u, 6u, 7u})
            CHECK(message_of(ends[r].result) ==
                  "ranks 2 and 5 are missing in allreduce #3 (rank 2 does not answer)" + end);
        for (const rank_t r : {2u, 5u})
            CHECK(message_of(ends[r].result) ==
                  "this rank, " + std::to_string(r) + ", came too late to allreduce #3" + end);
    }
}

TEST_CASE("low_latency: a rank that comes shortly before the deadline is not held against anybody later") {
    for (const low_latency_form form : forms)
        for (const std::uint64_t until_ns :
             {14 * ms + ms / 2, 15 * ms + ms / 2}) // searched for; and proposed as missing
            for (rank_t late = 0; late != 5; ++late) {
                const auto missing = static_cast<rank_t>((late + 2) % 5);
                const trial::stop slow{.at_put = 0, .at_call = 1, .until_ns = until_ns};
                const auto ends = trial{5, form, {{late, slow}, {missing, {.at_call = 3}}}}.run();
                CAPTURE(static_cast<int>(form), until_ns, late, missing);
                CHECK(complaint(ends, missing) == "");
                CHECK(ends[late].call == 3);
            }
}

TEST_CASE("low_latency: the first whose time is up asks those that have waited for less, one after the other") {
    for (const low_latency_form form : forms)
        for (const rank_t missing : {5u, 6u, 7u}) // of k = 1: 0 waits for 4, 4 for 6, and 6 for 7
            for (const rank_t first : {0u, 4u}) {
                trial one{.size = 8, .form = form, .k = 1};
                for (rank_t r = 0; r != 8; ++r)
                    if (r != first && r != missing) one.stops.push_back({r, {.at_call = 1, .until_ns = 7 * ms}});
                one.stops.push_back({missing, {.at_call = 1}});
                CAPTURE(static_cast<int>(form), missing, first);
                CHECK(complaint(one.run(), missing) == "");
            }
}

TEST_CASE("low_latency: the calls after a deadline say what it said") {
    in_process_regions world(2, {.region_bytes = low_latency_bytes(2)});
    common_clock clock(1);
    low_latency group(watched(world.connect(0), clock, false, [] {}), {.timeout_ns = 16 * ms});
    status first, next;
    barrier(group, first);
    barrier(group, next);
    CHECK(message_of(first) == "rank 1 is missing in barrier #1 (it does not answer)" + end);
    CHECK((next.code == errc::group_poisoned && next.cause == errc::deadline));
    CHECK(message_of(next) == message_of(first) + ": " + describe(errc::group_poisoned));
}
