// SPDX-License-Identifier: BSL-1.0
// How a rank joins a group over tcp: it opens a socket to listen at, learns where the others listen, and connects.
#ifndef BOUGH_TRANSPORT_TCP_JOIN_HPP
#define BOUGH_TRANSPORT_TCP_JOIN_HPP

#include <bough/concepts/wire_up.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/status.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/fd.hpp>
#include <bough/transport/tcp/hosts.hpp>
#include <bough/transport/tcp/mesh.hpp>
#include <bough/transport/tcp/options.hpp>

#include <boost/asio/ip/address.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bough::detail {

inline status read_address(const std::string& text, const char* fault, boost::asio::ip::address& address) {
    boost::system::error_code error;
    address = boost::asio::ip::make_address(text, error);
    return error ? invalid_argument(fault) : status{};
}

// A socket that listens at this address; port 0: at any port. `at` becomes where it is.
inline status listen_at(tcp_address& at, const tcp_options& options, unique_fd& listener) {
    listener = open_socket(at.protocol().family());
    if (!listener) return {.code = errc::no_resources};
    set_socket_option(listener.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    set_socket_buffers(listener.get(), options.socket_bytes);
    if (::bind(listener.get(), at.data(), static_cast<socklen_t>(at.size())) != 0)
        return invalid_argument("bind: cannot listen at this address");
    if (::listen(listener.get(), SOMAXCONN) != 0) return {.code = errc::no_resources};
    at = local_address(listener.get());
    return {};
}

template <class Settings>
status check_options(const tcp_options& options, Settings& settings) {
    static_assert(window_bytes(least_window_kib) == 4 * tcp_chunk::capacity);
    if (options.unexpected_bytes_per_peer < window_bytes(least_window_kib))
        return invalid_argument("unexpected_bytes_per_peer: must be at least 256 KiB");
    if (options.unexpected_bytes < options.unexpected_bytes_per_peer)
        return invalid_argument("unexpected_bytes: must be at least what one peer may have");
    if (options.strangers == 0) return invalid_argument("strangers: one socket at least must be able to wait");
    return settings.load(options.tls);
}

// Machines are told apart by their addresses.
inline std::uint32_t sum_of_cores(const std::vector<tcp_address>& at, const std::vector<std::uint32_t>& cores) {
    std::uint32_t sum = 0;
    for (std::size_t r = 0; r != at.size(); ++r) {
        bool counted = false;
        for (std::size_t q = 0; q != r && !counted; ++q) counted = at[q].address() == at[r].address();
        if (!counted) sum += cores[r];
    }
    return std::max(1u, sum);
}

// What every rank tells the others before they are connected.
struct tcp_card {
    static constexpr std::size_t length = 96;

    bool able = false; // it listens
    tcp_address at;
    std::uint32_t cores = 1;
    std::uint64_t job = 0; // these two: rank 0's
    job_key key;
    near_name name{};

    void write(std::span<std::byte, length> bytes) const {
        using handshake_layout::put;
        std::fill(bytes.begin(), bytes.end(), std::byte{});
        bytes[0] = static_cast<std::byte>(able);
        const auto address = at.address();
        if (address.is_v4()) {
            const auto raw = address.to_v4().to_bytes();
            bytes[1] = std::byte{4};
            for (std::size_t i = 0; i != raw.size(); ++i) bytes[8 + i] = static_cast<std::byte>(raw[i]);
        } else {
            const auto raw = address.to_v6().to_bytes();
            bytes[1] = std::byte{6};
            for (std::size_t i = 0; i != raw.size(); ++i) bytes[8 + i] = static_cast<std::byte>(raw[i]);
            put(bytes.subspan(24, 4), address.to_v6().scope_id());
        }
        put(bytes.subspan(2, 2), at.port());
        put(bytes.subspan(4, 4), cores);
        put(bytes.subspan(32, 8), job);
        std::copy(key.bytes().begin(), key.bytes().end(), bytes.begin() + 40);
        std::copy(name.begin(), name.end(), bytes.begin() + 72);
    }
    bool read(std::span<const std::byte, length> bytes) {
        using handshake_layout::get;
        if (bytes[0] != std::byte{1}) return false;
        if (bytes[1] == std::byte{4}) {
            boost::asio::ip::address_v4::bytes_type raw{};
            for (std::size_t i = 0; i != raw.size(); ++i) raw[i] = std::to_integer<unsigned char>(bytes[8 + i]);
            at.address(boost::asio::ip::address_v4(raw));
        } else {
            boost::asio::ip::address_v6::bytes_type raw{};
            for (std::size_t i = 0; i != raw.size(); ++i) raw[i] = std::to_integer<unsigned char>(bytes[8 + i]);
            at.address(boost::asio::ip::address_v6(raw, static_cast<std::uint32_t>(get(bytes.subspan(24, 4)))));
        }
        at.port(static_cast<std::uint16_t>(get(bytes.subspan(2, 2))));
        cores = static_cast<std::uint32_t>(get(bytes.subspan(4, 4)));
        job = get(bytes.subspan(32, 8));
        std::copy(bytes.begin() + 40, bytes.begin() + 72, key.bytes().begin());
        std::copy(bytes.begin() + 72, bytes.begin() + 88, name.begin());
        return true;
    }
};

template <Mac M, class C>
std::unique_ptr<tcp_mesh<M, C>> open_mesh(const tcp_group& group, const job_key& key, const tcp_options& options,
                                          typename C::settings&& settings, unique_fd listener, unique_fd near,
                                          status& result) {
    std::unique_ptr<tcp_mesh<M, C>> mesh;
#if BOUGH_HAS_EXCEPTIONS
    try {
#endif
        mesh = std::make_unique<tcp_mesh<M, C>>(group, key, options, std::move(settings));
        result = mesh->open(std::move(listener), std::move(near));
#if BOUGH_HAS_EXCEPTIONS
    } catch (const boost::system::system_error&) { // no descriptor for the event loop
        result = {.code = errc::no_resources};
    }
#endif
    if (result) mesh.reset();
    return mesh;
}

template <Mac M, class C, WireUp W>
std::unique_ptr<tcp_mesh<M, C>> join_wire_up(W& wire, const tcp_options& options, status& result) {
    tcp_group group;
    group.last_ns = deadline_after(steady_now_ns(), options.timeout_ns);
    unique_fd listener, near;
    typename C::settings settings;
    tcp_card mine;
    mine.cores = std::max(1u, std::thread::hardware_concurrency());
    const auto prepare = [&]() -> status {
        if (const status bad = check_options(options, settings)) return bad;
        boost::asio::ip::address address;
        if (const status bad = read_address(options.bind.empty() ? "127.0.0.1" : options.bind,
                                            "bind: must be a numeric IPv4 or IPv6 address", address))
            return bad;
        if (address.is_unspecified() && options.advertise.empty())
            return invalid_argument("advertise: must say where others reach this rank, which is bound to any address");
        mine.at = {address, 0};
        if (const status bad = listen_at(mine.at, options, listener)) return bad;
        if (!options.advertise.empty()) {
            if (const status bad = read_address(options.advertise, "advertise: must be a numeric address", address))
                return bad;
            mine.at.address(address);
        }
        // Before the others are told where this rank is: whoever calls finds it, or it is on another system.
        if (has_near_sockets && options.near_sockets && M::random(mine.name)) {
            near = listen_nearby(mine.name, options.socket_bytes);
            if (!near) mine.name = {};
        }
        std::array<std::byte, 8> job{};
        if (wire.rank() == 0 && (!M::random(mine.key.bytes()) || !M::random(job))) return {.code = errc::no_resources};
        mine.job = handshake_layout::get(job);
        return {};
    };
    const status ready = prepare();
    mine.able = !ready; // and whoever is not says so, so that nobody waits for it

    std::array<std::byte, tcp_card::length> card{};
    std::vector<std::byte> all(card.size() * wire.size());
    mine.write(card);
    result = wire.exchange(card, all, options.timeout_ns);
    group.rank = wire.rank();
    job_key key;
    std::vector<std::uint32_t> cores;
    for (rank_t r = 0; r != wire.size() && !result; ++r) {
        tcp_card theirs;
        if (!theirs.read(std::span(all).subspan(r * card.size()).template first<tcp_card::length>()))
            result = {.code = errc::peer_aborted, .peer = r};
        if (r == 0) {
            key = theirs.key;
            group.job = theirs.job;
        }
        group.addresses.push_back(theirs.at);
        group.names.push_back(options.near_sockets ? theirs.name : near_name{});
        cores.push_back(theirs.cores);
    }
    M::wipe(card);
    M::wipe(all);
    if (ready) result = ready;
    if (result) return nullptr;
    group.cores = options.cores != 0 ? options.cores : sum_of_cores(group.addresses, cores);
    return open_mesh<M, C>(group, key, options, std::move(settings), std::move(listener), std::move(near), result);
}

// Two jobs with one key, but other hosts, do not mix. False: it could not be made.
template <Mac M>
bool number_of_job(const tcp_hosts& hosts, std::uint64_t& job) {
    std::string text = "bough tcp hosts";
    for (const tcp_host& h : hosts.hosts) text += '\n' + h.address + ' ' + std::to_string(h.port);
    std::array<std::byte, mac_bytes> tag{};
    if (!M::authenticate(hosts.key.bytes(), std::as_bytes(std::span(text)), tag)) return false;
    job = handshake_layout::get(std::span(tag).template first<8>());
    return true;
}

template <Mac M, class C>
std::unique_ptr<tcp_mesh<M, C>> join_hosts(const tcp_hosts& hosts, const tcp_options& options, status& result) {
    tcp_group group;
    unique_fd listener, near;
    typename C::settings settings;
    const auto prepare = [&]() -> status {
        if (const status bad = check_options(options, settings)) return bad;
        if (!hosts.key.is_set()) return invalid_argument("key: is not set");
        if (hosts.rank >= hosts.hosts.size()) return invalid_argument("rank: the list of hosts has no such entry");
        for (const tcp_host& h : hosts.hosts) {
            boost::asio::ip::address address;
            if (const status bad = read_address(h.address, "hosts: an address is not numeric", address)) return bad;
            group.addresses.emplace_back(address, h.port);
        }
        if (!number_of_job<M>(hosts, group.job)) return {.code = errc::no_resources};
        group.rank = hosts.rank;
        group.names.resize(hosts.hosts.size());
        if (has_near_sockets && options.near_sockets) {
            for (rank_t r = 0; r != group.names.size(); ++r) group.names[r] = near_name_of<M>(hosts.key, group.job, r);
            near = listen_nearby(group.names[hosts.rank], options.socket_bytes);
            if (!near && errno == EADDRINUSE)
                return invalid_argument("rank: another process of this system has its place");
        }
        tcp_address at = group.addresses[hosts.rank];
        if (!options.bind.empty()) {
            boost::asio::ip::address address;
            if (const status bad = read_address(options.bind, "bind: must be a numeric IPv4 or IPv6 address", address))
                return bad;
            at.address(address);
        }
        return listen_at(at, options, listener);
    };
    if ((result = prepare())) return nullptr;
    const std::uint32_t mine = std::max(1u, std::thread::hardware_concurrency());
    group.cores = options.cores != 0
                      ? options.cores
                      : sum_of_cores(group.addresses, std::vector<std::uint32_t>(group.addresses.size(), mine));
    group.last_ns = group.patience_ns = deadline_after(steady_now_ns(), options.timeout_ns);
    return open_mesh<M, C>(group, hosts.key, options, std::move(settings), std::move(listener), std::move(near),
                           result);
}

} // namespace bough::detail

#endif
