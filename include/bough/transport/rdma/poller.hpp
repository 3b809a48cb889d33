// SPDX-License-Identifier: BSL-1.0
// Polls the device of one rank of messages: hears the frames of its peers, hands over messages and
// events, and notices peers that are gone.
#ifndef BOUGH_TRANSPORT_RDMA_POLLER_HPP
#define BOUGH_TRANSPORT_RDMA_POLLER_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/os/clock.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/frame.hpp>
#include <bough/transport/rdma/inbox.hpp>
#include <bough/transport/rdma/op.hpp>
#include <bough/transport/rdma/pulls.hpp>
#include <bough/transport/rdma/pushes.hpp>
#include <bough/transport/rdma/rank_core.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

template <RdmaMessenger Device>
class fabric_poller {
public:
    fabric_poller(fabric_rank_core<Device>& core, fabric_pushes<Device>& pushes, fabric_pulls<Device>& pulls) noexcept
        : core_(&core), pushes_(&pushes), pulls_(&pulls) {}

    // How many pieces of payloads came for which nobody waited.
    std::uint64_t strangers() const noexcept { return strangers_; }
    // Whether poll() has something to report already. (A flush reads completions, too.)
    bool has_found() const noexcept { return !core_->events.empty() || core_->in.has_next(); }
    // If memory runs out behind the first event, that is all for now: the next call tries again.
    std::size_t poll(std::span<event> events) {
        core_->out.flush();
        pushes_->go_on();
        std::size_t found = 0;
#if BOUGH_HAS_EXCEPTIONS
        try {
            find(events, found);
        } catch (...) {
            if (found == 0) throw;
        }
#else
        find(events, found);
#endif
        if (found == 0 && !events.empty()) look(++idle_);
        return found;
    }

    // Handles up to `most` operations that the device has ended. False: there was none.
    bool gather(std::size_t most) noexcept {
        const std::size_t n = core_->device->poll(std::span(done_).first(std::min(most, done_.size())));
        for (std::size_t i = 0; i != n; ++i) {
            const fabric_done& e = done_[i];
            if (e.how == fabric_done::way::failed)
                failed(*e.op);
            else if (e.how == fabric_done::way::ok)
                completed(*e.op, static_cast<std::size_t>(e.bytes));
            else
                written(e);
        }
        return n != 0;
    }
    // Tells all peers that this rank leaves.
    void say_bye() {
        for (rank_t r = 0; r != core_->group.size; ++r)
            if (r != core_->group.rank && !core_->presence.is_lost(r)) core_->out.say(r, fabric_frame::bye);
    }

private:
    void find(std::span<event> events, std::size_t& found) {
        bool more = !core_->out.is_closed();
        for (int turns = 0;; ++turns) {
            while (found != events.size() && has_found()) found += hand_over(events[found]);
            if (found == events.size() || !more || turns == 64) return;
            more = gather(events.size() - found);
        }
    }

    // --- Frames ---

    // Hands over one event or handles one frame. False: the frame was not for the caller.
    bool hand_over(event& e) {
        if (core_->events.empty()) return hear(core_->in.front(), e);
        e = core_->events.take();
        if (e.what == event::kind::lost) core_->presence.report(e.peer);
        return true;
    }
    // Handles the next frame. True: it is a message, and `e` tells of it. If memory runs out, it stays the next
    // one.
    bool hear(fabric_buffer& b, event& e) {
        const fabric_arrival a(b);
        const rank_t from = a.head.from;
        const bool is_short = a.head.kind == fabric_frame::message;
        if (is_short || a.head.kind == fabric_frame::announcement) {
            if (!is_short) core_->out.expect_answer();
            (void)core_->in.next();
            e = {.what = event::kind::arrived, .peer = from, .id = b.op.index, .bytes = a.bytes};
            e.envelope = a.head.tag;
            if (is_short && a.bytes != 0) e.data = b.memory + sizeof a.head;
            return true;
        }
        fabric_place place;
        if (b.length == sizeof a.head + sizeof place) std::memcpy(&place, b.memory + sizeof a.head, sizeof place);
        core_->in.put_back(core_->in.next());
        switch (a.head.kind) {
        case fabric_frame::go: pushes_->wanted(from, place); break;
        case fabric_frame::done: pushes_->unwanted(from, place); break;
        case fabric_frame::none: pulls_->refused(from, place.ticket); break;
        case fabric_frame::bye:
            core_->out.say(from, fabric_frame::farewell);
            lose(from, errc::ok); // it left in order, even if the end of its process was seen before
            break;
        default: break;
        }
        return false;
    }

    // --- What the device says ---

    void completed(fabric_op& op, std::size_t length) {
        switch (op.kind) {
        case fabric_op::what::receive: return core_->in.received(op.index, length);
        case fabric_op::what::frame: return core_->out.sent(op.index);
        case fabric_op::what::push: return pushes_->pushed(op);
        case fabric_op::what::pull: return pulls_->received(op, length);
        case fabric_op::what::injected: return;
        }
    }
    BOUGH_COLD void failed(fabric_op& op) {
        switch (op.kind) {
        case fabric_op::what::receive: return core_->in.not_received(op.index);
        case fabric_op::what::frame: return core_->out.not_sent(op.index);
        case fabric_op::what::push: return pushes_->failed(op);
        case fabric_op::what::pull: return pulls_->failed(op);
        case fabric_op::what::injected: return core_->presence.suspect(op.peer);
        }
    }
    // A piece of a payload has been written here.
    void written(const fabric_done& e) {
        if (e.op != nullptr) core_->in.unused(e.op->index);
        strangers_ += !pulls_->written(e.ticket);
    }

    // --- Peers that are gone, and payloads that the device does not give back ---

    // What is checked after the n-th poll that found nothing.
    void look(std::uint32_t n) {
        for (rank_t r = 0; core_->out.next_broken(r);) core_->presence.suspect(r);
        core_->presence.judge([this](rank_t r, std::uint64_t) { lose(r, core_->presence.fault(r)); });
        if (n % 64 == 0) core_->in.refill(), pushes_->bury();
        if (n % 16 != 0 || core_->out.is_closed()) return;
        const std::uint64_t now = steady_now_ns(), answer = core_->options.answer_ns;
        if (!core_->presence.look(*core_->device, core_->options, now)) return;
        if (resigns_)
            resign(); // a millisecond after `bye` was said
        else if (pushes_->are_late(now, answer) || pulls_->are_late(now, answer))
            say_bye(), resigns_ = true;
    }
    // Nothing more will come from a rank.
    BOUGH_COLD void lose(rank_t r, errc why) {
        if (!core_->presence.lose(r)) return;
        if (core_->presence.is_dead(r)) core_->device->disconnect(r);
        pushes_->lose(r);
        pulls_->lose(r);
        core_->events.lost(r, why);
    }
    // Leaves the group: only so does the provider give back the memory that it still holds.
    BOUGH_COLD void resign() {
        core_->out.flush();
        core_->device->close_endpoint();
        core_->in.close();
        core_->out.close();
        pulls_->end_cancelled();
        for (rank_t r = 0; r != core_->group.size; ++r)
            if (r != core_->group.rank) lose(r, core_->presence.fault(r));
    }

    fabric_rank_core<Device>* core_;
    fabric_pushes<Device>* pushes_;
    fabric_pulls<Device>* pulls_;
    std::array<fabric_done, 8> done_{}; // what the device said last; a poll need not clear it first
    std::uint64_t strangers_ = 0;
    std::uint32_t idle_ = 0; // polls that found nothing
    bool resigns_ = false;   // bye has been said early, and the device will be closed
};

} // namespace bough::detail

#endif
