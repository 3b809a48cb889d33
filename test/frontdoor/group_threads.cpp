// SPDX-License-Identifier: BSL-1.0
// Several threads of a rank make communicators at the same time, over one serialised transport.
#include "support/catch.hpp"
#include <bough/concepts/forwarding_transport.hpp>
#include <bough/group.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/serialised.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace {

// Takes a while to send.
template <bough::Transport T>
struct slow : bough::forwarding_transport<T> {
    using bough::forwarding_transport<T>::forwarding_transport;
    bough::posted post_send(bough::rank_t to, const bough::envelope& tag, std::span<const std::byte> bytes,
                            std::uint64_t id) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
        return this->inner_.post_send(to, tag, bytes, id);
    }
};

} // namespace

TEST_CASE("duplicate, split: in two threads at once, no two communicators have one number") {
    using namespace bough;
    constexpr rank_t p = 3;
    std::atomic<int> wrong{0};
    in_process{p}.run([&](auto transport) {
        communicator a{serialised{std::move(transport)}};
        auto b = duplicate(a);
        std::vector<decltype(b)> all[2]; // all stay, else their numbers are used again
        const auto work = [&](auto& from, std::uint64_t value, auto& made) {
            for (std::uint32_t i = 0; i != 60; ++i) {
                status s;
                auto c = i % 4 == 3 ? split(from, i, from.rank(), s) : duplicate(from, s);
                if (s) return void(++wrong);
                std::vector<std::uint64_t> x(3, value + i);
                allreduce(*c, x, plus{}, s);
                wrong += s || x[2] != p * (value + i);
                made.push_back(std::move(*c));
            }
        };
        std::thread t([&] { work(b, 1'000'000, all[1]); });
        work(a, 1, all[0]);
        t.join();
        std::vector<int> seen(0x10000, 0);
        for (const auto& list : all)
            for (const auto& c : list) wrong += ++seen[c.context()] != 1;
        wrong += seen[a.context()] + seen[b.context()];
    });
    CHECK(wrong == 0);
}

TEST_CASE("duplicate: ranks that find no number in time all say so, and the group lives") {
    using namespace bough;
    std::atomic<int> wrong{0};
    in_process{2}.run([&](auto transport) {
        communicator comm{slow<decltype(transport)>{std::move(transport)}, {.timeout_ns = 1'000'000'000}};
        // As if other threads had taken every second number, others on each rank.
        contexts& numbers = comm.shared_session()->contexts();
        for (std::uint32_t n = 1 + comm.rank(); n < contexts::none; n += 2)
            wrong += !numbers.claim(static_cast<std::uint16_t>(n));
        status s;
        const auto none = duplicate(comm, s);
        wrong += none.has_value() || s.code != errc::deadline || bool(comm.poison());
        for (std::uint32_t n = 1 + comm.rank(); n < contexts::none; n += 2)
            numbers.give_back(static_cast<std::uint16_t>(n));
        comm.set_timeout_ns(20'000'000'000);
        const auto twin = duplicate(comm, s);
        wrong += bool(s) || !twin;
    });
    CHECK(wrong == 0);
}
