// SPDX-License-Identifier: BSL-1.0
// Every front door takes vectors, arrays and other contiguous ranges where it takes spans, and does the same with them.
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/levels.hpp>
#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/alltoall.hpp>
#include <bough/broadcast.hpp>
#include <bough/exscan.hpp>
#include <bough/gather.hpp>
#include <bough/multicast.hpp>
#include <bough/multicasts.hpp>
#include <bough/neighbour_allgather.hpp>
#include <bough/neighbour_alltoall.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/scan.hpp>
#include <bough/scatter.hpp>
#include <bough/transport/in_process.hpp>

#include <array>
#include <atomic>
#include <deque>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

using namespace bough;

namespace {

using comm_type = communicator<in_process::endpoint>;
constexpr rank_t size = 3;

// A range that owns nothing and knows neither begin() nor end().
struct window {
    int* first;
    std::size_t count;
    int* data() const { return first; }
    std::size_t size() const { return count; }
};

static_assert(detail::SpanLike<std::vector<int>&> && detail::SpanLike<const std::vector<int>&> &&
              detail::SpanLike<std::array<int, 3>&> && detail::SpanLike<int (&)[3]> && detail::SpanLike<window&>);
static_assert(!detail::SpanLike<std::span<int>&> && !detail::SpanLike<std::span<const int, 3>> &&
              !detail::SpanLike<std::deque<int>&> && !detail::SpanLike<std::vector<bool>&> && !detail::SpanLike<plus> &&
              !detail::SpanLike<status&> && !detail::SpanLike<root> && !detail::SpanLike<automatic> &&
              !detail::SpanLike<std::error_code&> && !detail::SpanLike<level_list>);
// A container that is a temporary ends before what is started has read it; what a view shows does not.
static_assert(detail::DyingContainer<std::vector<int>> && detail::DyingContainer<const std::vector<int>> &&
              detail::DyingContainer<std::array<int, 3>> && detail::DyingContainer<std::string> &&
              detail::DyingContainer<int[3]>);
static_assert(!detail::DyingContainer<std::vector<int>&> && !detail::DyingContainer<const std::vector<int>&> &&
              !detail::DyingContainer<std::span<int>> && !detail::DyingContainer<std::string_view> &&
              !detail::DyingContainer<window> && !detail::DyingContainer<int> && !detail::DyingContainer<plus>);
// What is in a temporary may be read, not written.
static_assert(std::same_as<decltype(detail::as_span(std::declval<std::vector<int>>())), std::span<const int>>);
static_assert(std::same_as<decltype(detail::as_span(std::declval<std::vector<int>&>())), std::span<int>>);
static_assert(std::same_as<decltype(detail::as_span(std::declval<const std::vector<int>&>())), std::span<const int>>);
static_assert(std::same_as<decltype(detail::as_span(std::declval<status&>())), status&>);
static_assert(std::same_as<decltype(detail::as_span(std::declval<std::span<int>&>())), std::span<int>&>);

// Runs body(comm, check) on all ranks; check(is, what).
template <class F>
void on_all(F&& body) {
    std::array<std::atomic<const char*>, size> wrong{};
    in_process(size).run([&](auto end) {
        comm_type comm{std::move(end)};
        const rank_t me = comm.rank();
        body(comm, [&](bool is, const char* what) {
            if (!is) wrong[me] = what;
        });
    });
    for (const auto& w : wrong) CHECK(std::string(w == nullptr ? "" : w.load()) == "");
}

} // namespace

TEST_CASE("contiguous: vectors, arrays and windows, in place and not, with every way to tell an error") {
    on_all([](comm_type& comm, auto check) {
        const int me = static_cast<int>(comm.rank());
        std::vector<int> x{me, 1};
        allreduce(comm, x, plus{});
        check(x == std::vector{3, 3}, "vector");
        std::array<int, 2> a{me, 1};
        allreduce(comm, a, plus{}, recursive_doubling{});
        check(a == std::array{3, 3}, "array, algorithm");
        int c[2] = {me, 1};
        status s;
        allreduce(comm, c, plus{}, s);
        check(!s && c[0] == 3 && c[1] == 3, "array of C, status");
        std::error_code ec;
        window w{c, 2};
        allreduce(comm, w, plus{}, automatic{.required = rank_consistent}, ec);
        check(!ec && c[0] == 9, "window, choice, error_code");
        const std::vector<int> in{me, 2};
        std::vector<int> out(2);
        allreduce(comm, in, out, plus{});
        check(out == std::vector{3, 6}, "in and out");
        allreduce(comm, std::span(in), out, plus{}, s);
        check(!s && out == std::vector{3, 6}, "a span and a vector");
        allreduce(comm, std::vector{me, 7}, std::span(out), plus{}, recursive_doubling{}, ec);
        check(!ec && out == std::vector{3, 21}, "a temporary is read");
        std::vector<int> longer(3);
        allreduce(comm, in, longer, plus{}, s);
        check(s.code == errc::invalid_argument, "what is wrong is said all the same");
    });
}

TEST_CASE("contiguous: every front door") {
    on_all([](comm_type& comm, auto check) {
        const int me = static_cast<int>(comm.rank());
        const std::vector<int> mine{me}, three{me * 10, me * 10 + 1, me * 10 + 2};
        const std::vector<std::size_t> ones(size, 1);
        std::vector<int> one(1), all(size);
        status s;

        reduce(comm, mine, one, plus{}, root{1});
        check(me != 1 || one[0] == 3, "reduce");
        one[0] = me;
        reduce(comm, one, plus{}, root{0}, s);
        check(!s && one[0] == (me == 0 ? 3 : me), "reduce in place");
        one[0] = me + 5;
        broadcast(comm, one, root{2});
        check(one[0] == 7, "broadcast");

        allgather(comm, mine, all);
        check(all == std::vector{0, 1, 2}, "allgather");
        allgatherv(comm, mine, all, ones, s);
        check(!s && all == std::vector{0, 1, 2}, "allgatherv");
        all[0] = all[1] = all[2] = me;
        allgather(comm, all);
        check(all == std::vector{0, 1, 2}, "allgather in place");
        all[0] = all[1] = all[2] = me;
        allgatherv(comm, all, ones);
        check(all == std::vector{0, 1, 2}, "allgatherv in place");

        reduce_scatter(comm, three, one, plus{});
        check(one[0] == 30 + 3 * me, "reduce_scatter");
        reduce_scatterv(comm, three, one, ones, plus{}, s);
        check(!s && one[0] == 30 + 3 * me, "reduce_scatterv");
        all = three;
        reduce_scatterv(comm, all, ones, plus{});
        check(all[comm.rank()] == 30 + 3 * me, "reduce_scatterv in place");

        alltoall(comm, three, all);
        check(all == std::vector{me, 10 + me, 20 + me}, "alltoall");
        alltoallv(comm, three, ones, all, ones);
        check(all == std::vector{me, 10 + me, 20 + me}, "alltoallv");

        scan(comm, mine, one, plus{});
        check(one[0] == me * (me + 1) / 2, "scan");
        one[0] = me;
        exscan(comm, one, plus{});
        check(me == 0 || one[0] == me * (me - 1) / 2, "exscan in place");

        gather(comm, mine, all, root{2});
        check(me != 2 || all == std::vector{0, 1, 2}, "gather");
        gatherv(comm, mine, all, ones, root{0}, s);
        check(!s && (me != 0 || all == std::vector{0, 1, 2}), "gatherv");
        scatter(comm, three, one, root{1});
        check(one[0] == 10 + me, "scatter");
        scatterv(comm, three, one, ones, root{2});
        check(one[0] == 20 + me, "scatterv");

        one[0] = me;
        multicast(comm, one, std::vector<rank_t>{2}, root{0});
        check(one[0] == (me == 1 ? 1 : 0), "multicast");
        std::vector<multicast_request> wanted{{.root = 0, .members = {2}}, {.root = 1, .members = {0}}};
        all = {me, me, me}; // the first two are of the one, the last of the other
        multicasts(comm, all, wanted);
        check(all == (me == 0   ? std::vector{0, 0, 1}
                      : me == 1 ? std::vector{1, 1, 1}
                                : std::vector{0, 0, 2}),
              "multicasts");
        multicasts(comm, std::span(all), wanted, s);
        check(!s && all[2] == (me == 2 ? 2 : 1), "multicasts: data in a span");

        const grid_neighbours ring{.extents = {3}, .offsets = {{1}}};
        neighbour_allgather(comm, mine, one, ring);
        check(one[0] == (me + 2) % 3, "neighbour_allgather");
        neighbour_alltoall(comm, mine, one, ring, s);
        check(!s && one[0] == (me + 2) % 3, "neighbour_alltoall");
        neighbour_alltoallv(comm, mine, std::vector<std::size_t>{1}, one, std::vector<std::size_t>{1}, ring);
        check(one[0] == (me + 2) % 3, "neighbour_alltoallv");
    });
}
