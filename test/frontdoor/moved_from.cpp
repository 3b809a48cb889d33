// SPDX-License-Identifier: BSL-1.0
// A communicator that has been moved from: whatever is called ends the program with a sentence.
#include "support/catch.hpp"
#include "support/last_words.hpp"
#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/batch.hpp>
#include <bough/broadcast.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/scan.hpp>
#include <bough/transport/in_process.hpp>

#include <utility>
#include <vector>

using namespace bough;

namespace {

// Calls f(a communicator of one rank that has been moved from).
template <class F>
void check_says_so(const char* what, F f) {
    const auto ended = bough_test::last_words_of([&] {
        in_process world{1};
        communicator comm{world.connect(0)};
        const auto other = std::move(comm);
        f(comm);
    });
    INFO(what);
    CHECK(ended.aborted);
    CHECK(ended.has("communicator: it has been moved from, so it has no ranks"));
}

} // namespace

TEST_CASE("frontdoor: a communicator that has been moved from says so, whatever it is asked") {
    std::vector<double> x(3, 1), y(3);
    double one = 1;
    check_says_so("rank", [](auto& comm) { (void)comm.rank(); });
    check_says_so("size", [](auto& comm) { (void)comm.size(); });
    check_says_so("progress", [](auto& comm) { comm.progress(); });
    check_says_so("poison", [](auto& comm) { (void)comm.poison(); });
    check_says_so("set_timeout_ns", [](auto& comm) { comm.set_timeout_ns(1); });
    check_says_so("allreduce", [&](auto& comm) { allreduce(comm, x, plus{}); });
    check_says_so("allreduce of a value", [&](auto& comm) { one = allreduce(comm, one, plus{}); });
    check_says_so("allreduce with an algorithm", [&](auto& comm) { allreduce(comm, x, plus{}, recursive_doubling{}); });
    check_says_so("allreduce of a batch", [&](auto& comm) {
        batch few;
        few.add(one, plus{});
        (void)allreduce(comm, few);
    });
    check_says_so("reduce", [&](auto& comm) { reduce(comm, x, plus{}, root{0}); });
    check_says_so("broadcast", [&](auto& comm) { broadcast(comm, x, root{0}); });
    check_says_so("allgather", [&](auto& comm) { allgather(comm, x, y); });
    check_says_so("scan", [&](auto& comm) { scan(comm, x, plus{}); });
    check_says_so("barrier", [](auto& comm) { barrier(comm); });
    check_says_so("start_allreduce", [&](auto& comm) { start_allreduce(comm, x, plus{}).wait(); });
    check_says_so("bind_allreduce", [&](auto& comm) { (void)bind_allreduce(comm, x, plus{}); });
    check_says_so("report", [](auto& comm) { (void)comm.report(); });
    check_says_so("counters", [](auto& comm) { (void)comm.counters(); });
    check_says_so("transport", [](auto& comm) { (void)comm.transport(); });
    check_says_so("duplicate", [](auto& comm) { (void)duplicate(comm); });
    check_says_so("split", [](auto& comm) { (void)split(comm, 0); });
    check_says_so("agree", [](auto& comm) { (void)agree(comm, 1); });
    check_says_so("shrink", [](auto& comm) { (void)shrink(comm); });
}
TEST_CASE("frontdoor: a persistent operation that is empty or has been moved from is done, and cannot be started") {
    std::vector<double> x(3, 1);
    for (const bool is_moved : {false, true}) {
        const auto ended = bough_test::last_words_of([&] {
            in_process world{1};
            communicator comm{world.connect(0)};
            persistent_operation often;
            if (is_moved) {
                often = bind_allreduce(comm, x, plus{});
                persistent_operation other = std::move(often);
                other.start();
                other.wait();
            }
            often.wait();
            if (often.done()) often.start();
        });
        CHECK(ended.aborted);
        CHECK(ended.has("persistent_operation: empty or moved from, it starts nothing"));
    }
}
