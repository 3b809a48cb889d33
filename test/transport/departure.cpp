// SPDX-License-Identifier: BSL-1.0
// What the ranks of a group see of one that leaves or throws: an error, soon, and never a hang.
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/in_process.hpp>

#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

using namespace bough;

namespace {

// How the ranks that stayed ended, and that they did so well before any deadline.
struct outcomes {
    std::mutex guard;
    std::vector<status> seen;
    std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();

    void add(const status& s) {
        const std::scoped_lock lock(guard);
        seen.push_back(s);
    }
    void check(std::size_t ranks) const {
        CHECK(seen.size() == ranks);
        for (const status& s : seen) {
            CAPTURE(message_of(s));
            const bool told = s.code == errc::peer_aborted || s.code == errc::group_poisoned;
            CHECK((s.code == errc::peer_dead || (told && s.cause == errc::peer_dead)));
        }
        CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
    }
};

} // namespace

TEST_CASE("in_process: one rank throws, run rethrows it, the others end with an error") {
    for (const std::size_t count : {std::size_t{1}, std::size_t{20'000}})
        for (rank_t culprit = 0; culprit != 5; ++culprit) {
            outcomes others;
            const auto body = [&](auto end) {
                communicator comm{std::move(end)};
                std::vector<double> x(count, 1.0);
                status s;
                for (int i = 0; i != 3 && !s; ++i) {
                    if (comm.rank() == culprit && i == 1) throw std::runtime_error("rank is tired");
                    allreduce(comm, std::span(x), plus{}, recursive_doubling{}, s);
                }
                others.add(s);
            };
            CHECK_THROWS_WITH(in_process(5).run(body), "rank is tired");
            others.check(4);
        }
}

TEST_CASE("in_process: where the others throw in their turn, run rethrows the cause") {
    for (int turn = 0; turn != 20; ++turn)
        CHECK_THROWS_WITH(in_process(4).run([&](auto end) {
            communicator comm{std::move(end)};
            if (comm.rank() == static_cast<rank_t>(turn % 4)) throw std::runtime_error("the cause");
            for (;;) barrier(comm);
        }),
                          "the cause");
}

// A long message that its receiver never reads: its sender waits for nobody else.
TEST_CASE("in_process: a rank that leaves before it was sent to") {
    outcomes others;
    in_process(2).run([&](auto end) {
        communicator comm{std::move(end)};
        if (comm.rank() == 1) return;
        std::vector<double> x(20'000, 1.0);
        status s;
        broadcast(comm, std::span(x), root{0}, s);
        others.add(s);
    });
    others.check(1);
}

TEST_CASE("in_process: a rank that leaves after its part leaves no trace") {
    in_process(6).run([](auto end) {
        communicator comm{std::move(end)};
        std::vector<int> x(5000, comm.rank() == 2 ? 7 : 0);
        broadcast(comm, std::span(x), root{2});
        if (x.back() != 7) throw std::runtime_error("wrong result");
    });
}
