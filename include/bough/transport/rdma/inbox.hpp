// SPDX-License-Identifier: BSL-1.0
// The frames that come to a rank: keeps buffers posted for them, drops what does not belong to the
// group, and puts the frames of each peer in order.
#ifndef BOUGH_TRANSPORT_RDMA_INBOX_HPP
#define BOUGH_TRANSPORT_RDMA_INBOX_HPP

#include <bough/core/rank.hpp>
#include <bough/transport/detail/credits.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/frame.hpp>
#include <bough/transport/rdma/group.hpp>
#include <bough/transport/rdma/op.hpp>
#include <bough/transport/rdma/order.hpp>
#include <bough/transport/rdma/presence.hpp>
#include <bough/transport/rdma/receives.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// A frame that has come.
struct fabric_arrival {
    fabric_frame head{};
    std::uint64_t bytes = 0;  // of the message's payload
    std::uint32_t number = 0; // of a long message

    explicit fabric_arrival(const fabric_buffer& b) noexcept {
        std::memcpy(&head, b.memory, sizeof head);
        bytes = b.length - sizeof head;
        if (head.kind != fabric_frame::announcement) return;
        fabric_announcement about;
        std::memcpy(&about, b.memory + sizeof head, sizeof about);
        bytes = about.bytes;
        number = about.number;
    }
};

template <RdmaMessenger Device>
class fabric_inbox {
public:
    // Pre: all that it is given outlives the inbox.
    fabric_inbox(Device& device, const typename Device::options_type& options, const fabric_group& g,
                 const fabric_presence& presence, message_credits& credits)
        : group_(&g), presence_(&presence), credits_(&credits), eager_bytes_(options.eager_bytes),
          receives_(device, longest_frame(options.eager_bytes),
                    std::clamp<std::size_t>(std::size_t{g.size - 1} * (options.window + 4), 1,
                                            std::min<std::size_t>(device.most_receives(), 512)),
                    std::size_t{g.size} * (4 * std::size_t{options.window} + 16)),
          peers_(g.size) {}

    // Allocates the buffers for all frames that may come at once. False: there is no memory for
    // them, or it may not be registered.
    bool prepare() { return receives_.refill() && receives_.has_posted(); }
    // Keeps a buffer posted for each frame that may come at once, as far as the device takes them.
    void refill() noexcept { receives_.refill(); }
    void close() noexcept { receives_.close(); }
    void abandon() noexcept { receives_.abandon(); }

    // How many frames were dropped because they did not belong to this group.
    std::uint64_t strangers() const noexcept { return strangers_; }
    bool has_met(rank_t r) const noexcept { return peers_[r].met; }
    // The first rank that has not said hello; the group's size: all have.
    rank_t missing() const noexcept {
        rank_t r = 0;
        while (r != group_->size && (r == group_->rank || has_met(r))) ++r;
        return r;
    }
    // Whether the rank has answered a `bye`.
    bool has_waved(rank_t r) const noexcept { return peers_[r].waved; }

    // --- What the device says ---

    void received(std::uint32_t buffer, std::size_t length) noexcept {
        fabric_buffer& b = receives_.used(buffer);
        b.length = length;
        fabric_frame head;
        if (length >= sizeof head) std::memcpy(&head, b.memory, sizeof head);
        const bool ours = length >= sizeof head && head.job == group_->job && head.from < group_->size &&
                          head.from != group_->rank && is_fabric_frame(head, length, eager_bytes_);
        if (!ours) return drop(b);
        peer& p = peers_[head.from];
        p.met |= head.kind == fabric_frame::hello;
        p.waved |= head.kind == fabric_frame::farewell;
        if (!head.counts() || presence_->is_lost(head.from)) return put_back(b);
        switch (p.order.came(head.sequence, b)) {
        case fabric_order::turn::later: break;
        case fabric_order::turn::never: return drop(b);
        case fabric_order::turn::next:
            add_ripe(b);
            while (fabric_buffer* const next = p.order.next()) add_ripe(*next);
        }
        refill();
    }
    // The posted buffer was used up without a frame in it.
    void unused(std::uint32_t buffer) noexcept { put_back(receives_.used(buffer)); }
    // What came was longer than any frame of this group.
    void not_received(std::uint32_t buffer) noexcept { drop(receives_.used(buffer)); }

    // --- The frames in order ---

    bool has_next() const noexcept { return ripe_ != nullptr; }
    // The next frame. Pre: there is one.
    fabric_buffer& front() noexcept { return *ripe_; }
    // Takes it.
    fabric_buffer& next() noexcept {
        fabric_buffer& b = *ripe_;
        ripe_ = b.next;
        fabric_frame head;
        std::memcpy(&head, b.memory, sizeof head);
        credits_->freed(head.from, head.used);
        return b;
    }
    fabric_buffer& buffer(std::uint64_t handle) noexcept { return receives_[static_cast<std::uint32_t>(handle)]; }
    void put_back(fabric_buffer& b) noexcept { receives_.put(b); }
    // A message is used up: its buffer is free again, and its sender gets a credit back.
    void use_up(fabric_buffer& b, rank_t from) noexcept {
        put_back(b);
        credits_->use(from);
    }

private:
    struct peer {
        fabric_order order{};
        bool met = false, waved = false; // it has said hello; it has answered a `bye`
    };

    void add_ripe(fabric_buffer& b) noexcept {
        b.next = nullptr;
        (ripe_ == nullptr ? ripe_ : last_ripe_->next) = &b;
        last_ripe_ = &b;
    }
    void drop(fabric_buffer& b) noexcept {
        ++strangers_;
        put_back(b);
    }

    const fabric_group* group_;
    const fabric_presence* presence_;
    message_credits* credits_;
    std::uint32_t eager_bytes_;
    fabric_receives<Device> receives_;
    std::vector<peer> peers_;
    // Of the frames in order that are to be read, the first and the last one.
    fabric_buffer *ripe_ = nullptr, *last_ripe_ = nullptr;
    std::uint64_t strangers_ = 0;
};

} // namespace bough::detail

#endif
