// SPDX-License-Identifier: BSL-1.0
// tcp_input: what has been read of one connection and not been looked at yet.
//
// Bytes are read into a chunk, many short frames at a time. Where the caps allow no chunk, a header
// is read alone.
#ifndef BOUGH_TRANSPORT_TCP_INPUT_HPP
#define BOUGH_TRANSPORT_TCP_INPUT_HPP

#include <bough/core/config.hpp>
#include <bough/transport/tcp/frame.hpp>
#include <bough/transport/tcp/memory.hpp>
#include <bough/transport/tcp/stream.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

// How one poll goes on reading.
struct tcp_reading {
    bool may_read = true; // false: there is nothing more now, or enough was read
    bool moved = false;   // bytes were read
};

class tcp_input {
public:
    // Pre: both outlive the input.
    tcp_input(tcp_memory& memory, tcp_budget& budget) noexcept : memory_(memory), budget_(budget) {}
    tcp_input(const tcp_input&) = delete;
    tcp_input& operator=(const tcp_input&) = delete;

    // How many bytes lie in the chunk, and where.
    std::size_t size() const noexcept { return end_ - begin_; }
    const std::byte* front() const noexcept { return chunk_->bytes.data() + begin_; }
    void skip(std::size_t bytes) noexcept { begin_ += bytes; }
    // Null: there is none.
    tcp_chunk* chunk() const noexcept { return chunk_; }
    // Nothing more will come.
    bool has_ended() const noexcept { return ended_; }
    // The connection is broken, or ends within a frame: what is here counts no more.
    void end() noexcept {
        ended_ = true;
        begin_ = end_;
    }

    // A turn reads at most a part: a sender that goes on writing must not keep this rank from everything
    // else.
    void begin_turn() noexcept { left_ = part_bytes; }
    // It has read that much, or has ended before all was read. There may be more, here or in the stream,
    // of which no socket tells.
    bool has_read_enough() const noexcept { return left_ == 0; }
    void end_turn() noexcept { left_ = 0; }

    // The next header; null: it has not come as a whole.
    const frame_header* header() {
        if (chunk_ == nullptr && header_got_ == header_.size()) use_chunk();
        if (chunk_ == nullptr) return header_got_ == header_.size() ? &header_ : nullptr;
        if (size() < header_.size()) return nullptr;
        std::memcpy(header_.data(), front(), header_.size());
        return &header_;
    }
    // What lies behind the header is next. Pre: header() has come.
    void skip_header() noexcept {
        if (chunk_ != nullptr) begin_ += header_.size();
        header_got_ = 0;
    }
    // Makes room for the rest of a frame of so many bytes, of which the beginning is here. False:
    // there is none.
    bool make_room(std::uint64_t all) {
        return begin_ + all <= tcp_chunk::capacity || move_to_front(static_cast<std::size_t>(all));
    }

    // Reads what there is. `most`: until so many bytes, or a header, are here; 0: all.
    template <class Stream>
    void read(Stream& stream, std::uint64_t most, tcp_reading& now) {
        if (chunk_ != nullptr && begin_ == end_) // frames begin where payloads are aligned
            begin_ = end_ = chunk_->live == 0 ? 0 : (end_ + frame_alignment - 1) / frame_alignment * frame_alignment;
        if (chunk_ == nullptr) use_chunk();
        if (chunk_ != nullptr && tcp_chunk::capacity - begin_ < header_.size() && !move_to_front(header_.size())) {
            header_got_ = size();
            std::memcpy(header_.data(), front(), header_got_);
            give_up_chunk();
        }
        std::span<std::byte> into = chunk_ != nullptr ? std::span<std::byte>(chunk_->bytes).subspan(end_)
                                                      : std::span<std::byte>(header_).subspan(header_got_);
        if (most != 0) most = std::max<std::uint64_t>(most, header_.size());
        if (chunk_ != nullptr && size() < most)
            into = into.first(static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), most - size())));
        (chunk_ != nullptr ? end_ : header_got_) += read_into(stream, into, into.size(), now);
    }
    // Reads past the chunk, into memory with room for so many bytes. Returns how many came.
    template <class Stream, class Into>
    std::size_t read_into(Stream& stream, Into& into, std::size_t room, tcp_reading& now) {
        std::size_t n = 0;
        switch (stream.read(into, n)) {
        case io_result::some: break;
        case io_result::would_block: now.may_read = false; return 0;
        case io_result::closed: ended_ = true; return 0;
        }
        now.moved = true;
        left_ -= std::min<std::uint64_t>(n, left_);
        now.may_read = n == room && left_ != 0;
        return n;
    }

    // Forgets what is here. Arrivals in memory stay.
    void drop() noexcept {
        ended_ = true;
        if (chunk_ != nullptr) give_up_chunk();
        header_got_ = 0;
    }

private:
    // Moves a header that was read alone into a chunk, if the caps allow one.
    void use_chunk() {
        chunk_ = memory_.open_chunk(budget_);
        if (chunk_ == nullptr) return;
        std::memcpy(chunk_->bytes.data(), header_.data(), header_got_);
        begin_ = 0;
        end_ = header_got_;
        header_got_ = 0;
    }
    // Arrivals in it stay. Nothing lies in a chunk any more: size() is 0.
    void give_up_chunk() noexcept {
        memory_.close_chunk(chunk_);
        chunk_ = nullptr;
        begin_ = end_ = 0;
    }
    // Makes room in a chunk for a frame of so many bytes. False: there is none.
    bool move_to_front(std::size_t all) {
        if (all > tcp_chunk::capacity) return false;
        tcp_chunk* to = chunk_->live == 0 ? chunk_ : memory_.open_chunk(budget_);
        if (to == nullptr) return false;
        std::memmove(to->bytes.data(), front(), size());
        if (to != chunk_) memory_.close_chunk(chunk_);
        chunk_ = to;
        end_ = size();
        begin_ = 0;
        return true;
    }

    tcp_memory& memory_;
    tcp_budget& budget_;
    tcp_chunk* chunk_ = nullptr;
    std::size_t begin_ = 0, end_ = 0; // of what lies in the chunk
    frame_header header_{};
    std::size_t header_got_ = 0;      // bytes of a header that is read alone
    std::uint64_t left_ = part_bytes; // that this turn may read
    bool ended_ = false;
};

} // namespace bough::detail

#endif
