// SPDX-License-Identifier: BSL-1.0
// bough::simulated_regions: remote writes for tests, in virtual time, with all ranks driven by one
// thread. Bytes land as badly as the concept allows.
//
//   bough::simulated_regions world{3, {.seed = 7, .region_bytes = bough::one_sided_bytes(3)}};
//   bough::session group{bough::one_sided{world.connect(r)}};         // one for each rank, then progress() in turn
//   world.crash(2);                                                   // its last puts land torn, or not at all
//
// All chance comes from the seed. A put lands in pieces, cut anywhere, each at a time of its own.
// Its completion comes at yet another time; until then the put reads the sender's memory.
// simulated_regions keeps the order of bytes and puts, and a last word stays whole. In
// scattered_regions any piece may overtake any other piece of any put.
//
// Each poll moves the clock by poll_ns, so things happen while ranks poll; advance() jumps to the
// next event.
#ifndef BOUGH_REMOTE_SIMULATED_HPP
#define BOUGH_REMOTE_SIMULATED_HPP

#include <bough/concepts/remote_write_transport.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/event_queue.hpp>
#include <bough/core/memory_size.hpp>
#include <bough/remote/detail/exposed.hpp>
#include <bough/transport/virtual_network/traffic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// How puts travel and land.
struct simulated_regions_options {
    std::uint64_t seed = 1;
    std::uint64_t region_bytes = 1u << 20;
    std::uint64_t latency_min_ns = 100, latency_max_ns = 2'000; // of each piece, drawn evenly
    std::uint64_t poll_ns = 20;                                 // how far each poll moves the clock
    // Most puts under way from one rank to another.
    std::uint32_t depth = 16;
    std::uint32_t most_pieces = 4; // most pieces in which a put lands
    // Chances in 1000.
    std::uint32_t late = 500;   // a put is pending: its bytes may be read until its completion
    std::uint32_t refuse = 0;   // a put is refused although there is room
    std::uint32_t straggle = 0; // a piece takes 50 times as long
};

namespace detail {

// The network and the clock that the endpoints of all ranks share.
template <int>
class basic_regions_world {
public:
    basic_regions_world(rank_t ranks, const simulated_regions_options& o, bool in_order)
        : options_(o), ordered_(in_order), random_(o.seed), ranks_(ranks), edges_(std::size_t{ranks} * ranks) {
        BOUGH_EXPECTS(ranks >= 1, "ranks: a group needs at least one rank");
        options_.region_bytes = detail::capped_sum(o.region_bytes, 63) / 64 * 64;
        for (rank_state& r : ranks_) {
            r.memory = std::make_unique<line[]>(detail::memory_size(options_.region_bytes / 64)); // zeros
            r.told.assign(ranks, 0);
        }
    }

    rank_t size() const noexcept { return static_cast<rank_t>(ranks_.size()); }
    std::uint64_t now() const noexcept { return time_.now(); }
    bool alive(rank_t r) const noexcept { return !ranks_[r].gone; }
    std::uint64_t violations() const noexcept { return violations_; }
    std::uint64_t strays() const noexcept { return strays_; }
    std::size_t exposed(rank_t r) const noexcept { return ranks_[r].exposed.size(); }
    std::uint64_t landed(rank_t from, rank_t to) const noexcept {
        return edges_[std::size_t{from} * size() + to].landed;
    }
    std::span<std::byte> region(rank_t r) noexcept {
        return {reinterpret_cast<std::byte*>(ranks_[r].memory.get()), static_cast<std::size_t>(options_.region_bytes)};
    }
    void set_refuse(std::uint32_t in_1000) noexcept { options_.refuse = in_1000; }

    // Jumps to the next event. False: there is none.
    bool advance() {
        return time_.skip([this](const due& next) { happen(next); });
    }
    void pass(std::uint64_t until) {
        time_.pass(until, [this](const due& next) { happen(next); });
    }

    exposure expose(rank_t r, std::span<std::byte> memory) noexcept {
        return alive(r) ? ranks_[r].exposed.expose(memory) : exposure{};
    }
    void conceal(rank_t r, const exposure& e) noexcept { ranks_[r].exposed.conceal(e); }

    posted put(rank_t from, rank_t to, std::uint64_t offset, std::span<const std::byte> first,
               std::span<const std::byte> second, std::uint64_t id) {
        const std::uint64_t bytes = first.size() + second.size(), room = options_.region_bytes;
        if (offset > room || bytes > room - offset) return posted::failed;
        return put(from, to, exposure{offset, 0}, first, second, id);
    }
    // If `place` has no key, it is an offset in the region. Pre: the bytes fit there.
    posted put(rank_t from, rank_t to, const exposure& place, std::span<const std::byte> first,
               std::span<const std::byte> second, std::uint64_t id) {
        const std::uint64_t bytes = first.size() + second.size(), offset = place.place;
        if (to >= size() || to == from || !alive(from) || ranks_[from].told[to] != 0 ||
            (place && alive(to) && ranks_[to].exposed.find(place, static_cast<std::size_t>(bytes)) == nullptr))
            return posted::failed;
        edge& e = at(from, to);
        if (e.under_way == options_.depth || random_.chance(options_.refuse)) return posted::would_block;
        const std::uint32_t index = make();
        write& w = pool_[index];
        w.from = from;
        w.to = to;
        w.place = place;
        w.id = id;
        w.source[0] = first;
        w.source[1] = second;
        w.copy.clear();
        w.bytes = bytes;
        w.lands = w.whole = true;
        w.pending = random_.chance(options_.late);
        w.pieces = 0;
        w.digest = digest_of(w);
        ++e.under_way;
        if (!w.pending) keep(w);
        std::uint64_t last = 0;
        for (std::uint64_t begin = 0; begin != bytes || w.pieces == 0;) {
            const std::uint64_t end = cut(offset, begin, bytes, w.pieces + 1 >= options_.most_pieces);
            std::uint64_t time = now() + latency();
            if (ordered_) time = e.last_landing = std::max(e.last_landing, time);
            e.last_landing = std::max(e.last_landing, time);
            last = std::max(last, time);
            ++w.pieces;
            time_.push(time, {what::land, index, begin, end});
            begin = end;
        }
        if (!w.pending) return posted::complete;
        time_.push(now() + latency(), {what::complete, index, w.generation, 0});
        return posted::pending;
    }
    posted flush(rank_t from, rank_t to, std::uint64_t id) {
        if (to >= size() || to == from || !alive(from) || ranks_[from].told[to] != 0) return posted::failed;
        if (random_.chance(options_.refuse)) return posted::would_block;
        flushes_.push_back({from, to, id});
        time_.push(std::max(now(), at(from, to).last_landing) + latency(), {what::flushed, from, id, to});
        return posted::pending;
    }
    std::size_t poll(rank_t r, std::span<event> events) {
        pass(now() + options_.poll_ns);
        if (!alive(r)) return 0;
        std::vector<event>& ready = ranks_[r].ready;
        const std::size_t found = std::min(events.size(), ready.size());
        std::copy_n(ready.begin(), found, events.begin());
        ready.erase(ready.begin(), ready.begin() + static_cast<std::ptrdiff_t>(found));
        for (std::size_t i = 0; i != found; ++i)
            if (events[i].what == event::kind::lost) ranks_[r].told[events[i].peer] = 1;
        return found;
    }

    // The rank leaves: all its puts that are under way land, then the others are told.
    void leave(rank_t r) { depart(r, false); }
    // The rank dies: any part of what is under way lands.
    void crash(rank_t r) { depart(r, true); }

private:
    enum class what : std::uint8_t { land, complete, flushed, lost };
    struct due {
        what kind;
        std::uint32_t a;
        std::uint64_t b, c;
    };
    struct write {
        rank_t from = no_rank, to = no_rank;
        bool pending = false, lands = true, whole = true; // `whole`: no piece has gone astray
        exposure place{};                                 // without a key: an offset in the region
        std::uint64_t id = 0, digest = 0, bytes = 0;
        std::span<const std::byte> source[2]; // the sender's memory, while the put is pending
        std::vector<std::byte> copy;
        std::uint32_t pieces = 0;     // how many have not landed
        std::uint32_t generation = 0; // how often this place in the pool has been used
    };
    struct open_flush {
        rank_t from, to;
        std::uint64_t id;
    };
    struct edge {
        std::uint32_t under_way = 0;
        std::uint64_t last_landing = 0, lands_until = ~std::uint64_t{0};
        std::uint64_t landed = 0; // how many puts have landed
    };
    struct line {
        alignas(64) std::byte bytes[64]{};
    };
    struct rank_state {
        std::unique_ptr<line[]> memory;
        exposed_memory exposed;
        bool gone = false;
        std::vector<event> ready;
        std::vector<unsigned char> told; // by peer: whether this rank knows that it is lost
    };

    edge& at(rank_t from, rank_t to) noexcept { return edges_[std::size_t{from} * size() + to]; }
    std::uint64_t latency() noexcept {
        const std::uint64_t ns =
            options_.latency_min_ns + random_.below(options_.latency_max_ns - options_.latency_min_ns + 1);
        return random_.chance(options_.straggle) ? ns * 50 : ns;
    }
    // Where the piece that begins at `begin` ends. If bytes land in order, a last word of 8 bytes
    // stays whole.
    std::uint64_t cut(std::uint64_t offset, std::uint64_t begin, std::uint64_t bytes, bool last) noexcept {
        if (last || bytes - begin <= (ordered_ ? 8 : 1)) return bytes;
        std::uint64_t end = begin + 1 + random_.below(static_cast<std::uint32_t>(bytes - begin));
        if (ordered_ && (offset + bytes) % 8 == 0 && end > bytes - 8 && end < bytes) end = bytes - 8;
        return end <= begin ? bytes : end;
    }
    static std::uint64_t digest_of(const write& w) noexcept {
        return simulated_digest(w.source[0]) * 31 + simulated_digest(w.source[1]);
    }
    static void keep(write& w) {
        w.copy.assign(w.source[0].begin(), w.source[0].end());
        w.copy.insert(w.copy.end(), w.source[1].begin(), w.source[1].end());
    }
    std::uint32_t make() {
        if (free_.empty()) {
            free_.push_back(static_cast<std::uint32_t>(pool_.size()));
            pool_.emplace_back();
        }
        const std::uint32_t index = free_.back();
        free_.pop_back();
        ++pool_[index].generation;
        return index;
    }
    void happen(const due& d) {
        switch (d.kind) {
        case what::land: land(d.a, d.b, d.c); break;
        case what::complete:
            if (pool_[d.a].generation == d.b) complete(pool_[d.a], errc::ok);
            break;
        case what::flushed:
            for (const open_flush& f : flushes_)
                if (f.from == d.a && f.to == d.c && f.id == d.b) tell(f.from, event::kind::complete, f.to, f.id);
            std::erase_if(flushes_, [&](const open_flush& f) { return f.from == d.a && f.to == d.c && f.id == d.b; });
            break;
        case what::lost: lost(static_cast<rank_t>(d.b), d.a); break;
        }
    }
    // Where a write goes; nullptr: the memory is no longer exposed.
    std::byte* target(const write& w) noexcept {
        if (w.place.key != 0) return ranks_[w.to].exposed.find(w.place, static_cast<std::size_t>(w.bytes));
        return region(w.to).data() + w.place.place;
    }
    void land(std::uint32_t index, std::uint64_t begin, std::uint64_t end) {
        write& w = pool_[index];
        edge& on = at(w.from, w.to);
        const bool lands = w.lands && alive(w.to) && now() <= on.lands_until;
        std::byte* const to = lands ? target(w) : nullptr;
        if (to != nullptr)
            for (std::uint64_t i = begin; i != end;) { // from the sender's memory, or from the copy of it
                const std::uint64_t cut = w.source[0].size();
                const std::byte* from = nullptr;
                std::uint64_t length = end - i;
                if (!w.copy.empty()) {
                    from = w.copy.data() + i;
                } else if (i < cut) {
                    from = w.source[0].data() + i;
                    length = std::min(end, cut) - i;
                } else {
                    from = w.source[1].data() + (i - cut);
                }
                std::memcpy(to + i, from, static_cast<std::size_t>(length));
                i += length;
            }
        else if (lands)
            ++strays_;
        w.whole &= to != nullptr;
        if (--w.pieces != 0) return;
        --on.under_way;
        if (w.whole && w.bytes != 0) ++on.landed;
        if (!w.pending) free_.push_back(index);
    }
    void complete(write& w, errc code) {
        if (!w.pending) return;
        if (digest_of(w) != w.digest) ++violations_; // W3: the bytes were changed while the put was pending
        keep(w);
        w.pending = false;
        tell(w.from, event::kind::complete, w.to, w.id, code);
        if (w.pieces == 0) free_.push_back(static_cast<std::uint32_t>(&w - pool_.data()));
    }
    void tell(rank_t r, event::kind kind, rank_t peer, std::uint64_t id, errc code = errc::ok) {
        if (!alive(r)) return;
        event e;
        e.what = kind;
        e.code = code;
        e.peer = peer;
        e.id = id;
        ranks_[r].ready.push_back(e);
    }
    void depart(rank_t r, bool torn) {
        if (!alive(r)) return;
        // Where bytes land in order, all that is due after one moment is lost.
        for (rank_t s = 0; s != size(); ++s) {
            edge& e = at(r, s);
            if (torn && ordered_ && e.last_landing > now())
                e.lands_until = now() + random_.below(static_cast<std::uint32_t>(e.last_landing - now()) + 1);
            if (s != r) time_.push(std::max(e.last_landing, now()) + latency(), {what::lost, r, s, 0});
        }
        for (write& w : pool_) {
            if (w.from != r || (w.pieces == 0 && !w.pending)) continue;
            if (std::exchange(w.pending, false)) keep(w); // the sender's memory cannot be read later
            if (w.pieces == 0) free_.push_back(static_cast<std::uint32_t>(&w - pool_.data()));
            w.lands = !torn || ordered_ || random_.chance(500);
        }
        ranks_[r].exposed.conceal_all();
        ranks_[r].gone = true;
    }
    void lost(rank_t told, rank_t gone) {
        if (!alive(told)) return;
        for (write& w : pool_)
            if (w.from == told && w.to == gone) complete(w, errc::peer_dead);
        for (const open_flush& f : flushes_)
            if (f.from == told && f.to == gone) tell(told, event::kind::complete, gone, f.id, errc::peer_dead);
        std::erase_if(flushes_, [&](const open_flush& f) { return f.from == told && f.to == gone; });
        tell(told, event::kind::lost, gone, 0);
    }

    simulated_regions_options options_;
    bool ordered_;
    split_mix random_;
    std::uint64_t violations_ = 0, strays_ = 0;
    std::vector<rank_state> ranks_;
    std::vector<edge> edges_;
    std::vector<write> pool_;
    std::vector<std::uint32_t> free_;
    std::vector<open_flush> flushes_;
    event_queue<std::uint64_t, due> time_;
};
using regions_world = basic_regions_world<0>;

} // namespace detail

// The group: its regions and its clock. KeepsByteOrder: see W5 of the concept.
template <bool KeepsByteOrder>
class basic_simulated_regions {
public:
    class endpoint;

    explicit basic_simulated_regions(rank_t ranks, const simulated_regions_options& options = {})
        : world_(std::make_shared<detail::regions_world>(ranks, options, KeepsByteOrder)) {}

    // The end of one rank. When it is destroyed, the rank leaves.
    endpoint connect(rank_t r) {
        BOUGH_EXPECTS(r < size(), "rank: not a rank of this group");
        return endpoint(world_, r);
    }
    rank_t size() const noexcept { return world_->size(); }
    std::uint64_t now_ns() const noexcept { return world_->now(); }
    bool is_alive(rank_t r) const noexcept { return world_->alive(r); }
    // Jumps to the next event. False: there is none.
    bool advance() { return world_->advance(); }
    // The rank dies: any part of what it had under way lands. From now on its endpoint does
    // nothing.
    void crash(rank_t r) { world_->crash(r); }
    // From now on puts and flushes are refused in this many of 1000 cases.
    void set_refuse(std::uint32_t in_1000) noexcept { world_->set_refuse(in_1000); }
    // How often the bytes of a pending put were changed (W3).
    std::uint64_t violations() const noexcept { return world_->violations(); }
    // How many pieces of puts came to memory that was no longer exposed (W12). Such pieces are not
    // written.
    std::uint64_t strays() const noexcept { return world_->strays(); }
    // How many pieces of memory that rank has exposed.
    std::size_t exposed(rank_t r) const noexcept { return world_->exposed(r); }
    // The memory of any rank, for tests that write nonsense into it.
    std::span<std::byte> region(rank_t r) noexcept { return world_->region(r); }

private:
    std::shared_ptr<detail::regions_world> world_;
};

using simulated_regions = basic_simulated_regions<true>;
using scattered_regions = basic_simulated_regions<false>;

// One rank's end: the RemoteWriteTransport.
template <bool KeepsByteOrder>
class basic_simulated_regions<KeepsByteOrder>::endpoint {
public:
    static constexpr bool keeps_byte_order = KeepsByteOrder;

    endpoint(endpoint&&) = default;
    endpoint& operator=(endpoint&&) = delete;
    ~endpoint() {
        if (world_) world_->leave(rank_);
    }

    rank_t rank() const noexcept { return rank_; }
    rank_t size() const noexcept { return world_->size(); }
    std::span<std::byte> region() const noexcept { return world_->region(rank_); }
    posted put(rank_t to, std::uint64_t offset, std::span<const std::byte> first, std::span<const std::byte> second,
               std::uint64_t id) {
        return world_->put(rank_, to, offset, first, second, id);
    }
    exposure expose(std::span<std::byte> memory) { return world_->expose(rank_, memory); }
    void conceal(const exposure& e) { world_->conceal(rank_, e); }
    posted put_exposed(rank_t to, const exposure& at, std::span<const std::byte> bytes, std::uint64_t id) {
        return at ? world_->put(rank_, to, at, bytes, {}, id) : posted::failed;
    }
    std::uint64_t landed(rank_t from) const noexcept { return world_->landed(from, rank_); }
    posted flush(rank_t to, std::uint64_t id) requires(!KeepsByteOrder) { return world_->flush(rank_, to, id); }
    std::size_t poll(std::span<event> events) { return world_->poll(rank_, events); }
    std::uint64_t now_ns() const noexcept { return world_->now(); }
    // Moves the clock, because nothing else runs while this rank waits.
    template <class Landed>
    void wait(std::uint32_t, std::uint64_t deadline_ns, Landed&&) {
        if (!world_->advance()) world_->pass(std::max(world_->now() + 1'000, deadline_ns));
    }

private:
    friend class basic_simulated_regions;
    endpoint(std::shared_ptr<detail::regions_world> world, rank_t rank) : world_(std::move(world)), rank_(rank) {}

    std::shared_ptr<detail::regions_world> world_;
    rank_t rank_;
};

static_assert(WaitableRemoteWrites<simulated_regions::endpoint> && WaitableRemoteWrites<scattered_regions::endpoint>);
static_assert(ExposingRemoteWrites<simulated_regions::endpoint> && CountedRemoteWrites<simulated_regions::endpoint>);

} // namespace bough

#endif
