// SPDX-License-Identifier: BSL-1.0
// tcp_identity: what a rank brings to every handshake, whichever side connects: who it is, the key
// of its job, and what its channel needs.
#ifndef BOUGH_TRANSPORT_TCP_IDENTITY_HPP
#define BOUGH_TRANSPORT_TCP_IDENTITY_HPP

#include <bough/os/asio_config.hpp>
#include <bough/transport/tcp/channel.hpp>
#include <bough/transport/tcp/handshake.hpp>
#include <bough/transport/tcp/mac.hpp>

#include <boost/asio/io_context.hpp>

namespace bough::inline BOUGH_ABI::detail {

template <class Channel = plain_channel>
struct tcp_identity {
    using session_type = typename Channel::session;

    introduction who; // job, size, this rank as `to`, and its window
    job_key key;
    typename Channel::settings settings;
    boost::asio::io_context& io;

    // The channel's state for a socket that this rank has accepted, or connects.
    session_type open_session(int socket, bool accepts) { return session_type(settings, io, socket, accepts); }
    // The key that only this connection has. False: it could not be made.
    template <Mac M>
    bool key_of(session_type& session, job_key& bound) const {
        bound = key;
        return session.template bind<M>(bound);
    }
};

} // namespace bough::detail

#endif
