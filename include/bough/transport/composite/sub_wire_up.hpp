// SPDX-License-Identifier: BSL-1.0
// sub_wire_up: the wire-up of one group of ranks, over that of all of them.
//
//   bough::sub_wire_up part{wire, groups};               // every rank of the wire-up makes one
//   auto link = bough::shared_memory::join(part, result);
//   result = part.finish(result, timeout_ns);            // every rank, when it needs it no more
//
// An exchange is collective, but groups exchange as often as they like: what goes over `wire` are rounds that all
// ranks take part in, saying either what their group exchanges or that they have finished. finish() returns after the
// round in which all have; then `wire` is free again.
// Complexity  a round moves 1 KiB of each rank; an exchange of up to 1020 bytes is one round
// Errors      of exchange: peer_aborted: a rank of the group has finished, `cause` is what it had; protocol_error: it
//             exchanges another number of bytes; what `wire` says. Ranks in a status are those of the group; in one of
//             finish, of `wire`
#ifndef BOUGH_TRANSPORT_COMPOSITE_SUB_WIRE_UP_HPP
#define BOUGH_TRANSPORT_COMPOSITE_SUB_WIRE_UP_HPP

#include <bough/algorithm/groups.hpp>
#include <bough/concepts/wire_up.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/status.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace bough {

template <WireUp W>
class sub_wire_up {
public:
    // Both outlive it. Pre: groups are those of the ranks of `wire`, the same on all.
    sub_wire_up(W& wire, const listed_groups& groups)
        : wire_(&wire), groups_(&groups), group_(groups.group_of(wire.size(), wire.rank())),
          heard_(most_wire_up_bytes * wire.size()) {
        BOUGH_EXPECTS(!groups.check(wire.size()), "groups: not those of the ranks of the wire-up");
    }

    rank_t rank() const noexcept { return groups_->place_of(wire_->size(), wire_->rank()); }
    rank_t size() const noexcept { return groups_->members(wire_->size(), group_); }

    status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns) {
        if (const status bad = check_exchange(mine, all, size())) return bad;
        const auto begin = clock::now();
        std::size_t at = 0;
        do {
            const std::size_t bytes = std::min(mine.size() - at, most_bytes);
            frame said{.bytes = static_cast<std::uint16_t>(bytes)};
            if (bytes != 0) std::memcpy(said.payload.data(), mine.data() + at, bytes);
            if (const status bad = round(said, left_ns(begin, timeout_ns))) return bad;
            for (rank_t place = 0; place != size(); ++place) {
                const frame theirs = heard(groups_->member(wire_->size(), group_, place));
                if (theirs.finished != 0)
                    return {.code = errc::peer_aborted, .cause = static_cast<errc>(theirs.code), .peer = place};
                if (theirs.bytes != bytes) return {.code = errc::protocol_error, .peer = place};
                if (bytes != 0) std::memcpy(all.data() + place * mine.size() + at, theirs.payload.data(), bytes);
            }
            at += bytes;
        } while (at != mine.size());
        return {};
    }

    // Pre: called once. Returns `mine` if it is an error; else peer_aborted if another rank has one, of any group.
    status finish(const status& mine, std::uint64_t timeout_ns) {
        const auto begin = clock::now();
        frame said{.finished = 1, .code = static_cast<std::uint8_t>(mine.code)};
        status result = mine;
        for (bool all = false; !all;) {
            if (const status bad = round(said, left_ns(begin, timeout_ns))) return mine ? mine : bad;
            all = true;
            for (rank_t r = 0; r != wire_->size(); ++r) {
                const frame theirs = heard(r);
                all = all && theirs.finished != 0;
                if (theirs.finished == 0 || theirs.code == 0) continue;
                // Who was only told of a failure is not its cause.
                const auto code = static_cast<errc>(theirs.code);
                if (!mine && (!result || (result.cause == errc::peer_aborted && code != errc::peer_aborted)))
                    result = {.code = errc::peer_aborted, .cause = code, .peer = r};
            }
        }
        return result;
    }

private:
    using clock = std::chrono::steady_clock;
    static constexpr std::size_t most_bytes = most_wire_up_bytes - 4;
    struct frame {
        std::uint16_t bytes = 0;
        std::uint8_t finished = 0;
        std::uint8_t code = 0; // of who has finished
        std::array<std::byte, most_bytes> payload{};
    };
    static_assert(sizeof(frame) == most_wire_up_bytes);

    static std::uint64_t left_ns(clock::time_point begin, std::uint64_t timeout_ns) {
        const auto spent = static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - begin).count());
        return spent < timeout_ns ? timeout_ns - spent : 0;
    }
    status round(const frame& said, std::uint64_t timeout_ns) {
        return wire_->exchange(std::as_bytes(std::span(&said, 1)), heard_, timeout_ns);
    }
    frame heard(rank_t r) const {
        frame f;
        std::memcpy(&f, heard_.data() + r * sizeof f, sizeof f);
        return f;
    }

    W* wire_;
    const listed_groups* groups_;
    rank_t group_;
    std::vector<std::byte> heard_; // of the last round, by rank of `wire`
};

} // namespace bough

#endif
