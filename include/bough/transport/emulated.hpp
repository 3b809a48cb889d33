// SPDX-License-Identifier: BSL-1.0
// emulated: a transport over another one that adds what a cluster has and a single machine has not:
// ranks that differ in speed, and links with latency, bandwidth and jitter.
//
//   bough::emulation cluster{.send = {{1'000'000, 0}, {2'150'000, 0}}, .latency_ns = 50'000, .jitter_ns = 5'000};
//   bough::communicator comm{bough::emulated{std::move(transport), cluster}};     // the same cluster on every rank
//
// Ranks. A send occupies its rank for its cost before the message leaves. A receive does so before
// the message is handed over, as in the model of bough/tree/costs.hpp. `work` says what an occupied
// rank does:
//   asleep   sleeps in the call, so many ranks share few cores undisturbed. Systems wake sleepers
//            late, so it sleeps only until shortly before the end: give costs of a millisecond and
//            more, or choose busy
//   busy     computes in the call; for short costs, and a core for each rank
//   polled   returns: post_send says would_block, and poll hands nothing over, until the cost has
//            passed on now_ns(). For clocks that do not run by themselves
//            (bough/transport/simulated.hpp), and for threads that must not sleep
// A send that is refused and offered again is paid only once. Meanwhile the engine offers a send to
// another rank, which may then leave first. Every message costs, also those of a barrier and of
// other helpers.
//
// Links. They are emulated where messages arrive. A message that the inner transport brings is held
// back until the link has carried the messages before it, then for ns_per_byte of its length, then
// for the latency, then for a jitter drawn from [0, jitter_ns]. Order per peer is kept. The draw
// depends on the seed, both ranks and the number of the message on its link, so it is the same in
// every run. A message's time starts when this rank polls the inner transport. It does that
// whenever it is polled itself and, if asleep or busy, also meanwhile. In the slow windows of
// `slow` a link moves at a fraction of its bandwidth.
//
// Everything else is as in the inner transport: T1 to T11, InPlaceTransport if it is one, and the
// bounds of what is under way. But no message is taken in pieces: a piece could not be read any more
// when it is handed over.
// Time    a send, a receive: O(log h) beside the inner transport's, with h arrivals held back
// Memory  56 bytes a peer, and an event for each arrival held back; there are no more of these than
//         the inner transport has room for
#ifndef BOUGH_TRANSPORT_EMULATED_HPP
#define BOUGH_TRANSPORT_EMULATED_HPP

#include <bough/concepts/forwarding_transport.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/model/lrc.hpp>
#include <bough/transport/emulated/arrivals.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// What an occupied rank does; see above.
enum class emulated_work : std::uint8_t { asleep, busy, polled };

struct emulation {
    std::vector<model::cost_per_size> send{};    // by rank; empty: sends cost nothing
    std::vector<model::cost_per_size> receive{}; // by rank; empty: receives cost nothing
    double latency_ns = 0;                       // of each link
    double ns_per_byte = 0;
    double jitter_ns = 0;
    std::vector<emulated_link> links{}; // those that differ; if two are for the same pair, the last counts
    emulated_windows slow{};
    emulated_work work = emulated_work::asleep;
    std::uint64_t seed = 1;

    // What is wrong with these numbers for a group of this size, if anything.
    status check(rank_t size) const noexcept {
        const auto bad = [](double ns) { return !(ns >= 0) || !(ns < 1e18); };
        const auto bad_costs = [&](const std::vector<model::cost_per_size>& list) {
            return std::any_of(list.begin(), list.end(),
                               [&](const auto& c) { return bad(c.base_ns) || bad(c.per_byte_ns); });
        };
        if ((!send.empty() && send.size() != size) || (!receive.empty() && receive.size() != size))
            return invalid_argument("emulation: costs of each rank of the group, or none");
        if (bad_costs(send) || bad_costs(receive) || bad(latency_ns) || bad(ns_per_byte) || bad(jitter_ns))
            return invalid_argument("emulation: costs are numbers from 0 to 1e18 ns");
        for (const emulated_link& l : links) {
            if (l.from >= size || l.to >= size || l.from == l.to)
                return invalid_argument("emulation: a link joins two ranks of the group");
            if (bad(l.latency_ns) || bad(l.ns_per_byte) || bad(l.jitter_ns))
                return invalid_argument("emulation: costs are numbers from 0 to 1e18 ns");
        }
        if (bad(slow.period_ns) || bad(slow.duration_ns) || slow.duration_ns > slow.period_ns || !(slow.factor >= 1) ||
            !(slow.factor <= 1e6))
            return invalid_argument("emulation: windows are as long as their period at most, factors from 1 to 1e6");
        return {};
    }
    friend bool operator==(const emulation&, const emulation&) = default;
};

template <Transport T>
class emulated : public forwarding_transport<T> {
    using base = forwarding_transport<T>;

public:
    // Pre: !all.check(inner.size()).
    emulated(T inner, const emulation& all) : base(std::move(inner)), work_(all.work), held_(links_to(inner_, all)) {
        const rank_t me = inner_.rank();
        if (!all.send.empty()) send_ = all.send[me];
        if (!all.receive.empty()) receive_ = all.receive[me];
    }

    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        if (to < this->size() && to != this->rank()) {
            if (held_.is_gone(to)) return posted::failed;
            if (held_.is_leaving(to)) return posted::would_block; // what it sent, and its loss, come first
            if (!pay_send(send_.at_ns(bytes.size()))) return posted::would_block;
        }
        const posted result = inner_.post_send(to, tag, bytes, id);
        if (result != posted::would_block) paying_ = false;
        return result;
    }
    std::size_t poll(std::span<event> events) {
        if (detail::is_forked(inner_)) return 0; // what is held back belongs to the parent
        std::size_t found = 0;
        const auto pass_on = [&] {
            const std::size_t count = std::min(events.size() - found, passed_.size());
            std::copy_n(passed_.begin(), count, events.begin() + static_cast<std::ptrdiff_t>(found));
            passed_.erase(passed_.begin(), passed_.begin() + static_cast<std::ptrdiff_t>(count));
            found += count;
        };
        bool has_looked = false;
        detail::ignore_exceptions([&] { look(), has_looked = true; });
        pass_on(); // completions of posts cost nothing
        while (found != events.size() && !held_.empty()) {
            if (held_.next_ns() > clock()) break;
            const double price = held_.next().what == event::kind::arrived ? receive_.at_ns(held_.next().bytes) : 0;
            // Hand over before paying more.
            if (price > 0 && found != 0 && work_ != emulated_work::polled) break;
            if (!pay_receive(price)) break;
            events[found++] = held_.take();
        }
        if (found == 0 && !has_looked) look(); // a lack of memory is told when there is nothing else
        return found;
    }
    posted take_pieces(std::uint64_t handle, std::uint64_t grain, std::uint64_t id) = delete; // see above
    // The time at which something happens here even if nothing comes: a message is due, or a cost
    // is paid. The largest number: never.
    std::uint64_t next_ns() const noexcept {
        if (!passed_.empty()) return 0;
        double next = std::numeric_limits<double>::infinity();
        if (receiving_)
            next = received_at_;
        else if (!held_.empty())
            next = std::max(held_.next_ns(), work_ == emulated_work::polled ? free_at_ : 0.0);
        if (paying_ && work_ == emulated_work::polled) next = std::min(next, free_at_);
        return next < 1.8e19 ? static_cast<std::uint64_t>(std::ceil(next)) : ~std::uint64_t{0};
    }
    // Waits until the deadline or next_ns(). If `work` is asleep, it naps, so that ranks that wait
    // leave the cores to ranks that work.
    void wait(std::uint32_t idle, std::uint64_t deadline_ns) {
        const std::uint64_t now = inner_.now_ns();
        const std::uint64_t until =
            std::min(deadline_ns != 0 ? deadline_ns : deadline_after(now, 1'000'000), next_ns());
        if (until <= now) return;
        if (work_ == emulated_work::asleep) {
            if (idle > 2) std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(until - now, nap_ns)));
        } else if constexpr (WaitableTransport<T>) {
            inner_.wait(idle, until);
        } else {
            std::this_thread::yield();
        }
    }

protected:
    using base::inner_;
    // Takes what the inner transport has found, and stamps each message with the time when it is
    // due. False: there was nothing. If memory runs out, it has taken nothing more.
    bool look() {
        std::array<event, 16> seen;
        for (bool any = false;; any = true) {
            held_.make_room(seen.size());
            if (passed_.capacity() - passed_.size() < seen.size()) passed_.reserve(2 * passed_.size() + seen.size());
            const std::size_t count = inner_.poll(seen);
            for (const event& e : std::span(seen).first(count)) {
                if (e.what == event::kind::complete)
                    passed_.push_back(e);
                else
                    held_.hold(e, held_.take_time() ? clock() : 0);
            }
            if (count != seen.size()) return any || count != 0;
        }
    }

private:
    static constexpr std::uint64_t nap_ns = 20'000;
    static constexpr double wakes_late_ns = 100'000; // about how late systems wake sleepers

    static detail::emulated_arrivals links_to(const T& inner, const emulation& all) {
        BOUGH_EXPECTS(!all.check(inner.size()), "emulation: not one of this group, see its check()");
        const emulated_link alike{
            .latency_ns = all.latency_ns, .ns_per_byte = all.ns_per_byte, .jitter_ns = all.jitter_ns};
        return {inner.rank(), inner.size(), alike, all.links, all.slow, all.seed};
    }
    double clock() const noexcept { return static_cast<double>(inner_.now_ns()); }

    // Pays for the send that is offered. True: all of the price is paid. Part of it may have been
    // paid when the send was offered before.
    bool pay_send(double price) {
        if (work_ == emulated_work::polled) {
            if (!paying_) {
                if (!(price > 0) && !(free_at_ > clock())) return true;
                start_ = std::max(clock(), free_at_);
                paying_ = true;
            }
            free_at_ = std::max(free_at_, start_ + price);
            return clock() >= start_ + price;
        }
        if (!paying_) paid_ = 0;
        if (price > paid_) spend(price - paid_);
        paid_ = std::max(paid_, price);
        paying_ = true;
        return true;
    }
    bool pay_receive(double price) {
        if (work_ != emulated_work::polled) {
            spend(price);
            return true;
        }
        if (!receiving_) {
            if (free_at_ > clock()) return false;
            if (!(price > 0)) return true;
            receiving_ = true;
            free_at_ = received_at_ = clock() + price;
        }
        receiving_ = clock() < received_at_;
        return !receiving_;
    }
    void spend(double ns) {
        if (!(ns > 0)) return;
        using clock_type = std::chrono::steady_clock;
        const auto left = [end = clock_type::now() + std::chrono::nanoseconds(static_cast<std::int64_t>(ns))] {
            return std::chrono::duration<double, std::nano>(end - clock_type::now()).count();
        };
        for (double rest = left(); rest > 0; rest = left()) {
            if (work_ == emulated_work::asleep && rest > wakes_late_ns) {
                // Wake to stamp the messages that come.
                const double most = held_.take_time() ? 4.0 * nap_ns : rest;
                std::this_thread::sleep_for(
                    std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(rest - wakes_late_ns, most))));
            }
            if (held_.take_time()) look();
        }
    }

    model::cost_per_size send_{}, receive_{};
    emulated_work work_;
    bool paying_ = false;    // a send was offered and has not left
    bool receiving_ = false; // polled: the rank is occupied by the first of held_
    double paid_ = 0;        // for the send that was offered
    double start_ = 0;       // polled: when paying for it began
    double free_at_ = 0;     // polled: the rank is occupied until then
    double received_at_ = 0; // polled: the first of held_ is handed over
    detail::emulated_arrivals held_;
    std::vector<event> passed_;
};

template <class T>
emulated(T, const emulation&) -> emulated<T>;

} // namespace bough

#endif
