// SPDX-License-Identifier: BSL-1.0
// Polls the device of one rank of remote writes: counts what has landed, hears words, goes on with
// what waits, and notices peers that are gone.
#ifndef BOUGH_TRANSPORT_RDMA_REGION_POLLER_HPP
#define BOUGH_TRANSPORT_RDMA_REGION_POLLER_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/os/clock.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/op.hpp>
#include <bough/transport/rdma/receives.hpp>
#include <bough/transport/rdma/region_core.hpp>
#include <bough/transport/rdma/region_partings.hpp>
#include <bough/transport/rdma/region_puts.hpp>
#include <bough/transport/rdma/region_questions.hpp>
#include <bough/transport/rdma/region_words.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

template <RdmaWriter Device>
class fabric_region_poller {
public:
    fabric_region_poller(fabric_region_core<Device>& core, fabric_questions<Device>& questions,
                         fabric_long_puts<Device>& puts, fabric_partings<Device>& partings)
        : core_(&core), questions_(&questions), puts_(&puts), partings_(&partings),
          receives_(*core.device, 64, most_receives(*core.device), 512) {}

    // Posts the receives for writes to use up, on devices where they do. False: there is no memory
    // for them, or it may not be registered.
    bool prepare() {
        if constexpr (!Device::written_uses_receive) return true;
        refill();
        return receives_.has_posted();
    }
    // Allocates nothing that cannot be had later.
    std::size_t poll(std::span<event> events) noexcept {
        if (core_->writes.is_stalled()) go_on();
        for (int turns = 0; turns != 8 && gather();) ++turns;
        if (core_->events.empty()) look(++idle_);
        std::size_t found = 0;
        for (; found != events.size() && !core_->events.empty(); ++found) {
            events[found] = core_->events.take();
            if (events[found].what == event::kind::lost) core_->presence.report(events[found].peer);
        }
        return found;
    }
    // Handles some operations that the device has ended. False: there was none.
    bool gather() {
        const std::size_t n = core_->device->poll(done_);
        for (std::size_t i = 0; i != n; ++i) {
            const fabric_done& e = done_[i];
            if (e.how == fabric_done::way::written)
                landed(e);
            else
                ended(*e.op, e.how == fabric_done::way::ok);
        }
        return n != 0;
    }
    // While ranks meet, a hello that did not arrive is said again, and nobody is suspected for it.
    void set_meeting(bool on) noexcept {
        meeting_ = on;
        core_->writes.set_meeting(on);
    }
    void abandon() noexcept { receives_.abandon(); }

    static constexpr std::uint64_t grace_ns = 20'000'000; // for what is under way to a peer that is gone

private:
    static std::size_t most_receives(Device& device) {
        if constexpr (Device::written_uses_receive) return std::min<std::size_t>(device.most_receives(), 512);
        return 0;
    }
    void refill() {
        if constexpr (Device::written_uses_receive) receives_.refill();
    }
    void is_used_up(fabric_op& receive) {
        if constexpr (Device::written_uses_receive) receives_.put(receives_.used(receive.index));
    }

    void ended(fabric_op& op, bool well) {
        if (op.kind == fabric_op::what::receive) return is_used_up(op);
        if (!well && op.peer < core_->group.size) failed(op.peer);
        if (op.kind == fabric_op::what::injected) return; // a probe
        core_->writes.written(op);
        if (op.kind == fabric_op::what::push) puts_->written(op, well);
    }
    BOUGH_COLD void failed(rank_t to) {
        if (!meeting_)
            core_->presence.suspect(to);
        else if (!core_->presence.is_lost(to))
            core_->writes.owe(to, fabric_ticket::hello);
    }
    // A peer's write has landed here.
    void landed(const fabric_done& e) {
        if (e.op != nullptr) is_used_up(*e.op);
        const rank_t from = fabric_ticket::from_of(e.ticket);
        if (from >= core_->group.size || from == core_->group.rank || core_->presence.is_lost(from)) return;
        core_->presence.is_heard(from);
        const fabric_ticket::what kind = fabric_ticket::kind_of(e.ticket);
        switch (kind) {
        case fabric_ticket::data:
        case fabric_ticket::data_too: questions_->has_landed(from, kind); break;
        case fabric_ticket::question: return questions_->asked(from);
        case fabric_ticket::answer: return questions_->answered(from);
        case fabric_ticket::hello:
        case fabric_ticket::bye:
        case fabric_ticket::bye_heard: partings_->hear(from, kind); break;
        }
        if (partings_->has_ended(from, questions_->landed(from))) lose(from, errc::ok);
    }
    // Tries again what the device did not take.
    BOUGH_COLD void go_on() {
        core_->writes.resume();
        for (rank_t r = 0; r != core_->group.size; ++r) {
            if (core_->writes.owes(r, fabric_ticket::bye_heard) && !core_->presence.seems_dead(r))
                (void)core_->writes.say(r, fabric_ticket::bye_heard, 1);
            if (!core_->presence.is_here(r)) continue;
            questions_->go_on(r);
            if (core_->writes.owes(r, fabric_ticket::bye))
                partings_->say_bye(r, puts_->are_waiting(r), questions_->begun(r));
        }
        puts_->go_on();
    }

    // What is checked after the n-th poll that found nothing.
    void look(std::uint32_t n) {
        core_->presence.judge([this](rank_t r, std::uint64_t suspected_ns) {
            core_->device->disconnect(r);
            // Some providers never say that a write failed because its target is gone.
            if (!puts_->are_flying(r) || suspected_ns > grace_ns) lose(r, errc::peer_dead);
        });
        if (n % 16 == 0) (void)core_->presence.look(*core_->device, core_->options, steady_now_ns());
    }
    // Nothing more will come from a rank. ok: it said so itself.
    BOUGH_COLD void lose(rank_t r, errc why) {
        if (!core_->presence.lose(r)) return;
        core_->writes.lose(r);
        partings_->lose(r);
        puts_->lose(r);
        questions_->lose(r);
        core_->events.lost(r, why);
    }

    fabric_region_core<Device>* core_;
    fabric_questions<Device>* questions_;
    fabric_long_puts<Device>* puts_;
    fabric_partings<Device>* partings_;
    fabric_receives<Device> receives_;
    std::array<fabric_done, 8> done_{}; // what the device said last; a poll need not clear it first
    std::uint32_t idle_ = 0;            // polls that found nothing
    bool meeting_ = false;
};

} // namespace bough::detail

#endif
