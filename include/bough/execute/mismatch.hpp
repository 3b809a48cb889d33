// SPDX-License-Identifier: BSL-1.0
// Mismatch: what differs between two ranks' calls of one operation; and the notice by which a failure is told to others.
#ifndef BOUGH_EXECUTE_MISMATCH_HPP
#define BOUGH_EXECUTE_MISMATCH_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/status.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace bough {

// Are these of one call, as its number says?
inline bool same_call(const envelope& a, const envelope& b) noexcept {
    return a.operation == b.operation && a.context == b.context;
}

inline bool differ(const envelope& a, const envelope& b) noexcept {
    return a.signature != b.signature || a.plan != b.plan;
}
// The first difference, in the order collective, op, type, count, root, plan. Pre: there is one.
inline status call_mismatch(const envelope& mine, const envelope& theirs, rank_t peer) noexcept {
    status s{.code = errc::call_mismatch, .peer = peer, .operation = mine.operation};
    const auto look = [&s](mismatch what, std::uint64_t a, std::uint64_t b) {
        if (s.mismatch != mismatch::none || a == b) return;
        s.mismatch = what;
        s.mine = a;
        s.theirs = b;
    };
    look(mismatch::collective, mine.signature.kind, theirs.signature.kind);
    look(mismatch::op, mine.signature.op, theirs.signature.op);
    look(mismatch::type, mine.signature.type, theirs.signature.type);
    look(mismatch::count, mine.signature.count, theirs.signature.count);
    look(mismatch::root, mine.signature.root, theirs.signature.root);
    look(mismatch::plan, mine.plan, theirs.plan);
    return s;
}

// A call that a peer refused to start.
inline status refused_call(rank_t peer, std::uint32_t operation) noexcept {
    return {.code = errc::peer_aborted, .cause = errc::invalid_argument, .peer = peer, .operation = operation};
}
// What a call on a group that `why` has broken ends with.
inline status poisoned(status why) noexcept {
    if (why.code != errc::peer_aborted) why.cause = why.code;
    why.code = errc::group_poisoned;
    return why;
}

// The payload of an abort: what its sender knows. 24 bytes, so that it rides with its envelope.
struct abort_notice {
    std::uint64_t mine = 0, theirs = 0; // of a mismatch
    rank_t peer = no_rank;              // whose fault it was
    errc code = errc::protocol_error;   // the first cause
    bough::mismatch differs = mismatch::none;
    std::uint16_t unused = 0;

    static abort_notice of(const status& s) noexcept {
        return {s.mine, s.theirs, s.peer, s.code == errc::peer_aborted ? s.cause : s.code, s.mismatch, 0};
    }
    // Anything but a notice reads as a protocol_error.
    static abort_notice read(std::span<const std::byte> bytes) noexcept {
        abort_notice said;
        if (bytes.size() != sizeof said) return said;
        std::memcpy(&said, bytes.data(), sizeof said);
        if (said.code == errc::ok || said.code > errc::would_block || said.differs > mismatch::segment) return {};
        return said;
    }
    // What its receiver reports.
    status as_status(rank_t sender, std::uint32_t operation) const noexcept {
        return {.code = errc::peer_aborted,
                .cause = code,
                .mismatch = differs,
                .peer = peer == no_rank ? sender : peer,
                .operation = operation,
                .mine = mine,
                .theirs = theirs};
    }
};
static_assert(sizeof(abort_notice) == 24);

} // namespace bough

#endif
