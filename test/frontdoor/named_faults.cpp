// SPDX-License-Identifier: BSL-1.0
// Named calls that wait for their turn: what they keep, how long they wait, and what becomes of them when
// their communicator goes, or the group shrinks.
#include "support/catch.hpp"
#include "support/child_of_fork.hpp"
#include "support/until.hpp"
#include <bough/algorithm/ring.hpp>
#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/alltoall.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/communicator/call_order.hpp>
#include <bough/error.hpp>
#include <bough/gather.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/operation.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/report/options.hpp>
#include <bough/scatter.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/simulated.hpp>
#include <bough/tree/chain.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;
using namespace std::chrono_literals;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Writes over the stack that the calls before it have used.
[[gnu::noinline]] void use_stack() {
    std::array<unsigned char, 16384> bytes;
    volatile unsigned char* const at = bytes.data();
    for (std::size_t i = 0; i != bytes.size(); ++i) at[i] = 0xa5;
}

// The time of what should end by other means: what hangs ends after it.
constexpr auto long_enough = 60s;

using ints = std::vector<int>;
using counts = std::vector<std::size_t>;

static_assert(bough::detail::number_of_name({}) == 0, "a call without a name");
static_assert(bough::detail::number_of_name("") != 0 && bough::detail::number_of_name("a") != 0);
static_assert(bough::detail::number_of_name("a") != bough::detail::number_of_name("b"));

} // namespace

TEST_CASE("named: a call that waits keeps the lengths of its blocks") {
    std::atomic<int> wrong{0};
    in_process{3}.run([&](auto transport) {
        communicator base{std::move(transport)};
        auto comm = duplicate(base);
        comm.set_timeout(long_enough);
        const rank_t r = comm.rank(), p = comm.size();
        // Rank r sends r + q + 1 elements to rank q.
        counts to(p), blocks(p);
        std::size_t all = 0;
        for (rank_t q = 0; q != p; ++q) to[q] = r + q + 1, all += to[q], blocks[q] = q + 1;
        const std::size_t sum = 6; // 1 + 2 + 3
        ints out(all, static_cast<int>(r)), in(all, -1), own(r + 1, static_cast<int>(r)), gathered(sum, -1),
            at_root(sum, -1), part(r + 1, -1), whole(sum, 1), reduced(r + 1, -1);
        if (r == 0) std::this_thread::sleep_for(50ms); // so the calls of the others wait
        std::vector<operation> flying;
        flying.push_back(start_alltoallv(comm, out, to, in, to, named{"all to all"}));
        flying.push_back(start_allgatherv(comm, own, gathered, blocks, named{"allgather"}));
        flying.push_back(start_gatherv(comm, own, at_root, blocks, root{0}, named{"gather"}));
        flying.push_back(start_scatterv(comm, whole, part, blocks, root{0}, named{"scatter"}));
        flying.push_back(start_reduce_scatterv(comm, whole, reduced, blocks, plus{}, named{"reduce-scatter"}));
        use_stack();
        to.assign(p, 0), blocks.assign(p, 0); // what was given is the caller's again
        for (operation& op : flying) op.wait();
        std::size_t at = 0;
        for (rank_t q = 0; q != p; ++q)
            for (std::size_t i = 0; i != r + q + 1u; ++i) wrong += in[at++] != static_cast<int>(q);
        wrong += gathered != ints{0, 1, 1, 2, 2, 2} || (r == 0 && at_root != gathered);
        wrong += part != ints(r + 1, 1) || reduced != ints(r + 1, 3);
    });
    CHECK(wrong == 0);
}

TEST_CASE("named: a call that waits ends with the epoch, and the next communicator is not touched") {
    enum class then { wait, cancel, destroy, start };
    for (const then what : {then::wait, then::cancel, then::destroy, then::start}) {
        std::atomic<int> wrong{0};
        std::atomic<bool> has_left{false};
        in_process{3}.run([&](auto transport) {
            communicator base{std::move(transport)};
            auto old = duplicate(base);
            old.set_timeout(long_enough);
            base.set_timeout(long_enough);
            int x = 1;
            status s;
            barrier(base);
            if (base.rank() == 2) {
                has_left = true;
                return;
            }
            while (!has_left) std::this_thread::yield();
            std::optional<operation> kept;
            if (base.rank() == 1) kept = start_allreduce(old, x, plus{}, named{"old"});
            auto rest = shrink(base);
            auto fresh = duplicate(rest); // has the number of `old`
            fresh.set_timeout(long_enough);
            if (kept) {
                switch (what) {
                case then::wait:
                    kept->wait(s);
                    wrong += s.code != errc::group_poisoned && s.code != errc::peer_dead;
                    break;
                case then::cancel: kept->cancel(); break;
                case then::destroy: kept.reset(); break;
                case then::start:
                    allreduce(old, std::span(&x, 1), plus{}, named{"other"}, s);
                    wrong += s.code != errc::group_poisoned;
                    break;
                }
                old.progress();
            }
            int y = 1;
            allreduce(fresh, std::span(&y, 1), plus{}, named{"fresh"}, s);
            wrong += bool(s) || y != 2;
            if (kept) {
                const errc how = kept->done() ? kept->result().code : errc::ok;
                wrong += how != errc::group_poisoned && how != errc::peer_dead && how != errc::cancelled;
                kept.reset();
            }
            y = 1;
            allreduce(fresh, std::span(&y, 1), plus{}, named{"again"}, s);
            wrong += bool(s) || y != 2;
            barrier(rest);
        });
        CAPTURE(static_cast<int>(what));
        CHECK(wrong == 0);
    }
}

TEST_CASE("named: a call's time counts from its start, also when it has waited") {
    for (const bool is_set : {false, true}) {
        std::atomic<int> wrong{0};
        in_process{2}.run([&](auto transport) {
            communicator base{std::move(transport)};
            auto comm = duplicate(base);
            base.set_timeout(long_enough);
            comm.set_timeout(long_enough);
            int x = 1, y = 1;
            status s;
            if (comm.rank() == 0) {
                operation first = start_allreduce(comm, x, plus{}, named{"first"});
                operation second = start_broadcast(comm, std::span(&y, 1), root{1}, named{"second"});
                barrier(base);
                barrier(base);
                first.wait(s);
                second.wait(s);
                wrong += !s;
            } else {
                barrier(base); // "second" has started on rank 0, behind "first"
                if (!is_set) comm.set_timeout(300ms);
                operation op = start_allreduce(comm, y, plus{}, named{"never"});
                if (is_set) op.set_timeout(300ms);
                comm.set_timeout(long_enough); // of later calls
                std::this_thread::sleep_for(200ms);
                wrong += op.done();
                const auto from = std::chrono::steady_clock::now();
                op.wait(s);
                wrong += !is_deadline(s) || std::chrono::steady_clock::now() - from > 5s;
                barrier(base);
            }
        });
        CAPTURE(is_set);
        CHECK(wrong == 0);
    }
}

TEST_CASE("named: a call that has had its turn has the time and the priority of its start") {
    for (const bool is_set : {false, true}) {
        std::atomic<int> wrong{0};
        in_process{3}.run([&](auto transport) {
            communicator base{std::move(transport)};
            auto comm = duplicate(base);
            base.set_timeout(long_enough);
            comm.set_timeout(long_enough);
            int x = 1;
            status s;
            switch (comm.rank()) {
            case 0: {
                barrier(base);
                operation op = start_allreduce(comm, x, plus{}, named{"a"});
                barrier(base);
                op.wait(s);
                wrong += !s;
                break;
            }
            case 1: {
                if (!is_set) comm.set_timeout(400ms);
                operation op = start_allreduce(comm, x, plus{}, named{"a"});
                if (is_set) op.set_timeout(400ms);
                comm.set_timeout(long_enough); // of later calls
                barrier(base);
                barrier(base);
                const auto from = std::chrono::steady_clock::now();
                op.wait(s);
                wrong += !is_deadline(s) || std::chrono::steady_clock::now() - from > 5s;
                break;
            }
            default: // never calls it
                barrier(base);
                barrier(base);
            }
            barrier(base);
        });
        CAPTURE(is_set);
        CHECK(wrong == 0);
    }
}

TEST_CASE("named: the time of a call that has waited runs from its turn, though nobody looks at it for long") {
    constexpr std::uint64_t time_ns = 1'000'000'000;
    simulated world(3);
    std::deque<communicator<simulated::endpoint>> comms;
    for (rank_t r = 0; r != 3; ++r) comms.emplace_back(world.connect(r)).set_timeout_ns(100 * time_ns);
    comms[1].set_timeout_ns(time_ns);
    int x = 1, y = 1;
    operation waits = start_allreduce(comms[1], y, plus{}, named{"a"});
    operation first = start_allreduce(comms[0], x, plus{}, named{"a"}); // rank 2 never calls it
    for (int i = 0; i != 16; ++i) {                                     // too few for a look at deadlines
        for (auto& comm : comms) comm.progress();
        world.advance();
    }
    world.advance_to(world.now_ns() + 2 * time_ns);
    // A rank that looks too late takes its time for the search, but no more than a fifth of all.
    for (const std::uint64_t last = world.now_ns() + time_ns / 2; world.now_ns() < last && !waits.done();) {
        for (int i = 0; i != 100; ++i) {
            for (auto& comm : comms) comm.progress();
            world.advance();
        }
        world.advance_to(world.now_ns() + time_ns / 100);
    }
    REQUIRE(waits.done());
    CHECK(is_deadline(waits.result()));
}

TEST_CASE("named: a call that waits for its turn needs no communicator handle") {
    std::atomic<int> wrong{0};
    in_process{3}.run([&](auto transport) {
        communicator base{std::move(transport)};
        auto comm = std::optional(duplicate(base));
        comm->set_timeout(long_enough);
        int x = 1;
        if (comm->rank() == 0) std::this_thread::sleep_for(50ms);
        operation op = start_allreduce(*comm, x, plus{}, named{"a"});
        comm.reset();
        status s;
        op.wait(s);
        wrong += bool(s) || x != 3;
        barrier(base);
    });
    CHECK(wrong == 0);
}

TEST_CASE("named: a call with a name and one without match on no rank") {
    for (const rank_t with : {0u, 1u}) {
        std::vector<status> ends(2);
        in_process{2}.run([&](auto transport) {
            communicator base{std::move(transport)};
            auto comm = duplicate(base);
            // One that waits for the first rank to start it ends by its time. The other mismatch is found before.
            if (with == 1)
                comm.set_timeout(500ms);
            else
                comm.set_timeout(long_enough);
            int x = 1;
            const rank_t r = comm.rank();
            if (r == with)
                allreduce(comm, std::span(&x, 1), plus{}, named{"a"}, ends[r]);
            else
                allreduce(comm, std::span(&x, 1), plus{}, ends[r]);
            barrier(base);
        });
        CAPTURE(with);
        for (const status& s : ends) {
            CAPTURE(message_of(s));
            if (with == 0) {
                CHECK(s.code == errc::call_mismatch);
                CHECK(s.mismatch == mismatch::name);
                CHECK(has(message_of(s), "the name differs"));
                CHECK(has(message_of(s), "no name"));
            } else { // it waits for the first rank to start it
                CHECK((is_deadline(s) || s.code == errc::peer_aborted));
            }
        }
    }
}

TEST_CASE("named: a communicator whose calls have names makes no other, and goes on") {
    std::atomic<int> wrong{0};
    in_process{2}.run([&](auto transport) {
        communicator base{std::move(transport)};
        auto comm = duplicate(base);
        comm.set_timeout(long_enough);
        barrier(comm, named{"first"});
        status s;
        const auto refused = [&] { wrong += s.code != errc::invalid_argument || !has(message_of(s), "names"); };
        wrong += duplicate(comm, s).has_value(), refused();
        wrong += split(comm, 0, s).has_value(), refused();
        int x = 1;
        allreduce(comm, std::span(&x, 1), plus{}, named{"second"}, s);
        wrong += bool(s) || x != 2;
    });
    CHECK(wrong == 0);
}

TEST_CASE("named: operations that have ended do not count as in flight") {
    std::atomic<int> wrong{0};
    in_process{2}.run([&](auto transport) {
        communicator base{std::move(transport)};
        auto comm = duplicate(base);
        comm.set_timeout(long_enough);
        ints x(4200, 1);
        std::vector<operation> all;
        for (std::size_t i = 0; i != x.size(); ++i) {
            all.push_back(start_allreduce(comm, x[i], plus{}, named{std::to_string(i)}));
            if (i % 64 == 63) { // they have ended, and no handle was asked
                status s;
                int y = 1;
                allreduce(comm, std::span(&y, 1), plus{}, named{"between"}, s);
                wrong += bool(s);
            }
        }
        for (operation& op : all) {
            status s;
            op.wait(s);
            wrong += bool(s);
        }
    });
    CHECK(wrong == 0);
}

TEST_CASE("named: only a call that waited in vain says what it waited for") {
    std::string says;
    in_process{3}.run([&](auto transport) {
        communicator base{std::move(transport)};
        auto comm = duplicate(base);
        int x = 1, y = 1, z = 1;
        status s;
        if (comm.rank() == 0) {
            operation started = start_allreduce(comm, z, plus{}, named{"started"});
            operation a = start_allreduce(comm, x, plus{}, named{"a"});
            operation b = start_allreduce(comm, y, plus{}, named{"b"});
            barrier(base);
            std::this_thread::sleep_for(600ms);
            for (operation* op : {&started, &a, &b}) op->wait(s);
        } else if (comm.rank() == 2) { // calls none of them
            barrier(base);
        } else {
            barrier(base); // the first rank has started them: none of its calls waits for its turn in vain
            comm.set_timeout(10ms);
            operation started = start_allreduce(comm, z, plus{}, named{"started"});
            comm.set_timeout(200ms);
            operation b = start_allreduce(comm, y, plus{}, named{"b"}); // never "a"
            b.wait(s);
            try {
                started.wait();
            } catch (const error& e) {
                says = e.what();
            }
        }
        barrier(base);
    });
    CAPTURE(says);
    CHECK(has(says, "started"));
    CHECK_FALSE(has(says, "waited for"));
}

TEST_CASE("named: a call that the first rank will never start ends, whatever else is due") {
    for (const bool dies : {false, true}) {
        std::atomic<int> wrong{0};
        in_process{2}.run([&](auto transport) {
            std::optional<communicator<in_process::endpoint>> base(std::in_place, std::move(transport));
            std::optional comm(duplicate(*base));
            comm->set_timeout_ns(forever);
            int x = 1;
            status s;
            if (comm->rank() == 0) {
                broadcast(*comm, std::span(&x, 1), root{0}, named{"due"}, s); // which ends without the other rank
                comm.reset();
                if (dies) return;
            } else {
                operation never = start_allreduce(*comm, x, plus{}, named{"never"});
                never.wait(s);
                // A rank that dies has let the communicator go before that.
                wrong += s.code != errc::peer_aborted && !(dies && s.code == errc::peer_dead);
                wrong += s.peer != 0;
                if (dies) return;
                broadcast(*comm, std::span(&x, 1), root{0}, named{"due"}, s);
                wrong += bool(s);
            }
            barrier(*base);
        });
        CAPTURE(dies);
        CHECK(wrong == 0);
    }
}

TEST_CASE("named: a rank may be thousands of calls behind the first one, which waits for it then") {
    for (const bool polls : {false, true}) {
        std::atomic<int> wrong{0}, made{0};
        in_process{3}.run([&](auto transport) {
            constexpr int count = 7000, at_once = 100;
            communicator base{std::move(transport)};
            auto comm = duplicate(base);
            base.set_timeout(long_enough);
            comm.set_timeout(long_enough);
            int y = 1;
            operation other;
            if (comm.rank() == 2) { // the last of the chain: the first rank needs nothing of it
                if (polls) other = start_broadcast(base, std::span(&y, 1), root{0});
                while (made < 5'000) // so far it does not wait: 4,096 and a quarter more
                    polls ? void(other.poll()) : std::this_thread::sleep_for(1ms);
                for (int last = -1, same = 0; same < 200 && made != count; ++same) { // until the first one waits
                    if (std::exchange(last, made.load()) != made) same = 0;
                    polls ? void(other.poll()) : std::this_thread::sleep_for(1ms);
                    std::this_thread::sleep_for(1ms);
                }
                wrong += made == count;
            }
            for (int i = 0; i != count; i += at_once) {
                ints data(at_once, 1);
                std::vector<operation> all;
                for (int k = 0; k != at_once; ++k)
                    all.push_back(start_broadcast(comm, std::span(&data[static_cast<std::size_t>(k)], 1), root{0},
                                                  chain{}, named{std::to_string(i + k)}));
                for (operation& op : all) {
                    status s;
                    op.wait(s);
                    wrong += bool(s);
                }
                if (comm.rank() == 0) made = i + at_once;
            }
            if (polls && comm.rank() != 2) other = start_broadcast(base, std::span(&y, 1), root{0});
            if (polls) other.wait();
            barrier(base);
        });
        CAPTURE(polls);
        CHECK(wrong == 0);
    }
}

TEST_CASE("named: a deadline of a call that waits is reported, and its neighbours say that it was another's") {
    std::atomic<int> wrong{0}, reports{0};
    in_process{2}.run([&](auto transport) {
        communicator base{std::move(transport)};
        auto comm = duplicate(base);
        comm.set_timeout_ns(forever);
        int x = 1, y = 1;
        status s;
        if (comm.rank() == 1) {
            comm.core()->options.report.on_failure = report_sink{
                [](const report_sink& c, const rank_report&) { ++*static_cast<std::atomic<int>*>(c.context); },
                &reports};
            operation late = start_allreduce(comm, x, plus{}, named{"late"});
            operation neighbour = start_allreduce(comm, y, plus{}, named{"neighbour"});
            late.set_timeout(100ms);
            neighbour.wait(s);
            wrong += s.code != errc::group_poisoned || s.cause != errc::deadline;
            late.wait(s);
            wrong += !is_deadline(s);
        }
        barrier(base);
    });
    CHECK(wrong == 0);
    CHECK(reports == 1);
}

TEST_CASE("named: one call too many ends those whose time is up, and is an error") {
    std::atomic<int> wrong{0};
    in_process{2}.run([&](auto transport) {
        constexpr std::size_t most = detail::call_order<in_process::endpoint>::most_calls;
        communicator base{std::move(transport)};
        auto comm = duplicate(base);
        comm.set_timeout_ns(forever);
        if (comm.rank() == 1) {
            ints x(most + 1, 1);
            std::vector<operation> all;
            for (std::size_t i = 0; i != most; ++i)
                all.push_back(start_allreduce(comm, x[i], plus{}, named{std::to_string(i)}));
            all[0].set_timeout(1ms);
            std::this_thread::sleep_for(10ms);
            all.push_back(start_allreduce(comm, x[most], plus{}, named{"more"}));
            for (operation& op : all) {
                status s;
                op.wait(s);
                wrong += !s;
            }
        }
        barrier(base);
    });
    CHECK(wrong == 0);
}

TEST_CASE("named: a name of any length is kept whole, beside what else a call keeps") {
    for (std::size_t n = 1; n <= 64; ++n) {
        in_process world{2};
        communicator comm{world.connect(0)}, other{world.connect(1)};
        comm.set_timeout(1ms);
        const std::string name = std::string(n - 1, 'n') + '!';
        ints own{1}, gathered(3);
        operation op = start_allgatherv(comm, own, gathered, counts{1, 2}, named{std::string(name)});
        use_stack();
        try {
            op.wait(); // the other rank does not come
            FAIL("it has ended well");
        } catch (const error& e) {
            CAPTURE(n, e.what());
            CHECK(has(e.what(), '\'' + name + '\''));
        }
    }
}

#if defined(__unix__)
TEST_CASE("named: in the child of a fork, calls that wait for their turn, or have had it, have ended") {
    for (const bool in_turn : {false, true}) {
        CAPTURE(in_turn);
        in_process world{2};
        communicator first{world.connect(0)}, other{world.connect(1)};
        auto &here = in_turn ? first : other,
             &there = in_turn ? other : first; // the first rank's calls wait for no turn
        int x = 1, y = 1;
        operation op = start_allreduce(here, std::span(&x, 1), plus{}, named{"it"});
        for (int i = 0; i != 100; ++i) here.progress();
        CHECK_FALSE(op.done());
        CHECK(bough_test::holds_in_child("wait", [&] { return bough_test::says_forked_child(op); }));
        CHECK(bough_test::holds_in_child("destroy", [&] { return operation(std::move(op)).done() || true; }));
        CHECK_FALSE(op.done());
        operation its = start_allreduce(there, std::span(&y, 1), plus{}, named{"it"});
        bough_test::until([&] { return op.done() && its.done(); },
                          [&] {
                              here.progress();
                              there.progress();
                          });
        CHECK((x == 2 && y == 2));
    }
}
#endif
