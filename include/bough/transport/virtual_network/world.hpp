// SPDX-License-Identifier: BSL-1.0
// simulated_world, behind bough/transport/simulated.hpp: virtual time, messages under way, faults,
// and a checker of the transport's rules.
//
// One thread, no operating system. What happens depends only on the options' seed and on the calls.
// The *event number* counts what ranks do and see: accepted posts, takes, releases, cancellations,
// events handed out.
#ifndef BOUGH_TRANSPORT_VIRTUAL_NETWORK_WORLD_HPP
#define BOUGH_TRANSPORT_VIRTUAL_NETWORK_WORLD_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/event_queue.hpp>
#include <bough/transport/virtual_network/faults.hpp>
#include <bough/transport/virtual_network/messages.hpp>
#include <bough/transport/virtual_network/traffic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

class simulated_world {
public:
    simulated_world(rank_t ranks, const simulated_options& options) { reset(ranks, options); }

    // Begins anew; memory is kept. Pre: no endpoint is connected.
    void reset(rank_t ranks, const simulated_options& options) {
        BOUGH_EXPECTS(ranks >= 1, "ranks: a group needs at least one rank");
        BOUGH_EXPECTS(options.slots >= 1, "slots: an edge needs at least one");
        options_ = options;
        random_ = split_mix(options.seed);
        ready_ = 0;
        nudged_ = false;
        corruption_ = {};
        violations_ = {};
        time_.clear();
        faults_.clear();
        pool_.clear();
        ranks_.resize(ranks);
        for (rank_state& r : ranks_) {
            r.life = life::alive;
            r.slow = 1;
            r.ready.clear(), r.read = 0;
            r.posts.clear();
        }
        edges_.assign(std::size_t{ranks} * ranks, edge{});
    }

    rank_t size() const noexcept { return static_cast<rank_t>(ranks_.size()); }
    std::uint64_t now() const noexcept { return time_.now(); }
    std::uint64_t events() const noexcept { return faults_.events(); }
    bool alive(rank_t r) const noexcept { return ranks_[r].life == life::alive; }
    std::size_t pending(rank_t r) const noexcept { return ranks_[r].posts.size(); }
    const simulated_corruption& corruption() const noexcept { return corruption_; }
    std::uint64_t violations() const noexcept { return violations_.count; }
    const char* first_violation() const noexcept { return violations_.first; }
    // Messages to `r` that it has seen and neither released nor taken.
    std::size_t unreleased(rank_t r) const noexcept { return pool_.seen_by(r); }

    // --- time ---

    // As basic_simulated::advance().
    bool advance() {
        recount();
        if (ready_ == 0 && !nudged_) return skip();
        nudged_ = false;
        pass(now() + 100);
        return true;
    }
    // The same, whether or not anybody polls. False: nothing is due.
    bool skip() {
        return time_.skip([this](const simulated_entry& next) { happen(next); });
    }
    // Lets time pass, whatever is due.
    void advance_to(std::uint64_t time) {
        while (!time_.empty() && time_.next() <= time) (void)skip();
        pass(time);
    }
    // advance() stops at `time`, too.
    void wake_at(std::uint64_t time) { time_.push(std::max(time, now()), {.what = due_wake}); }

    // --- faults ---

    void inject(const simulated_fault& fault) { faults_.inject(fault); }
    void happen(const simulated_fault& fault) {
        using kind = simulated_fault::kind;
        switch (fault.what) {
        case kind::crash: crash(fault.rank, true); break;
        case kind::stop:
            if (alive(fault.rank)) silence(fault.rank, life::stopped);
            break;
        case kind::slow: ranks_[fault.rank].slow = std::max<std::uint64_t>(fault.value, 1); break;
        case kind::cut: cut(fault.rank, fault.peer, now() + fault.value); break;
        case kind::sever: sever(fault.rank, fault.peer); break;
        case kind::corrupt: corruption_.set_next(true); break;
        }
    }
    // Ends faults, slowness and random refusals. Messages behind a cut still wait for its end.
    void heal() {
        faults_.heal();
        corruption_.set_next(false);
        options_.refuse = options_.spurious = options_.straggle = 0;
        for (rank_state& r : ranks_) r.slow = 1;
        for (edge& e : edges_) e.cut_until = 0;
    }
    // A rank goes away: all that it has sent arrives, but its memory can no longer be read.
    void leave(rank_t r) {
        if (r < size() && alive(r)) crash(r, false);
    }

    // --- what an endpoint does ---

    protocol way_of(std::uint64_t bytes, bool in_place) const noexcept {
        return simulated_way(options_, bytes, in_place);
    }
    posted post_send(rank_t from, rank_t to, envelope tag, std::span<const std::byte> bytes, std::uint64_t id) {
        if (to >= size() || to == from) return posted::failed;
        edge& e = at(from, to);
        if (!alive(from) || e.broken) return posted::failed;
        if (e.used == options_.slots) {
            e.wanted = true;
            return posted::would_block;
        }
        if (options_.refuse != 0 && random_.chance(options_.refuse)) {
            nudged_ = true;
            return posted::would_block;
        }
        tick();
        if (!alive(from) || e.broken) return posted::failed;
        corruption_.pass(tag, random_);
        const std::uint32_t index = pool_.make();
        message& m = pool_[index];
        m.tag = tag;
        m.from = from, m.to = to;
        m.bytes = bytes.size();
        m.source = nullptr;
        m.send_pending = m.revoked = m.claimed = false;
        m.where = place::flying;
        m.sequence = ++e.sent;
        ++e.used;
        if (way_of(bytes.size(), false) != protocol::copied) {
            m.source = bytes.data();
            m.digest = simulated_digest(bytes);
            m.send_id = id, m.send_pending = true;
            begin(from, id);
        } else {
            m.copy.assign(bytes.begin(), bytes.end());
        }
        e.last_arrival = std::max(e.last_arrival, std::max(now(), e.cut_until) + latency() * ranks_[from].slow);
        time_.push(e.last_arrival, {.what = due_arrival, .a = index});
        return m.source == nullptr ? posted::complete : posted::pending;
    }

    std::size_t poll(rank_t r, std::span<event> events, bool in_place) {
        rank_state& me = ranks_[r];
        if (!alive(r) || me.read == me.ready.size()) return 0;
        std::size_t count = std::min(events.size(), me.ready.size() - me.read);
        if (random_.chance(options_.spurious)) count = static_cast<std::size_t>(random_.below(count + 1));
        if (me.slow != 1 && random_.below(8) != 0) return 0;
        for (std::size_t i = 0; i != count; ++i)
            if (!tell_next(r, events[i], in_place)) return 0;
        return count;
    }
    // As poll, for the next message of one peer alone.
    bool poll_from(rank_t r, rank_t from, event& e) {
        rank_state& me = ranks_[r];
        if (!alive(r) || random_.chance(options_.spurious) || (me.slow != 1 && random_.below(8) != 0)) return false;
        const auto next = me.ready.begin() + static_cast<std::ptrdiff_t>(me.read);
        const auto is_it = [from](const event& x) { return x.what == event::kind::arrived && x.peer == from; };
        const auto found = std::find_if(next, me.ready.end(), is_it);
        if (found != me.ready.end()) std::rotate(next, found, found + 1);
        return found != me.ready.end() && tell_next(r, e, true);
    }

    bool claim(rank_t r, std::uint64_t handle) {
        message* m = find(r, handle);
        if (m == nullptr || !readable(*m)) return false;
        m->claimed = true;
        return true;
    }
    void release(rank_t r, std::uint64_t handle) {
        if (!alive(r)) return;
        message* m = find(r, handle);
        if (m != nullptr) tick();
        if (m != nullptr && m->where == place::seen) drop(*m);
    }
    posted take(rank_t r, std::uint64_t handle, std::span<std::byte> into, std::uint64_t id, bool in_place) {
        if (!alive(r)) return posted::failed;
        message* m = find(r, handle);
        if (m == nullptr) return posted::failed;
        tick();
        if (m->where != place::seen || into.size() != m->bytes || !readable(*m)) return posted::failed;
        if (in_place || m->bytes == 0 || !random_.chance(options_.take_late)) {
            copy_out(*m, into);
            drop(*m);
            return posted::complete;
        }
        std::memset(into.data(), 0xee, into.size()); // not there yet: reading it now gives wrong bytes
        m->where = place::taking;
        m->into = into.data();
        m->take_id = id;
        begin(r, id);
        time_.push(now() + latency(), {.what = due_take, .a = static_cast<std::uint32_t>(handle), .c = handle >> 32});
        return posted::pending;
    }
    errc cancel(rank_t r, std::uint64_t id) {
        rank_state& me = ranks_[r];
        if (!alive(r) || std::find(me.posts.begin(), me.posts.end(), id) == me.posts.end())
            return errc::invalid_argument;
        tick();
        for (message& m : pool_) {
            if (m.where == place::free) continue;
            if (m.from == r && m.send_pending && m.send_id == id && m.where != place::taking &&
                !(m.claimed && alive(m.to))) { // a receiver that has claimed it reads it, unless it was stopped
                m.revoked = true;
                end_send(m, errc::cancelled, 0);
            } else if (m.to == r && m.where == place::taking && m.take_id == id) {
                drop(m);
                time_.push(now(), {due_end, r, static_cast<std::uint32_t>(errc::cancelled), id});
            }
        }
        return errc::ok;
    }

private:
    // Tells a rank of its next event. False: it has crashed just before.
    bool tell_next(rank_t r, event& e, bool in_place) {
        rank_state& me = ranks_[r];
        tick();
        if (!alive(r)) return false;
        e = me.ready[me.read++];
        if (me.read == me.ready.size()) me.ready.clear(), me.read = 0;
        --ready_;
        if (e.what == event::kind::complete) {
            finish(r, e.id);
        } else if (e.what == event::kind::arrived) {
            message& m = pool_[pool_.index_of(e.id)];
            m.where = place::seen;
            e.envelope = m.tag;
            e.bytes = m.bytes;
            e.data = !in_place || m.bytes == 0 ? nullptr : m.source != nullptr ? m.source : m.copy.data();
        }
        return true;
    }
    using life = simulated_life;
    using place = simulated_place;
    using message = simulated_message;
    using edge = simulated_edge;
    using rank_state = simulated_rank;

    void pass(std::uint64_t until) {
        time_.pass(until, [this](const simulated_entry& next) { happen(next); });
    }

    edge& at(rank_t from, rank_t to) noexcept { return edges_[std::size_t{from} * size() + to]; }
    std::uint64_t latency() noexcept {
        std::uint64_t ns = options_.latency_min_ns;
        if (options_.latency_max_ns > ns) ns += random_.below(options_.latency_max_ns - ns + 1);
        return random_.chance(options_.straggle) ? ns * 50 : ns;
    }
    void violation(const char* what) noexcept { violations_.add(what); }
    void tick() {
        faults_.tick([this](const simulated_fault& fault) { happen(fault); });
    }

    void check_source(const message& m) noexcept {
        if (m.source != nullptr && m.send_pending &&
            simulated_digest({m.source, static_cast<std::size_t>(m.bytes)}) != m.digest)
            violation("T4: the bytes of a pending send were changed");
    }

    // The message of a handle that `r` may use. Any other handle is a violation.
    message* find(rank_t r, std::uint64_t handle) noexcept {
        if (message* m = pool_.find(r, handle); m != nullptr) return m;
        if (alive(r)) violation("an arrival is used after its release or take, or was never handed out");
        return nullptr;
    }
    bool readable(const message& m) const noexcept { return !m.revoked; }
    void copy_out(const message& m, std::span<std::byte> into) noexcept {
        check_source(m);
        if (!into.empty()) std::memcpy(into.data(), m.source != nullptr ? m.source : m.copy.data(), into.size());
    }
    // The receiver needs the message no more: frees its slot, and tells its sender.
    void drop(message& m) {
        check_source(m);
        if (m.send_pending) end_send(m, errc::ok, latency());
        pool_.free(m);
        edge& e = at(m.from, m.to);
        --e.used;
        nudged_ |= std::exchange(e.wanted, false); // the rank that was refused will try again
    }

    void begin(rank_t r, std::uint64_t id) {
        std::vector<std::uint64_t>& posts = ranks_[r].posts;
        if (std::find(posts.begin(), posts.end(), id) != posts.end()) violation("a post has the id of a pending one");
        posts.push_back(id);
    }
    void finish(rank_t r, std::uint64_t id) {
        std::vector<std::uint64_t>& posts = ranks_[r].posts;
        const auto found = std::find(posts.begin(), posts.end(), id);
        if (found == posts.end()) return violation("T2: an event of a post that is not pending");
        posts.erase(found);
    }
    void end_send(message& m, errc code, std::uint64_t after_ns) {
        m.send_pending = false;
        time_.push(now() + after_ns, {due_end, m.from, static_cast<std::uint32_t>(code), m.send_id});
    }

    void hand_out(rank_t r, const event& e) {
        if (!alive(r)) return;
        ranks_[r].ready.push_back(e);
        ++ready_;
    }
    void happen(const simulated_entry& item) {
        switch (item.what) {
        case due_arrival: {
            message& m = pool_[item.a];
            if (m.where != place::flying) return;
            if (m.sequence > at(m.from, m.to).last || !alive(m.to)) {
                if (ranks_[m.to].life == life::stopped) {
                    m.where = place::landed; // and keeps its slot for ever
                } else {
                    if (m.send_pending) end_send(m, errc::peer_dead, options_.detection_ns);
                    drop(m);
                }
                return;
            }
            m.where = place::landed;
            event e;
            e.peer = m.from;
            e.id = pool_.handle_of(item.a);
            return hand_out(m.to, e);
        }
        case due_end: {
            event e;
            e.what = event::kind::complete;
            e.code = static_cast<errc>(item.b);
            e.id = item.c;
            return hand_out(item.a, e);
        }
        case due_take: {
            message& m = pool_[item.a];
            if (m.where != place::taking || m.generation != item.c) return; // was cancelled
            event e;
            e.what = event::kind::complete;
            e.id = m.take_id;
            if (readable(m))
                copy_out(m, {m.into, static_cast<std::size_t>(m.bytes)});
            else
                e.code = errc::peer_dead, e.peer = m.from;
            const rank_t to = m.to;
            drop(m);
            return hand_out(to, e);
        }
        case due_lost: {
            at(item.a, item.b).broken = true;
            event e;
            e.what = event::kind::lost;
            e.peer = item.b;
            return hand_out(item.a, e);
        }
        case due_wake: return;
        }
    }

    // --- faults ---

    void silence(rank_t r, life how) {
        rank_state& me = ranks_[r];
        if (me.life == life::alive) ready_ -= me.ready.size() - me.read;
        me.life = how;
        me.ready.clear();
        me.read = 0;
        me.posts.clear();
    }
    void crash(rank_t r, bool loses) {
        if (ranks_[r].life == life::gone) return;
        silence(r, life::gone);
        for (message& m : pool_) {
            if (m.where == place::free || m.where == place::flying || m.to != r) continue;
            if (m.send_pending) end_send(m, errc::peer_dead, options_.detection_ns);
            drop(m);
        }
        for (rank_t q = 0; q != size(); ++q)
            if (q != r) break_edge(r, q, loses);
    }
    // Loses what `q` sent to `r` and, if `loses`, the last messages from `r` to `q`; `q` will be
    // told.
    void break_edge(rank_t r, rank_t q, bool loses) {
        edge& out = at(r, q);
        const std::uint32_t flying = pool_.flying(r, q);
        for (message& m : pool_) {
            if (m.where == place::free) continue;
            if (m.from == r && m.to == q) {
                if (m.send_pending && alive(r)) end_send(m, errc::peer_dead, options_.detection_ns);
                m.send_pending = false;
                m.revoked = m.source != nullptr;
            } else if (m.from == q && m.to == r && m.send_pending) {
                m.revoked = true;
                end_send(m, errc::peer_dead, options_.detection_ns);
            }
        }
        if (loses && flying != 0)
            out.last = std::min(out.last, out.sent - static_cast<std::uint32_t>(random_.below(flying + 1)));
        at(q, r).last = std::min(at(q, r).last, at(q, r).sent - pool_.flying(q, r));
        if (!alive(q)) return;
        const std::uint64_t told = now() + options_.detection_ns / 2 + random_.below(options_.detection_ns / 2 + 1);
        time_.push(std::max(told, out.last_arrival), {.what = due_lost, .a = q, .b = r});
    }
    void cut(rank_t a, rank_t b, std::uint64_t until) { at(a, b).cut_until = at(b, a).cut_until = until; }
    void sever(rank_t a, rank_t b) {
        if (at(a, b).last != 0xffff'ffffu || at(b, a).last != 0xffff'ffffu) return;
        break_edge(a, b, true);
        break_edge(b, a, true);
    }

    // Slots and queued bytes, counted again.
    void recount() {
        for (const message& m : pool_)
            if (m.where != place::free && m.source == nullptr && way_of(m.copy.size(), false) != protocol::copied)
                violation("queued bytes exceed their cap");
        const std::vector<std::uint32_t>& used = pool_.on_edges(size());
        for (std::size_t i = 0; i != edges_.size(); ++i) {
            if (used[i] != edges_[i].used) violation("slots are not conserved");
            if (used[i] > options_.slots) violation("more messages on an edge than it has slots");
        }
    }

    simulated_options options_;
    split_mix random_{0};
    event_queue<std::uint64_t, simulated_entry> time_;
    std::vector<rank_state> ranks_;
    std::vector<edge> edges_;
    simulated_messages pool_;
    simulated_faults faults_;
    simulated_corruption corruption_;
    simulated_violations violations_;
    std::uint64_t ready_ = 0; // events that ranks have not polled
    bool nudged_ = false;     // a rank that was refused may try again
};

} // namespace bough::detail

#endif
