// SPDX-License-Identifier: BSL-1.0
// tcp_hosts: joins a tcp group by a fixed list of addresses, without a launcher.
//
//   bough::tcp_hosts hosts;
//   hosts.rank = 3;
//   bough::status s = bough::read_hosts("10.0.0.1 7000\n10.0.0.2 7000\n...", hosts.hosts);   // one line a rank
//   if (!s) s = bough::read_key_file("job.key", hosts.key);     // mode 0600; or read_key_descriptor(3, hosts.key)
//   bough::tcp link{hosts, options};
//
// A key is 32 bytes, or 64 hexadecimal digits with an optional newline: `openssl rand -hex 32 >
// job.key`. It is read from a regular file that belongs to the caller and that nobody else may
// read, or from a descriptor that a launcher leaves open. It is never read from an argument or the
// environment, because others can see those. Without a key no group is joined; 32 bytes of zero
// count as no key.
#ifndef BOUGH_TRANSPORT_TCP_HOSTS_HPP
#define BOUGH_TRANSPORT_TCP_HOSTS_HPP

#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/os/fd.hpp>
#include <bough/transport/tcp/mac.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace bough::inline BOUGH_ABI {

// Where one rank listens.
struct tcp_host {
    std::string address; // numeric, IPv4 or IPv6
    std::uint16_t port = 0;
    friend bool operator==(const tcp_host&, const tcp_host&) = default;
};

struct tcp_hosts {
    rank_t rank = 0; // the rank of this process: its entry in `hosts`
    std::vector<tcp_host> hosts;
    job_key key;
};

// Reads lines of the form "address port". Empty lines, and text after a '#', are ignored.
inline status read_hosts(std::string_view text, std::vector<tcp_host>& hosts) {
    hosts.clear();
    while (!text.empty()) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(line.size() + (line.size() != text.size() ? 1 : 0));
        line = line.substr(0, line.find('#'));
        std::array<std::string_view, 2> words;
        std::size_t found = 0;
        while (!line.empty()) {
            const std::size_t begin = line.find_first_not_of(" \t\r");
            if (begin == line.npos) break;
            line.remove_prefix(begin);
            if (found == words.size()) return invalid_argument("hosts: a line has more than an address and a port");
            words[found] = line.substr(0, line.find_first_of(" \t\r"));
            line.remove_prefix(words[found++].size());
        }
        if (found == 0) continue;
        std::uint32_t port = 0;
        for (const char c : words[1]) {
            if (c < '0' || c > '9' || port > 65535) return invalid_argument("hosts: a port is no number up to 65535");
            port = port * 10 + static_cast<std::uint32_t>(c - '0');
        }
        if (port == 0 || port > 65535) return invalid_argument("hosts: a port must be 1 to 65535");
        hosts.push_back({std::string(words[0]), static_cast<std::uint16_t>(port)});
    }
    if (hosts.empty()) return invalid_argument("hosts: the list is empty");
    return {};
}

// Reads a key from a descriptor up to the end of its file. The descriptor stays open. After an
// error `key` is not set.
inline status read_key_descriptor(int descriptor, job_key& key) {
    key.forget();
    std::array<char, 67> text{};
    std::size_t length = 0;
    while (length != text.size()) {
        const ssize_t got = ::read(descriptor, text.data() + length, text.size() - length);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return invalid_argument("key: cannot be read");
        if (got == 0) break;
        length += static_cast<std::size_t>(got);
    }
    const auto finish = [&](const char* fault) {
        for (volatile char& c : text) c = 0;
        if (fault == nullptr && !key.is_set()) fault = "key: is all zeros";
        if (fault == nullptr) return status{};
        key.forget();
        return invalid_argument(fault);
    };
    if (length == mac_bytes) {
        for (std::size_t i = 0; i != mac_bytes; ++i) key.bytes()[i] = static_cast<std::byte>(text[i]);
        return finish(nullptr);
    }
    if (length == 2 * mac_bytes + 1 && text[2 * mac_bytes] == '\n') --length;
    if (length != 2 * mac_bytes) return finish("key: must be 32 bytes or 64 hexadecimal digits");
    for (std::size_t i = 0; i != mac_bytes; ++i) {
        unsigned value = 0;
        for (const char c : {text[2 * i], text[2 * i + 1]}) {
            const unsigned digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                                   : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a') + 10
                                   : c >= 'A' && c <= 'F' ? static_cast<unsigned>(c - 'A') + 10
                                                          : 16u;
            if (digit == 16) return finish("key: a character is no hexadecimal digit");
            value = value * 16 + digit;
        }
        key.bytes()[i] = static_cast<std::byte>(value);
    }
    return finish(nullptr);
}

// The same from a file.
inline status read_key_file(const std::string& path, job_key& key) {
    key.forget();
    const detail::unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file) return invalid_argument("key: the file cannot be opened");
    struct stat facts {};
    if (::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return invalid_argument("key: not a regular file");
    if (facts.st_uid != ::geteuid()) return invalid_argument("key: the file belongs to another user");
    if ((facts.st_mode & 077) != 0) return invalid_argument("key: others may use the file: its mode must be 0600");
    return read_key_descriptor(file.get(), key);
}

} // namespace bough

#endif
