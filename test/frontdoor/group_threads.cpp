// SPDX-License-Identifier: BSL-1.0
// Several threads of a rank make communicators at the same time, over one serialised transport.
#include "support/catch.hpp"
#include <bough/group.hpp>
#include <bough/serialised.hpp>
#include <bough/transport/in_process.hpp>

#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

TEST_CASE("duplicate, split: in two threads at once, no two communicators have one number") {
    using namespace bough;
    constexpr rank_t p = 3;
    std::atomic<int> wrong{0};
    in_process{p}.run([&](auto transport) {
        communicator a{serialised{std::move(transport)}};
        auto b = duplicate(a);
        std::vector<std::uint16_t> numbers[2];
        const auto work = [&](auto& from, std::uint64_t value, std::vector<std::uint16_t>& made) {
            for (std::uint32_t i = 0; i != 60; ++i) {
                status s;
                auto c = i % 4 == 3 ? split(from, i, from.rank(), s) : duplicate(from, s);
                if (s) return void(++wrong);
                made.push_back(c->context());
                std::vector<std::uint64_t> x(3, value + i);
                allreduce(*c, x, plus{}, s);
                wrong += s || x[2] != p * (value + i);
            }
        };
        std::thread t([&] { work(b, 1'000'000, numbers[1]); });
        work(a, 1, numbers[0]);
        t.join();
        std::vector<int> seen(0x10000, 0);
        for (const auto& list : numbers)
            for (const std::uint16_t n : list) wrong += ++seen[n] != 1;
        wrong += seen[a.context()] + seen[b.context()];
    });
    CHECK(wrong == 0);
}
