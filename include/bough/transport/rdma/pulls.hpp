// SPDX-License-Identifier: BSL-1.0
// The long payloads that come to a rank: it asks the sender for each, says where it shall go, and
// counts the pieces that land there.
#ifndef BOUGH_TRANSPORT_RDMA_PULLS_HPP
#define BOUGH_TRANSPORT_RDMA_PULLS_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/os/clock.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/frame.hpp>
#include <bough/transport/rdma/inbox.hpp>
#include <bough/transport/rdma/rank_core.hpp>
#include <bough/transport/rdma/transfer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

template <RdmaMessenger Device>
class fabric_pulls {
public:
    explicit fabric_pulls(fabric_rank_core<Device>& core) noexcept : core_(&core) {}

    // Asks for the payload that `b` announces. If memory runs out, nothing has happened.
    posted take(fabric_buffer& b, const fabric_arrival& a, std::span<std::byte> into, std::uint64_t id) {
        Device& device = *core_->device;
        const bool writes = core_->group.writes;
        auto t = list_.make(fabric_op::what::pull, a.head.from, id);
        core_->events.expect();
        t->number = a.number;
        t->into = into;
        t->place = {0, 0, a.number, ++tickets_};
        if (!device.register_memory(into, writes ? Device::is_written : Device::receives, t->memory))
            return core_->events.expect_less(), posted::failed;
        if (writes) {
            t->place.address = device.remote_address(into.data());
            t->place.key = Device::remote_key(t->memory);
        } else if (!receive_piece(*t)) {
            return core_->events.expect_less(), posted::would_block;
        }
        core_->in.use_up(b, a.head.from);
        core_->out.say(a.head.from, fabric_frame::go, t->place);
        core_->out.expect_less();
        list_.add(std::move(t));
        return posted::pending;
    }
    // The sender has taken a payload back.
    void refused(rank_t from, std::uint32_t ticket) {
        pull* const t = list_.find([=](const pull& x) { return x.place.ticket == ticket && x.peer == from; });
        if (t != nullptr) give_up(*t, errc::peer_aborted);
    }

    // The sender's device has written a piece here. False: nobody waits for it.
    bool written(std::uint32_t ticket) {
        pull* const t = list_.find([=](const pull& x) { return x.place.ticket == ticket; });
        if (t == nullptr) return false;
        pulled(*t, std::min(t->into.size() - t->moved, core_->device->most_bytes()));
        return true;
    }
    // A piece has come as a tagged message.
    void received(fabric_op& op, std::size_t bytes) { pulled(static_cast<pull&>(op), bytes); }
    BOUGH_COLD void failed(fabric_op& op) {
        pull& t = static_cast<pull&>(op);
        if (!t.withdrawn) core_->presence.suspect(t.peer);
        end(t, t.withdrawn ? t.why : errc::peer_dead);
    }

    // False: there is no such pull. Otherwise its event comes soon and tells how it ended.
    bool cancel(std::uint64_t id) {
        pull* const t = list_.find([id](const pull& x) { return x.id == id && !x.over; });
        if (t != nullptr && t->given_up_ns == 0) t->given_up_ns = steady_now_ns();
        return t != nullptr;
    }
    BOUGH_COLD void lose(rank_t r) {
        for (std::size_t i = list_.size(); i-- != 0;)
            if (list_[i].peer == r) give_up(list_[i], errc::peer_dead);
    }
    // Whether one was given up so long ago that its sender should have answered.
    bool are_late(std::uint64_t now_ns, std::uint64_t answer_ns) const {
        return list_.find([=](const pull& t) { return t.is_late(now_ns, answer_ns); }) != nullptr;
    }
    // The device is closed: what the user has given up is over.
    BOUGH_COLD void end_cancelled() {
        for (std::size_t i = 0; i != list_.size(); ++i)
            if (list_[i].given_up_ns != 0) tell(list_[i], errc::cancelled);
    }
    bool empty() const noexcept { return list_.empty(); }
    void abandon() noexcept { list_.abandon(); }

private:
    struct pull : fabric_transfer<typename Device::memory> {
        bool withdrawn = false; // the device was asked to receive nothing more for it
        errc why = errc::ok;    // what its event says, if it was withdrawn
        std::span<std::byte> into{};
    };

    // Posts a receive for the next piece of a payload that comes as tagged messages.
    bool receive_piece(pull& t) {
        t.piece = std::min(t.into.size() - t.moved, core_->device->most_bytes());
        if constexpr (Device::tags)
            return core_->device->receive_tagged(t.peer, t.into.subspan(t.moved, t.piece), Device::descriptor(t.memory),
                                                 t.tag(), t);
        return false;
    }
    void pulled(pull& t, std::size_t bytes) {
        t.moved += bytes;
        const bool whole = t.moved >= t.into.size();
        if (!whole && core_->group.writes) return;
        if (!whole && !t.withdrawn && receive_piece(t)) return;
        if (!whole) core_->presence.suspect(t.peer, errc::no_resources);
        end(t, whole ? errc::ok : errc::peer_dead);
    }
    // The payload never comes.
    void give_up(pull& t, errc code) {
        // The device still has its memory, and will say.
        if (!core_->group.writes && !core_->out.is_closed()) {
            t.withdrawn = true; // when it has not
            t.why = code;
            if constexpr (Device::tags) core_->device->cancel(t);
            return;
        }
        t.memory.reset(); // from here on nobody can write there
        end(t, code);
    }
    void tell(pull& t, errc code) {
        if (!std::exchange(t.over, true)) core_->events.complete(t.id, code, t.peer);
    }
    void end(pull& t, errc code) {
        tell(t, code);
        list_.remove(t);
    }

    fabric_rank_core<Device>* core_;
    fabric_transfers<pull> list_;
    std::uint32_t tickets_ = 0;
};

} // namespace bough::detail

#endif
