// SPDX-License-Identifier: BSL-1.0
// The versions of all formats in which bough's programs talk to each other, and in which they write
// files: this is the one place that states them. doc/versions.md says what may meet what.
//
// Whoever changes what a format means adds one to its version here. Ranks compare their versions when
// they join, so two builds that would misunderstand each other get an error that says so.
#ifndef BOUGH_CORE_FORMATS_HPP
#define BOUGH_CORE_FORMATS_HPP

#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

// What ranks have to agree on.
enum class wire_format : std::uint8_t {
    machine,       // how bytes lie in memory: no version, but what the compiler was told
    joining,       // what ranks say while they join (transport/join_room.hpp)
    session,       // envelopes, signatures and control messages (session/)
    plans,         // which steps the name of an algorithm stands for (identity_of, schedule/claims.hpp)
    tcp,           // handshake and frames (transport/tcp/), also those of tcp_tls
    shared_memory, // segments (transport/segment/, transport/shared_memory/), also of remote/shared_memory.hpp
    mpi,           // frames over MPI (transport/mpi/)
    rdma,          // cards, frames and writes of fabric and verbs (transport/rdma/)
    meeting,       // what is said where a group grows (launch/detail/meeting_protocol.hpp)
};

namespace formats {

// Between ranks; each is 1 to 255.
inline constexpr std::uint8_t joining = 2;
inline constexpr std::uint8_t session = 9;
inline constexpr std::uint8_t plans = 4;
inline constexpr std::uint8_t tcp = 5;
inline constexpr std::uint8_t shared_memory = 5;
inline constexpr std::uint8_t mpi = 1;
inline constexpr std::uint8_t rdma = 4;
inline constexpr std::uint8_t meeting = 2;
// Of one_sided over remote writes. Its ranks compare these in a greeting of their own.
inline constexpr std::uint8_t credited_blocks = 3;
inline constexpr std::uint8_t notified_blocks = 4;
// Between ranks and their launcher (launch/).
inline constexpr std::uint8_t launcher = 1;
inline constexpr std::uint8_t environment = 2;
// Of files.
inline constexpr std::uint32_t recording = 1;
inline constexpr std::uint32_t trace = 1;
inline constexpr std::uint8_t nic_program = 2;

} // namespace formats

namespace detail {

// The last byte of text that begins what the launchers and their ranks say.
constexpr std::uint64_t format_digit(std::uint8_t version) noexcept { return '0' + std::uint64_t{version}; }

// How integers lie in memory: bits 0 to 3 the bytes of a pointer, 4 to 6 the alignment of 8 bytes as
// a power of two, 7 whether the low byte comes first.
inline constexpr std::uint8_t machine_format =
    static_cast<std::uint8_t>(sizeof(void*) | static_cast<std::size_t>(std::countr_zero(alignof(std::uint64_t))) << 4 |
                              (std::endian::native == std::endian::little ? 0x80u : 0u));

constexpr std::uint8_t version_of(wire_format f) noexcept {
    switch (f) {
    case wire_format::machine: return machine_format;
    case wire_format::joining: return formats::joining;
    case wire_format::session: return formats::session;
    case wire_format::plans: return formats::plans;
    case wire_format::tcp: return formats::tcp;
    case wire_format::shared_memory: return formats::shared_memory;
    case wire_format::mpi: return formats::mpi;
    case wire_format::rdma: return formats::rdma;
    case wire_format::meeting: return formats::meeting;
    }
    return 0;
}

// What a rank says first of all when it joins, to be understood by every build, older or newer. So
// these 12 bytes never change their meaning: a mark; machine, joining, session, plans; the number of
// what is joined, and its version; zeros.
using build_card = std::array<std::uint8_t, 12>;

// `joins`: a transport; joining: nothing that has a format of its own.
constexpr build_card build_card_of(wire_format joins) noexcept {
    return {'b',
            'o',
            'u',
            'g',
            machine_format,
            formats::joining,
            formats::session,
            formats::plans,
            static_cast<std::uint8_t>(joins),
            version_of(joins)};
}
// `mine` and `theirs`: the number of a format << 8 | its version.
constexpr status version_mismatch(std::uint64_t mine, std::uint64_t theirs, rank_t peer) noexcept {
    return {.code = errc::protocol_error, .mismatch = mismatch::version, .peer = peer, .mine = mine, .theirs = theirs};
}
// May a rank that has said `mine` talk to rank `peer`, which has said `theirs`? Otherwise a
// protocol_error that names the rank, and as `mine` and `theirs` both versions of the first format
// that differs: its number << 8 | its version.
constexpr status compare_builds(const build_card& mine, const build_card& theirs, rank_t peer) noexcept {
    const auto differs = [peer](unsigned a, unsigned b) { return version_mismatch(a, b, peer); };
    for (std::size_t i = 0; i != 4; ++i)
        if (mine[i] != theirs[i]) return {.code = errc::protocol_error, .peer = peer}; // it is not bough
    for (unsigned f = 0; f != 4; ++f)
        if (mine[4 + f] != theirs[4 + f]) return differs(f << 8 | mine[4 + f], f << 8 | theirs[4 + f]);
    if (mine[8] == theirs[8] && mine[9] == theirs[9]) return {};
    return differs(unsigned{mine[8]} << 8 | mine[9], unsigned{theirs[8]} << 8 | theirs[9]);
}

} // namespace detail
} // namespace bough

#endif
