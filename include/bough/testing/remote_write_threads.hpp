// SPDX-License-Identifier: BSL-1.0
// Rule W5 of a RemoteWriteTransport that keeps the order of bytes, tested between two threads.
// check_remote_writes drives all ends from one thread, so it cannot test this rule if a put has
// copied everything when it returns.
//
//   const auto fault = bough::testing::check_remote_write_order([](bough::rank_t ranks) { return my_ends(ranks); });
//   if (fault) std::puts(fault.sentence);
//
// The function makes a fresh group of two, as for check_remote_writes; each end is driven by a
// thread of its own. One thread fills the other's memory with a counter. The other reads that
// memory as soon as its last word has the new value. The check can find a fault only while both
// threads run, each on a core of its own. Rare faults are missed even then: passing proves nothing.
#ifndef BOUGH_TESTING_REMOTE_WRITE_THREADS_HPP
#define BOUGH_TESTING_REMOTE_WRITE_THREADS_HPP

#include <bough/testing/remote_write_conformance.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <type_traits>
#include <utility>

namespace bough::inline BOUGH_ABI::testing {

struct remote_write_order_check {
    // Each is a put of 2 KiB; in every other round a word follows it.
    std::uint32_t rounds = 50'000;
    std::uint64_t enough_ns = 500'000'000;     // after so long no further round begins
    std::uint64_t timeout_ns = 60'000'000'000; // if nothing has come after so long, the check fails
};

namespace detail {

template <class Make>
class remote_write_order_checker {
    using group = std::remove_cvref_t<std::invoke_result_t<Make&, rank_t>>;
    using end = std::remove_cvref_t<decltype(std::declval<group&>()[0])>;
    static_assert(end::keeps_byte_order, "the order of bytes: this transport does not promise any");
    using clock = std::chrono::steady_clock;
    static constexpr std::size_t words = 256; // length of the long put
    // Where the long put goes, and where the word goes.
    static constexpr std::uint64_t body = 64, flag = 3072;
    static constexpr std::uint64_t none = 0; // the id that means: no put is pending

public:
    remote_write_order_checker(Make& make, const remote_write_order_check& o)
        : options_(o), ends_(make(rank_t{2})), begin_(clock::now()) {}

    remote_write_fault run() {
        std::thread writer([this] {
            for (std::uint32_t k = 1; k <= options_.rounds && !over_.load(); ++k) write(k);
            writer_done_ = true;
        });
        for (std::uint32_t k = 1; k <= options_.rounds && !over_.load() && passed_ns() < options_.enough_ns; ++k)
            read(k);
        over_ = true;
        // The writer may get the event of its last put only if the target polls.
        while (!writer_done_.load()) {
            (void)ended(1, none);
            std::this_thread::yield();
        }
        writer.join();
        return faults_[0] ? faults_[0] : faults_[1];
    }

private:
    std::uint64_t passed_ns() const {
        return static_cast<std::uint64_t>((clock::now() - begin_) / std::chrono::nanoseconds(1));
    }
    bool late() const { return passed_ns() > options_.timeout_ns; }
    // Notes a fault that the thread of end `r` has found. The first fault of either thread ends the
    // check.
    void fail(remote_write_rule broken, rank_t r, const char* sentence) {
        if (!faults_[r]) faults_[r] = {broken, r, sentence};
        over_ = true;
    }
    // Polls end `r`. True: the pending put of that id has ended.
    bool ended(rank_t r, std::uint64_t id) {
        event e;
        if (ends_[r].poll(std::span(&e, 1)) != 1) return false;
        if (e.what == event::kind::lost)
            fail(remote_write_rule::loss, r, "a peer is reported as lost, but is there");
        else if (id == none || e.what != event::kind::complete || e.id != id)
            fail(remote_write_rule::one_event, r, "an event of no pending post");
        else if (e.code != errc::ok)
            fail(remote_write_rule::one_event, r, "a post to a rank that is there ends with an error");
        else
            return true;
        return false;
    }
    void write(std::uint32_t k) {
        source_.fill(k);
        const std::span<const std::byte> all = std::as_bytes(std::span(source_));
        const std::size_t cut = std::size_t{k} * 40 % all.size();
        put(body, all.first(cut), all.subspan(cut));
        if (k % 2 == 0 && !over_.load()) put(flag, all.first(8), {});
        for (std::uint32_t turns = 1; seen_.load(std::memory_order_acquire) != k && !over_.load(); ++turns) {
            (void)ended(0, none); // on some transports a complete put lands only while its own rank polls
            if (turns % 4096 == 0) std::this_thread::yield();
        }
    }
    // Puts, and returns when the caller may use the source again, or the check is over.
    void put(std::uint64_t at, std::span<const std::byte> first, std::span<const std::byte> second) {
        posted p = posted::would_block;
        const std::uint64_t id = ++ids_;
        while (!over_.load() && (p = ends_[0].put(1, at, first, second, id)) == posted::would_block)
            (void)ended(0, none);
        if (p == posted::failed) fail(remote_write_rule::place, 0, "a put to a rank that is there fails");
        while (p == posted::pending && !faults_[0] && !ended(0, id))
            if (late()) fail(remote_write_rule::one_event, 0, "a pending put never has an event");
    }
    void read(std::uint32_t k) {
        const std::byte* region = ends_[1].region().data();
        const std::byte* word = region + (k % 2 == 0 ? flag : body + 8 * (words - 1));
        for (std::uint32_t turns = 1; remote_words::read(word) != k; ++turns) {
            (void)ended(1, none);
            if (over_.load()) return;
            if (turns % 4096 != 0) continue;
            std::this_thread::yield();
            if (late()) return fail(remote_write_rule::one_event, 1, "a put never lands, or never has its event");
        }
        for (std::size_t i = words; i-- != 0;) // looks first at what was most likely copied last
            if (remote_words::read(region + body + 8 * i) != k)
                fail(remote_write_rule::word_is_last, 1, "the last word of a put is there before the rest");
        seen_.store(k, std::memory_order_release);
    }

    remote_write_order_check options_;
    // Outlives the ends, because a put without an event may still read it.
    std::array<std::uint64_t, words> source_{};
    group ends_;
    clock::time_point begin_;
    std::uint64_t ids_ = 0;
    std::atomic<std::uint32_t> seen_{0};
    std::atomic<bool> over_{false}, writer_done_{false};
    std::array<remote_write_fault, 2> faults_{}; // one for each thread
};

} // namespace detail

// Reports no fault, or one of these:
//   word_is_last   the last word of a put is there before the rest
//   one_event      a put has not landed in time, or has not had exactly one event without an error
//   loss           a peer is reported as lost, but is there
//   place          a put fails
template <class Make>
remote_write_fault check_remote_write_order(Make&& make, const remote_write_order_check& options = {}) {
    return detail::remote_write_order_checker<std::remove_reference_t<Make>>(make, options).run();
}

} // namespace bough::testing

#endif
