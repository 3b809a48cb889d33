// SPDX-License-Identifier: BSL-1.0
// process_taking: how a rank uses its arrivals in check_transport_process: at once or later, in
// place, by a take that may be cancelled, or not at all.
#ifndef BOUGH_TESTING_DETAIL_PROCESS_TAKING_HPP
#define BOUGH_TESTING_DETAIL_PROCESS_TAKING_HPP

#include <bough/concepts/transport.hpp>
#include <bough/testing/detail/process_arrivals.hpp>
#include <bough/testing/detail/process_end.hpp>
#include <bough/testing/detail/process_script.hpp>
#include <bough/testing/transport_rules.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::testing::detail {

template <class T>
class process_taking {
public:
    process_taking(process_end<T>& end, process_arrivals<T>& arrivals) : end_(end), arrivals_(arrivals) {}

    bool empty() const { return held_.empty() && takes_.empty(); }
    // An arrival, and its place in the script. It is used at once, or some polls later.
    void hold(const event& e, std::uint32_t number) {
        held_.push_back({e, number, static_cast<std::uint32_t>(end_.draw(4) == 0 ? end_.draw(20) : 0)});
    }
    // Uses the arrivals that are due, and cancels the takes that are to be cancelled. To be called
    // after each poll. False: a pending take cannot be cancelled.
    bool go_on() {
        for (std::size_t i = held_.size(); i-- != 0 && !end_.fault();) {
            if (held_[i].polls != 0) {
                --held_[i].polls;
                continue;
            }
            const held h = held_[i];
            if (!arrivals_.may_use(h.seen, h.number)) continue;
            use(h);
            held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
            end_.move();
        }
        for (pending_take& t : takes_) {
            if (t.polls == never || t.polls-- != 0) continue;
            t.given_up = true;
            if (end_->cancel(t.id) != errc::ok)
                return end_.fail(transport_rule::cancelled, "a pending take cannot be cancelled");
        }
        return true;
    }

    bool has(std::uint64_t id) const {
        return std::any_of(takes_.begin(), takes_.end(), [id](const pending_take& t) { return t.id == id; });
    }
    // A piece of a payload. False: no take wants it.
    bool piece(const event& e) {
        for (pending_take& t : takes_) {
            if (t.id != e.id) continue;
            if (!t.in_pieces || e.bytes == 0 || e.bytes > t.seen.bytes - t.got) return false;
            std::copy_n(e.data, static_cast<std::size_t>(e.bytes),
                        t.bytes->begin() + static_cast<std::ptrdiff_t>(guard + t.got));
            t.got += static_cast<std::size_t>(e.bytes);
            return true;
        }
        return false;
    }
    // Pre: has(e.id).
    bool completed(const event& e) {
        const auto it =
            std::find_if(takes_.begin(), takes_.end(), [&e](const pending_take& t) { return t.id == e.id; });
        pending_take t = std::move(*it);
        takes_.erase(it);
        if (e.code == errc::ok) return taken(t.seen, t.number, *t.bytes), !end_.fault();
        if (t.given_up && e.code == errc::cancelled) { // the message is used up, and nobody has read it
            std::fill(t.bytes->begin(), t.bytes->end(), over);
            cancelled_.push_back(std::move(t.bytes));
            return arrivals_.used(t.seen, t.number, nullptr) && (cancelled_.size() <= 8 || look_at_cancelled(1));
        }
        // dead: the sender has left.
        const bool may_end = e.code == errc::peer_aborted || e.code == errc::peer_dead;
        if (!may_end || arrivals_.section_of(t.seen, t.number) != section::cancelled)
            return end_.fail(transport_rule::one_event, "a take ends with an error, but nothing was taken back");
        return arrivals_.used(t.seen, t.number, nullptr);
    }
    // Checks that nobody has written to the memory of cancelled takes since their events. The last
    // `kept` takes are left for later.
    bool look_at_cancelled(std::size_t kept) {
        while (cancelled_.size() > kept) {
            const std::vector<std::byte>& bytes = *cancelled_.front();
            if (std::count(bytes.begin(), bytes.end(), over) != std::ssize(bytes))
                return end_.fail(transport_rule::cancelled,
                                 "the memory of a cancelled take is written to after its event");
            cancelled_.erase(cancelled_.begin());
        }
        return true;
    }

private:
    using section = process_script::section;
    static constexpr std::size_t guard = 16;
    static constexpr std::byte fresh{0xaa}, over{0xdd};
    static constexpr std::uint32_t never = ~std::uint32_t{0};

    struct held {
        event seen;
        std::uint32_t number;
        std::uint32_t polls; // how many polls are left until it is used
    };
    struct pending_take {
        std::uint64_t id;
        event seen;
        std::uint32_t number;
        std::unique_ptr<std::vector<std::byte>> bytes; // with guards on both sides
        std::uint32_t polls = never;                   // how many polls are left until it is cancelled
        bool given_up = false;
        std::size_t got = 0; // by pieces
        bool in_pieces = false;
    };

    // Uses an arrival in one of the possible ways.
    void use(const held& h) {
        const event& e = h.seen;
        const section s = arrivals_.section_of(e, h.number);
        const std::uint64_t how = end_.draw(8);
        if (s == section::plain && how == 0) {
            end_->release(e.id);
            arrivals_.used(e, h.number, nullptr);
            return;
        }
        if constexpr (InPlaceTransport<T>)
            if (use_in_place(h, s, how)) return;
        if (how == 7 && !refuses_wrong_length(e)) return;
        take(h, s);
    }
    // True: it was used, or a rule is broken.
    bool use_in_place(const held& h, section s, std::uint64_t how) {
        const event& e = h.seen;
        if (e.data == nullptr && e.bytes != 0) {
            if (!end_->claim(e.id)) return false;
            end_.fail(transport_rule::same_payload, "a claim is granted, but the payload is to be taken");
            return true;
        }
        if (how >= 4) return false;
        const bool mine = end_->claim(e.id);
        if (!mine && s != section::cancelled) {
            end_.fail(transport_rule::same_payload, "a claim is refused, but nothing was taken back");
            return true;
        }
        arrivals_.used(e, h.number, mine ? e.data : nullptr);
        end_->release(e.id);
        return true;
    }
    bool refuses_wrong_length(const event& e) {
        std::vector<std::byte> wrong(static_cast<std::size_t>(e.bytes) + 1, fresh);
        if (end_->take(e.id, wrong, end_.wrong_id()) == posted::failed &&
            std::count(wrong.begin(), wrong.end(), fresh) == std::ssize(wrong))
            return true;
        return end_.fail(transport_rule::length, "a take of another length does not fail");
    }
    void take(const held& h, section s) {
        const event& e = h.seen;
        auto room = std::make_unique<std::vector<std::byte>>(e.bytes + 2 * guard, fresh);
        const std::span<std::byte> into(room->data() + guard, static_cast<std::size_t>(e.bytes));
        const std::uint64_t id = end_.new_id();
        posted result = posted::would_block;
        if constexpr (PiecewiseTransport<T>)
            if (e.bytes != 0 && end_.draw(2) == 0) result = end_->take_pieces(e.id, e.bytes % 8 == 0 ? 8 : 1, id);
        const bool in_pieces = result == posted::pending;
        if (result == posted::would_block) result = end_->take(e.id, into, id);
        if (result == posted::pending) {
            const bool shall_go = s == section::plain && end_.draw(2) == 0;
            takes_.push_back({id, e, h.number, std::move(room)});
            takes_.back().in_pieces = in_pieces;
            if (shall_go) takes_.back().polls = static_cast<std::uint32_t>(end_.draw(4) == 0 ? 0 : end_.draw(60));
        } else if (result == posted::complete) {
            taken(e, h.number, *room);
        } else if (s != section::cancelled || result != posted::failed) {
            end_.fail(transport_rule::same_payload, "a take fails, but nothing was taken back");
        } else {
            end_->release(e.id);
            arrivals_.used(e, h.number, nullptr);
        }
    }
    void taken(const event& e, std::uint32_t number, const std::vector<std::byte>& room) {
        for (std::size_t i = 0; i != guard; ++i)
            if (room[i] != fresh || room[room.size() - 1 - i] != fresh)
                return void(end_.fail(transport_rule::same_payload, "bytes beside a payload are written"));
        arrivals_.used(e, number, room.data() + guard);
    }

    process_end<T>& end_;
    process_arrivals<T>& arrivals_;
    std::vector<held> held_;
    std::vector<pending_take> takes_;
    std::vector<std::unique_ptr<std::vector<std::byte>>> cancelled_; // memory of cancelled takes
};

} // namespace bough::testing::detail

#endif
