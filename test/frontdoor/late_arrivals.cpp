// SPDX-License-Identifier: BSL-1.0
// Ranks that are expected to come late, as threads: results in rank order whoever comes last, on every kind
// of communicator; that nobody is needed once all have come; calls that differ, and every other failure.
#include "frontdoor/late_arrivals.hpp"

#include "support/catch.hpp"
#include "support/until.hpp"
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/broadcast.hpp>
#include <bough/communicator.hpp>
#include <bough/error.hpp>
#include <bough/group.hpp>
#include <bough/op/exact_sum.hpp>
#include <bough/op/min_max.hpp>
#include <bough/progress/thread.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/serialised.hpp>
#include <bough/tree/binomial.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;
using bough_test::mixed;
using bough_test::until;
using test::late::exercise;
using test::late::is;
using test::late::late;
using test::late::sum_until_an_error;

namespace {

using comm_type = communicator<in_process::endpoint>;

template <class F>
void threads(rank_t ranks, F&& f, const communicator_options& options = {}) {
    in_process{ranks}.run([&](auto transport) {
        communicator comm{std::move(transport), options};
        f(comm);
    });
}

// Nothing commutes or associates: the bits show the bracket.
struct bracket_of {
    std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return mixed(a * 3 + mixed(b)); }
};

} // namespace

TEST_CASE("late ranks: every number of threads, every root, in rank order, whoever comes last") {
    for (rank_t p = 1; p != 8; ++p) {
        std::atomic<int> wrong{0};
        threads(p, [&](comm_type& comm) { wrong += exercise(comm, 150); });
        CHECK(wrong == 0);
    }
}
TEST_CASE("late ranks: on duplicates and splits, also at the same time, in any order") {
    std::atomic<int> wrong{0};
    threads(6, [&](comm_type& comm) {
        comm_type twin = duplicate(comm), part = split(comm, comm.rank() % 2, 6 - comm.rank());
        wrong += exercise(twin, 40) + exercise(part, 40);
        std::uint64_t x = 1, y = 1, z = 1;
        const auto start = [&](comm_type& on, std::uint64_t& value) {
            return start_allreduce(on, value, plus{}, late);
        };
        operation a, b, c;
        if (comm.rank() % 3 == 0)
            a = start(comm, x), b = start(twin, y), c = start(part, z);
        else
            c = start(part, z), b = start(twin, y), a = start(comm, x);
        a.wait(), b.wait(), c.wait();
        wrong += x != 6 || y != 6 || z != 3;
        wrong += exercise(comm, 40);
    });
    CHECK(wrong == 0);
}
TEST_CASE("late ranks: once all have come the result is there, though every other rank is at work elsewhere") {
    for (const rank_t p : {2u, 5u, 8u})
        for (rank_t last = 0; last != p; ++last) {
            std::atomic<rank_t> came{0};
            std::atomic<int> wrong{0};
            threads(p, [&](comm_type& comm) {
                const rank_t me = comm.rank();
                std::uint64_t x = me;
                until([&] { return me != last || came == p - 1; });
                operation op = start_reduce(comm, x, plus{}, root{0}, late);
                wrong += me != 0 && !op.done(); // it has done its part
                ++came;
                until([&] { return came >= p; });
                if (me == 0) {
                    wrong += !op.poll() || x != p * (p - 1) / 2; // looked at once
                    came = p + 1;
                }
                until([&] { return came == p + 1; }); // calls nothing meanwhile
            });
            CHECK(wrong == 0);
        }
}
TEST_CASE("late ranks: the bits are those of the binomial tree by messages, whatever the root") {
    for (rank_t p = 1; p != 18; ++p) {
        std::atomic<int> wrong{0};
        threads(p, [&](comm_type& comm) {
            std::uint64_t of_tree = comm.rank(), of_all = comm.rank(), of_root = comm.rank();
            reduce(comm, std::span(&of_tree, 1), bracket_of{}, root{0}, binomial{});
            allreduce(comm, std::span(&of_all, 1), bracket_of{}, late);
            reduce(comm, std::span(&of_root, 1), bracket_of{}, root{p - 1}, late);
            wrong += comm.rank() == 0 && of_tree != of_all;
            broadcast(comm, std::span(&of_tree, 1), root{0});
            wrong += of_all != of_tree;
            wrong += of_root != (comm.rank() == p - 1 ? of_tree : comm.rank());
        });
        CHECK(wrong == 0);
    }
}
TEST_CASE("late ranks: values, lifted ops, blocking and bound calls; a barrier waits for the last rank") {
    std::atomic<int> wrong{0}, came{0};
    threads(5, [&](comm_type& comm) {
        const double s = allreduce(comm, 0.1 * comm.rank(), exact_sum{}, late);
        wrong += s != allreduce(comm, 0.1 * comm.rank(), exact_sum{});
        wrong += allreduce(comm, int(comm.rank()), max{}, late) != 4;
        std::uint64_t x = 1;
        persistent_operation bound = bind_allreduce(comm, x, plus{}, late);
        for (int i = 0; i != 20; ++i) {
            x = comm.rank();
            bound.start();
            bound.wait();
            wrong += x != 10;
        }
        if (comm.rank() == 3) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        ++came;
        barrier(comm, late);
        wrong += came != 5;
        // Other collectives take the choice, too, and are done by messages.
        wrong += broadcast(comm, comm.rank() + 7u, root{2}, late) != 9;
    });
    CHECK(wrong == 0);
}
TEST_CASE("late ranks: without memory for places, and after a shrink, messages do it") {
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1000}, std::uint64_t{20'000}}) {
        std::atomic<int> wrong{0};
        in_process{3, {.common_bytes = bytes}}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            auto twin = duplicate(comm);
            wrong += exercise(comm, 60) + exercise(twin, 60);
            auto rest = shrink(comm);
            wrong += exercise(rest, 60);
        });
        CHECK(wrong == 0);
    }
}
TEST_CASE("late ranks: another call on one rank is an error on every rank") {
    std::array<status, 4> said;
    const auto all = [&](auto&& call) {
        threads(4,
                [&](comm_type& comm) {
                    std::vector<std::uint64_t> x(8, 1);
                    status s;
                    operation op = call(comm, std::span(x));
                    op.wait(s);
                    // A rank whose part was done before is told in its next call.
                    if (!s) s = sum_until_an_error(comm);
                    said[comm.rank()] = s;
                    status next;
                    start_allreduce(comm, x, plus{}, late).wait(next);
                    if (!is(next, s.code == errc::peer_aborted ? s.cause : s.code)) said[comm.rank()] = {};
                },
                {.timeout_ns = 20'000'000'000});
    };
    using data = std::span<std::uint64_t>;
    const auto check = [&](mismatch what) {
        for (const status& s : said) {
            CHECK(is(s, errc::call_mismatch));
            CHECK(s.mismatch == what);
        }
    };
    all([](comm_type& comm, data x) { return start_reduce(comm, x, plus{}, root{comm.rank() == 2 ? 1u : 0u}, late); });
    check(mismatch::root);
    all([](comm_type& comm, data x) { return start_allreduce(comm, comm.rank() == 1 ? x.first(7) : x, plus{}, late); });
    check(mismatch::count);
    all([](comm_type& comm, data x) {
        return comm.rank() == 3 ? start_allreduce(comm, x, max{}, late) : start_allreduce(comm, x, plus{}, late);
    });
    check(mismatch::op);
    all([](comm_type& comm, data x) {
        return comm.rank() == 0 ? start_barrier(comm, late) : start_allreduce(comm, x, plus{}, late);
    });
    check(mismatch::collective);
    // One rank does not expect late ranks: by messages it is another plan.
    for (const rank_t odd : {0u, 1u, 3u}) {
        all([&](comm_type& comm, data x) {
            return start_allreduce(comm, x, plus{}, automatic{.late_ranks = comm.rank() != odd});
        });
        check(mismatch::plan);
        all([&](comm_type& comm, data x) {
            return start_reduce(comm, x, plus{}, root{0}, automatic{.late_ranks = comm.rank() == odd});
        });
        check(mismatch::plan);
    }
    // The same call, but not in the same place.
    all([](comm_type& comm, data x) {
        if (comm.rank() == 1) return start_allreduce(comm, x, plus{}, late);
        operation first = start_barrier(comm);
        status s;
        first.wait(s);
        return start_allreduce(comm, x, plus{}, late);
    });
    for (const status& s : said) CHECK(is(s, errc::call_mismatch));
    // A call that breaks a rule on one rank.
    all([](comm_type& comm, data x) { return start_reduce(comm, x, plus{}, root{comm.rank() == 2 ? 9u : 0u}, late); });
    for (const status& s : said) CHECK(is(s, errc::invalid_argument));
}
TEST_CASE("late ranks: an op that throws, and one that throws in a helper's thread, are errors on every rank") {
    struct throws {
        std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const {
            if (a + b > 2) throw std::runtime_error("no");
            return a + b;
        }
    };
    std::atomic<int> right{0};
    threads(4, [&](comm_type& comm) {
        std::uint64_t x = 1;
        status s;
        start_allreduce(comm, x, throws{}, late).wait(s);
        right += is(s, errc::op_threw);
    });
    CHECK(right == 4);
}
TEST_CASE("late ranks: a deadline names who has not come, and who has not looked at a result") {
    std::array<status, 4> said;
    std::atomic<int> started{0}, over{0};
    threads(4, [&](comm_type& comm) {
        std::uint64_t x = 1;
        operation op;
        if (comm.rank() != 2) op = start_allreduce(comm, x, plus{}, late);
        ++started;
        until([&] { return started == 4; }); // who has come is known
        if (comm.rank() == 1) op.set_timeout_ns(200'000'000);
        if (comm.rank() != 2) op.wait(said[comm.rank()]);
        ++over;
        until([&] { return over == 4; });
    });
    said[2] = said[1];
    for (const status& s : said) {
        CHECK(is(s, errc::deadline));
        CHECK((s.peer == 2 && names_missing(s) && s.missing == 1));
    }
    // Rank 1 is the root, has come to all calls first, and never looks.
    started = over = 0;
    threads(3, [&](comm_type& comm) {
        constexpr std::size_t many = detail::late_places::banks + 1;
        std::array<std::uint64_t, many> x{};
        std::array<operation, many> ops;
        const std::size_t mine = comm.rank() == 1 ? many - 1 : many;
        until([&] { return comm.rank() == 1 || started == 1; });
        for (std::size_t i = 0; i != mine; ++i) ops[i] = start_reduce(comm, x[i], plus{}, root{1}, late);
        if (comm.rank() == 1) started = 1;
        const bool has_left = ops[0].done() && ops[many - 2].done();
        if (comm.rank() != 1) {
            if (!has_left || ops[many - 1].done()) said[comm.rank()] = {.code = errc::protocol_error};
            ops[many - 1].set_timeout_ns(300'000'000);
            ops[many - 1].wait(said[comm.rank()]);
        }
        ++over;
        until([&] { return over == 3; });
        for (operation& op : ops) { // each has ended, or ends now
            status s;
            if (comm.rank() == 1) op.wait(s);
        }
    });
    for (const rank_t r : {0u, 2u}) {
        CHECK(is(said[r], errc::deadline));
        CHECK((said[r].peer == 1 && said[r].missing == 1));
    }
}
TEST_CASE("late ranks: who leaves after its part is not missed, and who leaves before it is an error") {
    for (const bool before : {false, true}) {
        std::atomic<int> wrong{0};
        std::atomic<bool> gone{false};
        threads(3, [&](comm_type& given) {
            std::uint64_t x = given.rank() + 1;
            operation op;
            {
                comm_type comm = std::move(given);
                if (comm.rank() == 1 && before) {
                    comm_type over = std::move(comm);
                    gone = true;
                    return;
                }
                until([&] { return comm.rank() != 2 || gone; });
                op = start_reduce(comm, x, plus{}, root{0}, late);
                if (comm.rank() == 1) {
                    wrong += !op.done();
                    gone = true;
                    op = {};
                    return;
                }
            }
            if (op.done() && !op.result()) return;
            status s;
            op.wait(s);
            wrong += before ? !is(s, errc::peer_dead) || s.peer != 1 : bool(s) || x != 6;
        });
        CHECK(wrong == 0);
    }
}
TEST_CASE("late ranks: an operation that is cancelled or destroyed ends its communicator, and no other one") {
    for (const bool destroy : {false, true}) {
        std::atomic<int> wrong{0}, started{0}, over{0};
        std::atomic<bool> given_up{false};
        threads(3, [&](comm_type& given) {
            const auto expect = [&](bool holds) { wrong += holds ? 0 : 1; };
            comm_type comm = duplicate(given), kept = duplicate(given);
            std::uint64_t x = 1, y = 1, z = 1;
            status s, t;
            operation other = start_allreduce(kept, z, plus{}, late);
            if (comm.rank() == 2) {
                until([&] { return given_up.load(); });
                expect(is(sum_until_an_error(comm), errc::cancelled)); // it may come before it hears of it
            } else {
                operation op = start_allreduce(comm, x, plus{}, late);
                operation behind = start_allreduce(comm, y, plus{}, late);
                ++started;
                until([&] { return started == 2; });
                if (comm.rank() == 1) {
                    if (destroy) {
                        op = {};
                    } else {
                        op.cancel();
                        op.wait(s);
                        expect(s.code == errc::cancelled);
                    }
                    given_up = true;
                } else {
                    op.wait(s);
                    expect(s.code == errc::peer_aborted && s.cause == errc::cancelled && s.peer == 1);
                }
                behind.wait(t);
                expect(is(t, errc::cancelled));
            }
            ++over;
            until([&] { return over == 3; }, [&] { given.progress(); });
            for (const auto choice : {late, automatic{}}) { // by messages, too
                start_allreduce(comm, x, plus{}, choice).wait(s);
                expect(s.code == errc::group_poisoned && s.cause == errc::cancelled);
            }
            expect(comm.poison() && !kept.poison() && !given.poison());
            other.wait(t);
            expect(!t && z == 3);
            wrong += exercise(kept, 30) + exercise(given, 30);
        });
        CHECK(wrong == 0);
    }
}
TEST_CASE("late ranks: a rank that has done its part and gone on hears that the call was given up") {
    // Ranks 0 and 2 are done with the reduce. Its root gives it up, and makes no further call of the
    // communicator.
    for (const bool at_deadline : {false, true}) {
        std::atomic<int> wrong{0}, over{0};
        threads(4, [&](comm_type& given) {
            const auto expect = [&](bool holds) { wrong += holds ? 0 : 1; };
            const errc why = at_deadline ? errc::deadline : errc::cancelled;
            comm_type comm = duplicate(given);
            std::uint64_t x = 1;
            status s;
            if (comm.rank() != 3) {
                operation op = start_reduce(comm, x, plus{}, root{1}, late);
                if (comm.rank() == 1) {
                    at_deadline ? op.set_timeout_ns(200'000'000) : op.cancel();
                    op.wait(s);
                    expect(s.code == why && (!at_deadline || (names_missing(s) && s.missing >= 1)));
                } else {
                    op.wait(s);
                    expect(!s || is(s, why)); // the notice may come before the call
                }
            }
            until([&] { return bool(comm.poison()); }, [&] { given.progress(); });
            expect(is(comm.poison(), why));
            ++over;
            until([&] { return over == 4; }, [&] { given.progress(); });
            start_reduce(comm, x, plus{}, root{1}, late).wait(s);
            expect(s.code == errc::group_poisoned && s.cause == why);
            wrong += exercise(given, 30);
        });
        CHECK(wrong == 0);
    }
}
TEST_CASE("late ranks: a call that one rank makes by messages and gives up poisons the communicator of the others") {
    std::atomic<int> wrong{0}, over{0}, started{0};
    threads(3, [&](comm_type& given) {
        comm_type comm = duplicate(given);
        std::uint64_t x = 1;
        status s;
        operation op;
        if (comm.rank() != 0) op = start_allreduce(comm, x, plus{}, late);
        ++started;
        until([&] { return started == 3; });
        if (comm.rank() == 0) {
            op = start_allreduce(comm, x, plus{});
            op.cancel();
        }
        op.wait(s);
        wrong += is(s, errc::cancelled) || is(s, errc::call_mismatch) ? 0 : 1;
        until([&] { return bool(comm.poison()); }, [&] { given.progress(); });
        ++over;
        until([&] { return over == 3; }, [&] { given.progress(); });
        start_allreduce(comm, x, plus{}, late).wait(s);
        wrong += s.code == errc::group_poisoned ? 0 : 1;
        wrong += exercise(given, 30);
    });
    CHECK(wrong == 0);
}
TEST_CASE("late ranks: a communicator that gets a used number finds its places as new") {
    std::atomic<int> wrong{0};
    std::atomic<std::uint32_t> highest{0};
    threads(4, [&](comm_type& comm) {
        const auto note = [&](comm_type& made) {
            for (std::uint32_t h = highest; h < made.context() && !highest.compare_exchange_weak(h, made.context());) {
            }
        };
        for (rank_t i = 0; i != 60; ++i) {
            comm_type twin = duplicate(comm);
            // The halves lie with other ranks from one turn to the next, and have another order.
            comm_type part = split(comm, (comm.rank() + i) % 2, i % 3 == 0 ? 4 - comm.rank() : comm.rank());
            note(twin), note(part);
            wrong += exercise(twin, 1 + i % 7) + exercise(part, 3 + i % 5);
            if (i % 4 != 1) continue;
            barrier(comm); // what is poisoned below is over on all ranks
            std::uint64_t x = 1;
            status s;
            if (comm.rank() == 3) continue; // some have left their data, and then the communicator goes
            operation op = start_allreduce(twin, x, plus{}, late);
            if (comm.rank() == 0) op.cancel();
            op.wait(s);
            wrong += is(s, errc::cancelled) ? 0 : 1;
        }
        wrong += exercise(comm, 30);
    });
    CHECK(wrong == 0);
    CHECK(highest < 20);
}
TEST_CASE("late ranks: with a helper thread, and without one over a transport that several threads use") {
    for (const bool helped : {true, false}) {
        std::atomic<int> wrong{0};
        in_process{4}.run([&](auto transport) {
            communicator comm{serialised{std::move(transport)}};
            progress_thread helper;
            if (helped) helper.look_after(comm);
            wrong += exercise(comm, 100);
            std::uint64_t x = 1;
            operation op = start_allreduce(comm, x, plus{}, late);
            if (helped)
                until([&] { return op.done(); }); // never polls
            else
                op.wait();
            wrong += x != 4;
        });
        CHECK(wrong == 0);
    }
}
