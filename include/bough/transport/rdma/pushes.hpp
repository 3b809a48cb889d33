// SPDX-License-Identifier: BSL-1.0
// The long payloads that leave a rank: each is announced, waits until its receiver asks for it, and
// then goes out in pieces. Until it is asked for, it can be taken back (T9).
#ifndef BOUGH_TRANSPORT_RDMA_PUSHES_HPP
#define BOUGH_TRANSPORT_RDMA_PUSHES_HPP

#include <bough/concepts/protocol.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/os/clock.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/frame.hpp>
#include <bough/transport/rdma/rank_core.hpp>
#include <bough/transport/rdma/transfer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <RdmaMessenger Device>
class fabric_pushes {
public:
    explicit fabric_pushes(fabric_rank_core<Device>& core) : core_(&core), announced_(core.group.size) {}

    // Pre: the outbox has room for a message to that rank. If memory runs out, nothing has happened.
    posted announce(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        const fabric_announcement about{bytes.size(), announced_[to], 0};
        auto t = list_.make(fabric_op::what::push, to, id);
        core_->out.make_room();
        core_->events.make_room();
        core_->out.expect_answer();
        core_->events.expect();
        if (core_->out.send(to, fabric_frame::announcement, tag, std::as_bytes(std::span(&about, 1))) !=
            fabric_result::ok)
            return core_->events.expect_less(), core_->out.expect_less(), posted::would_block;
        t->number = announced_[to]++;
        t->from = bytes;
        list_.add(std::move(t));
        return posted::pending;
    }

    // The receiver waits for a payload, and says where.
    void wanted(rank_t from, const fabric_place& place) {
        push* const t = find_waiting(from, place.number);
        if (t == nullptr) return;
        if (!t->over) return begin(*t, place);
        core_->out.say(from, fabric_frame::none, place);
        remove(*t);
    }
    // The receiver does not want a payload.
    void unwanted(rank_t from, const fabric_place& place) {
        if (push* const t = find_waiting(from, place.number)) end(*t, errc::ok);
    }
    // The device has done with a piece.
    void pushed(fabric_op& op) {
        push& t = static_cast<push&>(op);
        t.moved += t.piece;
        t.now = stage::ready;
        if (!t.over && t.moved != t.from.size()) return send(t);
        end(t, errc::ok);
    }
    BOUGH_COLD void failed(fabric_op& op) {
        core_->presence.suspect(op.peer);
        end(static_cast<push&>(op), errc::peer_dead);
    }
    // Tries again what the device did not take.
    void go_on() {
        if (!stalled_) return;
        stalled_ = false;
        for (std::size_t i = 0; i != list_.size(); ++i)
            if (list_[i].now == stage::ready && !list_[i].over) send(list_[i]);
    }

    // False: there is no such push. If it is under way, its event comes soon and tells how it
    // ended.
    bool cancel(std::uint64_t id) {
        push* const t = list_.find([id](const push& x) { return x.id == id && !x.over; });
        if (t == nullptr) return false;
        if (t->now == stage::waiting)
            tell(*t, errc::cancelled);
        else if (t->given_up_ns == 0)
            t->given_up_ns = steady_now_ns();
        return true;
    }
    BOUGH_COLD void lose(rank_t r) {
        for (std::size_t i = list_.size(); i-- != 0;) {
            push& t = list_[i];
            if (t.peer != r) continue;
            if (t.now == stage::flying && !core_->out.is_closed())
                t.given_up_ns = steady_now_ns(); // the provider will soon say that it failed
            else
                end(t, errc::peer_dead);
        }
    }
    // Some providers never report that a write failed because its target is gone. They do not go on
    // writing either, unacknowledged. So its event comes now; the transfer stays with the provider.
    void bury() {
        const auto is_grave = [this](const push& t) {
            return t.given_up_ns != 0 && !t.over && core_->presence.is_lost(t.peer);
        };
        for (push* t; (t = list_.find(is_grave)) != nullptr; tell(*t, errc::peer_dead))
            if (steady_now_ns() - t->given_up_ns < 20'000'000) return;
    }
    // Whether one was given up so long ago that the provider should have given its memory back.
    bool are_late(std::uint64_t now_ns, std::uint64_t answer_ns) const {
        return list_.find([=](const push& t) { return t.is_late(now_ns, answer_ns); }) != nullptr;
    }

    // This rank leaves: nobody shall get what has not been asked for.
    void take_back() noexcept {
        for (std::size_t i = 0; i != list_.size(); ++i) list_[i].over |= list_[i].now == stage::waiting;
    }
    bool are_over() const {
        return list_.find([](const push& t) { return !t.over; }) == nullptr;
    }
    void abandon() noexcept { list_.abandon(); }

private:
    // What a push waits for: that its receiver asks for it, that the device takes it, or its end.
    enum class stage : std::uint8_t { waiting, ready, flying };
    struct push : fabric_transfer<typename Device::memory> {
        stage now = stage::waiting;
        std::span<const std::byte> from{};
    };

    push* find_waiting(rank_t to, std::uint32_t number) const {
        return list_.find([=](const push& t) { return t.peer == to && t.number == number && t.now == stage::waiting; });
    }
    void begin(push& t, const fabric_place& place) {
        t.place = place;
        t.now = stage::ready;
        if (core_->device->register_memory(t.from, core_->group.writes ? Device::writes_from : Device::sends, t.memory))
            return send(t);
        core_->out.say(t.peer, fabric_frame::none, place);
        end(t, errc::no_resources);
    }
    // Sends the next piece.
    void send(push& t) {
        Device& device = *core_->device;
        t.piece = std::min(t.from.size() - t.moved, device.most_bytes());
        const fabric_piece piece{t.from.subspan(t.moved, t.piece), Device::descriptor(t.memory), &t};
        fabric_result result = fabric_result::broken;
        if (fabric_way(core_->group, t.from.size(), core_->options.eager_bytes) == protocol::remote_write)
            result = device.write(t.peer, piece, t.place.address + t.moved, t.place.key, t.place.ticket);
        else if constexpr (Device::tags)
            result = device.send_tagged(t.peer, piece, t.tag());
        if (result == fabric_result::ok)
            t.now = stage::flying;
        else if (result == fabric_result::full)
            stalled_ = true;
        else
            core_->presence.suspect(t.peer);
    }
    void tell(push& t, errc code) {
        if (!std::exchange(t.over, true)) core_->events.complete(t.id, code, t.peer);
    }
    void end(push& t, errc code) {
        tell(t, code);
        remove(t);
    }
    void remove(push& t) noexcept {
        core_->out.expect_less();
        list_.remove(t);
    }

    fabric_rank_core<Device>* core_;
    fabric_transfers<push> list_;
    std::vector<std::uint32_t> announced_; // how many long messages each rank was told of
    bool stalled_ = false;                 // a piece waits for the device
};

} // namespace bough::detail

#endif
