// SPDX-License-Identifier: BSL-1.0
// The frames in which messages travel over a tcp connection. Frame headers are made and read only
// here: pure functions, constexpr, no allocation.
//
//   header   48 bytes, little endian: envelope 32 | length 8 | sequence 4 | kind 2 | zero 2
//   payload  `length` bytes of a message
//   tail     padding; after a long message also a verdict: the last byte says whether the message is whole
//
// The payload of a long message travels in parts of 256 KiB. Between two parts lies a gap:
//
//   gap      16 bytes, little endian: length 4 | zero 12; then `length` bytes of frames, none of them
//            a long message
//
// So short messages overtake a long one: they are announced behind its header, and come before its end.
//
// Frames are multiples of 16 bytes, so payloads that land in an aligned buffer are aligned there.
// The sequence counts the frames of one direction. So a frame that a bug loses, doubles or forges
// is a protocol error, never a wrong message.
#ifndef BOUGH_TRANSPORT_TCP_FRAME_HPP
#define BOUGH_TRANSPORT_TCP_FRAME_HPP

#include <bough/concepts/protocol.hpp>
#include <bough/concepts/transport.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

enum class frame_kind : std::uint16_t {
    message = 1, // short: it is received whole before it is announced
    // Above most_short_bytes. Its header announces it; its tail says whether its sender took it
    // back meanwhile.
    long_message = 2,
    nothing = 3, // stands for a message that was taken back before it left; no payload
    // The receiver has used up `bytes` of short frames, so as many may be sent again; no payload.
    credit = 4,
};

struct frame {
    envelope tag{};
    std::uint64_t bytes = 0; // of payload
    std::uint32_t sequence = 0;
    frame_kind kind = frame_kind::message;
    friend constexpr bool operator==(const frame&, const frame&) = default;
};

enum class frame_fault : std::uint8_t {
    none,
    kind,     // there is no such kind
    length,   // no frame of this kind has this length
    reserved, // a bit is set that has no meaning
    sequence, // it is not the next frame
};

inline constexpr std::size_t frame_header_bytes = 48;
inline constexpr std::size_t frame_alignment = 16;
inline constexpr std::uint64_t most_short_bytes = std::uint64_t{1} << 14; // most payload of a short message

// Which way a message goes: whole, into memory of its receiver; or a long one, which stays with its
// sender until the system has taken it bit by bit.
constexpr protocol tcp_way(std::uint64_t bytes) noexcept {
    return bytes > most_short_bytes ? protocol::staged : protocol::copied;
}
inline constexpr std::uint64_t most_frame_bytes = std::uint64_t{1} << 48; // most payload of any message
inline constexpr std::size_t most_tail_bytes = 2 * frame_alignment - 1;
inline constexpr std::uint64_t part_bytes = std::uint64_t{1} << 18;     // of the payload of a long message
inline constexpr std::uint64_t most_gap_bytes = std::uint64_t{1} << 20; // of frames in a gap
// The last byte of a long message's tail.
inline constexpr std::byte whole_message{0x57}, void_message{0x58};

// Bytes of payload behind a header.
constexpr std::uint64_t frame_payload_bytes(const frame& f) noexcept {
    return f.kind == frame_kind::credit ? 0 : f.bytes;
}
// Bytes after a payload. Pre: bytes <= most_frame_bytes.
constexpr std::size_t frame_tail_bytes(frame_kind kind, std::uint64_t bytes) noexcept {
    const auto padding = static_cast<std::size_t>((frame_alignment - bytes % frame_alignment) % frame_alignment);
    return padding + (kind == frame_kind::long_message ? frame_alignment : 0);
}

namespace wire_layout {

struct header {
    envelope tag;
    std::uint64_t bytes;
    std::uint32_t sequence;
    std::uint16_t kind;
    std::uint16_t zero;
};
static_assert(sizeof(header) == frame_header_bytes);

template <class U>
constexpr U little(U value) noexcept {
    if constexpr (std::endian::native == std::endian::little || sizeof(U) == 1) {
        return value;
    } else {
        U swapped = 0;
        for (std::size_t i = 0; i != sizeof(U); ++i)
            swapped = static_cast<U>(swapped << 8 | (value >> (8 * i) & U{0xff}));
        return swapped;
    }
}
// Converts between the machine's byte order and little endian, in both directions.
constexpr header little(header h) noexcept {
    envelope& e = h.tag;
    e.epoch = little(e.epoch);
    e.operation = little(e.operation);
    e.segment = little(e.segment);
    e.context = little(e.context);
    e.digest.hash = little(e.digest.hash);
    e.digest.op = little(e.digest.op);
    e.digest.type = little(e.digest.type);
    e.digest.plan = little(e.digest.plan);
    e.digest.count = little(e.digest.count);
    h.bytes = little(h.bytes);
    h.sequence = little(h.sequence);
    h.kind = little(h.kind);
    h.zero = little(h.zero);
    return h;
}

} // namespace wire_layout

// How much of its receiver's memory, and of its sender's credit, a short message of so many bytes
// takes.
constexpr std::uint64_t short_frame_bytes(std::uint64_t bytes) noexcept {
    return frame_header_bytes + bytes + frame_tail_bytes(frame_kind::message, bytes);
}

using frame_header = std::array<std::byte, frame_header_bytes>;

constexpr frame_header encode_frame(const frame& f) noexcept {
    return std::bit_cast<frame_header>(
        wire_layout::little(wire_layout::header{f.tag, f.bytes, f.sequence, static_cast<std::uint16_t>(f.kind), 0}));
}

// `f` is changed only if the header is right. `next`: the sequence number that is due.
constexpr frame_fault decode_frame(const frame_header& bytes, std::uint32_t next, frame& f) noexcept {
    const auto h = wire_layout::little(std::bit_cast<wire_layout::header>(bytes));
    if (h.kind < 1 || h.kind > 4) return frame_fault::kind;
    const auto kind = static_cast<frame_kind>(h.kind);
    const std::uint64_t most = kind == frame_kind::message   ? most_short_bytes
                               : kind == frame_kind::nothing ? 0
                                                             : most_frame_bytes;
    if (h.bytes > most || (kind == frame_kind::long_message && h.bytes <= most_short_bytes)) return frame_fault::length;
    if (h.zero != 0) return frame_fault::reserved;
    if (h.sequence != next) return frame_fault::sequence;
    f = {h.tag, h.bytes, h.sequence, kind};
    return frame_fault::none;
}

// Is there a gap behind so many bytes of a payload of `bytes`?
constexpr bool is_gap(std::uint64_t done, std::uint64_t bytes) noexcept {
    return done % part_bytes == 0 && done != 0 && done < bytes;
}
// The first byte behind `done` at which a part of the payload ends.
constexpr std::uint64_t part_end(std::uint64_t done, std::uint64_t bytes) noexcept {
    return bytes - done <= part_bytes - done % part_bytes ? bytes : done + (part_bytes - done % part_bytes);
}

// How many gaps a payload has.
constexpr std::uint64_t gaps_in(std::uint64_t bytes) noexcept { return bytes == 0 ? 0 : (bytes - 1) / part_bytes; }

using gap_header = std::array<std::byte, frame_alignment>;

constexpr gap_header encode_gap(std::uint32_t bytes) noexcept {
    return std::bit_cast<gap_header>(std::array<std::uint32_t, 4>{wire_layout::little(bytes), 0, 0, 0});
}
// False: no gap has this header.
constexpr bool decode_gap(const gap_header& header, std::uint64_t& bytes) noexcept {
    const auto words = std::bit_cast<std::array<std::uint32_t, 4>>(header);
    bytes = wire_layout::little(words[0]);
    return (words[1] | words[2] | words[3]) == 0 && bytes <= most_gap_bytes && bytes % frame_alignment == 0;
}

} // namespace bough::detail

#endif
