// SPDX-License-Identifier: BSL-1.0
#include "hear.hpp"
#include "support/catch.hpp"
#include "support/guarded.hpp"
#include <bough/barrier.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/logp.hpp>
#include <bough/multicast.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/self.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/kary.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

using namespace bough;

namespace {

constexpr long guard = -77;
constexpr rank_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 13};

// The subset number `pick` of the ranks: its bits, highest rank first, rotated by the root.
std::vector<rank_t> subset(rank_t size, rank_t root, unsigned pick) {
    std::vector<rank_t> members;
    for (rank_t r = size; r-- != 0;)
        if ((pick >> r & 1) != 0) members.push_back((r + root) % size);
    return members;
}

template <class Choice>
void check_all(const Choice& choice) {
    for (const rank_t size : sizes) {
        test::faults faults;
        in_process{size}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            const rank_t me = comm.rank();
            long call = 0;
            for (rank_t from = 0; from != size; ++from)
                for (const unsigned pick : {0u, 1u, 0b10u, 0b1'0101u, 0b1'1010'0110u, 0b1'1111'1111'1111u})
                    for (const std::size_t count : {0u, 1u, 5u, 1000u}) {
                        const std::vector<rank_t> members = subset(size, from, pick);
                        const bool gets = me == from || std::find(members.begin(), members.end(), me) != members.end();
                        ++call;
                        // Who takes no part may give anything: here, memory of another length.
                        test::guarded<long> data(gets ? count : 2, me == from ? call : -1, guard);
                        multicast(comm, data.span(), members, root{from}, choice);
                        const std::string where = "p " + std::to_string(size) + ", root " + std::to_string(from) +
                                                  ", rank " + std::to_string(me) + ", pick " + std::to_string(pick);
                        faults.expect(data.intact(), "guards: " + where);
                        const long wanted = gets ? call : -1;
                        faults.expect(std::count(data.span().begin(), data.span().end(), wanted) ==
                                          static_cast<std::ptrdiff_t>(data.span().size()),
                                      "data: " + where);
                    }
            barrier(comm); // all have counted the same operations
        });
        INFO("p " << size);
        CHECK(faults.text() == "");
    }
}

} // namespace

TEST_CASE("multicast: any size, root and subset") {
    SECTION("automatic") { check_all(automatic{}); }
    SECTION("binomial") { check_all(binomial{}); }
    SECTION("ternary") { check_all(kary{.arity = 3}); }
    SECTION("ordered chain") { check_all(ordered{chain{}}); }
}

TEST_CASE("multicast: ranks that are not members do not wait") {
    test::faults faults;
    in_process{3}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        const std::vector<rank_t> members{2};
        std::vector<int> data(100'000, comm.rank() == 0 ? 7 : 0);
        // Nobody sends to rank 1 or waits for it: it may leave at once, before the others begin.
        if (comm.rank() == 1) {
            multicast(comm, std::span<int>{}, members, root{0});
            return;
        }
        status s;
        multicast(comm, std::span(data), members, root{0}, s);
        faults.expect(!s && data.back() == 7, "rank " + std::to_string(comm.rank()));
    });
    CHECK(faults.text() == "");
}

TEST_CASE("multicast: an algorithm or a plan must have the call's members") {
    communicator comm{self{}};
    std::vector<int> data(3, 1);
    const std::vector<rank_t> none, me{0};
    status s;
    multicast(comm, std::span(data), none, root{0}, tree_multicast{binomial{}, none}, s);
    CHECK_FALSE(s);
    multicast(comm, std::span(data), me, root{0}, plan_multicast(binomial{}, me, {.size = 1}), s);
    CHECK_FALSE(s);
    multicast(comm, std::span(data), me, root{0}, plan_multicast(binomial{}, none, {.size = 1}), s);
    CHECK(s.code == errc::invalid_argument);
    CHECK(std::string_view(s.argument) == "members: not those of the given plan or algorithm");
}

namespace {

// Ranks 0 to 3 are near each other, and so are 4 to 7; between the two a message takes a hundred times as long.
struct two_islands {
    double start_ns() const { return 0; }
    double send_ns(rank_t, rank_t, std::uint64_t) const { return 100; }
    double latency_ns(rank_t from, rank_t to, std::uint64_t bytes) const {
        return from / 4 == to / 4 ? 100 + 0.1 * static_cast<double>(bytes) : 10000 + 10 * static_cast<double>(bytes);
    }
    double receive_ns(rank_t, rank_t, std::uint64_t) const { return 100; }
    double combine_ns(rank_t, std::uint64_t) const { return 0; }
    double copy_ns(rank_t, std::uint64_t) const { return 0; }
};

} // namespace

TEST_CASE("multicast: automatic takes the broadcast among the members with the least price") {
    std::array<std::string, 4> chosen;
    in_process(8, {.cores = 8}).run([&](auto transport) {
        communicator comm{std::move(transport)};
        if (comm.rank() != 0) return;
        const auto choose = [&](std::size_t count, std::vector<rank_t> members) {
            detail::typed_call<std::byte> typed{.at = {.size = 8}, .count = count};
            typed.ranks = static_cast<rank_t>(members.size() + 1);
            const detail::broadcast_plan& best = *detail::choose_multicast(comm, typed, members);
            CHECK(best.size() == members.size() + 1);
            const auto price = [&](const any_algorithm& a, block_t blocks) {
                const multicast_among<any_algorithm> among{a, members};
                return price_of(comm.options().costs, {.bytes = count},
                                plan<goal::multicast, multicast_among<any_algorithm>>(
                                    among, {.size = 8, .root = 0, .blocks = blocks}));
            };
            const double paid = price(best.algorithm(), best.blocks());
            for (const rank_t degree : {2u, 3u, 4u, 8u})
                CHECK(paid <= price(tree_broadcast{fnomial{degree}}, 1) * (1 + equal_price_share));
            return std::string(candidate{best.algorithm(), best.blocks()}.text().c_str());
        };
        comm.set_costs(model::alpha_beta_gamma{.alpha_ns = 1000, .beta_ns_per_byte = 1});
        chosen[0] = choose(8, {1, 2, 3, 4, 5, 6, 7});
        chosen[1] = choose(1 << 20, {1, 2, 3, 4, 5, 6, 7});
        comm.set_costs(two_islands{});
        chosen[2] = choose(4096, {1, 4, 5});
        chosen[3] = choose(4096, {4, 1, 5});
    });
    CAPTURE(chosen);
    CHECK(chosen[0] != chosen[1]);
    CHECK(chosen[1].find(" blocks") != std::string::npos); // a long vector is pipelined
}

namespace {

// All pairs are alike, but nothing says so.
struct told_by_pair {
    double start_ns() const { return 0; }
    double send_ns(rank_t, rank_t, std::uint64_t) const { return 2000; }
    double latency_ns(rank_t, rank_t, std::uint64_t) const { return 2000; }
    double receive_ns(rank_t, rank_t, std::uint64_t) const { return 2000; }
    double combine_ns(rank_t, std::uint64_t) const { return 0; }
    double copy_ns(rank_t, std::uint64_t) const { return 0; }
};

} // namespace

// A root that sends to all three is the fastest alone (10 us to 12), and at work for longer in each call (6 us to 4).
TEST_CASE("multicast: automatic counts calls in a loop, as for a broadcast") {
    in_process(4, {.cores = 4}).run([&](auto transport) {
        communicator comm{std::move(transport)};
        if (comm.rank() != 0) return;
        const std::vector<rank_t> members{1, 2, 3};
        const auto chosen = [&] {
            detail::typed_call<std::byte> typed{.at = {.size = 4}, .count = 8};
            typed.ranks = 4;
            const detail::broadcast_plan& best = *detail::choose_multicast(comm, typed, members);
            return std::string(candidate{best.algorithm(), best.blocks()}.text().c_str());
        };
        comm.set_costs(model::loggops{.message_latency_ns = 2000, .overhead = {2000, 0}});
        CHECK(chosen() == "tree_broadcast{fnomial{.degree = 2}} in 1 block");
        comm.set_costs(told_by_pair{});
        CHECK(chosen() == "tree_broadcast{fnomial{.degree = 2}} in 1 block");
    });
}

TEST_CASE("multicast: what breaks a rule is named") {
    communicator comm{self{}};
    std::vector<int> data(3);
    status s;
    const auto says = [&](std::string_view sentence) {
        CHECK(s.code == errc::invalid_argument);
        REQUIRE(s.argument != nullptr);
        CHECK(std::string_view(s.argument) == sentence);
    };
    const std::vector<rank_t> stranger{1}, twice{0, 0}, none;
    multicast(comm, std::span(data), stranger, root{0}, s);
    says("members: one is not a rank of the group");
    CHECK(s.peer == 1);
    multicast(comm, std::span(data), twice, root{0}, s);
    says("members: a rank is listed twice");
    multicast(comm, std::span(data), none, root{1}, s);
    says("root: not a rank of the group");
    multicast(comm, std::span<int>(static_cast<int*>(nullptr), 3), none, root{0}, s);
    says("data: null, but its count is not zero");
    std::error_code ec;
    multicast(comm, std::span(data), twice, root{0}, binomial{}, ec);
    CHECK(ec == errc::invalid_argument);
    CHECK_THROWS_AS(multicast(comm, std::span(data), twice, root{0}), bough::error);
}

TEST_CASE("multicast: lists in different order are a mismatch, not a wait") {
    std::vector<status> seen(4);
    in_process{4}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        comm.set_timeout_ns(5'000'000'000);
        const std::vector<rank_t> up{1, 2, 3}, down{3, 2, 1};
        std::vector<int> data(1);
        for (int tries = 0; tries != 100 && !seen[comm.rank()]; ++tries)
            multicast(comm, std::span(data), comm.rank() == 2 ? down : up, root{0}, flat{}, seen[comm.rank()]);
        test::hear_of_failure(comm, seen[comm.rank()]);
    });
    for (const status& s : seen) CHECK(s);
    CHECK(seen[2].mismatch == mismatch::plan);
}

TEST_CASE("multicast: a rank that does not find itself in its list learns that the lists differ") {
    for (const bool chosen : {false, true}) {
        std::vector<status> seen(3);
        in_process{3}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            comm.set_timeout_ns(5'000'000'000);
            const std::vector<rank_t> both{1, 2}, one{1};
            const std::vector<rank_t>& members = comm.rank() == 2 ? one : both;
            status& s = seen[comm.rank()];
            std::vector<int> data(4); // as long on all ranks
            if (chosen)
                multicast(comm, std::span(data), members, root{0}, flat{}, s);
            else
                multicast(comm, std::span(data), members, root{0}, s);
            test::hear_of_failure(comm, s);
        });
        for (const status& s : seen) {
            CHECK(s);
            CHECK(s.mismatch == mismatch::members);
            CHECK(message_of(s).starts_with("the list of members differs"));
        }
    }
}
