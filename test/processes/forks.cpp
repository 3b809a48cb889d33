// SPDX-License-Identifier: BSL-1.0
// A rank that is a process forks amid its operations: in the child all of them end, at once; its
// own go on, and nobody else hears of it.
#include "processes/links.hpp"
#include "support/catch.hpp"
#include "transport/fork_trial.hpp"
#include <bough/progress/events.hpp>
#include <bough/progress/thread.hpp>
#include <bough/remote/shared_memory.hpp>
#include <bough/transport/one_sided.hpp>
#include <bough/transport/serialised.hpp>
#if defined(__linux__)
#include <bough/progress/signals.hpp>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <poll.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace bough;
using bough_test::check_deeds_of_children;
using bough_test::check_forks_amid_traffic;
using bough_test::deeds;
using bough_test::in_flight;
using bough_test::is_forked_child;
using bough_test::says_forked_child;

namespace {

struct far_tcp_link { // over the loopback's TCP, not over Unix sockets
    static constexpr const char* name = "tcp, not near";
    static auto join(auto& wire) { return tcp(wire, {.near_sockets = false}); }
};
struct lazy_tcp_link {
    static constexpr const char* name = "tcp, lazy";
    static auto join(auto& wire) { return tcp(wire, {.eager_mesh = 1}); }
};
struct one_sided_link {
    static constexpr const char* name = "one_sided";
    static auto join(auto& wire) {
        return one_sided(shared_memory_regions{wire, {.region_bytes = one_sided_bytes(wire.size())}});
    }
};
struct serialised_link {
    static constexpr const char* name = "serialised";
    static auto join(auto& wire) { return serialised(shared_memory(wire)); }
};

template <class F>
void over_all_links(const F& trial) {
    bough_test::over_each_link(trial);
    trial(far_tcp_link{});
    trial(lazy_tcp_link{});
    trial(one_sided_link{});
    trial(serialised_link{});
}

// A helper that looks after the operations, or sleeps, when the process forks.
template <class X>
struct helped {
    explicit helped(in_flight<X>& of) : mine(of) { helper->look_after(*mine.comm); }
    deeds deeds_of_child() {
        // Asleep, it waits for what is written by nobody.
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        return {{"leave the helper", [this] { return helper->leave(*mine.comm), says_forked_child(*mine.op); }},
                {"look after more", [this] { return helper->look_after(*mine.comm), says_forked_child(*mine.op); }},
                {"destroy the helper", [this] { return helper.reset(), says_forked_child(*mine.op); }},
                {"destroy the helper last",
                 [this] {
                     mine.op.reset();
                     mine.bound.reset();
                     mine.comm.reset();
                     helper.reset();
                     return true;
                 }},
                {"another helper", [this] {
                     if (!bough_test::starts_threads_after_fork) return true;
                     progress_thread another;
                     another.look_after(*mine.comm);
                     return says_forked_child(*mine.op);
                 }}};
    }
    in_flight<X>& mine;
    std::optional<progress_thread> helper{std::in_place};
};

// A loop of the program's own.
template <class X>
struct looped {
    explicit looped(in_flight<X>& of) : mine(of), events(std::make_unique<event_progress<X>>(*of.comm, 3'600'000)) {}
    deeds deeds_of_child() {
        for (int i = 0; i != 1000 && events->prepare() != 3'600'000; ++i) // armed
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        return {{"the loop",
                 [this] {
                     while (!mine.op->done()) {
                         pollfd of{events->descriptor(), POLLIN, 0};
                         ::poll(&of, 1, events->prepare());
                         events->progress();
                     }
                     return is_forked_child(mine.op->result()) && !events->busy();
                 }},
                {"the loop, which looks later",
                 [this] {
                     for (int turns = 0; turns != 2; ++turns) {
                         const int sleep_ms = events->prepare();
                         if (sleep_ms != (turns == 0 ? 0 : -1)) return false;
                         events->progress();
                     }
                     return mine.op->done() && mine.bound->done();
                 }},
                {"destroy the loop", [this] { return events.reset(), says_forked_child(*mine.op); }}};
    }
    in_flight<X>& mine;
    std::unique_ptr<event_progress<X>> events;
};

// Holds a helper in the midst of a poll, or of an op.
struct hold {
    std::atomic<bool> is_on{false}, is_inside{false};
    void pass() {
        if (!is_on.load()) return;
        is_inside.store(true);
        while (is_on.load()) std::this_thread::yield();
    }
    void wait_for_helper() const {
        while (!is_inside.load()) std::this_thread::yield();
    }
};
template <class T>
class held_in_poll : public forwarding_transport<T> {
public:
    held_in_poll(T inner, hold& at) : forwarding_transport<T>(std::move(inner)), at_(&at) {}
    std::size_t poll(std::span<event> events) { return at_->pass(), this->inner_.poll(events); }

private:
    hold* at_;
};

#if defined(__linux__)
template <class X>
struct interrupted {
    explicit interrupted(in_flight<X>& of) : mine(of), bypass(std::in_place, *of.comm) {}
    deeds deeds_of_child() {
        return {{"a region",
                 [this] {
                     { const auto here = bypass->interruptible(); }
                     return mine.op->done() && is_forked_child(mine.op->result());
                 }},
                {"destroy signal_progress", [this] { return bypass.reset(), says_forked_child(*mine.op); }}};
    }
    in_flight<X>& mine;
    std::optional<signal_progress<X>> bypass;
};
#endif

} // namespace

TEST_CASE("processes: whatever the child of a fork does with operations in flight ends at once") {
    over_all_links(
        []<class Link>(Link) { check_deeds_of_children(Link::name, [](auto& wire) { return Link::join(wire); }); });
}
TEST_CASE("processes: the parent goes on, at whatever moment of its traffic it forks") {
    over_all_links(
        []<class Link>(Link) { check_forks_amid_traffic(Link::name, [](auto& wire) { return Link::join(wire); }); });
}
TEST_CASE("processes: the child of an op that forks ends its call, too") {
    over_all_links([]<class Link>(Link) {
        constexpr rank_t ranks = 4; // each combines, and sends after that
        bough_test::processes group(ranks, [](auto& wire, bough_test::report& told) {
            communicator comm{Link::join(wire), {.timeout_ns = bough_test::fork_timeout_ns}};
            pid_t child = -1;
            const auto forking = [&](int a, int b) {
                if (child == -1 && comm.rank() == 1) child = ::fork();
                if (child == 0) ::alarm(9);
                return a + b;
            };
            std::vector<int> x(1000, 1);
            status s;
            allreduce(comm, x, forking, recursive_doubling{}, s);
            if (child == 0) ::_exit(is_forked_child(s) ? 0 : 1);
            int state = -1;
            told.check(comm.rank() != 1 || (::waitpid(child, &state, 0) == child && state == 0));
            told.check(!s && std::count(x.begin(), x.end(), 4) == std::ssize(x));
        });
        bough_test::check_all_well(group, ranks, Link::name, 1000);
    });
}
TEST_CASE("processes: the child of a fork has no use for what looks after operations, and can destroy it") {
    const auto shared = [](auto& wire) { return shared_memory(wire); };
    const auto by_tcp = [](auto& wire) { return tcp(wire); };
    const auto help = []<class X>(in_flight<X>& mine) { return helped<X>(mine); };
    check_deeds_of_children(
        "helper, shared memory", [&](auto& wire) { return serialised(shared(wire)); }, help);
    check_deeds_of_children(
        "helper, tcp", [&](auto& wire) { return serialised(by_tcp(wire)); }, help);
    const auto loop = []<class X>(in_flight<X>& mine) { return looped<X>(mine); };
    check_deeds_of_children("loop, shared memory", shared, loop);
    check_deeds_of_children("loop, tcp", by_tcp, loop);
#if defined(__linux__)
    const auto interrupt = []<class X>(in_flight<X>& mine) { return interrupted<X>(mine); };
    check_deeds_of_children("signals, shared memory", shared, interrupt);
    check_deeds_of_children("signals, tcp", by_tcp, interrupt);
#endif
}
TEST_CASE("processes: a child ends its operations, also if a thread that it lacks was amid a poll or an op") {
    for (const bool amid_op : {false, true}) {
        bough_test::processes group(2, [amid_op](auto& wire, bough_test::report& told) {
            hold poll, op;
            in_flight mine{std::optional(communicator{serialised{held_in_poll{shared_memory(wire), poll}},
                                                      {.timeout_ns = bough_test::fork_timeout_ns}})};
            progress_thread helper;
            const bool forks = wire.rank() == 1;
            if (forks) helper.look_after(*mine.comm);
            while (!forks && (&told + 1)->phase == 0) std::this_thread::yield();
            std::vector<int> x(10, 1), y(20, 1);
            const auto add = [&op](int a, int b) { return op.pass(), a + b; };
            mine.op.emplace(start_allreduce(*mine.comm, x, add, recursive_doubling{}));
            mine.bound.emplace(bind_allreduce(*mine.comm, y, plus{}));
            mine.bound->start();
            if (forks) {
                hold& here = amid_op ? op : poll;
                here.is_on = true;
                if (!amid_op) here.wait_for_helper();
                told.phase = 1;
                here.wait_for_helper();
                told.wrong += static_cast<std::uint64_t>(bough_test::wrong_deeds_of_child(mine));
                here.is_on = false;
            }
            mine.op->wait();
            mine.bound->wait();
            told.check(std::count(x.begin(), x.end(), 2) == std::ssize(x));
            told.check(std::count(y.begin(), y.end(), 2) == std::ssize(y));
        });
        bough_test::check_all_well(group, 2, amid_op ? "amid an op" : "amid a poll", 10);
    }
}
