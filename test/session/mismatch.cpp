// SPDX-License-Identifier: BSL-1.0
// What two signatures or two envelopes say of the difference between two calls, and what of a failure goes through a notice.
#include "support/catch.hpp"
#include <bough/session/mismatch.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

using namespace bough;

namespace {

// A change of a signature, and what differs then. In the order in which differences are looked for.
struct change {
    mismatch what;
    void (*make)(call_signature&);
};
constexpr std::array<change, 6> changes{{{mismatch::collective, [](call_signature& s) { s.kind = 9; }},
                                         {mismatch::op, [](call_signature& s) { s.op = 9; }},
                                         {mismatch::type, [](call_signature& s) { s.type = 9; }},
                                         {mismatch::count, [](call_signature& s) { s.count = 9; }},
                                         {mismatch::root, [](call_signature& s) { s.root = 9; }},
                                         {mismatch::plan, [](call_signature& s) { s.plan = 9; }}}};
const call_signature usual{.count = 1, .op = 2, .type = 3, .plan = 4, .root = 5, .kind = 6};

envelope of(const call_signature& s) {
    envelope tag;
    tag.operation = 12;
    sign(tag, s);
    return tag;
}
std::span<const std::byte> bytes_of(const abort_notice& said) { return std::as_bytes(std::span(&said, 1)); }

} // namespace

TEST_CASE("mismatch: the first difference in order counts, with both values") {
    for (std::size_t first = 0; first != changes.size(); ++first)
        for (std::size_t second = first; second != changes.size(); ++second) {
            call_signature theirs = usual;
            changes[first].make(theirs);
            changes[second].make(theirs);
            const status said = call_mismatch(usual, theirs, 3, 12);
            CAPTURE(first, second);
            CHECK(said.code == errc::call_mismatch);
            CHECK(said.mismatch == changes[first].what);
            CHECK(said.peer == 3);
            CHECK(said.operation == 12);
            CHECK(said.mine != 9);
            CHECK(said.theirs == 9);

            CHECK(differ(of(usual), of(theirs)));
            const status seen = call_mismatch(of(usual), of(theirs), 3);
            CHECK(seen.mismatch == changes[first].what);
            CHECK(seen.operation == 12);
            CHECK((seen.mine == 6 && seen.theirs == 9) ==
                  (first == 0)); // envelopes tell the value of the collective alone
        }
}

TEST_CASE("mismatch: a call with a name differs first of all from one with another name, or with none") {
    for (const std::uint16_t name : {std::uint16_t{0}, std::uint16_t{8}}) {
        call_signature theirs = usual, mine = usual;
        mine.name = 7;
        theirs.name = name;
        CHECK(differ(of(mine), of(theirs)));
        theirs.op = 9;
        const status said = call_mismatch(mine, theirs, 3, 12);
        CHECK(said.mismatch == mismatch::name);
        CHECK(said.mine == 7);
        CHECK(said.theirs == name);
    }
}

TEST_CASE("mismatch: equal signatures are no mismatch, and a message that differs all the same breaks the protocol") {
    CHECK_FALSE(differ(of(usual), of(usual)));
    CHECK(call_mismatch(usual, usual, 3, 12).code == errc::protocol_error);
}

TEST_CASE("mismatch: what differs in bits that envelopes do not have is told apart, but not named") {
    call_signature theirs = usual;
    theirs.count += 1u << 16;
    CHECK(differ(of(usual), of(theirs)));
    const status seen = call_mismatch(of(usual), of(theirs), 3);
    CHECK(seen.code == errc::call_mismatch);
    CHECK(seen.mismatch == mismatch::none);
}

TEST_CASE("mismatch: a call is the same if its number and its communicator are, whatever its signature") {
    envelope a = of(usual), b;
    b.operation = 12;
    CHECK(same_call(a, b));
    b.context = 1;
    CHECK_FALSE(same_call(a, b));
    a.context = 1;
    a.operation = 13;
    CHECK_FALSE(same_call(a, b));
}

TEST_CASE("abort_notice: what a rank knows arrives, and the receiver hears of an abort with that cause") {
    const status known{.code = errc::call_mismatch,
                       .mismatch = mismatch::count,
                       .collective = 4,
                       .peer = 2,
                       .mine = 1000,
                       .theirs = 2000};
    const status heard = abort_notice::read(bytes_of(abort_notice::of(known))).as_status(1, 12, 7);
    CHECK(heard == status{.code = errc::peer_aborted,
                          .cause = errc::call_mismatch,
                          .mismatch = mismatch::count,
                          .collective = 4,
                          .peer = 2,
                          .operation = 12,
                          .context = 7,
                          .mine = 1000,
                          .theirs = 2000});
    // What has been heard and is told again still has the first cause.
    CHECK(abort_notice::of(heard).code == errc::call_mismatch);
}

TEST_CASE("abort_notice: a notice without a peer is its sender's fault, unless its time was up") {
    CHECK(abort_notice::of({.code = errc::op_threw}).as_status(1, 0).peer == 1);
    CHECK(abort_notice::of({.code = errc::deadline}).as_status(1, 0).peer == no_rank);
    CHECK(abort_notice::of({.code = errc::deadline, .peer = 4, .missing = 1000}).as_status(1, 0).missing == 255);
}

TEST_CASE("abort_notice: each code arrives as it is, and each difference") {
    for (std::uint8_t code = 1; code <= static_cast<std::uint8_t>(last_errc); ++code) {
        const status s{.code = static_cast<errc>(code), .cause = errc::op_threw};
        const errc first = s.code == errc::peer_aborted ? s.cause : s.code;
        CHECK(abort_notice::read(bytes_of(abort_notice::of(s))).code == first);
        const status passed_on{.code = errc::peer_aborted, .cause = s.code};
        CHECK(abort_notice::read(bytes_of(abort_notice::of(passed_on))).code == s.code);
    }
    for (std::uint8_t m = 0; m <= static_cast<std::uint8_t>(mismatch::name); ++m) {
        const status s{.code = errc::call_mismatch, .mismatch = static_cast<mismatch>(m)};
        CHECK(abort_notice::read(bytes_of(abort_notice::of(s))).differs == s.mismatch);
    }
}

TEST_CASE("abort_notice: bytes that no rank writes are a protocol_error") {
    const abort_notice good = abort_notice::of({.code = errc::op_threw, .peer = 2});
    CHECK(abort_notice::read(bytes_of(good)).code == errc::op_threw);
    CHECK(abort_notice::read(bytes_of(good).first(23)).code == errc::protocol_error);
    CHECK(abort_notice::read({}).code == errc::protocol_error);
    const auto damaged = [&](auto&& damage) {
        abort_notice bad = good;
        damage(bad);
        const abort_notice read = abort_notice::read(bytes_of(bad));
        return read.code == errc::protocol_error && read.peer == no_rank;
    };
    CHECK(damaged([](abort_notice& n) { n.code = errc::ok; }));
    CHECK(damaged([](abort_notice& n) { n.code = static_cast<errc>(200); }));
    CHECK(damaged([](abort_notice& n) { n.code = static_cast<errc>(static_cast<int>(last_errc) + 1); }));
    CHECK(damaged([](abort_notice& n) { n.differs = static_cast<mismatch>(200); }));
}

TEST_CASE("poisoned: a later call on a broken group names the first cause, not that it was told") {
    const status first = poisoned({.code = errc::op_threw, .peer = 2});
    CHECK(first.code == errc::group_poisoned);
    CHECK(first.cause == errc::op_threw);
    CHECK(first.peer == 2);
    CHECK(poisoned({.code = errc::peer_aborted, .cause = errc::deadline}).cause == errc::deadline);
}
