// SPDX-License-Identifier: BSL-1.0
// How the ranks of one node find each other and exchange their segments. Each rank does these
// steps:
//
//   1  It makes its segment and a listening socket with a random name, which is no file's. It tells
//      the name and a secret by the wire-up.
//   2  It connects to all lower ranks, and all higher ranks connect to it. Each side shows the
//      secret of the other and passes its segment. Connections from another user, or without the
//      secret, are closed at once.
//   3  It tries to read a word of each peer's memory, in the way in which long messages will be read.
//   4  It tells the others whose memory it can read. Rank 0 also tells what such reads cost.
//
// A rank that fails at any of these steps tells the others (transport/join_room.hpp).
#ifndef BOUGH_TRANSPORT_SEGMENT_JOIN_HPP
#define BOUGH_TRANSPORT_SEGMENT_JOIN_HPP

#include <bough/concepts/wire_up.hpp>
#include <bough/core/formats.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/fd.hpp>
#include <bough/os/fd_passing.hpp>
#include <bough/transport/join_room.hpp>
#include <bough/transport/segment/layout.hpp>
#include <bough/transport/segment/read_costs.hpp>
#include <bough/transport/segment/segment.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <poll.h>
#include <sched.h>
#include <span>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <type_traits>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

using secret = std::array<std::byte, 32>;

// What a rank knows about another one after the join.
struct joined_peer {
    unique_fd socket;
    shared_segment segment;
    segment_layout layout;
    pid_t pid = 0;         // 0: the process is not visible from here
    bool reads_it = false; // this rank can read the peer's private memory
    bool reads_me = false; // the peer can read this rank's private memory
};

class shared_join {
public:
    // `direct`: whether long messages are read directly where that is allowed; empty: where that is
    // faster, as measured.
    shared_join(rank_t rank, const segment_layout& layout, std::uint32_t cores, std::optional<bool> direct)
        : layout_(layout), rank_(rank), cores_(cores), direct_(direct), probe_(std::make_unique<secret>()) {}

    shared_segment mine;
    unique_fd file;                 // of the segment
    std::vector<joined_peer> peers; // by rank; the entry of this rank is empty
    // The `argument` of no_resources if there is no memory for the segment: it names the option
    // that asks for less.
    const char* too_much = nullptr;
    std::uint32_t cores() const noexcept { return cores_; }
    const bough::detail::read_costs& read_costs() const noexcept { return read_costs_; }
    // The longest payload that is copied into a ring with room for `eager_bytes`, if the receiver can
    // read it directly instead.
    std::uint32_t copied_at_most(std::uint32_t eager_bytes) const noexcept {
        const std::uint64_t direct_from = std::max(read_costs_.copied_from, read_costs_.combined_from);
        return direct_from == 0 ? eager_bytes
                                : static_cast<std::uint32_t>(std::min<std::uint64_t>(eager_bytes, direct_from - 1));
    }

    // Collective as long as it succeeds on all ranks. If it fails, the caller must leave the room
    // with its result.
    template <WireUp W>
    status run(join_room<W>& room) {
        const rank_t p = layout_.ranks;
        if (p > most_ranks) return {.code = errc::unsupported};
        card my_card;
        if (const status bad = prepare(my_card)) return bad;
        cards_.resize(p);
        if (const status bad = room.exchange(std::as_bytes(std::span(&my_card, 1)),
                                             std::as_writable_bytes(std::span(cards_)), room.left_ns()))
            return bad;
        if (const status bad = compare()) return bad;
        peers.resize(p);
        probes_.resize(p, 0);
        if (const status bad = room.meet([this](std::uint64_t until_ns) { return meet(until_ns); })) return bad;
        listener_.reset();
        probe();
        // The costs stand in front of a bit for each rank.
        constexpr std::size_t costs = sizeof read_costs_;
        const std::size_t words = costs + (p + 7) / 8;
        std::vector<std::byte> said(words), all(words * p);
        if (rank_ == 0 && p != 1 && !direct_) read_costs_ = measure_reads(layout_.piece_bytes);
        std::memcpy(said.data(), &read_costs_, costs);
        for (rank_t r = 0; r != p; ++r)
            if (peers[r].reads_it) said[costs + r / 8] |= std::byte{1} << static_cast<int>(r % 8);
        if (const status bad = room.exchange(said, all, room.left_ns())) return bad;
        for (rank_t r = 0; r != p; ++r)
            peers[r].reads_me =
                (all[r * words + costs + rank_ / 8] >> static_cast<int>(rank_ % 8) & std::byte{1}) != std::byte{0};
        if (!direct_) std::memcpy(&read_costs_, all.data(), costs);
        return {};
    }

private:
    static constexpr std::uint32_t version = 0x626f'7500 | formats::shared_memory;
    static constexpr rank_t most_ranks = 8 * (most_wire_up_bytes - sizeof(bough::detail::read_costs));

    struct card { // what a rank tells by the wire-up
        std::uint32_t version = shared_join::version;
        std::uint32_t slots = 0, area_bytes = 0, cores = 0;
        std::uint64_t heap_bytes = 0, common_bytes = 0;
        std::array<char, 32> name{};
        secret key{};
        std::array<std::uint64_t, 16> affinity{}; // cores that this rank may run on
    };
    static_assert(std::is_trivially_copyable_v<card> && sizeof(card) <= most_wire_up_bytes);
    struct hello { // what a rank tells by the socket
        std::uint32_t version = shared_join::version;
        rank_t from = no_rank;
        secret key{};            // the receiver's
        std::uint64_t probe = 0; // address of a copy of the sender's key
    };
    struct stranger { // a connection whose other end has not yet said which rank it is
        unique_fd socket;
        pid_t pid = 0;
    };

    static bool draw(void* into, std::size_t bytes) noexcept {
        return ::getrandom(into, bytes, 0) == static_cast<ssize_t>(bytes);
    }
    // Compares in constant time, so that the time does not tell where the secrets differ.
    static bool same(const secret& a, const secret& b) noexcept {
        std::byte differ{0};
        for (std::size_t i = 0; i != a.size(); ++i) differ |= a[i] ^ b[i];
        return differ == std::byte{0};
    }

    status prepare(card& c) {
        c.slots = layout_.slots;
        c.area_bytes = layout_.area_bytes;
        c.heap_bytes = layout_.heap_bytes;
        c.common_bytes = layout_.common_bytes;
        c.cores = cores_;
        cpu_set_t may_run;
        CPU_ZERO(&may_run);
        ::sched_getaffinity(0, sizeof may_run, &may_run);
        static_assert(sizeof may_run == sizeof c.affinity);
        std::memcpy(c.affinity.data(), &may_run, sizeof may_run);
        std::array<std::uint8_t, 16> random{};
        if (!draw(random.data(), random.size()) || !draw(c.key.data(), c.key.size()))
            return {.code = errc::no_resources};
        for (std::size_t i = 0; i != random.size(); ++i) {
            c.name[2 * i] = "0123456789abcdef"[random[i] >> 4];
            c.name[2 * i + 1] = "0123456789abcdef"[random[i] & 15];
        }
        *probe_ = c.key;
        listener_ = unique_fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        sockaddr_un address{};
        const socklen_t length = address_of(c, address);
        if (!listener_ || ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
            ::listen(listener_.get(), static_cast<int>(layout_.ranks) + 64) != 0)
            return {.code = errc::no_resources};
        return shared_segment::make(layout_.bytes(), layout_.backed_bytes(), too_much, mine, file);
    }
    static socklen_t address_of(const card& c, sockaddr_un& address) noexcept {
        constexpr char prefix[] = "\0bough-";
        address.sun_family = AF_UNIX; // a name that begins with a zero byte belongs to no file
        std::memcpy(address.sun_path, prefix, sizeof prefix - 1);
        std::memcpy(address.sun_path + sizeof prefix - 1, c.name.data(), c.name.size());
        return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + sizeof prefix - 1 + c.name.size());
    }

    status compare() {
        std::array<std::uint64_t, 16> any{};
        for (rank_t r = 0; r != layout_.ranks; ++r) {
            const card& c = cards_[r];
            if (c.version != version) return {.code = errc::protocol_error, .peer = r};
            if (c.slots != layout_.slots || c.area_bytes != layout_.area_bytes || c.cores != cards_[rank_].cores ||
                c.common_bytes != layout_.common_bytes) {
                status s =
                    invalid_argument("options: slots, eager_bytes, cores and common_bytes must be equal on all ranks");
                s.peer = r;
                return s;
            }
            for (std::size_t i = 0; i != any.size(); ++i) any[i] |= c.affinity[i];
        }
        // If each rank is bound to one core, the ranks still have many cores together.
        if (cores_ == 0)
            for (const std::uint64_t word : any) cores_ += static_cast<std::uint32_t>(std::popcount(word));
        return {};
    }

    // Whether the process at the other end belongs to this user; `pid`: its number.
    static bool is_own_user(int socket, pid_t& pid) noexcept {
        ucred who{};
        socklen_t length = sizeof who;
        if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0 || who.uid != ::geteuid()) return false;
        pid = who.pid;
        return true;
    }
    bool greet(int socket, rank_t peer) noexcept {
        const hello h{.from = rank_, .key = cards_[peer].key, .probe = reinterpret_cast<std::uintptr_t>(probe_.get())};
        return send_with_fd(socket, std::as_bytes(std::span(&h, 1)), file.get());
    }

    // Goes on with the meeting until `until_ns`; would_block: it is not over yet.
    status meet(std::uint64_t until_ns) {
        for (; next_ != rank_; ++next_)
            if (const status bad = connect(next_, until_ns)) return bad;
        while (known_ != layout_.ranks - 1) {
            waiting_.assign(1, {listener_.get(), POLLIN, 0});
            for (const joined_peer& p : peers)
                waiting_.push_back({p.segment.data() == nullptr ? p.socket.get() : -1, POLLIN, 0});
            for (const stranger& s : strangers_) waiting_.push_back({s.socket.get(), POLLIN, 0});
            if (steady_now_ns() >= until_ns) return {.code = errc::would_block, .peer = missing()};
            ::poll(waiting_.data(), waiting_.size(), milliseconds_until(until_ns));
            for (std::size_t i = strangers_.size(); i-- != 0;) {
                if (waiting_[1 + peers.size() + i].revents == 0) continue;
                if (const status bad = hear(strangers_[i])) return bad;
                strangers_.erase(strangers_.begin() + static_cast<std::ptrdiff_t>(i));
            }
            for (rank_t r = 0; r != layout_.ranks; ++r) {
                if (waiting_[1 + r].revents == 0) continue;
                hello h;
                unique_fd theirs;
                const ssize_t came =
                    receive_with_fd(peers[r].socket.get(), std::as_writable_bytes(std::span(&h, 1)), theirs);
                if (came < 0 && errno == EAGAIN) continue;
                if (came < 0 && is_shortage(errno)) return {.code = errc::no_resources};
                if (came <= 0) return {.code = errc::peer_dead, .peer = r};
                if (came != sizeof h || h.from != r || !is_hello(h)) return {.code = errc::protocol_error, .peer = r};
                if (const status bad = adopt(r, h, theirs)) return bad;
                ++known_;
            }
            if (waiting_[0].revents != 0)
                if (const status bad = accept_all()) return bad;
        }
        return {};
    }
    rank_t missing() const noexcept {
        for (rank_t r = 0; r != layout_.ranks; ++r)
            if (r != rank_ && peers[r].segment.data() == nullptr) return r;
        return no_rank;
    }
    status connect(rank_t r, std::uint64_t until_ns) {
        sockaddr_un address{};
        const socklen_t length = address_of(cards_[r], address);
        joined_peer& peer = peers[r];
        for (;;) {
            peer.socket = unique_fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
            if (!peer.socket) return {.code = errc::no_resources};
            if (::connect(peer.socket.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0) break;
            // Refused: the rank is gone, or runs on another node.
            if (errno != EAGAIN && errno != EINTR) return {.code = errc::peer_dead, .peer = r};
            peer.socket.reset();
            if (steady_now_ns() >= until_ns) return {.code = errc::would_block, .peer = r};
            ::poll(nullptr, 0, 1); // waits a millisecond: too many ranks connect to it at once
        }
        if (!is_own_user(peer.socket.get(), peer.pid)) return {.code = errc::protocol_error, .peer = r};
        return greet(peer.socket.get(), r) ? status{} : status{.code = errc::peer_dead, .peer = r};
    }
    status accept_all() {
        const std::size_t most = layout_.ranks + 64;
        for (;;) {
            stranger s{unique_fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK))};
            if (!s.socket && is_shortage(errno)) return {.code = errc::no_resources};
            if (!s.socket) return {};
            if (!is_own_user(s.socket.get(), s.pid)) continue;
            // The one that was silent for longest.
            if (strangers_.size() == most) strangers_.erase(strangers_.begin());
            strangers_.push_back(std::move(s));
        }
    }
    bool is_hello(const hello& h) const noexcept { return h.version == version && same(h.key, *probe_); }
    // Reads what a stranger says. Afterwards it is one of the peers, or it was no rank. An error is
    // this rank's own.
    status hear(stranger& s) {
        hello h;
        unique_fd theirs;
        const ssize_t came = receive_with_fd(s.socket.get(), std::as_writable_bytes(std::span(&h, 1)), theirs);
        if (came < 0 && is_shortage(errno)) return {.code = errc::no_resources};
        if (came != sizeof h || !is_hello(h) || h.from <= rank_ || h.from >= layout_.ranks || peers[h.from].socket)
            return {};
        if (const status bad = adopt(h.from, h, theirs)) return bad;
        if (!greet(s.socket.get(), h.from)) return {.code = errc::peer_dead, .peer = h.from};
        peers[h.from].socket = std::move(s.socket);
        peers[h.from].pid = s.pid;
        ++known_;
        return {};
    }
    // Maps a peer's segment. protocol_error with that rank: its segment is not what it should be.
    status adopt(rank_t r, const hello& h, const unique_fd& theirs) {
        peers[r].layout = layout_;
        peers[r].layout.heap_bytes = cards_[r].heap_bytes;
        probes_[r] = h.probe;
        status bad = shared_segment::open(theirs.get(), peers[r].layout.bytes(), peers[r].segment);
        if (bad.code == errc::protocol_error) bad.peer = r;
        return bad;
    }

    void probe() {
        for (rank_t r = 0; r != layout_.ranks; ++r) {
            if (r == rank_ || !direct_.value_or(true) || peers[r].pid <= 0) continue;
            secret word{};
            const iovec into{word.data(), word.size()};
            const iovec from{reinterpret_cast<void*>(static_cast<std::uintptr_t>(probes_[r])), word.size()};
            const ssize_t came = ::process_vm_readv(peers[r].pid, &into, 1, &from, 1, 0);
            peers[r].reads_it = came == static_cast<ssize_t>(word.size()) && same(word, cards_[r].key);
        }
    }

    segment_layout layout_;
    rank_t rank_;
    std::uint32_t cores_;
    std::optional<bool> direct_;
    bough::detail::read_costs read_costs_;
    std::unique_ptr<secret> probe_; // where others find this rank's key
    unique_fd listener_;
    std::vector<card> cards_;
    std::vector<std::uint64_t> probes_;
    // The state of the meeting.
    rank_t next_ = 0, known_ = 0; // the rank to connect to next; how many peers have greeted
    std::vector<stranger> strangers_;
    std::vector<pollfd> waiting_;
};

} // namespace bough::detail

#endif
