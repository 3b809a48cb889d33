// SPDX-License-Identifier: BSL-1.0
// Runs under mpirun, with any MPI: every rank checks bough::mpi from its end. Prints one line per fault; status 1 if any.
#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/alltoall.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/group.hpp>
#include <bough/launch/mpi.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/scan.hpp>
#include <bough/testing/process_conformance.hpp>
#include <bough/testing/wire_up_conformance.hpp>
#include <bough/transport/mpi.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

using namespace bough;

namespace {

int failures = 0;

void check(bool good, const char* what, rank_t rank) {
    if (good) return;
    ++failures;
    std::printf("FAILED: rank %u: %s\n", rank, what);
}

// A product that does not commute: 2 x 2 matrices modulo a prime.
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
matrix of(rank_t rank, std::size_t i) {
    const auto k = static_cast<std::uint32_t>(rank * 1009 + i % 997);
    return {k + 1, k * 3 % 71, k % 5, k % 13 + 1};
}

void collectives(MPI_Comm world, const mpi_options& options) {
    communicator comm{mpi{world, options}};
    const rank_t me = comm.rank(), size = comm.size();
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, std::size_t{size}, std::size_t{1000}, std::size_t{70'000}}) {
        std::vector<matrix> mine(count), expected(count), before(count);
        for (std::size_t i = 0; i != count; ++i) {
            mine[i] = expected[i] = of(0, i);
            for (rank_t r = 1; r != size; ++r) {
                if (r == me) before[i] = expected[i];
                expected[i] = product{}(expected[i], of(r, i));
            }
            mine[i] = of(me, i);
        }
        std::vector<matrix> x = mine;
        allreduce(comm, std::span(x), product{});
        check(x == expected, "allreduce of matrices", me);
        x = mine;
        const rank_t root = static_cast<rank_t>(count % size);
        reduce(comm, std::span(x), product{}, bough::root{root});
        check(me != root || x == expected, "reduce of matrices", me);
        x = mine;
        scan(comm, std::span(x), product{});
        check(me != size - 1 || x == expected, "scan of matrices", me);
        if (me != root)
            x.assign(count, {});
        else
            x = expected;
        broadcast(comm, std::span(x), bough::root{root});
        check(x == expected, "broadcast", me);
        std::vector<std::uint64_t> all(count * size, 77);
        for (std::size_t i = 0; i != count; ++i) all[me * count + i] = me * 1000 + i;
        allgather(comm, std::span(all));
        bool right = true;
        for (rank_t r = 0; r != size; ++r)
            for (std::size_t i = 0; i != count; ++i) right &= all[r * count + i] == r * 1000 + i;
        check(right, "allgather", me);
    }
    // Two groups side by side, over the one transport.
    auto half = split(comm, me % 2);
    std::vector<long> x(3000, 1);
    allreduce(half, std::span(x), plus{});
    check(x[2999] == static_cast<long>((size + (me % 2 == 0 ? 1 : 0)) / 2), "allreduce of half the ranks", me);
    barrier(comm);
}

// A receiver gives up takes of long messages at any moment: the sender's post ends all the same, and what follows arrives.
void given_up_takes(MPI_Comm world) {
    constexpr std::uint32_t messages = 60;
    mpi end{world, {.window = 4}};
    const rank_t me = end.rank();
    if (me > 1 || end.size() == 1) return;
    std::vector<std::byte> bytes(50'000, std::byte{1}), into(bytes.size());
    std::uint32_t ended = 0, cancelled = 0, wrong = 0;
    const auto handle = [&](const event& e) {
        wrong += e.what == event::kind::complete && e.code != errc::ok && e.code != errc::cancelled;
        cancelled += e.code == errc::cancelled;
        ended += e.what == event::kind::complete;
    };
    const std::uint64_t last = end.now_ns() + 20'000'000'000;
    std::array<event, 4> events;
    if (me == 1) {
        for (std::uint32_t sent = 0; ended != messages && end.now_ns() < last;) {
            if (sent != messages) sent += end.post_send(0, {.segment = sent}, bytes, sent) == posted::pending;
            const std::size_t found = end.poll(events);
            for (std::size_t i = 0; i != found; ++i) handle(events[i]);
        }
        check(ended == messages && cancelled == 0 && wrong == 0, "posts end, whatever becomes of the takes", me);
        return;
    }
    std::vector<event> waiting; // one take at a time: they share `into`
    std::uint32_t seen = 0, taken = 0;
    while (ended != messages && end.now_ns() < last) {
        const std::size_t found = end.poll(events);
        for (std::size_t i = 0; i != found; ++i) {
            if (events[i].what != event::kind::arrived) {
                handle(events[i]);
                continue;
            }
            wrong += events[i].envelope.segment != seen++;
            waiting.push_back(events[i]);
        }
        if (ended != taken || waiting.empty()) continue;
        wrong += end.take(waiting.front().id, into, taken) != posted::pending;
        waiting.erase(waiting.begin());
        for (std::uint32_t k = 0; k != taken % 20; ++k) (void)end.poll({});
        wrong += end.cancel(taken++) != errc::ok;
    }
    check(ended == messages && wrong == 0, "takes end, whenever they are given up", me);
    check(cancelled != 0, "a take can be cancelled", me);
}

// Ranks that make different calls hear of it, over MPI too.
void different_calls(MPI_Comm world) {
    communicator comm{mpi{world}};
    if (comm.size() == 1) return;
    std::vector<long> x(comm.rank() == 0 ? 10 : 11, 1);
    std::error_code ec;
    comm.set_timeout_ns(5'000'000'000);
    allreduce(comm, std::span(x), plus{}, ec);
    check(ec == errc::call_mismatch || ec == errc::peer_aborted || ec == errc::group_poisoned, "a mismatch is an error",
          comm.rank());
}

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    {
        const std::uint64_t turn = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
        int me = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &me);
        for (const mpi_options options : {mpi_options{}, mpi_options{.window = 1, .eager_bytes = 0},
                                          mpi_options{.window = 4, .eager_bytes = 200'000}}) {
            for (const std::uint64_t seed : {2 * turn - 1, 2 * turn}) {
                const auto fault =
                    testing::check_transport_process(mpi{MPI_COMM_WORLD, options}, {.seed = seed, .messages = 150});
                check(!fault, fault.sentence, static_cast<rank_t>(me));
            }
            collectives(MPI_COMM_WORLD, options);
        }
        given_up_takes(MPI_COMM_WORLD);
        different_calls(MPI_COMM_WORLD);
        mpi_wire_up wire{MPI_COMM_WORLD};
        const auto fault = testing::check_wire_up(wire, {.break_it = false});
        check(!fault, fault.sentence, static_cast<rank_t>(me));
    }
    int all = 0;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all == 0 ? 0 : 1;
}
