// SPDX-License-Identifier: BSL-1.0
// Channel: what is done to the bytes of a connection on their way to the socket. The plain_channel
// here does nothing to them; tls_channel.hpp encrypts them by TLS.
//
// On a Channel `C`:
//   C::settings               what all connections of a rank have in common; movable, default constructible
//   settings.load(options)    -> status    `options`: a tls_options
//   C::session                one connection's state, before and after it becomes a rank's; movable
//   C::session(settings, io_context, descriptor, accepts)
//   session.open()            -> errc      ok: it may be used; would_block: not yet; any other: never
//   session.send(bytes)       -> bool      sends a handshake message; false: the connection is of no use any more
//   session.receive(into)     -> int       how many bytes have come, up to the end of `into`; -1: none will any more
//   session.accused()         -> bool      the session ended because the other side broke the channel's rules
//   session.bind<M>(key)      -> bool      turns the key of a job into one that only this connection has
//   C::stream, C::make_stream(socket, session)       as tcp_stream
#ifndef BOUGH_TRANSPORT_TCP_CHANNEL_HPP
#define BOUGH_TRANSPORT_TCP_CHANNEL_HPP

#include <bough/core/status.hpp>
#include <bough/os/asio_config.hpp>
#include <bough/transport/tcp/mac.hpp>
#include <bough/transport/tcp/options.hpp>
#include <bough/transport/tcp/sockets.hpp>
#include <bough/transport/tcp/stream.hpp>

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

struct plain_channel {
    struct settings {
        status load(const tls_options& tls) const {
            if (tls == tls_options{}) return {};
            return invalid_argument("tls: needs bough::tcp_tls, of bough/transport/tcp/tls.hpp");
        }
    };

    class session {
    public:
        session() = default;
        session(const settings&, boost::asio::io_context&, int descriptor, bool) noexcept : descriptor_(descriptor) {}
        errc open() const noexcept { return errc::ok; }
        bool send(std::span<const std::byte> bytes) const noexcept { return send_now(descriptor_, bytes); }
        int receive(std::span<std::byte> into) const noexcept { return receive_now(descriptor_, into); }
        static constexpr bool accused() noexcept { return false; }
        template <Mac M>
        bool bind(job_key&) const noexcept {
            return true;
        }

    private:
        int descriptor_ = -1;
    };

    using stream = tcp_stream;
    static stream make_stream(stream::socket_type&& socket, session&&) { return stream(std::move(socket)); }
};

} // namespace bough::detail

#endif
