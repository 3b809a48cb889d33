// SPDX-License-Identifier: BSL-1.0
// A stream for tests: what one end writes, the other one reads, as many bytes as the test allows.
#ifndef BOUGH_TEST_TRANSPORT_TCP_PIPE_HPP
#define BOUGH_TEST_TRANSPORT_TCP_PIPE_HPP

#include <bough/transport/tcp/stream.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace bough_test {

struct tcp_pipe {
    std::vector<std::byte> bytes{}; // those from `from` on have not been read
    std::size_t from = 0;
    std::size_t room = ~std::size_t{0};     // bytes that may still be written
    std::size_t may_read = ~std::size_t{0}; // bytes that may still be read
    bool closed = false;                    // behind `bytes` comes the end
    int writes = 0;
    int descriptor = -1;

    bough::detail::io_result write(const bough::detail::io_vectors<const std::byte>& out, std::size_t& n) {
        n = 0;
        ++writes;
        for (const auto& piece : out) {
            const std::size_t some = std::min(piece.size(), room);
            const auto* data = static_cast<const std::byte*>(piece.data());
            bytes.insert(bytes.end(), data, data + some);
            n += some;
            room -= some;
            if (some != piece.size()) break;
        }
        return n == 0 ? bough::detail::io_result::would_block : bough::detail::io_result::some;
    }
    bough::detail::io_result write(std::span<const std::byte> out, std::size_t& n) {
        bough::detail::io_vectors<const std::byte> one;
        one.add(out);
        return write(one, n);
    }
    bough::detail::io_result read(const bough::detail::io_vectors<std::byte>& into, std::size_t& n) {
        n = 0;
        for (const auto& piece : into) {
            const std::size_t some = std::min({piece.size(), bytes.size() - from, may_read});
            if (some != 0) std::memcpy(piece.data(), bytes.data() + from, some);
            n += some;
            from += some;
            may_read -= some;
            if (some != piece.size()) break;
        }
        if (n != 0) return bough::detail::io_result::some;
        return closed && may_read != 0 && coming() == 0 ? bough::detail::io_result::closed
                                                        : bough::detail::io_result::would_block;
    }
    bough::detail::io_result read(std::span<std::byte> into, std::size_t& n) {
        bough::detail::io_vectors<std::byte> one;
        one.add(into);
        return read(one, n);
    }
    std::uint64_t coming() const { return bytes.size() - from; }
    struct socket_of_it {
        int descriptor;
        int native_handle() const { return descriptor; }
    };
    socket_of_it socket() const { return {descriptor}; }
};

} // namespace bough_test

#endif
