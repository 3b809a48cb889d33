// SPDX-License-Identifier: BSL-1.0
// Mismatch: what differs between two ranks' calls of one operation.
#ifndef BOUGH_EXECUTE_MISMATCH_HPP
#define BOUGH_EXECUTE_MISMATCH_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/status.hpp>

#include <cstdint>

namespace bough {

// The first difference, in the order collective, op, type, count, root, plan. Pre: there is one.
inline status call_mismatch(const envelope& mine, const envelope& theirs, rank_t peer) noexcept {
    status s{.code = errc::call_mismatch, .peer = peer, .operation = mine.operation};
    const auto differ = [&s](mismatch what, std::uint64_t a, std::uint64_t b) {
        if (s.mismatch != mismatch::none || a == b) return;
        s.mismatch = what;
        s.mine = a;
        s.theirs = b;
    };
    differ(mismatch::collective, mine.signature.kind, theirs.signature.kind);
    differ(mismatch::op, mine.signature.op, theirs.signature.op);
    differ(mismatch::type, mine.signature.type, theirs.signature.type);
    differ(mismatch::count, mine.signature.count, theirs.signature.count);
    differ(mismatch::root, mine.signature.root, theirs.signature.root);
    differ(mismatch::plan, mine.plan, theirs.plan);
    return s;
}

} // namespace bough

#endif
