// SPDX-License-Identifier: BSL-1.0
// The Transport with the least rights: code that compiles with it asks for nothing but the concept.
//
// It can really send: the ranks of a loop_group live in one thread, and its clock is a number.
// Payloads never lie in the event. A send longer than `eager_bytes` is pending until its message is
// taken, and every take is pending until the next poll. An end cannot be default-constructed,
// copied, assigned or compared; it can only be moved.
#ifndef BOUGH_TESTING_TRANSPORT_ARCHETYPE_HPP
#define BOUGH_TESTING_TRANSPORT_ARCHETYPE_HPP

#include <bough/concepts/transport.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::testing {

// The room of a loop_group.
struct loop_options {
    std::uint32_t slots = 4;        // messages from one rank to another that are not used up
    std::uint32_t eager_bytes = 64; // longer payloads stay with the sender until they are taken
    std::uint64_t tick_ns = 100;    // how far each poll moves the clock
};

class transport_archetype;

class loop_group {
public:
    explicit loop_group(rank_t ranks, const loop_options& options = {})
        : shared_(std::make_shared<world>(world{options, std::vector<end>(ranks)})) {}

    transport_archetype connect(rank_t rank) const;
    // All ends, in order of rank.
    std::vector<transport_archetype> connect_all() const;
    // Moves on the clock of all ends.
    void advance_ns(std::uint64_t ns) const noexcept { shared_->now_ns += ns; }

private:
    friend class transport_archetype;
    struct message {
        std::uint64_t handle = 0;
        rank_t from = no_rank;
        envelope tag{};
        std::vector<std::byte> copy;        // a short payload
        const std::byte* lent = nullptr;    // a long payload in the sender's memory; null: taken back
        std::uint64_t bytes = 0, id = 0;    // id: that of the sender's post
        bool lends = false, polled = false; // lends: the sender's post is pending
    };
    struct pending_take {
        std::uint64_t handle, id;
        std::span<std::byte> into;
    };
    struct end {
        std::vector<message> box;
        std::vector<event> ready; // events of posts that have ended
        std::vector<pending_take> takes;
        std::vector<rank_t> told; // the ranks whose loss this end has reported
        bool gone = false;
    };
    struct world {
        loop_options options;
        std::vector<end> ends;
        std::uint64_t now_ns = 0;
        std::uint64_t handles = 0;
    };
    std::shared_ptr<world> shared_;
};

class transport_archetype {
public:
    transport_archetype(transport_archetype&&) = default;
    transport_archetype& operator=(transport_archetype&&) = delete;
    ~transport_archetype() {
        if (!world_) return;
        mine().gone = true;
        for (loop_group::end& other : world_->ends)
            for (message& m : other.box)
                if (m.from == rank_) m.lent = nullptr;
        while (!mine().box.empty()) use_up(mine().box.begin(), errc::peer_dead);
    }
    void operator&() const = delete;
    template <class Other>
    void operator,(const Other&) const = delete;

    rank_t rank() const { return rank_; }
    rank_t size() const { return static_cast<rank_t>(world_->ends.size()); }

    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        if (to >= size() || to == rank_) return posted::failed;
        if (world_->ends[to].gone) // its messages are handed over first
            return is_told(to) ? posted::failed : posted::would_block;
        std::vector<message>& box = world_->ends[to].box;
        const auto waiting =
            std::count_if(box.begin(), box.end(), [this](const message& m) { return m.from == rank_; });
        if (static_cast<std::uint64_t>(waiting) >= world_->options.slots) return posted::would_block;
        const bool lends = bytes.size() > world_->options.eager_bytes;
        message m{++world_->handles, rank_, tag, {}, bytes.data(), bytes.size(), id, lends, false};
        if (!lends) m.copy.assign(bytes.begin(), bytes.end());
        box.push_back(std::move(m));
        return lends ? posted::pending : posted::complete;
    }

    std::size_t poll(std::span<event> events) {
        world_->now_ns += world_->options.tick_ns;
        for (const loop_group::pending_take& t : std::exchange(mine().takes, {})) finish(t);
        std::size_t found = std::min(events.size(), mine().ready.size());
        std::copy_n(mine().ready.begin(), found, events.begin());
        mine().ready.erase(mine().ready.begin(), mine().ready.begin() + static_cast<std::ptrdiff_t>(found));
        for (message& m : mine().box) {
            if (m.polled) continue;
            if (found == events.size()) return found;
            m.polled = true;
            events[found++] = {.peer = m.from, .id = m.handle, .bytes = m.bytes, .envelope = m.tag};
        }
        for (rank_t r = 0; r != size() && found != events.size(); ++r) {
            if (!world_->ends[r].gone || is_told(r)) continue;
            mine().told.push_back(r);
            events[found++] = {.what = event::kind::lost, .peer = r};
        }
        return found;
    }

    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        const auto m = find(handle);
        if (m == mine().box.end() || m->bytes != into.size() || (m->lends && m->lent == nullptr)) return posted::failed;
        mine().takes.push_back({handle, id, into});
        return posted::pending;
    }
    void release(std::uint64_t handle) {
        if (const auto m = find(handle); m != mine().box.end()) use_up(m, errc::ok);
    }

    errc cancel(std::uint64_t id) {
        for (auto t = mine().takes.begin(); t != mine().takes.end(); ++t) {
            if (t->id != id) continue;
            release(t->handle);
            mine().takes.erase(t);
            mine().ready.push_back({.what = event::kind::complete, .code = errc::cancelled, .id = id});
            return errc::ok;
        }
        for (loop_group::end& other : world_->ends)
            for (message& m : other.box) {
                if (m.from != rank_ || m.id != id || m.lent == nullptr || !m.lends) continue;
                m.lent = nullptr;
                mine().ready.push_back({.what = event::kind::complete, .code = errc::cancelled, .id = id});
                return errc::ok;
            }
        return errc::invalid_argument;
    }
    std::uint64_t now_ns() const { return world_->now_ns; }

private:
    friend class loop_group;
    using message = loop_group::message;
    transport_archetype(std::shared_ptr<loop_group::world> shared, rank_t rank)
        : world_(std::move(shared)), rank_(rank) {}

    loop_group::end& mine() { return world_->ends[rank_]; }
    bool is_told(rank_t lost) {
        const std::vector<rank_t>& told = mine().told;
        return std::find(told.begin(), told.end(), lost) != told.end();
    }
    std::vector<message>::iterator find(std::uint64_t handle) {
        return std::find_if(mine().box.begin(), mine().box.end(),
                            [handle](const message& m) { return m.handle == handle; });
    }
    // Removes a message that is used up. Its sender gets an event if its post is pending.
    void use_up(std::vector<message>::iterator m, errc code) {
        if (m->lends && m->lent != nullptr)
            world_->ends[m->from].ready.push_back(
                {.what = event::kind::complete, .code = code, .peer = rank_, .id = m->id});
        mine().box.erase(m);
    }
    void finish(const loop_group::pending_take& t) {
        const auto m = find(t.handle);
        const bool there = !m->lends || m->lent != nullptr; // false: it was taken back in the meantime
        const std::byte* from = m->lends ? m->lent : m->copy.data();
        if (there) std::copy_n(from, t.into.size(), t.into.begin());
        mine().ready.push_back({.what = event::kind::complete,
                                .code = there ? errc::ok : errc::peer_aborted,
                                .peer = m->from,
                                .id = t.id});
        use_up(m, errc::ok);
    }

    std::shared_ptr<loop_group::world> world_;
    rank_t rank_;
};

static_assert(Transport<transport_archetype> && !InPlaceTransport<transport_archetype> &&
              !WaitableTransport<transport_archetype>);

inline transport_archetype loop_group::connect(rank_t rank) const { return transport_archetype(shared_, rank); }
inline std::vector<transport_archetype> loop_group::connect_all() const {
    std::vector<transport_archetype> all;
    all.reserve(shared_->ends.size());
    for (rank_t r = 0; r != shared_->ends.size(); ++r) all.push_back(connect(r));
    return all;
}

} // namespace bough::testing

#endif
