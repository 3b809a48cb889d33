// SPDX-License-Identifier: BSL-1.0
// Which way a message between processes goes. Sender and receiver each know a part: the sender, whether
// the message goes into the ring; the receiver, whether it reads what does not. `way_of` of the
// transport asks the same functions.
#ifndef BOUGH_TRANSPORT_SHARED_MEMORY_WAYS_HPP
#define BOUGH_TRANSPORT_SHARED_MEMORY_WAYS_HPP

#include <bough/concepts/protocol.hpp>
#include <bough/transport/slots.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

// The sender's part. `staged`: the message stays with its sender, who would pass it on in pieces.
constexpr protocol sent_way(std::uint64_t bytes, std::uint32_t eager_bytes) noexcept {
    if (bytes > eager_bytes) return protocol::staged;
    return bytes <= short_bytes ? protocol::in_line : protocol::copied;
}
// The receiver's part, for a message that stays in its sender's private memory.
constexpr protocol taken_way(std::uint64_t bytes, bool reads_it, std::uint64_t direct_from) noexcept {
    return reads_it && bytes >= direct_from ? protocol::direct : protocol::staged;
}
constexpr protocol shared_way(std::uint64_t bytes, std::uint32_t eager_bytes, bool reads_it,
                              std::uint64_t direct_from) noexcept {
    const protocol sent = sent_way(bytes, eager_bytes);
    return sent == protocol::staged ? taken_way(bytes, reads_it, direct_from) : sent;
}

} // namespace bough::detail

#endif
