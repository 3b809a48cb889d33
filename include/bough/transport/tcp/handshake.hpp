// SPDX-License-Identifier: BSL-1.0
// The handshake of two ranks: it proves that a connection comes from a rank of the job. Pure
// functions over bytes; no socket, no clock.
//
//   the accepting rank                         the connecting rank
//   greeting {magic, nonce A}          ->
//                                      <-      proof  {magic, job, size, from, to, window, nonce B, mac}
//   answer   {magic, verdict, window, mac} ->
//                                      <-      seal   {magic}
//
// The seal follows a welcome. Until it is sent, the connecting rank may give the connection up;
// from then on the connection is the pair's. So both ranks come to the same view, even if one has
// waited too long for the other.
//
// Each begins with a magic: a mark, and the versions that its sender speaks (core/formats.hpp). A
// connecting rank that reads other versions sends its proof all the same, as the accepting rank then
// learns who it is; nobody believes more of it. For that the first 28 bytes of a proof never change.
//
// Both macs are HMAC-SHA256 under the key of the job. Each covers a label for the role, then the
// job, the size of the group, both ranks, both nonces, the window of the sender, and the answer's
// verdict. So no message passes for one of the other role, of another pair or job, or of an earlier
// handshake. The accepting rank sends nothing that needs the key before it has seen a proof. So
// strangers cannot make it compute macs for them.
#ifndef BOUGH_TRANSPORT_TCP_HANDSHAKE_HPP
#define BOUGH_TRANSPORT_TCP_HANDSHAKE_HPP

#include <bough/core/formats.hpp>
#include <bough/core/rank.hpp>
#include <bough/transport/tcp/mac.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

inline constexpr std::size_t greeting_bytes = 40, proof_bytes = 96, answer_bytes = 48, seal_bytes = 8;
using nonce = std::array<std::byte, 32>;
using greeting_message = std::array<std::byte, greeting_bytes>;
using proof_message = std::array<std::byte, proof_bytes>;
using answer_message = std::array<std::byte, answer_bytes>;
using seal_message = std::array<std::byte, seal_bytes>;

// A rank's window: how many KiB of short frames it takes in before it has used any up. This is the
// least that is legal.
inline constexpr std::uint32_t least_window_kib = 256;
constexpr std::uint64_t window_bytes(std::uint32_t kib) noexcept { return std::uint64_t{kib} << 10; }

// Who wants to talk to whom, in which job.
struct introduction {
    std::uint64_t job = 0;
    rank_t size = 0;
    rank_t from = no_rank;                       // the connecting rank
    rank_t to = no_rank;                         // the accepting rank
    std::uint32_t window_kib = least_window_kib; // of the connecting rank
    friend constexpr bool operator==(const introduction&, const introduction&) = default;
};

enum class tcp_verdict : std::uint32_t {
    welcome = 1, // the connection is the pair's
    taken = 2,   // the pair has another connection, or will have
};
struct tcp_answer {
    tcp_verdict verdict{};
    std::uint32_t window_kib = least_window_kib; // of the accepting rank
    friend constexpr bool operator==(const tcp_answer&, const tcp_answer&) = default;
};

namespace handshake_layout {

inline constexpr std::array<std::uint8_t, 8> magic{
    'b', 'g', 'h', 'T', machine_format, formats::tcp, formats::session, formats::plans};
inline constexpr std::size_t mark_bytes = 4; // the rest are versions
inline constexpr char proof_label[] = "bough tcp: I connect";
inline constexpr char answer_label[] = "bough tcp: I accept.";
static_assert(sizeof proof_label == 21 && sizeof answer_label == 21);

constexpr void put(std::span<std::byte> to, std::uint64_t value) noexcept {
    for (std::size_t i = 0; i != to.size(); ++i) to[i] = static_cast<std::byte>(value >> (8 * i) & 0xff);
}
constexpr std::uint64_t get(std::span<const std::byte> from) noexcept {
    std::uint64_t value = 0;
    for (std::size_t i = from.size(); i-- != 0;) value = value << 8 | std::to_integer<std::uint64_t>(from[i]);
    return value;
}
constexpr void put_magic(std::span<std::byte> message) noexcept {
    for (std::size_t i = 0; i != 8; ++i) message[i] = static_cast<std::byte>(magic[i]);
}
constexpr bool has_magic(std::span<const std::byte> message) noexcept {
    for (std::size_t i = 0; i != 8; ++i)
        if (message[i] != static_cast<std::byte>(magic[i])) return false;
    return true;
}
constexpr bool has_mark(std::span<const std::byte> message) noexcept {
    for (std::size_t i = 0; i != mark_bytes; ++i)
        if (message[i] != static_cast<std::byte>(magic[i])) return false;
    return true;
}

// The mac of a message whose role has this label.
template <Mac M>
bool mac_of(const job_key& key, std::span<const char, 21> label, const introduction& who, const nonce& accepting,
            const nonce& connecting, const tcp_answer& said, std::span<std::byte, mac_bytes> tag) {
    std::array<std::byte, 20 + 28 + 64> text{};
    for (std::size_t i = 0; i != 20; ++i) text[i] = static_cast<std::byte>(label[i]);
    const auto rest = std::span(text).subspan(20);
    put(rest.subspan(0, 8), who.job);
    put(rest.subspan(8, 4), who.size);
    put(rest.subspan(12, 4), who.from);
    put(rest.subspan(16, 4), who.to);
    put(rest.subspan(20, 4), static_cast<std::uint32_t>(said.verdict));
    put(rest.subspan(24, 4), said.window_kib);
    std::copy(accepting.begin(), accepting.end(), rest.begin() + 28);
    std::copy(connecting.begin(), connecting.end(), rest.begin() + 60);
    return M::authenticate(key.bytes(), text, tag);
}

} // namespace handshake_layout

// A rank whose messages have other versions than this one's: what differs, as compare_builds() says.
// ok: they have the same. Pre: has_mark(message).
constexpr status builds_of(std::span<const std::byte> message, rank_t peer) noexcept {
    const auto card_of = [](const auto& m) {
        const auto at = [&m](std::size_t i) { return static_cast<std::uint8_t>(m[i]); };
        build_card c = build_card_of(wire_format::tcp);
        c[4] = at(4), c[6] = at(6), c[7] = at(7), c[9] = at(5);
        return c;
    };
    return compare_builds(card_of(handshake_layout::magic), card_of(message), peer);
}
// Of a proof with other versions: its sender's build, if it names itself a rank of this group. Pre:
// has_mark(m), and 28 bytes have come.
constexpr status other_build(const introduction& mine, const proof_message& m) noexcept {
    using handshake_layout::get;
    const std::span<const std::byte> bytes(m);
    const auto from = static_cast<rank_t>(get(bytes.subspan(20, 4)));
    const bool is_ours = get(bytes.subspan(8, 8)) == mine.job && get(bytes.subspan(16, 4)) == mine.size &&
                         get(bytes.subspan(24, 4)) == mine.to && from < mine.size && from != mine.to;
    return is_ours ? builds_of(bytes, from) : status{};
}

constexpr greeting_message make_greeting(const nonce& accepting) noexcept {
    greeting_message m{};
    handshake_layout::put_magic(m);
    for (std::size_t i = 0; i != accepting.size(); ++i) m[8 + i] = accepting[i];
    return m;
}
constexpr bool read_greeting(const greeting_message& m, nonce& accepting) noexcept {
    if (!handshake_layout::has_magic(m)) return false;
    for (std::size_t i = 0; i != accepting.size(); ++i) accepting[i] = m[8 + i];
    return true;
}

constexpr seal_message make_seal() noexcept {
    seal_message m{};
    handshake_layout::put_magic(m);
    return m;
}

template <Mac M>
bool make_proof(const job_key& key, const introduction& who, const nonce& accepting, const nonce& connecting,
                proof_message& m) {
    using namespace handshake_layout;
    m = {};
    const std::span<std::byte> bytes(m);
    put_magic(m);
    put(bytes.subspan(8, 8), who.job);
    put(bytes.subspan(16, 4), who.size);
    put(bytes.subspan(20, 4), who.from);
    put(bytes.subspan(24, 4), who.to);
    put(bytes.subspan(28, 4), who.window_kib);
    std::copy(connecting.begin(), connecting.end(), m.begin() + 32);
    return mac_of<M>(key, proof_label, who, accepting, connecting, {{}, who.window_kib},
                     std::span(m).template subspan<64, mac_bytes>());
}

// Reads what a proof claims, without checking it. False: the message does not have the form of a
// proof.
constexpr bool read_proof(const proof_message& m, introduction& who, nonce& connecting) noexcept {
    using namespace handshake_layout;
    const std::span<const std::byte> bytes(m);
    if (!has_magic(m) || get(bytes.subspan(28, 4)) < least_window_kib) return false;
    who.job = get(bytes.subspan(8, 8));
    who.size = static_cast<rank_t>(get(bytes.subspan(16, 4)));
    who.from = static_cast<rank_t>(get(bytes.subspan(20, 4)));
    who.to = static_cast<rank_t>(get(bytes.subspan(24, 4)));
    who.window_kib = static_cast<std::uint32_t>(get(bytes.subspan(28, 4)));
    for (std::size_t i = 0; i != connecting.size(); ++i) connecting[i] = m[32 + i];
    return true;
}

// Is it a proof by a rank of this group, for this rank and this greeting? Then `who.from` is that
// rank. `mine`: what must be claimed, apart from the connecting rank and its window.
template <Mac M>
bool check_proof(const job_key& key, const introduction& mine, const nonce& accepting, const proof_message& m,
                 introduction& who, nonce& connecting) {
    if (!read_proof(m, who, connecting)) return false;
    if (who.job != mine.job || who.size != mine.size || who.to != mine.to) return false;
    if (who.from >= who.size || who.from == who.to) return false;
    std::array<std::byte, mac_bytes> tag{};
    if (!handshake_layout::mac_of<M>(key, handshake_layout::proof_label, who, accepting, connecting,
                                     {{}, who.window_kib}, tag))
        return false;
    return M::equal(tag, std::span(m).template subspan<64, mac_bytes>());
}

// Is there no memory to make a MAC? Then a check that fails says nothing about the message.
template <Mac M>
bool is_short_of_macs() {
    std::array<std::byte, mac_bytes> key{}, tag{};
    return !M::authenticate(key, {}, tag);
}

template <Mac M>
bool make_answer(const job_key& key, const introduction& who, const nonce& accepting, const nonce& connecting,
                 const tcp_answer& said, answer_message& m) {
    using namespace handshake_layout;
    m = {};
    put_magic(m);
    put(std::span(m).subspan(8, 4), static_cast<std::uint32_t>(said.verdict));
    put(std::span(m).subspan(12, 4), said.window_kib);
    return mac_of<M>(key, answer_label, who, accepting, connecting, said,
                     std::span(m).template subspan<16, mac_bytes>());
}

template <Mac M>
bool check_answer(const job_key& key, const introduction& who, const nonce& accepting, const nonce& connecting,
                  const answer_message& m, tcp_answer& said) {
    using namespace handshake_layout;
    const auto word = static_cast<std::uint32_t>(get(std::span(m).subspan(8, 4)));
    const tcp_answer claimed{static_cast<tcp_verdict>(word),
                             static_cast<std::uint32_t>(get(std::span(m).subspan(12, 4)))};
    if (!has_magic(m) || claimed.window_kib < least_window_kib || word < 1 || word > 2) return false;
    std::array<std::byte, mac_bytes> tag{};
    if (!mac_of<M>(key, answer_label, who, accepting, connecting, claimed, tag)) return false;
    if (!M::equal(tag, std::span(m).template subspan<16, mac_bytes>())) return false;
    said = claimed;
    return true;
}

} // namespace bough::detail

#endif
