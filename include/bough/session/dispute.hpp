// SPDX-License-Identifier: BSL-1.0
// Dispute: two ranks that made different calls under one number tell each other how the calls
// differ.
//
// A message carries a hash of its call's signature. The first message whose hash differs from that
// of this rank's own call opens a dispute. From then on no operation of that communicator ends well,
// and the peer is asked for its signature. The question contains this rank's own. So both ranks know
// both, and each breaks the communicator with what differs and both values. If the peer does not answer in
// time, is lost or has forgotten the call, only the message itself is known: it tells what differs,
// but not the values, and misses differences in bits that it does not have. A session has at most
// one dispute at a time. If calls of another communicator differ meanwhile, it tells no values.
#ifndef BOUGH_SESSION_DISPUTE_HPP
#define BOUGH_SESSION_DISPUTE_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/status.hpp>
#include <bough/session/mismatch.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

// A call that this rank has made.
struct made_call {
    envelope tag{};
    call_signature signature{};
};

// The latest calls of this rank, over all communicators.
class recent_calls {
public:
    void add(const envelope& tag, const call_signature& signature) noexcept {
        made_call& kept = kept_[next_++ % kept_.size()];
        kept.tag = tag;
        kept.signature = signature;
    }
    const envelope& latest() const noexcept { return kept_[(next_ + kept_.size() - 1) % kept_.size()].tag; }
    // Null: the call is not among them.
    const made_call* find(const envelope& tag) const noexcept {
        for (const made_call& c : kept_)
            if (c.tag.operation != 0 && same_call(c.tag, tag)) return &c;
        return nullptr;
    }
    void clear() noexcept { kept_ = {}; }
    void forget(std::uint16_t context) noexcept {
        for (made_call& c : kept_)
            if (c.tag.context == context) c = {};
    }

private:
    std::array<made_call, 16> kept_{}; // operations count from 1
    std::uint32_t next_ = 0;
};

// The payload of a question or an answer: the signature of its sender's call.
struct told_signature {
    call_signature signature{};
    std::uint32_t known = 0; // 0: its sender has forgotten the call
    std::uint32_t asks = 0;

    // Any other payload reads as one with known == 0.
    static told_signature read(std::span<const std::byte> bytes) noexcept {
        told_signature said;
        if (bytes.size() == sizeof said) std::memcpy(&said, bytes.data(), sizeof said);
        return said;
    }
    std::span<const std::byte> bytes() const noexcept { return std::as_bytes(std::span(this, 1)); }
};
static_assert(sizeof(told_signature) == 48);

class dispute {
public:
    // The longest time to wait for a peer, which may be busy with something else.
    static constexpr std::uint64_t patience_ns = 2'000'000'000;

    bool is_open() const noexcept { return peer_ != no_rank; }
    bool is_with(rank_t r) const noexcept { return peer_ == r; }
    // Of this communicator?
    bool is_of(std::uint16_t context) const noexcept { return is_open() && mine_.tag.context == context; }
    std::uint16_t context() const noexcept { return mine_.tag.context; }
    void open(const made_call& mine, const envelope& theirs, rank_t peer, std::uint64_t now_ns) noexcept {
        mine_ = mine;
        known_ = call_mismatch(mine.tag, theirs, peer);
        begin(peer, now_ns);
        knows_mine_ = true;
    }
    // The same for a call that this rank has forgotten. The peer has seen what differs, and will say so; but
    // perhaps it leaves before that.
    void open_for_forgotten(const envelope& theirs, rank_t peer, std::uint64_t now_ns) noexcept {
        mine_ = {theirs, {}};
        known_ = {.code = errc::call_mismatch, .peer = peer, .operation = theirs.operation};
        begin(peer, now_ns);
        knows_mine_ = false;
    }
    void close() noexcept { peer_ = no_rank; }
    // This rank's side of the dispute; null if `tag` belongs to another call, or the call is forgotten.
    const made_call* find(const envelope& tag) const noexcept {
        return is_open() && knows_mine_ && same_call(mine_.tag, tag) ? &mine_ : nullptr;
    }
    // What is known without an answer.
    const status& known() const noexcept { return known_; }
    // How long the answer is waited for; for ever, if there is no dispute.
    std::uint64_t last_ns() const noexcept { return is_open() ? last_ns_ : ~std::uint64_t{0}; }
    bool is_late(std::uint64_t now_ns) const noexcept { return is_open() && now_ns >= last_ns_; }

private:
    void begin(rank_t peer, std::uint64_t now_ns) noexcept {
        peer_ = peer;
        last_ns_ = deadline_after(now_ns, patience_ns);
    }

    made_call mine_{};
    bool knows_mine_ = false;
    status known_{};
    rank_t peer_ = no_rank;
    std::uint64_t last_ns_ = 0;
};

} // namespace bough::detail

#endif
