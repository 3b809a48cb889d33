// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/broadcast.hpp>
#include <bough/testing/slowed.hpp>
#include <bough/testing/transport_conformance.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/flat.hpp>

#include <atomic>
#include <span>
#include <string>
#include <utility>

using namespace bough;
using slowed_link = testing::slowed<in_process::endpoint>;

static_assert(InPlaceTransport<slowed_link> && WaitableTransport<slowed_link>);

TEST_CASE("slowed: a flat broadcast takes its root no less than all its sends, asleep or busy") {
    for (const bool busy : {false, true}) {
        std::atomic<std::uint64_t> root_ns{0};
        in_process{4}.run([&](auto transport) {
            communicator comm{
                slowed_link{std::move(transport), {.send = {500'000, 10}, .receive = {100'000, 0}, .busy = busy}}};
            int word = comm.rank() == 0 ? 42 : 0;
            const std::uint64_t begin = comm.transport().now_ns();
            broadcast(comm, std::span(&word, 1), root{0}, flat{});
            if (comm.rank() == 0) root_ns = comm.transport().now_ns() - begin;
            if (word != 42) root_ns = 0;
        });
        CHECK(root_ns >= 3 * 500'000);
    }
}

TEST_CASE("slowed: a send that was refused is paid once") {
    struct full { // refuses the first post
        int calls = 0;
        rank_t rank() const { return 0; }
        rank_t size() const { return 2; }
        std::uint64_t now_ns() const { return 0; }
        posted post_send(rank_t, const envelope&, std::span<const std::byte>, std::uint64_t) {
            return calls++ == 0 ? posted::would_block : posted::complete;
        }
        std::size_t poll(std::span<event>) { return 0; }
        posted take(std::uint64_t, std::span<std::byte>, std::uint64_t) { return posted::failed; }
        void release(std::uint64_t) {}
        errc cancel(std::uint64_t) { return errc::invalid_argument; }
    };
    testing::slowed link{full{}, {.send = {2'000'000, 0}, .receive = {}}};
    using clock = std::chrono::steady_clock;
    const auto begin = clock::now();
    CHECK(link.post_send(1, {}, {}, 0) == posted::would_block);
    const auto paid = clock::now();
    CHECK(paid - begin >= std::chrono::milliseconds(2));
    CHECK(link.post_send(1, {}, {}, 0) == posted::complete);
    CHECK(link.post_send(1, {}, {}, 0) == posted::complete);
    CHECK(clock::now() - paid >= std::chrono::milliseconds(2));
}
