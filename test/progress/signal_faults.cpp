// SPDX-License-Identifier: BSL-1.0
// Signals when things go wrong: a transport that does not arm, memory that runs out in the handler, an op that throws there;
// and what may not be done with regions.
#if defined(__linux__)
#include "support/catch.hpp"
#include "support/computing.hpp"
#include "support/last_words.hpp"
#include <bough/concepts/forwarding_transport.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/progress/signals.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/chain.hpp>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <new>
#include <span>
#include <stdexcept>
#include <utility>

namespace {

using namespace bough;
using bough_test::compute_until;

// How a transport behaves that has to do with notifications. For its thread and its signals.
struct mood {
    std::atomic<int> refusals{0}, throws{0}; // of the next calls of arm()
    bool has_descriptor = true;
};
template <Transport T>
class moody : public forwarding_transport<T> {
public:
    moody(T inner, mood& m) : forwarding_transport<T>(std::move(inner)), mood_(&m) {}
    int descriptor() { return mood_->has_descriptor ? this->inner_.descriptor() : -1; }
    bool arm() {
        if (mood_->throws > 0) {
            --mood_->throws;
            throw std::bad_alloc();
        }
        if (mood_->refusals > 0) {
            --mood_->refusals;
            return false;
        }
        return this->inner_.arm();
    }
    void disarm() { this->inner_.disarm(); }

private:
    mood* mood_;
};

// A chain of three ranks, two reductions. Rank 1 only computes; rank 2 sends the second when the first has come through.
// `throws`: of arm(), in the handler. True: both come through.
bool comes_through(mood& m, int throws) {
    std::atomic<int> in_region{0}, reduced{0}, wrong{0};
    in_process{3}.run([&](auto transport) {
        mood calm;
        const rank_t me = transport.rank();
        communicator comm{moody{std::move(transport), me == 1 ? m : calm}, {.timeout_ns = 60'000'000'000}};
        std::uint64_t a = me, b = me + 10;
        if (me == 2) wrong += !compute_until(in_region, 1);
        operation one = start_reduce(comm, std::span(&a, 1), plus{}, root{0}, chain{});
        if (me == 2) wrong += !compute_until(reduced, 1);
        if (me == 1) {
            signal_progress bypass{comm};
            operation two = start_reduce(comm, std::span(&b, 1), plus{}, root{0}, chain{});
            {
                const auto here = bypass.interruptible();
                m.throws = throws;
                in_region = 1;
                wrong += !compute_until(reduced, 2);
            }
            one.wait();
            two.wait();
            return;
        }
        one.wait();
        if (me == 0) ++reduced;
        start_reduce(comm, std::span(&b, 1), plus{}, root{0}, chain{}).wait();
        if (me == 0) wrong += a != 3 || b != 33;
        if (me == 0) ++reduced;
    });
    return wrong == 0 && reduced == 2;
}

// Throws where it is told to.
struct touchy {
    const std::atomic<int>* here = nullptr;
    int operator()(int a, int b) const {
        if (here != nullptr && *here != 0) throw std::runtime_error("not in a region");
        return a + b;
    }
};

} // namespace

TEST_CASE("signal_progress: a transport that refuses to arm for long is asked again inside of the region") {
    mood m;
    m.refusals = 2500;
    CHECK(comes_through(m, 0));
    CHECK(m.refusals < 1500); // also after the thousand turns that it gives the transport at once
}
TEST_CASE("signal_progress: a transport that has no descriptor after all is looked at now and then") {
    mood m;
    m.has_descriptor = false;
    CHECK(comes_through(m, 0));
}
TEST_CASE("signal_progress: memory that runs out in the handler is not the end of notifications") {
    mood m;
    CHECK(comes_through(m, 3));
    CHECK(m.throws < 3);
}
TEST_CASE("signal_progress: an op that throws in the handler ends its operation, and is told") {
    std::atomic<int> in_region{0}, told{0}, wrong{0};
    in_process{3}.run([&](auto transport) {
        communicator comm{std::move(transport), {.timeout_ns = 60'000'000'000}};
        int x = 1;
        status s;
        if (comm.rank() == 2) wrong += !compute_until(in_region, 1);
        operation op =
            start_reduce(comm, std::span(&x, 1), touchy{comm.rank() == 1 ? &in_region : nullptr}, root{0}, chain{});
        if (comm.rank() == 1) {
            signal_progress bypass{comm};
            {
                const auto here = bypass.interruptible();
                in_region = 1;
                wrong += !compute_until(told, 1);
            }
            wrong += bypass.served() == 0;
        }
        op.wait(s);
        if (comm.rank() == 1) wrong += s.code != errc::op_threw;
        if (comm.rank() == 0) {
            wrong += s.code != errc::peer_aborted || s.cause != errc::op_threw || s.peer != 1;
            told = 1;
        }
    });
    CHECK(wrong == 0);
}
TEST_CASE("signal_progress: regions do not nest, whatever the object") {
    const auto nests = [](bool same) {
        return bough_test::last_words_of([same] {
            in_process world{1};
            communicator comm{world.connect(0)};
            signal_progress one{comm}, other{comm, SIGRTMIN + 3};
            { const auto here = other.interruptible(); }
            const auto here = one.interruptible();
            const auto there = same ? one.interruptible() : other.interruptible();
        });
    };
    for (const bool same : {true, false}) {
        const bough_test::last_words said = nests(same);
        CHECK(said.aborted);
        CHECK(said.has("regions do not nest"));
    }
}
TEST_CASE("signal_progress: its handler is not interrupted by that of another signal of the kind") {
    in_process world{1};
    communicator comm{world.connect(0)};
    const signal_progress bypass{comm};
    struct sigaction now {};
    ::sigaction(SIGRTMIN + 2, nullptr, &now);
    for (int s = SIGRTMIN; s <= SIGRTMAX; ++s) CHECK(::sigismember(&now.sa_mask, s) == 1);
}
#endif
