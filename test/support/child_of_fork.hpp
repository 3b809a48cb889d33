// SPDX-License-Identifier: BSL-1.0
// All that the child of a fork can do with operations that are in flight, each deed in a child of
// its own. Each has to end at once, with forked_child where something is said.
#ifndef BOUGH_TEST_SUPPORT_CHILD_OF_FORK_HPP
#define BOUGH_TEST_SUPPORT_CHILD_OF_FORK_HPP

#include "support/sanitizers.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/batch.hpp>
#include <bough/communicator.hpp>
#include <bough/error.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <span>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bough_test {

constexpr bool starts_threads_after_fork = !has_thread_sanitizer; // of a process that has some

inline bool is_forked_child(const bough::status& s) { return s.code == bough::errc::forked_child; }
inline bool says_forked_child(bough::detail::operation_handle& op) {
    bough::status s;
    op.wait(s);
    return is_forked_child(s);
}

// Does good() in a child of this process, and ends the child. True: it held. A child that waits is
// killed before the library would give up to wait for bytes (10 s).
template <class Good>
bool holds_in_child(const char* what, const Good& good) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        ::signal(SIGABRT, SIG_DFL); // not the parent's handlers
        ::signal(SIGSEGV, SIG_DFL);
        ::alarm(9);
        ::_exit(good() ? 0 : 1);
    }
    int state = -1;
    const bool held = child > 0 && ::waitpid(child, &state, 0) == child && state == 0;
    if (!held) std::fprintf(stderr, "in the child of a fork: %s: state %x\n", what, static_cast<unsigned>(state));
    return held;
}

template <class X>
struct in_flight {
    std::optional<bough::communicator<X>> comm;
    std::optional<bough::operation> op{};
    std::optional<bough::persistent_operation> bound{}; // has been started after op
};
template <class X>
in_flight(std::optional<bough::communicator<X>>) -> in_flight<X>; // which clang 14 does not deduce by itself

// Deeds of the caller's, besides those below.
using deeds = std::vector<std::pair<const char*, std::function<bool()>>>;

// How many of them go wrong. Pre: both operations are in flight, and their time is not up within 20
// s.
template <class X>
int wrong_deeds_of_child(in_flight<X>& mine, deeds all = {}) {
    using namespace bough;
    std::optional<communicator<X>>& comm = mine.comm; // no bindings: clang 14 does not let lambdas capture those
    std::optional<operation>& op = mine.op;
    std::optional<persistent_operation>& bound = mine.bound;
    const std::initializer_list<deeds::value_type> common{
        {"wait", [&] { return says_forked_child(*op) && says_forked_child(*bound); }},
        {"wait for the later one first", [&] { return says_forked_child(*bound) && says_forked_child(*op); }},
        {"wait that throws",
         [&] {
             try {
                 op->wait();
             } catch (const error& e) {
                 return is_forked_child(e.details()) && e.details().operation != 0;
             }
             return false;
         }},
        {"poll", [&] { return op->poll() && is_forked_child(op->result()) && bound->poll(); }},
        {"done", [&] { return op->done() && is_forked_child(op->result()) && bound->done(); }},
        {"wait_for", [&] { return op->wait_for_ns(3'600'000'000'000) && is_forked_child(op->result()); }},
        {"set_timeout", [&] { return op->set_timeout_ns(1), says_forked_child(*op); }},
        {"cancel", [&] { return op->cancel(), says_forked_child(*op) && says_forked_child(*bound); }},
        {"destroy the handle", [&] { return op.reset(), says_forked_child(*bound); }},
        {"destroy the persistent one", [&] { return bound.reset(), says_forked_child(*op); }},
        {"destroy both", [&] { return op.reset(), bound.reset(), true; }},
        {"destroy the communicator", [&] { return comm.reset(), says_forked_child(*op) && says_forked_child(*bound); }},
        {"destroy all", [&] { return comm.reset(), op.reset(), bound.reset(), true; }},
        {"destroy all, the communicator last", [&] { return op.reset(), bound.reset(), comm.reset(), true; }},
        {"start the persistent one again",
         [&] { return says_forked_child(*bound) && (bound->start(), says_forked_child(*bound)); }},
        {"progress", [&] { return !comm->progress() && is_forked_child(comm->poison()); }},
        {"blocking calls",
         [&] {
             status a, b, c;
             int x = 1;
             allreduce(*comm, std::span(&x, 1), plus{}, a);
             reduce(*comm, std::span(&x, 1), plus{}, root{comm->size()}, b); // breaks a rule
             batch few;
             few.add(x, plus{});
             allreduce(*comm, few, c);
             return is_forked_child(a) && is_forked_child(b) && is_forked_child(c) && x == 1;
         }},
        {"start and bind",
         [&] {
             std::vector<double> x(100'000);
             operation more = start_allreduce(*comm, x, plus{});
             persistent_operation often = bind_allreduce(*comm, x, plus{});
             often.start();
             return says_forked_child(more) && says_forked_child(often);
         }},
        {"agree",
         [&] {
             status s;
             return !agree(*comm, 1, s) && is_forked_child(s);
         }},
        {"shrink",
         [&] {
             status s;
             return !shrink(*comm, s) && is_forked_child(s);
         }},
        {"split",
         [&] {
             status s;
             return !split(*comm, 0, s) && is_forked_child(s);
         }},
        {"duplicate", [&] {
             status s;
             return !duplicate(*comm, s) && is_forked_child(s);
         }}};
    all.insert(all.end(), common.begin(), common.end());
    int wrong = 0;
    for (const auto& [what, deed] : all) wrong += holds_in_child(what, deed) ? 0 : 1;
    return wrong;
}

// One rank's part of a trial: the last one starts operations, has children that do all of the
// above, and lets the others begin (`let_go`, which they wait for) only then. All results are
// right, and another call follows. What is wrong is counted.
template <class X, class LetGo, class Wait>
int wrong_beside_children(in_flight<X>& mine, std::size_t count, const LetGo& let_go, const Wait& wait_for_it,
                          deeds all = {}) {
    using namespace bough;
    std::optional<communicator<X>>& comm = mine.comm; // no bindings: clang 14 does not let lambdas capture those
    std::optional<operation>& op = mine.op;
    std::optional<persistent_operation>& bound = mine.bound;
    const rank_t p = comm->size();
    std::vector<std::uint64_t> x(count, comm->rank() + 1), y(3, 1);
    const std::uint64_t sum = std::uint64_t{p} * (p + 1) / 2;
    int wrong = 0;
    status s;
    const auto check = [&](bool good, const char* what) {
        if (good) return;
        ++wrong;
        std::fprintf(stderr, "rank %u: %s: %s\n", comm->rank(), what, message_of(s).c_str());
    };
    const bool forks = comm->rank() + 1 == p;
    if (!forks) wait_for_it();
    op.emplace(start_allreduce(*comm, x, plus{}));
    bound.emplace(bind_allreduce(*comm, y, plus{}));
    bound->start();
    if (forks) {
        for (int i = 0; i != 20; ++i) comm->progress();
        check(!op->done() && !bound->done(), "in flight before the forks");
        wrong += wrong_deeds_of_child(mine, std::move(all));
        check(!op->done() && !bound->done(), "in flight after the forks");
        let_go();
    }
    op->wait(s);
    check(!s && std::count(x.begin(), x.end(), sum) == std::ssize(x), "the operation");
    bound->wait(s);
    check(!s && std::count(y.begin(), y.end(), p) == std::ssize(y), "the persistent one");
    x.assign(count, 1);
    allreduce(*comm, x, plus{}, s);
    check(!s && std::count(x.begin(), x.end(), p) == std::ssize(x), "the next call");
    barrier(*comm, s); // nobody leaves while others wait
    return wrong;
}

} // namespace bough_test

#endif
