// SPDX-License-Identifier: BSL-1.0
// The layout of a region that carries messages by remote writes. This is arithmetic only, with the
// same result on all ranks of a group.
//
//   greetings (2 words a rank) | lane of rank 0 | lane of rank 1 | ... (none of its own) | heap
//   lane of s: credit | wants | stops | states | 2 blocks for pieces | blocks
//
// Only rank s writes into the lane of s. A block is filled so that its contents end where the block
// ends:
//
//   | ...unused... | payload | envelope | [digest] | word: length, sequence |   end of the block
//
// So payload and sequence are one write, and the sequence, at which the receiver looks, always lies
// at the same place. There is a digest where bytes do not land in order. A word has the sequence or
// ticket in its upper half and the rest in its lower half. Behind a single word there is room for a
// check, which is used where its bytes may land one by one.
#ifndef BOUGH_TRANSPORT_ONE_SIDED_LAYOUT_HPP
#define BOUGH_TRANSPORT_ONE_SIDED_LAYOUT_HPP

#include <bough/concepts/protocol.hpp>
#include <bough/concepts/remote_write_transport.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace bough::inline BOUGH_ABI {

struct one_sided_options {
    std::uint32_t blocks = 16; // for messages from one rank to another; a power of two, 1 to 64
    // The payload that a block can hold, at most 16 MiB. 0: 16 KiB; with more than 16 ranks less,
    // so that the payloads of all blocks of a region take at most 4 MiB up to 1024 ranks. Tails and
    // rounding to whole cache lines are not counted in this.
    std::uint32_t block_bytes = 0;
    // Of the two blocks through which longer messages come; 0: as block_bytes.
    std::uint32_t piece_bytes = 0;
    // Longer payloads wait until their receiver says where they go. At most block_bytes; 0:
    // block_bytes. May differ between ranks.
    std::uint32_t static_bytes = 0;
    // When a payload of at least this many bytes is taken, its memory is exposed for that time, if
    // the transport can do it. Then the payload lands there directly; shorter ones come in pieces.
    // 0: never. May differ between ranks.
    std::uint64_t expose_bytes = 1;
};

namespace detail {

// Which way a message goes. `lands`: its receiver exposes the place where it belongs.
constexpr protocol one_sided_way(std::uint64_t bytes, std::uint32_t static_bytes, bool lands) noexcept {
    if (bytes <= static_bytes) return protocol::copied;
    return lands ? protocol::remote_write : protocol::staged;
}

template <bool Ordered>
struct one_sided_tail { // what follows the payload in a block
    bough::envelope envelope{};
    std::uint64_t word = 0;
};
template <>
struct one_sided_tail<false> {
    bough::envelope envelope{};
    std::uint64_t digest = 0;
    std::uint64_t word = 0;
};
static_assert(sizeof(one_sided_tail<true>) == 40 && sizeof(one_sided_tail<false>) == 48);

// The payload of a block that stands for a long message.
struct one_sided_announcement {
    std::uint64_t bytes = 0;
    std::uint32_t ticket = 0, unused = 0;
};
// Where a receiver wants the payload of a long message.
struct one_sided_want {
    exposure to{}; // without a key: a place in the receiver's region
    std::uint64_t digest = 0;
    std::uint64_t word = 0; // ticket, want_kind
};
static_assert(sizeof(one_sided_want) == 32);
namespace want_kind {
inline constexpr std::uint32_t unread = 1; // the receiver does not need the message
inline constexpr std::uint32_t pieces = 2; // the message is to come through the two blocks
inline constexpr std::uint32_t direct = 3; // the message is to be put at `to`
} // namespace want_kind
namespace lent_state {
inline constexpr std::uint32_t landed = 1;     // the whole message lies where it was wanted
inline constexpr std::uint32_t taken_back = 2; // no more of the message will come
} // namespace lent_state

// A single word: a greeting, a credit, a stop or a state.
struct one_sided_said {
    std::uint64_t word = 0, check = 0;
};

constexpr std::uint64_t make_word(std::uint32_t upper, std::uint32_t lower) noexcept {
    return std::uint64_t{upper} << 32 | lower;
}
constexpr std::uint32_t upper(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(word >> 32); }
constexpr std::uint32_t lower(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(word); }

constexpr std::uint64_t mixed_in(std::uint64_t h, std::uint64_t x) noexcept {
    h = (h ^ x) * 0x9fb2'1c65'1e98'df25u;
    return h ^ h >> 29;
}
// A digest of what must have landed together. It detects bytes that have not landed yet; it is no
// protection against forgery.
inline std::uint64_t digest_of(std::span<const std::byte> bytes, const envelope& tag, std::uint64_t word) noexcept {
    struct words {
        std::uint64_t at[4];
    };
    std::uint64_t h = mixed_in(0x243f'6a88'85a3'08d3u, word);
    for (const std::uint64_t x : std::bit_cast<words>(tag).at) h = mixed_in(h, x);
    if (bytes.size() >= sizeof(words)) { // four independent chains, which a processor computes in parallel
        words chain{{h, ~h, h << 1, ~(h << 1)}};
        for (; bytes.size() >= sizeof(words); bytes = bytes.subspan(sizeof(words))) {
            words x;
            std::memcpy(&x, bytes.data(), sizeof x);
            for (int i = 0; i != 4; ++i) chain.at[i] = mixed_in(chain.at[i], x.at[i]);
        }
        for (const std::uint64_t x : chain.at) h = mixed_in(h, x);
    }
    for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
        std::uint64_t x = 0;
        std::memcpy(&x, bytes.data(), 8);
        h = mixed_in(h, x);
    }
    std::uint64_t rest = 0;
    if (!bytes.empty()) std::memcpy(&rest, bytes.data(), bytes.size());
    h = mixed_in(h, rest);
    return h ^ h >> 32;
}
constexpr std::uint64_t digest_of(std::uint64_t place, std::uint64_t word) noexcept {
    return mixed_in(mixed_in(0x1319'8a2e'0370'7344u, place), word);
}
constexpr std::uint64_t digest_of(const exposure& to, std::uint64_t word) noexcept {
    return mixed_in(digest_of(to.place, word), to.key);
}

constexpr one_sided_said said(std::uint64_t word) noexcept { return {word, digest_of(0, word)}; }

struct one_sided_layout {
    rank_t ranks = 1;
    std::uint32_t blocks, block_bytes, piece_bytes;

    static constexpr std::uint32_t pieces = 2;
    static constexpr std::uint32_t most_block_bytes = 1u << 24;

    constexpr one_sided_layout(rank_t p, const one_sided_options& o) noexcept
        : ranks(p), blocks(o.blocks), block_bytes(o.block_bytes), piece_bytes(o.piece_bytes) {
        if (block_bytes == 0) {
            block_bytes = 16384;
            const std::uint32_t share = (4u << 20) / (p < 1024u ? p : 1024u) / (blocks == 0 ? 1 : blocks);
            if (p > 16 && share < block_bytes) block_bytes = share;
        }
        if (piece_bytes == 0) piece_bytes = block_bytes;
    }

    static constexpr std::uint64_t lines(std::uint64_t bytes) noexcept { return (bytes + 63) / 64 * 64; }
    // An odd number of cache lines, so that the ends of the blocks do not all fall into the same
    // set of the cache.
    static constexpr std::uint64_t stride_of(std::uint32_t payload) noexcept {
        return lines(payload + sizeof(one_sided_tail<false>)) | 64;
    }
    constexpr std::uint64_t stride() const noexcept { return stride_of(block_bytes); }
    constexpr std::uint64_t piece_stride() const noexcept { return stride_of(piece_bytes); }

    static constexpr std::uint64_t greeting_of(rank_t sender) noexcept { return sizeof(one_sided_said) * sender; }
    // Where the lane lies in which `sender` writes in the region of `owner`. Pre: sender != owner.
    constexpr std::uint64_t lane(rank_t sender, rank_t owner) const noexcept {
        return lines(greeting_of(ranks)) + lane_bytes() * (sender < owner ? sender : sender - 1);
    }
    static constexpr std::uint64_t want_at(std::uint32_t i) noexcept { return 64 + sizeof(one_sided_want) * i; }
    constexpr std::uint64_t stop_at(std::uint32_t i) const noexcept {
        return want_at(blocks) + sizeof(one_sided_said) * i;
    }
    constexpr std::uint64_t state_at(std::uint32_t i) const noexcept {
        return stop_at(blocks) + sizeof(one_sided_said) * i;
    }
    // Where blocks end; the tail of a block lies right before its end.
    constexpr std::uint64_t piece_end(std::uint32_t i) const noexcept {
        return lines(state_at(blocks)) + piece_stride() * (i + 1);
    }
    constexpr std::uint64_t block_end(std::uint32_t i) const noexcept {
        return piece_end(pieces - 1) + stride() * (i + 1);
    }
    constexpr std::uint64_t lane_bytes() const noexcept { return block_end(blocks - 1); }
    constexpr std::uint64_t bytes() const noexcept { return lines(greeting_of(ranks)) + lane_bytes() * (ranks - 1); }
    // A number that is not 0 and is equal for ranks that understand each other.
    constexpr std::uint64_t greeting(std::uint32_t protocol) const noexcept {
        std::uint64_t h = mixed_in(0x626f'7567'6831'0004u, make_word(protocol, ranks));
        h = mixed_in(h, make_word(blocks, block_bytes));
        return mixed_in(h, piece_bytes) | 1;
    }
};

} // namespace detail

// How many bytes of each rank's region the lanes take. The rest of the region is a heap
// (one_sided::allocate).
constexpr std::uint64_t one_sided_bytes(rank_t ranks, const one_sided_options& options = {}) noexcept {
    return detail::one_sided_layout(ranks, options).bytes();
}

} // namespace bough

#endif
