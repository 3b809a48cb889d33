// SPDX-License-Identifier: BSL-1.0
// The rules of a DescriptorTransport, as code: run them over your own.
//
//   const auto fault = bough::testing::check_descriptor_transport([](bough::rank_t ranks) { return my_ends(ranks); });
//   if (fault) std::puts(fault);                    // null: all rules are kept, or there is no descriptor
//
// The function is that of check_transport (bough/testing/transport_conformance.hpp): it makes a
// fresh group and returns its ends in order of rank. One thread drives all ends. News of any kind
// must make the descriptor readable within `patience_ms`.
#ifndef BOUGH_TESTING_DESCRIPTOR_LAWS_HPP
#define BOUGH_TESTING_DESCRIPTOR_LAWS_HPP

#include <bough/concepts/explain_transport.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <poll.h>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::testing {

struct descriptor_check {
    // Bytes of a message; if any stays pending until it is read, one so long does.
    std::size_t longest = 100 * 1024;
    // A link must refuse posts after so many without a poll of its receiver.
    std::uint32_t queue_limit = 1u << 16;
    int patience_ms = 5000;
};

namespace detail {

template <class Make>
class descriptor_checker {
    using group = std::remove_cvref_t<std::invoke_result_t<Make&, rank_t>>;
    using end = std::remove_cvref_t<decltype(std::declval<group&>()[0])>;
    static_assert(explain_descriptor_transport<end>());

public:
    descriptor_checker(Make& make, const descriptor_check& options) : make_(make), options_(options) {}

    const char* run() {
        using check = const char* (descriptor_checker::*)();
        for (const check c : {&descriptor_checker::same, &descriptor_checker::arrival, &descriptor_checker::before,
                              &descriptor_checker::room, &descriptor_checker::completion, &descriptor_checker::loss})
            if (const char* bad = (this->*c)()) return bad;
        return nullptr;
    }

private:
    static bool readable(end& e, int ms) {
        pollfd p{e.descriptor(), POLLIN, 0};
        return ::poll(&p, 1, ms) == 1 && (p.revents & POLLIN) != 0;
    }
    // Polls all ends until many polls in a row find nothing. Uses up arrivals.
    template <class F>
    static void quiet(group& g, F&& seen) {
        for (int idle = 0; idle != 200; ++idle)
            for (rank_t r = 0; r != g.size(); ++r) {
                std::array<event, 8> events;
                const std::size_t n = g[r].poll(events);
                for (std::size_t i = 0; i != n; ++i) {
                    seen(r, events[i]);
                    if (events[i].what == event::kind::arrived) g[r].release(events[i].id);
                    idle = 0;
                }
            }
    }
    static void quiet(group& g) {
        quiet(g, [](rank_t, const event&) {});
    }
    // Arms an end; first lets it finish what it has to do. False: it is never armed.
    static bool arm(group& g, rank_t r) {
        for (int again = 0; again != 1000; ++again) {
            if (g[r].arm()) return true;
            g[r].disarm();
            std::array<event, 8> none;
            (void)g[r].poll(std::span(none).first(0));
            quiet(g);
        }
        return false;
    }
    // Two ends that have heard of each other.
    group fresh() {
        group g = make_(2);
        for (rank_t r = 0; r != 2; ++r) {
            std::uint32_t tries = 0;
            while (send(g[r], 1 - r, 8) != posted::complete && ++tries != options_.queue_limit) quiet(g);
        }
        quiet(g);
        return g;
    }
    static bool absent(group& g) { return g[0].descriptor() < 0; }
    posted send(end& from, rank_t to, std::size_t bytes) {
        bytes_.resize(bytes);
        return from.post_send(to, {}, bytes_, 1);
    }

    const char* same() {
        group g = fresh();
        const int mine = g[0].descriptor();
        if (mine < 0) return nullptr;
        if (!arm(g, 0)) return "an end with nothing to do is never armed";
        if (!g[0].arm()) return "an armed end cannot be armed again";
        g[0].disarm();
        if (g[0].descriptor() != mine) return "the descriptor changes";
        if (readable(g[0], 0)) return "the descriptor is readable after disarm";
        return nullptr;
    }
    const char* arrival() {
        group g = fresh();
        if (absent(g)) return nullptr;
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{1000}, options_.longest}) {
            quiet(g);
            if (!arm(g, 0)) return "an end with nothing to do is never armed";
            if (send(g[1], 0, bytes) == posted::would_block) return "a link that is not in use is full";
            std::array<event, 8> none;
            (void)g[1].poll(std::span(none).first(0)); // some transports send posts only in a poll
            if (!readable(g[0], options_.patience_ms)) return "a message has come, and the descriptor is not readable";
            if (!readable(g[0], 0)) return "the descriptor does not stay readable";
            g[0].disarm();
            int arrived = 0;
            quiet(g, [&](rank_t r, const event& e) { arrived += r == 0 && e.what == event::kind::arrived; });
            if (arrived != 1) return "the descriptor was readable, but a poll does not find the message";
            if (readable(g[0], 0)) return "the descriptor is readable though it is not armed and all is read";
        }
        return nullptr;
    }
    // A message that came before the end was armed must be noticed.
    const char* before() {
        group g = fresh();
        if (absent(g)) return nullptr;
        (void)send(g[1], 0, 8);
        std::array<event, 8> none;
        (void)g[1].poll(std::span(none).first(0));
        if (g[0].arm() && !readable(g[0], options_.patience_ms))
            return "armed, and blind for a message that had come before";
        g[0].disarm();
        quiet(g);
        return nullptr;
    }
    // New room after a refused post must be noticed.
    const char* room() {
        group g = fresh();
        if (absent(g)) return nullptr;
        std::uint32_t count = 0;
        while (send(g[0], 1, 8) != posted::would_block)
            if (++count == options_.queue_limit) return "posts are accepted without end";
        if (g[0].arm()) {
            for (int polls = 0; polls != 1000; ++polls) {
                std::array<event, 8> events;
                const std::size_t n = g[1].poll(events);
                for (std::size_t i = 0; i != n; ++i)
                    if (events[i].what == event::kind::arrived) g[1].release(events[i].id);
            }
            if (!readable(g[0], options_.patience_ms)) return "there is room again, and the descriptor is not readable";
        }
        g[0].disarm();
        quiet(g);
        return send(g[0], 1, 8) == posted::would_block ? "everything is read, and there is no room" : nullptr;
    }
    const char* completion() {
        std::vector<std::byte> into(options_.longest);
        group g = fresh();
        if (absent(g)) return nullptr;
        if (send(g[0], 1, options_.longest) != posted::pending) return nullptr;
        bool ended = false, armed = g[0].arm(), woken = !armed;
        for (int polls = 0; polls != 200'000 && !ended; ++polls) {
            std::array<event, 8> events;
            std::size_t n = g[1].poll(events);
            for (std::size_t i = 0; i != n; ++i)
                if (events[i].what == event::kind::arrived) (void)g[1].take(events[i].id, into, 2);
            if (armed && !readable(g[0], 0)) continue;
            woken = true;
            g[0].disarm();
            n = g[0].poll(events);
            for (std::size_t i = 0; i != n; ++i) ended |= events[i].what == event::kind::complete;
            if (n == 0) armed = g[0].arm();
        }
        return ended && woken ? nullptr : "a pending send has ended, and the descriptor is not readable";
    }
    const char* loss() {
        group g = fresh();
        if (absent(g)) return nullptr;
        if (!arm(g, 0)) return "an end with nothing to do is never armed";
        g.pop_back();
        if (!readable(g[0], options_.patience_ms)) return "a peer is gone, and the descriptor is not readable";
        g[0].disarm();
        bool lost = false;
        quiet(g, [&](rank_t, const event& e) { lost |= e.what == event::kind::lost; });
        return lost ? nullptr : "the descriptor was readable, but a poll does not find the loss of the peer";
    }

    Make& make_;
    descriptor_check options_;
    std::vector<std::byte> bytes_;
};

} // namespace detail

template <class Make>
const char* check_descriptor_transport(Make&& make, const descriptor_check& options = {}) {
    return detail::descriptor_checker<std::remove_reference_t<Make>>(make, options).run();
}

} // namespace bough::testing

#endif
