// SPDX-License-Identifier: BSL-1.0
// One rank of bough::mpi: it sends and takes messages over MPI's point-to-point calls, hears what
// its peers say, and leaves in order.
#ifndef BOUGH_TRANSPORT_MPI_ENDPOINT_HPP
#define BOUGH_TRANSPORT_MPI_ENDPOINT_HPP

#include <bough/concepts/protocol.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/forks.hpp>
#include <bough/transport/mpi/arrivals.hpp>
#include <bough/transport/mpi/frame.hpp>
#include <bough/transport/mpi/group.hpp>
#include <bough/transport/mpi/long_sends.hpp>
#include <bough/transport/mpi/long_takes.hpp>
#include <bough/transport/mpi/opening.hpp>
#include <bough/transport/mpi/options.hpp>
#include <bough/transport/mpi/parting.hpp>
#include <bough/transport/mpi/rank_core.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mpi.h>
#include <span>
#include <string>
#include <thread>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

class mpi_endpoint {
public:
    mpi_endpoint() : sends_(core_), takes_(core_) {}
    mpi_endpoint(const mpi_endpoint&) = delete;
    mpi_endpoint& operator=(const mpi_endpoint&) = delete;

    // Collective over `of`: ok on all ranks, or an error on all. `text`: MPI's words on this rank.
    status open(MPI_Comm of, const mpi_options& o, std::string& text) {
        const auto allocate = [this](rank_t ranks) {
            core_.peers = mpi_peers(ranks);
            core_.credits = message_credits(ranks, 0);
            core_.events = {};
            core_.events.expect(ranks); // each may be lost
            parting_ = mpi_parting::prepared(ranks);
            sends_.prepare(ranks);
            arrivals_.prepare(ranks);
        };
        if (const status bad = open_mpi_group(core_.group, of, o, text, allocate)) return bad;
        core_.credits.set_window(core_.group.options.window);
        core_.outgoing = mpi_outgoing(core_.group.options.eager_bytes);
        arrivals_.set_longest(core_.group.options.eager_bytes);
        return {};
    }
    const mpi_group& who() const noexcept { return core_.group; }
    bool forked() const noexcept { return forks() != forks_; }

    protocol way_of(std::size_t bytes) const noexcept { return mpi_way(bytes, core_.group.options.eager_bytes); }
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        const mpi_group& g = core_.group;
        if (to >= g.size || to == g.rank) return posted::failed;
        if (core_.peers.is_lost(to)) // its messages come first
            return core_.peers.is_reported(to) ? posted::failed : posted::would_block;
        if (!core_.credits.has_room(to)) return posted::would_block;
        const bool is_short = way_of(bytes.size()) == protocol::copied;
        if (!(is_short ? core_.say(to, {.tag = tag, .bytes = bytes.size()}, bytes)
                       : sends_.announce(to, tag, bytes, id)))
            return lose_failed(), posted::would_block;
        core_.credits.sent(to);
        return is_short ? posted::complete : posted::pending;
    }

    // If memory runs out, that is all for now: what needs it waits. Only a poll that has nothing to hand over
    // throws.
    BOUGH_ALWAYS_INLINE std::size_t poll(std::span<event> events) {
        std::size_t found = 0;
        if (core_.lacking != 0) say_what_is_owed();
        if (!sends_.empty() || !takes_.empty()) test_transfers();
        for (; found != events.size() && !core_.events.empty(); ++found) {
            events[found] = core_.events.take();
            if (events[found].what == event::kind::lost) core_.peers.report(events[found].peer);
        }
        arrivals_.start_poll();
        for (int frames = 0; frames != 64 && found != events.size(); ++frames) {
            mpi_arrival* const a = arrivals_.receive(core_);
            if (a == nullptr) break;
            found += hear(*a, events[found]);
        }
        lose_failed();
        if (found != 0) return found;
        if (!arrivals_.has_spare()) arrivals_.add();
        if (core_.lacking != 0) core_.tell_lack();
        return found;
    }

    // If memory runs out, nothing has happened.
    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        const mpi_arrival& a = arrivals_[handle]; // stays as it is until the next frame comes
        const mpi_frame& head = a.head;
        const rank_t from = a.from;
        if (into.size() != head.bytes) return posted::failed;
        core_.make_room(); // for what its sender is told
        if (head.kind == mpi_frame::message) {
            if (!into.empty()) std::memcpy(into.data(), a.payload(), into.size());
            use_up(handle);
            core_.give_room(from);
            return posted::complete;
        }
        if (core_.peers.is_lost(from) || !takes_.post(from, head.number, into, id)) return posted::failed;
        use_up(handle);
        core_.say(from, {.number = head.number, .kind = mpi_frame::go});
        return posted::pending; // poll() tells whom calls have failed for
    }
    // Only short messages can be claimed: a long one must be taken.
    bool claim(std::uint64_t handle) const noexcept { return arrivals_[handle].head.kind == mpi_frame::message; }
    // Without memory its sender is told later.
    void release(std::uint64_t handle) noexcept {
        const mpi_arrival& a = arrivals_[handle];
        core_.credits.use(a.from);
        if (a.head.kind != mpi_frame::announcement || core_.peers.is_lost(a.from)) {
            arrivals_.put(handle);
            core_.give_room(a.from);
        } else if (say_done(a)) {
            arrivals_.put(handle);
        } else {
            arrivals_.refuse(handle);
        }
        lose_failed();
    }
    errc cancel(std::uint64_t id) {
        const bool found = sends_.cancel(id) || takes_.cancel(id) || core_.events.has_completed(id);
        lose_failed();
        return found ? errc::ok : errc::invalid_argument;
    }

    // MPI may send the rest only while this rank calls it.
    void flush() {
        if (core_.outgoing.all_sent()) return;
        core_.outgoing.reclaim([this](int to) { core_.peers.fail(static_cast<rank_t>(to)); });
        lose_failed();
    }
    bool unsent() const {
        return !core_.outgoing.all_sent() &&
               core_.outgoing.is_flying_to([this](int to) { return !core_.peers.is_lost(static_cast<rank_t>(to)); });
    }
    std::uint64_t accepted() const noexcept { return core_.outgoing.sent(); }
    std::uint64_t handed_over(rank_t to) const noexcept {
        return core_.peers.is_lost(to) ? accepted() : core_.outgoing.sent_to(static_cast<int>(to));
    }

    // Says bye to all. Before that, waits up to a second for transfers that cannot be taken back. Needs no
    // memory but what open() has reserved.
    void leave() noexcept {
        if (forked()) return; // MPI belongs to the parent
        int over = 0;
        MPI_Finalized(&over);
        if (over != 0) return; // MPI has been finalised
        const std::uint64_t last_ns = deadline_after(steady_now_ns(), 1'000'000'000);
        sends_.take_back();
        const auto is_quiet = [this] { return takes_.empty() && sends_.are_over(); };
        while (!is_quiet() && steady_now_ns() < last_ns) {
            std::array<event, 8> events;
            std::size_t found = 0;
            ignore_exceptions([&] { found = poll(events); });
            for (std::size_t i = 0; i != found; ++i)
                if (events[i].what == event::kind::arrived) release(events[i].id);
            if (found == 0) std::this_thread::yield();
        }
        const bool is_clean = is_quiet();
        takes_.give_all_up();
        lose_failed();
        mpi_parting::add(std::move(parting_), std::move(core_), std::move(arrivals_), is_clean);
    }

private:
    void test_transfers() {
        sends_.test();
        takes_.test();
        lose_failed();
    }
    // Does what a frame says. True: it is a message, which `e` announces. Nothing is announced of a rank with
    // which a call has failed: what it sent before may be missing.
    bool hear(mpi_arrival& a, event& e) {
        const mpi_frame& head = a.head;
        const rank_t from = a.from;
        core_.credits.freed(from, static_cast<std::uint16_t>(head.used));
        const bool is_message = head.kind == mpi_frame::message || head.kind == mpi_frame::announcement;
        if (is_message && core_.peers.is_here(from)) {
            e = {.what = event::kind::arrived, .peer = from, .id = a.handle, .bytes = head.bytes, .envelope = head.tag};
            if (head.kind == mpi_frame::message && head.bytes != 0) e.data = a.payload();
            return true;
        }
        if (is_message || hear_word(from, head))
            arrivals_.put(a.handle);
        else
            arrivals_.put_off(a);
        return false;
    }
    // False: there is no memory to answer it, and nothing has happened.
    bool hear_word(rank_t from, const mpi_frame& head) {
        switch (head.kind) {
        case mpi_frame::go: return sends_.wanted(from, head.number);
        case mpi_frame::done: sends_.unwanted(from, head.number); break;
        case mpi_frame::none: takes_.refused(from, head.number); break;
        case mpi_frame::bye:
            core_.peers.part(from);
            lose(from);
            break;
        default: break;
        }
        return true;
    }
    // Tells the sender of an announcement that nobody wants its payload. False: there is no memory for that.
    bool say_done(const mpi_arrival& a) noexcept {
        if (!core_.has_room()) return false;
        core_.say(a.from, {.number = a.head.number, .kind = mpi_frame::done});
        return true;
    }
    // What could not be said for want of memory.
    BOUGH_COLD void say_what_is_owed() noexcept {
        core_.lacking = 0;
        arrivals_.tell_refused([this](const mpi_arrival& a) { return core_.peers.is_lost(a.from) || say_done(a); });
        for (rank_t r = 0; r != core_.group.size; ++r) core_.give_room(r);
        lose_failed();
    }
    void use_up(std::uint64_t handle) {
        core_.credits.use(arrivals_[handle].from);
        arrivals_.put(handle);
    }
    // Called when nothing more will come from a rank.
    BOUGH_COLD void lose(rank_t r) {
        if (!core_.peers.lose(r)) return;
        sends_.lose(r);
        takes_.lose(r);
        core_.events.lost(r, errc::ok);
    }
    // Loses the ranks for which calls of MPI have failed.
    void lose_failed() {
        if (core_.peers.have_failed()) lose_all_failed();
    }
    BOUGH_COLD void lose_all_failed() {
        for (rank_t r = 0; core_.peers.next_failed(r);) lose(r);
    }

    mpi_rank_core core_;
    mpi_long_sends sends_;
    mpi_long_takes takes_;
    mpi_arrivals arrivals_;
    mpi_parting::list parting_; // for leave()
    std::uint32_t forks_ = forks();
};

} // namespace bough::detail

#endif
