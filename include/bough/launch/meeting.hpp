// SPDX-License-Identifier: BSL-1.0
// meeting_wire_up: a wire-up between the members of a group that grows and the processes that join
// it. bough/grow.hpp makes transports from it; programs call grow() and join_group() there.
//
// One member listens (the leader), the others and the joiners connect to it. Each proves that it
// knows the key of the job (detail/meeting_protocol.hpp). What is exchanged is sealed: encrypted
// and authenticated under a key that only this meeting has. So nobody else in the network can read
// or change it (rule W4 of WireUp).
//
// M is a Mac (bough/transport/tcp/mac.hpp). The cipher is M in counter mode, then M over the result.
#ifndef BOUGH_LAUNCH_MEETING_HPP
#define BOUGH_LAUNCH_MEETING_HPP

#include <bough/concepts/wire_up.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/launch/detail/meeting_protocol.hpp>
#include <bough/launch/detail/meeting_server.hpp>
#include <bough/launch/detail/reach.hpp>
#include <bough/launch/detail/wire.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/fd.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <poll.h>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

template <class M>
class meeting_wire_up {
public:
    using bytes = detail::jobs::meeting_bytes;
    using plan = detail::jobs::meeting_plan;

    // Listens for a meeting. False: this process cannot, as the address is of another machine or in use.
    static bool listen(const std::string& address, std::uint16_t port, detail::unique_fd& listener) {
        return detail::jobs::listen_as(address, port, listener) == 0;
    }
    // Member `me` of the plan comes. Only the leader has a listener. wait(fd, last, heard) -> status
    // waits until heard() is true or the time is up; if it gives up before, it says why. Errors: that
    // one; deadline with how many have come; peer_dead with the member that has gone, by known_as.
    template <class Wait>
    static std::optional<meeting_wire_up> meet(const std::string& address, std::uint16_t port, const bytes& key,
                                               const plan& with, rank_t me, detail::unique_fd listener,
                                               const Wait& wait, status& result) {
        namespace jobs = detail::jobs;
        std::unique_ptr<server_type> server;
        if (listener && (result = server_type::open(std::move(listener), key, with, server))) return std::nullopt;
        jobs::meeting_claim claim{
            .as = jobs::meeting_claim::role::member, .member = me, .epoch = with.epoch, .build = with.build};
        const rank_t leader = with.known_as[with.leader];
        detail::unique_fd fd;
        if (!jobs::reach(address, port, fd, with.last_ns)) {
            result = not_reached(leader, wait);
            return std::nullopt;
        }
        // The leader tells whose fault it was, unless it is its own.
        const std::uint64_t last = deadline_after(with.last_ns, patience_ns);
        std::optional<meeting_wire_up> made = enter(std::move(fd), key, claim, with.growth, last, last, wait, result);
        if (made) made->server_ = std::move(server);
        if (!made && result.code == errc::would_block) result = not_reached(leader, wait);
        return made;
    }
    // A process that is no member tries once to join a meeting. Errors: invalid_argument: another
    // key, or an epoch that is over; protocol_error (mismatch::version): another build; would_block:
    // nobody meets there, or not for this process; deadline: too few have come.
    static std::optional<meeting_wire_up> join(const std::string& address, std::uint16_t port, const bytes& key,
                                               std::uint32_t epoch, const detail::build_card& build,
                                               std::uint64_t last_ns, status& result) {
        detail::unique_fd fd;
        result = {.code = errc::would_block};
        if (!detail::jobs::reach(address, port, fd, last_ns)) return std::nullopt;
        constexpr std::uint64_t silence_ns = 2'000'000'000; // of a program that is no leader of a meeting
        const std::uint64_t soon = deadline_after(detail::steady_now_ns(), silence_ns);
        const auto wait = [](int from, std::uint64_t last, const auto& heard) -> status {
            while (!heard() && detail::steady_now_ns() < last) {
                pollfd something{from, POLLIN, 0};
                (void)::poll(&something, 1, detail::milliseconds_until(last));
            }
            return {};
        };
        return enter(std::move(fd), key, {.epoch = epoch, .build = build}, {}, std::min(last_ns, soon),
                     deadline_after(last_ns, patience_ns), wait, result);
    }

    meeting_wire_up(meeting_wire_up&&) noexcept = default;
    meeting_wire_up& operator=(meeting_wire_up&&) noexcept = default;
    ~meeting_wire_up() { M::wipe(key_); }

    rank_t rank() const noexcept { return wire_.rank(); }
    rank_t size() const noexcept { return wire_.size(); }
    std::uint32_t epoch() const noexcept { return epoch_; } // of the new group

    // As WireUp says. It ends two seconds after the deadline of the meeting at the latest.
    status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns) {
        if (const status bad = check_exchange(mine, all, size())) return bad;
        if (broken_) return broken_;
        const std::uint64_t now = detail::steady_now_ns();
        const std::uint64_t until = std::min(deadline_after(now, timeout_ns), last_ns_);
        ++number_;
        broken_ = exchange_sealed(mine, all, until);
        return broken_;
    }

private:
    using server_type = detail::jobs::meeting_server<M>;
    static constexpr std::size_t proof_bytes = sizeof(bytes);
    // How long after its own deadline this rank waits for what the leader has to say.
    static constexpr std::uint64_t patience_ns = 1'000'000'000;

    meeting_wire_up(detail::jobs::launched_wire_up&& wire, const bytes& key, std::uint32_t epoch, std::uint64_t last_ns)
        : wire_(std::move(wire)), key_(key), epoch_(epoch), last_ns_(last_ns), said_(most_wire_up_bytes + proof_bytes),
          heard_(said_.size() * wire_.size()) {}

    // The leader has died, of which others hear a little later; or what this rank reaches is not the leader.
    template <class Wait>
    static status not_reached(rank_t leader, const Wait& wait) {
        constexpr std::uint64_t patience_for_news_ns = 1'000'000'000;
        const std::uint64_t last = deadline_after(detail::steady_now_ns(), patience_for_news_ns);
        if (const status news = wait(-1, last, [] { return false; })) return news;
        status s = invalid_argument("place: this rank does not reach the host at which another one listens");
        s.peer = leader;
        return s;
    }
    // would_block: the other end says nothing sensible, or has gone.
    template <class Wait>
    static std::optional<meeting_wire_up>
    enter(detail::unique_fd fd, const bytes& key, detail::jobs::meeting_claim claim, const bytes& growth,
          std::uint64_t greeted_by, std::uint64_t last, const Wait& wait, status& result) {
        using namespace detail::jobs;
        send_at_once(fd.get());
        meeting_challenge asked;
        meeting_answer answer;
        result = {.code = errc::would_block};
        if (read_all(fd.get(), std::as_writable_bytes(std::span(&asked, 1)), greeted_by) != errc::ok)
            return std::nullopt;
        if (asked.magic != meeting_magic) {
            result = status_of(asked);
            return std::nullopt;
        }
        if (!M::random(claim.nonce) || !make_proof<M>(key, claim, asked.nonce, growth, claim.proof)) {
            result = {.code = errc::no_resources};
            return std::nullopt;
        }
        if (write_all(fd.get(), std::as_bytes(std::span(&claim, 1)), last) != errc::ok ||
            !hear_answer(fd.get(), answer, last, wait, result) || answer.magic != meeting_magic)
            return std::nullopt;
        const bool is_bare = answer.says == meeting_answer::verdict::wrong_key;
        if (!is_bare && !is_proved<M>(key, answer, asked.nonce, claim.nonce)) {
            result = invalid_argument("key: who listens at the meeting place has another one");
            return std::nullopt;
        }
        if (answer.says != meeting_answer::verdict::welcome) {
            result = status_of(answer, claim.build);
            return std::nullopt;
        }
        launch_hello hello;
        const std::uint64_t now = detail::steady_now_ns();
        if ((result = launched_wire_up::greet(fd.get(), hello, time_left(now, last)))) return std::nullopt;
        if (hello.rank != answer.who || hello.size != answer.size) {
            result = {.code = errc::protocol_error};
            return std::nullopt;
        }
        bytes sealing{};
        if (!M::authenticate(key, answer.sealing, sealing)) {
            result = {.code = errc::no_resources};
            return std::nullopt;
        }
        return meeting_wire_up(launched_wire_up(std::move(fd), hello.rank, hello.size), sealing, answer.epoch, last);
    }

    template <class Wait>
    static bool hear_answer(int fd, detail::jobs::meeting_answer& answer, std::uint64_t last, const Wait& wait,
                            status& result) {
        std::span<std::byte> to_come = std::as_writable_bytes(std::span(&answer, 1));
        errc how = errc::deadline;
        const status why = wait(fd, last, [&] {
            how = detail::jobs::read_on(fd, to_come, 0); // what has come
            return how != errc::deadline;
        });
        if (how != errc::ok && why) result = why;
        return how == errc::ok;
    }

    // What the mac of this block is of: no two blocks of a meeting are the same.
    struct block_name {
        char label[4] = {'b', 'o', 'u', 'k'};
        std::uint32_t number = 0, rank = 0, block = 0;
    };
    // Encrypts, or decrypts, what this rank says in the exchange under way.
    bool apply_key(std::span<std::byte> text, rank_t of) const {
        bytes stream{};
        for (std::size_t at = 0; at < text.size(); at += stream.size()) {
            const block_name name{.number = number_, .rank = of, .block = static_cast<std::uint32_t>(at)};
            if (!M::authenticate(key_, std::as_bytes(std::span(&name, 1)), stream)) return false;
            for (std::size_t i = 0; i != std::min(stream.size(), text.size() - at); ++i) text[at + i] ^= stream[i];
        }
        return true;
    }
    bool make_tag(std::span<const std::byte> sealed, rank_t of, bytes& tag) const {
        std::byte text[sizeof(block_name) + most_wire_up_bytes];
        const block_name name{.label = {'b', 'o', 'u', 't'},
                              .number = number_,
                              .rank = of,
                              .block = static_cast<std::uint32_t>(sealed.size())};
        std::memcpy(text, &name, sizeof name);
        std::copy(sealed.begin(), sealed.end(), text + sizeof name);
        return M::authenticate(key_, std::span<const std::byte>(text, sizeof name + sealed.size()), tag);
    }
    status exchange_sealed(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t until) {
        const std::size_t length = mine.size(), whole = length + proof_bytes;
        const std::span<std::byte> said = std::span(said_).first(whole);
        std::copy(mine.begin(), mine.end(), said.begin());
        bytes tag{};
        if (!apply_key(said.first(length), rank()) || !make_tag(said.first(length), rank(), tag))
            return {.code = errc::no_resources};
        std::copy(tag.begin(), tag.end(), said.begin() + static_cast<std::ptrdiff_t>(length));
        // With its tag, a long text takes two exchanges.
        const std::size_t first = std::min(whole, most_wire_up_bytes), second = whole - first;
        const std::span<std::byte> heads = std::span(heard_).first(first * size());
        const std::span<std::byte> tails = std::span(heard_).subspan(heads.size(), second * size());
        if (const status bad = wire_.exchange(said.first(first), heads, left(until))) return bad;
        if (second != 0)
            if (const status bad = wire_.exchange(said.subspan(first), tails, left(until))) return bad;
        for (rank_t r = 0; r != size(); ++r) {
            const std::span<std::byte> theirs = all.subspan(r * length, length);
            std::copy_n(heads.data() + r * first, length, theirs.data());
            bytes told{}, right{};
            std::copy_n(heads.data() + r * first + length, first - length, told.data());
            std::copy_n(tails.data() + r * second, second, told.data() + (first - length));
            if (!make_tag(theirs, r, right)) return {.code = errc::no_resources};
            if (!M::equal(told, right)) return {.code = errc::protocol_error, .peer = r};
            if (!apply_key(theirs, r)) return {.code = errc::no_resources};
        }
        return {};
    }
    static std::uint64_t left(std::uint64_t until) { return time_left(detail::steady_now_ns(), until); }

    std::unique_ptr<server_type> server_; // of the leader; outlives its end of the wire
    detail::jobs::launched_wire_up wire_;
    bytes key_; // of this meeting alone
    std::uint32_t epoch_, number_ = 0;
    std::uint64_t last_ns_;
    std::vector<std::byte> said_, heard_;
    status broken_{};
};

} // namespace bough

#endif
