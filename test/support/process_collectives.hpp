// SPDX-License-Identifier: BSL-1.0
// Collectives over a communicator whose ranks are processes, each result held against what it must be.
#ifndef BOUGH_TEST_SUPPORT_PROCESS_COLLECTIVES_HPP
#define BOUGH_TEST_SUPPORT_PROCESS_COLLECTIVES_HPP

#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/communicator.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/os/clock.hpp>
#include <bough/reduce.hpp>
#include <bough/scan.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <sys/resource.h>
#include <thread>
#include <vector>

namespace bough_test {

// A product that does not commute: 2 x 2 matrices modulo a prime. So the fold over ranks is exact, and unique.
struct matrix {
    std::uint32_t a = 1, b = 0, c = 0, d = 1;
    friend bool operator==(const matrix&, const matrix&) = default;
};
struct product {
    matrix operator()(const matrix& x, const matrix& y) const {
        const auto dot = [](std::uint64_t p, std::uint64_t q, std::uint64_t r, std::uint64_t s) {
            return static_cast<std::uint32_t>((p * q + r * s) % 1'000'003);
        };
        return {dot(x.a, y.a, x.b, y.c), dot(x.a, y.b, x.b, y.d), dot(x.c, y.a, x.d, y.c), dot(x.c, y.b, x.d, y.d)};
    }
};
inline matrix matrix_of(bough::rank_t rank, std::size_t i) {
    const auto k = static_cast<std::uint32_t>(rank * 1009 + i % 997);
    return {k + 1, k * 3 % 71, k % 5, k % 13 + 1};
}

// How many results of this rank are wrong, over vectors of each length; each is named in a line.
template <class T>
int wrong_collectives(bough::communicator<T>& comm, const std::vector<std::size_t>& counts) {
    const bough::rank_t me = comm.rank(), size = comm.size();
    int wrong = 0;
    const auto check = [&](bool right, const char* what, std::size_t count) {
        if (right) return;
        ++wrong;
        std::printf("rank %u of %u: %s of %zu is wrong\n", me, size, what, count);
    };
    for (const std::size_t count : counts) {
        std::vector<matrix> mine(count), fold(count), up_to_me(count);
        for (std::size_t i = 0; i != count; ++i) {
            fold[i] = matrix_of(0, i);
            if (me == 0) up_to_me[i] = fold[i];
            for (bough::rank_t r = 1; r != size; ++r) {
                fold[i] = product{}(fold[i], matrix_of(r, i));
                if (r == me) up_to_me[i] = fold[i];
            }
            mine[i] = matrix_of(me, i);
        }
        std::vector<matrix> x = mine;
        bough::allreduce(comm, std::span(x), product{});
        check(x == fold, "allreduce", count);
        x = mine;
        const bough::root root{static_cast<bough::rank_t>(count % size)};
        bough::reduce(comm, std::span(x), product{}, root);
        check(me != root.rank || x == fold, "reduce", count);
        x = mine;
        bough::scan(comm, std::span(x), product{});
        check(x == up_to_me, "scan", count);
        x = me == root.rank ? fold : std::vector<matrix>(count);
        bough::broadcast(comm, std::span(x), root);
        check(x == fold, "broadcast", count);
        std::vector<matrix> all(count * size);
        bough::allgather(comm, std::span<const matrix>(mine), std::span(all));
        bool right = true;
        for (bough::rank_t r = 0; r != size; ++r)
            for (std::size_t i = 0; i != count; ++i) right &= all[r * count + i] == matrix_of(r, i);
        check(right, "allgather", count);
        // Floating point: every rank has the same bits.
        std::vector<double> sums(count);
        for (std::size_t i = 0; i != count; ++i) sums[i] = 1.0 / static_cast<double>(1 + me + i);
        bough::allreduce(comm, std::span(sums), bough::plus{});
        std::vector<double> first = sums;
        bough::broadcast(comm, std::span(first), bough::root{0});
        check(count == 0 || std::memcmp(sums.data(), first.data(), count * sizeof(double)) == 0, "bits", count);
        bough::barrier(comm);
    }
    return wrong;
}

// Vectors whose sums over ranks are known without a fold.
inline std::vector<double> ramp(std::size_t count, double first) {
    std::vector<double> x(count);
    for (std::size_t i = 0; i != count; ++i) x[i] = first + static_cast<double>(i % 97);
    return x;
}
// Sum over ranks r of ramp(count, r).
inline bool is_sum(const std::vector<double>& x, bough::rank_t p) {
    for (std::size_t i = 0; i != x.size(); ++i)
        if (x[i] != p * (p - 1) / 2.0 + p * static_cast<double>(i % 97)) return false;
    return true;
}
// Of allgather.
inline bool is_all(const std::vector<double>& x, std::size_t count, bough::rank_t p) {
    bool right = x.size() == count * p;
    for (bough::rank_t r = 0; r != p && right; ++r) {
        const std::vector<double> theirs = ramp(count, r);
        right = std::equal(theirs.begin(), theirs.end(), x.begin() + static_cast<std::ptrdiff_t>(r * count));
    }
    return right;
}

// The collectives of each kind with sums of ramps. `choice...`: an algorithm for them, or nothing.
template <class T, class... Choice>
int wrong_sums(bough::communicator<T>& comm, std::size_t count, const Choice&... choice) {
    const bough::rank_t p = comm.size(), me = comm.rank();
    int wrong = 0;
    bough::status s;
    std::vector<double> x = ramp(count, me);
    bough::allreduce(comm, std::span(x), bough::plus{}, choice..., s);
    wrong += s || !is_sum(x, p);
    x = ramp(count, me);
    bough::reduce(comm, std::span(x), bough::plus{}, bough::root{p - 1}, choice..., s);
    return wrong + (s || (me == p - 1 && !is_sum(x, p)));
}
template <class T, class... Choice>
int wrong_broadcast(bough::communicator<T>& comm, std::size_t count, const Choice&... choice) {
    const bough::rank_t p = comm.size();
    bough::status s;
    std::vector<double> x = ramp(count, comm.rank() == p / 2 ? 42 : -1);
    bough::broadcast(comm, std::span(x), bough::root{p / 2}, choice..., s);
    return s || x != ramp(count, 42);
}
template <class T, class... Choice>
int wrong_allgather(bough::communicator<T>& comm, std::size_t count, const Choice&... choice) {
    bough::status s;
    const std::vector<double> mine = ramp(count, comm.rank());
    std::vector<double> all(count * comm.size());
    bough::allgather(comm, std::span<const double>(mine), std::span(all), choice..., s);
    return s || !is_all(all, count, comm.size());
}

// What a rank that waits costs, and how late it hears.
struct sleep_report {
    int wrong = 0;
    double cpu_s = 0, all_s = 0;   // of this rank: its processor's time, and time
    std::vector<double> late_ms{}; // by speaker, on average: from a message's post to its arrival here
};
// In turns each speaker is silent for 23 ms, while all others wait, and then broadcasts.
template <class T, class... Choice>
sleep_report sleep_between(bough::communicator<T>& comm, const std::vector<bough::rank_t>& speakers, std::size_t turns,
                           const Choice&... choice) {
    const auto cpu_s = [] {
        rusage used{};
        ::getrusage(RUSAGE_SELF, &used);
        const auto seconds = [](const timeval& t) {
            return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
        };
        return seconds(used.ru_utime) + seconds(used.ru_stime);
    };
    const auto now_ns = [] { return bough::detail::steady_now_ns(); };
    sleep_report told;
    told.late_ms.resize(speakers.size());
    const double before_s = cpu_s();
    const std::uint64_t start = now_ns();
    for (std::size_t i = 0; i != turns * speakers.size(); ++i) {
        const bough::rank_t speaker = speakers[i % speakers.size()];
        std::uint64_t sent = 0;
        if (comm.rank() == speaker) {
            std::this_thread::sleep_for(std::chrono::milliseconds(23));
            sent = now_ns();
        }
        bough::status s;
        bough::broadcast(comm, std::span(&sent, 1), bough::root{speaker}, choice..., s);
        told.wrong += s ? 1 : 0;
        told.late_ms[i % speakers.size()] += static_cast<double>(now_ns() - sent) * 1e-6 / static_cast<double>(turns);
        bough::barrier(comm, s);
    }
    told.cpu_s = cpu_s() - before_s;
    told.all_s = static_cast<double>(now_ns() - start) * 1e-9;
    return told;
}

} // namespace bough_test

#endif
