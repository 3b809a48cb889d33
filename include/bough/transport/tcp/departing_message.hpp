// SPDX-License-Identifier: BSL-1.0
// tcp_departing_message: a long message behind its header, as it goes out: what of it the stream has
// taken, and what comes next. Frames that wait behind it go into the next gap between two of its
// parts (frame.hpp), and so overtake it.
#ifndef BOUGH_TRANSPORT_TCP_DEPARTING_MESSAGE_HPP
#define BOUGH_TRANSPORT_TCP_DEPARTING_MESSAGE_HPP

#include <bough/core/config.hpp>
#include <bough/transport/tcp/frame.hpp>
#include <bough/transport/tcp/stream.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

class tcp_departing_message {
public:
    // Of payload and tail, the first `done` bytes have been written. Pre: they have no gap among them.
    void begin(std::span<const std::byte> bytes, std::uint64_t done) noexcept {
        data_ = bytes.data();
        bytes_ = bytes.size();
        done_ = std::min<std::uint64_t>(done, bytes_);
        tail_bytes_ = frame_tail_bytes(frame_kind::long_message, bytes_);
        tail_done_ = static_cast<std::size_t>(done - done_);
        tail_.fill(std::byte{});
        tail_.back() = whole_message;
        end_gap();
        gap_is_over_ = false;
    }

    std::uint64_t bytes() const noexcept { return bytes_; }
    bool has_gaps() const noexcept { return bytes_ > part_bytes; }
    bool payload_is_gone() const noexcept { return done_ == bytes_; }
    bool is_gone() const noexcept { return payload_is_gone() && tail_done_ == tail_bytes_; }

    // Its owner takes it back: zeros go out in place of the rest, and the verdict says so. Pre:
    // !payload_is_gone().
    void make_void() noexcept {
        data_ = nullptr;
        tail_.back() = void_message;
    }

    // Adds what comes next to `out`: of the payload a part, or a part and the rest of the one before it.
    // `waiting`: frames that may go into the next gap. If that gap has begun to go out, they begin with
    // those that are left of it. Pre: no more than most_gap_bytes.
    void gather(io_vectors<const std::byte>& out, std::span<const std::byte> waiting) noexcept {
        if (gap_sent_ == 0) {
            overtaking_ = waiting.size();
            gap_ = encode_gap(static_cast<std::uint32_t>(overtaking_));
        }
        bool is_behind_gap = gap_is_over_;
        std::uint64_t at = done_;
        for (; at != bytes_ && at - done_ < part_bytes && !out.full(); is_behind_gap = false) {
            if (is_gap(at, bytes_) && !is_behind_gap) { // one at the most: behind a second one a part has been added
                out.add(std::span<const std::byte>(gap_).subspan(gap_sent_));
                out.add(waiting.first(overtaking_));
            }
            const std::uint64_t end = part_end(at, bytes_);
            add_payload(out, at, end);
            at = end;
        }
        if (at != bytes_) return out.close();
        out.add(std::span<const std::byte>(tail_).last(tail_bytes_).subspan(tail_done_));
    }
    // Counts bytes as written, and takes them off `n`. Returns how many of them were of waiting frames.
    std::size_t advance(std::size_t& n) noexcept {
        std::size_t overtook = 0;
        const auto count = [&n](auto& done, std::uint64_t end) {
            const std::uint64_t some = std::min<std::uint64_t>(n, end - done);
            done += static_cast<std::size_t>(some);
            n -= static_cast<std::size_t>(some);
        };
        while (n != 0 && !is_gone()) {
            if (payload_is_gone()) {
                count(tail_done_, tail_bytes_);
            } else if (!is_gap(done_, bytes_) || gap_is_over_) {
                count(done_, part_end(done_, bytes_));
                gap_is_over_ = false;
            } else {
                count(gap_sent_, gap_.size());
                const std::size_t before = overtook;
                count(overtook, before + overtaking_);
                overtaking_ -= overtook - before;
                if (gap_sent_ == gap_.size() && overtaking_ == 0) end_gap();
            }
        }
        return overtook;
    }

private:
    void end_gap() noexcept {
        gap_is_over_ = true;
        gap_sent_ = overtaking_ = 0;
    }
    void add_payload(io_vectors<const std::byte>& out, std::uint64_t at, std::uint64_t end) const noexcept {
        static constexpr std::array<std::byte, 16384> zeros{};
        if (data_ != nullptr) return out.add({data_ + at, static_cast<std::size_t>(end - at)});
        for (; at != end && !out.full(); at += std::min<std::uint64_t>(end - at, zeros.size()))
            out.add(std::span(zeros).first(static_cast<std::size_t>(std::min<std::uint64_t>(end - at, zeros.size()))));
        if (at != end) out.close();
    }

    const std::byte* data_ = nullptr; // null: zeros
    std::uint64_t bytes_ = 0, done_ = 0;
    std::array<std::byte, most_tail_bytes> tail_{};
    std::size_t tail_bytes_ = 0, tail_done_ = 0;
    gap_header gap_{};           // the next one, or the one that goes out
    std::size_t gap_sent_ = 0;   // of its header
    std::size_t overtaking_ = 0; // bytes of its frames that are still here
    bool gap_is_over_ = false;   // the one behind done_
};

} // namespace bough::detail

#endif
