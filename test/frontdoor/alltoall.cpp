// SPDX-License-Identifier: BSL-1.0
#include "frontdoor/blocks.hpp"
#include "frontdoor/forms.hpp"
#include "support/direct.hpp"
#include "support/guarded.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/alltoall/bruck.hpp>
#include <bough/algorithm/bruck.hpp>
#include <bough/alltoall.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/self.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace bough;
using test::check_forms;
using test::tagged;

namespace {

constexpr long guard = -77;

// Element k of what rank i sends to rank j in call number `call`.
constexpr long value(rank_t i, rank_t j, std::size_t k, long call) {
    return static_cast<long>(i) * 10'000'000 + static_cast<long>(j) * 10'000 + static_cast<long>(k) * 7 + call;
}

using endpoint = in_process::endpoint;

// length(i, j) elements go from rank i to rank j; `regular`: by alltoall. `most`: their bound, if not 0.
template <class Choice, class F>
void check(communicator<endpoint>& comm, F&& length, const Choice& choice, bool regular, test::faults& faults,
           std::size_t most = 0) {
    static thread_local long call = 0;
    ++call;
    const rank_t me = comm.rank();
    std::vector<std::size_t> send(comm.size()), receive(comm.size());
    std::vector<long> from, expected;
    for (rank_t r = 0; r != comm.size(); ++r) {
        send[r] = length(me, r);
        receive[r] = length(r, me);
        for (std::size_t k = 0; k != send[r]; ++k) from.push_back(value(me, r, k, call));
        for (std::size_t k = 0; k != receive[r]; ++k) expected.push_back(value(r, me, k, call));
    }
    test::guarded<long> in(from.size(), -1, guard), out(expected.size(), -1, guard);
    std::copy(from.begin(), from.end(), in.span().begin());
    const std::span<const long> data(in.span());
    if (regular)
        alltoall(comm, data, out.span(), choice);
    else if (most != 0)
        alltoallv(comm, data, send, out.span(), receive, at_most{most}, choice);
    else
        alltoallv(comm, data, send, out.span(), receive, choice);
    const std::string where = "p " + std::to_string(comm.size()) + ", rank " + std::to_string(me) + ", " +
                              std::to_string(from.size()) + " out, " + std::to_string(expected.size()) + " in" +
                              (regular ? "" : ", v");
    faults.expect(in.intact() && out.intact(), "guards: " + where);
    faults.expect(std::equal(from.begin(), from.end(), data.begin()), "the input is only read: " + where);
    faults.expect(std::equal(expected.begin(), expected.end(), out.span().begin()), "result: " + where);
}

template <class Choice>
void check_equal(const Choice& choice) {
    test::in_groups([&](auto& comm, test::faults& faults) {
        for (const std::size_t count : {0u, 1u, 5u, 300u, 5u})
            check(
                comm, [&](rank_t, rank_t) { return count; }, choice, true, faults);
    });
}
// `most`: no block is longer; 0: that is not said.
template <class Choice>
void check_lengths(const Choice& choice, std::size_t most = 0) {
    const std::uint64_t seed = bough_test::seed();
    test::in_groups([&](auto& comm, test::faults& faults) {
        for (std::uint64_t salt = 0; salt != 6; ++salt) // some are empty, one is long
            check(
                comm,
                [&](rank_t i, rank_t j) {
                    const std::uint64_t x = bough_test::mixed(seed + salt * 10'000 + i * 100 + j);
                    return static_cast<std::size_t>(x % 3 == 0 ? 0 : x % 100 == 1 ? 2000 : x / 128 % 40);
                },
                choice, false, faults, most);
        check(
            comm, [](rank_t, rank_t) { return std::size_t{0}; }, choice, false, faults, most == 0 ? 0 : 1);
        check(
            comm, [](rank_t, rank_t) { return std::size_t{4}; }, choice, false, faults, most == 0 ? 0 : 4);
        check(
            comm, [](rank_t, rank_t) { return std::size_t{4}; }, automatic{}, true, faults);
        check(
            comm, [](rank_t i, rank_t j) { return std::size_t{i * j}; }, choice, false, faults, most);
    });
}

} // namespace

TEST_CASE("alltoall: any size and count") {
    SECTION("automatic") { check_equal(automatic{}); }
    SECTION("direct") { check_equal(test::direct_alltoall{}); }
    SECTION("by way of others") { check_equal(test::relayed_alltoall{}); }
    SECTION("by way of others, in parts") { check_equal(bruck_alltoall{}); }
}

TEST_CASE("alltoallv: any lengths, with empty blocks") {
    SECTION("automatic") { check_lengths(automatic{}); }
    SECTION("direct") { check_lengths(test::direct_alltoall{}); }
}

TEST_CASE("alltoallv: with a bound on all blocks, others pass them on, too") {
    SECTION("automatic") { check_lengths(automatic{}, 2000); }
    SECTION("direct") { check_lengths(test::direct_alltoall{}, 2000); }
    SECTION("by way of others") { check_lengths(test::relayed_alltoall{}, 2000); }
    SECTION("by way of others, in parts") { check_lengths(bruck_alltoall{}, 2000); }
    SECTION("in another radix") { check_lengths(bruck_alltoall{.ports = 3}, 2500); }
}

TEST_CASE("alltoallv: short blocks of many ranks go in few messages, if a bound is given") {
    // Messages are dear beside a switch to another rank, on however many cores.
    const model::alpha_beta_gamma costs{.alpha_ns = 1'000'000, .beta_ns_per_byte = 1};
    std::atomic<int> wrong{0};
    in_process{16}.run([&](auto transport) {
        communicator comm{std::move(transport), {.costs = costs}};
        const auto is_bound = [&](const auto& algorithm) {
            const plan<goal::alltoall, any_algorithm> made(algorithm, {.size = 16});
            return comm.core()->plans.find_plan(made) != nullptr;
        };
        const std::vector<std::size_t> ones(16, 1);
        std::vector<int> from(16, static_cast<int>(comm.rank())), to(16);
        alltoallv(comm, from, ones, to, ones, at_most{2});
        wrong += !is_bound(any_algorithm(bruck_alltoall{})) || to[3] != 3;
        std::fill(to.begin(), to.end(), 0);
        alltoallv(comm, from, ones, to, ones, at_most{1'000'000}); // long ones go straight, and only what there is
        wrong += to[5] != 5;
        auto bound =
            bind_alltoallv(comm, from, std::vector<std::size_t>(16, 1), to, ones, at_most{2}, bruck{.ports = 2});
        for (int run = 0; run != 3; ++run) {
            std::fill(to.begin(), to.end(), -1);
            for (int& x : from) x = static_cast<int>(comm.rank()) + run;
            bound.start();
            bound.wait();
            for (int r = 0; r != 16; ++r) wrong += to[static_cast<std::size_t>(r)] != r + run;
        }
    });
    CHECK(wrong == 0);
}

TEST_CASE("alltoall: elements with a wire form of their own") {
    test::faults faults;
    in_process{4}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        const rank_t me = comm.rank();
        const auto text = [](rank_t i, rank_t j, rank_t k) {
            return tagged{std::to_string(i) + std::to_string(j) + std::to_string(k)};
        };
        std::vector<tagged> in, out(8), expected;
        for (rank_t r = 0; r != 4; ++r)
            for (rank_t k = 0; k != 2; ++k) in.push_back(text(me, r, k)), expected.push_back(text(r, me, k));
        alltoall(comm, std::span(in), std::span(out));
        faults.expect(out == expected, "automatic");
        out.assign(8, {});
        alltoall(comm, std::span(in), std::span(out), bruck_alltoall{});
        faults.expect(out == expected, "bruck");
        // Rank i sends i + 1 of them to each.
        std::vector<std::size_t> send(4, me + 1), receive{1, 2, 3, 4};
        in.clear(), expected.clear();
        for (rank_t r = 0; r != 4; ++r) {
            for (rank_t k = 0; k != me + 1; ++k) in.push_back(text(me, r, k));
            for (rank_t k = 0; k != r + 1; ++k) expected.push_back(text(r, me, k));
        }
        out.assign(10, {});
        alltoallv(comm, std::span(in), send, std::span(out), receive);
        faults.expect(out == expected, "with counts");
        out.assign(10, {});
        alltoallv(comm, std::span(in), send, std::span(out), receive, at_most{4}, bruck_alltoall{});
        faults.expect(out == expected, "with counts and a bound");
    });
    CHECK(faults.text() == "");
}

TEST_CASE("alltoall: what breaks a rule is named") {
    communicator comm{self{}};
    std::vector<int> x(4, 1), y(4), longer(5);
    const std::span<int> in(x), out(y);
    const std::span<int> null(static_cast<int*>(nullptr), 4), none;
    const std::span<int> huge(x.data(), ~std::size_t{0} / 4);
    const std::span<int> other_huge(y.data(), ~std::size_t{0} / 4);
    using counts = std::vector<std::size_t>;
    const errc bad = errc::invalid_argument;
    check_forms([&](auto&... r) { alltoall(comm, in, std::span(longer), r...); }, bad, "out: must be as long");
    check_forms([&](auto&... r) { alltoall(comm, null, out, r...); }, bad, "data: null");
    check_forms([&](auto&... r) { alltoall(comm, in, null, r...); }, bad, "data: null");
    check_forms([&](auto&... r) { alltoall(comm, in, in, r...); }, bad, "out: overlaps the input, and");
    check_forms([&](auto&... r) { alltoall(comm, std::span(longer).first(4), std::span(longer).last(4), r...); }, bad,
                "out: overlaps the input, and");
    check_forms([&](auto&... r) { alltoall(comm, huge, other_huge, r...); }, errc::size_overflow, "data:");
    const auto of_two = plan_alltoall(test::direct_alltoall{}, {.size = 2});
    check_forms([&](auto&... r) { alltoall(comm, in, out, of_two, r...); }, bad, "plan: its size");
    const auto v = [&](std::span<int> from, counts send, std::span<int> to, counts receive) {
        return [&comm, from, send, to, receive](auto&... r) { alltoallv(comm, from, send, to, receive, r...); };
    };
    check_forms(v(in, {}, out, {4}), bad, "send_counts: one per rank");
    check_forms(v(in, {4}, out, {4, 0}), bad, "receive_counts: one per rank");
    check_forms(v(in, {3}, out, {4}), bad, "send_counts: their sum");
    check_forms(v(in, {4}, out, {3}), bad, "receive_counts: their sum");
    check_forms(v(in, {4}, std::span(longer), {5}), bad, "receive_counts: this rank sends itself");
    check_forms(v(in, {4}, in, {4}), bad, "out: overlaps the input, and");
    check_forms(v(huge, {huge.size()}, other_huge, {huge.size()}), errc::size_overflow, "counts:");
    const auto bounded = [&](std::size_t most, const auto& choice) {
        return [&comm, in, out, most, choice](auto&... r) {
            alltoallv(comm, in, counts{4}, out, counts{4}, at_most{most}, choice, r...);
        };
    };
    check_forms(bounded(3, automatic{}), bad, "at_most: send_counts has a longer block");
    check_forms(bounded(~std::size_t{0}, bruck_alltoall{}), errc::size_overflow, "at_most:");
    check_forms(bounded(~std::size_t{0}, automatic{}), errc::ok);
    check_forms(bounded(4, bruck_alltoall{}), errc::ok);
    check_forms(v(in, {4}, out, {4}), errc::ok);
    check_forms(v(none, {0}, none, {0}), errc::ok);
    CHECK_FALSE(comm.poison());

    std::atomic<int> wrong{0};
    in_process{5}.run([&](auto transport) { // all ranks refuse alike, and go on
        communicator group{std::move(transport)};
        std::vector<int> from(4, 1), to(4); // of five blocks
        status s;
        alltoall(group, std::span(from), std::span(to), s);
        wrong += s != invalid_argument("in: its length is not a multiple of the number of ranks");
        from.assign(5, 1), to.resize(5);
        const counts ones(5, 1);
        const auto refused = [&](const auto& choice) {
            alltoallv(group, std::span(from), ones, std::span(to), ones, choice, s);
            status expected =
                invalid_argument("plan: passes on blocks of other ranks, whose lengths this rank does not know");
            expected.code = errc::unsupported;
            wrong += !(s == expected);
        };
        refused(test::relayed_alltoall{});
        refused(bruck_alltoall{});
        alltoallv(group, std::span(from), ones, std::span(to), ones, s);
        wrong += bool(s) || to[4] != 1;
    });
    CHECK(wrong == 0);
}

TEST_CASE("alltoall: ranks that do not make the same call are told so") {
    // Rank 3 deviates. Every rank gets an error, from this call or from a later one; some say what differs.
    const auto seen = [](auto call, mismatch what) {
        std::vector<status> first(5), later(5);
        in_process{5}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            comm.set_timeout_ns(5'000'000'000);
            call(comm, first[comm.rank()]);
            std::vector<int> in(5), out(5);
            for (int tries = 0; tries != 100 && !later[comm.rank()]; ++tries)
                alltoall(comm, std::span(in), std::span(out), later[comm.rank()]);
        });
        bool said = false;
        for (const status& s : later) CHECK(s);
        for (const status& s : first) said |= s.code == errc::call_mismatch && s.mismatch == what && s.mine != s.theirs;
        CHECK(said);
        return first;
    };
    (void)seen(
        [](auto& comm, status& s) {
            const std::size_t n = comm.rank() == 3 ? 10 : 5;
            std::vector<int> in(n), out(n);
            alltoall(comm, std::span(in), std::span(out), s);
        },
        mismatch::count);
    const auto longer = seen( // rank 3 sends rank 1 more than rank 1 expects
        [](auto& comm, status& s) {
            std::vector<std::size_t> send(5, 2), receive(5, 2);
            if (comm.rank() == 3) send[1] = 4;
            std::vector<int> in(comm.rank() == 3 ? 12 : 10), out(10);
            alltoallv(comm, std::span(in), send, std::span(out), receive, s);
        },
        mismatch::count);
    CHECK((longer[1].code == errc::call_mismatch && longer[1].peer == 3));
    CHECK((longer[1].mine == 2 && longer[1].theirs == 4));
    (void)seen( // and none at all, where rank 2 expects some
        [](auto& comm, status& s) {
            std::vector<std::size_t> send(5, 2), receive(5, 2);
            if (comm.rank() == 3) send[2] = 0;
            std::vector<int> in(comm.rank() == 3 ? 8 : 10), out(10);
            alltoallv(comm, std::span(in), send, std::span(out), receive, s);
        },
        mismatch::count);
    const auto in_slots = seen( // rank 3 sends rank 1 more than rank 1 expects, by way of others
        [](auto& comm, status& s) {
            std::vector<std::size_t> send(5, 2), receive(5, 2);
            if (comm.rank() == 3) send[1] = 4;
            std::vector<int> in(comm.rank() == 3 ? 12 : 10), out(10);
            alltoallv(comm, std::span(in), send, std::span(out), receive, at_most{4}, bruck_alltoall{}, s);
        },
        mismatch::count);
    CHECK((in_slots[1].code == errc::call_mismatch && in_slots[1].peer == 3));
    CHECK((in_slots[1].mine == 2 && in_slots[1].theirs == 4));
    (void)seen( // another bound
        [](auto& comm, status& s) {
            const std::vector<std::size_t> ones(5, 1);
            std::vector<int> in(5), out(5);
            alltoallv(comm, in, ones, out, ones, at_most{comm.rank() == 3 ? 2u : 3u}, bruck_alltoall{}, s);
        },
        mismatch::count);
    (void)seen( // an alltoall of blocks as long as the bound
        [](auto& comm, status& s) {
            const std::vector<std::size_t> ones(5, 1);
            std::vector<int> in(5), out(5);
            if (comm.rank() == 3)
                alltoall(comm, in, out, bruck_alltoall{}, s);
            else
                alltoallv(comm, in, ones, out, ones, at_most{1}, bruck_alltoall{}, s);
        },
        mismatch::plan);
    (void)seen( // an alltoall among alltoallv
        [](auto& comm, status& s) {
            const std::vector<std::size_t> none(5, 0);
            std::vector<int> in, out;
            if (comm.rank() == 3)
                alltoall(comm, std::span(in), std::span(out), pairwise_alltoall{}, s);
            else
                alltoallv(comm, std::span(in), none, std::span(out), none, s);
        },
        mismatch::plan);
}
