// SPDX-License-Identifier: BSL-1.0
// control_messages: receives the messages that belong to a session and not to an operation, such as
// aborts and agreement.
//
// Their payloads are structs (abort_notice, told_signature, ...) as they lie in memory, like those
// of operations (op/wire.hpp). Pre: all ranks of a group have one byte order and one layout of
// these structs. Transports check that when they are joined: whoever changes one of them adds one to
// formats::session (core/formats.hpp).
#ifndef BOUGH_SESSION_CONTROL_MESSAGES_HPP
#define BOUGH_SESSION_CONTROL_MESSAGES_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/memory_size.hpp>
#include <bough/core/moved_list.hpp>
#include <bough/session/outbox.hpp>
#include <bough/session/unexpected.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// One message that belongs to a session.
struct control_message {
    rank_t peer = no_rank;
    envelope tag{};
    std::vector<std::byte> bytes;
};

// Copies their short payloads. Where a transport delivers payloads later, messages wait here for
// theirs.
template <int>
class basic_control_messages {
public:
    // The upper half of the ids of its takes; no operation's ticket has this value.
    static constexpr std::uint32_t id_mark = outbox::id_mark - 1;

    // Reads an arrival and releases it. If memory runs out, nothing has happened. True: `m` is the
    // message. False: taken() will give it later, if it comes; or its sender has left, and took it back.
    template <Transport T>
    bool read(T& transport, unexpected_messages<T>& early, const event& e, control_message& m) {
        make_room(e, m);
        posted result = posted::failed;
        bool has_come = e.bytes == 0;
        if (e.data != nullptr) {
            has_come = early.claim(e.id);
            if (has_come && !m.bytes.empty()) std::memcpy(m.bytes.data(), e.data, m.bytes.size());
        } else if (e.bytes != 0) {
            const std::uint64_t id = std::uint64_t{id_mark} << 32 | next_id_++;
            result = transport.take(e.id, m.bytes, id);
            if (result == posted::pending) {
                under_way_.push_back({id, std::move(m)});
                return false;
            }
            has_come = result == posted::complete;
        }
        if (result != posted::complete) early.release(e.id);
        if (!has_come) recycle(std::move(m.bytes));
        return has_come;
    }
    // reserve: memory for so many more messages, until unreserve; if it throws, nothing has
    // changed. recycle: takes back the memory of a message that was read.
    void reserve(std::size_t messages, std::size_t bytes) {
        under_way_.reserve(under_way_.size() + room() + messages);
        spare_.reserve(messages, bytes);
    }
    void unreserve(std::size_t messages, std::size_t bytes) noexcept { spare_.unreserve(messages, bytes); }
    std::size_t room() const noexcept { return spare_.room(); }          // messages for which memory is reserved
    std::size_t under_way() const noexcept { return under_way_.size(); } // messages whose payloads are still to come
    void recycle(std::vector<std::byte>&& bytes) noexcept { spare_.give(std::move(bytes)); }
    // A take has ended. True: `m` is the message.
    bool taken(const event& e, control_message& m) {
        for (std::size_t i = 0; i != under_way_.size(); ++i) {
            if (under_way_[i].id != e.id) continue;
            m = std::move(under_way_[i].message);
            under_way_.erase(under_way_.begin() + i);
            if (e.code != errc::ok) recycle(std::move(m.bytes));
            return e.code == errc::ok;
        }
        return false;
    }

private:
    struct awaited {
        std::uint64_t id;
        control_message message;
    };

    void make_room(const event& e, control_message& m) {
        if (e.data == nullptr && e.bytes != 0 && under_way_.size() == under_way_.capacity())
            under_way_.reserve(2 * under_way_.size() + 4);
        m = {e.peer, e.envelope, spare_.of_size(detail::memory_size(e.bytes))};
    }

    detail::moved_list<awaited> under_way_;
    spare_bytes spare_;
    std::uint32_t next_id_ = 0;
};
using control_messages = basic_control_messages<0>;

} // namespace bough

#endif
