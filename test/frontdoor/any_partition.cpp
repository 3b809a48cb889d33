// SPDX-License-Identifier: BSL-1.0
// same_bits_for_any_partition: an element's bits do not depend on where it lies, on how long the vector is,
// on the root, or on the collective.
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/communicator.hpp>
#include <bough/model/lrc.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/select/choose.hpp>
#include <bough/select/standard/allreduce.hpp>
#include <bough/select/standard/reduce.hpp>
#include <bough/select/standard/reduce_scatter.hpp>
#include <bough/transport/in_process.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace {

using namespace bough;

constexpr std::size_t count = 40'320; // a multiple of all numbers of ranks below
constexpr automatic any_part{.required = same_bits_for_any_partition};

// Numbers of very different sizes, so that each bracket gives other bits.
std::vector<float> contribution(rank_t r) {
    std::vector<float> made(count);
    std::uint64_t state = 88172645463325252ull + r * 7919u;
    for (float& x : made) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        x = (static_cast<float>(state % 2'000'001) - 1e6f) * (state % 3 == 0 ? 1e-4f : 1.f);
    }
    return made;
}
bool same_bits(std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}
const std::vector<std::size_t>& cuts() { // lengths of buckets, one after the other
    static const std::vector<std::size_t> all{1, 2, 3, 5, 17, 100, 1000, 7, 9000, 64, 20000, 1};
    return all;
}
template <class F>
void for_each_bucket(F&& f) {
    std::size_t first = 0;
    for (const std::size_t n : cuts()) f(first, n), first += n;
    f(first, count - first);
}

TEST_CASE("any partition: the same bits in all buckets, at all roots, in three collectives", "[frontdoor]") {
    for (const rank_t ranks : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u}) {
        std::vector<const char*> wrong(ranks, nullptr);
        in_process{ranks}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            const char*& fault = wrong[comm.rank()];
            const std::vector<float> mine = contribution(comm.rank());
            std::vector<float> expected = mine;
            allreduce(comm, std::span(expected), plus{}, recursive_doubling{});

            std::vector<float> x = mine;
            allreduce(comm, std::span(x), plus{}, any_part);
            if (!same_bits(x, expected)) fault = "the whole vector";

            x = mine;
            for_each_bucket([&](std::size_t first, std::size_t n) {
                allreduce(comm, std::span(x).subspan(first, n), plus{}, any_part);
            });
            if (!same_bits(x, expected)) fault = "buckets";

            for (rank_t root = 0; root != ranks; ++root) {
                x = mine;
                for_each_bucket([&](std::size_t first, std::size_t n) {
                    reduce(comm, std::span(x).subspan(first, n), plus{}, bough::root{root}, any_part);
                });
                if (comm.rank() == root && !same_bits(x, expected)) fault = "reduce";
            }

            for (const std::size_t n : {std::size_t{1}, std::size_t{30}, count / ranks}) {
                std::vector<float> part(n);
                reduce_scatter(comm, std::span<const float>(mine).first(n * ranks), std::span(part), plus{}, any_part);
                if (!same_bits(part, std::span<const float>(expected).subspan(comm.rank() * n, n)))
                    fault = "reduce_scatter";
            }

            // Where nothing is combined it asks for nothing.
            x = mine;
            broadcast(comm, std::span(x), bough::root{0}, any_part);
            if (!same_bits(x, contribution(0))) fault = "broadcast";
        });
        for (const char* w : wrong) {
            CAPTURE(ranks, w == nullptr ? "" : w);
            CHECK(w == nullptr);
        }
    }
}

TEST_CASE("any partition: without it bits do depend on the bucket", "[frontdoor]") { // else the test shows nothing
    bool differs = false;
    for (const rank_t ranks : {3u, 5u, 7u}) {
        in_process{ranks}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            std::vector<float> whole = contribution(comm.rank()), parts = whole;
            allreduce(comm, std::span(whole), plus{});
            for_each_bucket(
                [&](std::size_t first, std::size_t n) { allreduce(comm, std::span(parts).subspan(first, n), plus{}); });
            if (comm.rank() == 0 && !same_bits(whole, parts)) differs = true;
        });
    }
    CHECK(differs);
}

TEST_CASE("any partition: long vectors keep algorithms for long vectors, exact ops all of them", "[frontdoor]") {
    const auto prospects = [](bool exact) {
        const dimensions at{.size = 12};
        const problem what{.bytes = 1 << 24, .element_bytes = 4, .exact_op = exact};
        const decision d = choose(standard_candidates<goal::allreduce>(at, what), at, what, model::lrc{},
                                  {.needed = same_bits_for_any_partition, .price_all = true});
        std::vector<prospect> in;
        std::copy_if(d.prospects.begin(), d.prospects.end(), std::back_inserter(in),
                     [](const prospect& p) { return p.excluded == exclusion::none; });
        return in;
    };
    const std::vector<prospect> rounded = prospects(false), exact = prospects(true);
    REQUIRE(rounded.size() >= 2);
    const auto holds = [&](const any_algorithm& a) {
        return std::any_of(rounded.begin(), rounded.end(), [&](const prospect& p) { return p.what.algorithm == a; });
    };
    CHECK(holds(halving_doubling_allreduce{}));
    CHECK(holds(recursive_doubling{}));
    CHECK(exact.size() > 3 * rounded.size());
    CHECK((same_bits_for_any_partition | order_preserving).any_partition);
    CHECK((same_bits_for_any_partition | order_preserving).order_preserving);
}

} // namespace
