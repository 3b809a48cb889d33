// SPDX-License-Identifier: BSL-1.0
// An op that reveals the order of its operands: appending strings of a fixed capacity. Every plan that claims rank order
// must give the string of the sequential fold, whatever the root.
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/allreduce.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/degree_k.hpp>
#include <bough/tree/flat.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

namespace {

using bough::rank_t;

struct text {
    std::array<char, 60> letters{};
    std::uint32_t length = 0;
    friend bool operator==(const text&, const text&) = default;
};

struct append {
    text operator()(const text& left, const text& right) const {
        text joined = left;
        for (std::uint32_t i = 0; i != right.length && joined.length != joined.letters.size(); ++i)
            joined.letters[joined.length++] = right.letters[i];
        return joined;
    }
};

text letter_of(rank_t rank, std::size_t element) {
    text t;
    t.letters[0] = static_cast<char>('a' + (rank + element) % 26);
    t.length = 1;
    return t;
}

text folded(rank_t ranks, std::size_t element) {
    text all = letter_of(0, element);
    for (rank_t r = 1; r != ranks; ++r) all = append{}(all, letter_of(r, element));
    return all;
}

} // namespace

TEST_CASE("rank order: appended strings equal the sequential fold, for any root and plan", "[frontdoor][order]") {
    constexpr std::size_t count = 3;
    for (rank_t p = 1; p <= 13; ++p) {
        std::atomic<int> wrong{0};
        bough::in_process{p}.run([&](auto transport) {
            bough::communicator comm{std::move(transport)};
            std::array<text, count> expected, mine, data;
            for (std::size_t i = 0; i != count; ++i) {
                expected[i] = folded(p, i);
                mine[i] = letter_of(comm.rank(), i);
            }
            const auto all = [&](const auto& choice) {
                data = mine;
                bough::allreduce(comm, std::span(data), append{}, choice);
                if (data != expected) ++wrong;
            };
            all(bough::automatic{});
            all(bough::recursive_doubling{});
            all(bough::fnomial{3});
            all(bough::binomial{});
            all(bough::degree_k{.k = 3});
            all(bough::chain{});
            all(bough::flat{});
            for (rank_t root = 0; root != p; ++root) {
                const auto one = [&](const auto& choice) {
                    data = mine;
                    bough::reduce(comm, std::span(data), append{}, bough::root{root}, choice);
                    if (data != (comm.rank() == root ? expected : mine)) ++wrong;
                };
                one(bough::automatic{});
                one(bough::ordered{bough::binomial{}});
                one(bough::ordered{bough::fnomial{3}});
                one(bough::ordered{bough::chain{}});
                one(bough::ordered{bough::flat{}});
            }
        });
        CHECK(wrong == 0);
    }
}
