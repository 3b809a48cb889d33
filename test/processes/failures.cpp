// SPDX-License-Identifier: BSL-1.0
// Ranks that are processes, over each transport between them: calls that differ, floods, deaths during agreement,
// forks, and ends that go away in the middle. No rank hangs, none gets a wrong result, and the survivors go on.
#include "processes/links.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include "support/sanitizers.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/error.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>
#include <bough/operation.hpp>
#include <bough/reduce.hpp>
#include <bough/tree/flat.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

using namespace bough;
using bough_test::clock_ns;
using bough_test::over_each_link;
using bough_test::processes;
using bough_test::report;

namespace {

constexpr std::uint64_t ms = 1'000'000;

// One call in which one rank does something else than the others.
enum class wrong : std::uint8_t { op, type, count, root, collective, order };
constexpr std::array all_wrongs{wrong::op, wrong::type, wrong::count, wrong::root, wrong::collective, wrong::order};
constexpr std::array<const char*, 6> name_of{"op", "type", "count", "root", "collective", "order"};

template <class X>
status wrong_call(communicator<X>& comm, wrong what, bool is_culprit, std::size_t count) {
    std::vector<int> x(count + 1, 1);
    std::vector<float> other(count + 1, 1.0f);
    const std::span<int> data = std::span(x).first(count);
    status s;
    switch (what) {
    case wrong::op:
        if (is_culprit)
            allreduce(comm, data, max{}, s);
        else
            allreduce(comm, data, plus{}, s);
        break;
    case wrong::type:
        if (is_culprit)
            allreduce(comm, std::span(other).first(count), plus{}, s);
        else
            allreduce(comm, data, plus{}, s);
        break;
    case wrong::count: allreduce(comm, is_culprit ? std::span(x) : data, plus{}, s); break;
    case wrong::root: broadcast(comm, data, root{is_culprit ? 1u : 0u}, s); break;
    case wrong::collective:
        if (is_culprit)
            allreduce(comm, data, plus{}, s);
        else
            broadcast(comm, data, root{0}, s);
        break;
    case wrong::order:
        if (is_culprit) barrier(comm, s);
        if (!s) allreduce(comm, data, plus{}, s);
        if (!is_culprit && !s) barrier(comm, s);
        break;
    }
    return s;
}

bool is_of_mismatch(const status& s) { return s.code == errc::call_mismatch || s.cause == errc::call_mismatch; }
// Both values that differ; of a message for a call that is over, and not the latest, there is no value, only its number.
bool shows_both(const status& s, wrong what) {
    if (s.mismatch == mismatch::operation) return what == wrong::order || what == wrong::collective;
    constexpr std::array<mismatch, 6> kinds{mismatch::op,   mismatch::type,       mismatch::count,
                                            mismatch::root, mismatch::collective, mismatch::collective};
    return s.mismatch == kinds[static_cast<std::size_t>(what)] && s.mine != s.theirs;
}

} // namespace

TEST_CASE("processes: a call that differs is an error on every rank, which then go on in a new epoch") {
    const int trials = bough_test::all() ? 300 : 18;
    over_each_link([&]<class Link>(Link) {
        double worst_ms = 0, asked = 0, calls = 0;
        for (const rank_t ranks : {2u, 3u, 6u, 8u}) {
            if (!bough_test::all() && ranks == 8) continue;
            processes group(ranks, [&](auto& wire, report& told) {
                communicator comm{Link::join(wire), {.timeout_ns = 5'000 * ms}};
                for (int trial = 0; trial != trials; ++trial) {
                    const std::uint64_t dice =
                        bough_test::mixed(bough_test::seed() * 1000 + static_cast<std::uint64_t>(trial));
                    const auto what = all_wrongs[static_cast<std::size_t>(trial) % all_wrongs.size()];
                    const auto culprit = static_cast<rank_t>(dice / 8 % ranks);
                    const std::size_t count = std::array<std::size_t, 3>{1, 500, 40'000}[dice / 64 % 3];
                    status s;
                    barrier(comm, s); // who is late in it may hear already what comes of the next call
                    const std::uint64_t begin = clock_ns();
                    s = wrong_call(comm, what, comm.rank() == culprit, count);
                    while (!s && clock_ns() - begin < 3'000 * ms) barrier(comm, s); // it had rightly returned
                    const double took_ms = static_cast<double>(clock_ns() - begin) / ms;
                    told.numbers[0] = std::max(told.numbers[0], took_ms);
                    told.numbers[1] += took_ms >= 200; // nobody would have seen it unless somebody had asked
                    const bool right = is_of_mismatch(s) && shows_both(s, what);
                    told.check(right);
                    if (!right)
                        std::fprintf(stderr, "%s, trial %d: wrong %s by rank %u of %u, count %zu; rank %u has %s\n",
                                     Link::name, trial, name_of[static_cast<std::size_t>(what)], culprit, ranks, count,
                                     comm.rank(), message_of(s).c_str());
                    comm = shrink(comm);
                    told.check(comm.size() == ranks);
                    std::vector<int> x(count, 1);
                    allreduce(comm, std::span(x), plus{}, s);
                    told.check(!s && std::count(x.begin(), x.end(), static_cast<int>(ranks)) == std::ssize(x));
                }
                told.phase = 1;
            });
            group.wait();
            for (rank_t r = 0; r != ranks; ++r) {
                CAPTURE(Link::name, ranks, r);
                CHECK((group.exit_code(r) == 0 && group.of(r).wrong == 0 && group.of(r).phase == 1));
                worst_ms = std::max(worst_ms, group.of(r).numbers[0]);
                asked += group.of(r).numbers[1];
                calls += trials;
            }
        }
        std::printf("%s: calls that differ were told within %.1f ms; of %.0f of %.0f somebody had to ask\n", Link::name,
                    worst_ms, asked, calls);
        CHECK(worst_ms < 2'500);
    });
}

// Of a reduce each side may wait for the other, and no message is there to differ: then who waits asks.
TEST_CASE("processes: a reduce to different roots is told long before its deadline, with both roots") {
    over_each_link([&]<class Link>(Link) {
        for (const rank_t ranks : {2u, 5u}) {
            processes group(ranks, [&](auto& wire, report& told) {
                communicator comm{Link::join(wire), {.timeout_ns = 10'000 * ms}};
                status s;
                barrier(comm, s);
                told.check(!s);
                std::array<int, 100> x{};
                const std::uint64_t begin = clock_ns();
                reduce(comm, std::span(x), plus{}, root{comm.rank() == 1 ? 1u : 0u}, s);
                if (!s) barrier(comm, s); // it had rightly returned: its next call
                told.numbers[0] = static_cast<double>(clock_ns() - begin) / ms;
                told.result = s;
            });
            group.wait();
            for (rank_t r = 0; r != ranks; ++r) {
                const status& s = group.of(r).result;
                CAPTURE(Link::name, ranks, r, s.code, s.cause, group.of(r).numbers[0]);
                CHECK((group.exit_code(r) == 0 && group.of(r).wrong == 0));
                CHECK(is_of_mismatch(s));
                CHECK(s.mismatch == mismatch::root);
                CHECK(s.mine + s.theirs == 1);
                CHECK(group.of(r).numbers[0] < 5'000); // long before its deadline
            }
        }
    });
}

// Two ranks die, one after the other, at any moment of operations, agree and shrink.
TEST_CASE("processes: deaths during agree and shrink, and the survivors go on") {
    const int trials = bough_test::all() ? 500 : 8;
    over_each_link([&]<class Link>(Link) {
        for (int trial = 0; trial != trials; ++trial) {
            const std::uint64_t dice =
                bough_test::mixed(bough_test::seed() * 50'000 + static_cast<std::uint64_t>(trial));
            const auto ranks = static_cast<rank_t>(3 + dice % 6);
            const auto first = static_cast<rank_t>(dice / 8 % ranks);
            const auto second = static_cast<rank_t>((first + 1 + dice / 64 % (ranks - 1)) % ranks);
            processes group(ranks, [&](auto& wire, report& told) {
                communicator comm{Link::join(wire)};
                told.phase = 1;
                const std::uint64_t last = clock_ns() + 20'000 * ms;
                std::uint64_t heard = 0; // of all words that were agreed on
                for (int well = 0; well != 10;) {
                    int x = 1;
                    status s;
                    allreduce(comm, std::span(&x, 1), plus{}, s);
                    told.check(s || x == static_cast<int>(comm.size()));
                    const std::uint64_t mine = s ? 0 : ~std::uint64_t{1} << comm.world_rank(comm.rank()) | 1;
                    const std::uint64_t word = agree(comm, mine);
                    heard = bough_test::mixed(heard ^ word);
                    if (word == 0) comm = shrink(comm);
                    well = word != 0 && comm.size() == ranks - 2 ? well + 1 : 0;
                    if (clock_ns() > last) return told.check(false);
                }
                std::memcpy(&told.numbers[0], &heard, sizeof heard);
                told.numbers[1] = comm.size();
                told.numbers[2] = comm.shared_session()->epoch();
                told.phase = 2;
            });
            REQUIRE(group.reached(1));
            std::this_thread::sleep_for(std::chrono::microseconds(dice / 4096 % 4000));
            group.kill(first, SIGKILL);
            std::this_thread::sleep_for(std::chrono::microseconds(dice / 0x100'0000 % 8000));
            group.kill(second, SIGKILL);
            group.wait();
            const report* other = nullptr;
            for (rank_t r = 0; r != ranks; ++r) {
                if (r == first || r == second) continue;
                const report& told = group.of(r);
                CAPTURE(Link::name, trial, ranks, first, second, r, group.exit_code(r), told.wrong);
                CHECK((group.exit_code(r) == 0 && told.wrong == 0 && told.phase == 2));
                CHECK(told.numbers[1] == ranks - 2);
                if (other != nullptr) CHECK(std::memcmp(other->numbers, told.numbers, sizeof told.numbers) == 0);
                other = &told;
            }
        }
    });
}

// It has posted nothing that could fail: the peer has not started the operation, and has no room for more.
TEST_CASE("processes: who waits until a peer has started an operation hears of its death") {
    over_each_link([&]<class Link>(Link) {
        processes group(2, [](auto& wire, report& told) {
            communicator comm{Link::join(wire), {.timeout_ns = 20'000 * ms}};
            communicator two = duplicate(comm);
            std::vector<char> x(std::size_t{16} << 20);
            operation op;
            if (comm.rank() == 0) op = start_broadcast(two, std::span(x), root{0}, flat{});
            for (int i = 0; comm.rank() == 0 && i != 1000; ++i) op.poll();
            told.phase = 1;
            while (comm.rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(1)); // it is killed
            op.wait(told.result);
        });
        REQUIRE(group.reached(1));
        group.kill(1, SIGKILL);
        group.wait();
        const status said = group.of(0).result;
        CAPTURE(Link::name, message_of(said), group.exit_code(0));
        CHECK((said.code == errc::peer_dead || said.cause == errc::peer_dead));
        CHECK(said.peer == 1);
    });
}

// A root that is busy while the others go on: what they send stays under the caps, and nothing of it is lost.
TEST_CASE("processes: a flood of a busy root stays under the caps") {
    over_each_link([&]<class Link>(Link) {
        for (const std::size_t count : {100u, 1500u}) {
            constexpr rank_t ranks = 5;
            constexpr std::uint64_t peer_cap = std::uint64_t{1} << 20;
            const std::uint32_t calls =
                static_cast<std::uint32_t>(3'000'000 / (count * 8 + 1000)); // many times the cap
            processes group(ranks, [&](auto& wire, report& told) {
                communicator comm{Link::join(wire), {.timeout_ns = 60'000 * ms, .early = {.bytes_per_peer = peer_cap}}};
                std::vector<double> x(count);
                const std::uint64_t before = bough_test::resident_bytes();
                std::uint64_t copied = 0, unexpected = 0;
                if (comm.rank() == 0) {
                    bool begun = false; // on a busy machine, the others take a while
                    for (std::uint64_t last = clock_ns() + 20'000 * ms; clock_ns() < last;) {
                        comm.progress();
                        copied = std::max(copied, comm.shared_session()->early_bytes());
                        unexpected = std::max(unexpected, Link::unexpected_bytes(comm.transport()));
                        if (!begun && copied + unexpected > 1000) last = clock_ns() + 150 * ms, begun = true;
                    }
                }
                status s;
                for (std::uint32_t i = 0; i != calls && !s; ++i) {
                    std::fill(x.begin(), x.end(), static_cast<double>(i + comm.rank()));
                    reduce(comm, std::span(x), plus{}, root{0}, flat{}, s);
                    if (comm.rank() == 0)
                        told.check(!s && std::count(x.begin(), x.end(), 5.0 * i + 10.0) == std::ssize(x));
                }
                if (!s) barrier(comm, s); // nobody leaves before the root has what it sent
                told.result = s;
                told.numbers[0] = static_cast<double>(copied);
                told.numbers[1] = static_cast<double>(unexpected);
                told.numbers[2] = static_cast<double>(bough_test::resident_bytes()) - static_cast<double>(before);
            });
            group.wait();
            for (rank_t r = 0; r != ranks; ++r) {
                CAPTURE(Link::name, count, r, group.of(r).result.code);
                CHECK((group.exit_code(r) == 0 && group.of(r).wrong == 0 && !group.of(r).result));
            }
            const double* told = group.of(0).numbers;
            CAPTURE(Link::name, count, told[0], told[1], told[2]);
            CHECK(told[0] <= (ranks - 1) * peer_cap);
            // Over tcp, short messages beyond the cap are kept up to the window, which is as large.
            CHECK(told[1] <= 2.0 * (ranks - 1) * peer_cap);
            CHECK(told[0] + told[1] > 1000); // there was a flood
            // Both kinds, with their bookkeeping and what the allocator keeps. AddressSanitizer keeps up to 256 MiB that
            // were freed, and ThreadSanitizer has several bytes for each.
            if (!bough_test::has_address_sanitizer && !bough_test::has_thread_sanitizer)
                CHECK(told[2] < 4.0 * (ranks - 1) * peer_cap);
        }
    });
}

TEST_CASE("processes: a forked child gets an error, and does its parent no harm") {
    over_each_link([&]<class Link>(Link) {
        processes group(4, [](auto& wire, report& told) {
            communicator comm{Link::join(wire)};
            int x = 1;
            status s;
            allreduce(comm, std::span(&x, 1), plus{}, s);
            told.check(!s && x == 4);
            if (const pid_t child = ::fork(); child == 0) {
                {
                    communicator mine{std::move(comm)};
                    allreduce(mine, std::span(&x, 1), plus{}, s);
                } // and its end is not the parent's
                ::_exit(s.code == errc::forked_child ? 0 : 1);
            } else {
                int state = -1;
                told.check(::waitpid(child, &state, 0) == child && state == 0);
            }
            for (const std::size_t count : {1u, 50'000u}) {
                std::vector<int> more(count, 1);
                allreduce(comm, std::span(more), plus{}, s);
                told.check(!s && std::count(more.begin(), more.end(), 4) == std::ssize(more));
            }
        });
        group.wait();
        for (rank_t r = 0; r != 4; ++r) {
            CAPTURE(Link::name, r, group.exit_code(r), group.of(r).wrong);
            CHECK((group.exit_code(r) == 0 && group.of(r).wrong == 0));
        }
    });
}

// A rank destroys what an operation in flight needs: the handle, the communicator, the data, in either order.
TEST_CASE("processes: destruction in flight ends the others' calls, and touches nothing that is gone") {
    const int trials = bough_test::all() ? 200 : 8;
    over_each_link([&]<class Link>(Link) {
        for (int trial = 0; trial != trials; ++trial) {
            const std::uint64_t dice = bough_test::mixed(bough_test::seed() * 300 + static_cast<std::uint64_t>(trial));
            const auto ranks = static_cast<rank_t>(2 + dice % 4);
            const auto leaver = static_cast<rank_t>(dice / 8 % ranks);
            const std::size_t count = std::array<std::size_t, 3>{1, 1000, 300'000}[dice / 64 % 3];
            const bool handle_first = trial % 2 == 0;
            processes group(ranks, [&](auto& wire, report& told) {
                std::optional comm{communicator{Link::join(wire)}};
                status s;
                barrier(*comm, s); // the leaver may be gone before the others have heard its end
                if (wire.rank() == leaver) {
                    std::optional<std::vector<double>> x(std::in_place, count, 1.0);
                    std::optional<operation> started(start_allreduce(*comm, std::span(*x), plus{}));
                    for (std::uint64_t i = 0; i != dice / 512 % 20; ++i) comm->progress();
                    if (!handle_first) comm.reset();
                    started.reset();
                    x.reset();
                    comm.reset();
                    return;
                }
                const std::uint64_t begin = clock_ns();
                std::vector<double> x(count);
                for (int i = 0; i != 2 && !s; ++i) { // the first may have been complete
                    std::fill(x.begin(), x.end(), 1.0);
                    allreduce(*comm, std::span(x), plus{}, s);
                    told.check(s || (i == 0 && std::count(x.begin(), x.end(), ranks) == std::ssize(x)));
                }
                told.numbers[0] = static_cast<double>(clock_ns() - begin) / ms;
                told.result = s;
            });
            group.wait();
            for (rank_t r = 0; r != ranks; ++r) {
                const status& s = group.of(r).result;
                CAPTURE(Link::name, trial, ranks, leaver, count, handle_first, r, s.code, s.cause, group.of(r).wrong);
                CHECK((group.exit_code(r) == 0 && group.of(r).wrong == 0));
                if (r == leaver) continue;
                const errc first = s.cause != errc::ok ? s.cause : s.code;
                CHECK((first == errc::cancelled || first == errc::peer_dead));
                CHECK(group.of(r).numbers[0] < 5000);
            }
        }
    });
}
