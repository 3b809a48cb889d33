// SPDX-License-Identifier: BSL-1.0
// composite: one transport made of two. `inside` joins the ranks of a node, and `between` joins all
// ranks; the peer of a message decides which of them carries it.
//
//   bough::composite link{std::move(inside), std::move(between), groups};     // groups: a Grouping
//   bough::communicator comm{std::move(link)};
//   bough::allreduce(comm, x, bough::plus{}, bough::compose(ring{}, ring{}, comm.transport().groups()));
//
// A message to a rank of the same group goes by `inside`, which numbers only the ranks of the
// group, in ascending order. Any other message goes by `between`. Neither needs to know of the
// other, and either may be a composite itself. If a launcher says which ranks share a node:
// bough/transport/composite/join.hpp. With shared memory and tcp:
// bough/transport/composite_tcp.hpp.
//
// Polls       the two take turns at being first, so neither keeps the other from being heard. A
//             transport that has had nothing for 32 polls is polled only every 8th time, or every
//             2 us, until it has something or is used: so an idle network does not slow the ranks
//             of a node
// Loss        only `inside` reports the loss of its ranks, after all that they sent there; what
//             `between` says about them is dropped
// Waiting     with peers on both sides it naps in one transport, for an eighth of the time that it
//             has waited (20 us to 1 ms), and then polls both
// Refinements InPlaceTransport if one of the two is: what comes by the other one is read at `data`
//             if it lies there, and taken otherwise. WaitableTransport and GatheringTransport if
//             one of the two is
// Handles     an inner transport's handles must be below 2^61 (addresses are); two bits say where
//             an arrival is
// Memory      8 bytes a rank, and the groups; nothing is allocated after construction
#ifndef BOUGH_TRANSPORT_COMPOSITE_HPP
#define BOUGH_TRANSPORT_COMPOSITE_HPP

#include <bough/algorithm/groups.hpp>
#include <bough/concepts/protocol.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/select/standard/two_levels.hpp>
#include <bough/select/transport_costs.hpp>
#include <bough/select/two_levels.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

namespace detail {

// The costs of one of two transports, as a model that takes all pairs of ranks for equal.
template <class T>
constexpr auto flat_costs_of(const T& transport) noexcept {
    if constexpr (requires { requires decltype(transport.default_costs())::homogeneous; })
        return transport.default_costs();
    else
        return thread_costs;
}

} // namespace detail

template <Transport Inside, Transport Between>
class composite {
    static constexpr bool in_place = InPlaceTransport<Inside> || InPlaceTransport<Between>;
    static constexpr bool in_pieces = PiecewiseTransport<Inside> || PiecewiseTransport<Between>;
    static constexpr bool waitable = WaitableTransport<Inside> || WaitableTransport<Between>;
    static constexpr bool gathers = GatheringTransport<Inside> || GatheringTransport<Between>;
    template <class T>
    static constexpr bool knows_forks = requires(const T& t) {
        t.forked();
    };

public:
    // Pre: `groups` divides between.size() ranks and is the same on every rank; `inside` joins the
    // ranks of this rank's group.
    template <Grouping G>
    composite(Inside inside, Between between, const G& groups)
        : between_(std::move(between)), inside_(std::move(inside)), groups_(listed(groups, between_.end.size())),
          place_(size(), no_rank) {
        const rank_t group = groups_.group_of(size(), rank());
        const rank_t members = groups_.members(size(), group);
        BOUGH_EXPECTS(inside_.end.size() == members, "inside: must join the ranks of this rank's group");
        BOUGH_EXPECTS(inside_.end.rank() == groups_.place_of(size(), rank()),
                      "inside: must number the ranks of the group in ascending order");
        for (rank_t place = 0; place != members; ++place) {
            rank_of_.push_back(groups_.member(size(), group, place));
            place_[rank_of_.back()] = place;
        }
        inside_.used = members != 1;
        between_.used = members != size();
    }

    rank_t rank() const noexcept { return between_.end.rank(); }
    rank_t size() const noexcept { return between_.end.size(); }
    std::uint64_t now_ns() const noexcept { return between_.end.now_ns(); }

    Inside& inside() noexcept { return inside_.end; }
    Between& between() noexcept { return between_.end; }
    // Which ranks share a node: for plans of two levels (bough/algorithm/composed.hpp).
    const listed_groups& groups() const noexcept { return groups_; }
    bool is_inside(rank_t peer) const noexcept { return peer < size() && place_[peer] != no_rank; }

    auto cores() const noexcept requires requires(const Between& t) { t.cores(); }
    { return between_.end.cores(); }
    // What `inside` costs near ranks and `between` the others: by these a collective is chosen.
    std::shared_ptr<const two_levels> levels() const {
        return make_two_levels(groups_, detail::flat_costs_of(inside_.end), detail::flat_costs_of(between_.end));
    }
    // What a part of another composite costs: as the slower one of its own parts.
    auto default_costs() const noexcept { return detail::flat_costs_of(between_.end); }
    double switch_ns() const noexcept {
        return groups_.groups(size()) == 1 ? switch_ns_of(inside_.end) : switch_ns_of(between_.end);
    }
    // Which way a message goes, by the transport that carries it; see SaysWays.
    protocol way_of(rank_t peer, std::size_t bytes, bool combines) const noexcept
        requires(SaysWays<Inside>&& SaysWays<Between>) {
        if (const rank_t place = place_[peer]; place != no_rank) return inside_.end.way_of(place, bytes, combines);
        return between_.end.way_of(peer, bytes, combines);
    }
    std::uint64_t early_bytes(rank_t peer) const noexcept requires(KeepsEarly<Inside> || KeepsEarly<Between>) {
        const rank_t place = place_[peer];
        if constexpr (KeepsEarly<Inside>)
            if (place != no_rank) return inside_.end.early_bytes(place);
        if constexpr (KeepsEarly<Between>)
            if (place == no_rank) return between_.end.early_bytes(peer);
        return 0;
    }
    bool forked() const noexcept requires(knows_forks<Inside> || knows_forks<Between>) {
        bool is_child = false;
        if constexpr (knows_forks<Inside>) is_child = is_child || inside_.end.forked();
        if constexpr (knows_forks<Between>) is_child = is_child || between_.end.forked();
        return is_child;
    }

    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        if (to >= size() || to == rank()) return posted::failed;
        if (const rank_t place = place_[to]; place != no_rank) return inside_.use().post_send(place, tag, bytes, id);
        return between_.use().post_send(to, tag, bytes, id);
    }
    std::size_t poll(std::span<event> events) {
        if constexpr (knows_forks<Inside> != knows_forks<Between>)
            if (forked()) return 0; // if both know of forks, each returns 0 itself
        inside_first_ = !inside_first_;
        const std::size_t found = inside_first_ ? poll_inside(events) : poll_between(events);
        std::size_t more = 0;
        const auto poll_other = [&] {
            more = inside_first_ ? poll_between(events.subspan(found)) : poll_inside(events.subspan(found));
        };
        if (found == 0)
            poll_other();
        else // must be told: if the other one is out of memory, it says so when there is nothing to tell
            detail::ignore_exceptions(poll_other);
        return found + more;
    }
    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        return is_between(handle) ? between_.use().take(handle >> 2, into, id)
                                  : inside_.use().take(handle >> 2, into, id);
    }
    posted take_pieces(std::uint64_t handle, std::uint64_t grain, std::uint64_t id) requires in_pieces {
        return is_between(handle) ? take_pieces_of(between_.use(), handle, grain, id)
                                  : take_pieces_of(inside_.use(), handle, grain, id);
    }
    bool claim(std::uint64_t handle) requires in_place {
        return is_between(handle) ? claim_at(between_.end, handle) : claim_at(inside_.end, handle);
    }
    void release(std::uint64_t handle) {
        is_between(handle) ? between_.use().release(handle >> 2) : inside_.use().release(handle >> 2);
    }
    errc cancel(std::uint64_t id) {
        const errc answer = inside_.use().cancel(id);
        return answer == errc::ok ? answer : between_.use().cancel(id);
    }
    void flush() requires gathers {
        if constexpr (GatheringTransport<Inside>) inside_.end.flush();
        if constexpr (GatheringTransport<Between>) between_.end.flush();
    }
    bool unsent() const noexcept requires gathers {
        bool some = false;
        if constexpr (GatheringTransport<Inside>) some = some || inside_.end.unsent();
        if constexpr (GatheringTransport<Between>) some = some || between_.end.unsent();
        return some;
    }
    std::uint64_t accepted(rank_t to) const noexcept requires gathers {
        if (const rank_t place = place_[to]; place != no_rank) return accepted_by(inside_.end, place);
        return accepted_by(between_.end, to);
    }
    std::uint64_t handed_over(rank_t to) noexcept requires gathers {
        if (const rank_t place = place_[to]; place != no_rank) return handed_over_by(inside_.end, place);
        return handed_over_by(between_.end, to);
    }
    void wait(std::uint32_t idle, std::uint64_t deadline_ns) requires waitable {
        if (!between_.used) return wait_at(inside_.end, idle, deadline_ns);
        if (!inside_.used) return wait_at(between_.end, idle, deadline_ns);
        if (idle > polls_until_quiet) inside_.misses = between_.misses = 0; // there is time to poll both
        const std::uint64_t now = now_ns();
        if (idle <= idle_) idle_since_ns_ = now;
        idle_ = idle;
        std::uint64_t nap = std::clamp<std::uint64_t>((now - idle_since_ns_) / 8, 20'000, 1'000'000);
        if (deadline_ns != 0) nap = std::min(nap, deadline_ns > now ? deadline_ns - now : 0);
        if constexpr (WaitableTransport<Inside>)
            inside_.end.wait(idle, inside_.end.now_ns() + nap);
        else
            between_.end.wait(idle, now + nap);
    }

private:
    static constexpr std::uint32_t polls_until_quiet = 32;
    static constexpr std::uint32_t polls_per_look = 8;
    static constexpr std::uint64_t look_ns = 2'000;

    template <class T>
    struct side {
        T end;
        bool used = true;            // it has peers
        std::uint32_t misses = 0;    // polls of the composite since this side had something or was used
        std::uint64_t looked_ns = 0; // when it was last polled while quiet

        explicit side(T t) : end(std::move(t)) {}
        T& use() noexcept {
            misses = 0;
            return end;
        }
        bool is_due(const composite& whole, bool alone) noexcept {
            if (++misses <= polls_until_quiet || alone) return true;
            const std::uint64_t now = whole.now_ns();
            if (misses % polls_per_look != 0 && now - looked_ns < look_ns) return false;
            looked_ns = now;
            return true;
        }
    };

    template <class G>
    static listed_groups listed(const G& groups, rank_t size) {
        BOUGH_EXPECTS(!groups.check(size), "groups: not those of the ranks that `between` joins, see their check()");
        std::vector<rank_t> of_rank(size);
        for (rank_t r = 0; r != size; ++r) of_rank[r] = groups.group_of(size, r);
        return listed_groups(std::move(of_rank));
    }

    static bool is_between(std::uint64_t handle) noexcept { return (handle & 1) != 0; }
    // Makes an arrival's handle: it holds the inner handle, whether the payload can be read, and
    // which transport has it.
    static void mark(event& e, bool by_between) noexcept {
        BOUGH_EXPECTS(e.id >> 61 == 0, "composite: an inner transport's handles must be below 2^61");
        const std::uint64_t readable = e.bytes == 0 || e.data != nullptr ? 2 : 0;
        e.id = e.id << 2 | readable | (by_between ? 1u : 0u);
    }
    // A transport without claims takes nothing back: what is at `data` stays until its release.
    template <class T>
    static bool claim_at(T& end, std::uint64_t handle) {
        if constexpr (InPlaceTransport<T>)
            return end.claim(handle >> 2);
        else
            return (handle & 2) != 0;
    }
    template <class T>
    static posted take_pieces_of(T& end, std::uint64_t handle, std::uint64_t grain, std::uint64_t id) {
        if constexpr (PiecewiseTransport<T>)
            return end.take_pieces(handle >> 2, grain, id);
        else
            return posted::would_block;
    }
    // A transport that does not gather has nothing left to send.
    template <class T>
    static std::uint64_t accepted_by(const T& end, rank_t to) noexcept {
        if constexpr (GatheringTransport<T>)
            return end.accepted(to);
        else
            return 0;
    }
    template <class T>
    static std::uint64_t handed_over_by(T& end, rank_t to) noexcept {
        if constexpr (GatheringTransport<T>)
            return end.handed_over(to);
        else
            return 0;
    }
    template <class T>
    static void wait_at(T& end, std::uint32_t idle, std::uint64_t deadline_ns) {
        if constexpr (WaitableTransport<T>) end.wait(idle, deadline_ns);
    }

    std::size_t poll_inside(std::span<event> events) {
        if (!inside_.used || !inside_.is_due(*this, !between_.used)) return 0;
        const std::size_t found = inside_.end.poll(events);
        for (event& e : events.first(found)) {
            if (e.what == event::kind::arrived) mark(e, false);
            if (e.peer < rank_of_.size()) e.peer = rank_of_[e.peer];
        }
        if (found != 0) inside_.misses = 0;
        return found;
    }
    std::size_t poll_between(std::span<event> events) {
        if (!between_.used || !between_.is_due(*this, !inside_.used)) return 0;
        const std::size_t found = between_.end.poll(events);
        if (found != 0) between_.misses = 0;
        std::size_t kept = 0;
        for (std::size_t i = 0; i != found; ++i) {
            if (events[i].what == event::kind::lost && is_inside(events[i].peer)) continue;
            if (events[i].what == event::kind::arrived) mark(events[i], true);
            if (kept != i) events[kept] = events[i];
            ++kept;
        }
        return kept;
    }

    side<Between> between_;
    side<Inside> inside_; // destroyed first: so the ranks of the node learn at once that this one leaves
    listed_groups groups_;
    std::vector<rank_t> place_;   // of each rank, its number in `inside`; no_rank: it is on another node
    std::vector<rank_t> rank_of_; // of each place
    bool inside_first_ = false;
    std::uint32_t idle_ = ~std::uint32_t{0};
    std::uint64_t idle_since_ns_ = 0;
};

template <class Inside, class Between, class G>
composite(Inside, Between, const G&) -> composite<Inside, Between>;

} // namespace bough

#endif
