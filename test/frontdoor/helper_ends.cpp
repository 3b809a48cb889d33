// SPDX-License-Identifier: BSL-1.0
// Whatever ends an operation ends it under a helper thread too, with nobody else in the library: its time,
// the failure of a peer, a refusal, its handle; and what comes after a failure, an agreement and a new
// epoch.
#include "support/catch.hpp"
#include <bough/algorithm/ring.hpp>
#include <bough/allreduce.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/progress/thread.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/serialised.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace bough;
using namespace std::chrono_literals;
using serial = serialised<in_process::endpoint>;
using clock_type = std::chrono::steady_clock;

// Rank 0 of 2, alone. Each poll finds the end of a post that is nobody's.
struct chatter {
    rank_t rank() const noexcept { return 0; }
    rank_t size() const noexcept { return 2; }
    posted post_send(rank_t, const envelope&, std::span<const std::byte>, std::uint64_t) { return posted::complete; }
    posted take(std::uint64_t, std::span<std::byte>, std::uint64_t) { return posted::failed; }
    void release(std::uint64_t) {}
    std::size_t poll(std::span<event> events) {
        events[0] = {};
        events[0].what = event::kind::complete;
        events[0].id = std::uint64_t{0x7fff'ffff} << 32;
        return 1;
    }
    errc cancel(std::uint64_t) { return errc::ok; }
    std::uint64_t now_ns() const noexcept {
        return static_cast<std::uint64_t>(clock_type::now().time_since_epoch().count());
    }
};

// Only looks, until it is so or 20 s are over.
template <class F>
bool comes_true(F&& is_so) {
    const auto last = clock_type::now() + 20s;
    while (!is_so() && clock_type::now() < last) std::this_thread::sleep_for(200us);
    return is_so();
}

// Runs body(comm, helper, seen) on two or three ranks, each with a helper; seen(is, what) notes what is
// not.
template <class F>
void on_ranks(rank_t ranks, F&& body) {
    std::array<std::atomic<const char*>, 3> wrong{};
    in_process{ranks}.run([&](auto transport) {
        communicator<serial> comm{serialised{std::move(transport)}};
        progress_thread helper;
        helper.look_after(comm);
        body(comm, helper, [&, me = comm.rank()](bool is, const char* what) {
            if (!is) wrong[me] = what;
        });
    });
    for (const auto& w : wrong) CHECK(std::string(w == nullptr ? "" : w.load()) == "");
}

} // namespace

TEST_CASE("an operation's time passes though every poll finds something, with a helper and without") {
    communicator<serialised<chatter>> comm{serialised{chatter{}}};
    comm.set_timeout(30ms);
    std::vector<int> x(3, 1);
    SECTION("the helper's polls") {
        progress_thread helper;
        helper.look_after(comm);
        operation op = start_allreduce(comm, x, plus{}); // rank 1 does not come
        CHECK(comes_true([&] { return op.done(); }));
        CHECK(op.result().code == errc::deadline);
        CHECK_FALSE(comm.poison());
    }
    SECTION("the caller's") {
        operation op = start_allreduce(comm, x, plus{});
        CHECK(comes_true([&] {
            for (int i = 0; i != 2000; ++i) op.poll();
            return op.done();
        }));
        CHECK(op.result().code == errc::deadline);
    }
    SECTION("a blocking call's") {
        status s;
        allreduce(comm, x, plus{}, s);
        CHECK(s.code == errc::deadline);
    }
}

TEST_CASE("helper: a refusal, a cancelled and a destroyed operation end that of the other rank") {
    enum how { refused, cancelled, destroyed };
    for (const how by : {refused, cancelled, destroyed}) {
        std::atomic<bool> has_begun{false}, has_ended{false}, has_come{false};
        on_ranks(3, [&](communicator<serial>& comm, progress_thread&, auto seen) {
            const auto poisoned = [&] { return comm.progress(), bool(comm.poison()); };
            auto x = std::make_unique<std::vector<std::uint64_t>>(5000, 1);
            std::vector<std::uint64_t> shorter(3);
            if (comm.rank() == 0) {
                operation op = start_allreduce(comm, *x, plus{}, ring{});
                has_begun = true;
                seen(comes_true([&] { return op.done(); }), "it ends");
                seen(op.result().code == errc::peer_aborted, "a peer gave up");
                if (by != refused) seen(comes_true([&] { return has_come.load(); }), "the late rank has come");
                return;
            }
            // Nothing is in flight here, so the helper sleeps. Unless this rank makes its call, nobody's
            // ends well.
            if (comm.rank() == 2) {
                if (by == refused) return seen(comes_true(poisoned), "the others told who had not begun");
                operation late;
                seen(comes_true([&] { return comm.progress(), has_ended.load(); }), "the others have given up");
                late = start_allreduce(comm, *x, plus{}, ring{});
                seen(comes_true([&] { return late.done(); }), "the call of who comes late ends, too");
                seen(late.result().cause == errc::cancelled, "and says why");
                has_come = true;
                return;
            }
            seen(comes_true([&] { return has_begun.load(); }), "rank 0 has begun");
            if (by == refused) {
                operation bad = start_allreduce(comm, *x, shorter, plus{});
                seen(bad.done() && bad.result().code == errc::invalid_argument, "refused");
                return seen(comes_true(poisoned), "the others had started it");
            }
            std::optional<operation> op = start_allreduce(comm, *x, plus{}, ring{});
            if (by == cancelled) {
                op->cancel();
                seen(comes_true([&] { return op->done(); }), "cancelled");
            } else {
                op.reset();
            }
            x.reset(); // nobody reads it any more
            has_ended = true;
            seen(!comm.poison(), "the call alone is given up");
            seen(comes_true([&] { return has_come.load(); }), "the late rank has come");
        });
    }
}

TEST_CASE("helper: a failure, agreement and shrink beside it, again and again") {
    on_ranks(2, [](communicator<serial>& first, progress_thread&, auto seen) {
        std::optional<communicator<serial>> comm(std::move(first));
        for (int epoch = 0; epoch != 5; ++epoch) {
            std::vector<std::uint64_t> x(2000, 1), shorter(3);
            for (std::uint64_t i = 0; i != 20; ++i) {
                operation op = start_allreduce(*comm, x, plus{});
                seen(agree(*comm, 6 + comm->rank()) == 6, "agree beside an operation");
                op.wait();
            }
            if (comm->rank() == 0)
                (void)start_allreduce(*comm, x, shorter, plus{}); // breaks the group
            else
                (void)start_allreduce(*comm, x, plus{}).wait_for(20s);
            status s;
            std::optional<communicator<serial>> rest = shrink(*comm, s);
            seen(rest.has_value() && rest->size() == 2 && !s, "both live on");
            if (!rest) return;
            comm = std::move(rest);
        }
    });
}

TEST_CASE("helper: looks after a transport as long as it was told to, and sleeps on") {
    on_ranks(2, [](communicator<serial>& comm, progress_thread& helper, auto seen) {
        communicator<serial> twin = duplicate(comm);
        helper.look_after(twin); // the same transport
        helper.leave(comm);
        std::vector<int> x(3, 1);
        const auto one = [&](communicator<serial>& on) {
            operation op = start_allreduce(on, x, plus{});
            seen(comes_true([&] { return op.done(); }), "it is looked after");
            op.wait();
        };
        one(comm);
        one(twin);
        helper.leave(twin);
        helper.leave(twin); // does nothing
        operation op = start_allreduce(comm, x, plus{});
        std::this_thread::sleep_for(20ms);
        seen(comm.shared_session().use_count() < 4, "the helper has let go"); // comm, twin, here
        op.wait();
        progress_thread other; // now another may
        other.look_after(comm);
        one(comm);
        {
            progress_thread third;
            third.leave(comm);
        }
        one(comm);
    });
}
