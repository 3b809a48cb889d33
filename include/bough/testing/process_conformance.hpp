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
#include <bough/testing/detail/transport_traffic.hpp>
#include <bough/testing/transport_rules.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::testing {

struct process_check {
    std::uint64_t seed = 1;
    std::uint32_t messages = 400;               // from each rank to each other rank
    std::uint32_t cancellations = 30;           // by each rank
    std::size_t longest = 100 * 1024;           // bytes of the longest message; at least 64
    std::uint32_t queue_limit = 1u << 16;       // a link must refuse posts after so many without a poll of its receiver
    std::uint64_t patience_ns = 20'000'000'000; // if nothing happens for so long, the check fails
};

namespace detail {

template <class T>
class process_checker {
    static_assert(explain_transport<T>());
    using clock = std::chrono::steady_clock;

public:
    process_checker(T end, const process_check& options)
        : end_(std::move(end)), options_(options), traffic_(std::max<std::size_t>(options.longest, 64)),
          random_(mix_bits(options.seed ^ mix_bits(end_->rank()))), out_(end_->size(), 0), in_(end_->size()) {
        options_.longest = std::max<std::size_t>(options.longest, 64);
    }

    transport_fault run() {
        if (!identity()) return fault_;
        if (end_->size() == 1) return fault_;
        if (exchange_messages() && cancel_messages() && flood() && settle()) depart();
        return fault_;
    }

private:
    static constexpr std::size_t guard = 16;
    static constexpr std::uint32_t never = ~std::uint32_t{0};

    enum class section { plain, cancelled, report, ready, flood };

    struct outgoing {
        std::uint64_t id;
        rank_t to;
        std::unique_ptr<std::vector<std::byte>> bytes;
        bool given_up = false;
    };
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
    };
    struct peer_state {
        std::uint32_t arrived = 0, used = 0;
        // Messages that their sender may have taken back: number, and whether this rank got the
        // message. Kept until the sender's report comes.
        std::vector<std::pair<std::uint32_t, bool>> had{};
        const std::pair<std::uint32_t, bool>* find(std::uint32_t number) const {
            for (const auto& h : had)
                if (h.first == number) return &h;
            return nullptr;
        }
        bool lost = false, ready = false, flooded = false;
    };

    // --- what all ranks know ---

    rank_t next(rank_t r) const { return (r + 1) % end_->size(); }
    section section_of(rank_t from, rank_t to, std::uint32_t n) const {
        if (n < options_.messages) return section::plain;
        const std::uint32_t rounds = to == next(from) ? 2 * options_.cancellations : 0;
        if (n < options_.messages + rounds)
            return (n - options_.messages) % 2 == 0 ? section::cancelled : section::report;
        return from == 0 ? section::flood : section::ready;
    }
    // How many messages are due. The flood is not counted: it says itself how many messages it has.
    std::uint32_t due(rank_t from, rank_t to) const {
        return options_.messages + (to == next(from) ? 2 * options_.cancellations : 0) + (from == 1 && to == 0);
    }
    // Whether a message carries a word: {~number, value}. The last message of a flood is recognized
    // by its length.
    bool is_word(const event& e, std::uint32_t n) const {
        const section s = section_of(e.peer, me_, n);
        return s == section::report || s == section::ready || (s == section::flood && e.bytes == sizeof(word));
    }
    using word = std::array<std::uint64_t, 2>;
    stream link(rank_t from, rank_t to) const { return {.from = from, .to = to}; }
    std::span<const std::byte> content(rank_t from, rank_t to, std::uint32_t n) const {
        stream s = link(from, to);
        if (section_of(from, to, n) == section::cancelled) s.fixed = options_.longest;
        if (section_of(from, to, n) == section::flood) s.fixed = 8;
        return traffic_.payload(s, n);
    }
    std::uint64_t draw(std::uint64_t below) { return (random_ = mix_bits(random_)) % below; }

    bool fail(transport_rule rule, const char* sentence) {
        if (!fault_) fault_ = {rule, me_, sentence};
        return false;
    }

    // --- sending ---

    posted post(rank_t to, std::span<const std::byte> bytes) {
        const std::uint32_t n = out_[to];
        auto copy = std::make_unique<std::vector<std::byte>>(bytes.begin(), bytes.end());
        const std::uint64_t id = mix_bits(++ids_);
        const posted result = end_->post_send(to, transport_traffic::tag(link(me_, to), n), *copy, id);
        if (result == posted::failed) fail(transport_rule::loss, "a send to a rank that is there fails");
        if (result == posted::complete) std::fill(copy->begin(), copy->end(), std::byte{0xdd});
        if (result == posted::pending) sent_.push_back({id, to, std::move(copy)});
        if (result == posted::complete || result == posted::pending) ++out_[to], moved_ = true;
        return result;
    }
    bool post_and_wait(rank_t to, std::span<const std::byte> bytes) {
        const std::uint32_t n = out_[to];
        return until([&] { return out_[to] != n || (post(to, bytes), out_[to] != n); },
                     "a link stays full though its receiver polls");
    }

    // --- receiving ---

    bool arrived(const event& e) {
        if (e.peer >= end_->size() || e.peer == me_) return fail(transport_rule::identity, "a message of nobody");
        peer_state& p = in_[e.peer];
        if (p.lost) return fail(transport_rule::loss, "a message of a rank that was reported lost");
        std::uint32_t n = p.arrived++;
        if (section_of(e.peer, me_, n) == section::cancelled &&
            e.envelope == transport_traffic::tag(link(e.peer, me_), n + 1)) { // message n was taken back before it came
            p.had.emplace_back(n, false);
            ++p.used;
            n = p.arrived++;
        }
        if (!(e.envelope == transport_traffic::tag(link(e.peer, me_), n)))
            return fail(transport_rule::in_order, "a message is not the next one of its sender");
        if (e.bytes != (is_word(e, n) ? sizeof(word) : content(e.peer, me_, n).size()))
            return fail(transport_rule::length, "a message arrives with another length");
        held_.push_back({e, n, static_cast<std::uint32_t>(draw(4) == 0 ? draw(20) : 0)});
        return true;
    }

    // Uses an arrival in one of the possible ways. False: not yet.
    bool use(const held& h) {
        const event& e = h.seen;
        const section s = section_of(e.peer, me_, h.number);
        if (s == section::report && in_[e.peer].find(h.number - 1) == nullptr) return false;
        const std::uint64_t how = draw(8);
        if (s == section::plain && how == 0) {
            end_->release(e.id);
            return used(e, h.number, nullptr);
        }
        if constexpr (InPlaceTransport<T>) {
            if (e.data == nullptr && e.bytes != 0) {
                if (end_->claim(e.id))
                    return fail(transport_rule::same_payload, "a claim is granted, but the payload is to be taken"),
                           true;
            } else if (how < 4) {
                const bool mine = end_->claim(e.id);
                if (!mine && s != section::cancelled)
                    return fail(transport_rule::same_payload, "a claim is refused, but nothing was taken back"), true;
                used(e, h.number, mine ? e.data : nullptr);
                end_->release(e.id);
                return true;
            }
        }
        auto room = std::make_unique<std::vector<std::byte>>(e.bytes + 2 * guard, std::byte{0xaa});
        const std::span<std::byte> into(room->data() + guard, static_cast<std::size_t>(e.bytes));
        if (how == 7) {
            std::vector<std::byte> wrong(into.size() + 1, std::byte{0xaa});
            if (end_->take(e.id, wrong, ~ids_) != posted::failed ||
                std::count(wrong.begin(), wrong.end(), std::byte{0xaa}) != static_cast<std::ptrdiff_t>(wrong.size()))
                return fail(transport_rule::length, "a take of another length does not fail"), true;
        }
        const std::uint64_t id = mix_bits(++ids_);
        const posted result = end_->take(e.id, into, id);
        if (result == posted::pending) {
            const bool shall_go = s == section::plain && draw(2) == 0;
            takes_.push_back({id, e, h.number, std::move(room)});
            if (shall_go) takes_.back().polls = static_cast<std::uint32_t>(draw(4) == 0 ? 0 : draw(60));
        } else if (result == posted::complete) {
            taken(e, h.number, *room);
        } else {
            if (s != section::cancelled || result != posted::failed)
                return fail(transport_rule::same_payload, "a take fails, but nothing was taken back"), true;
            end_->release(e.id);
            used(e, h.number, nullptr);
        }
        return true;
    }
    void taken(const event& e, std::uint32_t number, const std::vector<std::byte>& room) {
        for (std::size_t i = 0; i != guard; ++i)
            if (room[i] != std::byte{0xaa} || room[room.size() - 1 - i] != std::byte{0xaa})
                return void(fail(transport_rule::same_payload, "bytes beside a payload are written"));
        used(e, number, room.data() + guard);
    }
    // Checks an arrival that was used. `data`: the payload; null: it was taken back, or was not
    // read.
    bool used(const event& e, std::uint32_t n, const std::byte* data) {
        peer_state& p = in_[e.peer];
        ++p.used;
        const section s = section_of(e.peer, me_, n);
        if (is_word(e, n)) {
            word said{};
            if (data != nullptr) std::memcpy(said.data(), data, sizeof said);
            if (said[0] != ~std::uint64_t{n}) return fail(transport_rule::same_payload, "a payload differs");
            if (s == section::report && said[1] == static_cast<std::uint64_t>(errc::ok) && !p.find(n - 1)->second)
                return fail(transport_rule::cancelled, "a cancelled post ends with ok, but its message cannot be had");
            if (s == section::report) std::erase_if(p.had, [n](const auto& h) { return h.first == n - 1; });
            if (s == section::ready) p.ready = true, ready_at_ns_ = said[1];
            p.flooded |= s == section::flood;
            return true;
        }
        if (s == section::cancelled) p.had.emplace_back(n, data != nullptr);
        if (data == nullptr) return true;
        const auto expected = content(e.peer, me_, n);
        if (expected.empty() || std::memcmp(data, expected.data(), expected.size()) == 0) return true;
        return s == section::cancelled
                   ? fail(transport_rule::cancelled, "a message has what its sender wrote after taking it back")
                   : fail(transport_rule::same_payload, "a payload differs");
    }

    // --- moving on ---

    bool completed(const event& e) {
        for (std::size_t i = 0; i != sent_.size(); ++i) {
            if (sent_[i].id != e.id) continue;
            if (e.code != errc::ok && !(sent_[i].given_up && e.code == errc::cancelled))
                return fail(transport_rule::one_event, "a send to a rank that is there ends with an error");
            std::fill(sent_[i].bytes->begin(), sent_[i].bytes->end(), std::byte{0xdd});
            outcome_ = e.code;
            graveyard_.push_back(std::move(sent_[i].bytes)); // stays readable: a late read finds 0xdd
            if (graveyard_.size() > 8) graveyard_.erase(graveyard_.begin());
            sent_.erase(sent_.begin() + static_cast<std::ptrdiff_t>(i));
            return true;
        }
        for (std::size_t i = 0; i != takes_.size(); ++i) {
            if (takes_[i].id != e.id) continue;
            pending_take t = std::move(takes_[i]);
            takes_.erase(takes_.begin() + static_cast<std::ptrdiff_t>(i));
            if (e.code == errc::ok) return taken(t.seen, t.number, *t.bytes), !fault_;
            if (t.given_up && e.code == errc::cancelled) { // the message is used up, and nobody has read it
                std::fill(t.bytes->begin(), t.bytes->end(), std::byte{0xdd});
                cancelled_.push_back(std::move(t.bytes));
                return used(t.seen, t.number, nullptr) && (cancelled_.size() <= 8 || look_at_cancelled(1));
            }
            const bool may_end = e.code == errc::peer_aborted || e.code == errc::peer_dead; // dead: the sender has left
            if (!may_end || section_of(t.seen.peer, me_, t.number) != section::cancelled)
                return fail(transport_rule::one_event, "a take ends with an error, but nothing was taken back");
            return used(t.seen, t.number, nullptr);
        }
        return fail(transport_rule::one_event, "an event of no post");
    }
    bool lost(rank_t r) {
        if (r <= me_ || r >= end_->size()) return fail(transport_rule::loss, "a rank is reported lost that is there");
        if (in_[r].arrived < due(r, me_))
            return fail(transport_rule::loss, "a rank is reported lost before all that it sent has arrived");
        if (in_[r].lost) return fail(transport_rule::loss, "a rank is reported lost twice");
        in_[r].lost = true;
        return true;
    }

    // Polls once, and uses the arrivals that are due. False: a rule is broken.
    bool turn() {
        std::array<event, 5> events;
        const std::size_t found = end_->poll(std::span(events).first(1 + draw(5)));
        for (std::size_t i = 0; i != found && !fault_; ++i) {
            const event& e = events[i];
            switch (e.what) {
            case event::kind::arrived: arrived(e); break;
            case event::kind::complete: completed(e); break;
            case event::kind::lost: lost(e.peer); break;
            }
        }
        for (std::size_t i = held_.size(); i-- != 0 && !fault_;) {
            if (held_[i].polls != 0) {
                --held_[i].polls;
                continue;
            }
            const held h = held_[i];
            if (!use(h)) continue;
            held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
            moved_ = true;
        }
        for (pending_take& t : takes_) {
            if (t.polls == never || t.polls-- != 0) continue;
            t.given_up = true;
            if (end_->cancel(t.id) != errc::ok)
                return fail(transport_rule::cancelled, "a pending take cannot be cancelled");
        }
        moved_ |= found != 0;
        return !fault_;
    }
    // Checks that nobody has written to the memory of cancelled takes since their events. The last
    // `kept` takes are left for later.
    bool look_at_cancelled(std::size_t kept) {
        while (cancelled_.size() > kept) {
            const std::vector<std::byte>& bytes = *cancelled_.front();
            if (std::count(bytes.begin(), bytes.end(), std::byte{0xdd}) != std::ssize(bytes))
                return fail(transport_rule::cancelled, "the memory of a cancelled take is written to after its event");
            cancelled_.erase(cancelled_.begin());
        }
        return true;
    }
    // Calls turn() until `done()`.
    template <class F>
    bool until(F&& done, const char* sentence) {
        auto since = clock::now();
        for (std::uint32_t idle = 0; !fault_ && !done();) {
            if (!turn()) return false;
            if (std::exchange(moved_, false)) {
                idle = 0;
                since = clock::now();
                continue;
            }
            ++idle;
            if constexpr (WaitableTransport<T>)
                end_->wait(idle, end_->now_ns() + 1'000'000);
            else if (idle > 100)
                std::this_thread::yield();
            if (idle % 64 == 0 && clock::now() - since > std::chrono::nanoseconds(options_.patience_ns))
                return fail(transport_rule::in_order, sentence);
        }
        return !fault_;
    }

    // --- the parts ---

    bool identity() {
        if (end_->size() == 0 || me_ >= end_->size())
            return fail(transport_rule::identity, "rank() is not below size()");
        for (const rank_t nobody : {me_, end_->size(), no_rank})
            if (end_->post_send(nobody, {}, {}, 1) != posted::failed)
                return fail(transport_rule::identity, "a send to oneself, or to no rank of the group, does not fail");
        if (end_->cancel(77) == errc::ok)
            return fail(transport_rule::one_event, "a post that was never made can be cancelled");
        return true;
    }

    bool exchange_messages() {
        const auto all_sent = [this] {
            for (rank_t r = 0; r != end_->size(); ++r)
                if (r != me_ && out_[r] != options_.messages) return false;
            return true;
        };
        return until(
            [&] {
                if (all_sent()) return true;
                for (int burst = static_cast<int>(draw(4)); burst >= 0; --burst) {
                    const auto to = static_cast<rank_t>(draw(end_->size()));
                    if (to != me_ && out_[to] < options_.messages && sent_.size() < 32)
                        post(to, content(me_, to, out_[to]));
                }
                return false;
            },
            "a link stays full though its receiver polls");
    }

    bool cancel_messages() {
        const rank_t to = next(me_);
        for (std::uint32_t round = 0; round != options_.cancellations; ++round) {
            const std::size_t others = sent_.size();
            if (others != 0 && !until([this] { return sent_.empty(); }, "a pending post never has an event"))
                return false;
            if (!post_and_wait(to, content(me_, to, out_[to]))) return false;
            outcome_ = errc::ok;
            const std::uint64_t moment = draw(4) == 0 ? 0 : draw(200);
            for (std::uint64_t i = 0; i != moment && !sent_.empty(); ++i)
                if (!turn()) return false;
            if (!sent_.empty()) {
                sent_.back().given_up = true;
                if (end_->cancel(sent_.back().id) != errc::ok)
                    return fail(transport_rule::cancelled, "a pending post cannot be cancelled");
            }
            if (!until([this] { return sent_.empty(); }, "a cancelled post never has an event")) return false;
            const word said{~std::uint64_t{out_[to]}, static_cast<std::uint64_t>(outcome_)};
            if (!post_and_wait(to, std::as_bytes(std::span(said)))) return false;
        }
        return true;
    }

    // Rank 0 sends to rank 1, which does not poll for a while.
    bool flood() {
        constexpr std::uint64_t pause_ns = 100'000'000;
        const auto now_ns = [] { return static_cast<std::uint64_t>(clock::now().time_since_epoch().count()); };
        if (me_ == 1) {
            if (!until([this] { return in_[0].arrived >= due(0, 1); }, "a message never arrives")) return false;
            const word said{~std::uint64_t{out_[0]}, now_ns()};
            if (!post_and_wait(0, std::as_bytes(std::span(said)))) return false;
            if (!until([this] { return sent_.empty(); }, "a pending post never has an event")) return false;
            std::this_thread::sleep_for(std::chrono::nanoseconds(pause_ns));
            return until([this] { return in_[0].flooded; }, "a message never arrives");
        }
        if (me_ != 0) return true;
        if (!until([this] { return in_[1].ready; }, "a message never arrives")) return false;
        for (std::uint32_t n = 0; n != options_.queue_limit; ++n) {
            const posted result = post(1, content(0, 1, out_[1]));
            if (result == posted::would_block || fault_) break;
            if (now_ns() - ready_at_ns_ > pause_ns / 2) break; // it may be polling again
            if (n + 1 == options_.queue_limit)
                return fail(transport_rule::bounded, "posts are accepted without end, though the peer never polls");
        }
        const word said{~std::uint64_t{out_[1]}, 0};
        return !fault_ && post_and_wait(1, std::as_bytes(std::span(said)));
    }

    bool settle() {
        return until(
                   [this] {
                       if (!sent_.empty() || !takes_.empty() || !held_.empty()) return false;
                       for (rank_t r = 0; r != end_->size(); ++r)
                           if (r != me_ && in_[r].used < due(r, me_)) return false;
                       return true;
                   },
                   "a message never arrives, or a pending post never has an event") &&
               look_at_cancelled(0);
    }

    // The last rank leaves first; each rank waits until those above it have left.
    bool depart() {
        for (rank_t r = end_->size(); --r > me_;) {
            if (!until([&] { return in_[r].lost; }, "a peer is gone, but not reported as lost")) return false;
            if (end_->post_send(r, {}, {}, 1) != posted::failed)
                return fail(transport_rule::loss, "a send to a lost peer does not fail");
        }
        end_.reset();
        return true;
    }

    std::optional<T> end_;
    rank_t me_ = end_->rank();
    process_check options_;
    transport_traffic traffic_;
    std::uint64_t random_, ids_ = 0, ready_at_ns_ = 0;
    std::vector<std::uint32_t> out_; // by receiver: how many posts were accepted so far
    std::vector<peer_state> in_;     // by sender
    std::vector<outgoing> sent_;     // pending sends
    std::vector<pending_take> takes_;
    std::vector<held> held_;
    std::vector<std::unique_ptr<std::vector<std::byte>>> graveyard_;
    std::vector<std::unique_ptr<std::vector<std::byte>>> cancelled_; // memory of cancelled takes
    errc outcome_ = errc::ok;
    bool moved_ = false;
    transport_fault fault_{};
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
