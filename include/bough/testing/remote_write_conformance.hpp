// SPDX-License-Identifier: BSL-1.0
// The rules of a RemoteWriteTransport, as code: run them over your own.
//
//   const auto fault = bough::testing::check_remote_writes([](bough::rank_t ranks) { return my_ends(ranks); });
//   if (fault) std::puts(fault.sentence);
//
// The function makes a fresh group with regions of at least 4 KiB. It returns the ends in order of
// rank, in a std::vector or something like it: size(), operator[], pop_back() (which must take that
// rank out of the group). One thread drives all ends. This check cannot test W8 for ranks that come
// late, nor W9. It cannot test W5 either if a put has copied everything when it returns: for that,
// bough/testing/remote_write_threads.hpp looks from a second thread.
#ifndef BOUGH_TESTING_REMOTE_WRITE_CONFORMANCE_HPP
#define BOUGH_TESTING_REMOTE_WRITE_CONFORMANCE_HPP

#include <bough/concepts/explain_remote_write_transport.hpp>
#include <bough/core/random.hpp>
#include <bough/core/remote_words.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::testing {

// The rules; W1 to W8 are those of bough/concepts/remote_write_transport.hpp.
enum class remote_write_rule : std::uint8_t {
    none,         // all rules hold
    identity,     // W8: rank(), size() and regions are those of the group
    one_event,    // W1: a pending post has exactly one event, any other post none
    place,        // W2: bytes go where they were put, and nowhere else
    own_bytes,    // W3: nothing reads the source of a put after its completion
    word_is_last, // W5: once the last word is there, so are the rest and all that was put before
    flush,        // W6: after a flush all puts before it have landed
    poll_returns, // W7: poll fills in no more events than there is room for
    loss,         // W10: a lost peer is reported once
    exposed,      // W11: puts into exposed memory behave as puts into a region
    concealed,    // W12: puts go to no memory that is not exposed or no longer exposed
    counted,      // W13: landed() is how many puts have landed
    handed_over,  // W14: a put that is complete and handed over lands without its rank's help
};

// The rule that was broken, and by which rank.
struct remote_write_fault {
    remote_write_rule rule = remote_write_rule::none;
    rank_t rank = no_rank;
    const char* sentence = "";
    // true: broken.
    constexpr explicit operator bool() const noexcept { return rule != remote_write_rule::none; }
};

// How thorough the check is.
struct remote_write_check {
    rank_t ranks = 3;                       // at least 2
    std::uint32_t rounds = 400;             // of puts
    std::uint32_t patience_polls = 200'000; // if nothing has come after so many polls, the check fails
    std::uint64_t seed = 1;
};

namespace detail {

template <class Make>
class remote_write_checker {
    using group = std::remove_cvref_t<std::invoke_result_t<Make&, rank_t>>;
    using end = std::remove_cvref_t<decltype(std::declval<group&>()[0])>;
    static_assert(explain_remote_write_transport<end>());
    using rule = remote_write_rule;
    // The part of a region into which puts go; as many bytes guard it.
    static constexpr std::size_t span_bytes = 2048;

public:
    remote_write_checker(Make& make, const remote_write_check& options)
        : make_(make), options_(options), random_(options.seed) {}

    remote_write_fault run() {
        identity();
        if (!fault_) refusals();
        if (!fault_) puts();
        if (!fault_) order();
        if (!fault_) silence();
        if (!fault_) departure();
        if constexpr (ExposingRemoteWrites<end>) {
            if (!fault_) exposed();
            if (!fault_) concealed();
        }
        if constexpr (CountedRemoteWrites<end>)
            if (!fault_) counted();
        return fault_;
    }

private:
    struct open_post {
        rank_t owner;
        std::uint64_t id;
    };

    std::uint64_t draw(std::uint64_t below) noexcept { return random_() % below; }
    bool fail(rule broken, rank_t r, const char* sentence) {
        if (!fault_) fault_ = {broken, r, sentence};
        return false;
    }
    static rank_t count(const group& ends) { return static_cast<rank_t>(ends.size()); }

    // Polls all ends once, and keeps account of posts and losses.
    bool poll_all(group& ends) {
        for (rank_t r = 0; r != count(ends); ++r) {
            if (r == silent_) continue;
            std::array<event, 4> events;
            const std::size_t room = 1 + static_cast<std::size_t>(draw(events.size()));
            const std::size_t found = ends[r].poll(std::span(events).first(room));
            if (found > room) return fail(rule::poll_returns, r, "poll fills in more than there is room for");
            for (std::size_t i = 0; i != found; ++i) {
                const event& e = events[i];
                if (e.what == event::kind::lost) {
                    if (may_fail_) continue;
                    if (e.peer != leaving_) return fail(rule::loss, r, "a peer is reported as lost, but is there");
                    for (const open_post& p : open_)
                        if (p.owner == r && p.id >> 32 == e.peer)
                            return fail(rule::loss, r, "a peer is lost, but posts to it are still pending");
                    if (lost_[r]++ != 0) return fail(rule::loss, r, "the loss of a peer is reported twice");
                    continue;
                }
                const auto p = std::find_if(open_.begin(), open_.end(),
                                            [&](const open_post& q) { return q.owner == r && q.id == e.id; });
                if (e.what != event::kind::complete || p == open_.end())
                    return fail(rule::one_event, r, "an event of no pending post");
                if (e.code != errc::ok && e.peer != leaving_ && !may_fail_)
                    return fail(rule::one_event, r, "a post to a rank that is there ends with an error");
                open_.erase(p);
            }
        }
        return true;
    }
    // Posts again until the post is not refused. The bytes must stay until done(id).
    template <class F>
    posted persist(group& ends, rank_t owner, F&& post) {
        for (std::uint32_t i = 0; i != options_.patience_polls; ++i) {
            const std::uint64_t id = std::uint64_t{to_} << 32 | ++ids_;
            const posted result = post(id);
            if (result == posted::pending) open_.push_back({owner, id});
            if (result != posted::would_block) return result;
            if (!poll_all(ends)) return posted::failed;
        }
        fail(rule::place, owner, "a post is refused for ever");
        return posted::failed;
    }
    template <class F>
    bool until(group& ends, F&& holds) {
        for (std::uint32_t i = 0; i != options_.patience_polls; ++i) {
            if (holds()) return true;
            if (!poll_all(ends)) return false;
        }
        return holds();
    }

    void identity() {
        group ends = make_(options_.ranks);
        const std::size_t size = ends[0].region().size();
        for (rank_t r = 0; r != count(ends); ++r) {
            const std::span<std::byte> mine = ends[r].region();
            if (ends[r].rank() != r || ends[r].size() != options_.ranks)
                return void(fail(rule::identity, r, "rank() or size() is not that of the group"));
            if (mine.size() != size || mine.size() < 2 * span_bytes)
                return void(fail(rule::identity, r, "regions differ in size, or have less than 4 KiB"));
            if (reinterpret_cast<std::uintptr_t>(mine.data()) % 64 != 0)
                return void(fail(rule::identity, r, "a region does not begin on a cache line"));
            if (std::any_of(mine.begin(), mine.end(), [](std::byte b) { return b != std::byte{0}; }))
                return void(fail(rule::identity, r, "a region is not zero when the group is made"));
            const end moved(std::move(ends[r]));
            if (moved.region().data() != mine.data())
                return void(fail(rule::identity, r, "a region moves with its transport"));
        }
    }

    void refusals() {
        const std::array<std::byte, 16> x{std::byte{1}};
        group ends = make_(options_.ranks);
        const std::uint64_t room = ends[0].region().size();
        const std::span<const std::byte> all(x);
        const auto must_fail = [&](rank_t to, std::uint64_t at, auto first, auto second) {
            if (ends[0].put(to, at, first, second, 1) != posted::failed)
                fail(rule::place, 0, "a put to oneself, to nobody, or beyond a region does not fail");
        };
        for (const rank_t nobody : {rank_t{0}, count(ends), no_rank}) must_fail(nobody, 0, all, all.first(0));
        must_fail(1, room - 15, all, all.first(0));
        must_fail(1, room - 16, all, all.first(1));
        must_fail(1, room + 1, all.first(0), all.first(0));
        must_fail(1, ~std::uint64_t{0} - 7, all, all.first(0));
        until(ends, [n = 0]() mutable { return ++n == 50; });
        for (rank_t r = 0; r != count(ends) && !fault_; ++r)
            for (const std::byte b : ends[r].region())
                if (b != std::byte{0}) return void(fail(rule::place, r, "a put that has failed writes something"));
    }

    // Puts of all lengths at all offsets, whose sources are overwritten once they are complete.
    void puts() {
        std::vector<std::byte> expected(2 * span_bytes), source;
        group ends = make_(options_.ranks);
        for (std::uint32_t k = 0; k != options_.rounds && !fault_; ++k) {
            const std::uint64_t at = span_bytes / 2 + draw(span_bytes / 2), length = draw(k % 4 == 0 ? 700 : 70);
            const std::size_t cut = static_cast<std::size_t>(draw(length + 1));
            source.resize(static_cast<std::size_t>(length));
            for (std::byte& b : source) b = static_cast<std::byte>(1 + draw(255));
            std::copy(source.begin(), source.end(), expected.begin() + static_cast<std::ptrdiff_t>(at));
            to_ = 1;
            const std::span<const std::byte> all(source);
            persist(ends, 0,
                    [&](std::uint64_t id) { return ends[0].put(1, at, all.first(cut), all.subspan(cut), id); });
            if (!until(ends, [&] { return open_.empty(); }))
                return void(fail(rule::one_event, 0, "a pending put never has an event"));
            std::fill(source.begin(), source.end(), std::byte{0});
            const auto landed = [&] { return std::equal(expected.begin(), expected.end(), ends[1].region().begin()); };
            if (!until(ends, landed)) {
                const std::byte* there = ends[1].region().data();
                bool later = true; // whether all wrong bytes are zeros in the place of this put
                for (std::size_t i = 0; i != expected.size(); ++i)
                    later &= there[i] == expected[i] || (there[i] == std::byte{0} && i >= at && i < at + length);
                return void(later ? fail(rule::own_bytes, 1, "the source of a put is read after its completion")
                                  : fail(rule::place, 1, "other bytes land than were put, or elsewhere"));
            }
        }
        for (rank_t r = 0; r != count(ends) && !fault_; ++r)
            for (std::size_t i = 2 * span_bytes * (r == 1); i != ends[r].region().size(); ++i)
                if (ends[r].region()[i] != std::byte{0})
                    return void(fail(rule::place, r, "memory changes that nobody has written"));
    }

    // Makes two puts, a long one and one of a word. When the word has come, the long one must be
    // there too; or, if bytes land in any order, when a flush is over.
    void order() {
        std::vector<std::byte> source(512);
        std::array<std::uint64_t, 2> words{};
        group ends = make_(options_.ranks);
        for (std::uint32_t k = 1; k != options_.rounds && !fault_; ++k) {
            std::fill(source.begin(), source.end(), static_cast<std::byte>(1 + k % 255));
            const std::span<const std::byte> all(source);
            words = {k, k};
            const std::span<const std::byte> bytes = std::as_bytes(std::span(words));
            to_ = 1;
            const std::byte* there = ends[1].region().data();
            const auto whole = [&] {
                return std::equal(source.begin(), source.end(), there + 64) && remote_words::read(there + 1024) == k;
            };
            persist(ends, 0, [&](std::uint64_t id) { return ends[0].put(1, 64, all.first(8), all.subspan(8), id); });
            persist(ends, 0, [&](std::uint64_t id) { return ends[0].put(1, 1024, bytes, {}, id); });
            bool over = false;
            if constexpr (end::keeps_byte_order) {
                over = until(ends, [&] { return remote_words::read(there + 1032) == k; });
                if (over && !whole()) fail(rule::word_is_last, 1, "the last word of a put is there before the rest");
            } else {
                persist(ends, 0, [&](std::uint64_t id) { return ends[0].flush(1, id); });
                over = until(ends, [&] { return open_.empty(); });
                if (over && (!whole() || remote_words::read(there + 1032) != k))
                    fail(rule::flush, 1, "a flush is over before all has landed");
            }
            if (!over || !until(ends, [&] { return open_.empty(); }))
                return void(fail(rule::one_event, 0, "a put never lands, or never has its event"));
        }
    }

    // A rank makes some puts, hands over what its transport says is unsent, and does not poll
    // again.
    void silence() {
        for (const std::size_t length : {std::size_t{8}, std::size_t{40}, std::size_t{250}, 2 * span_bytes}) {
            std::vector<std::byte> source(2 * span_bytes), expected(source.size());
            group ends = make_(options_.ranks);
            for (std::size_t i = 0; i != source.size(); ++i) source[i] = static_cast<std::byte>(1 + i % 255);
            to_ = 1;
            for (std::size_t at = 0; at < source.size() && !fault_; at += std::max<std::size_t>(256, length)) {
                const std::span<const std::byte> bytes = std::span(source).subspan(at, length);
                std::copy(bytes.begin(), bytes.end(), expected.begin() + static_cast<std::ptrdiff_t>(at));
                persist(ends, 0, [&](std::uint64_t id) { return ends[0].put(1, at, bytes, {}, id); });
            }
            if (!until(ends, [&] { return open_.empty(); }))
                return void(fail(rule::one_event, 0, "a pending put never has an event"));
            if constexpr (GatheringRemoteWrites<end>) {
                const std::uint64_t all = ends[0].accepted(1);
                if (!until(ends, [&] { return ends[0].handed_over(1) >= all; }))
                    return void(fail(rule::handed_over, 0, "what was put is never handed over"));
            }
            silent_ = 0;
            const auto landed = [&] { return std::equal(expected.begin(), expected.end(), ends[1].region().begin()); };
            const bool all = until(ends, landed);
            silent_ = no_rank;
            if (!all)
                return void(
                    fail(rule::handed_over, 1, "a put that was handed over does not land before its rank polls again"));
        }
    }

    // The last rank leaves right after it has put a word.
    void departure() {
        const std::uint64_t word = 0x1122'3344'5566'7788u;
        const std::span<const std::byte> bytes = std::as_bytes(std::span(&word, 1));
        group ends = make_(std::max<rank_t>(options_.ranks, 3));
        const rank_t gone = count(ends) - 1;
        lost_.assign(count(ends), 0);
        to_ = 0;
        persist(ends, gone, [&](std::uint64_t id) { return ends[gone].put(0, 0, bytes, {}, id); });
        if (!until(ends, [&] { return open_.empty(); }))
            return void(fail(rule::one_event, gone, "a pending put never has an event"));
        to_ = leaving_ = gone;
        persist(ends, 1, [&](std::uint64_t id) { return ends[1].put(gone, 0, bytes, {}, id); });
        ends.pop_back();
        const auto told = [&] {
            for (rank_t r = 0; r != gone; ++r)
                if (lost_[r] == 0) return false;
            return open_.empty();
        };
        if (!until(ends, told)) return void(fail(rule::loss, gone, "a peer is gone, but not reported as lost"));
        if (remote_words::read(ends[0].region().data()) != word)
            return void(fail(rule::loss, 0, "what a peer had put before it left has not landed"));
        for (rank_t r = 0; r != gone; ++r)
            if (ends[r].put(gone, 0, bytes, {}, 1) != posted::failed)
                return void(fail(rule::loss, r, "a put to a lost peer does not fail"));
        until(ends, [n = 0]() mutable { return ++n == 50; }); // the loss must not be reported twice
        leaving_ = no_rank;
    }

    // Makes puts into exposed memory of rank 1, between guards. If the transport keeps the order of
    // bytes, each is followed by a word into the region of rank 1.
    void exposed() {
        std::vector<std::byte> memory(3 * span_bytes), expected(memory), source;
        std::uint64_t word = 0;
        group ends = make_(options_.ranks);
        const std::span<std::byte> open = std::span(memory).subspan(span_bytes, span_bytes);
        std::array<exposure, 2> at{};
        for (std::uint64_t k = 1; k <= options_.rounds && !fault_; ++k) {
            exposure& here = at[(k - 1) / 16 % 2]; // two are exposed at a time; the older one is replaced
            if (k % 16 == 1) {
                if (here) ends[1].conceal(here);
                here = ends[1].expose(open);
                if (!here) return void(fail(rule::exposed, 1, "memory cannot be exposed again and again"));
            }
            const std::uint64_t from = draw(open.size()),
                                length = draw(std::min<std::uint64_t>(open.size() - from, 700) + 1);
            source.resize(static_cast<std::size_t>(length));
            for (std::byte& b : source) b = static_cast<std::byte>(1 + draw(255));
            std::copy(source.begin(), source.end(), expected.begin() + static_cast<std::ptrdiff_t>(span_bytes + from));
            to_ = 1;
            const auto put = [&](std::uint64_t id) {
                return ends[0].put_exposed(1, {here.place + from, here.key}, source, id);
            };
            if (persist(ends, 0, put) == posted::failed && !fault_)
                return void(fail(rule::exposed, 0, "a put into memory that is exposed fails"));
            bool over = false;
            if constexpr (end::keeps_byte_order) {
                word = k;
                const auto bytes = std::as_bytes(std::span(&word, 1));
                persist(ends, 0, [&](std::uint64_t id) { return ends[0].put(1, 0, bytes, {}, id); });
                over = until(ends, [&] { return remote_words::read(ends[1].region().data()) == k; });
            } else {
                persist(ends, 0, [&](std::uint64_t id) { return ends[0].flush(1, id); });
                over = until(ends, [&] { return open_.empty(); });
            }
            if (over && memory != expected)
                return void(fail(rule::exposed, 1,
                                 "a put into exposed memory is elsewhere, or not there with what came behind it"));
            if (!over || !until(ends, [&] { return open_.empty(); }))
                return void(fail(rule::one_event, 0, "a put never lands, or never has its event"));
        }
    }
    // Nothing may be written by the key of concealed memory, nor beyond the end of exposed memory.
    // Each attempt has a group of its own, because a rank that makes one may be lost.
    void concealed() {
        for (const std::uint64_t beyond : {0u, 1u, 64u, 1000u}) {
            std::vector<std::byte> memory(1024 + 64);
            const std::span<std::byte> open = std::span(memory).first(1024);
            const std::vector<std::byte> source(64, std::byte{0x5a});
            group ends = make_(options_.ranks);
            exposure at = ends[1].expose(open);
            if (!at) return void(fail(rule::exposed, 1, "memory cannot be exposed"));
            if (beyond == 0)
                ends[1].conceal(at);
            else
                at.place += 1024 - 64 + beyond;
            may_fail_ = true;
            to_ = 1;
            persist(ends, 0, [&](std::uint64_t id) { return ends[0].put_exposed(1, at, source, id); });
            until(ends, [n = 0]() mutable { return ++n == 500; });
            may_fail_ = false;
            open_.clear();
            for (const std::byte b : memory)
                if (b != std::byte{0})
                    return void(
                        fail(rule::concealed, 1, "a put writes to what is not exposed, or not exposed any more"));
            if (fault_) return;
        }
    }
    void counted() {
        const std::array<std::byte, 40> x{};
        group ends = make_(options_.ranks);
        for (std::uint64_t k = 1; k <= 50 && !fault_; ++k) {
            to_ = 1;
            if (ends[1].landed(0) >= k) return void(fail(rule::counted, 1, "a put is counted before it is made"));
            const std::span<const std::byte> bytes = std::span(x).first(static_cast<std::size_t>(1 + k % 40));
            persist(ends, 0, [&](std::uint64_t id) { return ends[0].put(1, 8 * k, bytes, {}, id); });
            if (!until(ends, [&] { return ends[1].landed(0) >= k; }))
                return void(fail(rule::counted, 1, "a put that has landed is not counted"));
        }
        if (!until(ends, [&] { return open_.empty(); })) fail(rule::one_event, 0, "a pending put never has an event");
        for (rank_t r = 0; r != count(ends) && !fault_; ++r)
            if (r != 1 && ends[1].landed(r) != (r == 0 ? 50 : 0))
                fail(rule::counted, 1, "a put is counted twice, or for another rank");
    }

    Make& make_;
    remote_write_check options_;
    bough::detail::split_mix random_;
    std::uint64_t ids_ = 0;
    // The target of posts; the ranks that leave and do not poll.
    rank_t to_ = 0, leaving_ = no_rank, silent_ = no_rank;
    // Posts may end with an error, and ranks may be lost.
    bool may_fail_ = false;
    std::vector<open_post> open_;
    std::vector<std::uint32_t> lost_ = std::vector<std::uint32_t>(64, 0);
    remote_write_fault fault_{};
};

} // namespace detail

// The first rule that is broken, if one is.
template <class Make>
remote_write_fault check_remote_writes(Make&& make, const remote_write_check& options = {}) {
    return detail::remote_write_checker<std::remove_reference_t<Make>>(make, options).run();
}

} // namespace bough::testing

#endif
