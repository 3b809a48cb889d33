// SPDX-License-Identifier: BSL-1.0
// The rules of a Transport, as code, for ranks that are processes (or threads): each rank calls the
// check with its own end.
//
//   const auto fault = bough::testing::check_transport_process(my_link(wire));
//   if (fault) std::printf("rank %u: %s\n", fault.rank, fault.sentence);
//
// check_transport drives all ends from one thread. This check sees one end of real traffic, and
// tests the same: order, content, envelopes, lengths, borrowed bytes, refusal by a link that is
// full, cancellation of sends and of takes at any moment, and departure. The ranks leave one after
// the other, the last one first. The same seed makes the same traffic on every rank.
#ifndef BOUGH_TESTING_PROCESS_CONFORMANCE_HPP
#define BOUGH_TESTING_PROCESS_CONFORMANCE_HPP

#include <bough/concepts/explain_transport.hpp>
#include <bough/testing/detail/process_arrivals.hpp>
#include <bough/testing/detail/process_driver.hpp>
#include <bough/testing/detail/process_end.hpp>
#include <bough/testing/detail/process_script.hpp>
#include <bough/testing/detail/process_sending.hpp>
#include <bough/testing/detail/process_taking.hpp>
#include <bough/testing/transport_rules.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <utility>

namespace bough::inline BOUGH_ABI::testing {

namespace detail {

// One rank's check: what it does, part by part.
template <class T>
class process_checker {
    static_assert(explain_transport<T>());

public:
    process_checker(T end, const process_check& options)
        : options_(options), end_(std::move(end), options.seed), script_(options, end_->size()),
          sending_(end_, script_), arrivals_(end_, script_), taking_(end_, arrivals_),
          driver_(end_, sending_, arrivals_, taking_, options.patience_ns) {}
    process_checker(const process_checker&) = delete;
    process_checker& operator=(const process_checker&) = delete;
    // If a rule is broken, posts may be pending. Their bytes must stay until the end is gone.
    ~process_checker() { end_.leave(); }

    transport_fault run() {
        if (identity() && end_->size() != 1 && exchange_messages() && cancel_messages() && flood() && settle())
            depart();
        return end_.fault();
    }

private:
    using word = process_script::word;

    template <class F>
    bool until(F&& done, const char* sentence) {
        return driver_.until(std::forward<F>(done), sentence);
    }
    bool post_and_wait(rank_t to, std::span<const std::byte> bytes) {
        const std::uint32_t n = sending_.accepted(to);
        return until(
            [&] { return sending_.accepted(to) != n || (sending_.post(to, bytes), sending_.accepted(to) != n); },
            "a link stays full though its receiver polls");
    }
    bool say(rank_t to, std::uint64_t value) {
        const word said{~std::uint64_t{sending_.accepted(to)}, value};
        return post_and_wait(to, std::as_bytes(std::span(said)));
    }
    bool all_sent() {
        return until([this] { return sending_.pending() == 0; }, "a pending post never has an event");
    }
    template <class F>
    bool all_others(F&& holds) const {
        for (rank_t r = 0; r != end_->size(); ++r)
            if (r != end_.me() && !holds(r)) return false;
        return true;
    }

    bool identity() {
        const rank_t me = end_.me();
        if (end_->size() == 0 || me >= end_->size())
            return end_.fail(transport_rule::identity, "rank() is not below size()");
        for (const rank_t nobody : {me, end_->size(), no_rank})
            if (end_->post_send(nobody, {}, {}, 1) != posted::failed)
                return end_.fail(transport_rule::identity,
                                 "a send to oneself, or to no rank of the group, does not fail");
        if (end_->cancel(77) == errc::ok)
            return end_.fail(transport_rule::one_event, "a post that was never made can be cancelled");
        return true;
    }

    bool exchange_messages() {
        return until(
            [&] {
                if (all_others([this](rank_t r) { return sending_.accepted(r) == options_.messages; })) return true;
                for (int burst = static_cast<int>(end_.draw(4)); burst >= 0; --burst) {
                    const auto to = static_cast<rank_t>(end_.draw(end_->size()));
                    if (to != end_.me() && sending_.accepted(to) < options_.messages && sending_.pending() < 32)
                        sending_.post(to, sending_.next(to));
                }
                return false;
            },
            "a link stays full though its receiver polls");
    }

    bool cancel_messages() {
        const rank_t to = script_.next(end_.me());
        for (std::uint32_t round = 0; round != options_.cancellations; ++round) {
            if (sending_.pending() != 0 && !all_sent()) return false;
            if (!post_and_wait(to, sending_.next(to))) return false;
            sending_.forget_outcome();
            const std::uint64_t moment = end_.draw(4) == 0 ? 0 : end_.draw(200);
            for (std::uint64_t i = 0; i != moment && sending_.pending() != 0; ++i)
                if (!driver_.turn()) return false;
            if (sending_.pending() != 0 && !sending_.cancel_last()) return false;
            if (!until([this] { return sending_.pending() == 0; }, "a cancelled post never has an event")) return false;
            if (!say(to, static_cast<std::uint64_t>(sending_.outcome()))) return false;
        }
        return true;
    }

    // Rank 0 sends to rank 1, which does not poll for a while.
    bool flood() {
        constexpr std::uint64_t pause_ns = 100'000'000;
        const auto now_ns = [] {
            return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
        };
        if (end_.me() == 1) {
            if (!until([this] { return arrivals_.have_arrived(0); }, "a message never arrives")) return false;
            if (!say(0, now_ns()) || !all_sent()) return false;
            std::this_thread::sleep_for(std::chrono::nanoseconds(pause_ns));
            return until([this] { return arrivals_.is_flooded(0); }, "a message never arrives");
        }
        if (end_.me() != 0) return true;
        if (!until([this] { return arrivals_.ready_ns(1).has_value(); }, "a message never arrives")) return false;
        for (std::uint32_t n = 0; n != options_.queue_limit; ++n) {
            const posted result = sending_.post(1, sending_.next(1));
            if (result == posted::would_block || end_.fault()) break;
            if (now_ns() - *arrivals_.ready_ns(1) > pause_ns / 2) break; // it may be polling again
            if (n + 1 == options_.queue_limit)
                return end_.fail(transport_rule::bounded,
                                 "posts are accepted without end, though the peer never polls");
        }
        return !end_.fault() && say(1, 0);
    }

    bool settle() {
        return until(
                   [this] {
                       return sending_.pending() == 0 && taking_.empty() &&
                              all_others([this](rank_t r) { return arrivals_.are_used(r); });
                   },
                   "a message never arrives, or a pending post never has an event") &&
               taking_.look_at_cancelled(0);
    }

    // The last rank leaves first; each rank waits until those above it have left.
    bool depart() {
        for (rank_t r = end_->size(); --r > end_.me();) {
            if (!until([&] { return arrivals_.is_lost(r); }, "a peer is gone, but not reported as lost")) return false;
            if (end_->post_send(r, {}, {}, 1) != posted::failed)
                return end_.fail(transport_rule::loss, "a send to a lost peer does not fail");
        }
        end_.leave();
        return true;
    }

    process_check options_;
    process_end<T> end_;
    process_script script_;
    process_sending<T> sending_;
    process_arrivals<T> arrivals_;
    process_taking<T> taking_;
    process_driver<T> driver_;
};

} // namespace detail

// The first rule that this rank sees broken, if there is one. Collective: every rank of the group
// calls it with the same options. The end is destroyed before the call returns.
template <Transport T>
transport_fault check_transport_process(T end, const process_check& options = {}) {
    return detail::process_checker<T>(std::move(end), options).run();
}

} // namespace bough::testing

#endif
