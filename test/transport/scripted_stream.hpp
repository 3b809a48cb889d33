// SPDX-License-Identifier: BSL-1.0
// A stream whose bytes the test provides: what came, and whether it has ended.
#ifndef BOUGH_TEST_TRANSPORT_SCRIPTED_STREAM_HPP
#define BOUGH_TEST_TRANSPORT_SCRIPTED_STREAM_HPP

#include <bough/transport/tcp/stream.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace bough_test {

struct scripted_stream {
    std::vector<std::byte> bytes{}; // that can be read
    bool closed = false;
    int descriptor = -1;

    void add(const std::string& text) {
        for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
    }
    bough::detail::io_result read(std::span<std::byte> into, std::size_t& n) {
        n = std::min(into.size(), bytes.size());
        if (n == 0) return closed ? bough::detail::io_result::closed : bough::detail::io_result::would_block;
        std::memcpy(into.data(), bytes.data(), n);
        bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
        return bough::detail::io_result::some;
    }
    bough::detail::io_result read(const bough::detail::io_vectors<std::byte>& into, std::size_t& n) {
        std::size_t all = 0;
        bough::detail::io_result how = bough::detail::io_result::would_block;
        for (const auto& piece : into) {
            const auto one = read(std::span(static_cast<std::byte*>(piece.data()), piece.size()), n);
            if (all == 0) how = one;
            all += n;
            if (n != piece.size()) break;
        }
        n = all;
        return how;
    }
    std::uint64_t coming() const { return bytes.size(); }
    struct socket_of_it {
        int descriptor;
        int native_handle() const { return descriptor; }
    };
    socket_of_it socket() const { return {descriptor}; }
};

} // namespace bough_test

#endif
