// SPDX-License-Identifier: BSL-1.0
// Control: the messages that a session exchanges with other sessions by itself: aborts, refusals,
// questions of all kinds, and what agreements and NIC programs have to say.
//
// A control message is about a call, whose number its envelope has; its segment says of which kind
// it is. Messages that go out wait here until the transport has sent them, in order for each rank.
// Messages that come in are copied, so that they keep no slot of the transport. Those of agreements
// and NIC programs (control_segment) then wait in the inbox for their reader.
//
// It needs a transport, and the membership. It must outlive the transport, which may
// still read or write the bytes of messages.
#ifndef BOUGH_SESSION_CONTROL_HPP
#define BOUGH_SESSION_CONTROL_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/moved_list.hpp>
#include <bough/session/control_messages.hpp>
#include <bough/session/membership.hpp>
#include <bough/session/outbox.hpp>
#include <bough/session/unexpected.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// Segments of messages that do not belong to the steps of operations. inquiry_segment is the least
// of them.
inline constexpr std::uint32_t inquiry_segment = 0xffff'fff2u; // bough/session/inquiry.hpp
// How much lies early at a peer: bough/session/early_reports.hpp.
inline constexpr std::uint32_t early_question_segment = 0xffff'fff3u;
inline constexpr std::uint32_t early_answer_segment = 0xffff'fff4u;
// The end of a communicator: bough/session/letting_go.hpp.
inline constexpr std::uint32_t last_call_segment = 0xffff'fff5u;
inline constexpr std::uint32_t let_go_segment = 0xffff'fff6u;
// A communicator has failed: bough/session/failure.hpp.
inline constexpr std::uint32_t broken_segment = 0xffff'fff7u;
inline constexpr std::uint32_t given_up_segment = 0xffff'fff8u;  // a call: bough/session/failure.hpp
inline constexpr std::uint32_t signature_segment = 0xffff'fff9u; // bough/session/disputes.hpp
// The search for absent ranks: bough/session/deadline_watch.hpp.
inline constexpr std::uint32_t search_segment = 0xffff'fffau;
inline constexpr std::uint32_t answer_segment = 0xffff'fffbu;
inline constexpr std::uint32_t proposal_segment = 0xffff'fffcu;
inline constexpr std::uint32_t refusal_segment = 0xffff'fffdu;
inline constexpr std::uint32_t control_segment = 0xffff'fffeu;
inline constexpr std::uint32_t abort_segment = 0xffff'ffffu;

template <Transport T>
class control {
public:
    static_assert(unexpected_messages<T>::first_of_session == inquiry_segment &&
                  unexpected_messages<T>::id_mark < control_messages::id_mark);

    // The transport is not used before it is constructed.
    control(T& transport, const membership& members) : transport_(transport), members_(members), out_(members.size()) {
        inbox_.reserve(16); // mostly enough
    }
    control(const control&) = delete;
    control& operator=(const control&) = delete;

    // Sends a message to a rank; `segment` is one of those above, `call` the call that it is about.
    void send(rank_t to, std::uint32_t segment, const envelope& call, std::span<const std::byte> bytes) {
        put(to, segment, call, bytes);
        flush();
    }
    // The next flush() sends it.
    void put(rank_t to, std::uint32_t segment, envelope call, std::span<const std::byte> bytes) {
        call.epoch = members_.epoch();
        call.segment = segment;
        out_.put(to, call, bytes);
    }
    // Gives the transport as many messages as it takes.
    void flush() { out_.flush(transport_); }
    bool has_to_send() const noexcept { return !out_.empty(); }
    std::size_t unsent() const noexcept { return out_.size(); } // messages
    // Is a message to this rank still here, because the transport has not taken it?
    bool holds_for(rank_t to) const noexcept { return out_.holds_for(to); }
    // Has one been put since the last flush()?
    bool has_untried() const noexcept { return out_.has_untried(); }
    // The order of data behind these messages: see outbox.hpp.
    bool holds_back(rank_t to) noexcept { return out_.holds_back(to); }
    bool data_waits() const noexcept { return out_.data_waits(); }
    bool data_may_go() noexcept { return out_.data_may_go(); }
    // Have all messages to this rank left the process?
    bool has_told(rank_t to) const {
        if (to == members_.rank() || members_.is_lost(to)) return true;
        if constexpr (GatheringTransport<T>)
            if (transport_.handed_over(to) < transport_.accepted(to)) return false;
        return !out_.holds_for(to);
    }
    // Have those left that were put before the first such call? `last`, 0 at first, is for the next one: what
    // is sent later, other threads' data for instance, is not waited for.
    bool has_told(rank_t to, std::uint64_t& last) const {
        if (to == members_.rank() || members_.is_lost(to)) return true;
        if (last == 0) {
            if (out_.holds_for(to)) return false;
            last = 1;
            if constexpr (GatheringTransport<T>) last += transport_.accepted(to);
        }
        if constexpr (GatheringTransport<T>) return transport_.handed_over(to) + 1 >= last;
        return true;
    }
    bool is_lost(rank_t r) const noexcept { return members_.is_lost(r); }
    // The rank is lost: drops what the transport has not taken.
    void forget(rank_t to) { out_.forget(to); }

    // Reads an arrival and releases it. If memory runs out, nothing has happened. True: `m` is the
    // message. False: completed() will give it, if it comes. Then the inbox has room for it.
    bool read(unexpected_messages<T>& early, const event& e, control_message& m) {
        if (const std::size_t most = inbox_.size() + in_.under_way() + 1; most > inbox_.capacity())
            inbox_.reserve(2 * most);
        return in_.read(transport_, early, e, m);
    }
    // Messages whose payloads are still to come.
    std::size_t under_way() const noexcept { return in_.under_way(); }
    // Is it the end of a post or a take of this class?
    static bool owns(const event& e) noexcept { return e.id >> 32 >= control_messages::id_mark; }
    // True: `m` is a message that has come. Pre: owns(e).
    bool completed(const event& e, control_message& m) {
        if (e.id >> 32 == control_messages::id_mark) return in_.taken(e, m);
        out_.completed(e.id);
        return false;
    }

    // Messages with control_segment that have come, in order per rank, and that nobody has used.
    const detail::moved_list<control_message>& inbox() const noexcept { return inbox_; }
    // Pre: read() or completed() has given the message.
    void keep(control_message&& m) { inbox_.push_back(std::move(m)); }
    // Calls use(message) for each message of the inbox, in order. If it returns true, the message is used
    // up; if it throws, the message stays, and it is heard no further. It may take the message's bytes.
    // It must not change the inbox.
    template <class F>
    void hear(const F& use) {
        for (std::size_t i = 0; i != inbox_.size();) {
            if (!use(inbox_[i])) {
                ++i;
                continue;
            }
            recycle(std::move(inbox_[i].bytes));
            inbox_.erase(inbox_.begin() + i);
        }
    }
    // Takes the memory of a message that was used, for later ones.
    void recycle(std::vector<std::byte>&& bytes) noexcept { in_.recycle(std::move(bytes)); }
    // Removes what was for a communicator that all members have let go.
    void forget_inbox(std::uint16_t context) {
        inbox_.erase_if([&](const control_message& m) { return m.tag.context == context; });
    }
    // Removes what was for other epochs. Call it when the membership has begun an epoch.
    void begin_epoch() {
        inbox_.erase_if([this](const control_message& m) { return !members_.is_of_epoch(m.tag); });
    }

    // Reserves memory for so many more messages, each way, until unreserve(). If it throws, only the
    // capacity of the inbox has changed.
    void reserve(std::size_t messages, std::size_t bytes) {
        inbox_.reserve(inbox_.size() + in_.room() + messages);
        struct undo {
            control_messages& in;
            std::size_t messages, bytes;
            ~undo() { in.unreserve(messages, bytes); } // undoes nothing, unless memory runs out
        } half{in_, 0, bytes};
        in_.reserve(messages, bytes);
        half.messages = messages;
        out_.reserve(messages, bytes);
        half.messages = 0;
    }
    void unreserve(std::size_t messages, std::size_t bytes) noexcept {
        in_.unreserve(messages, bytes);
        out_.unreserve(messages, bytes);
    }

private:
    T& transport_;
    const membership& members_;
    outbox out_;
    control_messages in_;
    detail::moved_list<control_message> inbox_;
};

} // namespace bough::detail

#endif
