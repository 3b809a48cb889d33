// SPDX-License-Identifier: BSL-1.0
// Finds out which ranks share a node: each says where it is, and ranks that say the same share one.
// node_name() needs Linux; elsewhere the caller must give the names.
//
//   std::string here = bough::node_name();               // the same on ranks that can share memory
//   bough::listed_groups groups;
//   bough::status s = bough::exchange_nodes(wire, here, timeout_ns, groups);
//
// The name consists of the running kernel (its boot id, or the host's name), the namespaces that
// shared memory is reached through (network, for the sockets that pass it; processes; users), and
// the user. Two containers of one machine, or two users, are two nodes, because they could not
// share memory.
#ifndef BOUGH_TRANSPORT_COMPOSITE_NODES_HPP
#define BOUGH_TRANSPORT_COMPOSITE_NODES_HPP

#include <bough/algorithm/groups.hpp>
#include <bough/concepts/wire_up.hpp>
#include <bough/core/status.hpp>
#include <bough/transport/join_room.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// The longest name of a node.
inline constexpr std::size_t most_node_name_bytes = 248;

inline std::string node_name() {
    std::string name;
    std::ifstream boot("/proc/sys/kernel/random/boot_id");
    if (!std::getline(boot, name) || name.empty()) {
        std::array<char, 129> host{};
        if (::gethostname(host.data(), host.size() - 1) == 0) name = host.data();
    }
    for (const char* space : {"net", "pid", "user"}) {
        struct stat about {};
        const std::string path = std::string("/proc/self/ns/") + space;
        if (::stat(path.c_str(), &about) == 0) name += std::string(" ") + space + ' ' + std::to_string(about.st_ino);
    }
    return name + " uid " + std::to_string(::geteuid());
}

// Ranks with the same name form a group. Groups are numbered in the order of their first ranks.
inline listed_groups groups_of_names(std::span<const std::string_view> names) {
    std::vector<std::pair<std::string_view, rank_t>> sorted; // name, first rank that has it
    for (std::size_t r = 0; r != names.size(); ++r) sorted.emplace_back(names[r], static_cast<rank_t>(r));
    std::sort(sorted.begin(), sorted.end());
    const auto first_rank = [&sorted](std::string_view name) {
        return std::lower_bound(sorted.begin(), sorted.end(), std::pair(name, rank_t{0}))->second;
    };
    std::vector<rank_t> group(names.size());
    rank_t groups = 0;
    for (std::size_t r = 0; r != names.size(); ++r) {
        const rank_t first = first_rank(names[r]);
        group[r] = first == r ? groups++ : group[first];
    }
    return listed_groups(std::move(group));
}

// Collective. Errors: invalid_argument on a rank whose name is empty or too long, and peer_aborted
// on the others; otherwise what the wire-up says.
template <WireUp W>
status exchange_nodes(W& wire, std::string_view mine, std::uint64_t timeout_ns, listed_groups& groups) {
    constexpr std::size_t bytes = most_node_name_bytes + 1; // its length comes before it
    join_room room(wire, timeout_ns);
    return room.run([&]() -> status {
        std::vector<std::byte> all(bytes * wire.size());
        if (mine.empty() || mine.size() > most_node_name_bytes)
            return invalid_argument("node: a name has 1 to 248 bytes");
        std::array<std::byte, bytes> card{};
        card[0] = static_cast<std::byte>(mine.size());
        std::memcpy(card.data() + 1, mine.data(), mine.size());
        if (const status bad = room.exchange(card, all, room.left_ns())) return bad;
        std::vector<std::string_view> names;
        for (rank_t r = 0; r != wire.size(); ++r) {
            const std::byte* theirs = all.data() + r * bytes;
            const auto length = std::to_integer<std::size_t>(theirs[0]);
            if (length == 0 || length > most_node_name_bytes) return {.code = errc::protocol_error, .peer = r};
            names.emplace_back(reinterpret_cast<const char*>(theirs + 1), length);
        }
        groups = groups_of_names(names);
        return {};
    });
}

} // namespace bough

#endif
