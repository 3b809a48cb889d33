// SPDX-License-Identifier: BSL-1.0
// The outbox: messages of the session itself (aborts, agreement), kept until the transport has sent them.
#ifndef BOUGH_EXECUTE_OUTBOX_HPP
#define BOUGH_EXECUTE_OUTBOX_HPP

#include <bough/concepts/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bough {

class outbox {
public:
    // Ids of its posts have this upper half, which no operation's number takes.
    static constexpr std::uint32_t id_mark = 0xffff'ffffu;

    bool empty() const noexcept { return notices_.empty(); }

    template <Transport T>
    void send(T& transport, rank_t to, const envelope& tag, std::span<const std::byte> bytes) {
        put(to, tag, bytes);
        flush(transport);
    }
    // To be sent by the next flush().
    void put(rank_t to, const envelope& tag, std::span<const std::byte> bytes) {
        notices_.push_back({to, tag, {bytes.begin(), bytes.end()}, std::uint64_t{id_mark} << 32 | next_id_++, false});
    }

    // Posts what was refused before, in order per peer.
    template <Transport T>
    void flush(T& transport) {
        for (std::size_t i = 0; i != notices_.size();) {
            notice& n = notices_[i];
            if (n.posted || blocked_before(i)) {
                ++i;
                continue;
            }
            const posted result = transport.post_send(n.to, n.tag, n.bytes, n.id);
            if (result == posted::complete || result == posted::failed) { // a lost peer needs no notice
                notices_.erase(notices_.begin() + static_cast<std::ptrdiff_t>(i));
                continue;
            }
            n.posted = result == posted::pending;
            ++i;
        }
    }
    // The post with this id has ended.
    void completed(std::uint64_t id) {
        std::erase_if(notices_, [id](const notice& n) { return n.posted && n.id == id; });
    }
    void forget(rank_t peer) {
        std::erase_if(notices_, [peer](const notice& n) { return !n.posted && n.to == peer; });
    }

private:
    struct notice {
        rank_t to;
        envelope tag;
        std::vector<std::byte> bytes;
        std::uint64_t id;
        bool posted;
    };
    bool blocked_before(std::size_t i) const noexcept {
        for (std::size_t k = 0; k != i; ++k)
            if (!notices_[k].posted && notices_[k].to == notices_[i].to) return true;
        return false;
    }

    std::vector<notice> notices_;
    std::uint32_t next_id_ = 0;
};

} // namespace bough

#endif
