// SPDX-License-Identifier: BSL-1.0
// How a rank joins a group over tcp: it opens a socket to listen at, learns where the others
// listen, and connects.
#ifndef BOUGH_TRANSPORT_TCP_JOIN_HPP
#define BOUGH_TRANSPORT_TCP_JOIN_HPP

#include <bough/concepts/wire_up.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/formats.hpp>
#include <bough/core/status.hpp>
#include <bough/os/asio_config.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/fd.hpp>
#include <bough/transport/join_room.hpp>
#include <bough/transport/tcp/connections.hpp>
#include <bough/transport/tcp/hosts.hpp>
#include <bough/transport/tcp/membership.hpp>
#include <bough/transport/tcp/options.hpp>

#include <boost/asio/ip/address.hpp>
#include <boost/system/error_code.hpp>
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
#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

inline status read_address(const std::string& text, const char* fault, boost::asio::ip::address& address) {
    boost::system::error_code error;
    address = boost::asio::ip::make_address(text, error);
    return error ? invalid_argument(fault) : status{};
}

// Opens a socket that listens at this address; port 0 means any port. `at` becomes its actual
// address.
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
    if (options.socket_bytes != 0 && options.socket_bytes < 4096)
        return invalid_argument("socket_bytes: must be at least 4 KiB, or 0 for the kernel's choice");
    return settings.load(options.tls);
}

// The cores of all machines. Ranks with the same address are on the same machine, which counts
// once.
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

    enum kinds : std::uint8_t { plain = 1, encrypted = 2 };

    std::uint8_t kind = plain;
    bool eager = true; // this rank connects all pairs when it joins
    tcp_address at;
    std::uint32_t cores = 1;
    std::uint64_t job = 0; // of job and key, those of rank 0 count
    job_key key;
    near_name name{};

    void write(std::span<std::byte, length> bytes) const {
        using handshake_layout::put;
        std::fill(bytes.begin(), bytes.end(), std::byte{});
        bytes[0] = static_cast<std::byte>(kind);
        bytes[88] = static_cast<std::byte>(eager);
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
    void read(std::span<const std::byte, length> bytes) {
        using handshake_layout::get;
        kind = std::to_integer<std::uint8_t>(bytes[0]);
        eager = bytes[88] != std::byte{0};
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
    }
};

template <Mac M, class C>
status open_connections(const tcp_group& group, const job_key& key, const tcp_options& options,
                        typename C::settings&& settings, unique_fd listener, unique_fd near,
                        std::unique_ptr<tcp_connections<M, C>>& opened) {
    opened = std::make_unique<tcp_connections<M, C>>(group, key, options, std::move(settings));
    return opened->open(std::move(listener), std::move(near));
}

// Reads the cards of all ranks into `group`, and the job's key into `key`.
inline status read_cards(std::span<const std::byte> all, const tcp_card& mine, const tcp_options& options,
                         tcp_group& group, job_key& key) {
    std::vector<std::uint32_t> cores;
    for (rank_t r = 0; r != all.size() / tcp_card::length; ++r) {
        tcp_card theirs;
        theirs.read(all.subspan(r * tcp_card::length).template first<tcp_card::length>());
        if (theirs.kind != mine.kind)
            return {.code = errc::invalid_argument, .peer = r, .argument = "TLS: on all ranks, or on none"};
        if (theirs.eager != mine.eager)
            return {.code = errc::invalid_argument,
                    .peer = r,
                    .argument = "eager_mesh: the group is above it on one rank, and not on another"};
        if (r == 0) {
            key = theirs.key;
            group.job = theirs.job;
        }
        group.addresses.push_back(theirs.at);
        group.names.push_back(options.near_sockets ? theirs.name : near_name{});
        cores.push_back(theirs.cores);
    }
    group.cores = options.cores != 0 ? options.cores : sum_of_cores(group.addresses, cores);
    return {};
}

// As attempted(), and also catches Asio's own exception for a lack of descriptors.
template <class F>
status attempted_with_sockets(const F& f) {
    return attempted([&f]() -> status {
        try {
            return f();
        } catch (const boost::system::system_error&) {
            return {.code = errc::no_resources};
        }
    });
}

template <Mac M, class C, WireUp W>
std::unique_ptr<tcp_connections<M, C>> join_wire_up(W& wire, const tcp_options& options, status& result) {
    tcp_group group;
    join_room room(wire, options.timeout_ns, wire_format::tcp);
    group.rank = room.rank();
    group.last_ns = room.last_ns();
    unique_fd listener, near;
    typename C::settings settings;
    tcp_card mine;
    std::array<std::byte, tcp_card::length> card{};
    std::vector<std::byte> all;
    job_key key;
    const auto prepare = [&]() -> status {
        all.resize(card.size() * room.size());
        mine.cores = std::max(1u, std::thread::hardware_concurrency());
        mine.kind = std::is_same_v<C, plain_channel> ? tcp_card::plain : tcp_card::encrypted;
        mine.eager = room.size() <= options.eager_mesh;
        if (const status bad = check_options(options, settings)) return bad;
        boost::asio::ip::address address;
        std::string at = options.bind;
        if constexpr (SaysAddress<W>)
            if (at.empty()) at = wire.address();
        if (at.empty()) at = "127.0.0.1";
        if (const status bad = read_address(at, "bind: must be a numeric IPv4 or IPv6 address", address)) return bad;
        if (address.is_unspecified() && options.advertise.empty())
            return invalid_argument("advertise: must say where others reach this rank, which is bound to any address");
        mine.at = {address, 0};
        if (const status bad = listen_at(mine.at, options, listener)) return bad;
        if (!options.advertise.empty()) {
            if (const status bad = read_address(options.advertise, "advertise: must be a numeric address", address))
                return bad;
            mine.at.address(address);
        }
        // Listen before the others are told where this rank is. Then a caller that does not find
        // the name knows that this rank is on another system.
        if (has_near_sockets && options.near_sockets && M::random(mine.name)) {
            near = listen_nearby(mine.name, options.socket_bytes);
            if (!near) mine.name = {};
        }
        std::array<std::byte, 8> job{};
        if (room.rank() == 0 && (!M::random(mine.key.bytes()) || !M::random(job))) return {.code = errc::no_resources};
        mine.job = handshake_layout::get(job);
        mine.write(card);
        return {};
    };
    std::unique_ptr<tcp_connections<M, C>> opened;
    const auto meet = [&opened](std::uint64_t until_ns) -> status {
        const status how = opened->membership().meet(until_ns);
        const rank_t refuser = how ? opened->membership().refuser() : no_rank;
        if (refuser == opened->rank())
            return invalid_argument("tls: the certificates and authorities of this rank are not those of the others");
        return refuser != no_rank ? status{.code = errc::protocol_error, .peer = refuser} : how;
    };
    const auto join = [&]() -> status {
        if (const status bad = prepare()) return bad;
        if (const status bad = room.exchange(card, all, room.left_ns())) return bad;
        if (const status bad = read_cards(all, mine, options, group, key)) return bad;
        if (const status bad = open_connections(group, key, options, std::move(settings), std::move(listener),
                                                std::move(near), opened))
            return bad;
        return room.meet(meet);
    };
    result = room.run([&] { return attempted_with_sockets(join); });
    M::wipe(card);
    M::wipe(all);
    if (result) opened.reset();
    return opened;
}

// Makes the number of a job from its key and hosts, so that two jobs with one key but different
// hosts do not mix. False: it could not be made.
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
std::unique_ptr<tcp_connections<M, C>> join_hosts(const tcp_hosts& hosts, const tcp_options& options, status& result) {
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
    std::unique_ptr<tcp_connections<M, C>> opened;
    result = attempted_with_sockets([&] {
        const status bad = open_connections(group, hosts.key, options, std::move(settings), std::move(listener),
                                            std::move(near), opened);
        return bad ? bad : opened->membership().meet(group.last_ns);
    });
    if (result.code == errc::would_block) {
        const bool impostor = opened->membership().fault_of(result.peer) == errc::protocol_error;
        result.code = impostor ? errc::protocol_error : errc::deadline;
        if (const status other = opened->membership().other_build()) result = other;
    }
    if (result) opened.reset();
    return opened;
}

} // namespace bough::detail

#endif
