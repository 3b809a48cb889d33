// SPDX-License-Identifier: BSL-1.0
// The rules of a Transport, as code: run them over your own.
//
//   const auto fault = bough::testing::check_transport([](bough::rank_t ranks) { return my_ends(ranks); });
//   if (fault) std::puts(fault.sentence);
//
// The function makes a fresh group and returns its ends in order of rank, in a std::vector or
// something like it: size(), operator[], pop_back() (which must take that rank out of the group).
// One thread drives all ends and polls them in turn. A transport whose ends need threads of their
// own cannot be checked here (see process_conformance.hpp). T8 cannot be tested from outside.
#ifndef BOUGH_TESTING_TRANSPORT_CONFORMANCE_HPP
#define BOUGH_TESTING_TRANSPORT_CONFORMANCE_HPP

#include <bough/concepts/explain_transport.hpp>
#include <bough/testing/detail/transport_driver.hpp>
#include <bough/testing/transport_rules.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::testing {

namespace detail {

template <class Make>
class transport_checker {
    using group = std::remove_cvref_t<std::invoke_result_t<Make&, rank_t>>;
    using end = std::remove_cvref_t<decltype(std::declval<group&>()[0])>;
    static_assert(explain_transport<end>());
    using driver = transport_driver<end, group>;
    using post_state = typename driver::post::state;

public:
    transport_checker(Make& make, const transport_check& options) : make_(make), options_(options) {
        options_.longest = std::max<std::size_t>(options.longest, 64);
    }

    transport_fault run() {
        using check = transport_fault (transport_checker::*)();
        for (const check c :
             {&transport_checker::who_is_who, &transport_checker::idle_polls, &transport_checker::common_memory,
              &transport_checker::refusals, &transport_checker::traffic, &transport_checker::any_release_order,
              &transport_checker::silent_sender, &transport_checker::cancellation, &transport_checker::departure}) {
            if (const transport_fault bad = (this->*c)()) return bad;
            if (options_.ranks == 1 && c == &transport_checker::common_memory) break;
        }
        return {};
    }

private:
    driver fresh(rank_t ranks) { return driver(make_(ranks), options_); }

    transport_fault who_is_who() {
        driver d = fresh(options_.ranks);
        if (d.size() != options_.ranks)
            return {transport_rule::identity, no_rank, "the group has not as many ends as were asked for"};
        for (rank_t r = 0; r != d.size(); ++r) {
            if (d.at(r).rank() != r) return {transport_rule::identity, r, "the end at place r has not rank r"};
            if (d.at(r).size() != d.size()) return {transport_rule::identity, r, "size() is not the number of ranks"};
            for (const rank_t nobody : {r, d.size(), no_rank})
                if (d.at(r).post_send(nobody, {}, {}, 1) != posted::failed)
                    return {transport_rule::identity, r,
                            "a send to oneself, or to no rank of the group, does not fail"};
            if (d.at(r).cancel(77) == errc::ok)
                return {transport_rule::one_event, r, "a post that was never made can be cancelled"};
        }
        bool moved = false;
        d.poll_all(moved);
        return d.fault();
    }

    transport_fault idle_polls() {
        using clock = std::chrono::steady_clock;
        driver d = fresh(options_.ranks);
        for (rank_t r = 0; r != d.size(); ++r) {
            std::array<event, 4> events;
            auto shortest = clock::duration::max();
            std::uint64_t before = d.at(r).now_ns();
            for (int i = 0; i != 8; ++i) {
                const auto start = clock::now();
                if (d.at(r).poll(std::span(events).first(i % 2 == 0 ? events.size() : 0)) != 0)
                    return {transport_rule::one_event, r, "poll finds something, but nothing has happened"};
                shortest = std::min(shortest, clock::now() - start);
                const std::uint64_t now = d.at(r).now_ns();
                if (now < before) return {transport_rule::poll_returns, r, "now_ns() goes back"};
                before = now;
            }
            if (shortest > std::chrono::nanoseconds(options_.poll_limit_ns))
                return {transport_rule::poll_returns, r, "poll waits when there is nothing to find"};
        }
        return {};
    }

    transport_fault common_memory() {
        if constexpr (SharesMemory<end>) {
            constexpr transport_rule rule = transport_rule::common_memory;
            driver d = fresh(options_.ranks);
            const std::uint64_t bytes = d.at(0).common_bytes();
            for (rank_t r = 0; r != d.size(); ++r) {
                if (d.at(r).common_bytes() != bytes) return {rule, r, "common_bytes() differs between ranks"};
                for (const auto& [owner, at] : {std::pair{d.size(), std::uint64_t{0}}, std::pair{r, bytes}})
                    if (!d.at(r).common(owner, at, 64).empty())
                        return {rule, r, "common() gives memory that nobody has"};
            }
            for (rank_t owner = 0; owner != d.size() && bytes >= 64; ++owner)
                for (const std::uint64_t at : {std::uint64_t{0}, (bytes - 64) / 64 * 64})
                    for (rank_t r = 0; r != d.size(); ++r) {
                        const std::span<std::byte> seen = d.at(r).common(owner, at, 64);
                        if (seen.size() != 64) return {rule, r, "common() gives another length than was asked for"};
                        if (reinterpret_cast<std::uintptr_t>(seen.data()) % 64 != 0)
                            return {rule, r, "common() is not at the start of a cache line"};
                        if (r == 0 && at != 0) seen[63] = std::byte{0}; // both may be the same line
                        if (seen[63] != static_cast<std::byte>(r))
                            return {rule, r, "common memory is not zero at first, or not the same for all"};
                        seen[63] = static_cast<std::byte>(r + 1);
                    }
            if constexpr (DescriptorTransport<end>) {
                if (d.size() == 1 || d.at(0).descriptor() < 0) return d.fault();
                d.at(1).wake(0);
                if (d.at(0).arm()) return {rule, 0, "a rank that was woken may sleep before it has polled"};
                bool moved = false;
                if (!d.poll_all(moved)) return d.fault();
                if (!d.at(0).arm()) return {rule, 0, "a rank that has polled since it was woken may not sleep"};
                d.at(0).disarm();
            }
        }
        return {};
    }

    // Tests T5, and T2 for refused posts: what was accepted arrives in order, and nothing else
    // arrives.
    transport_fault refusals() {
        for (const std::size_t bytes : {std::size_t{8}, options_.longest}) {
            driver d = fresh(std::max<rank_t>(2, options_.ranks));
            d.streams().push_back({.from = 0, .to = 1, .fixed = bytes});
            const std::uint32_t limit = bytes == 8 ? options_.queue_limit : std::min(options_.queue_limit, 1024u);
            posted result = posted::complete;
            while (result != posted::would_block) {
                if (d.streams()[0].posted == limit)
                    return {transport_rule::bounded, 0, "posts are accepted without end, though the peer never polls"};
                result = d.offer(0);
                if (result == posted::failed)
                    return {transport_rule::bounded, 0, "a full link says failed, not would_block"};
            }
            d.streams()[0].target = d.streams()[0].posted + 10;
            if (!d.run()) return d.fault();
        }
        return {};
    }

    transport_fault traffic() {
        driver d = fresh(options_.ranks);
        for (rank_t from = 0; from != d.size(); ++from)
            for (rank_t to = 0; to != d.size(); ++to) {
                if (from == to) continue;
                const std::uint32_t target = from == 0 && to == 1 ? options_.messages : options_.messages / 20;
                d.streams().push_back({from, to, target});
            }
        d.run();
        return d.fault();
    }

    // Lets as many messages arrive as there is room for, and releases them unread, the last one
    // first. Then there must be room for as many again.
    transport_fault any_release_order() {
        driver d = fresh(std::max<rank_t>(2, options_.ranks));
        d.streams().push_back({0, 1});
        d.keep_arrivals = true;
        for (int turn = 0; turn != 3; ++turn) {
            posted result = posted::would_block; // any post may be refused for a while, also the first
            for (std::uint32_t polls = 0; result == posted::would_block && polls != options_.patience_polls; ++polls) {
                bool moved = false;
                result = d.offer(0);
                if (result == posted::would_block && !d.poll_all(moved)) return d.fault();
            }
            for (std::uint32_t k = 1; k != 64 && (result == posted::complete || result == posted::pending); ++k)
                result = d.offer(0);
            d.streams()[0].target = d.streams()[0].posted;
            for (std::uint32_t polls = 0; d.streams()[0].arrived != d.streams()[0].posted; ++polls) {
                bool moved = false;
                if (!d.poll_all(moved)) return d.fault();
                if (moved) polls = 0;
                if (polls == options_.patience_polls) break; // the rest can come only once there is room
            }
            if (d.held().empty()) return {transport_rule::in_order, 1, "a message never arrives"};
            while (!d.held().empty()) d.at(1).release(d.take_one(d.held().size() - 1).seen.id);
            d.keep_arrivals = false;
            if (!d.run()) return d.fault();
            d.keep_arrivals = true;
        }
        return {};
    }

    // Tests T11. A rank posts, hands over what its transport says is unsent, and does not poll
    // again.
    transport_fault silent_sender() {
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, options_.longest / 16, options_.longest}) {
            driver d = fresh(std::max<rank_t>(2, options_.ranks));
            d.streams().push_back({.from = 0, .to = 1, .fixed = bytes});
            d.streams()[0].target = 1; // the first one may be refused for a while
            if (!d.run()) return d.fault();
            const std::size_t before = d.posts().size();
            for (posted result = posted::complete; result == posted::complete && d.streams()[0].posted != 9;)
                result = d.offer(0);
            d.streams()[0].target = d.streams()[0].posted;
            const auto is_over = [&] {
                for (std::size_t i = before; i != d.posts().size(); ++i)
                    if (d.posts()[i].owner == 0 && d.posts()[i].now == post_state::pending) return false;
                return true;
            };
            if (!turn_until(d, is_over, 0)) return broken_or(d, transport_rule::one_event, "a pending post never ends");
            if constexpr (GatheringTransport<end>) {
                const std::uint64_t all = d.at(0).accepted(1);
                const auto has_left = [&] { return d.at(0).flush(), d.at(0).handed_over(1) >= all; };
                if (!turn_until(d, has_left, 1))
                    return broken_or(d, transport_rule::handed_over, "what was posted is never handed over");
            }
            const auto has_come = [&] { return d.streams()[0].arrived == d.streams()[0].posted; };
            if (!turn_until(d, has_come, 1))
                return broken_or(d, transport_rule::handed_over,
                                 "a message that was handed over does not arrive before its sender polls again");
            if (!d.run()) return d.fault();
        }
        return {};
    }
    // Polls the ranks from `first` on until done(). False: a rule is broken, or nothing happened
    // for too long.
    template <class F>
    bool turn_until(driver& d, const F& done, rank_t first) {
        std::uint64_t idle = 0, since = 0;
        while (!done()) {
            bool moved = false;
            for (rank_t r = first; r != d.size(); ++r)
                if (!d.poll_one(r, moved)) return false;
            if (!moved && !d.held().empty()) {
                if (!d.use(d.take_one(0))) return false;
                moved = true;
            }
            if (moved) idle = 0;
            if (idle++ == 0) since = d.at(first).now_ns();
            if (idle >= options_.patience_polls && (d.at(first).now_ns() - since >= options_.patience_ns ||
                                                    idle >= std::uint64_t{1000} * options_.patience_polls))
                return false;
        }
        return true;
    }
    static transport_fault broken_or(const driver& d, transport_rule rule, const char* sentence) {
        return d.fault() ? d.fault() : transport_fault{rule, 0, sentence};
    }

    // Tests T9. A send is taken back before its peer has polled, after the peer has seen it, and
    // after the peer has claimed it.
    transport_fault cancellation() {
        for (int when = 0; when != 3; ++when) {
            driver d = fresh(std::max<rank_t>(2, options_.ranks));
            d.streams().push_back({.from = 0, .to = 1, .fixed = options_.longest});
            d.keep_arrivals = true;
            if (d.offer(0) != posted::pending) return {}; // there is nothing to cancel
            if (const transport_fault bad = cancel_one(d, when)) return bad;
        }
        for (std::uint32_t moment = 0; moment != 8; ++moment)
            if (const transport_fault bad = cancel_take(moment)) return bad;
        return {};
    }
    // A take is cancelled after some polls. From its event on the memory belongs to the caller, and
    // the message counts as used up.
    transport_fault cancel_take(std::uint32_t moment) {
        driver d = fresh(std::max<rank_t>(2, options_.ranks));
        d.streams().push_back({.from = 0, .to = 1, .fixed = options_.longest});
        d.keep_arrivals = true;
        d.offer(0);
        for (std::uint32_t i = 0; d.held().empty() && i != options_.patience_polls; ++i) {
            bool moved = false;
            if (!d.poll_all(moved)) return d.fault();
        }
        if (d.held().empty()) return {transport_rule::in_order, 1, "a message never arrives"};
        bool taken_back = false;
        if (!d.take(d.take_one(0), &taken_back)) return d.fault();
        const std::size_t take = d.posts().size() - 1;
        if (taken_back) return {transport_rule::length, 1, "a take of the right length fails"};
        if (d.posts()[take].now != post_state::pending) return {}; // there is nothing to cancel
        d.posts()[take].guarded = true;
        for (std::uint64_t polls = moment < 2 ? moment : mix_bits(moment) % 64; polls != 0; --polls) {
            bool moved = false;
            if (!d.poll_all(moved)) return d.fault();
        }
        if (d.posts()[take].now != post_state::pending) return {};
        if (d.at(1).cancel(d.id_of(take)) != errc::ok)
            return {transport_rule::cancelled, 1, "a pending take cannot be cancelled"};
        const std::uint64_t since = d.at(0).now_ns();
        for (std::uint64_t polls = 0; d.posts()[take].now == post_state::pending; ++polls) {
            bool moved = false; // its memory is overwritten on the event
            if (!d.poll_all(moved)) return d.fault();
            if (polls >= options_.patience_polls && (d.at(0).now_ns() - since >= options_.patience_ns ||
                                                     polls >= std::uint64_t{1000} * options_.patience_polls))
                return {transport_rule::cancelled, 1, "a cancelled take never has an event"};
        }
        if (d.posts()[take].code != errc::cancelled && d.posts()[take].code != errc::ok)
            return {transport_rule::cancelled, 1, "the event of a cancelled take says neither cancelled nor ok"};
        d.streams()[0].fixed = 8;
        d.streams()[0].target = d.streams()[0].posted + 20;
        d.keep_arrivals = false;
        if (!d.run()) return d.fault(); // the send must end without an error
        if (!d.is_untouched(d.posts()[take]))
            return {transport_rule::cancelled, 1, "the memory of a cancelled take is written to after its event"};
        return {};
    }
    transport_fault cancel_one(driver& d, int when) {
        const std::uint64_t id = d.id_of(0);
        bool had = false; // whether the receiver got the message
        d.posts()[0].may_fail = true;
        for (std::uint32_t i = 0; when != 0 && d.held().empty() && i != options_.patience_polls; ++i) {
            bool moved = false;
            if (!d.poll_all(moved)) return d.fault();
        }
        // It has ended already, and cannot be taken back.
        if (d.posts()[0].now != post_state::pending) return {};
        if constexpr (InPlaceTransport<end>) {
            if (when == 2 && !d.held().empty() && d.held()[0].seen.data != nullptr)
                d.held()[0].claimed = d.at(1).claim(d.held()[0].seen.id);
        }
        if (d.at(0).cancel(id) != errc::ok) return {transport_rule::cancelled, 0, "a pending post cannot be cancelled"};
        const std::uint64_t since = d.at(0).now_ns();
        for (std::uint64_t polls = 0; d.posts()[0].now == post_state::pending; ++polls) {
            bool moved = false; // its memory is overwritten on the event
            if (!d.poll_all(moved)) return d.fault();
            if (!d.held().empty() && d.held()[0].claimed && polls >= 16 && !let_go(d, had)) return d.fault();
            if (polls >= options_.patience_polls && (d.at(0).now_ns() - since >= options_.patience_ns ||
                                                     polls >= std::uint64_t{1000} * options_.patience_polls))
                return {transport_rule::cancelled, 0, "a cancelled post never has an event"};
        }
        if (d.posts()[0].code != errc::cancelled && d.posts()[0].code != errc::ok)
            return {transport_rule::cancelled, 0, "the event of a cancelled post says neither cancelled nor ok"};
        for (int i = 0; i != 64; ++i) {
            bool moved = false;
            if (!d.poll_all(moved)) return d.fault();
        }
        while (!d.held().empty())
            if (!let_go(d, had)) return d.fault();
        if (d.posts()[0].code == errc::ok && !had)
            return {transport_rule::cancelled, 0, "a cancelled post ends with ok, but its message cannot be had"};
        // The message may have arrived or not, but the messages behind it must arrive.
        d.streams()[0].arrived = d.streams()[0].posted;
        d.streams()[0].fixed = 8;
        d.streams()[0].target = d.streams()[0].posted + 20;
        d.keep_arrivals = false;
        d.run();
        return d.fault();
    }
    // A message that was taken back either has the right payload or cannot be taken.
    bool let_go(driver& d, bool& had) {
        const auto a = d.take_one(0);
        const auto& s = d.streams()[a.from];
        if constexpr (InPlaceTransport<end>) {
            if (a.claimed || (a.seen.data != nullptr && d.at(1).claim(a.seen.id))) {
                had = true;
                const bool right = d.traffic().is_payload(s, a.number, a.seen.data);
                d.at(1).release(a.seen.id);
                return right || d.fail(transport_rule::cancelled, 1,
                                       "a message can be read in place after its sender has its bytes back");
            }
            if (a.seen.data != nullptr) {
                d.at(1).release(a.seen.id);
                return true;
            }
        }
        bool taken_back = false;
        const bool fine = d.take(a, &taken_back);
        had = !taken_back;
        return fine;
    }

    // Tests T10: the last rank leaves.
    transport_fault departure() {
        driver d = fresh(std::max<rank_t>(3, options_.ranks));
        const rank_t gone = d.size() - 1;
        d.streams().push_back({.from = gone, .to = 0, .fixed = 8});
        d.streams().push_back({.from = 0, .to = gone, .fixed = options_.longest});
        d.keep_arrivals = true;
        posted result = posted::complete;
        for (std::uint32_t k = 0; k != 16 && result == posted::complete; ++k) result = d.offer(0);
        d.offer(1);
        const std::size_t long_post = d.posts().size() - 1;
        d.posts()[long_post].may_fail = true;
        d.streams()[1].arrived = d.streams()[1].posted; // nobody is there to see it
        d.may_lose = gone;
        d.streams()[0].uncertain = result == posted::pending ? 1 : 0;
        d.group().pop_back();
        d.forget(gone);
        const std::uint64_t since = d.at(0).now_ns();
        const auto reported = [&] {
            for (rank_t r = 0; r != gone; ++r)
                if (d.lost_reports(r, gone) == 0) return false;
            return d.posts()[long_post].now != post_state::pending;
        };
        for (std::uint64_t polls = 0; !reported(); ++polls) {
            bool moved = false;
            if (!d.poll_all(moved)) return d.fault();
            if (polls < options_.patience_polls || (d.at(0).now_ns() - since < options_.patience_ns &&
                                                    polls < std::uint64_t{1000} * options_.patience_polls))
                continue;
            for (rank_t r = 0; r != gone; ++r)
                if (d.lost_reports(r, gone) == 0)
                    return {transport_rule::loss, r, "a peer is gone, but not reported as lost"};
            return {transport_rule::one_event, 0, "a pending post to a peer that is gone never has an event"};
        }
        for (rank_t r = 0; r != gone; ++r)
            if (d.at(r).post_send(gone, {}, {}, 1) != posted::failed)
                return {transport_rule::loss, r, "a send to a lost peer does not fail"};
        while (!d.held().empty()) {
            const auto a = d.take_one(0);
            bool taken_back = false; // a message that was not complete may have vanished with its sender
            if (!d.take(a, a.number + d.streams()[0].uncertain < d.streams()[0].posted ? nullptr : &taken_back))
                return d.fault();
        }
        d.streams().push_back({0, 1, 100}); // the other ranks must still be able to send
        d.streams().push_back({1, 0, 100});
        for (std::size_t i = 0; i != 2; ++i) d.streams()[i].target = d.streams()[i].arrived = d.streams()[i].posted;
        d.keep_arrivals = false;
        d.run();
        return d.fault();
    }

    Make& make_;
    transport_check options_;
};

} // namespace detail

// The first rule that is broken, if one is.
template <class Make>
transport_fault check_transport(Make&& make, const transport_check& options = {}) {
    return detail::transport_checker<std::remove_reference_t<Make>>(make, options).run();
}

} // namespace bough::testing

#endif
