// SPDX-License-Identifier: BSL-1.0
// The driver of the conformance suite. It polls all ends of a group in turn from one thread, and
// records every post and every message, so that it can compare what an end reports with what the
// end was asked to do.
#ifndef BOUGH_TESTING_DETAIL_TRANSPORT_DRIVER_HPP
#define BOUGH_TESTING_DETAIL_TRANSPORT_DRIVER_HPP

#include <bough/concepts/transport.hpp>
#include <bough/testing/detail/transport_traffic.hpp>
#include <bough/testing/transport_rules.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::testing::detail {

template <Transport T, class Group>
class transport_driver {
public:
    transport_driver(Group group, const transport_check& options)
        : options_(options), traffic_(options.longest), group_(std::move(group)) {}

    struct post {
        enum class state : std::uint8_t { refused, complete, pending, ended } now = state::refused;
        rank_t owner = no_rank;
        errc code = errc::ok; // the code of its event
        bool may_fail = false;
        bool is_take = false;
        // Its memory goes to no other post, so that writes after its event are noticed.
        bool guarded = false;
        std::size_t memory = 0;
        std::size_t bytes = 0;
        std::size_t grain = 0, got = 0; // of a take in pieces; 0: it is none
    };
    // An arrival that is not used up.
    struct arrival {
        rank_t at = 0;
        event seen{};
        std::size_t from = 0; // the number of its stream
        std::uint32_t number = 0;
        bool claimed = false;
    };

    T& at(rank_t r) { return group_[r]; }
    rank_t size() const { return static_cast<rank_t>(group_.size()); }
    Group& group() { return group_; }
    const transport_fault& fault() const noexcept { return fault_; }
    const transport_traffic& traffic() const noexcept { return traffic_; }
    std::vector<stream>& streams() noexcept { return streams_; }
    std::vector<post>& posts() noexcept { return posts_; }
    std::vector<arrival>& held() noexcept { return held_; }
    std::uint32_t lost_reports(rank_t seen_by, rank_t peer) const {
        return static_cast<std::uint32_t>(std::count(lost_.begin(), lost_.end(), std::pair{seen_by, peer}));
    }
    bool keep_arrivals = false; // true: arrivals are left to the caller
    rank_t may_lose = no_rank;  // the peer whose loss may be reported

    bool fail(transport_rule rule, rank_t rank, const char* sentence) {
        if (!fault_) fault_ = {rule, rank, sentence};
        return false;
    }

    static std::uint64_t id_of(std::size_t index) noexcept { return first_id + index; }
    // Posts the next message of a stream.
    posted offer(std::size_t index) {
        stream& s = streams_[index];
        const auto bytes = traffic_.payload(s, s.posted);
        const std::size_t memory = borrow(bytes.size());
        if (!bytes.empty()) std::memcpy(data(memory), bytes.data(), bytes.size());
        posts_.push_back({post::state::refused, s.from, errc::ok, false, false, false, memory, bytes.size()});
        const posted result = at(s.from).post_send(s.to, traffic_.tag(s, s.posted), {data(memory), bytes.size()},
                                                   id_of(posts_.size() - 1));
        post& p = posts_.back();
        if (result == posted::pending) {
            p.now = post::state::pending;
            ++pending_;
        } else {
            if (result == posted::complete) p.now = post::state::complete;
            give_back(p); // overwrites the memory, so that a transport that reads it later is noticed
        }
        if (result == posted::complete || result == posted::pending) ++s.posted;
        return result;
    }

    // Polls every end once. Sets `moved` if anything happened. False: a rule is broken.
    bool poll_all(bool& moved) {
        for (rank_t r = 0; r != size(); ++r)
            if (!poll_one(r, moved)) return false;
        return true;
    }
    bool poll_one(rank_t r, bool& moved) {
        if constexpr (PollsPeers<T>)
            if (mix_bits(polls_) % 3 == 0 && !poll_peers(r, moved)) return false;
        std::array<event, 8> events;
        const std::size_t room = 1 + static_cast<std::size_t>(mix_bits(++polls_) % events.size());
        const std::size_t found = at(r).poll(std::span(events).first(room));
        if (found > room)
            return fail(transport_rule::poll_returns, r, "poll fills in more events than there is room for");
        moved |= found != 0;
        for (std::size_t i = 0; i != found; ++i)
            if (!handle(r, events[i])) return false;
        return true;
    }

    // Asks for the next message of each peer alone. What it finds is checked like what poll() finds.
    bool poll_peers(rank_t r, bool& moved) requires PollsPeers<T> {
        for (const rank_t nobody : {r, at(r).size(), no_rank})
            if (event e; at(r).poll_from(nobody, e))
                return fail(transport_rule::identity, r, "poll_from finds a message of oneself, or of no rank");
        for (rank_t from = 0; from != size(); ++from) {
            event e;
            if (!at(r).poll_from(from, e)) continue;
            moved = true;
            if (e.what != event::kind::arrived || e.peer != from)
                return fail(transport_rule::in_order, r, "poll_from finds something else than a message of that peer");
            if (!handle(r, e)) return false;
        }
        return true;
    }

    // Sends everything that the streams have to send, and uses up all arrivals.
    bool run() {
        std::uint64_t idle = 0, idle_since = 0;
        for (;;) {
            bool moved = false;
            for (std::size_t i = 0; i != streams_.size(); ++i) {
                if (streams_[i].posted == streams_[i].target) continue;
                const posted result = offer(i);
                if (result == posted::failed)
                    return fail(transport_rule::bounded, streams_[i].from, "a send to a rank that is there fails");
                moved |= result != posted::would_block;
            }
            if (!poll_all(moved)) return false;
            if (!moved && !held_.empty() && !keep_arrivals) {
                if (!use(take_one(mix_bits(++polls_)))) return false;
                moved = true;
            }
            if (moved) {
                idle = 0;
                continue;
            }
            if (settled() && idle >= 64) return true; // 64 more polls would have found what comes twice
            if (idle++ == 0) idle_since = at(0).now_ns();
            if (settled() || idle < options_.patience_polls) continue;
            if (at(0).now_ns() - idle_since >= options_.patience_ns ||
                idle >= std::uint64_t{1000} * options_.patience_polls)
                return stuck();
        }
    }

    // Uses up an arrival, in one of the possible ways.
    bool use(arrival a) {
        const stream& s = streams_[a.from];
        const std::uint64_t how = mix_bits(transport_traffic::key(s, a.number) + 1);
        T& end = at(a.at);
        if (a.claimed) {
            if (!traffic_.is_payload(s, a.number, a.seen.data))
                return fail(transport_rule::borrowed_bytes, a.at, "an arrived payload changes before it is released");
            end.release(a.seen.id);
            return true;
        }
        if (how % 8 == 0) {
            end.release(a.seen.id); // unread
            return true;
        }
        if (how % 8 == 1 && !wrong_takes(a)) return false;
        return take(a);
    }
    // Takes the payload. Only if `taken_back` is given may its sender have taken it back.
    bool take(const arrival& a, bool* taken_back = nullptr) {
        const stream& s = streams_[a.from];
        const std::size_t bytes = static_cast<std::size_t>(a.seen.bytes);
        posts_.push_back(
            {post::state::refused, a.at, errc::ok, taken_back != nullptr, true, false, borrow(bytes), bytes});
        const std::size_t index = posts_.size() - 1;
        posted result = posted::would_block;
        if constexpr (PiecewiseTransport<T>)
            if (const std::size_t grain = grain_for(bytes, index); grain != 0) {
                result = at(a.at).take_pieces(a.seen.id, grain, id_of(index));
                if (result == posted::complete)
                    return fail(transport_rule::one_event, a.at, "a take in pieces is complete without a piece");
                if (result == posted::pending) posts_[index].grain = grain;
            }
        if (result == posted::would_block)
            result = at(a.at).take(a.seen.id, {data(posts_[index].memory), bytes}, id_of(index));
        if (result == posted::pending) {
            posts_[index].now = post::state::pending;
            ++pending_;
            takes_.push_back({index, a});
            return true;
        }
        if (result == posted::complete) {
            posts_[index].now = post::state::complete;
            return check_taken(posts_[index], s, a);
        }
        give_back(posts_[index]);
        if (taken_back == nullptr) return fail(transport_rule::length, a.at, "a take of the right length fails");
        *taken_back = true;
        at(a.at).release(a.seen.id);
        return true;
    }
    // Ends the posts of a rank that goes away.
    void forget(rank_t r) {
        for (post& p : posts_) {
            if (p.owner != r || p.now != post::state::pending) continue;
            p.now = post::state::ended;
            --pending_;
            give_back(p);
        }
    }
    bool settled() const noexcept {
        for (const stream& s : streams_)
            if (s.posted != s.target || s.arrived != s.target) return false;
        return pending_ == 0 && (held_.empty() || keep_arrivals);
    }
    arrival take_one(std::uint64_t any) {
        const std::size_t i = static_cast<std::size_t>(any % held_.size());
        const arrival a = held_[i];
        held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
        return a;
    }
    // Whether nobody has written to the memory of a guarded post since it ended.
    bool is_untouched(const post& p) noexcept {
        return guards_hold(p) &&
               std::count(data(p.memory), data(p.memory) + p.bytes, used_byte) == static_cast<std::ptrdiff_t>(p.bytes);
    }
    std::byte* data(std::size_t memory) noexcept { return memory_[memory].get() + guard; }

private:
    static constexpr std::uint64_t first_id = 0x0123'4567'0000'0000u;
    static constexpr std::size_t guard = 64;
    static constexpr std::byte guard_byte{0xa5};
    static constexpr std::byte used_byte{0xdd};

    // Memory is kept to the end, and overwritten when it is given back. So a transport that touches
    // it too late is noticed.
    std::size_t borrow(std::size_t bytes) {
        if (free_.empty()) {
            memory_.emplace_back(new std::byte[options_.longest + 2 * guard]);
            free_.push_back(memory_.size() - 1);
        }
        const std::size_t memory = free_.back();
        free_.pop_back();
        std::memset(data(memory) - guard, static_cast<int>(guard_byte), guard);
        std::memset(data(memory) + bytes, static_cast<int>(guard_byte), guard);
        return memory;
    }
    void give_back(const post& p) {
        std::memset(data(p.memory), static_cast<int>(used_byte), p.bytes);
        if (!p.guarded) free_.insert(free_.begin(), p.memory); // memory given back longest ago is used next
    }
    bool guards_hold(const post& p) {
        for (std::size_t i = 0; i != guard; ++i)
            if (data(p.memory)[p.bytes + i] != guard_byte || (data(p.memory) - guard)[i] != guard_byte) return false;
        return true;
    }

    bool handle(rank_t r, const event& e) {
        switch (e.what) {
        case event::kind::arrived: return handle_arrival(r, e);
        case event::kind::piece: return handle_piece(r, e);
        case event::kind::complete: return handle_end(r, e);
        case event::kind::lost: break;
        }
        if (e.peer >= size() + (may_lose == no_rank ? 0u : 1u) || e.peer != may_lose)
            return fail(transport_rule::loss, r, "a peer is reported as lost, but is there");
        lost_.emplace_back(r, e.peer);
        if (lost_reports(r, e.peer) != 1) return fail(transport_rule::loss, r, "the loss of a peer is reported twice");
        for (const stream& s : streams_)
            if (s.from == e.peer && s.to == r && s.arrived + s.uncertain < s.posted)
                return fail(transport_rule::loss, r,
                            "a peer is reported as lost before everything that it sent has come");
        return true;
    }

    // The grain of the pieces in which a payload is taken. 0: it is taken whole.
    static std::size_t grain_for(std::size_t bytes, std::size_t number) {
        if (bytes == 0 || mix_bits(number) % 2 == 0) return 0;
        std::size_t grain = std::size_t{1} << mix_bits(number + 1) % 6;
        while (bytes % grain != 0) grain /= 2;
        return mix_bits(number) % 8 == 1 && bytes % 3 == 0 ? 3 : grain;
    }
    // The post that this event of the end is about, or posts_.size().
    std::size_t index_of(rank_t r, const event& e) const noexcept {
        const std::uint64_t index = e.id - first_id;
        if (index >= posts_.size() || posts_[static_cast<std::size_t>(index)].owner != r) return posts_.size();
        return static_cast<std::size_t>(index);
    }
    bool handle_piece(rank_t r, const event& e) {
        const std::size_t index = index_of(r, e);
        if (index == posts_.size() || posts_[index].grain == 0 || posts_[index].now != post::state::pending)
            return fail(transport_rule::one_event, r, "a piece comes for no take in pieces");
        post& p = posts_[index];
        if (e.bytes == 0 || e.bytes % p.grain != 0 || e.bytes > p.bytes - p.got)
            return fail(transport_rule::length, r, "a piece is no multiple of the grain, or is longer than the rest");
        std::memcpy(data(p.memory) + p.got, e.data, static_cast<std::size_t>(e.bytes));
        p.got += static_cast<std::size_t>(e.bytes);
        return true;
    }
    bool handle_end(rank_t r, const event& e) {
        const std::size_t index = index_of(r, e);
        if (index == posts_.size())
            return fail(transport_rule::one_event, r, "an event has an id that this end was never given");
        post& p = posts_[index];
        using state = typename post::state;
        if (p.now == state::complete)
            return fail(transport_rule::complete_is_silent, r, "a post that said complete has an event too");
        if (p.now == state::refused) return fail(transport_rule::one_event, r, "a refused post has an event");
        if (p.now == state::ended) return fail(transport_rule::one_event, r, "a pending post has a second event");
        p.now = state::ended;
        p.code = e.code;
        --pending_;
        if (e.code != errc::ok && !p.may_fail)
            return fail(transport_rule::one_event, r,
                        "a post to a rank that is there, not cancelled, ends with an error");
        if (!p.is_take) {
            give_back(p);
            return true;
        }
        if (e.code == errc::ok && p.grain != 0 && p.got != p.bytes)
            return fail(transport_rule::length, r, "a take in pieces ends before the last piece");
        const auto t = std::find_if(takes_.begin(), takes_.end(), [index](const auto& x) { return x.first == index; });
        const arrival a = t->second;
        takes_.erase(t);
        if (e.code == errc::ok) return check_taken(p, streams_[a.from], a);
        give_back(p);
        return true;
    }
    bool check_taken(const post& p, const stream& s, const arrival& a) {
        if (!traffic_.is_payload(s, a.number, data(p.memory)))
            return wrong_payload(a.at, {data(p.memory), p.bytes}, p.may_fail);
        if (!guards_hold(p))
            return fail(transport_rule::same_payload, a.at, "a take writes beside the memory that it was given");
        give_back(p);
        return true;
    }
    // Reports a payload with other bytes than were sent. They may be those that were written over
    // it when the sender got its memory back.
    bool wrong_payload(rank_t r, std::span<const std::byte> bytes, bool cancelled) {
        if (cancelled)
            return fail(transport_rule::cancelled, r, "a message can be taken after its sender has its bytes back");
        if (bytes.size() >= 8 && std::count(bytes.begin(), bytes.end(), used_byte) == std::ssize(bytes))
            return fail(transport_rule::borrowed_bytes, r, "the bytes of a send are read after it was complete");
        return fail(transport_rule::same_payload, r, "a payload arrives with other bytes than it was sent with");
    }

    bool handle_arrival(rank_t r, const event& e) {
        std::size_t from = 0;
        while (from != streams_.size() && (streams_[from].from != e.peer || streams_[from].to != r)) ++from;
        if (from == streams_.size())
            return fail(transport_rule::identity, r, "a message arrives from a rank that has sent none");
        stream& s = streams_[from];
        if (!(e.envelope == traffic_.tag(s, s.arrived))) {
            for (std::uint32_t k = s.arrived < 64 ? 0 : s.arrived - 64; k != s.arrived + 64; ++k)
                if (e.envelope == traffic_.tag(s, k))
                    return fail(transport_rule::in_order, r,
                                k < s.arrived ? "a message arrives twice, or too late" : "a message overtakes another");
            return fail(transport_rule::same_envelope, r, "an envelope arrives with other bits than it was sent with");
        }
        if (s.arrived == s.posted) return fail(transport_rule::in_order, r, "a message arrives twice");
        if (e.bytes != traffic_.length(s, s.arrived))
            return fail(transport_rule::length, r, "a message has another length than it was sent with");
        arrival a{r, e, from, s.arrived++, false};
        if constexpr (InPlaceTransport<T>) {
            const bool within_reach = e.bytes == 0 || e.data != nullptr; // otherwise it must be taken
            if (!keep_arrivals && within_reach && mix_bits(transport_traffic::key(s, a.number) + 2) % 2 == 0) {
                if (!at(r).claim(e.id))
                    return fail(transport_rule::same_payload, r, "a message that was not taken back cannot be claimed");
                a.claimed = true;
                if (!traffic_.is_payload(s, a.number, e.data))
                    return wrong_payload(r, {e.data, static_cast<std::size_t>(e.bytes)}, false);
            }
        }
        held_.push_back(a);
        return keep_arrivals || held_.size() < 4 || use(take_one(mix_bits(e.id + polls_)));
    }
    // T7: a take of another length fails, writes nothing, and leaves the arrival there.
    bool wrong_takes(const arrival& a) {
        const std::size_t bytes = static_cast<std::size_t>(a.seen.bytes);
        for (const std::size_t wrong : {bytes + 1, bytes - 1}) {
            if (wrong > options_.longest) continue; // this also skips bytes - 1 for a message of no bytes
            posts_.push_back({post::state::refused, a.at, errc::ok, false, true, false, borrow(wrong), wrong});
            post& p = posts_.back();
            std::memset(data(p.memory), static_cast<int>(guard_byte), wrong);
            const posted result = at(a.at).take(a.seen.id, {data(p.memory), wrong}, id_of(posts_.size() - 1));
            if (result != posted::failed)
                return fail(transport_rule::length, a.at, "a take of another length than the message's does not fail");
            for (std::size_t i = 0; i != wrong; ++i)
                if (data(p.memory)[i] != guard_byte)
                    return fail(transport_rule::length, a.at, "a take of a wrong length writes something");
            give_back(p);
        }
        return true;
    }

    bool stuck() {
        for (const stream& s : streams_) {
            if (s.arrived != s.posted) return fail(transport_rule::in_order, s.to, "a message never arrives");
            if (s.posted != s.target)
                return fail(transport_rule::release, s.from, "would_block, though all messages have been used up");
        }
        for (const post& p : posts_)
            if (p.now == post::state::pending)
                return fail(transport_rule::one_event, p.owner, "a pending post never has an event");
        return fail(transport_rule::one_event, no_rank, "nothing happens any more");
    }

    transport_check options_;
    transport_traffic traffic_;
    std::vector<stream> streams_;
    std::vector<post> posts_;
    std::vector<arrival> held_;
    std::vector<std::pair<std::size_t, arrival>> takes_; // pending takes: the post, and what it takes
    // The rank that has reported a loss, and the lost peer.
    std::vector<std::pair<rank_t, rank_t>> lost_;
    std::vector<std::unique_ptr<std::byte[]>> memory_;
    std::vector<std::size_t> free_;
    std::size_t pending_ = 0;
    std::uint64_t polls_ = 0;
    transport_fault fault_{};
    // Destroyed first. If a rule is broken, posts may be pending, and their bytes must outlive the ends.
    Group group_;
};

} // namespace bough::testing::detail

#endif
