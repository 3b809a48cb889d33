// SPDX-License-Identifier: BSL-1.0
// One rank makes another call than the others, of the collectives whose data is cut by ranks, and of the
// scans: every rank learns of it, from this call or from its next one, and nobody is told a wrong answer.
#include "frontdoor/hear.hpp"
#include "support/catch.hpp"
#include "support/packed.hpp"
#include "transport/shared_memory_world.hpp"
#include <bough/algorithm/allgather/circulant.hpp>
#include <bough/algorithm/exscan/inclusive_then_exclusive.hpp>
#include <bough/algorithm/packed_trees.hpp>
#include <bough/algorithm/reduce_scatter/circulant.hpp>
#include <bough/algorithm/scan/recursive_doubling.hpp>
#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/alltoall.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/exscan.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>
#include <bough/reduce.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/scan.hpp>
#include <bough/transport/in_process.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

namespace {

using namespace bough;
using comm_type = communicator<in_process::endpoint>;

enum class collective { reduce_scatter, allgather, scan, exscan, alltoall, reduce_scatterv, allgatherv };
constexpr collective collectives[] = {collective::reduce_scatter, collective::allgather, collective::scan,
                                      collective::exscan,         collective::alltoall,  collective::reduce_scatterv,
                                      collective::allgatherv};
enum class deviation { count, type, record, op, lambda, cut, kind };
constexpr deviation deviations[] = {deviation::count,  deviation::type, deviation::record, deviation::op,
                                    deviation::lambda, deviation::cut,  deviation::kind};

// Of one size, with different meanings.
template <int>
struct record {
    std::int32_t x = 0;
};
struct merge {
    template <class T>
    T operator()(const T& a, const T& b) const {
        return {a.x + b.x};
    }
};

bool combines(collective c) {
    return c != collective::allgather && c != collective::allgatherv && c != collective::alltoall;
}
bool is_v(collective c) { return c == collective::reduce_scatterv || c == collective::allgatherv; }

// A fixed algorithm: the automatic choice might differ by size, so that messages do not meet.
template <class T, class O>
void one_call(comm_type& comm, collective c, std::size_t each, bool other_cut, const O& op, status& s) {
    const std::size_t p = comm.size();
    std::vector<T> block(each, T{1}), whole(each * p, T{1}), other(each * p);
    std::vector<std::size_t> counts(p, each);
    if (other_cut) ++counts[0], --counts[p - 1]; // of the same sum
    const std::span<const T> in(whole);
    block.resize(counts[comm.rank()], T{1});
    switch (c) {
    case collective::reduce_scatter:
        return reduce_scatter(comm, in, std::span(block), op, circulant_reduce_scatter{}, s);
    case collective::reduce_scatterv:
        return reduce_scatterv(comm, in, std::span(block), counts, op, circulant_reduce_scatter{}, s);
    case collective::allgather: return allgather(comm, std::span(block), std::span(whole), circulant_allgather{}, s);
    case collective::allgatherv:
        return allgatherv(comm, std::span(block), std::span(whole), counts, circulant_allgather{}, s);
    case collective::scan: return scan(comm, std::span(whole), op, recursive_doubling_scan{}, s);
    case collective::exscan: return exscan(comm, std::span(whole), op, inclusive_then_exclusive{}, s);
    case collective::alltoall: return alltoall(comm, in, std::span(other), pairwise_alltoall{}, s);
    }
}

mismatch what(deviation d) {
    switch (d) {
    case deviation::count: return mismatch::count;
    case deviation::type:
    case deviation::record: return mismatch::type;
    case deviation::op:
    case deviation::lambda: return mismatch::op;
    case deviation::cut: return mismatch::plan;
    default: return mismatch::collective;
    }
}

} // namespace

TEST_CASE("mismatch: of the collectives of blocks and of the scans", "[frontdoor]") {
    for (const rank_t size : {2u, 3u, 5u})
        for (const collective c : collectives)
            for (const deviation d : deviations)
                for (rank_t deviating = 0; deviating != size; ++deviating) {
                    if (((d == deviation::op || d == deviation::lambda) && !combines(c)) ||
                        (d == deviation::cut && !is_v(c)))
                        continue;
                    if ((d == deviation::lambda || d == deviation::record) && combines(c) && c != collective::scan &&
                        c != collective::exscan)
                        continue; // not known to commute, so it would be refused
                    CAPTURE(size, static_cast<int>(c), static_cast<int>(d), deviating);
                    std::atomic<rank_t> failed{0}, precise{0}, late{0};
                    in_process{size}.run([&](auto transport) {
                        comm_type comm{std::move(transport), {.timeout_ns = 10'000'000'000u}};
                        const bool deviates = comm.rank() == deviating;
                        status s;
                        if (deviates && d == deviation::type)
                            one_call<std::uint32_t>(comm, c, 4, false, plus{}, s);
                        else if (d == deviation::record && deviates)
                            one_call<record<1>>(comm, c, 4, false, merge{}, s);
                        else if (d == deviation::record)
                            one_call<record<2>>(comm, c, 4, false, merge{}, s);
                        else if (d == deviation::lambda && deviates)
                            one_call<std::int32_t>(
                                comm, c, 4, false, [](int a, int b) { return a + b; }, s);
                        else if (d == deviation::lambda)
                            one_call<std::int32_t>(
                                comm, c, 4, false, [](int a, int b) { return a * b; }, s);
                        else if (deviates && d == deviation::op)
                            one_call<std::int32_t>(comm, c, 4, false, max{}, s);
                        else if (deviates && d == deviation::kind)
                            barrier(comm, s);
                        else
                            one_call<std::int32_t>(comm, c, deviates && d == deviation::count ? 5 : 4,
                                                   deviates && d == deviation::cut, plus{}, s);
                        // Who had rightly returned: its next calls tell it.
                        for (int tries = 0; tries != 1000 && !s; ++tries) barrier(comm, s);
                        failed += bool(s);
                        precise += s.mismatch == what(d) && s.mine != s.theirs;
                        late += s.code == errc::deadline || s.cause == errc::deadline;
                    });
                    CHECK(failed == size);
                    CHECK(late == 0);
                    if (d != deviation::kind) CHECK(precise == size); // on both sides, and what they tell the others
                }
}

// As ranks find them that see different networks. Some ranks get all that they need, as all messages to
// them are of their own trees: they hear of it in their next call.
TEST_CASE("mismatch: of packed trees", "[frontdoor]") {
    constexpr rank_t p = 4;
    const std::vector<table> one{test::packed(p, 0)[0]}, other = test::packed(p, 0, true);
    std::vector<table> of_all = test::packed_from_all(p), in_another_order = of_all;
    std::swap(in_another_order.front(), in_another_order[1]); // the steps of rank 0's blocks differ
    for (const bool empty : {false, true})
        for (int which = 0; which != 5; ++which)
            for (std::uint32_t deviating = 1; deviating != (1u << p) - 1; ++deviating) { // a set of ranks
                CAPTURE(empty, which, deviating);
                std::atomic<rank_t> told{0};
                in_process{p}.run([&](auto transport) {
                    comm_type comm{std::move(transport), {.timeout_ns = 10'000'000'000u}};
                    const bool deviates = (deviating >> comm.rank() & 1) != 0;
                    const std::vector<table>& rooted = deviates ? other : one;
                    const std::vector<table>& all = deviates ? in_another_order : of_all;
                    std::vector<std::int32_t> whole(empty ? 0 : 48, 1), result(whole.size()),
                        block(whole.size() / p, 1);
                    const std::span<const std::int32_t> in(whole);
                    status s;
                    switch (which) {
                    case 0: broadcast(comm, std::span(whole), root{0}, packed_trees_broadcast{rooted}, s); break;
                    case 1: reduce(comm, in, std::span(result), plus{}, root{0}, packed_trees_reduce{rooted}, s); break;
                    case 2:
                        allreduce(comm, in, std::span(result), plus{}, packed_trees_allreduce{rooted, rooted}, s);
                        break;
                    case 3: allgather(comm, std::span(block), std::span(result), packed_trees_allgather{all}, s); break;
                    default: reduce_scatter(comm, in, std::span(block), plus{}, packed_trees_reduce_scatter{all}, s);
                    }
                    for (int tries = 0; tries != 1000 && !s; ++tries) barrier(comm, s);
                    const errc why = s.code == errc::call_mismatch ? s.code : s.cause;
                    told += why == errc::call_mismatch && s.mismatch == mismatch::plan;
                });
                CHECK(told == p);
            }
}

// Rank 1 is so far ahead that it no longer knows the call.
TEST_CASE("mismatch: what differs is said of a call that its rank has forgotten") {
    auto ends = bough_test::shared_ends(2, {.slots = 256});
    std::atomic<bool> is_ahead{false};
    status first, heard;
    std::thread other([&] {
        communicator comm{std::move(ends[1])};
        std::vector<int> x(2);
        status s;
        reduce(comm, std::span(x), plus{}, root{0}, s);
        for (int i = 0; i != 200; ++i) reduce(comm, std::span(x).first(1), plus{}, root{0}, s);
        is_ahead = true;
        is_ahead.notify_one();
        test::hear_of_failure(comm, heard);
    });
    {
        communicator comm{std::move(ends[0])};
        is_ahead.wait(false);
        std::vector<int> x(1);
        reduce(comm, std::span(x), plus{}, root{0}, first);
        other.join();
    }
    CHECK(first.code == errc::call_mismatch);
    CHECK(first.mismatch == mismatch::count);
    CHECK(first.peer == 1);
    CHECK(first.operation == 1);
    CHECK((heard.code == errc::call_mismatch || heard.cause == errc::call_mismatch));
    CHECK(heard.mismatch == mismatch::count);
}
