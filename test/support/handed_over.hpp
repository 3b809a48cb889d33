// SPDX-License-Identifier: BSL-1.0
// Ranks that, after each call, do nothing for the library until all ranks have returned from it. They wait on memory that
// they share, so no test of this depends on time. Where a call keeps something back, ranks end by their deadline instead.
#ifndef BOUGH_TEST_SUPPORT_HANDED_OVER_HPP
#define BOUGH_TEST_SUPPORT_HANDED_OVER_HPP

#include "support/catch.hpp"
#include "transport/shared_memory_world.hpp"
#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/alltoall.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/communicator.hpp>
#include <bough/error.hpp>
#include <bough/gather.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/scan.hpp>
#include <bough/scatter.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>
#include <numeric>
#include <span>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bough_test {

// A counter that processes share: to be made before they are.
class meeting {
public:
    meeting() {
        void* at = ::mmap(nullptr, sizeof(*came_), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) throw std::bad_alloc();
        came_ = new (at) std::atomic<std::uint32_t>(0);
    }
    meeting(const meeting&) = delete;
    meeting& operator=(const meeting&) = delete;
    ~meeting() { ::munmap(came_, sizeof(*came_)); }
    void come() { came_->fetch_add(1); }
    // Until so many have come in all. False: not within a minute.
    bool await(std::uint32_t all) const {
        for (const std::uint64_t last = clock_ns() + 60'000'000'000; came_->load() < all;) {
            if (clock_ns() > last) return false;
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
        return true;
    }

private:
    std::atomic<std::uint32_t>* came_;
};

enum class one_way : std::uint8_t { broadcast, scatter, reduce, gather, scan, none };
enum class how : std::uint8_t { blocking, polled, persistent };

// One call in which some ranks only send. True: it ended well, with the right data.
template <class X>
bool call_one_way(bough::communicator<X>& comm, one_way what, how form, std::size_t count, bough::status& s) {
    using namespace bough;
    const rank_t ranks = comm.size(), me = comm.rank(), last = ranks - 1;
    std::vector<int> one(count, static_cast<int>(me) + 1), all(count * ranks, 7);
    const auto mine = std::span<const int>(one);
    std::iota(all.begin(), all.end(), 0);
    const auto run = [&](auto&& block, auto&& start, auto&& bind) {
        if (form == how::blocking) return block();
        if (form == how::persistent) {
            auto bound = bind();
            bound.start();
            return bound.wait(s);
        }
        operation op = start();
        for (std::uint32_t i = 0; !op.poll(); ++i)
            if (i % 64 == 63) std::this_thread::yield();
        s = op.result();
    };
    switch (what) {
    case one_way::broadcast: {
        const std::span data(one);
        run([&] { broadcast(comm, data, root{0}, s); }, [&] { return start_broadcast(comm, data, root{0}); },
            [&] { return bind_broadcast(comm, data, root{0}); });
        return !s && std::count(one.begin(), one.end(), 1) == std::ssize(one);
    }
    case one_way::scatter: {
        const std::span<const int> from(all);
        const std::span to(one);
        run([&] { scatter(comm, from, to, root{0}, s); }, [&] { return start_scatter(comm, from, to, root{0}); },
            [&] { return bind_scatter(comm, from, to, root{0}); });
        for (std::size_t i = 0; i != count; ++i)
            if (s || one[i] != static_cast<int>(me * count + i)) return false;
        return true;
    }
    case one_way::reduce: {
        const std::span data(one);
        run([&] { reduce(comm, data, plus{}, root{last}, s); },
            [&] { return start_reduce(comm, data, plus{}, root{last}); },
            [&] { return bind_reduce(comm, data, plus{}, root{last}); });
        const int sum = static_cast<int>(ranks * (ranks + 1) / 2);
        return !s && (me != last || std::count(one.begin(), one.end(), sum) == std::ssize(one));
    }
    case one_way::gather: {
        const std::span to(all);
        run([&] { gather(comm, mine, to, root{last}, s); }, [&] { return start_gather(comm, mine, to, root{last}); },
            [&] { return bind_gather(comm, mine, to, root{last}); });
        for (std::size_t i = 0; me == last && i != all.size(); ++i)
            if (all[i] != static_cast<int>(i / count) + 1) return false;
        return !s;
    }
    case one_way::scan: {
        const std::span data(one);
        run([&] { scan(comm, data, plus{}, s); }, [&] { return start_scan(comm, data, plus{}); },
            [&] { return bind_scan(comm, data, plus{}); });
        const int sum = static_cast<int>((me + 1) * (me + 2) / 2);
        return !s && std::count(one.begin(), one.end(), sum) == std::ssize(one);
    }
    case one_way::none: break;
    }
    return true;
}

inline void say(const char* name, const char* what, std::size_t count, bough::rank_t rank, bough::rank_t ranks,
                const bough::status& s) {
    std::fprintf(stderr, "%s: %s of %zu ints: rank %u of %u has %s\n", name, what, count, rank, ranks,
                 message_of(s).c_str());
}

inline constexpr std::array<const char*, 6> one_way_names{"broadcast", "scatter", "reduce", "gather", "scan", ""};

// Every rank is silent between its return and everybody's. join(wire) -> a transport.
template <class Join>
void check_silence_between_calls(const char* name, bough::rank_t ranks, std::vector<std::size_t> counts,
                                 const Join& join) {
    using namespace bough;
    meeting all;
    processes group(ranks, [&](auto& wire, report& told) {
        communicator comm{join(wire), {.timeout_ns = 30'000'000'000}};
        std::uint32_t calls = 0;
        for (const std::size_t count : counts)
            for (const how form : {how::blocking, how::polled, how::persistent})
                for (int what = 0; what != static_cast<int>(one_way::none); ++what) {
                    // What a rank sends first after it has polled leaves at once in any case: so there are several.
                    for (int before = 0; before != 2; ++before) {
                        status s;
                        const bool right = call_one_way(comm, static_cast<one_way>(what), form, count, s);
                        if (!right)
                            say(name, one_way_names[static_cast<std::size_t>(what)], count, wire.rank(), ranks, s);
                        told.check(right);
                    }
                    all.come();
                    told.check(all.await(++calls * ranks));
                }
        told.phase = 1;
    });
    group.wait();
    for (rank_t r = 0; r != ranks; ++r) {
        CAPTURE(name, ranks, r);
        CHECK((group.exit_code(r) == 0 && group.of(r).wrong == 0 && group.of(r).phase == 1));
    }
}

// Of an operation that has been started, and not looked at since: what its rank could send has left.
template <class Join>
void check_silence_after_start(const char* name, bough::rank_t ranks, const Join& join) {
    using namespace bough;
    meeting all;
    processes group(ranks, [&](auto& wire, report& told) {
        communicator comm{join(wire), {.timeout_ns = 30'000'000'000}};
        std::uint32_t calls = 0;
        for (int turn = 0; turn != 3; ++turn) {
            std::array<std::vector<int>, 4> data;
            std::vector<operation> ops;
            for (std::vector<int>& x : data) {
                x.assign(8, comm.rank() == 0 ? 5 : 0);
                ops.push_back(start_broadcast(comm, std::span(x), root{0}));
            }
            status s;
            if (comm.rank() != 0)
                for (operation& op : ops) op.wait(s), told.check(!s);
            all.come();
            told.check(all.await(++calls * ranks));
            for (operation& op : ops) op.wait(s), told.check(!s);
            for (const std::vector<int>& x : data) told.check(x == std::vector<int>(8, 5));
        }
        told.phase = 1;
    });
    group.wait();
    for (rank_t r = 0; r != ranks; ++r) {
        CAPTURE(name, ranks, r);
        CHECK((group.exit_code(r) == 0 && group.of(r).wrong == 0 && group.of(r).phase == 1));
    }
}

// Aborts, refusals and agreements leave, too. `given_up`: elements of the operation that is given up. A long one gets the words
// of shrink() stuck behind it; but over remote writes its sender waits until its receivers have polled.
template <class Join>
void check_silence_after_words(const char* name, bough::rank_t ranks, const Join& join,
                               std::size_t given_up = std::size_t{1} << 21) {
    using namespace bough;
    meeting all;
    processes group(ranks, [&](auto& wire, report& told) {
        communicator comm{join(wire), {.timeout_ns = 30'000'000'000}};
        std::uint32_t calls = 0;
        const auto silence = [&] {
            all.come();
            told.check(all.await(++calls * ranks));
        };
        const bool speaks = comm.rank() == ranks - 1;
        for (int turn = 0; turn != 4; ++turn) {
            status s;
            std::vector<int> x(8, 1);
            for (int before = 0; before != 2; ++before) broadcast(comm, std::span(x), root{ranks - 1}, s);
            told.check(agree(comm, 6u | comm.rank(), s) == 6u && !s);
            silence();
            if (speaks && turn % 2 == 0) { // gives an operation up
                for (int before = 0; before != 2; ++before) broadcast(comm, std::span(x), root{ranks - 1}, s);
                std::vector<int> long_one(given_up, 1);
                operation op = start_broadcast(comm, std::span(long_one), root{ranks - 1});
                op.cancel();
            } else if (speaks) { // makes a call that breaks a rule
                for (int before = 0; before != 2; ++before) broadcast(comm, std::span(x), root{ranks - 1}, s);
                reduce(comm, std::span(x), plus{}, root{ranks}, s);
                told.check(s.code == errc::invalid_argument);
            } else {
                for (int before = 0; before != 2; ++before) broadcast(comm, std::span(x), root{ranks - 1}, s);
                if (!s) allreduce(comm, std::span(x), plus{}, s);
                told.check(s && s.code != errc::deadline && s.cause != errc::deadline);
            }
            silence();
            comm = shrink(comm, s).value();
            told.check(!s && comm.size() == ranks);
            silence();
        }
        told.phase = 1;
    });
    group.wait();
    for (rank_t r = 0; r != ranks; ++r) {
        CAPTURE(name, ranks, r);
        CHECK((group.exit_code(r) == 0 && group.of(r).wrong == 0 && group.of(r).phase == 1));
    }
}

// Ranks whose program ends as soon as their last call returns: nothing is destroyed, and nothing waits for the others.
template <class Join>
void check_leaving(const char* name, bough::rank_t ranks, int runs, const Join& join) {
    using namespace bough;
    for (int run = 0; run != runs; ++run)
        for (int what = 0; what != static_cast<int>(one_way::none); ++what) {
            const std::size_t count =
                std::array<std::size_t, 4>{2, 700, 6'000, 40'000}[static_cast<std::size_t>(run) % 4];
            processes group(ranks, [&](auto& wire, report& told) {
                communicator comm{join(wire), {.timeout_ns = 30'000'000'000}};
                status s;
                for (int call = 0; call != 3; ++call) {
                    const bool right = call_one_way(comm, static_cast<one_way>(what), how::blocking, count, s);
                    if (!right) say(name, one_way_names[static_cast<std::size_t>(what)], count, wire.rank(), ranks, s);
                    told.check(right);
                }
                told.phase = 1;
                ::_exit(0);
            });
            group.wait();
            for (rank_t r = 0; r != ranks; ++r) {
                CAPTURE(name, ranks, r, run, what);
                CHECK((group.exit_code(r) == 0 && group.of(r).wrong == 0 && group.of(r).phase == 1));
            }
        }
}

} // namespace bough_test

#endif
