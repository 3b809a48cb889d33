// SPDX-License-Identifier: BSL-1.0
// Mismatch: what differs between two ranks' calls of one operation. Also the notice by which a rank
// tells others of a failure.
#ifndef BOUGH_SESSION_MISMATCH_HPP
#define BOUGH_SESSION_MISMATCH_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/status.hpp>
#include <bough/op/identity.hpp>
#include <bough/schedule/goal.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace bough::inline BOUGH_ABI {

// Do these have the number of one call?
inline bool same_call(const envelope& a, const envelope& b) noexcept {
    return a.operation == b.operation && a.context == b.context;
}

// Do two messages belong to different calls?
inline bool differ(const envelope& a, const envelope& b) noexcept {
    return !(a.digest == b.digest) || a.kind != b.kind || a.root != b.root;
}
// What differs if the op does. (Ranks that take no part in a multicast: bough/op/names.hpp.)
constexpr mismatch op_mismatch(std::uint8_t kind) noexcept {
    return kind == goal::multicast::kind ? mismatch::members : mismatch::op;
}
// The first difference, in the order name, collective, op, type, count, root, plan; an op that differs in its
// numbers alone comes behind the count. protocol_error: there
// is none, so the message that differed was not the one that its sender had made.
inline status call_mismatch(const call_signature& mine, const call_signature& theirs, rank_t peer,
                            std::uint32_t operation) noexcept {
    status s{.code = errc::protocol_error, .peer = peer, .operation = operation};
    const auto look = [&s](mismatch what, std::uint64_t a, std::uint64_t b) {
        if (s.mismatch != mismatch::none || a == b) return;
        s.code = errc::call_mismatch;
        s.mismatch = what;
        if (what == mismatch::members) return; // there are no values
        s.mine = a;
        s.theirs = b;
    };
    look(mismatch::name, mine.name, theirs.name);
    look(mismatch::collective, mine.kind, theirs.kind);
    if (differ_in_values(mine.op, theirs.op)) { // or one call runs on states, and the other in series
        look(mismatch::count, mine.count, theirs.count);
        if (mine.type != theirs.type) look(mismatch::plan, mine.plan, theirs.plan);
    }
    look(op_mismatch(mine.kind), mine.op, theirs.op);
    look(mismatch::type, mine.type, theirs.type);
    look(mismatch::count, mine.count, theirs.count);
    look(mismatch::root, mine.root, theirs.root);
    look(mismatch::plan, mine.plan, theirs.plan);
    return s;
}
// The same, as far as two envelopes tell: what differs. The values are known only for the
// collective, as envelopes have only a few bits of the others. mismatch::none: the calls differ in
// bits that envelopes do not have.
inline status call_mismatch(const envelope& mine, const envelope& theirs, rank_t peer) noexcept {
    status s{.code = errc::call_mismatch, .peer = peer, .operation = mine.operation};
    const auto look = [&s](mismatch what, bool differs) {
        if (s.mismatch == mismatch::none && differs) s.mismatch = what;
    };
    look(mismatch::collective, mine.kind != theirs.kind);
    look(op_mismatch(mine.kind), mine.digest.op != theirs.digest.op);
    look(mismatch::type, mine.digest.type != theirs.digest.type);
    look(mismatch::count, mine.digest.count != theirs.digest.count);
    look(mismatch::root, mine.root != theirs.root);
    look(mismatch::plan, mine.digest.plan != theirs.digest.plan);
    if (s.mismatch == mismatch::collective) {
        s.mine = mine.kind;
        s.theirs = theirs.kind;
    }
    return s;
}

// A message that this rank's plan does not expect.
inline status unexpected_message(const event& e) noexcept {
    return {.code = errc::call_mismatch,
            .mismatch = mismatch::segment,
            .peer = e.peer,
            .operation = e.envelope.operation,
            .theirs = e.envelope.segment};
}
// The result of a call on a group that `why` has broken.
inline status poisoned(status why) noexcept {
    if (why.code != errc::peer_aborted) why.cause = why.code;
    why.code = errc::group_poisoned;
    return why;
}

// The result of a call on a communicator of an earlier epoch.
inline status outlived() noexcept {
    return {.code = errc::group_poisoned, .argument = "comm: shrink() has put another one in its place"};
}

// The payload of an abort, and of a refusal: what its sender knows. It has 24 bytes, so it travels
// with its envelope, which has the number of the operation and of its communicator.
struct abort_notice {
    // The two values of a mismatch; for a deadline see bough/core/absence.hpp.
    std::uint64_t mine = 0, theirs = 0;
    rank_t peer = no_rank;            // whose fault it was
    errc code = errc::protocol_error; // the first cause
    bough::mismatch differs = mismatch::none;
    std::uint8_t collective = 0;
    std::uint8_t missing = 0;

    static abort_notice of(const status& s) noexcept {
        const errc first = s.code == errc::peer_aborted ? s.cause : s.code;
        const auto missing = static_cast<std::uint8_t>(s.missing < 255 ? s.missing : 255);
        return {s.mine, s.theirs, s.peer, first, s.mismatch, s.collective, missing};
    }
    // Any other payload reads as a protocol_error.
    static abort_notice read(std::span<const std::byte> bytes) noexcept {
        abort_notice said;
        if (bytes.size() != sizeof said) return said;
        std::memcpy(&said, bytes.data(), sizeof said);
        if (said.code == errc::ok || said.code > last_errc || said.differs > mismatch::name) return {};
        return said;
    }
    // What the receiver reports. If the notice names no peer, the sender is meant; but not for a
    // deadline, as then the sender only waited.
    status as_status(rank_t sender, std::uint32_t operation, std::uint16_t context = 0) const noexcept {
        return {.code = errc::peer_aborted,
                .cause = code,
                .mismatch = differs,
                .collective = collective,
                .peer = peer == no_rank && code != errc::deadline ? sender : peer,
                .operation = operation,
                .context = context,
                .missing = missing,
                .mine = mine,
                .theirs = theirs};
    }
};
static_assert(sizeof(abort_notice) == 24);

} // namespace bough

#endif
