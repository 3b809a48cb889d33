// SPDX-License-Identifier: BSL-1.0
// Mac: the cryptography that a handshake needs, from whichever library is at hand (openssl_mac.hpp
// has OpenSSL's).
//
// Valid expressions on a Mac `M`; all are static:
//   M::authenticate(key, text, tag)  -> bool    HMAC-SHA256 of `text` under the 32-byte key; false: it could not be made
//   M::random(bytes)                 -> bool    unpredictable bytes; false: there are none
//   M::equal(a, b)                   -> bool    takes a time that does not depend on where they differ
//   M::wipe(bytes)                              overwrites them, and the optimiser cannot leave that out
#ifndef BOUGH_TRANSPORT_TCP_MAC_HPP
#define BOUGH_TRANSPORT_TCP_MAC_HPP

#include <bough/core/config.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <span>

namespace bough::inline BOUGH_ABI {

// Bytes of a key, and of a tag.
inline constexpr std::size_t mac_bytes = 32;

template <class M>
concept Mac = requires(std::span<const std::byte, mac_bytes> key, std::span<const std::byte> text,
                       std::span<std::byte, mac_bytes> tag, std::span<const std::byte, mac_bytes> other,
                       std::span<std::byte> bytes) {
    { M::authenticate(key, text, tag) } -> std::same_as<bool>;
    { M::random(bytes) } -> std::same_as<bool>;
    { M::equal(other, other) } -> std::same_as<bool>;
    { M::wipe(bytes) } -> std::same_as<void>;
};

// The secret that the ranks of a job share: a process that knows it counts as one of them. The
// destructor overwrites it. All zeros mean that there is no key.
class job_key {
public:
    using bytes_type = std::array<std::byte, mac_bytes>;

    job_key() = default;
    explicit job_key(const bytes_type& bytes) noexcept : bytes_(bytes) {}
    job_key(const job_key&) = default;
    job_key& operator=(const job_key&) = default;
    ~job_key() { forget(); }

    std::span<const std::byte, mac_bytes> bytes() const noexcept { return bytes_; }
    std::span<std::byte, mac_bytes> bytes() noexcept { return bytes_; }
    // Takes a time that does not depend on the key.
    bool is_set() const noexcept {
        std::byte any{};
        for (const std::byte b : bytes_) any |= b;
        return any != std::byte{};
    }
    void forget() noexcept {
        for (volatile std::byte& b : bytes_) b = std::byte{};
    }

private:
    bytes_type bytes_{};
};

} // namespace bough

#endif
