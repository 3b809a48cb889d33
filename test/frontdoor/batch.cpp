// SPDX-License-Identifier: BSL-1.0
// A batch gives what the calls one by one give, bit for bit, in one message per edge, whatever it is made of.
#include "frontdoor/hear.hpp"
#include "support/catch.hpp"
#include "support/last_words.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/allreduce.hpp>
#include <bough/batch.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/bitwise.hpp>
#include <bough/op/exact_sum.hpp>
#include <bough/op/min_max.hpp>
#include <bough/reduce.hpp>
#include <bough/testing/recording.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/self.hpp>
#include <bough/tree/fnomial.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace batched {

// Travels as its wire form, which is not its memory.
struct big_endian {
    std::uint32_t value = 0;
    std::shared_ptr<int> not_trivial{};
};
struct add_big_endian {
    big_endian operator()(const big_endian& a, const big_endian& b) const { return {a.value + b.value, {}}; }
};

// x -> a x + b, modulo 2^64: associative, not commutative.
struct affine {
    std::uint64_t a = 1, b = 0;
    friend bool operator==(const affine&, const affine&) = default;
};
// Its state is looked at: all ranks have the same.
struct compose {
    std::uint64_t scale = 1;
    affine operator()(const affine& lower, const affine& upper) const {
        return {upper.a * lower.a, (upper.a * lower.b + upper.b) * scale};
    }
};

std::uint16_t smaller(std::uint16_t a, std::uint16_t b) { return a < b ? a : b; }

} // namespace batched

template <>
struct bough::wire<batched::big_endian> {
    static constexpr std::size_t size = 4;
    static void encode(const batched::big_endian& x, std::span<std::byte, 4> out) {
        if (x.value == 13) throw std::runtime_error("an unlucky number");
        for (unsigned i = 0; i != 4; ++i) out[i] = static_cast<std::byte>(x.value >> (24 - 8 * i));
    }
    static batched::big_endian decode(std::span<const std::byte, 4> in) {
        std::uint32_t v = 0;
        for (const std::byte b : in) v = v << 8 | static_cast<std::uint32_t>(b);
        return {v, {}};
    }
};

namespace {

using namespace bough;
using namespace batched;

// One rank's data, each in place, `flag` and the empty vector included.
struct data {
    std::vector<double> rounded;
    std::array<float, 3> least;
    std::uint8_t flag;
    std::vector<affine> maps;
    std::vector<big_endian> encoded;
    std::vector<double> exact;
    std::vector<long double> none;
    std::vector<std::uint16_t> small;

    data(rank_t rank, std::uint64_t seed) {
        const auto draw = [&](std::uint64_t i) { return bough_test::mixed(seed * 1000 + rank * 50 + i); };
        const auto real = [&](std::uint64_t i) { return static_cast<double>(draw(i) % 100'000) / 1e3 - 1e-9; };
        for (std::uint64_t i = 0; i != 5; ++i) rounded.push_back(real(i));
        for (std::size_t i = 0; i != 3; ++i) least[i] = static_cast<float>(real(7 + i));
        flag = static_cast<std::uint8_t>(draw(10));
        for (std::uint64_t i = 0; i != 2; ++i) maps.push_back({draw(11 + i), draw(13 + i)});
        for (std::uint64_t i = 0; i != 3; ++i) encoded.push_back({static_cast<std::uint32_t>(draw(15 + i)) | 16u, {}});
        for (std::uint64_t i = 0; i != 2; ++i) exact.push_back(real(20 + i) * 1e200);
        for (std::uint64_t i = 0; i != 3; ++i) small.push_back(static_cast<std::uint16_t>(draw(30 + i)));
    }
    // f(data, op) for each.
    template <class F>
    void each(const F& f) {
        f(rounded, plus{});
        f(least, bough::min{});
        f(std::span(&flag, 1), bit_xor{});
        f(maps, compose{3});
        f(encoded, add_big_endian{});
        f(std::span(exact), exact_sum{});
        f(none, plus{});
        f(small, &smaller);
    }
    void add_to(batch& all) {
        each([&](auto&& x, const auto& op) { all.add(x, op); });
    }
    friend bool operator==(const data& x, const data& y) {
        const auto bits = [](const auto& a, const auto& b) {
            if (a.size() != b.size()) return false;
            for (std::size_t i = 0; i != a.size(); ++i)
                if (std::bit_cast<std::uint64_t>(double(a[i])) != std::bit_cast<std::uint64_t>(double(b[i])))
                    return false;
            return true;
        };
        bool same = x.encoded.size() == y.encoded.size();
        for (std::size_t i = 0; same && i != x.encoded.size(); ++i) same = x.encoded[i].value == y.encoded[i].value;
        return bits(x.rounded, y.rounded) && bits(x.least, y.least) && x.flag == y.flag && x.maps == y.maps && same &&
               bits(x.exact, y.exact) && x.small == y.small;
    }
};

template <class F>
void on_ranks(rank_t size, const F& f) {
    in_process{size}.run([&](auto end) {
        communicator comm{std::move(end), {.timeout_ns = 20'000'000'000}};
        f(comm);
    });
}

} // namespace

TEST_CASE("batch: an allreduce gives the bits of the calls one by one", "[frontdoor][batch]") {
    for (rank_t size = 1; size <= 9; ++size) {
        std::atomic<int> right{0};
        on_ranks(size, [&](auto& comm) {
            const auto compare = [&](std::uint64_t seed, const auto& choice) {
                data one_by_one(comm.rank(), seed), together(comm.rank(), seed), later(comm.rank(), seed),
                    bound(comm.rank(), seed);
                one_by_one.each([&](auto&& x, const auto& op) { allreduce(comm, x, op, choice); });
                batch all, started, kept;
                together.add_to(all);
                allreduce(comm, all, choice);
                later.add_to(started);
                operation op = start_allreduce(comm, started, choice);
                started = batch(); // the operation keeps what it needs
                bound.add_to(kept);
                auto again = bind_allreduce(comm, kept, choice);
                op.wait();
                const data before(comm.rank(), seed);
                for (int round = 0; round != 3; ++round) {
                    bound.rounded = before.rounded;
                    bound.maps = before.maps;
                    bound.encoded = before.encoded;
                    bound.exact = before.exact;
                    bound.flag = before.flag;
                    again.start();
                    again.wait();
                }
                right += one_by_one == together && one_by_one == later && one_by_one == bound;
            };
            compare(1, recursive_doubling{});
            compare(2, fnomial{.degree = 3});
        });
        CAPTURE(size);
        CHECK(right == 2 * static_cast<int>(size));
    }
}

TEST_CASE("batch: a reduce to any root, from one place to another", "[frontdoor][batch]") {
    // compose{3} is not associative, so its result shows the plan; automatic may take another one for the longer batch.
    constexpr ordered<fnomial> by{{.degree = 2}};
    for (const rank_t size : {1u, 2u, 3u, 7u}) {
        std::atomic<int> wrong{0};
        on_ranks(size, [&](auto& comm) {
            for (rank_t r = 0; r != size; ++r) {
                const bool here = comm.rank() == r;
                data in(comm.rank(), r), expected = in, same = in;
                reduce(comm, expected.rounded, plus{}, root{r}, fnomial{.degree = 2});
                reduce(comm, expected.maps, compose{3}, root{r}, by);
                reduce(comm, expected.exact, exact_sum{}, root{r});
                std::vector<double> sums(here ? 5 : 0);
                std::vector<affine> maps(here ? 2 : 0);
                std::vector<double> exact(2, 7.);
                status s;
                reduce(comm, batch().add(in.rounded, sums, plus{}), root{r}, fnomial{.degree = 2}, s);
                wrong += s ? 1 : 0;
                batch all;
                all.add(in.maps, maps, compose{3});
                all.add(std::span<const double>(in.exact), std::span(exact), exact_sum{});
                reduce(comm, all, root{r}, by, s);
                wrong += s || !(in == same);
                if (here)
                    wrong += sums != expected.rounded || maps != expected.maps || exact != expected.exact;
                else
                    wrong += exact != std::vector<double>(2, 7.);

                // In place: only the root's data change.
                batch in_place;
                in.add_to(in_place);
                operation op = start_reduce(comm, in_place, root{r}, by);
                op.wait(s);
                wrong += s || !(here ? in.maps == expected.maps && in.exact == expected.exact : in == same);
            }
        });
        CAPTURE(size);
        CHECK(wrong == 0);
    }
}

TEST_CASE("batch: ops that are exact give the same bits with any plan", "[frontdoor][batch]") {
    for (const rank_t size : {2u, 5u}) {
        std::atomic<int> wrong{0};
        on_ranks(size, [&](auto& comm) {
            std::vector<std::uint64_t> sum(100, comm.rank() + 1);
            std::uint32_t most = comm.rank();
            std::vector<std::int8_t> low(77, static_cast<std::int8_t>(-static_cast<int>(comm.rank())));
            batch all;
            all.add(low, bough::min{}).add(most, bough::max{}).add(sum, plus{});
            allreduce(comm, all, ring{});
            wrong += sum != std::vector<std::uint64_t>(100, size * (size + 1) / 2) || most != size - 1 ||
                     low != std::vector<std::int8_t>(77, static_cast<std::int8_t>(1 - static_cast<int>(size)));
            all.clear();
            wrong += !all.empty();
            allreduce(comm, all); // nothing: a call all the same
            most = comm.rank();
            all.add(most, bough::max{});
            allreduce(comm, all);
            wrong += most != size - 1 || all.size() != 1;
        });
        CHECK(wrong == 0);
    }
}

TEST_CASE("batch: one message per edge", "[frontdoor][batch]") {
    for (const bool together : {true, false}) {
        std::atomic<std::size_t> sends{0};
        in_process{8}.run([&](auto end) {
            testing::record log;
            status s;
            {
                communicator comm{testing::recording{std::move(end), log}};
                std::array<double, 5> x{1, 2, 3, 4, 5};
                std::array<float, 5> y{1, 2, 3, 4, 5};
                batch all;
                for (std::size_t i = 0; i != 5; ++i) all.add(x[i], plus{}).add(y[i], bough::min{});
                if (together) allreduce(comm, all, fnomial{}, s);
                for (std::size_t i = 0; i != 5 && !together; ++i) {
                    allreduce(comm, std::span(&x[i], 1), plus{}, fnomial{}, s);
                    allreduce(comm, std::span(&y[i], 1), bough::min{}, fnomial{}, s);
                }
            }
            for (const testing::recorded& r : log)
                sends += r.what == testing::recorded::kind::send && r.result != posted::would_block &&
                         (together ? r.bytes == 60 : r.bytes == 8 || r.bytes == 4);
            if (s) sends = 0;
        });
        CHECK(sends == (together ? 14 : 140)); // seven edges, up and down
    }
}

TEST_CASE("batch: another batch on one rank is told, on every rank", "[frontdoor][batch]") {
    enum class deviation { op, type, length, order, lengths, plain };
    for (const deviation d :
         {deviation::op, deviation::type, deviation::length, deviation::order, deviation::lengths, deviation::plain})
        for (rank_t deviating = 0; deviating != 3; ++deviating) {
            std::atomic<rank_t> failed{0}, named{0};
            on_ranks(3, [&](auto& comm) {
                const bool me = comm.rank() == deviating;
                std::vector<double> x(4, 1.), y(me && d == deviation::length ? 3 : 2, 1.);
                std::vector<std::uint64_t> z(2, 1);
                batch all;
                if (me && d == deviation::lengths) // of the same sum
                    all.add(std::span(x).first(3), plus{}).add(std::span(x).last(3), bough::max{});
                else if (me && d == deviation::order)
                    all.add(y, bough::max{}).add(x, plus{});
                else if (me && d == deviation::op)
                    all.add(x, plus{}).add(y, bough::min{});
                else if (me && d == deviation::type)
                    all.add(x, plus{}).add(z, bough::max{});
                else
                    all.add(x, plus{}).add(y, bough::max{});
                status s;
                if (me && d == deviation::plain)
                    allreduce(comm, x, plus{}, recursive_doubling{}, s);
                else
                    allreduce(comm, all, recursive_doubling{}, s);
                test::hear_of_failure(comm, s);
                failed += s.code == errc::call_mismatch || s.cause == errc::call_mismatch;
                const auto wanted = d == deviation::type                                ? mismatch::type
                                    : d == deviation::length || d == deviation::lengths ? mismatch::count
                                                                                        : mismatch::op;
                named += s.mismatch == wanted;
            });
            CAPTURE(static_cast<int>(d), deviating);
            CHECK(failed == 3);
            CHECK(named == 3);
        }
}

TEST_CASE("batch: what a call refuses", "[frontdoor][batch]") {
    std::atomic<int> right{0};
    on_ranks(3, [&](auto& comm) {
        std::vector<double> x(4, 1.), y(3, 1.);
        affine map;
        big_endian unlucky{13, {}};
        const auto ends_with = [&](const batch& all, errc code) {
            status s;
            allreduce(comm, all, ring{}, s);
            right += s.code == code;
            operation op = start_allreduce(comm, all, ring{});
            op.wait(s);
            right += s.code == code;
        };
        ends_with(batch().add(x, y, plus{}), errc::invalid_argument); // of two lengths
        ends_with(batch().add(std::span<double>(static_cast<double*>(nullptr), 2), plus{}), errc::invalid_argument);
        ends_with(batch().add(std::span(x).first(3), std::span(x).last(3), plus{}), errc::invalid_argument);
        ends_with(batch().add(y, plus{}).add(map, compose{}), errc::unsupported); // ring does not keep order
        ends_with(batch().add(y, plus{}).add(unlucky, add_big_endian{}), errc::op_threw);
        status s;
        reduce(comm, batch().add(y, plus{}), root{3}, s);
        right += s.code == errc::invalid_argument;
        right += x == std::vector<double>(4, 1.) && y == std::vector<double>(3, 1.);
    });
    CHECK(right == 3 * 12);
}

TEST_CASE("batch: two calls of it at a time end the program with a sentence; one after the other is fine",
          "[frontdoor][batch]") {
    double x = 1, y = 2;
    batch all;
    all.add(x, plus{}).add(y, max{});
    for (const int which : {0, 1, 2}) { // the second one: started, blocking, bound
        CAPTURE(which);
        const auto said = bough_test::last_words_of([&] {
            communicator comm{self{}};
            persistent_operation bound = bind_allreduce(comm, all);
            operation first = start_allreduce(comm, all), second;
            if (which == 0) second = start_allreduce(comm, all);
            if (which == 1) allreduce(comm, all);
            if (which == 2) bound.start();
            first.wait();
        });
        CHECK(said.aborted);
        CHECK(said.has("batch: was used in another call before this one had ended"));
    }
    // In another communicator, by a hook while the first call waits.
    const auto said = bough_test::last_words_of([&] {
        std::atomic<bool> has_called = false;
        in_process{2}.run([&](auto end) {
            communicator comm(std::move(end));
            double mine = 3, its = 4;
            batch late;
            late.add(mine, plus{}).add(its, max{});
            auto hook = [&] {
                communicator alone{self{}};
                if (!has_called) allreduce(alone, all);
                has_called = true;
            };
            if (comm.rank() == 0)
                comm.set_while_waiting(
                    {[](void* f, std::uint32_t) { return (*static_cast<decltype(hook)*>(f))(), true; }, &hook});
            while (comm.rank() == 1 && !has_called) std::this_thread::yield();
            allreduce(comm, comm.rank() == 0 ? all : late);
        });
    });
    CHECK(said.aborted);
    CHECK(said.has("batch: was used in another call before this one had ended"));
    communicator comm{self{}};
    persistent_operation one = bind_allreduce(comm, all), other = bind_reduce(comm, all, root{0});
    for (int i = 0; i != 3; ++i) {
        one.start();
        one.wait();
        other.start();
        other.wait();
        allreduce(comm, all);
        operation kept = start_allreduce(comm, all);
        kept.wait();
        kept = start_allreduce(comm, all);
        kept.cancel();
        status s;
        kept.wait(s);
    }
    CHECK(x == 1);
}
