// SPDX-License-Identifier: BSL-1.0
// Runs small programs of threads in every way that a processor with weak memory order may run them.
//
// The code under test is compiled with -fsanitize=thread as it is, and linked with explore.cpp instead of
// the compiler's library: there each atomic operation ends. Threads are fibers. explore() runs the
// program again and again, and takes another way each time:
//   - before each atomic operation another thread may go on (up to `preemptions` times in a run);
//   - a load may read any store that C++ allows it to read, also an old one (up to `stale_reads` times in
//     a run).
// So a store is seen late, or after later ones, unless the memory orders that the code asks for forbid
// it. Faults are: a demand() that does not hold, two accesses to plain memory of which one is a write and
// neither happens before the other, and threads that wait for each other for ever.
//
// Stores to one place come in the order in which the threads run, and a load never reads from the future.
// So what is found is possible, but not all that C++ allows is tried: programs that need a store to be
// overtaken by an older one to the same place, or "out of thin air". compare_exchange_weak() fails only
// on another value.
//
// Waiting on a futex has no end of its own here. membarrier() is a full barrier on every thread. Source:
// views as in Kang et al., "A promising semantics for relaxed-memory concurrency", POPL 2017; the bounds
// as in Norris, Demsky, "CDSChecker", OOPSLA 2013, and Musuvathi, Qadeer, "Iterative context bounding",
// PLDI 2007.
#ifndef BOUGH_TEST_WEAK_MEMORY_EXPLORE_HPP
#define BOUGH_TEST_WEAK_MEMORY_EXPLORE_HPP

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weak_memory {

inline constexpr unsigned most_threads = 4;

// What is run once: made anew for each run.
class program {
public:
    virtual ~program() = default;
    virtual unsigned threads() const = 0; // at most most_threads
    virtual void run(unsigned thread) = 0;
    virtual void check() {} // when all have ended
};

// Of a thread: it has found nothing to do. It goes on when another one has stored something.
void idle();
// Ends the run with this sentence, if the condition does not hold.
void demand(bool holds, const char* sentence);

struct limits {
    unsigned preemptions = 2;
    unsigned stale_reads = 1;
    std::uint64_t most_runs = 1'000'000;
};

// A place in the code that asks for a memory order.
struct order_site {
    std::uintptr_t at = 0; // as addr2line takes it
    bool is_sequential = false;
};

struct report {
    std::uint64_t runs = 0;
    bool complete = true;            // all ways within the limits were tried
    std::string fault;               // empty: none
    std::vector<order_site> ordered; // all places with more than a relaxed order that were run
};

// `weakened`: the operations at these places are run with a weaker order: acquire and release instead of a
// sequential order, and a relaxed one instead of those.
report explore(const std::function<std::unique_ptr<program>()>& make, const limits& within = {},
               const std::vector<std::uintptr_t>& weakened = {});

} // namespace weak_memory

#endif
