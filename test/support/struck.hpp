// SPDX-License-Identifier: BSL-1.0
// Ranks that join a transport while something happens to one of them: at an exchange that is counted, not at a time.
//
//   bough_test::check_every_blow([](auto& wire, status& s) { return tcp::join(wire, {}, s).has_value(); });
#ifndef BOUGH_TEST_SUPPORT_STRUCK_HPP
#define BOUGH_TEST_SUPPORT_STRUCK_HPP

#include "support/catch.hpp"
#include "support/leave_none.hpp"
#include "support/sample.hpp"
#include "support/sanitizers.hpp"
#include <bough/error.hpp>
#include <bough/launch.hpp>
#include <bough/os/clock.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <dirent.h>
#include <fstream>
#include <new>
#include <span>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace bough_test {

// What happens to a rank.
enum class blow : std::uint8_t { none, killed, leaves, no_descriptors, no_memory };

// At which exchange it does, before or after it: the n-th of this rank.
struct blow_plan {
    blow what = blow::none;
    bough::rank_t victim = 0;
    int at = 0;
    bool after = false;
};

// All must have been told within this: much less than the time limit of joining, and long for a busy machine.
inline constexpr double told_within_ms = 10'000;

// Shared by the ranks of a trial.
struct blow_report {
    struct one {
        bool joined = false, ended = false;
        bough::status result{};
        std::uint64_t told_ns = 0;
    };
    std::array<one, 8> ranks{};
    std::uint64_t struck_ns = 0; // 0: it did not happen
    int exchanges = 0;           // of rank 0
};
class shared_report {
public:
    shared_report()
        : at_(new (::mmap(nullptr, sizeof(blow_report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                  blow_report) {}
    shared_report(const shared_report&) = delete;
    shared_report& operator=(const shared_report&) = delete;
    ~shared_report() { ::munmap(at_, sizeof(blow_report)); }
    blow_report* operator->() const { return at_; }

private:
    blow_report* at_;
};

// A wire-up at whose exchanges it happens.
template <class W>
class struck_wire {
public:
    struck_wire(W& wire, const blow_plan& plan, blow_report& report) : wire_(wire), plan_(plan), report_(report) {}
    bough::rank_t rank() const { return wire_.rank(); }
    bough::rank_t size() const { return wire_.size(); }
    bough::status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns) {
        ++made_;
        if (rank() == 0) report_.exchanges = made_;
        if (!plan_.after) strike();
        const bough::status s = wire_.exchange(mine, all, timeout_ns);
        if (plan_.after) strike();
        return s;
    }

private:
    void strike() {
        if (rank() != plan_.victim || made_ != plan_.at || plan_.what == blow::none) return;
        report_.struck_ns = bough::detail::steady_now_ns();
        switch (plan_.what) {
        case blow::killed: ::raise(SIGKILL); break;
        case blow::leaves: ::_exit(0);
        case blow::no_descriptors: leave_no_descriptors(); break;
        case blow::no_memory: leave_no_memory(); break;
        case blow::none: break;
        }
    }

    W& wire_;
    blow_plan plan_;
    blow_report& report_;
    int made_ = 0;
};

// Joins `ranks` processes by join(wire, status) -> bool.
template <class Join>
void join_struck(bough::rank_t ranks, const blow_plan& plan, blow_report& report, const Join& join) {
    (void)bough::launch(ranks, [&](bough::job job) {
        struck_wire wire(job, plan, report);
        blow_report::one& mine = report.ranks[job.rank()];
        mine.joined = join(wire, mine.result);
        mine.told_ns = bough::detail::steady_now_ns();
        mine.ended = true;
    });
}

// How it ended: all ranks have joined, which only those may have that were not needed any more; or all others name the
// victim, and the right reason. Returns how late the last of them was, in milliseconds.
inline double check_blow(bough::rank_t ranks, const blow_plan& plan, const blow_report& report) {
    using bough::errc;
    const bool dies = plan.what == blow::killed || plan.what == blow::leaves;
    const bool all_joined = std::all_of(report.ranks.begin(), report.ranks.begin() + ranks, [&](const auto& one) {
        return one.joined || (dies && &one == &report.ranks[plan.victim]);
    });
    // Whoever dies before an exchange is missing in it; a rank can do without more memory, or it has joined already.
    if (report.struck_ns == 0 || ((plan.after || !dies) && all_joined)) {
        CHECK(all_joined);
        return 0;
    }
    double latest = 0;
    for (bough::rank_t r = 0; r != ranks; ++r) {
        const auto& one = report.ranks[r];
        CAPTURE(r, static_cast<int>(plan.what), plan.victim, plan.at, plan.after, bough::message_of(one.result));
        if (r == plan.victim) {
            if (!dies) CHECK(one.result.code == errc::no_resources);
            continue;
        }
        CHECK(one.ended);
        CHECK_FALSE(one.joined);
        CHECK(one.result.peer == plan.victim);
        CHECK(one.result.code == (dies ? errc::peer_dead : errc::peer_aborted));
        CHECK(one.result.cause == (dies ? errc::ok : errc::no_resources));
        latest = std::max(latest, static_cast<double>(one.told_ns - report.struck_ns) * 1e-6);
    }
    CHECK(latest < told_within_ms); // whoever is not told waits for the end of its time
    return latest;
}

// Each blow at, and after, each exchange of joining, to the first, a middle, and the last rank; of these, a sample for
// every day. The time limit of joining is to be much longer than told_within_ms. `memory`: also want of it.
template <class Join>
void check_every_blow(const std::string& name, bough::rank_t ranks, const Join& join, bool memory = true) {
    const shared_report quiet;
    join_struck(ranks, {}, *quiet.operator->(), join);
    REQUIRE(check_blow(ranks, {}, *quiet.operator->()) == 0);
    if (has_address_sanitizer || has_thread_sanitizer) memory = false; // they need some themselves
    constexpr std::array blows{blow::killed, blow::leaves, blow::no_descriptors, blow::no_memory};
    double latest = 0, sum = 0;
    int told = 0, trials = 0;
    for (int at = 1; at <= quiet->exchanges; ++at)
        for (const bool after : {false, true})
            for (const blow what : blows)
                for (const bough::rank_t victim : {bough::rank_t{0}, ranks / 2, ranks - 1}) {
                    if (!bough_test::all() && (trials++ + at) % 6 != 0) continue;
                    if (what == blow::no_memory && !memory) continue;
                    if (what == blow::no_descriptors && may_have_undefined_behavior_sanitizer) continue;
                    const shared_report report;
                    const blow_plan plan{what, victim, at, after};
                    join_struck(ranks, plan, *report.operator->(), join);
                    const double ms = check_blow(ranks, plan, *report.operator->());
                    if (ms == 0) continue;
                    latest = std::max(latest, ms);
                    sum += ms;
                    ++told;
                }
    CHECK(told > 0);
    std::printf("%-28s %3d exchanges, %4d failures named: %6.2f ms on average, %7.2f ms at most\n", name.c_str(),
                quiet->exchanges, told, told != 0 ? sum / told : 0.0, latest);
}

} // namespace bough_test

#endif
