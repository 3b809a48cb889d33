// SPDX-License-Identifier: BSL-1.0
// The frames that leave a rank: messages as credits and the device allow, and words, which are
// queued if the device does not take them at once. All peers share the buffers of messages. A peer that
// takes nothing, since it does not poll, keeps those of its messages. So a peer to which nothing is under
// way may have one message more although all buffers are in use.
#ifndef BOUGH_TRANSPORT_RDMA_OUTBOX_HPP
#define BOUGH_TRANSPORT_RDMA_OUTBOX_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/rank.hpp>
#include <bough/os/clock.hpp>
#include <bough/transport/detail/credits.hpp>
#include <bough/transport/rdma/buffers.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/frame.hpp>
#include <bough/transport/rdma/group.hpp>
#include <bough/transport/rdma/op.hpp>
#include <bough/transport/rdma/presence.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <RdmaMessenger Device>
class fabric_outbox {
public:
    // Pre: all that it is given outlives the outbox.
    fabric_outbox(Device& device, const typename Device::options_type& options, const fabric_group& g,
                  const fabric_presence& presence, message_credits& credits)
        : device_(&device), group_(&g), presence_(&presence), credits_(&credits), linger_ns_(options.linger_ns),
          peers_(g.size), buffers_(device, fabric_op::what::frame, Device::sends, longest_frame(options.eager_bytes),
                                   std::clamp<std::size_t>(device.most_sends() / 2, 1, 256)),
          injected_(device.sends_alone() ? std::min(device.most_injected(), most_injected) : 0) {}

    // Allocates a buffer to send from, and room for a word to each rank. False: there is no memory
    // for it, or it may not be registered.
    bool prepare() {
        make_room_for_words(0);
        fabric_buffer* const first = buffers_.get();
        if (first != nullptr) buffers_.put(*first);
        return first != nullptr;
    }
    // While ranks meet, frames may fail because a peer is not there yet. Then `hello` is said
    // again.
    void set_meeting(bool on) noexcept { now_ = on ? stage::meeting : stage::open; }
    // The device is closed: nothing is said any more.
    bool is_closed() const noexcept { return now_ == stage::closed; }
    void close() noexcept {
        now_ = stage::closed;
        queue_.words.clear();
    }
    void abandon() noexcept { buffers_.abandon(); }

    // --- Messages and words ---

    bool has_room(rank_t to) const noexcept { return peers_[to].queued == 0 && credits_->has_room(to); }
    // Sends a message or an announcement, which takes one of the credits.
    fabric_result send(rank_t to, std::uint16_t kind, const envelope& tag, std::span<const std::byte> body) {
        const fabric_result r = transmit(to, kind, tag, body);
        if (r == fabric_result::ok) credits_->sent(to);
        return r;
    }
    // So that the next send() allocates nothing. If memory runs out, nothing has happened.
    void make_room() { buffers_.make_room(); }
    // A long message may have to be answered: from here on there is room for that. If memory runs out,
    // nothing has happened.
    void expect_answer() {
        make_room_for_words(queue_.answers + 1);
        ++queue_.answers;
    }
    // It has been said, or never will be.
    void expect_less() noexcept { --queue_.answers; }
    // Sends a word now, or as soon as the device takes it. There is room for each kind of word of which a peer is
    // told once, and for the answers that were expected.
    void say(rank_t to, std::uint16_t kind, const fabric_place& body = {}) noexcept {
        if (is_closed()) return;
        peer& p = peers_[to];
        p.parting |= kind == fabric_frame::bye;
        const word w{to, kind, body, 0, accepted_ + 1};
        if (p.queued == 0 && transmit(to, kind, {}, body_of(w)) != fabric_result::full) return;
        queue(w);
    }
    // Tells a rank that it may send more, once it does not know of half a window of credits.
    void give_room(rank_t from) noexcept {
        if (credits_->owes(from) && !presence_->is_lost(from)) say(from, fabric_frame::room);
    }
    void flush() noexcept {
        if (!queue_.words.empty()) flush_queue();
    }

    // --- What the device says ---

    // It has done with a frame: it was sent, or it was not.
    void sent(std::uint32_t buffer) noexcept {
        fabric_buffer& b = buffers_[buffer];
        b.number = 0;
        --peers_[b.op.peer].sending;
        buffers_.put(b);
    }
    void not_sent(std::uint32_t buffer) noexcept {
        const rank_t to = buffers_[buffer].op.peer;
        if (now_ == stage::meeting)
            queue({to, fabric_frame::hello, {}, 0, accepted_ + 1});
        else
            breaks(to);
        sent(buffer);
    }
    // Whether there is a rank to which something could not be sent, and `r`: which. Each is told
    // once.
    bool next_broken(rank_t& r) noexcept { return broken_ != 0 && find_broken(r); }

    // --- What has left (GatheringTransport): one number for all frames of this rank ---

    bool all_sent() const noexcept { return queue_.words.empty() && !is_sending() && device_->all_sent(); }
    // Whether something is still here: words that the device has not taken, or frames that the
    // device sends only when it is called.
    bool unsent() const noexcept {
        return !is_closed() && (!queue_.words.empty() || (!device_->sends_alone() && is_sending()));
    }
    std::uint64_t accepted() const noexcept { return accepted_; }
    std::uint64_t handed_over(rank_t to) noexcept {
        if (presence_->is_lost(to) || !unsent()) return accepted_;
        std::uint64_t first = accepted_ + 1; // the first frame that has not left
        for (const word& w : queue_.words)
            if (w.to == to) first = std::min(first, w.number);
        for (std::uint32_t i = 0; i != buffers_.made() && !device_->sends_alone(); ++i)
            if (buffers_[i].number != 0 && buffers_[i].op.peer == to) first = std::min(first, buffers_[i].number);
        return first - 1;
    }
    // Whether this rank has said `bye` to that one and waits for the answer.
    bool is_parting(rank_t r) const noexcept { return peers_[r].parting && !presence_->is_dead(r); }

private:
    static constexpr std::size_t most_injected = 256;

    enum class stage : std::uint8_t { open, meeting, closed };
    struct peer {
        std::uint32_t sequence = 0;            // of the next frame to the peer
        std::uint32_t queued = 0;              // words to it that the device has not taken
        std::uint32_t sending = 0;             // frames to it with which the device has not done
        bool parting = false, blocked = false; // `bye` was said; during a flush: the device takes no more
        bool broken = false;                   // something could not be sent to it
        std::uint16_t queued_once = 0;         // of the kinds that are queued once: which are, by bits
    };
    struct word {
        rank_t to;
        std::uint16_t kind;
        fabric_place body;
        std::uint64_t since_ns, number;
    };
    struct word_queue {
        std::vector<word> words{};
        std::size_t answers = 0; // for which there is room, too
    };

    // The kinds of words that are not an answer. If one is queued already, it says all that another one would.
    static constexpr std::uint16_t said_once =
        1u << fabric_frame::hello | 1u << fabric_frame::room | 1u << fabric_frame::bye | 1u << fabric_frame::farewell;
    static constexpr std::size_t kinds_said_once = 4;

    void make_room_for_words(std::size_t answers) {
        const std::size_t most = queue_.words.size() + kinds_said_once * group_->size + answers;
        if (most > queue_.words.capacity()) queue_.words.reserve(most + answers + 8);
    }
    void queue(const word& w) noexcept {
        peer& p = peers_[w.to];
        const auto bit = static_cast<std::uint16_t>(1u << w.kind);
        if ((p.queued_once & bit) != 0) return;
        p.queued_once |= static_cast<std::uint16_t>(bit & said_once);
        ++p.queued;
        ++accepted_;
        queue_.words.push_back(w);
    }
    BOUGH_COLD void breaks(rank_t to) noexcept { broken_ += !std::exchange(peers_[to].broken, true); }
    BOUGH_COLD bool find_broken(rank_t& r) noexcept {
        for (r = 0; !peers_[r].broken;) ++r;
        peers_[r].broken = false;
        return --broken_, true;
    }
    void flush_queue() noexcept {
        const std::uint64_t now = steady_now_ns();
        std::size_t kept = 0;
        for (std::size_t i = 0; i != queue_.words.size(); ++i) {
            word w = queue_.words[i];
            peer& p = peers_[w.to];
            const bool lost = presence_->is_lost(w.to);
            if (w.since_ns == 0) w.since_ns = now;
            bool done = lost && (w.kind != fabric_frame::farewell || now - w.since_ns > linger_ns_);
            if (!done && !p.blocked) {
                p.blocked = transmit(w.to, w.kind, {}, body_of(w), w.number) == fabric_result::full;
                done = !p.blocked;
            }
            if (done) {
                --p.queued;
                p.queued_once &= static_cast<std::uint16_t>(~(1u << w.kind));
                p.parting &= !lost || w.kind != fabric_frame::bye; // a bye that was not sent gets no answer
            } else {
                queue_.words[kept++] = w;
            }
        }
        queue_.words.erase(queue_.words.begin() + static_cast<std::ptrdiff_t>(kept), queue_.words.end());
        for (const word& w : queue_.words) peers_[w.to].blocked = false;
    }
    // Frames to dead peers do not count: some providers never report their end.
    bool is_sending() const noexcept {
        if (buffers_.in_use() == 0) return false;
        rank_t r = 0;
        while (r != group_->size && (peers_[r].sending == 0 || presence_->is_dead(r))) ++r;
        return r != group_->size;
    }
    static std::span<const std::byte> body_of(const word& w) noexcept {
        if (w.kind != fabric_frame::go && w.kind != fabric_frame::none && w.kind != fabric_frame::done) return {};
        return std::as_bytes(std::span(&w.body, 1));
    }

    // Throws if there is no memory for a message; then nothing has happened. A word is refused (`full`).
    // `number`: the frame's number, if it got one when it was queued; 0: it gets a new one.
    fabric_result transmit(rank_t to, std::uint16_t kind, const envelope& tag, std::span<const std::byte> body,
                           std::uint64_t number = 0) {
        peer& p = peers_[to];
        const fabric_frame head{
            tag, p.sequence, group_->job, group_->rank, static_cast<std::uint16_t>(credits_->used(to)), kind};
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
            const bool is_word = kind != fabric_frame::message && kind != fabric_frame::announcement;
            fabric_buffer* b = is_word ? buffers_.find(true) : buffers_.get(p.sending == 0);
            if (b == nullptr) return fabric_result::full;
            write(b->memory);
            b->op.peer = to;
            b->length = length;
            result = device_->send(to, *b);
            b->number = result != fabric_result::ok ? 0 : number != 0 ? number : accepted_ + 1;
            result != fabric_result::ok ? buffers_.put(*b) : void(++p.sending);
        }
        if (result == fabric_result::broken && now_ == stage::meeting) return fabric_result::full;
        if (result == fabric_result::broken) breaks(to);
        if (result != fabric_result::ok) return result;
        if (number == 0) ++accepted_;
        credits_->told(to);
        if (head.counts()) ++p.sequence;
        return fabric_result::ok;
    }

    Device* device_;
    const fabric_group* group_;
    const fabric_presence* presence_;
    message_credits* credits_;
    std::uint64_t linger_ns_;
    std::vector<peer> peers_;
    fabric_buffers<Device> buffers_;
    std::size_t injected_; // the longest frame that is injected
    word_queue queue_;
    rank_t broken_ = 0;          // ranks to which something could not be sent
    std::uint64_t accepted_ = 0; // frames that were sent or are queued
    stage now_ = stage::open;
};

} // namespace bough::detail

#endif
