// SPDX-License-Identifier: BSL-1.0
// Writes a NIC program as bytes, and reads it back, perhaps on another machine. The bytes are
// little endian, versioned and checksummed.
//
//   std::array<std::uint8_t, nic::encoded_bytes(program.head)> bytes;
//   nic::encode(program, bytes);
//   nic::fixed_program<limits> copy;
//   if (nic::decode(bytes, copy) != nic::table_fault::none) ...
//
// These functions take spans. bough/nic/wire.hpp has the same on pointers, for a NIC without any
// library, and says what the bytes are.
#ifndef BOUGH_NIC_PROGRAM_HPP
#define BOUGH_NIC_PROGRAM_HPP

#include <bough/core/contract.hpp>
#include <bough/core/formats.hpp>
#include <bough/nic/wire.hpp>

#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::nic {

static_assert(program_version == formats::nic_program); // machine.hpp includes nothing, so it states it, too

// Pre: bytes.size() == encoded_bytes(p.head).
template <class Program>
constexpr void encode(const Program& p, std::span<std::uint8_t> bytes) {
    BOUGH_EXPECTS(bytes.size() == encoded_bytes(p.head), "bytes: encoded_bytes(program.head) of them are needed");
    encode(p, bytes.data());
}

// Reads a program. `make_room(head)` gives p's arrays their sizes, and returns false if it cannot.
// Use `p` only if the answer is none.
template <class Program, class MakeRoom>
constexpr table_fault decode(std::span<const std::uint8_t> bytes, Program& p, MakeRoom&& make_room) {
    return decode(bytes.data(), bytes.size(), p, make_room);
}
template <limits L>
constexpr table_fault decode(std::span<const std::uint8_t> bytes, fixed_program<L>& p) {
    return decode(bytes.data(), bytes.size(), p);
}

} // namespace bough::nic

#endif
