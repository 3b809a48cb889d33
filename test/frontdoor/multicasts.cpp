// SPDX-License-Identifier: BSL-1.0
#include "hear.hpp"
#include "support/catch.hpp"
#include "support/guarded.hpp"
#include <bough/barrier.hpp>
#include <bough/multicasts.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/self.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

using namespace bough;

namespace {

constexpr long guard = -77, untouched = -1;

// Multicast k is from rank 3k to the ranks of which k + 1 is a divisor, and their neighbours.
std::vector<multicast_request> requests_of(rank_t size, std::uint32_t count) {
    std::vector<multicast_request> wanted;
    for (std::uint32_t k = 0; k != count; ++k) {
        multicast_request w{3 * k % size, {}};
        for (rank_t r = size; r-- != 0;)
            if (r % (k + 1) < 2) w.members.push_back(r);
        wanted.push_back(w);
    }
    return wanted;
}

template <class Make>
void check_all(Make make) {
    for (const rank_t size : {1u, 2u, 3u, 5u, 8u, 13u}) {
        test::faults faults;
        in_process{size}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            const rank_t me = comm.rank();
            for (const std::uint32_t count : {0u, 1u, 3u, 6u})
                for (const std::size_t length : {0u, 1u, 5u, 6u, 3000u}) {
                    const auto wanted = requests_of(size, count);
                    test::guarded<long> data(length, untouched, guard);
                    const auto span = data.span();
                    const auto part = [&](block_t k) {
                        const auto first = static_cast<std::size_t>(block_begin(length, count, k));
                        return span.subspan(first, static_cast<std::size_t>(block_begin(length, count, k + 1)) - first);
                    };
                    for (block_t k = 0; k != count; ++k)
                        if (wanted[k].root == me) std::fill(part(k).begin(), part(k).end(), 100 + k);
                    multicasts(comm, span, std::span<const multicast_request>(wanted), make(wanted, size));
                    const std::string where = "p " + std::to_string(size) + ", rank " + std::to_string(me) + ", " +
                                              std::to_string(count) + " of " + std::to_string(length);
                    faults.expect(data.intact(), "guards: " + where);
                    for (block_t k = 0; k != count; ++k) {
                        const auto& m = wanted[k].members;
                        const bool has = me == wanted[k].root || std::find(m.begin(), m.end(), me) != m.end();
                        const long value = has ? 100 + static_cast<long>(k) : untouched;
                        faults.expect(std::all_of(part(k).begin(), part(k).end(), [&](long x) { return x == value; }),
                                      "data: " + where + ", multicast " + std::to_string(k));
                    }
                }
            barrier(comm);
        });
        CHECK(faults.text() == "");
    }
}

} // namespace

TEST_CASE("multicasts: every member gets its part, nothing else is touched") {
    SECTION("automatic") {
        check_all([](const auto&, rank_t) { return automatic{}; });
    }
    SECTION("an order by costs, as an algorithm") {
        check_all([](const auto& wanted, rank_t size) {
            std::vector<int> costs;
            for (rank_t r = 0; r != size; ++r) costs.push_back(static_cast<int>(1 + 5 * r % 7));
            const auto made = balanced_multicasts(tree_costs<int>{.send = costs, .latency = 3},
                                                  std::span<const multicast_request>(wanted));
            return ordered_multicasts{wanted, made.order};
        });
    }
    SECTION("independent trees, as a plan") {
        check_all([](const auto& wanted, rank_t size) {
            const std::vector<int> costs(size, 1);
            const auto made =
                independent_multicasts(tree_costs<int>{.send = costs}, std::span<const multicast_request>(wanted));
            return plan_multicasts(wanted, made.order, {.size = size});
        });
    }
}

TEST_CASE("multicasts: what breaks a rule is named") {
    communicator comm{self{}};
    std::vector<int> data(3);
    status s;
    const auto call = [&](const std::vector<multicast_request>& wanted) {
        multicasts(comm, std::span(data), std::span<const multicast_request>(wanted), s);
        return s.code == errc::ok ? std::string_view("") : std::string_view(s.argument);
    };
    CHECK(call({}) == "");
    CHECK(call({{0, {0}}}) == "");
    CHECK(call({{1, {0}}}) == "wanted: the root of a multicast is not a rank of the group");
    CHECK(call({{0, {1}}}) == "wanted: a member is not a rank of the group");
    CHECK(call({{0, {0, 0}}}) == "wanted: a multicast lists a member twice");
    const std::vector<multicast_request> none, me{{0, {0}}};
    const std::span<const multicast_request> mine(me);
    multicasts(comm, std::span(data), mine, plan_multicasts(none, {}, {.size = 1}), s);
    CHECK(std::string_view(s.argument) == "wanted: not the multicasts of the given plan or algorithm");
    multicasts(comm, std::span<int>(static_cast<int*>(nullptr), 3), mine, s);
    CHECK(std::string_view(s.argument) == "data: null, but its count is not zero");
    std::error_code ec;
    const std::vector<multicast_request> stranger{{0, {7}}};
    multicasts(comm, std::span(data), std::span<const multicast_request>(stranger), ordered_multicasts{stranger, {}},
               ec);
    CHECK(ec == errc::invalid_argument);
    CHECK_THROWS_AS(multicasts(comm, std::span(data), std::span<const multicast_request>(stranger)), bough::error);
}

TEST_CASE("multicasts: other members on one rank are a mismatch, not a wait") {
    std::vector<status> seen(4);
    in_process{4}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        comm.set_timeout_ns(5'000'000'000);
        const std::vector<multicast_request> most{{0, {1, 2, 3}}, {1, {0, 2, 3}}},
            other{{0, {1, 2, 3}}, {1, {0, 3, 2}}};
        std::vector<int> data(2);
        for (int tries = 0; tries != 100 && !seen[comm.rank()]; ++tries)
            multicasts(comm, std::span(data), std::span<const multicast_request>(comm.rank() == 2 ? other : most),
                       seen[comm.rank()]);
        test::hear_of_failure(comm, seen[comm.rank()]);
    });
    for (const status& s : seen) CHECK(s);
}
