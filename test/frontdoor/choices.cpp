// SPDX-License-Identifier: BSL-1.0
// A communicator remembers its choices: a bounded number, of which the oldest makes room for a new one.
#include "support/catch.hpp"
#include <bough/broadcast.hpp>
#include <bough/communicator.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/self.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

TEST_CASE("choices: the latest 256 are remembered, and those before are made again") {
    bough::communicator comm{bough::self{}};
    int chosen = 0;
    const auto ask = [&](bough::rank_t key) {
        return *comm.remember_plan<bough::rank_t>({.kind = 1, .root = key}, [&] {
            ++chosen;
            return std::make_shared<const bough::rank_t>(key);
        });
    };
    const auto ask_all = [&](bough::rank_t first, bough::rank_t last) {
        chosen = 0;
        for (bough::rank_t key = first; key != last; ++key) CHECK(ask(key) == key);
        return chosen;
    };
    CHECK(ask_all(0, 256) == 256);
    CHECK(ask_all(0, 256) == 0);
    CHECK(ask_all(256, 300) == 44); // in place of the first 44, not of all
    CHECK(ask_all(44, 300) == 0);
    CHECK(ask_all(0, 10) == 10);
    CHECK(ask_all(54, 300) == 0);
}

TEST_CASE("choices: each root has a choice of its own, whichever root comes first") {
    constexpr bough::rank_t p = 20;
    std::atomic<int> wrong{0};
    bough::in_process{p}.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        for (unsigned i = 0; i != 12; ++i) {
            const bough::rank_t from = i % 2 == 0 ? 1 + i * 7 % 19 : 0;
            std::uint32_t x = comm.rank() * 100;
            bough::broadcast(comm, std::span(&x, 1), bough::root{from});
            wrong += x != from * 100;
        }
        for (unsigned i = 0; i != 12; ++i) {
            const bough::rank_t to = i % 2 == 0 ? 1 + i * 7 % 19 : 0;
            std::uint32_t sum = comm.rank();
            bough::reduce(comm, std::span(&sum, 1), bough::plus{}, bough::root{to});
            wrong += comm.rank() == to && sum != p * (p - 1) / 2;
        }
    });
    CHECK(wrong == 0);
}
