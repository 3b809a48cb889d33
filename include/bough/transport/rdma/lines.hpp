// SPDX-License-Identifier: BSL-1.0
// Sends and receives the frames between one rank and all others. It keeps the buffers into which
// frames arrive, their order, the credits, and a queue of words: control frames that the device
// does not take at once. What the frames mean is the business of the endpoint (endpoint.hpp).
#ifndef BOUGH_TRANSPORT_RDMA_LINES_HPP
#define BOUGH_TRANSPORT_RDMA_LINES_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/rank.hpp>
#include <bough/os/clock.hpp>
#include <bough/transport/rdma/buffers.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/frame.hpp>
#include <bough/transport/rdma/op.hpp>
#include <bough/transport/rdma/order.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

struct fabric_group {
    rank_t rank = 0, size = 1;
    std::uint32_t job = 0;
    std::uint32_t cores = 1;
    bool oversubscribed = false;
    bool writes = true; // long payloads are written remotely
};

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
class fabric_lines {
public:
    using options_type = typename Device::options_type;

    fabric_lines(Device& device, const options_type& options, const fabric_group& g)
        : device_(&device), options_(options), group_(g), lines_(g.size),
          longest_(sizeof(fabric_frame) + std::max<std::size_t>(options.eager_bytes, sizeof(fabric_place))),
          in_(device, fabric_op::what::receive, Device::receives, longest_,
              std::size_t{g.size} * (4 * std::size_t{options.window} + 16)),
          out_(device, fabric_op::what::frame, Device::sends, longest_,
               std::clamp<std::size_t>(device.most_sends() / 2, 1, 256)),
          injected_(device.sends_alone() ? std::min(device.most_injected(), most_injected) : 0),
          receives_(std::clamp<std::size_t>(std::size_t{g.size - 1} * (options.window + 4), 1,
                                            std::min<std::size_t>(device.most_receives(), 512))) {}

    std::uint64_t strangers() const noexcept { return strangers_; }

    // While ranks meet, frames may fail because a peer is not there yet. Then `hello` is said
    // again.
    void set_meeting(bool on) noexcept { meeting_ = on; }
    bool met(rank_t r) const noexcept { return lines_[r].met; }
    // The first rank that has not said hello; the group's size: all have.
    rank_t missing() const noexcept {
        return first([](const line& l) { return !l.met; });
    }
    // Whether all peers to which this rank has said `bye` have answered it or are gone.
    bool all_waved() const noexcept {
        return first([](const line& l) { return l.parting && !l.waved; }) == group_.size;
    }
    bool all_sent() const noexcept { return queue_.empty() && !is_sending() && device_->all_sent(); }
    // From now on frames from this rank are ignored, and nothing but `farewell` is said to it.
    // `dead`: the rank does not hear that either.
    void forget(rank_t r, bool dead) noexcept {
        lines_[r].gone = true;
        lines_[r].dead |= dead;
        lines_[r].parting &= !dead;
    }
    void close() noexcept {
        closed_ = true;
        queue_.clear();
    }
    // In a forked child: forgets everything, because it belongs to the parent.
    void abandon() noexcept {
        in_.abandon();
        out_.abandon();
    }
    // Whether there is a rank to which something could not be sent, and `r`: which. Each is told
    // once.
    bool next_broken(rank_t& r) noexcept {
        if (broken_.empty()) return false;
        r = broken_.back();
        broken_.pop_back();
        return true;
    }

    // --- Out ---

    bool has_room(rank_t to) const noexcept {
        const line& l = lines_[to];
        return l.queued == 0 && l.sent - l.freed < options_.window;
    }
    // Sends a message or an announcement, which takes one of the credits.
    fabric_result send(rank_t to, std::uint16_t kind, const envelope& tag, std::span<const std::byte> body) {
        const fabric_result r = transmit(to, kind, tag, body);
        if (r == fabric_result::ok) ++lines_[to].sent;
        return r;
    }
    // Sends a word now, or as soon as the device takes it.
    void say(rank_t to, std::uint16_t kind, const fabric_place& body = {}) {
        if (closed_) return;
        lines_[to].parting |= kind == fabric_frame::bye;
        const word w{to, kind, body, 0, said_ + 1};
        if (lines_[to].queued == 0 && transmit(to, kind, {}, body_of(w)) != fabric_result::full) return;
        ++lines_[to].queued;
        queue_.push_back(w);
        ++said_;
    }
    void flush() {
        if (queue_.empty()) return;
        const std::uint64_t now = steady_now_ns();
        std::size_t kept = 0;
        for (std::size_t i = 0; i != queue_.size(); ++i) {
            word w = queue_[i];
            line& l = lines_[w.to];
            if (w.since_ns == 0) w.since_ns = now;
            bool done = l.gone && (w.kind != fabric_frame::farewell || now - w.since_ns > options_.linger_ns);
            if (!done && !l.blocked) {
                l.blocked = transmit(w.to, w.kind, {}, body_of(w), w.number) == fabric_result::full;
                done = !l.blocked;
            }
            if (done) {
                --l.queued;
                l.parting &= !l.gone || w.kind != fabric_frame::bye; // a bye that was not sent gets no answer
            } else {
                queue_[kept++] = w;
            }
        }
        queue_.resize(kept);
        for (const word& w : queue_) lines_[w.to].blocked = false;
    }
    // --- What has left (GatheringTransport): one number for all frames of this rank ---

    // Whether something is still here: words that the device has not taken, or frames that the
    // device sends only when it is called.
    bool unsent() const noexcept { return !closed_ && (!queue_.empty() || (!device_->sends_alone() && is_sending())); }
    std::uint64_t accepted() const noexcept { return said_; }
    std::uint64_t handed_over(rank_t to) noexcept {
        if (lines_[to].gone || !unsent()) return said_;
        std::uint64_t first = said_ + 1; // the first frame that has not left
        for (const word& w : queue_)
            if (w.to == to) first = std::min(first, w.number);
        for (std::uint32_t i = 0; i != out_.made() && !device_->sends_alone(); ++i)
            if (out_[i].number != 0 && out_[i].op.peer == to) first = std::min(first, out_[i].number);
        return first - 1;
    }

    // The device has done with a frame: it was sent, or it was not.
    void sent(std::uint32_t buffer) noexcept {
        out_[buffer].number = 0;
        --lines_[out_[buffer].op.peer].sending;
        out_.put(out_[buffer]);
    }
    void not_sent(std::uint32_t buffer) {
        const rank_t to = out_[buffer].op.peer;
        if (meeting_) {
            ++lines_[to].queued;
            queue_.push_back({to, fabric_frame::hello, {}, 0, ++said_});
        } else {
            broken_.push_back(to);
        }
        sent(buffer);
    }

    // --- In ---

    // Allocates the buffers for all frames that may come at once, one to send from, and room for a
    // word to each rank. False: there is no memory for them, or it may not be registered.
    bool prepare() {
        queue_.reserve(group_.size);
        fabric_buffer* out = out_.get();
        if (out != nullptr) out_.put(*out);
        return out != nullptr && refill() && posted_ != 0;
    }
    // Keeps a buffer posted for each frame that may come at once, as far as the device takes them.
    // False: there were no more buffers.
    bool refill() {
        while (posted_ < receives_ && !closed_) {
            fabric_buffer* b = in_.get();
            if (b == nullptr) return false;
            if (!device_->receive(*b, longest_)) return in_.put(*b), true; // the device takes no more now
            ++posted_;
        }
        return true;
    }
    void received(std::uint32_t buffer, std::size_t length) {
        fabric_buffer& b = in_[buffer];
        --posted_;
        b.length = length;
        fabric_frame head;
        if (length >= sizeof head) std::memcpy(&head, b.memory, sizeof head);
        const bool ours = length >= sizeof head && head.job == group_.job && head.from < group_.size &&
                          head.from != group_.rank && is_fabric_frame(head, length, options_.eager_bytes);
        if (!ours) return drop(b);
        line& l = lines_[head.from];
        l.met |= head.kind == fabric_frame::hello;
        l.waved |= head.kind == fabric_frame::farewell;
        if (!head.counts() || l.gone) return put_back(b);
        switch (l.order.came(head.sequence, buffer)) {
        case fabric_order::turn::later: break;
        case fabric_order::turn::never: return drop(b);
        case fabric_order::turn::next:
            ripe_.push_back(buffer);
            for (std::uint32_t next = 0; l.order.next(next);) ripe_.push_back(next);
        }
        refill();
    }
    // The posted buffer was used up without a frame in it.
    void unused(std::uint32_t buffer) {
        --posted_;
        put_back(in_[buffer]);
    }
    // What came was longer than any frame of this group.
    void not_received(std::uint32_t buffer) {
        --posted_;
        drop(in_[buffer]);
    }
    // The next frame in order; null: there is none.
    fabric_buffer* next() {
        if (next_ripe_ == ripe_.size()) return nullptr;
        fabric_buffer& b = in_[ripe_[next_ripe_++]];
        if (next_ripe_ == ripe_.size()) ripe_.clear(), next_ripe_ = 0;
        fabric_frame head;
        std::memcpy(&head, b.memory, sizeof head);
        line& l = lines_[head.from];
        l.freed += static_cast<std::uint16_t>(head.used - static_cast<std::uint16_t>(l.freed));
        return &b;
    }
    bool has_next() const noexcept { return next_ripe_ != ripe_.size(); }
    fabric_buffer& buffer(std::uint64_t handle) noexcept { return in_[static_cast<std::uint32_t>(handle)]; }
    void put_back(fabric_buffer& b) {
        in_.put(b);
        refill();
    }
    // A message is used up: its buffer is free again, and its sender gets a credit back.
    void use_up(fabric_buffer& b, rank_t from) {
        put_back(b);
        ++lines_[from].used;
    }
    // Tells a rank that it may send more, once it does not know of half a window of credits.
    void give_room(rank_t from) {
        const line& l = lines_[from];
        if (!l.gone && l.used - l.told >= (options_.window + 1) / 2) say(from, fabric_frame::room);
    }

private:
    static constexpr std::size_t most_injected = 256;

    struct line {
        fabric_order order{};
        std::uint32_t sequence = 0;        // of the next frame to the peer
        std::uint32_t sent = 0, freed = 0; // messages to the peer, and how many of them it has used up
        std::uint32_t used = 0, told = 0;  // messages from it that are used up, and of how many it knows that
        std::uint32_t queued = 0;          // words to it that the device has not taken
        std::uint32_t sending = 0;         // frames to it with which the device has not done
        bool met = false, parting = false, waved = false, gone = false, dead = false, blocked = false;
    };
    struct word {
        rank_t to;
        std::uint16_t kind;
        fabric_place body;
        std::uint64_t since_ns, number;
    };

    // Frames to dead peers do not count: some providers never report their end.
    bool is_sending() const noexcept {
        return out_.in_use() != 0 && first([](const line& l) { return l.sending != 0 && !l.dead; }) != group_.size;
    }
    template <class F>
    rank_t first(const F& f) const noexcept {
        rank_t r = 0;
        while (r != group_.size && (r == group_.rank || !f(lines_[r]))) ++r;
        return r;
    }
    void drop(fabric_buffer& b) {
        ++strangers_;
        put_back(b);
    }
    static std::span<const std::byte> body_of(const word& w) noexcept {
        if (w.kind != fabric_frame::go && w.kind != fabric_frame::none && w.kind != fabric_frame::done) return {};
        return std::as_bytes(std::span(&w.body, 1));
    }

    // `number`: the frame's number, if it got one when it was queued; 0: it gets a new one.
    fabric_result transmit(rank_t to, std::uint16_t kind, const envelope& tag, std::span<const std::byte> body,
                           std::uint64_t number = 0) {
        line& l = lines_[to];
        const fabric_frame head{tag, l.sequence, group_.job, group_.rank, static_cast<std::uint16_t>(l.used), kind};
        const std::size_t length = sizeof head + body.size();
        const auto write = [&](std::byte* memory) {
            std::memcpy(memory, &head, sizeof head);
            if (!body.empty()) std::memcpy(memory + sizeof head, body.data(), body.size());
        };
        fabric_result result = fabric_result::ok;
        if (length <= injected_) { // the device does not report when this has left
            alignas(16) std::byte whole[most_injected];
            write(whole);
            result = device_->inject(to, std::span(whole, length));
        } else { // words may exceed the limit of buffers: they are few and must not wait for messages
            fabric_buffer* b = out_.get(kind != fabric_frame::message && kind != fabric_frame::announcement);
            if (b == nullptr) return fabric_result::full;
            write(b->memory);
            b->op.peer = to;
            b->length = length;
            result = device_->send(to, *b);
            b->number = result != fabric_result::ok ? 0 : number != 0 ? number : said_ + 1;
            result != fabric_result::ok ? out_.put(*b) : void(++l.sending);
        }
        if (result == fabric_result::broken && meeting_) return fabric_result::full;
        if (result == fabric_result::broken) broken_.push_back(to);
        if (result != fabric_result::ok) return result;
        if (number == 0) ++said_;
        l.told = l.used;
        if (head.counts()) ++l.sequence;
        return fabric_result::ok;
    }

    Device* device_;
    options_type options_;
    fabric_group group_;
    std::vector<line> lines_;
    std::size_t longest_; // bytes of the longest frame
    fabric_buffers<Device> in_, out_;
    std::size_t injected_;
    std::size_t receives_, posted_ = 0; // buffers that are to be posted, and that are
    std::vector<word> queue_;
    std::vector<std::uint32_t> ripe_; // buffers with frames in order; those from next_ripe_ on are to be read
    std::size_t next_ripe_ = 0;
    std::vector<rank_t> broken_;
    std::uint64_t strangers_ = 0;
    bool meeting_ = false; // not all ranks are there yet
    bool closed_ = false;
    std::uint64_t said_ = 0; // frames that were sent or are queued
};

} // namespace bough::detail

#endif
