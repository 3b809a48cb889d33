// SPDX-License-Identifier: BSL-1.0
// A rank that comes late finds all messages there. It sends in the order of the plan, not in that of the peers.
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/late_rank.hpp>
#include <bough/allreduce.hpp>
#include <bough/communicator.hpp>
#include <bough/transport/in_process.hpp>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <span>
#include <vector>

using namespace bough;

namespace {

constexpr rank_t late = 2;

struct seen {
    std::uint64_t events = 0;
    std::vector<std::uint32_t> sent; // steps
    static void see(void* context, const operation_event& e) {
        seen& its = *static_cast<seen*>(context);
        ++its.events;
        if (e.what == operation_event::kind::sent) its.sent.push_back(e.step);
    }
};

// The steps that the late rank sends, in the order in which it does.
std::vector<std::uint32_t> sent_by_late(rank_t size) {
    const auto plan = plan_allreduce(late_rank_allreduce{.late = late}, {.size = size, .blocks = 16});
    std::atomic<int> wrong{0};
    std::vector<seen> of(size);
    std::atomic<std::uint64_t> events{0};
    std::atomic<bool> settled{false};
    std::barrier early(size - 1), all(size);
    in_process{size}.run([&](auto link) {
        const rank_t me = link.rank();
        communicator comm{std::move(link), {.report = {.hook = {&seen::see, &of[me]}}}};
        std::vector<std::uint64_t> x(64 * 16, me + 1);
        if (me == late) {
            all.arrive_and_wait();
            allreduce(comm, std::span(x), plus{}, plan);
        } else {
            auto running = start_allreduce(comm, x, plus{}, plan);
            // Until nothing happens on any of them any more in a whole round.
            for (std::uint64_t before = 0;;) {
                for (int i = 0; i != 100; ++i) running.poll();
                early.arrive_and_wait();
                events += of[me].events;
                early.arrive_and_wait();
                if (me == 0) {
                    const std::uint64_t now = events.exchange(0);
                    settled = now == before;
                    before = now;
                }
                early.arrive_and_wait();
                if (settled) break;
            }
            all.arrive_and_wait();
            running.wait();
        }
        for (const std::uint64_t sum : x) wrong += sum != std::uint64_t{size} * (size + 1) / 2;
    });
    CHECK(wrong == 0);
    return of[late].sent;
}

} // namespace

TEST_CASE("order: a late rank sends in the order of its plan, from whomever it has the messages") {
    for (const rank_t size : {4u, 5u, 8u}) {
        CAPTURE(size);
        const auto sent = sent_by_late(size);
        CHECK(sent.size() > size);
        CHECK(std::ranges::is_sorted(sent));
    }
}
