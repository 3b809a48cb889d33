// SPDX-License-Identifier: BSL-1.0
// Calls with names: ranks start them in different orders, over every transport; and what goes wrong with
// them is told.
#include "frontdoor/named_calls.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/ring.hpp>
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/communicator/call_order.hpp>
#include <bough/error.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>
#include <bough/operation.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/simulated.hpp>
#if defined(__linux__)
#include <bough/transport/shared_memory.hpp>
#endif

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;
using namespace std::chrono_literals;

namespace {

using test::named_calls::any_order;
using test::named_calls::call_of_rank;
using test::named_calls::number;
using test::named_calls::train;
#if defined(__linux__)
using test::named_calls::train_over;
#endif

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("named: ranks start and wait for calls in any orders, over in_process") {
    for (rank_t p = 1; p != 6; ++p) {
        std::atomic<int> wrong{0};
        in_process{p}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            auto first = duplicate(comm), second = duplicate(comm);
            wrong += train(first, 40, 3, bough_test::seed() + p);
            wrong += train(second, 40, 3, bough_test::seed() + p); // the same names on another communicator
            wrong += train(first, 40, 1, bough_test::seed());
        });
        CAPTURE(p);
        CHECK(wrong == 0);
    }
}
#if defined(__linux__)
TEST_CASE("named: ranks start and wait for calls in any orders, over shared_memory") {
    train_over([](auto& wire) { return shared_memory{wire}; });
}
#endif
TEST_CASE("named: ranks in a simulated world start calls in any orders, whatever their pace") {
    for (rank_t p = 2; p != 6; ++p)
        for (number seed = bough_test::seed(); seed != bough_test::seed() + 6; ++seed) {
            CAPTURE(p, seed);
            std::mt19937_64 random(seed);
            simulated world(p, {.seed = seed, .refuse = seed % 3 == 0 ? 200u : 0u});
            std::deque<communicator<simulated::endpoint>> comms;
            for (rank_t r = 0; r != p; ++r) comms.emplace_back(world.connect(r));
            constexpr std::size_t count = 20;
            std::vector<std::vector<call_of_rank>> calls(p);
            std::vector<std::vector<std::size_t>> order;
            std::vector<std::size_t> started(p, 0);
            for (rank_t r = 0; r != p; ++r) {
                calls[r].resize(count);
                order.push_back(any_order(count, random));
            }
            std::size_t left = p * count;
            for (std::size_t turns = 0; left != 0; ++turns) {
                REQUIRE(turns < 2'000'000);
                const auto r = static_cast<rank_t>(random() % p);
                if (started[r] != count && random() % 4 == 0) {
                    call_of_rank& next = calls[r][order[r][started[r]++]];
                    next.which = order[r][started[r] - 1];
                    next.start(comms[r], 0);
                }
                comms[r].progress();
                (void)world.advance();
                if (turns % 64 != 0) continue;
                left = 0;
                for (rank_t q = 0; q != p; ++q) {
                    left += count - started[q];
                    for (std::size_t i = 0; i != started[q]; ++i) left += calls[q][order[q][i]].handle.done() ? 0u : 1u;
                }
            }
            for (rank_t r = 0; r != p; ++r)
                for (call_of_rank& c : calls[r]) {
                    CHECK_FALSE(c.handle.result());
                    CHECK(c.is_right(r, p, 0));
                }
            CHECK(world.violations() == 0);
        }
}

TEST_CASE("named: every form takes a name, and a bound call has it in each run") {
    std::atomic<int> wrong{0};
    in_process{3}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        std::vector<int> x(4, 1), y(4, 2);
        persistent_operation a = bind_allreduce(comm, x, plus{}, named{"a"});
        persistent_operation b = bind_allreduce(comm, y, plus{}, ring{}, named{"b"});
        for (int i = 0; i != 5; ++i) {
            x.assign(4, 1), y.assign(4, 2);
            (comm.rank() + static_cast<rank_t>(i)) % 2 == 0 ? (a.start(), b.start()) : (b.start(), a.start());
            a.wait(), b.wait();
            wrong += x != std::vector<int>(4, 3) || y != std::vector<int>(4, 6);
        }
        wrong += allreduce(comm, 5, plus{}, named{"value"}) != 15;
        std::error_code ec = make_error_code(errc::deadline);
        wrong += allreduce(comm, 5, max{}, named{"value"}, ec) != 5 || ec;
        status s;
        allreduce(comm, x, y, plus{}, automatic{}, named{"value"}, s);
        wrong += bool(s) || y != std::vector<int>(4, 9);
        barrier(comm, named{std::string(200, 'x')});
    });
    CHECK(wrong == 0);
}

TEST_CASE("named: a call of a name that is in flight is an error, and so are bad names") {
    const std::string long_name(201, 'x');
    for (const std::string& name : {std::string("twice"), std::string(), long_name}) {
        std::atomic<int> told{0}, poisoned{0};
        in_process{3}.run([&](auto transport) {
            communicator base{std::move(transport)};
            auto comm = duplicate(base);
            comm.set_timeout(20s);
            int x = 1, y = 1, z = 1;
            if (comm.rank() == 2) std::this_thread::sleep_for(100ms); // so the first is in flight on the others
            operation first = start_allreduce(comm, x, plus{}, named{"twice"});
            operation second = start_allreduce(comm, y, plus{}, named{name});
            status s;
            second.wait(s);
            const std::string says = message_of(s);
            told += has(says, "named:") && (has(says, "in flight") || has(says, "empty") || has(says, "200 letters"));
            first.wait(s);
            allreduce(comm, std::span(&z, 1), plus{}, named{"later"}, s);
            poisoned += s.code == errc::group_poisoned;
            barrier(base); // other communicators go on
        });
        CAPTURE(name);
        CHECK(told >= 1); // another rank may have heard first
        CHECK(poisoned == 3);
    }
}

TEST_CASE("named: a communicator's calls all have names, or none") {
    std::atomic<int> wrong{0};
    in_process{2}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        auto part = duplicate(comm);
        status s;
        int x = 1;
        barrier(part);
        allreduce(part, std::span(&x, 1), plus{}, named{"late"}, s);
        wrong += s.code != errc::invalid_argument || !has(message_of(s), "without names");
        barrier(part); // all refused it
        auto other = duplicate(comm);
        barrier(other, named{"first"});
        barrier(other, s);
        wrong +=
            !(s.code == errc::invalid_argument && has(message_of(s), "have names")) && s.code != errc::group_poisoned;
        barrier(other, named{"third"}, s);
        wrong += s.code != errc::group_poisoned;
    });
    CHECK(wrong == 0);
}

TEST_CASE("named: a name that does not come on one rank ends by its deadline, which names rank and name") {
    for (const rank_t absent : {0u, 1u}) {
        std::vector<std::string> says(3);
        std::vector<status> ends(3);
        in_process{3}.run([&](auto transport) {
            communicator base{std::move(transport)};
            auto comm = duplicate(base);
            const rank_t r = comm.rank();
            barrier(comm, named{"warm"});
            comm.set_timeout(r == absent ? 20s : 400ms);
            int x = 1;
            if (r != absent) {
                operation op = start_allreduce(comm, x, plus{}, named{"gradient/7"});
                try {
                    op.wait();
                } catch (const error& e) {
                    says[r] = e.what();
                    ends[r] = e.details();
                }
            } else {
                std::this_thread::sleep_for(900ms);
                comm.progress();
            }
            base.set_timeout(20s);
            barrier(base);
        });
        CAPTURE(absent);
        for (rank_t r = 0; r != 3; ++r) {
            if (r == absent) continue;
            CAPTURE(r, says[r]);
            CHECK(is_deadline(ends[r]));
            CHECK(ends[r].peer == absent);
            CHECK(has(says[r], "'gradient/7'"));
            CHECK(has(says[r], "rank " + std::to_string(absent)));
        }
    }
}
TEST_CASE("named: a call that waits for its turn in vain says what this rank has not started") {
    std::string says;
    in_process{2}.run([&](auto transport) {
        communicator base{std::move(transport)};
        auto comm = duplicate(base);
        int x = 1, y = 1;
        status s;
        if (comm.rank() == 0) {
            operation a = start_allreduce(comm, x, plus{}, named{"a"});
            operation b = start_allreduce(comm, y, plus{}, named{"b"});
            a.wait(s);
            b.wait(s);
        } else {
            comm.set_timeout(200ms);
            operation b = start_allreduce(comm, y, plus{}, named{"b"}); // never "a"
            try {
                b.wait();
            } catch (const error& e) {
                says = e.what();
            }
        }
        barrier(base);
    });
    CAPTURE(says);
    CHECK(has(says, "'b' waited for 'a'"));
    CHECK(has(says, "rank 1"));
}
TEST_CASE("named: a name of one rank alone, or of different calls, is an error everywhere") {
    std::vector<status> ends(2);
    in_process{2}.run([&](auto transport) {
        communicator base{std::move(transport)};
        auto comm = duplicate(base);
        std::vector<int> x(comm.rank() + 1u, 1);
        allreduce(comm, x, plus{}, named{"count"}, ends[comm.rank()]); // the counts differ
        barrier(base);
    });
    for (const status& s : ends) CHECK(s.code == errc::call_mismatch);
    in_process{2}.run([&](auto transport) {
        communicator base{std::move(transport)};
        auto comm = duplicate(base);
        comm.set_timeout(300ms);
        int x = 1;
        allreduce(comm, std::span(&x, 1), plus{}, named{comm.rank() == 0 ? "one" : "other"}, ends[comm.rank()]);
        barrier(base);
    });
    for (const status& s : ends) CHECK(is_deadline(s));
}
TEST_CASE("named: a call that is cancelled or destroyed before its turn ends the communicator alone") {
    for (const bool destroyed : {false, true}) {
        std::atomic<int> wrong{0};
        in_process{3}.run([&](auto transport) {
            communicator base{std::move(transport)};
            auto comm = duplicate(base);
            int x = 1, y = 1;
            status s;
            if (comm.rank() == 1) {
                std::optional<operation> early = start_allreduce(comm, x, plus{}, named{"a"});
                if (destroyed) {
                    early.reset();
                } else {
                    early->cancel();
                    wrong += !early->done() || early->result().code != errc::cancelled;
                }
            }
            barrier(base);
            allreduce(comm, std::span(&y, 1), plus{}, named{"a"}, s);
            wrong += !s || (s.code != errc::group_poisoned && s.cause != errc::cancelled);
            barrier(base);
        });
        CAPTURE(destroyed);
        CHECK(wrong == 0);
    }
}
TEST_CASE("named: a call waits for its turn, and the first rank destroys the communicator, or dies") {
    std::atomic<int> wrong{0};
    in_process{2}.run([&](auto transport) {
        communicator base{std::move(transport)};
        auto comm = std::optional(duplicate(base));
        comm->set_timeout(20s);
        int x = 1;
        if (comm->rank() == 0) {
            comm.reset();
        } else {
            status s;
            allreduce(*comm, std::span(&x, 1), plus{}, named{"a"}, s);
            wrong += s.code != errc::peer_aborted || s.peer != 0;
        }
        barrier(base);
    });
    CHECK(wrong == 0);
    in_process{2}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        comm.set_timeout(20s);
        int x = 1;
        if (comm.rank() == 0) return;
        status s;
        allreduce(comm, std::span(&x, 1), plus{}, named{"a"}, s);
        wrong += s.code != errc::peer_dead || s.peer != 0;
    });
    CHECK(wrong == 0);
}
