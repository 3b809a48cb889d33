// SPDX-License-Identifier: BSL-1.0
// tls_records: how much plaintext can still be read from a TLS 1.3 connection if nothing more
// comes. The socket cannot tell, because TLS and Asio hold records and parts of records. So this
// class counts by the headers of the records.
//
//   records.begin(16);                         // the handshake is over; 16: bytes of a tag
//   records.came(bytes);                       // what was read off the socket, in order
//   records.read(n);                           // so many bytes of plaintext were read
//   records.readable(at_socket)                // bytes of plaintext, at the most
//
// The answer is never too small. It is exact for the records that were read off the socket, but
// counts TLS's own messages, which are few and short, as plaintext. Records still at the socket
// count as full ones; each that is not full makes the answer 22 bytes too large. Nothing is
// decrypted. (RFC 8446, section 5.2: a record is a header of 5 bytes, plaintext of at most 2^14
// bytes, a byte for its type, and a tag.)
#ifndef BOUGH_TRANSPORT_TCP_TLS_RECORDS_HPP
#define BOUGH_TRANSPORT_TCP_TLS_RECORDS_HPP

#include <bough/core/config.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

class tls_records {
public:
    static constexpr std::size_t header_bytes = 5, most_plain = std::size_t{1} << 14;

    // Called when the handshake is over: from here on all bytes off the socket belong to encrypted
    // records, and no part of an earlier record is left.
    constexpr void begin(std::size_t tag_bytes) noexcept {
        sealed_ = 1 + tag_bytes;
        whole_ = 0;
    }
    constexpr void came(std::span<const std::byte> bytes) noexcept {
        while (!bytes.empty()) {
            if (got_ != header_bytes) {
                header_[got_++] = bytes.front();
                bytes = bytes.subspan(1);
                if (got_ == header_bytes) left_ = length();
            } else {
                const std::size_t some = std::min(left_, bytes.size());
                left_ -= some;
                bytes = bytes.subspan(some);
            }
            if (got_ != header_bytes || left_ != 0) continue;
            whole_ += plain();
            got_ = 0;
        }
    }
    constexpr void read(std::uint64_t plain) noexcept { whole_ -= std::min(whole_, plain); }
    // TLS has said that no whole record is left.
    constexpr void all_read() noexcept { whole_ = 0; }

    constexpr std::uint64_t readable(std::uint64_t at_socket) const noexcept {
        std::uint64_t sum = whole_;
        if (got_ == header_bytes) {
            if (at_socket < left_) return sum; // the last record will never be whole
            sum += plain();
            at_socket -= left_;
        } else {
            at_socket += got_;
        }
        const std::uint64_t extra = header_bytes + sealed_, last = at_socket % (most_plain + extra);
        return sum + at_socket / (most_plain + extra) * most_plain + (last > extra ? last - extra : 0);
    }

private:
    // The record whose header is here: how many bytes follow the header, and how many of them are
    // plaintext.
    constexpr std::size_t length() const noexcept {
        return std::to_integer<std::size_t>(header_[3]) << 8 | std::to_integer<std::size_t>(header_[4]);
    }
    constexpr std::uint64_t plain() const noexcept { return length() > sealed_ ? length() - sealed_ : 0; }

    std::array<std::byte, header_bytes> header_{};
    std::size_t got_ = 0;     // bytes of header_
    std::size_t left_ = 0;    // bytes of the record behind header_ that have not come
    std::size_t sealed_ = 17; // what a record has besides its header and its plaintext
    std::uint64_t whole_ = 0; // plaintext of the records that have come whole, and is not read yet
};

} // namespace bough::detail

#endif
