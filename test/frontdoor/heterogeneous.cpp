// SPDX-License-Identifier: BSL-1.0
// Trees of costs as choices: every rank gets what the sequential fold says, in rank order where it is promised.
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/up_down.hpp>
#include <bough/algorithm/interval_table.hpp>
#include <bough/algorithm/multicast/many.hpp>
#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/multicast.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/fnf.hpp>
#include <bough/tree/interval.hpp>

#include <atomic>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

using namespace bough;

namespace {

// x -> a x + b modulo 2^64: composition does not commute.
struct line {
    std::uint64_t a = 1, b = 0;
    friend bool operator==(const line&, const line&) = default;
};
struct compose {
    constexpr void combine(const line* lower, const line* upper, line* out, std::size_t count) const {
        for (std::size_t i = 0; i != count; ++i)
            out[i] = {upper[i].a * lower[i].a, upper[i].a * lower[i].b + upper[i].b};
    }
    constexpr line operator()(const line& lower, const line& upper) const {
        return {upper.a * lower.a, upper.a * lower.b + upper.b};
    }
};
line of(rank_t r) { return {2 * r + 3, 5 * r + 1}; }

} // namespace

TEST_CASE("trees of costs serve broadcast, reduce and allreduce; interval tables also ops that do not commute") {
    const std::vector<int> costs{4, 9, 2, 7, 1, 8, 3, 6, 5};
    const std::span<const int> send(costs);
    line expected = of(0);
    for (rank_t r = 1; r != 9; ++r) expected = compose{}(expected, of(r));
    for (const rank_t from : {0u, 4u, 8u}) {
        std::atomic<int> wrong{0};
        in_process{9}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            int word = comm.rank() == from ? 42 : 0;
            broadcast(comm, std::span(&word, 1), root{from}, fnf_tree(send, from));
            if (word != 42) ++wrong;
            const interval_table ordered{interval_tree(send, from)};
            line x = of(comm.rank());
            reduce(comm, std::span(&x, 1), compose{}, root{from}, ordered);
            if (comm.rank() == from && !(x == expected)) ++wrong;
            // A table that does not say so is refused for this op.
            x = of(comm.rank());
            status ec;
            reduce(comm, std::span(&x, 1), compose{}, root{from}, fnf_tree(send, from), ec);
            if (ec.code != errc::unsupported) ++wrong;
        });
        CHECK(wrong == 0);
    }
    std::atomic<int> wrong{0};
    in_process{9}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        line x = of(comm.rank());
        const interval_table up{interval_tree(send, 0)};
        allreduce(comm, std::span(&x, 1), compose{}, up_down_allreduce{up, fnf_tree(send)});
        if (!(x == expected)) ++wrong;
    });
    CHECK(wrong == 0);
}

TEST_CASE("many multicasts: one after the other by their trees, and all at once in their order") {
    const std::vector<int> costs{4, 9, 2, 7, 1, 8, 3, 6};
    const std::vector<multicast_request> wanted{{0, {1, 2, 3, 6}}, {5, {4, 0, 7}}, {3, {0, 1, 2, 4, 5, 6, 7}}};
    const auto made = balanced_multicasts(tree_costs<int>{.send = costs}, std::span<const multicast_request>(wanted));
    std::atomic<int> wrong{0};
    in_process{8}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        const rank_t me = comm.rank();
        const auto gets = [&](const multicast_request& w) {
            return std::find(w.members.begin(), w.members.end(), me) != w.members.end();
        };
        for (std::size_t k = 0; k != 3; ++k) {
            std::uint32_t word = me == wanted[k].root ? 100 + static_cast<std::uint32_t>(k) : 0;
            multicast(comm, std::span(&word, 1), std::span<const rank_t>(wanted[k].members), root{wanted[k].root},
                      made.trees[k]);
            if (word != (me == wanted[k].root || gets(wanted[k]) ? 100 + k : 0)) ++wrong;
        }
        std::uint32_t in[3] = {}, out[3] = {};
        for (std::uint32_t k = 0; k != 3; ++k)
            if (me == wanted[k].root) in[k] = 200 + k;
        const auto all = plan_multicasts(wanted, made.order, {.size = 8});
        call c;
        c.input = reinterpret_cast<const std::byte*>(in);
        c.output = reinterpret_cast<std::byte*>(out);
        c.count = 3;
        c.element_bytes = sizeof(std::uint32_t);
        if (comm.run(all, c, {.count = 3})) ++wrong;
        for (std::uint32_t k = 0; k != 3; ++k)
            if (out[k] != (gets(wanted[k]) ? 200 + k : 0)) ++wrong;
    });
    CHECK(wrong == 0);
}
