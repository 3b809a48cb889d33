// SPDX-License-Identifier: BSL-1.0
// tcp_memory: what has come over tcp and is not used up yet. It lies in chunks, which short
// messages are read into, or in memory of its own, and is listed in a table of arrivals.
//
// Chunks and long messages are bounded per peer and per group: a link that may have no more reads no
// long message before it is taken, and TCP stops its sender. What is behind that message may be what this
// rank waits for. So other peers cannot bring it about: each has a share for long messages, whatever there is
// of others. What it sends ahead beyond its share (bough/session/ahead.hpp), the session takes out.
//
// Short messages for which there is no chunk count, but nothing stops them: the window of each peer bounds
// them. It also bounds the arrivals, because even a message of no bytes uses the window for its header
// (incoming.hpp).
#ifndef BOUGH_TRANSPORT_TCP_MEMORY_HPP
#define BOUGH_TRANSPORT_TCP_MEMORY_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/memory_size.hpp>
#include <bough/transport/tcp/frame.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

struct tcp_budget {
    std::uint64_t used = 0, most = 0;
    std::uint64_t own = 0; // of `used`: what is in no chunk
    bool has(std::uint64_t bytes) const noexcept { return bytes <= most && used <= most - bytes; }
};

// Memory that frames are read into. Arrivals lie in it until they are released.
struct alignas(64) tcp_chunk {
    static constexpr std::size_t capacity = std::size_t{1} << 16;
    std::array<std::byte, capacity> bytes;
    std::uint32_t live = 0; // arrivals that lie here
    bool open = false;      // a link reads into it
    tcp_budget* owner = nullptr;
};

struct tcp_arrival {
    enum class place : std::uint8_t {
        none,   // this entry is free
        chunk,  // in a chunk
        stream, // on the socket of its link
        own,    // in memory of its own
        void_,  // it cannot be had: its sender took it back, or is gone
    };
    place at = place::none;
    rank_t peer = no_rank;
    tcp_chunk* chunk = nullptr;
    const std::byte* data = nullptr;
    std::unique_ptr<std::byte[]> own;
    std::uint64_t bytes = 0;
    tcp_budget* owner = nullptr;     // the budget that `own` counts in
    std::uint64_t* credit = nullptr; // for a short message: where its frame is counted when it is used up
};

// Shared by the links of one rank.
class tcp_memory {
public:
    // `share`: of each peer.
    explicit tcp_memory(std::uint64_t most, std::uint64_t share = 0) : share_(share) { all_.most = most; }

    // Null: the cap is reached.
    tcp_chunk* open_chunk(tcp_budget& owner) {
        if (!owner.has(tcp_chunk::capacity) || !all_.has(tcp_chunk::capacity)) return nullptr;
        if (spare_.empty()) {
            // Without (): its bytes need not be cleared.
            chunks_.push_back(std::unique_ptr<tcp_chunk>(new tcp_chunk));
            spare_.reserve(chunks_.size());
            spare_.push_back(chunks_.back().get());
        }
        tcp_chunk* chunk = spare_.back();
        spare_.pop_back();
        chunk->open = true;
        chunk->owner = &owner;
        take(owner, tcp_chunk::capacity);
        return chunk;
    }
    void close_chunk(tcp_chunk* chunk) noexcept {
        chunk->open = false;
        recycle(chunk);
    }

    bool may_own(const tcp_budget& owner, std::uint64_t bytes) const noexcept {
        return fits_memory(bytes) && owner.has(bytes) && (all_.has(bytes) || owner.own + bytes <= share_);
    }
    // Pre: may_own().
    void give_own(tcp_arrival& a, tcp_budget& owner) {
        a.own.reset(new std::byte[static_cast<std::size_t>(a.bytes)]);
        a.owner = &owner;
        take(owner, a.bytes);
        owner.own += a.bytes;
    }
    // Adds a short message with memory of its own, padding included, whether or not the caps allow it.
    std::uint64_t add_own(tcp_arrival made, tcp_budget& owner) {
        const std::uint64_t bytes = made.bytes;
        made.own.reset(new std::byte[static_cast<std::size_t>(short_frame_bytes(bytes)) - frame_header_bytes]);
        made.at = tcp_arrival::place::own;
        made.data = made.own.get();
        const std::uint64_t handle = add(std::move(made));
        find(handle)->owner = &owner; // now that no allocation can fail any more
        take(owner, bytes);
        owner.own += bytes;
        return handle;
    }

    // Makes room: the next add() allocates nothing.
    void make_room() {
        if (!free_.empty()) return;
        if (arrivals_.size() == arrivals_.capacity()) arrivals_.reserve(2 * arrivals_.size() + 8);
        free_.reserve(arrivals_.capacity());
    }
    // If memory runs out, nothing has changed.
    std::uint64_t add(tcp_arrival made) {
        make_room();
        if (made.chunk != nullptr) ++made.chunk->live;
        if (free_.empty()) {
            arrivals_.push_back(std::move(made));
            return arrivals_.size() - 1;
        }
        const std::uint32_t handle = free_.back();
        free_.pop_back();
        arrivals_[handle] = std::move(made);
        return handle;
    }
    // Null: no arrival has this handle.
    tcp_arrival* find(std::uint64_t handle) noexcept {
        if (handle >= arrivals_.size()) return nullptr;
        tcp_arrival& a = arrivals_[static_cast<std::size_t>(handle)];
        return a.at == tcp_arrival::place::none ? nullptr : &a;
    }
    void remove(std::uint64_t handle) noexcept {
        tcp_arrival& a = arrivals_[static_cast<std::size_t>(handle)];
        if (a.chunk != nullptr) {
            --a.chunk->live;
            recycle(a.chunk);
        }
        if (a.owner != nullptr) {
            give_back(*a.owner, a.bytes);
            a.owner->own -= a.bytes;
        }
        if (a.credit != nullptr) *a.credit += short_frame_bytes(a.bytes);
        a = {};
        free_.push_back(static_cast<std::uint32_t>(handle)); // reserved by add()
    }

    std::uint64_t used() const noexcept { return all_.used; }
    // Messages that have come and are not used up.
    std::size_t arrivals() const noexcept { return arrivals_.size() - free_.size(); }
    std::array<std::byte, 1 << 16>& trash() noexcept { return trash_; }

private:
    void take(tcp_budget& owner, std::uint64_t bytes) noexcept {
        owner.used += bytes;
        all_.used += bytes;
    }
    void give_back(tcp_budget& owner, std::uint64_t bytes) noexcept {
        owner.used -= bytes;
        all_.used -= bytes;
    }
    void recycle(tcp_chunk* chunk) noexcept {
        if (chunk->open || chunk->live != 0) return;
        give_back(*chunk->owner, tcp_chunk::capacity);
        spare_.push_back(chunk);
    }

    tcp_budget all_;
    std::uint64_t share_;
    std::vector<std::unique_ptr<tcp_chunk>> chunks_;
    std::vector<tcp_chunk*> spare_;
    std::vector<tcp_arrival> arrivals_;
    std::vector<std::uint32_t> free_;
    std::array<std::byte, 1 << 16> trash_; // bytes that nobody wants are read into this
};

} // namespace bough::detail

#endif
