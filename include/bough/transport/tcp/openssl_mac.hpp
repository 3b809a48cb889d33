// SPDX-License-Identifier: BSL-1.0
// openssl_mac: the Mac of bough::tcp, by OpenSSL's libcrypto (1.1.1 or newer).
#ifndef BOUGH_TRANSPORT_TCP_OPENSSL_MAC_HPP
#define BOUGH_TRANSPORT_TCP_OPENSSL_MAC_HPP

#include <bough/transport/tcp/mac.hpp>

#include <cstddef>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <span>

namespace bough::inline BOUGH_ABI {

struct openssl_mac {
    static bool authenticate(std::span<const std::byte, mac_bytes> key, std::span<const std::byte> text,
                             std::span<std::byte, mac_bytes> tag) {
        unsigned length = 0;
        const unsigned char* made = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                                         reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                                         reinterpret_cast<unsigned char*>(tag.data()), &length);
        return made != nullptr && length == mac_bytes;
    }
    static bool random(std::span<std::byte> bytes) {
        return RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size())) == 1;
    }
    static bool equal(std::span<const std::byte, mac_bytes> a, std::span<const std::byte, mac_bytes> b) {
        return CRYPTO_memcmp(a.data(), b.data(), mac_bytes) == 0;
    }
    static void wipe(std::span<std::byte> bytes) { OPENSSL_cleanse(bytes.data(), bytes.size()); }
};
static_assert(Mac<openssl_mac>);

} // namespace bough

#endif
