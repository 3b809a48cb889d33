// SPDX-License-Identifier: BSL-1.0
// One rank makes another call than the others: every rank learns of it, and nobody is told a wrong answer.
#include "simulated/party.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/barrier/dissemination.hpp>
#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/chain.hpp>

#include <atomic>
#include <cstdint>
#include <vector>

namespace {

using bough::errc;
using bough::mismatch;
using bough::rank_t;
using test::make_call;
using test::one_call;

enum class deviation { op, collective, width, signedness, count, root, plan, order };
constexpr deviation deviations[] = {deviation::op,    deviation::collective, deviation::width, deviation::signedness,
                                    deviation::count, deviation::root,       deviation::plan,  deviation::order};

template <class T>
std::vector<T> values(std::size_t count) {
    return std::vector<T>(count, T(1));
}
one_call usual(rank_t size, rank_t r) {
    return make_call(bough::plan_reduce(bough::fnomial{2}, {.size = size}), r, values<std::int32_t>(8), bough::plus{});
}
one_call everywhere(rank_t size, rank_t r) {
    return make_call(bough::plan_allreduce(bough::recursive_doubling{}, {.size = size}), r, values<std::int32_t>(8),
                     bough::plus{});
}
// The call of the rank that deviates from usual() or everywhere().
one_call deviant(deviation d, bool rooted, rank_t size, rank_t r) {
    const auto like = [&](auto sample, std::size_t count, auto op, rank_t root) {
        using T = decltype(sample);
        return rooted ? make_call(bough::plan_reduce(bough::fnomial{2}, {.size = size, .root = root}), r,
                                  values<T>(count), op)
                      : make_call(bough::plan_allreduce(bough::recursive_doubling{}, {.size = size, .root = root}), r,
                                  values<T>(count), op);
    };
    switch (d) {
    case deviation::op: return like(std::int32_t{}, 8, bough::max{}, 0);
    case deviation::width: return like(std::int64_t{}, 8, bough::plus{}, 0);
    case deviation::signedness: return like(std::uint32_t{}, 8, bough::plus{}, 0);
    case deviation::count: return like(std::int32_t{}, 9, bough::plus{}, 0);
    case deviation::root: return like(std::int32_t{}, 8, bough::plus{}, size - 1);
    case deviation::plan:
        return rooted ? make_call(bough::plan_reduce(bough::fnomial{2}, {.size = size, .blocks = 2}), r,
                                  values<std::int32_t>(8), bough::plus{})
                      : make_call(bough::plan_allreduce(bough::fnomial{2}, {.size = size, .blocks = 2}), r,
                                  values<std::int32_t>(8), bough::plus{});
    default: return rooted ? everywhere(size, r) : usual(size, r);
    }
}
mismatch what(deviation d) {
    switch (d) {
    case deviation::op: return mismatch::op;
    case deviation::width:
    case deviation::signedness: return mismatch::type;
    case deviation::count: return mismatch::count;
    case deviation::root: return mismatch::root;
    case deviation::plan: return mismatch::plan;
    default: return mismatch::collective;
    }
}

// With the same steps on all ranks, messages of both calls meet. Other steps may leave everybody waiting for somebody
// else until one asks; or meet a rank that has rightly returned, which knows its latest calls.
bool meets(deviation d) {
    return d == deviation::op || d == deviation::width || d == deviation::signedness || d == deviation::count;
}

template <class World>
void check_case(deviation d, bool rooted, rank_t size, rank_t deviating, std::uint64_t seed) {
    CAPTURE(static_cast<int>(d), rooted, size, deviating);
    test::party<World> all(size, seed);
    std::vector<std::vector<one_call>> calls(3); // the third is a barrier, for who had rightly returned
    for (rank_t r = 0; r != size; ++r) {
        one_call first = rooted ? usual(size, r) : everywhere(size, r);
        one_call second = rooted ? everywhere(size, r) : usual(size, r);
        if (r == deviating && d == deviation::order)
            std::swap(first, second);
        else if (r == deviating)
            first = deviant(d, rooted, size, r);
        calls[0].push_back(std::move(first));
        calls[1].push_back(std::move(second));
        calls[2].push_back(make_call(bough::plan_barrier(bough::dissemination{}, {.size = size}), r,
                                     std::vector<std::uint8_t>{}, bough::plus{}));
    }
    std::vector<bough::status> seen(size);
    bool both_values = false, first_cause = false;
    for (std::uint32_t n = 0; n != 3; ++n) {
        const std::vector<bough::status> ends = all.run(calls[n], n + 1);
        for (rank_t r = 0; r != size; ++r) {
            const bough::status& s = ends[r];
            both_values |= s.code == errc::call_mismatch && s.mismatch == what(d) && s.mine != s.theirs;
            CHECK((s.code != errc::deadline && s.cause != errc::deadline));
            if (s && !seen[r]) seen[r] = s;
            // Who gets a value from all ranks cannot have got a right one, this time or later.
            const std::uint8_t kind = calls[n][r].signature.kind;
            const bool gets_all = kind == bough::goal::allreduce::kind || calls[n][r].signature.root == r;
            if (n < 2 && gets_all) CHECK(s);
        }
    }
    all.settle();
    for (rank_t r = 0; r != size; ++r) {
        const errc why = all[r].poison(0).code;
        first_cause |= why == errc::call_mismatch;
        both_values |= all[r].poison(0).mismatch == what(d) && all[r].poison(0).mine != all[r].poison(0).theirs;
        if (seen[r]) continue;
        CHECK(all[r].poison(0)); // by progress
    }
    CHECK(first_cause);
    if (meets(d) || d == deviation::root) CHECK(both_values);
    CHECK(all.world().violations() == 0);
}

} // namespace

TEST_CASE("mismatch: over the simulated transport, every deviation by every rank") {
    std::uint64_t seed = bough_test::seed();
    for (const rank_t size : {2u, 3u, 5u, 8u, 11u})
        for (const deviation d : deviations)
            for (const bool rooted : {false, true})
                for (rank_t r = 0; r != size; ++r) {
                    check_case<bough::simulated>(d, rooted, size, r, ++seed);
                    check_case<bough::simulated_taking>(d, rooted, size, r, ++seed);
                }
}

// A sample through the front doors.
TEST_CASE("mismatch: over threads") {
    for (const rank_t size : {2u, 3u, 5u})
        for (rank_t deviating = 0; deviating != size; ++deviating)
            for (int what = 0; what != 5; ++what) {
                CAPTURE(size, deviating, what);
                bough::in_process world{size};
                std::atomic<rank_t> failed{0}, both_values{0};
                world.run([&](auto transport) {
                    bough::communicator comm{std::move(transport), {.timeout_ns = 10'000'000'000u}};
                    const bool deviates = comm.rank() == deviating;
                    std::vector<std::int32_t> x(8 + (deviates && what == 0 ? 1 : 0), 1);
                    std::vector<std::uint32_t> other(8, 1);
                    bough::status s;
                    if (deviates && what == 1)
                        bough::allreduce(comm, std::span(x), bough::max{}, s);
                    else if (deviates && what == 2)
                        bough::allreduce(comm, std::span(other), bough::plus{}, s);
                    else if (deviates && what == 3)
                        bough::reduce(comm, std::span(x), bough::plus{}, bough::root{0}, s);
                    else if (deviates && what == 4)
                        bough::allreduce(comm, std::span(x), bough::plus{}, bough::chain{}, s);
                    else
                        bough::allreduce(comm, std::span(x), bough::plus{}, bough::recursive_doubling{}, s);
                    both_values += s.code == errc::call_mismatch && s.mine != s.theirs;
                    // A leaf of the one reduce among the allreduces has rightly returned; its next call tells it.
                    if (!s) bough::allreduce(comm, std::span(x), bough::plus{}, s);
                    failed += s && s.code != errc::deadline && s.cause != errc::deadline;
                });
                CHECK(failed == size);
                if (what < 3) CHECK(both_values >= 1);
            }
}
