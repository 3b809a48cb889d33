// SPDX-License-Identifier: BSL-1.0
// explore(), and what code that is compiled with -fsanitize=thread calls.
#include "weak_memory/explore.hpp"

#include <climits>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <link.h>
#include <linux/futex.h>
#include <map>
#include <sys/syscall.h>
#include <thread>
#include <ucontext.h>
#include <unistd.h>
#include <unordered_map>

namespace weak_memory {
namespace {

using clock_time = std::uint32_t;

// What a thread knows, or a store tells who acquires it: of each place the oldest store that may still be
// read, and of each thread how far it had come.
struct knowledge {
    std::vector<std::uint32_t> view;
    std::array<clock_time, most_threads> clock{};

    std::uint32_t& of(std::size_t place) {
        if (view.size() <= place) view.resize(place + 1);
        return view[place];
    }
    void join_view(const knowledge& other) {
        if (view.size() < other.view.size()) view.resize(other.view.size());
        for (std::size_t i = 0; i != other.view.size(); ++i) view[i] = std::max(view[i], other.view[i]);
    }
    void join(const knowledge& other) {
        join_view(other);
        for (unsigned t = 0; t != most_threads; ++t) clock[t] = std::max(clock[t], other.clock[t]);
    }
};

struct store {
    std::uint64_t value = 0;
    knowledge tells;
};
struct place {
    std::size_t number = 0;
    std::vector<store> stores;
};

struct fiber {
    ucontext_t context{};
    std::unique_ptr<char[]> stack;
    knowledge knows, released, acquired; // acquired, released: what a fence would make known, or tell
    bool ended = false, idles = false, is_stale = false;
    std::uint64_t seen = 0, stored = 0; // stores: of others when it last went on; its own
    const void* waits = nullptr;        // on this futex
};
constexpr std::size_t stack_bytes = 256 * 1024;

// Plain accesses to eight bytes.
struct accesses {
    std::array<clock_time, 8> write_time{};
    std::array<unsigned char, 8> writer{};
    std::array<std::array<clock_time, most_threads>, 8> read_time{};
};

struct choice {
    std::uint32_t taken, all;
};

struct exploration {
    limits within;
    std::vector<std::uintptr_t> weakened;
    report result;
    std::map<std::uintptr_t, bool> sites;
    std::vector<choice> path;

    // Of the run.
    program* runs = nullptr;
    std::array<fiber, most_threads> fibers;
    unsigned count = 0, now = 0;
    ucontext_t home{};
    std::size_t depth = 0;
    unsigned preemptions = 0, stale_reads = 0, in_a_row = 0;
    std::uint64_t stored = 0, steps = 0;
    std::deque<place> places;
    std::unordered_map<const volatile void*, place*> by_address;
    std::unordered_map<std::uintptr_t, accesses> plain;
    knowledge sequential; // what operations and fences with a sequential order have brought together
};
exploration* active = nullptr; // while threads run
bool is_inside = false;        // in code of this file: its own accesses do not count

struct inside {
    inside() { is_inside = true; }
    ~inside() { is_inside = false; }
    inside(const inside&) = delete;
    inside& operator=(const inside&) = delete;
};

[[noreturn]] void fail(const std::string& sentence) {
    exploration& e = *active;
    e.result.fault = "run " + std::to_string(e.result.runs) + ", thread " + std::to_string(e.now) + ": " + sentence;
    setcontext(&e.home);
    std::abort();
}

std::uint32_t choose(std::size_t all) {
    exploration& e = *active;
    if (all == 1) return 0;
    if (e.depth == e.path.size()) e.path.push_back({0, static_cast<std::uint32_t>(all)});
    if (e.path[e.depth].all != all) fail("this run is not as the one before: the program depends on something else");
    return e.path[e.depth++].taken;
}

bool may_run(unsigned t) {
    const exploration& e = *active;
    const fiber& f = e.fibers[t];
    return !f.ended && f.waits == nullptr && (!f.idles || f.is_stale || e.stored - f.stored != f.seen);
}

void go_on_with(unsigned t) {
    exploration& e = *active;
    const unsigned before = e.now;
    e.now = t;
    e.in_a_row = 0;
    if (t != before) swapcontext(&e.fibers[before].context, &e.fibers[t].context);
}

// This thread cannot go on, or need not.
void pass_on() {
    exploration& e = *active;
    std::vector<unsigned> others;
    bool all_ended = true;
    for (unsigned t = 0; t != e.count; ++t) {
        all_ended &= e.fibers[t].ended;
        if (may_run(t)) others.push_back(t);
    }
    if (all_ended) setcontext(&e.home);
    if (others.empty()) {
        std::string who;
        for (unsigned t = 0; t != e.count; ++t)
            if (!e.fibers[t].ended)
                who += " " + std::to_string(t) + (e.fibers[t].waits != nullptr ? " (sleeps)" : " (finds nothing)");
        fail("wait for ever:" + who);
    }
    go_on_with(others[choose(others.size())]);
}

// Before an operation that others can see.
void point() {
    exploration& e = *active;
    if (++e.steps > 20'000) fail("runs for ever");
    const bool spins = ++e.in_a_row > 100; // in a loop of the code itself: the others must get on
    if (e.preemptions == 0 && !spins) return;
    std::array<unsigned, most_threads> all{e.now};
    std::size_t n = 1;
    for (unsigned t = 0; t != e.count; ++t)
        if (t != e.now && may_run(t)) all[n++] = t;
    if (spins && n != 1) return go_on_with(all[1 + choose(n - 1)]);
    const unsigned next = all[choose(n)];
    if (next == e.now) return;
    --e.preemptions;
    go_on_with(next);
}

void start_fiber() {
    exploration& e = *active;
    is_inside = false;
    e.runs->run(e.now);
    is_inside = true;
    e.fibers[e.now].ended = true;
    ++e.stored; // who waits for it to end looks again
    ++e.fibers[e.now].stored;
    pass_on();
}

// --- atomic operations ---

struct order {
    bool acquires, releases, is_sequential;
};
bool is_weakened(std::uintptr_t site) {
    const auto& all = active->weakened;
    return std::find(all.begin(), all.end(), site) != all.end();
}
order order_of(int asked, std::uintptr_t site, bool loads, bool stores) {
    exploration& e = *active;
    order o{loads && asked != __ATOMIC_RELAXED && asked != __ATOMIC_RELEASE,
            stores && (asked == __ATOMIC_RELEASE || asked == __ATOMIC_ACQ_REL || asked == __ATOMIC_SEQ_CST),
            asked == __ATOMIC_SEQ_CST};
    if (o.acquires || o.releases) e.sites.emplace(site, o.is_sequential);
    if (is_weakened(site)) {
        if (o.is_sequential)
            o.is_sequential = false;
        else
            o = {false, false, false};
    }
    return o;
}

template <class T>
place& place_of(const volatile T* at) {
    exploration& e = *active;
    place*& known = e.by_address[at];
    if (known == nullptr) {
        known = &e.places.emplace_back();
        known->number = e.places.size() - 1;
        known->stores.push_back({static_cast<std::uint64_t>(*at), {}});
    }
    return *known;
}

// The next operation or fence with a sequential order knows of this store.
void note_sequential(const place& p, std::uint32_t index) {
    std::uint32_t& known = active->sequential.of(p.number);
    known = std::max(known, index);
}
template <class T>
T read_from(place& p, std::uint32_t index, const order& o) {
    fiber& me = active->fibers[active->now];
    me.knows.of(p.number) = index;
    if (o.is_sequential) note_sequential(p, index);
    (o.acquires ? me.knows : me.acquired).join(p.stores[index].tells);
    return static_cast<T>(p.stores[index].value);
}
template <class T>
void add_store(volatile T* at, place& p, T value, const order& o, const store* read) {
    exploration& e = *active;
    fiber& me = e.fibers[e.now];
    const auto index = static_cast<std::uint32_t>(p.stores.size());
    me.knows.of(p.number) = index;
    store made{static_cast<std::uint64_t>(value), o.releases ? me.knows : me.released};
    if (read != nullptr) made.tells.join(read->tells); // it goes on what the other one has released
    made.tells.of(p.number) = index;
    if (o.is_sequential) note_sequential(p, index);
    p.stores.push_back(std::move(made));
    *at = value;
    ++me.knows.clock[e.now];
    ++me.stored;
    ++e.stored;
}
// The oldest store that a load may read.
std::uint32_t oldest(place& p, const order& o) {
    const std::uint32_t known = active->fibers[active->now].knows.of(p.number);
    return o.is_sequential ? std::max(known, active->sequential.of(p.number)) : known;
}
std::uint32_t choose_store(std::uint32_t newest, std::size_t candidates) {
    exploration& e = *active;
    if (e.stale_reads == 0 || candidates == 1) return newest;
    const std::uint32_t back = choose(candidates);
    if (back != 0) --e.stale_reads, e.fibers[e.now].is_stale = true;
    return newest - back;
}

template <class T>
T load(const volatile T* at, int asked, std::uintptr_t site) {
    if (active == nullptr || is_inside) return *at;
    const inside here;
    point();
    const order o = order_of(asked, site, true, false);
    place& p = place_of(at);
    const auto newest = static_cast<std::uint32_t>(p.stores.size() - 1);
    return read_from<T>(p, choose_store(newest, newest - oldest(p, o) + 1), o);
}
template <class T>
void put(volatile T* at, T value, int asked, std::uintptr_t site) {
    if (active == nullptr || is_inside) {
        *at = value;
        return;
    }
    const inside here;
    point();
    add_store(at, place_of(at), value, order_of(asked, site, false, true), nullptr);
}
template <class T, class F>
T change(volatile T* at, int asked, std::uintptr_t site, const F& f) {
    if (active == nullptr || is_inside) {
        const T old = *at;
        *at = f(old);
        return old;
    }
    const inside here;
    point();
    const order o = order_of(asked, site, true, true);
    place& p = place_of(at);
    const T old = read_from<T>(p, static_cast<std::uint32_t>(p.stores.size() - 1), o);
    const store read = p.stores.back();
    add_store(at, p, f(old), o, &read);
    return old;
}
template <class T>
bool exchange_if(volatile T* at, T* expected, T wanted, int asked, int asked_on_failure, std::uintptr_t site) {
    if (active == nullptr || is_inside) {
        if (*at == *expected) return *at = wanted, true;
        return *expected = *at, false;
    }
    const inside here;
    point();
    const order o = order_of(asked, site, true, true);
    place& p = place_of(at);
    const auto newest = static_cast<std::uint32_t>(p.stores.size() - 1);
    // It fails on any store with another value that a load may read, and succeeds on the newest alone.
    const order failed = is_weakened(site) ? o : order_of(asked_on_failure, site, true, false);
    std::vector<std::uint32_t> readable;
    for (std::uint32_t i = newest + 1; i-- > oldest(p, failed);)
        if (i == newest || (active->stale_reads != 0 && static_cast<T>(p.stores[i].value) != *expected))
            readable.push_back(i);
    const std::uint32_t index = readable[choose(readable.size())];
    if (index != newest) --active->stale_reads, active->fibers[active->now].is_stale = true;
    const bool holds = static_cast<T>(p.stores[index].value) == *expected;
    const T old = read_from<T>(p, index, holds ? o : failed);
    if (holds) {
        const store read = p.stores[index];
        add_store(at, p, wanted, o, &read);
    } else {
        *expected = old;
    }
    return holds;
}
void full_fence_on(unsigned t) {
    exploration& e = *active;
    e.fibers[t].knows.join_view(e.sequential);
    e.sequential.join_view(e.fibers[t].knows);
}
void fence(int asked, std::uintptr_t site) {
    if (active == nullptr || is_inside) return;
    const inside here;
    point();
    const order o = order_of(asked, site, true, true);
    fiber& me = active->fibers[active->now];
    if (o.acquires) me.knows.join(me.acquired);
    if (o.is_sequential) full_fence_on(active->now);
    if (o.releases) {
        me.released = me.knows;
        ++me.knows.clock[active->now];
    }
}

// --- plain memory ---

bool is_of_a_stack(const void* at) {
    for (const fiber& f : active->fibers)
        if (f.stack && at >= f.stack.get() && at < f.stack.get() + stack_bytes) return true;
    return false;
}
void access(const void* at, std::size_t bytes, bool writes, const void* from) {
    if (active == nullptr || is_inside || is_of_a_stack(at)) return;
    const inside here;
    exploration& e = *active;
    const auto& clock = e.fibers[e.now].knows.clock;
    const auto first = reinterpret_cast<std::uintptr_t>(at);
    for (std::uintptr_t b = first; b != first + bytes; ++b) {
        accesses& a = e.plain[b / 8];
        const std::size_t i = b % 8;
        bool races = a.write_time[i] > clock[a.writer[i]];
        for (unsigned t = 0; t != e.count && writes; ++t) races |= a.read_time[i][t] > clock[t];
        if (races) {
            char text[160];
            Dl_info object{};
            dladdr(from, &object);
            std::snprintf(text, sizeof text, "%s %zu bytes without order to another thread (at 0x%zx)",
                          writes ? "writes" : "reads", bytes,
                          reinterpret_cast<std::uintptr_t>(from) - reinterpret_cast<std::uintptr_t>(object.dli_fbase));
            fail(text);
        }
        // A time of 0 is that before all threads.
        if (writes)
            a.write_time[i] = clock[e.now], a.writer[i] = static_cast<unsigned char>(e.now);
        else
            a.read_time[i][e.now] = clock[e.now];
    }
}

std::uintptr_t offset_of(const void* site) {
    static const auto base = [] {
        Dl_info object{};
        dladdr(reinterpret_cast<const void*>(&explore), &object);
        const bool has_its_own_address = static_cast<const ElfW(Ehdr)*>(object.dli_fbase)->e_type == ET_EXEC;
        return has_its_own_address ? 0 : reinterpret_cast<std::uintptr_t>(object.dli_fbase);
    }();
    return reinterpret_cast<std::uintptr_t>(site) - base - 1; // within the call
}

void run_once(exploration& e, program& runs) {
    e.runs = &runs;
    e.count = runs.threads();
    e.depth = 0;
    e.preemptions = e.within.preemptions;
    e.stale_reads = e.within.stale_reads;
    e.stored = e.steps = e.in_a_row = 0;
    e.places.clear();
    e.by_address.clear();
    e.plain.clear();
    e.sequential = {};
    for (unsigned t = 0; t != e.count; ++t) {
        fiber& f = e.fibers[t];
        if (!f.stack) f.stack = std::make_unique<char[]>(stack_bytes);
        f.knows = f.released = f.acquired = {};
        f.knows.clock[t] = 1;
        f.ended = f.idles = f.is_stale = false;
        f.seen = f.stored = 0;
        f.waits = nullptr;
        getcontext(&f.context);
        f.context.uc_stack.ss_sp = f.stack.get();
        f.context.uc_stack.ss_size = stack_bytes;
        makecontext(&f.context, start_fiber, 0);
    }
    static volatile bool is_back; // getcontext() comes back with what registers held before
    is_back = false;
    getcontext(&e.home);
    if (is_back) {
        active = nullptr;
        is_inside = false;
        return;
    }
    is_back = true;
    is_inside = true;
    active = &e;
    e.now = choose(e.count);
    setcontext(&e.fibers[e.now].context);
}

} // namespace

void idle() {
    if (active == nullptr) return;
    const inside here;
    exploration& e = *active;
    const unsigned t = e.now;
    fiber& me = e.fibers[t];
    me.idles = true;
    pass_on();
    me.idles = me.is_stale = false;
    me.seen = e.stored - me.stored;
}

void demand(bool holds, const char* sentence) {
    if (holds || active == nullptr) return;
    const inside here;
    fail(sentence);
}

report explore(const std::function<std::unique_ptr<program>()>& make, const limits& within,
               const std::vector<std::uintptr_t>& weakened) {
    // In a process that has never had a second thread, shared_ptr counts without atomic operations.
    static const bool has_had_a_thread = (std::thread([] {}).join(), true);
    (void)has_had_a_thread;
    const auto all = std::make_unique<exploration>();
    exploration& e = *all;
    e.within = within;
    e.weakened = weakened;
    for (;;) {
        std::unique_ptr<program> runs = make();
        ++e.result.runs;
        run_once(e, *runs);
        if (!e.result.fault.empty()) {
            (void)runs.release(); // its threads are in the middle of something
            break;
        }
        runs->check();
        while (!e.path.empty() && e.path.back().taken + 1 == e.path.back().all) e.path.pop_back();
        if (e.path.empty()) break;
        ++e.path.back().taken;
        if (e.result.runs == within.most_runs) {
            e.result.complete = false;
            break;
        }
    }
    for (const auto& [site, is_sequential] : e.sites) e.result.ordered.push_back({site, is_sequential});
    return std::move(e.result);
}

} // namespace weak_memory

using namespace weak_memory;

// --- what the compiler calls ---

#define SITE offset_of(__builtin_return_address(0))
#define FROM __builtin_return_address(0)

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void** at, void*) { access(at, sizeof(void*), true, FROM); }
void __tsan_vptr_read(void** at) { access(at, sizeof(void*), false, FROM); }
void __tsan_read_range(void* at, std::size_t bytes) { access(at, bytes, false, FROM); }
void __tsan_write_range(void* at, std::size_t bytes) { access(at, bytes, true, FROM); }
#define PLAIN(N)                                                                                                       \
    void __tsan_read##N(void* at) { access(at, N, false, FROM); }                                                      \
    void __tsan_write##N(void* at) { access(at, N, true, FROM); }                                                      \
    void __tsan_unaligned_read##N(void* at) { access(at, N, false, FROM); }                                            \
    void __tsan_unaligned_write##N(void* at) { access(at, N, true, FROM); }                                            \
    void __tsan_read_write##N(void* at) { access(at, N, true, FROM); }                                                 \
    void __tsan_unaligned_read_write##N(void* at) { access(at, N, true, FROM); }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

// Under these names the linker finds memcpy() and the others in all that is linked (--wrap).
void* __real_memcpy(void*, const void*, std::size_t);
void* __real_memmove(void*, const void*, std::size_t);
void* __real_memset(void*, int, std::size_t);
static void* copy(void* to, const void* from, std::size_t bytes, const void* site) {
    access(from, bytes, false, site);
    access(to, bytes, true, site);
    return __real_memmove(to, from, bytes);
}
static void* fill(void* to, int value, std::size_t bytes, const void* site) {
    access(to, bytes, true, site);
    return __real_memset(to, value, bytes);
}
void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) { return copy(to, from, bytes, FROM); }
void* __wrap_memmove(void* to, const void* from, std::size_t bytes) { return copy(to, from, bytes, FROM); }
void* __wrap_memset(void* to, int value, std::size_t bytes) { return fill(to, value, bytes, FROM); }
void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) { return copy(to, from, bytes, FROM); }
void* __tsan_memmove(void* to, const void* from, std::size_t bytes) { return copy(to, from, bytes, FROM); }
void* __tsan_memset(void* to, int value, std::size_t bytes) { return fill(to, value, bytes, FROM); }

#define ATOMIC(BITS)                                                                                                   \
    std::uint##BITS##_t __tsan_atomic##BITS##_load(const volatile std::uint##BITS##_t* at, int order) {                \
        return load(at, order, SITE);                                                                                  \
    }                                                                                                                  \
    void __tsan_atomic##BITS##_store(volatile std::uint##BITS##_t* at, std::uint##BITS##_t value, int order) {         \
        put(at, value, order, SITE);                                                                                   \
    }                                                                                                                  \
    std::uint##BITS##_t __tsan_atomic##BITS##_exchange(volatile std::uint##BITS##_t* at, std::uint##BITS##_t value,    \
                                                       int order) {                                                    \
        return change(at, order, SITE, [value](std::uint##BITS##_t) { return value; });                                \
    }                                                                                                                  \
    CHANGE(BITS, fetch_add, old + value)                                                                               \
    CHANGE(BITS, fetch_sub, old - value)                                                                               \
    CHANGE(BITS, fetch_and, old& value)                                                                                \
    CHANGE(BITS, fetch_or, old | value)                                                                                \
    CHANGE(BITS, fetch_xor, old ^ value)                                                                               \
    int __tsan_atomic##BITS##_compare_exchange_strong(volatile std::uint##BITS##_t* at, std::uint##BITS##_t* expected, \
                                                      std::uint##BITS##_t wanted, int order, int on_failure) {         \
        return exchange_if(at, expected, wanted, order, on_failure, SITE);                                             \
    }                                                                                                                  \
    int __tsan_atomic##BITS##_compare_exchange_weak(volatile std::uint##BITS##_t* at, std::uint##BITS##_t* expected,   \
                                                    std::uint##BITS##_t wanted, int order, int on_failure) {           \
        return exchange_if(at, expected, wanted, order, on_failure, SITE);                                             \
    }                                                                                                                  \
    std::uint##BITS##_t __tsan_atomic##BITS##_compare_exchange_val(                                                    \
        volatile std::uint##BITS##_t* at, std::uint##BITS##_t expected, std::uint##BITS##_t wanted, int order,         \
        int on_failure) {                                                                                              \
        exchange_if(at, &expected, wanted, order, on_failure, SITE);                                                   \
        return expected;                                                                                               \
    }
#define CHANGE(BITS, NAME, RESULT)                                                                                     \
    std::uint##BITS##_t __tsan_atomic##BITS##_##NAME(volatile std::uint##BITS##_t* at, std::uint##BITS##_t value,      \
                                                     int order) {                                                      \
        return change(at, order, SITE,                                                                                 \
                      [value](std::uint##BITS##_t old) { return static_cast<std::uint##BITS##_t>(RESULT); });          \
    }
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)
void __tsan_atomic_thread_fence(int order) { fence(order, SITE); }
void __tsan_atomic_signal_fence(int) {}

// --- and the system ---

long syscall(long number, ...) noexcept {
    long given[6];
    std::va_list list;
    va_start(list, number);
    for (long& x : given) x = va_arg(list, long);
    va_end(list);
    if (active == nullptr || is_inside) {
        using real = long (*)(long, ...);
        static const auto of_libc = reinterpret_cast<real>(dlsym(RTLD_NEXT, "syscall"));
        return of_libc(number, given[0], given[1], given[2], given[3], given[4], given[5]);
    }
    const inside here;
    exploration& e = *active;
    point();
    if (number == SYS_membarrier) {
        full_fence_on(e.now);
        for (unsigned t = 0; t != e.count; ++t) full_fence_on(t);
        full_fence_on(e.now);
        return 0;
    }
    if (number != SYS_futex) fail("calls the system in a way that is not known here");
    auto* const word = reinterpret_cast<std::uint32_t*>(given[0]);
    if (given[1] == FUTEX_WAKE) {
        for (unsigned t = 0; t != e.count; ++t)
            if (e.fibers[t].waits == word) e.fibers[t].waits = nullptr;
    } else if (*word == static_cast<std::uint32_t>(given[2])) {
        e.fibers[e.now].waits = word;
        pass_on();
    } else {
        return -1;
    }
    return 0;
}
}
