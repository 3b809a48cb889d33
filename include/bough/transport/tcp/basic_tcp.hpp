// SPDX-License-Identifier: BSL-1.0
// basic_tcp: the tcp transport, with its cryptography (Mac) and its encryption (Channel) as
// parameters. bough::tcp is basic_tcp with OpenSSL's Mac and no encryption; bough/transport/tcp.hpp
// says what it does.
#ifndef BOUGH_TRANSPORT_TCP_BASIC_TCP_HPP
#define BOUGH_TRANSPORT_TCP_BASIC_TCP_HPP

#include <bough/concepts/protocol.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/concepts/wire_up.hpp>
#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/os/clock.hpp>
#include <bough/transport/measured_costs.hpp>
#include <bough/transport/tcp/channel.hpp>
#include <bough/transport/tcp/connections.hpp>
#include <bough/transport/tcp/hosts.hpp>
#include <bough/transport/tcp/join.hpp>
#include <bough/transport/tcp/mac.hpp>
#include <bough/transport/tcp/options.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

namespace bough::inline BOUGH_ABI {

template <Mac M, class Channel = detail::plain_channel>
class basic_tcp {
public:
    static constexpr wire_format format = wire_format::tcp; // which its ranks compare when they join

#if BOUGH_HAS_EXCEPTIONS
    // Joins the group that a wire-up or a list of hosts describes. All ranks must call it. It
    // succeeds or throws tcp_error, which is a bough::error, within options.timeout_ns.
    template <WireUp W>
    explicit basic_tcp(W& wire, const tcp_options& options = {}) : basic_tcp(thrown(wire, options)) {}
    explicit basic_tcp(const tcp_hosts& hosts, const tcp_options& options = {}) : basic_tcp(thrown(hosts, options)) {}
#endif

    // The same without exceptions. After a failure there is no transport, and `result` says why.
    template <WireUp W>
    static std::optional<basic_tcp> join(W& wire, const tcp_options& options, status& result) {
        return made(detail::join_wire_up<M, Channel>(wire, options, result));
    }
    static std::optional<basic_tcp> join(const tcp_hosts& hosts, const tcp_options& options, status& result) {
        return made(detail::join_hosts<M, Channel>(hosts, options, result));
    }

    basic_tcp(basic_tcp&&) noexcept = default;
    basic_tcp& operator=(basic_tcp&&) noexcept = default;

    rank_t rank() const noexcept { return connections_->rank(); }
    rank_t size() const noexcept { return connections_->size(); }
    // How many cores the ranks share: the sum over all machines, each machine counted once.
    std::uint32_t cores() const noexcept { return connections_->cores(); }
    bool oversubscribed() const noexcept { return size() > cores(); }
    // The costs by which plans are chosen (bough/select/transport_costs.hpp).
    static constexpr model::loggops default_costs() noexcept { return detail::tcp_costs.model; }
    static constexpr double switch_ns() noexcept { return detail::tcp_costs.switch_ns; }
    bool forked() const noexcept { return connections_->forked(); }
    // Which way a message goes; see SaysWays.
    static constexpr protocol way_of(rank_t, std::size_t bytes, bool) noexcept { return detail::tcp_way(bytes); }
    // The window that the peer gives this rank; the least one before there is a connection. See KeepsEarly.
    std::uint64_t early_bytes(rank_t peer) const noexcept { return connections_->window_at(peer); }
    std::uint64_t now_ns() const noexcept { return detail::steady_now_ns(); }

    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        return connections_->post_send(to, tag, bytes, id);
    }
    std::size_t poll(std::span<event> events) { return connections_->poll(events); }
    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        return connections_->take(handle, into, id);
    }
    void release(std::uint64_t handle) { connections_->release(handle); }
    errc cancel(std::uint64_t id) { return connections_->cancel(id); }
    void wait(std::uint32_t idle, std::uint64_t deadline_ns) { connections_->wait(idle, deadline_ns); }
    int descriptor() { return connections_->descriptor(); }
    bool arm() { return connections_->arm(); }
    void disarm() { connections_->disarm(); }
    void flush() { connections_->flush(); }
    // True while something that was posted waits for room in a socket. Then somebody must go on
    // polling.
    bool unsent() const noexcept { return connections_->unsent(); }
    std::uint64_t accepted(rank_t to) const noexcept { return connections_->accepted(to); }
    std::uint64_t handed_over(rank_t to) noexcept { return connections_->handed_over(to); }

    // --- What it has done ---
    std::uint64_t system_calls() const noexcept { return connections_->system_calls(); } // reads and writes
    std::uint64_t unexpected_bytes() const noexcept { return connections_->unexpected_bytes(); }
    std::uint64_t strangers_turned_away() const noexcept { return connections_->membership().turned_away(); }
    // How often a lazy group could not make or accept a connection because descriptors or memory
    // had run out.
    std::uint64_t shortages() const noexcept { return connections_->membership().shortages(); }

private:
    using connections_type = detail::tcp_connections<M, Channel>;

    explicit basic_tcp(std::unique_ptr<connections_type> opened) noexcept : connections_(std::move(opened)) {}
    static std::optional<basic_tcp> made(std::unique_ptr<connections_type> opened) {
        if (!opened) return std::nullopt;
        return basic_tcp(std::move(opened));
    }
#if BOUGH_HAS_EXCEPTIONS
    template <class From>
    static std::unique_ptr<connections_type> thrown(From& from, const tcp_options& options) {
        status result;
        std::unique_ptr<connections_type> opened;
        if constexpr (std::is_same_v<std::remove_const_t<From>, tcp_hosts>)
            opened = detail::join_hosts<M, Channel>(from, options, result);
        else
            opened = detail::join_wire_up<M, Channel>(from, options, result);
        if (!opened) throw tcp_error(result);
        return opened;
    }
#endif

    std::unique_ptr<connections_type> connections_;
};

} // namespace bough

#endif
