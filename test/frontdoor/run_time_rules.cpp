// SPDX-License-Identifier: BSL-1.0
// Elements of run-time types: what is refused, what ranks compare, that ranks with C++ types take part, the same bits, and
// that nothing is allocated once a call has run.
#include "frontdoor/run_time.hpp"

#include "frontdoor/forms.hpp"
#include "support/catch.hpp"
#include "support/counted_new.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/barrier.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/self.hpp>
#include <bough/tree/fnomial.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace test;
using namespace bough;

void add_doubles(void* context, const void* in, void* inout, std::size_t count) {
    if (context != nullptr) ++*static_cast<std::atomic<int>*>(context);
    for (std::size_t i = 0; i != count; ++i)
        static_cast<double*>(inout)[i] = static_cast<const double*>(in)[i] + static_cast<double*>(inout)[i];
}
constexpr run_time_op sum{.function = add_doubles, .commutative = true, .identity = 3};
constexpr run_time_type f64{.size = 8, .identity = 1};

// Every form of the call is refused with this sentence.
template <class... A>
void refused(const std::string& argument, errc code, const A&... arguments) {
    communicator comm{self{}};
    check_forms([&](auto&... ec) { allreduce(comm, arguments..., ec...); }, code, argument);
    status s;
    start_allreduce(comm, arguments...).wait(s);
    CHECK(s.code == code);
    persistent_operation bound = bind_allreduce(comm, arguments...);
    bound.start();
    bound.wait(s);
    CHECK(s.code == code);
}

} // namespace

TEST_CASE("run time: arguments that break a rule") {
    double x[4] = {1, 2, 3, 4}, y[4] = {};
    const run_time_piece short_piece[] = {{0, 4}}, long_piece[] = {{0, 16}};
    const auto bad = errc::invalid_argument;
    refused("type: its size is 0", bad, elements{x, 4, {}}, sum);
    refused("type: its extent is smaller than its size", bad, elements{x, 2, {.size = 8, .extent = 4}}, sum);
    refused("type: its extent is smaller than its size", bad, elements{x, 2, {.size = 8, .extent = -4}}, sum);
    refused("type: its pieces have fewer bytes", bad, elements{x, 2, {.size = 8, .pieces = short_piece}}, sum);
    refused("type: its pieces have more bytes", bad, elements{x, 2, {.size = 8, .pieces = long_piece}}, sum);
    refused("type: pack and unpack go together", bad, elements{x, 2, {.size = 8, .pack = pack_affine}}, sum);
    refused("type: has pieces, and functions", bad,
            elements{x, 2, {.size = 16, .pieces = long_piece, .pack = pack_affine, .unpack = unpack_affine}}, sum);
    refused("type: its unit does not divide", bad, elements{x, 2, {.size = 8, .unit = 3}}, sum);
    refused("type: has a unit", bad, elements{x, 2, {.size = 8, .unit = 4}}, sum);
    refused("type: its alignment", bad, elements{x, 2, {.size = 8, .alignment = 3}}, sum);
    refused("data: null, but its count is not zero", bad, elements{nullptr, 2, f64}, sum);
    refused("op: its function is null", bad, elements{x, 2, f64}, run_time_op{});
    refused("op: its function is null", bad, elements{x, 2, f64}, any_op{});
    refused("op: combines elements of another size", bad, elements{x, 2, f64}, make_any_op<float>(plus{}));
    refused("op: takes elements as in memory", bad,
            elements{x, 2, {.size = 8, .pack = pack_affine, .unpack = unpack_affine}},
            run_time_op{.function = add_doubles, .as_in_memory = true});
    refused("out: must be as long", bad, const_elements{x, 2, f64}, elements{y, 3, f64}, sum);
    refused("out: its elements are of another type", bad, const_elements{x, 2, f64},
            elements{y, 2, {.size = 8, .identity = 2}}, sum);
    refused("out: its elements are of another type", bad, const_elements{x, 2, f64},
            elements{y, 4, {.size = 4, .identity = 1}}, sum);
    refused("out: overlaps", bad, const_elements{x, 2, f64}, elements{x + 1, 2, f64}, sum);
    refused("out: lies otherwise", bad, const_elements{x, 1, {.size = 8, .extent = 16, .identity = 1}},
            elements{y, 1, f64}, run_time_op{.function = add_doubles, .as_in_memory = true});
    const std::ptrdiff_t places[] = {0};
    refused("displacements: only", bad, elements{x, 4, f64, places}, sum);
    refused("data:", errc::size_overflow, elements{x, ~std::size_t{0} / 4, f64}, sum);
    if constexpr (sizeof(std::size_t) > 4)
        refused("type:", errc::size_overflow, elements{x, 1, {.size = ~std::size_t{0} / 2 + 1}}, sum);
    refused("", errc::ok, elements{nullptr, 0, f64}, sum);
    refused("", errc::ok, elements{x, 1, {.size = 8, .extent = 4}}, sum); // nothing overlaps a single element

    communicator comm{self{}};
    check_forms([&](auto&... ec) { reduce(comm, elements{x, 4, f64}, sum, root{1}, ec...); }, bad, "root: not a rank");
    check_forms([&](auto&... ec) { broadcast(comm, elements{x, 4, f64}, root{1}, ec...); }, bad, "root: not a rank");
    check_forms(
        [&](auto&... ec) {
            gather(comm, elements{x, 4, f64}, elements{y, 4, f64}, root{1}, ec...);
        },
        bad, "root: not a rank");
    check_forms(
        [&](auto&... ec) {
            gather(comm, elements{x, 4, f64}, elements{y, 3, f64}, root{0}, ec...);
        },
        bad, "out: must hold one block");
    const std::size_t counts[] = {4}, two[] = {2, 2}, three[] = {3};
    const elements d{x, 4, f64}, e{y, 4, f64};
    check_forms([&](auto&... ec) { allgatherv(comm, d, e, two, ec...); }, bad, "counts: one per rank");
    check_forms([&](auto&... ec) { allgatherv(comm, d, three, ec...); }, bad, "data: its length is not the sum");
    check_forms([&](auto&... ec) { allgatherv(comm, d, e, three, ec...); }, bad, "counts: this rank's block");
    check_forms([&](auto&... ec) { alltoallv(comm, d, two, e, counts, ec...); }, bad, "send_counts: one per rank");
    check_forms([&](auto&... ec) { alltoall(comm, d, elements{x + 1, 4, f64}, ec...); }, bad, "out: overlaps");
    const elements displaced{y, 4, f64, places};
    const std::ptrdiff_t many[] = {0, 4};
    check_forms([&](auto&... ec) { allgather(comm, d, displaced, ec...); }, bad, "displacements: only");
    check_forms(
        [&](auto&... ec) {
            allgatherv(comm, d, elements{y, 4, f64, many}, counts, ec...);
        },
        bad, "displacements: one per rank");
    check_forms(
        [&](auto&... ec) {
            allgatherv(comm, elements{x, 4, f64, places}, e, counts, ec...);
        },
        bad, "displacements: only of a vector");
    check_forms([&](auto&... ec) { allgather(comm, elements{x, 4, {}}, ec...); }, bad, "type: its size is 0");
    check_forms([&](auto&... ec) { allgatherv(comm, elements{x, 4, {}}, counts, ec...); }, bad, "type: its size is 0");
    check_forms([&](auto&... ec) { reduce_scatter(comm, elements{x, 4, {}}, sum, ec...); }, bad, "type: its size is 0");
    check_forms([&](auto&... ec) { alltoall(comm, elements{x, 4, {}}, ec...); }, bad, "type: its size is 0");
    check_forms([&](auto&... ec) { allgatherv(comm, d, displaced, counts, ec...); }, errc::ok);
    // Types of no bytes, of units: nothing travels.
    check_forms(
        [&](auto&... ec) {
            broadcast(comm, elements{x, 4, {.size = 0, .unit = 4}}, root{0}, ec...);
        },
        errc::ok);
    check_forms(
        [&](auto&... ec) {
            allgatherv(comm, elements{x, 4, {.size = 0, .unit = 4}}, counts, ec...);
        },
        errc::ok);
}

TEST_CASE("run time: ranks compare the type, its size, the op and the count") {
    const auto differ = [](auto&& call, mismatch what) {
        std::vector<status> ends(3);
        in_process{3}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            call(comm, ends[comm.rank()]);
            status late;
            barrier(comm, late); // one that was told later
            if (!ends[comm.rank()]) ends[comm.rank()] = late;
        });
        bool told = false;
        for (const status& s : ends) {
            CHECK(s);
            told |= s.code == errc::call_mismatch && s.mismatch == what;
        }
        CHECK(told);
    };
    differ(
        [](auto& comm, status& s) {
            double x[4] = {};
            run_time_type t = f64;
            t.identity += comm.rank() == 1;
            allreduce(comm, elements{x, 4, t}, sum, s);
        },
        mismatch::type);
    differ(
        [](auto& comm, status& s) {
            double x[4] = {};
            run_time_type t = f64;
            if (comm.rank() == 1) t.size = 4;
            broadcast(comm, elements{x, 4, t}, root{0}, s);
        },
        mismatch::type);
    differ(
        [](auto& comm, status& s) {
            double x[4] = {};
            run_time_op op = sum;
            op.identity += comm.rank() == 2;
            allreduce(comm, elements{x, 4, f64}, op, s);
        },
        mismatch::op);
    differ(
        [](auto& comm, status& s) {
            double x[4] = {};
            allreduce(comm, elements{x, 3u + (comm.rank() == 0), f64}, sum, s);
        },
        mismatch::count);
}

TEST_CASE("run time: ranks with spans and ops of C++ take part") {
    for (const rank_t p : {2u, 3u, 8u}) {
        std::atomic<int> wrong{0};
        in_process{p}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            const bool typed = comm.rank() % 2 == 0;
            for (const std::size_t n : {std::size_t{1}, std::size_t{1000}, std::size_t{20'000}}) {
                std::vector<double> x(n, comm.rank() + 0.1), y(n * p, 0);
                const elements d{x.data(), n, run_time_type_of<double>()};
                const elements e{y.data(), n * p, run_time_type_of<double>()};
                status s;
                if (typed)
                    allreduce(comm, x, plus{}, s);
                else
                    allreduce(comm, d, make_any_op<double>(plus{}), s);
                wrong += bool(s);
                if (typed)
                    allgather(comm, x, y, s);
                else
                    allgather(comm, d, e, s);
                wrong += bool(s);
                for (std::size_t i = 0; i != n * p; ++i) wrong += y[i] != x[i % n]; // all ranks have the same bits
                if (typed)
                    broadcast(comm, x, root{p - 1}, s);
                else
                    broadcast(comm, d, root{p - 1}, s);
                wrong += bool(s);
            }
        });
        CHECK(wrong == 0);
    }
}

TEST_CASE("run time: the same bits as an op of C++ with the same properties") {
    for (const rank_t p : {2u, 3u, 4u, 5u, 8u}) {
        std::atomic<int> wrong{0};
        in_process{p}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            for (const std::size_t n : {std::size_t{1}, std::size_t{100}, std::size_t{5000}, std::size_t{70'000}}) {
                std::vector<double> a(n), b(n), strided(2 * n), mine(n);
                for (std::size_t i = 0; i != n; ++i) mine[i] = 1.0 / (static_cast<double>(i) + 3.0 * comm.rank() + 1);
                const auto same = [&](const auto& typed, const auto& run_time) {
                    a = b = mine;
                    for (std::size_t i = 0; i != n; ++i) strided[2 * i] = mine[i];
                    typed(std::span(a));
                    run_time(elements{b.data(), n, f64});
                    wrong += std::memcmp(a.data(), b.data(), 8 * n) != 0;
                    run_time(elements{strided.data(), n, {.size = 8, .extent = 16, .identity = 1}});
                    for (std::size_t i = 0; i != n; ++i) wrong += std::memcmp(&a[i], &strided[2 * i], 8) != 0;
                };
                same([&](auto x) { allreduce(comm, x, plus{}); }, [&](auto x) { allreduce(comm, x, sum); });
                same([&](auto x) { scan(comm, x, plus{}); }, [&](auto x) { scan(comm, x, sum); });
                same([&](auto x) { reduce(comm, x, plus{}, root{p - 1}); },
                     [&](auto x) { reduce(comm, x, sum, root{p - 1}); });
                same([&](auto x) { allreduce(comm, x, plus{}, recursive_doubling{}); },
                     [&](auto x) { allreduce(comm, x, sum, recursive_doubling{}); });
                same([&](auto x) { allreduce(comm, x, plus{}, fnomial{.degree = 3}); },
                     [&](auto x) { allreduce(comm, x, sum, fnomial{.degree = 3}); });
            }
        });
        CHECK(wrong == 0);
    }
}

TEST_CASE("run time: ranks describe the same bytes by other elements") {
    for (const rank_t p : {2u, 5u}) {
        std::atomic<int> wrong{0};
        in_process{p}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            const rank_t r = comm.rank();
            // Ten of 4 bytes, or one of 40, or five of 8 with gaps.
            std::vector<std::int32_t> x(20 * p, -1);
            const auto described = [&](std::size_t blocks) {
                if (r % 3 == 0) return elements{x.data(), 10 * blocks, {.size = 4, .identity = 4}};
                if (r % 3 == 1) return elements{x.data(), blocks, {.size = 40, .identity = 4, .unit = 4}};
                return elements{x.data(), 5 * blocks, {.size = 8, .extent = 16, .identity = 4, .unit = 4}};
            };
            const auto at = [&](std::size_t i) -> std::int32_t& { return x[r % 3 == 2 ? i / 2 * 4 + i % 2 : i]; };
            for (std::int32_t i = 0; i != 10; ++i) at(static_cast<std::size_t>(i)) = r == 0 ? i : -2;
            broadcast(comm, described(1), root{0});
            for (std::int32_t i = 0; i != 10; ++i) wrong += at(static_cast<std::size_t>(i)) != i;
            std::vector<std::int32_t> own(10, static_cast<std::int32_t>(r));
            allgather(comm, const_elements{own.data(), 10, {.size = 4, .identity = 4}}, described(p));
            for (std::size_t i = 0; i != 10 * p; ++i) wrong += at(i) != static_cast<std::int32_t>(i / 10);
            std::vector<std::size_t> counts(p, 1);
            const elements all = described(p);
            for (std::size_t& c : counts) c = all.count / p;
            for (std::int32_t& v : x) v = -1;
            allgatherv(comm, const_elements{own.data(), 1, {.size = 40, .identity = 4, .unit = 4}}, all, counts);
            for (std::size_t i = 0; i != 10 * p; ++i) wrong += at(i) != static_cast<std::int32_t>(i / 10);
        });
        CHECK(wrong == 0);
    }
}

TEST_CASE("run time: elements larger than the stack has room for") {
    const auto add = [](void*, const void* in, void* inout, std::size_t count) {
        for (std::size_t i = 0; i != count * 10'000; ++i)
            static_cast<std::uint64_t*>(inout)[i] =
                static_cast<std::uint64_t*>(inout)[i] * 3 + static_cast<const std::uint64_t*>(in)[i];
    };
    std::atomic<int> wrong{0};
    in_process{3}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        std::vector<std::uint64_t> x(20'000, comm.rank() + 1);
        const elements d{x.data(), 2, {.size = 80'000, .identity = 9}};
        const run_time_op op{.function = add, .identity = 9}; // not exact: any bracket is right that the ranks share
        allreduce(comm, d, op, recursive_doubling{});
        const std::uint64_t first = x[0];
        for (const std::uint64_t v : x) wrong += v != first;
        std::vector<std::uint64_t> y(20'000, comm.rank() + 1);
        persistent_operation bound = bind_allreduce(comm, elements{y.data(), 2, d.type}, op, recursive_doubling{});
        bound.start();
        bound.wait();
        for (const std::uint64_t v : y) wrong += v != first;
    });
    CHECK(wrong == 0);
}

TEST_CASE("run time: a call that is made again differs from the first in nothing but time") {
    const auto product = [](void*, const void* in, void* inout, std::size_t count) {
        for (std::size_t i = 0; i != count; ++i)
            static_cast<double*>(inout)[i] = static_cast<const double*>(in)[i] * static_cast<double*>(inout)[i];
    };
    const auto left = [](void*, const void* in, void* inout, std::size_t count) { std::memcpy(inout, in, 8 * count); };
    const auto add_words = [](void*, const void* in, void* inout, std::size_t count) {
        for (std::size_t i = 0; i != 4 * count; ++i)
            static_cast<std::uint32_t*>(inout)[i] =
                static_cast<const std::uint32_t*>(in)[i] + static_cast<std::uint32_t*>(inout)[i];
    };
    for (const rank_t p : {1u, 2u, 5u}) {
        std::atomic<int> wrong{0};
        in_process{p}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            const double r = comm.rank();
            double sums = 0, factorial = 1;
            for (rank_t k = 0; k != p; ++k) sums += k, factorial *= k + 1;
            const run_time_op times{.function = product, .commutative = true, .identity = 3}; // as `sum`, on purpose
            const run_time_op first{.function = left, .identity = 4};
            const run_time_op words{.function = add_words, .commutative = true, .identity = 3};
            for (int round = 0; round != 4; ++round) {
                double x = r, y = r + 1, in = r, out = -1;
                allreduce(comm, elements{&x, 1, f64}, sum);
                wrong += x != sums;
                allreduce(comm, elements{&y, 1, f64}, times);
                wrong += y != factorial;
                x = r + 7;
                allreduce(comm, elements{&x, 1, f64}, first);
                wrong += x != 7;
                x = r;
                allreduce(comm, elements{&x, 1, run_time_type_of<double>()}, make_any_op<double>(plus{}));
                wrong += x != sums;
                allreduce(comm, const_elements{&in, 1, f64}, elements{&out, 1, f64}, sum);
                wrong += out != sums || in != r;
                std::uint32_t wide[4] = {1, 2, 3, 4}; // another size
                allreduce(comm, elements{wide, 1, {.size = 16, .identity = 1}}, words);
                wrong += wide[0] != p || wide[3] != 4 * p;
                double column[2] = {r, 5}; // the same type, with gaps
                allreduce(comm, elements{column, 1, {.size = 8, .extent = 16, .identity = 1}}, sum);
                wrong += column[0] != sums || column[1] != 5;
                x = r;
                reduce(comm, elements{&x, 1, f64}, sum, root{p - 1});
                wrong += comm.rank() == p - 1 ? x != sums : x != r;
                x = r;
                reduce(comm, elements{&x, 1, f64}, sum, root{0});
                wrong += comm.rank() == 0 ? x != sums : x != r;
                x = y = r;
                scan(comm, elements{&x, 1, f64}, sum);
                wrong += x != r * (r + 1) / 2;
                exscan(comm, elements{&y, 1, f64}, sum);
                wrong += comm.rank() != 0 && y != r * (r - 1) / 2;
                x = r;
                broadcast(comm, elements{&x, 1, f64}, root{p - 1});
                wrong += x != p - 1;
                // What breaks a rule is still refused.
                status s;
                allreduce(comm, elements{nullptr, 1, f64}, sum, s);
                wrong += s.code != errc::invalid_argument;
                allreduce(comm, elements{&x, 1, f64}, run_time_op{.commutative = true, .identity = 3}, s);
                wrong += s.code != errc::invalid_argument;
                double pair[2] = {};
                allreduce(comm, const_elements{pair, 1, f64}, elements{reinterpret_cast<std::byte*>(pair) + 4, 1, f64},
                          sum, s);
                wrong += s.code != errc::invalid_argument;
                allreduce(comm, const_elements{&in, 1, f64}, elements{pair, 2, f64}, sum, s);
                wrong += s.code != errc::invalid_argument;
                allreduce(comm, const_elements{&in, 1, f64}, elements{pair, 1, {.size = 8, .identity = 2}}, sum, s);
                wrong += s.code != errc::invalid_argument;
                run_time_type odd = f64;
                odd.alignment = 3;
                allreduce(comm, elements{&x, 1, odd}, sum, s);
                wrong += s.code != errc::invalid_argument;
                allreduce(comm, elements{&x, 1, f64}, sum, automatic{.required = order_preserving}, s);
                wrong += bool(s);
            }
        });
        CHECK(wrong == 0);
    }
}

#if BOUGH_HAS_EXCEPTIONS
TEST_CASE("run time: a pack function that throws is an error on every rank") {
    const auto throws = [](void*, const void*, std::size_t, void*) { throw std::runtime_error("pack"); };
    const auto quiet = [](void*, const void*, std::size_t, void* message) { std::memset(message, 0, 8); };
    const auto nothing = [](void*, const void*, std::size_t, void*) {};
    std::vector<status> ends(3);
    in_process{3}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        double x = 0;
        run_time_type t{.size = 8, .pack = quiet, .unpack = nothing};
        if (comm.rank() == 1) t.pack = throws;
        allreduce(comm, elements{&x, 1, t}, sum, ends[comm.rank()]);
        status late;
        barrier(comm, late);
        if (!ends[comm.rank()]) ends[comm.rank()] = late;
    });
    CHECK(ends[1].code == errc::op_threw);
    for (const status& s : ends) CHECK(s);
}
#endif

TEST_CASE("run time: nothing is allocated from the second run on") {
    std::atomic<std::size_t> most{0};
    in_process{4}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        for (const layout how : layouts) {
            image x(how, 50), y(how, 50);
            for (std::size_t i = 0; i != 50; ++i) x.set(i, value_of(comm.rank(), i));
            seen context;
            const run_time_op op{.function = combine_affine, .context = &context, .identity = 5};
            persistent_operation bound = bind_allreduce(comm, x.input(50), y.all(), op);
            status s;
            const auto all = [&] {
                allreduce(comm, x.input(50), y.all(), op, s);
                broadcast(comm, y.all(), root{1}, s);
                start_allreduce(comm, x.input(50), y.all(), op).wait(s);
                bound.start();
                bound.wait(s);
                barrier(comm, s);
            };
            const auto early = [&] { return static_cast<std::size_t>(comm.shared_session()->early_allocations()); };
            for (int i = 0; i != 20; ++i) all();
            const std::size_t before = bough_test::allocations - early();
            for (int i = 0; i != 20; ++i) all();
            const std::size_t made = bough_test::allocations - early() - before;
            if (made > most) most = made;
            barrier(comm, s); // nobody leaves, and says so, before all have counted
        }
    });
    CHECK(most == 0);
}
