// SPDX-License-Identifier: BSL-1.0
// tcp_stream: a connected socket that never blocks. It is a thin layer over Asio's, with
// scatter/gather lists of fixed room.
#ifndef BOUGH_TRANSPORT_TCP_STREAM_HPP
#define BOUGH_TRANSPORT_TCP_STREAM_HPP

#include <bough/core/config.hpp>
#include <bough/os/asio_config.hpp>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

enum class io_result : std::uint8_t {
    some,        // at least one byte
    would_block, // none now
    closed,      // none ever: the peer has ended, or the connection is broken
};

// Up to 16 pieces of memory; a buffer sequence for Asio.
template <class Byte>
class io_vectors {
public:
    using value_type =
        std::conditional_t<std::is_const_v<Byte>, boost::asio::const_buffer, boost::asio::mutable_buffer>;
    using const_iterator = const value_type*;

    const_iterator begin() const noexcept { return pieces_.data(); }
    const_iterator end() const noexcept { return pieces_.data() + count_; }
    std::size_t bytes() const noexcept { return bytes_; }
    bool full() const noexcept { return closed_ || count_ == pieces_.size(); }
    void close() noexcept { closed_ = true; }
    void add(std::span<Byte> piece) noexcept {
        if (piece.empty() || closed_) return;
        if (count_ == pieces_.size()) return close(); // no later piece may follow the one that is left out
        pieces_[count_++] = value_type(piece.data(), piece.size());
        bytes_ += piece.size();
    }

private:
    std::array<value_type, 16> pieces_;
    std::size_t count_ = 0, bytes_ = 0;
    bool closed_ = false;
};

class tcp_stream {
public:
    // For any stream protocol, and without the indirection of a polymorphic executor.
    using socket_type =
        boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol, boost::asio::io_context::executor_type>;

    explicit tcp_stream(socket_type&& socket) : socket_(std::move(socket)) {}
    socket_type& socket() noexcept { return socket_; }

    // Pre of these four: the buffers are not empty. `n`: how many bytes were moved.
    io_result write(const io_vectors<const std::byte>& from, std::size_t& n) {
        boost::system::error_code error;
        n = socket_.send(from, 0, error);
        ++calls_;
        return result_of(error);
    }
    io_result write(std::span<const std::byte> from, std::size_t& n) {
        boost::system::error_code error;
        n = socket_.send(boost::asio::const_buffer(from.data(), from.size()), 0, error);
        ++calls_;
        return result_of(error);
    }
    io_result read(const io_vectors<std::byte>& into, std::size_t& n) {
        boost::system::error_code error;
        n = socket_.receive(into, 0, error);
        ++calls_;
        return result_of(error);
    }
    io_result read(std::span<std::byte> into, std::size_t& n) {
        boost::system::error_code error;
        n = socket_.receive(boost::asio::mutable_buffer(into.data(), into.size()), 0, error);
        ++calls_;
        return result_of(error);
    }
    // How many bytes can still be read if nothing more comes. A stream that does not know says too
    // many, never too few.
    std::uint64_t coming() { return at_socket(socket_); }
    // The same for a socket. If it is not known: more than any message has, but so few that sums
    // with it do not overflow.
    static std::uint64_t at_socket(const socket_type& socket) {
        boost::system::error_code error;
        const std::size_t bytes = socket.available(error);
        return error ? ~std::uint64_t{0} >> 1 : bytes;
    }
    // Does the stream hold bytes that write() took and the kernel has not taken? This one never
    // does.
    static constexpr bool holds() noexcept { return false; }
    static void push() noexcept {}
    // The bytes that write() took, and those of them that the kernel took. Nobody asks a stream
    // that never holds any.
    static constexpr std::uint64_t written() noexcept { return 0; }
    static constexpr std::uint64_t pushed() noexcept { return 0; }
    // System calls that moved data, or tried to.
    std::uint64_t calls() const noexcept { return calls_; }

private:
    static io_result result_of(const boost::system::error_code& error) noexcept {
        if (!error) return io_result::some;
        const bool later = error == boost::asio::error::would_block || error == boost::asio::error::try_again ||
                           error == boost::asio::error::interrupted || error == boost::asio::error::no_buffer_space ||
                           error == boost::asio::error::no_memory;
        return later ? io_result::would_block : io_result::closed;
    }

    socket_type socket_;
    std::uint64_t calls_ = 0;
};

} // namespace bough::detail

#endif
