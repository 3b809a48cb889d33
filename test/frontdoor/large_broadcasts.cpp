// SPDX-License-Identifier: BSL-1.0
// The algorithms for long vectors, over threads, from the front doors: counts that do not divide, any root.
#include "support/catch.hpp"
#include <bough/algorithm/broadcast/scatter_allgather.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/double_tree.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/binomial.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

using namespace bough;

namespace {

constexpr std::uint64_t value(rank_t rank, std::size_t i) { return (rank + 1) * 1'000'003u + i * 17; }

std::uint64_t sum_of_all(rank_t size, std::size_t i) {
    std::uint64_t sum = 0;
    for (rank_t r = 0; r != size; ++r) sum += value(r, i);
    return sum;
}

template <class Call>
void over_threads(Call call) {
    for (const rank_t size : {2u, 3u, 4u, 7u}) {
        std::atomic<int> wrong{0};
        in_process{size}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{size} - 1, std::size_t{1000}})
                for (rank_t from = 0; from != size; ++from) {
                    std::vector<std::uint64_t> data(count);
                    for (std::size_t i = 0; i != count; ++i) data[i] = value(comm.rank(), i);
                    const auto expected = call(comm, std::span(data), from);
                    for (std::size_t i = 0; i != count; ++i) wrong += data[i] != expected(i);
                }
        });
        CAPTURE(size);
        CHECK(wrong == 0);
    }
}

} // namespace

TEST_CASE("broadcasts of long vectors") {
    over_threads([](auto& comm, auto data, rank_t from) {
        broadcast(comm, data, root{from}, circulant{});
        return [from](std::size_t i) { return value(from, i); };
    });
    over_threads([](auto& comm, auto data, rank_t from) {
        broadcast(comm, data, root{from},
                  plan_broadcast(circulant{}, {.size = comm.size(), .root = from, .blocks = 11}));
        return [from](std::size_t i) { return value(from, i); };
    });
    over_threads([](auto& comm, auto data, rank_t from) {
        broadcast(comm, data, root{from}, scatter_allgather{binomial{}, ring{}});
        return [from](std::size_t i) { return value(from, i); };
    });
    over_threads([](auto& comm, auto data, rank_t from) {
        broadcast(comm, data, root{from}, scatter_allgather{ordered{binomial{}}, circulant{}});
        return [from](std::size_t i) { return value(from, i); };
    });
    over_threads([](auto& comm, auto data, rank_t from) {
        broadcast(comm, data, root{from}, double_tree{});
        return [from](std::size_t i) { return value(from, i); };
    });
    over_threads([](auto& comm, auto data, rank_t from) {
        broadcast(comm, data, root{from},
                  plan_broadcast(double_tree{}, {.size = comm.size(), .root = from, .blocks = 7}));
        return [from](std::size_t i) { return value(from, i); };
    });
}

TEST_CASE("reductions of long vectors") {
    const auto at_root = [](auto& comm, rank_t from) {
        const bool has_result = comm.rank() == from;
        const rank_t size = comm.size();
        const rank_t rank = comm.rank();
        return [=](std::size_t i) { return has_result ? sum_of_all(size, i) : value(rank, i); };
    };
    over_threads([&](auto& comm, auto data, rank_t from) {
        reduce(comm, data, plus{}, root{from}, circulant{});
        return at_root(comm, from);
    });
    over_threads([&](auto& comm, auto data, rank_t from) {
        reduce(comm, data, plus{}, root{from},
               plan_reduce(circulant_reduce{}, {.size = comm.size(), .root = from, .blocks = 11}));
        return at_root(comm, from);
    });
    over_threads([&](auto& comm, auto data, rank_t from) {
        reduce(comm, data, plus{}, root{from}, double_tree{});
        return at_root(comm, from);
    });
    over_threads([](auto& comm, auto data, rank_t) {
        allreduce(comm, data, plus{}, double_tree{});
        return [size = comm.size()](std::size_t i) { return sum_of_all(size, i); };
    });
}
