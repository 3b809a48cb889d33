// SPDX-License-Identifier: BSL-1.0
// protocol: the ways in which the bytes of a message go from one rank to another. The choice of an
// algorithm is printed with those of its messages (bough/select/ways.hpp).
//
//   link.way_of(peer, 4096, false)      of a transport that SaysWays: protocol::copied
//   way_text(protocol::copied)          "copied"
#ifndef BOUGH_CONCEPTS_PROTOCOL_HPP
#define BOUGH_CONCEPTS_PROTOCOL_HPP

#include <bough/core/config.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

enum class protocol : std::uint8_t {
    in_line, // in the cache lines that also hold its envelope
    // Its sender copies it to where the transport keeps messages; the receiver uses it from there.
    copied,
    in_place,     // it stays with its sender, and is combined where it lies
    direct,       // it stays with its sender, and the receiver reads it from the sender's memory
    staged,       // it stays with its sender, who passes it on piece by piece
    remote_write, // it stays with its sender, who writes it to its place in the receiver's memory
    late_place,   // there is no message: each rank leaves its data for the ranks that come later
};

// "copied", "read directly".
constexpr const char* way_text(protocol p) noexcept {
    switch (p) {
    case protocol::in_line: return "in the line of the envelope";
    case protocol::copied: return "copied";
    case protocol::in_place: return "in place";
    case protocol::direct: return "read directly";
    case protocol::staged: return "staged";
    case protocol::remote_write: return "written to its place";
    case protocol::late_place: return "left for late ranks";
    }
    return "unknown";
}

} // namespace bough

#endif
