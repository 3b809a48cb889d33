// SPDX-License-Identifier: BSL-1.0
// low_latency between processes: sums in every form, and who is killed is missed by all; and what it takes a process to see.
#if defined(__linux__)
#include "support/catch.hpp"
#include "support/last_words.hpp"
#include "transport/shared_memory_world.hpp"
#include <bough/direct/low_latency.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/remote/in_process.hpp>
#include <bough/remote/shared_memory.hpp>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <span>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

using namespace bough;
using bough_test::processes;
using bough_test::report;

namespace {

template <class W>
low_latency<shared_memory_regions> group_of(W& wire, low_latency_form form) {
    const low_latency_options options{.form = form, .k = 2};
    return low_latency{shared_memory_regions{wire, {.region_bytes = low_latency_bytes(wire.size(), options)}}, options};
}

} // namespace

TEST_CASE("low_latency: sums over processes, and a death in the middle") {
    for (const low_latency_form form : {low_latency_form::flat, low_latency_form::doubling, low_latency_form::tree}) {
        processes ranks(5, [&](auto& wire, report& told) {
            auto group = group_of(wire, form);
            const std::uint64_t me = group.rank();
            for (std::uint64_t k = 0; k != 300; ++k) {
                std::uint64_t x[2] = {k * 8 + me, me == 3 ? k : 0};
                allreduce(group, std::span(x), plus{});
                told.check(x[0] == 5 * 8 * k + 10 && x[1] == k);
                if (k % 7 == 0) barrier(group);
            }
            if (me == 2) ::raise(SIGKILL);
            status why;
            for (int k = 0; k != 3 && !why; ++k) barrier(group, why);
            told.result = why;
            told.check((why.code == errc::peer_aborted ? why.cause : why.code) == errc::peer_dead);
        });
        ranks.wait();
        CAPTURE(static_cast<int>(form));
        for (const rank_t r : {0u, 1u, 3u, 4u}) CHECK((ranks.exit_code(r) == 0 && ranks.of(r).wrong == 0));
        CHECK(ranks.exit_code(2) == 256 + SIGKILL);
    }
}

TEST_CASE("low_latency: a forked child has no group") {
    processes ranks(2, [](auto& wire, report& told) {
        auto group = group_of(wire, low_latency_form::automatic);
        barrier(group);
        if (const pid_t child = ::fork(); child == 0) {
            status why;
            barrier(group, why);
            ::_exit(why.code == errc::forked_child ? 0 : 1);
        } else {
            int result = 1;
            ::waitpid(child, &result, 0);
            told.check(result == 0);
        }
        barrier(group); // and its parent's is whole
    });
    ranks.wait();
    for (const rank_t r : {0u, 1u}) CHECK((ranks.exit_code(r) == 0 && ranks.of(r).wrong == 0));
}

TEST_CASE("low_latency: the child of an op that forks amid a call ends it") {
    for (const low_latency_form form : {low_latency_form::flat, low_latency_form::doubling, low_latency_form::tree}) {
        processes ranks(4, [&](auto& wire, report& told) {
            auto group = group_of(wire, form);
            pid_t child = -1;
            const auto forking = [&](int a, int b) {
                if (child == -1 && group.rank() == 0) child = ::fork();
                if (child == 0) ::alarm(20);
                return a + b;
            };
            int x = 1;
            status why;
            allreduce(group, std::span(&x, 1), forking, why);
            if (child == 0) { // its call may have been in its last step
                if (!why) barrier(group, why);
                ::_exit(why.code == errc::forked_child || why.cause == errc::forked_child ? 0 : 1);
            }
            int state = -1;
            told.check(group.rank() != 0 || (::waitpid(child, &state, 0) == child && state == 0));
            told.check(!why && x == 4);
            barrier(group);
        });
        ranks.wait();
        CAPTURE(static_cast<int>(form));
        for (const rank_t r : {0u, 1u, 2u, 3u}) CHECK((ranks.exit_code(r) == 0 && ranks.of(r).wrong == 0));
    }
}

TEST_CASE("low_latency: a group with options that do not do takes no memory for them") {
    const bough_test::last_words said = bough_test::last_words_of([] {
        rlim_t pages = 0;
        std::ifstream("/proc/self/statm") >> pages;
        const rlim_t most = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + (rlim_t{1} << 28);
        const rlimit limit{most, most};
        if (::setrlimit(RLIMIT_AS, &limit) != 0) ::_exit(1);
        in_process_regions world(1, {.region_bytes = 4096});
        low_latency group(world.connect(0), {.most_bytes = 0xffff'ffff});
        status why;
        barrier(group, why);
        std::fprintf(stderr, "refused: %s", why.argument);
    });
    CHECK(said.text == "refused: most_bytes: must be 8 to 8192");
}

namespace {

struct pending_after_all : in_process_regions::endpoint {
    explicit pending_after_all(endpoint&& base) : endpoint(std::move(base)) {}
    posted put(rank_t, std::uint64_t, std::span<const std::byte>, std::span<const std::byte>, std::uint64_t) {
        return posted::pending;
    }
};

} // namespace

TEST_CASE("low_latency: a transport whose puts are pending, although it says that they never are, is told so") {
    const bough_test::last_words said = bough_test::last_words_of([] {
        in_process_regions world(2, {.region_bytes = low_latency_bytes(2)});
        low_latency group(pending_after_all(world.connect(0)));
        status why;
        barrier(group, why);
    });
    CHECK((said.aborted && said.has("put: pending, although the transport says completes_at_once")));
}
#endif
