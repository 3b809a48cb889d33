// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/core/formats.hpp>
#include <bough/error.hpp>

#include <set>
#include <string>

using namespace bough;
using namespace bough::detail;

namespace {
const build_card here = build_card_of(wire_format::tcp);
std::string words(const build_card& theirs) { return message_of(compare_builds(here, theirs, 3)); }
bool says(const build_card& theirs, const std::string& text) { return words(theirs).find(text) == 0; }
} // namespace

TEST_CASE("formats: builds of one kind fit, and any other version is told with both sides") {
    CHECK_FALSE(compare_builds(here, here, 3));
    build_card other = here;
    other[6] = 200;
    const status s = compare_builds(here, other, 3);
    CHECK((s.code == errc::protocol_error && s.mismatch == mismatch::version && s.peer == 3));
    CHECK((s.mine & 255) == formats::session);
    CHECK((s.theirs & 255) == 200);
    const std::string v = std::to_string(int{formats::session});
    CHECK(words(other) == "rank 3 speaks version 200 of the session's messages, this rank version " + v +
                              ": a peer sent what the protocol does not allow");
    // The same difference, from the other side.
    CHECK(message_of(compare_builds(other, here, 0))
              .find("rank 0 speaks version " + v + " of the session's messages, this rank version 200") == 0);
}
TEST_CASE("formats: every byte counts, but for those that a later version may use") {
    std::set<std::string> sentences;
    for (std::size_t i = 0; i != here.size(); ++i) {
        build_card other = here;
        other[i] = static_cast<std::uint8_t>(other[i] ^ 2);
        CHECK(static_cast<bool>(compare_builds(here, other, 1)) == (i < 10));
        if (i >= 4 && i < 10) sentences.insert(words(other));
    }
    CHECK(sentences.size() == 6);
    build_card stranger = here;
    stranger[0] = 'x';
    CHECK(compare_builds(here, stranger, 1).mismatch == mismatch::none);
}
TEST_CASE("formats: another machine, and another transport, have sentences of their own") {
    build_card other = here;
    other[4] = 4 | 2 << 4; // 32 bits, high byte first
    CHECK(says(other, "rank 3 is built for 32 bits and the high byte first, with 8 bytes aligned to 4, this rank for"));
    CHECK(says(build_card_of(wire_format::rdma), "rank 3 joins by version " + std::to_string(int{formats::rdma}) +
                                                     " of rdma, this rank by version " +
                                                     std::to_string(int{formats::tcp}) + " of the tcp frames"));
    other = here;
    other[7] = 9;
    CHECK(says(other, "rank 3 speaks version 9 of the plans, this rank version"));
    other = here;
    other[8] = 77; // a transport that this build does not know
    CHECK(words(other).find("an unknown format") != std::string::npos);
}
TEST_CASE("formats: all versions are there, and fit a byte of the card") {
    for (const wire_format f : {wire_format::joining, wire_format::session, wire_format::plans, wire_format::tcp,
                                wire_format::shared_memory, wire_format::mpi, wire_format::rdma, wire_format::meeting})
        CHECK(version_of(f) != 0);
    CHECK((machine_format & 15) == sizeof(void*));
}
