// SPDX-License-Identifier: BSL-1.0
// tls_channel, the channel of bough::tcp_tls: TLS 1.3 by Boost.Asio and OpenSSL, with certificates
// on both sides.
//
// Asio's synchronous TLS stream writes to the layer below until all of a record is gone. Here that
// layer, tls_wire, is a buffer that takes every record and sends what the socket takes. So nothing
// blocks, and no record is torn.
#ifndef BOUGH_TRANSPORT_TCP_TLS_CHANNEL_HPP
#define BOUGH_TRANSPORT_TCP_TLS_CHANNEL_HPP

#include <bough/core/ignore_exceptions.hpp>
#include <bough/core/status.hpp>
#include <bough/os/asio_config.hpp>
#include <bough/transport/tcp/mac.hpp>
#include <bough/transport/tcp/options.hpp>
#include <bough/transport/tcp/sockets.hpp>
#include <bough/transport/tcp/stream.hpp>
#include <bough/transport/tcp/tls_records.hpp>
#include <bough/transport/tcp/tls_settings.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <openssl/ssl.h>
#include <span>
#include <sys/socket.h>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// The layer below TLS: the socket, and a buffer for records that it does not take yet.
class tls_wire {
public:
    using executor_type = boost::asio::io_context::executor_type;
    using lowest_layer_type = tls_wire;

    tls_wire(boost::asio::io_context& io, int descriptor) : executor_(io.get_executor()), descriptor_(descriptor) {}
    tls_wire& lowest_layer() noexcept { return *this; }
    executor_type get_executor() const noexcept { return executor_; }

    // So that so many bytes can be kept without memory for more. False: there is none.
    bool make_room(std::size_t bytes) noexcept {
        const std::size_t needed = kept_.size() + bytes;
        if (needed <= kept_.capacity()) return true;
        ignore_exceptions([&] { kept_.reserve(std::max(needed, 2 * kept_.capacity())); });
        return needed <= kept_.capacity();
    }
    // What TLS has made must be kept: without memory the connection is over.
    template <class Buffers>
    std::size_t write_some(const Buffers& from, boost::system::error_code& error) noexcept {
        const std::size_t begin = kept_.size(), n = boost::asio::buffer_size(from);
        error = {};
        if (!make_room(n)) return error = boost::asio::error::no_memory, 0;
        kept_.resize(begin + n);
        return boost::asio::buffer_copy(boost::asio::buffer(kept_.data() + begin, n), from);
    }
    std::size_t read_some(const boost::asio::mutable_buffer& into, boost::system::error_code& error) {
        const ssize_t got = ::recv(descriptor_, into.data(), into.size(), 0);
        ++calls_;
        error = {};
        if (got > 0) {
            records_.came({static_cast<const std::byte*>(into.data()), static_cast<std::size_t>(got)});
            return static_cast<std::size_t>(got);
        }
        if (got == 0)
            error = boost::asio::error::eof;
        else if (is_for_now(errno) || errno == ENOTCONN)
            error = boost::asio::error::would_block;
        else
            error = boost::asio::error::connection_reset;
        return 0;
    }

    // Bytes that wait for room in the socket.
    std::size_t kept() const noexcept { return kept_.size() - sent_; }
    std::uint64_t pushed() const noexcept { return pushed_; } // bytes that the socket has taken
    // Sends what the socket takes. False: it will never take anything again.
    bool push() {
        while (kept() != 0) {
#if defined(MSG_NOSIGNAL)
            const ssize_t n = ::send(descriptor_, kept_.data() + sent_, kept(), MSG_NOSIGNAL);
#else
            const ssize_t n = ::send(descriptor_, kept_.data() + sent_, kept(), 0);
#endif
            ++calls_;
            if (n < 0 && (is_for_now(errno) || errno == ENOTCONN)) return true;
            if (n < 0) {
                kept_.clear();
                sent_ = 0;
                return false;
            }
            sent_ += static_cast<std::size_t>(n);
            pushed_ += static_cast<std::size_t>(n);
        }
        kept_.clear();
        sent_ = 0;
        return true;
    }
    tls_records& records() noexcept { return records_; } // counts what was read
    std::uint64_t calls() const noexcept { return calls_; }

private:
    static bool is_for_now(int error) noexcept {
        return error == EAGAIN || error == EWOULDBLOCK || error == EINTR || error == ENOBUFS || error == ENOMEM;
    }

    executor_type executor_;
    int descriptor_;
    std::vector<std::byte> kept_;
    std::size_t sent_ = 0; // of kept_
    std::uint64_t pushed_ = 0;
    tls_records records_;
    std::uint64_t calls_ = 0;
};

class tls_channel {
public:
    using settings = tls_settings;
    class stream;

    class session {
    public:
        session() = default;
        session(settings& common, boost::asio::io_context& io, int descriptor, bool accepts)
            : tls_(std::make_unique<tls_type>(tls_wire(io, descriptor), common.context())), accepts_(accepts),
              records_per_key_(common.records_per_key) {}

        errc open() {
            if (open_) return errc::ok;
            boost::system::error_code error;
            tls_->handshake(accepts_ ? tls_type::server : tls_type::client, error);
            const bool sent =
                tls_->next_layer().push(); // even after an error: the peer must learn the reason of a refusal
            if (error == boost::asio::error::would_block && sent) return errc::would_block;
            open_ = !error && sent;
            if (open_) tls_->next_layer().records().begin(tag_bytes());
            note(error);
            return open_ ? errc::ok : accused_ ? errc::protocol_error : errc::peer_dead;
        }
        bool send(std::span<const std::byte> bytes) {
            std::size_t n = 0;
            return write(boost::asio::const_buffer(bytes.data(), bytes.size()), n) && tls_->next_layer().push();
        }
        int receive(std::span<std::byte> into) {
            std::size_t n = 0;
            const bool more = tls_->next_layer().push() && read({into.data(), into.size()}, n);
            return n != 0 || more ? static_cast<int>(n) : -1;
        }
        bool accused() const noexcept { return accused_; }
        // Makes the key one of this TLS session alone (RFC 9266, tls-exporter). So a proof made in
        // one session is worth nothing in another: a process that has a certificate, but not the
        // key, cannot stand between two ranks.
        template <Mac M>
        bool bind(job_key& key) const {
            static constexpr char label[] = "EXPORTER-Channel-Binding";
            std::array<std::byte, mac_bytes> exported{}, bound{};
            const bool made =
                SSL_export_keying_material(tls_->native_handle(), reinterpret_cast<unsigned char*>(exported.data()),
                                           exported.size(), label, sizeof label - 1, nullptr, 0, 1) == 1 &&
                M::authenticate(key.bytes(), exported, bound);
            std::copy(bound.begin(), bound.end(), key.bytes().begin());
            M::wipe(bound);
            M::wipe(exported);
            return made;
        }

    private:
        friend class stream;
        using tls_type = boost::asio::ssl::stream<tls_wire>;

        void note(const boost::system::error_code& error) noexcept {
            accused_ |= error.category() == boost::asio::error::get_ssl_category();
        }
        // The bytes of a record's tag: 16, but 8 in one cipher suite that is off unless the
        // system's settings name it.
        std::size_t tag_bytes() const noexcept {
            return SSL_CIPHER_get_id(SSL_get_current_cipher(tls_->native_handle())) == TLS1_3_CK_AES_128_CCM_8_SHA256
                       ? 8
                       : 16;
        }
        // Writes all of it to the buffer below. False: the session is over.
        bool write(boost::asio::const_buffer from, std::size_t& n) {
            boost::system::error_code error;
            while (from.size() != 0) {
                // RFC 8446, section 5.5, limits how much a key may encrypt, and OpenSSL does not
                // count it. The new key is used from the next record on.
                if (with_key_ == records_per_key_ &&
                    SSL_key_update(tls_->native_handle(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1)
                    return false;
                with_key_ = with_key_ == records_per_key_ ? 1 : with_key_ + 1;
                const std::size_t some = tls_->write_some(from, error);
                if (error) return note(error), false;
                from += some;
                n += some;
            }
            return true;
        }
        // Reads until `into` is full or nothing more has come. In the second case no whole record
        // is left in the memory of TLS either. False: the session is over.
        bool read(boost::asio::mutable_buffer into, std::size_t& n) {
            boost::system::error_code error;
            tls_records& records = tls_->next_layer().records();
            while (into.size() != 0) {
                const std::size_t some = tls_->read_some(into, error);
                if (error == boost::asio::error::would_block) return records.all_read(), true;
                if (error) return note(error), false;
                records.read(some);
                into += some;
                n += some;
            }
            return true;
        }

        std::unique_ptr<tls_type> tls_;
        bool accepts_ = false, open_ = false, accused_ = false;
        std::uint64_t records_per_key_ = 0, with_key_ = 0; // records that the present key has encrypted
    };

    class stream {
    public:
        using socket_type = tcp_stream::socket_type;

        stream(socket_type&& socket, session&& tls) : socket_(std::move(socket)), tls_(std::move(tls)) {}
        socket_type& socket() noexcept { return socket_; }

        io_result write(const io_vectors<const std::byte>& from, std::size_t& n) {
            n = 0;
            for (boost::asio::const_buffer piece : from)
                while (piece.size() != 0) {
                    if (wire().kept() >= most_kept && !wire().push()) return io_result::closed;
                    if (wire().kept() >= most_kept) return end_of(n);
                    const boost::asio::const_buffer record(piece.data(), std::min<std::size_t>(piece.size(), 1 << 14));
                    if (!wire().make_room(record.size() + most_added)) return end_of(n);
                    if (!tls_.write(record, n)) return io_result::closed;
                    piece += record.size();
                }
            return wire().push() ? end_of(n) : io_result::closed;
        }
        io_result write(std::span<const std::byte> from, std::size_t& n) {
            io_vectors<const std::byte> one;
            one.add(from);
            return write(one, n);
        }
        io_result read(const io_vectors<std::byte>& into, std::size_t& n) {
            n = 0;
            for (const boost::asio::mutable_buffer piece : into) {
                const std::size_t before = n;
                if (!tls_.read(piece, n)) return n != 0 ? io_result::some : io_result::closed;
                if (n - before != piece.size()) break;
            }
            return end_of(n);
        }
        io_result read(std::span<std::byte> into, std::size_t& n) {
            io_vectors<std::byte> one;
            one.add(into);
            return read(one, n);
        }
        // How many bytes can still be read if nothing more comes, at the most: from the memory of
        // TLS, and at the socket.
        std::uint64_t coming() { return wire().records().readable(tcp_stream::at_socket(socket_)); }
        bool holds() const noexcept { return wire().kept() != 0; }
        // Both count encrypted bytes.
        std::uint64_t written() const noexcept { return wire().pushed() + wire().kept(); }
        std::uint64_t pushed() const noexcept { return wire().pushed(); }
        void push() { (void)wire().push(); } // a broken connection is seen by reading
        std::uint64_t calls() const noexcept { return wire().calls(); }

    private:
        // From here on the socket has to take some first.
        static constexpr std::size_t most_kept = std::size_t{1} << 16;
        static constexpr std::size_t most_added = 512; // by TLS to a record, with a new key

        static io_result end_of(std::size_t n) noexcept { return n != 0 ? io_result::some : io_result::would_block; }
        tls_wire& wire() const noexcept { return tls_.tls_->next_layer(); }

        socket_type socket_;
        session tls_;
    };

    static stream make_stream(stream::socket_type&& socket, session&& tls) {
        return stream(std::move(socket), std::move(tls));
    }
};

} // namespace bough::detail

#endif
