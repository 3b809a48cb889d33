// SPDX-License-Identifier: BSL-1.0
// tune_one_sided where things go wrong: a peer that stops answering, one that goes, ranks that fail.
#include "support/catch.hpp"
#include <bough/core/deadline.hpp>
#include <bough/measure/one_sided.hpp>
#include <bough/remote/in_process.hpp>
#include <bough/transport/one_sided.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;

namespace {

// What a rank is told by the others, and how long it would have waited.
struct told_wire {
    std::vector<std::byte> said;
    std::uint64_t given_ns = 0;
    rank_t rank() const { return 0; }
    rank_t size() const { return static_cast<rank_t>(said.size()); }
    status exchange(std::span<const std::byte>, std::span<std::byte> all, std::uint64_t timeout_ns) {
        given_ns = timeout_ns;
        std::copy(said.begin(), said.end(), all.begin());
        return {};
    }
};
static_assert(WireUp<told_wire>);

// At the first wait it notes how it is called; then its peer goes.
struct noting : in_process_regions::endpoint {
    struct notes {
        std::uint32_t first_idle = 0;
        bool in_time = true;
        std::optional<in_process_regions::endpoint> peer;
    };
    noting(in_process_regions::endpoint&& base, notes& n) : in_process_regions::endpoint(std::move(base)), n_(&n) {}
    template <class Landed>
    void wait(std::uint32_t idle, std::uint64_t deadline_ns, Landed&&) {
        if (n_->first_idle == 0) n_->first_idle = idle;
        n_->in_time &= deadline_ns > now_ns();
        n_->peer.reset();
    }

private:
    notes* n_;
};

} // namespace

TEST_CASE("tune_one_sided: a message that its peer does not take in time is taken back, and time is left to tell") {
    in_process_regions world{2, {.region_bytes = one_sided_bytes(2)}};
    one_sided a{world.connect(0)}, b{world.connect(1)};
    std::atomic<bool> over{false};
    event announced{};
    std::thread peer([&] { // answers what rides in blocks, and takes nothing that waits
        std::array<event, 4> events;
        std::vector<std::byte> bytes(b.block_bytes());
        while (!over && announced.bytes == 0)
            for (std::size_t i = 0, n = b.poll(events); i != n; ++i) {
                if (events[i].what != event::kind::arrived) continue;
                const auto into = std::span(bytes).first(static_cast<std::size_t>(events[i].bytes));
                if (events[i].data == nullptr)
                    announced = events[i];
                else if (b.take(events[i].id, into, 1) == posted::complete)
                    (void)b.post_send(0, {}, into, 1);
            }
    });
    told_wire wire{.said = std::vector<std::byte>(2)};
    constexpr std::uint64_t limit_ns = 1'000'000'000;
    const std::uint32_t before = a.static_bytes();
    const one_sided_tuning found = tune_one_sided(a, wire, {.rounds = 5, .timeout_ns = limit_ns});
    over = true;
    peer.join();
    CHECK(found.result.code == errc::deadline);
    CHECK(found.result.peer == 1);
    CHECK(a.static_bytes() == before);
    CHECK(wire.given_ns <= limit_ns / 2);
    REQUIRE(announced.bytes != 0);
    std::vector<std::byte> into(static_cast<std::size_t>(announced.bytes));
    CHECK(b.take(announced.id, into, 9) == posted::failed); // its bytes are gone
}

TEST_CASE("tune_one_sided: waits from the first poll that finds nothing, also for ever; a peer that goes ends it") {
    in_process_regions world{2, {.region_bytes = one_sided_bytes(2)}};
    noting::notes notes;
    notes.peer.emplace(world.connect(1));
    one_sided a{noting(world.connect(0), notes)};
    told_wire wire{.said = std::vector<std::byte>(2)};
    const one_sided_tuning found = tune_one_sided(a, wire, {.rounds = 1, .timeout_ns = forever});
    CHECK(found.result.code == errc::peer_dead);
    CHECK(notes.first_idle == 1);
    CHECK(notes.in_time);
    CHECK(wire.given_ns == forever);
}

TEST_CASE("tune_one_sided: a rank whose own measuring went well hears of another's fault") {
    in_process_regions world{3, {.region_bytes = one_sided_bytes(3)}};
    one_sided last{world.connect(2)}; // has nobody to measure with
    told_wire wire{.said = {std::byte{0}, static_cast<std::byte>(errc::protocol_error), std::byte{0}}};
    const one_sided_tuning found = tune_one_sided(last, wire);
    CHECK(found.result.code == errc::peer_aborted);
    CHECK(found.result.cause == errc::protocol_error);
    CHECK(found.result.peer == 1);
}
