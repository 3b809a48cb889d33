// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/error.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/identity.hpp>
#include <bough/op/rounded_once.hpp>
#include <bough/op/small_float.hpp>
#include <bough/schedule/goal.hpp>

#include <string>

using namespace bough;

TEST_CASE("error: codes are std::error_codes, and map to the conditions of the standard") {
    static_assert(std::is_error_code_enum_v<errc>);
    const std::pair<errc, std::errc> known[] = {
        {errc::invalid_argument, std::errc::invalid_argument}, {errc::deadline, std::errc::timed_out},
        {errc::peer_dead, std::errc::connection_reset},        {errc::peer_aborted, std::errc::connection_aborted},
        {errc::call_mismatch, std::errc::protocol_error},      {errc::protocol_error, std::errc::protocol_error},
        {errc::group_poisoned, std::errc::not_connected},      {errc::cancelled, std::errc::operation_canceled},
        {errc::size_overflow, std::errc::value_too_large},     {errc::no_resources, std::errc::not_enough_memory},
        {errc::unsupported, std::errc::not_supported},         {errc::forked_child, std::errc::operation_not_permitted},
        {errc::would_block, std::errc::operation_would_block}, {errc::no_majority, std::errc::not_connected},
    };
    for (const auto& [code, condition] : known) {
        const std::error_code ec = code;
        CHECK(ec);
        CHECK(ec == condition);
        CHECK(ec == make_error_code(code));
        CHECK(ec.category() == error_category());
        CHECK(ec.message() == describe(code));
    }
    CHECK_FALSE(std::error_code(errc::ok));
    CHECK(std::error_code(errc::op_threw).default_error_condition().category() == error_category());
    CHECK(std::string(error_category().name()) == "bough");
    // The same object in every translation unit, and for values that no code has.
    CHECK(std::error_code(200, error_category()).message() == "unknown error");
}

TEST_CASE("error: the exception carries the whole status, and says it in a sentence") {
    const status s{.code = errc::call_mismatch,
                   .mismatch = mismatch::count,
                   .peer = 3,
                   .operation = 12,
                   .mine = 100,
                   .theirs = 99};
    const error e(s);
    CHECK(e.details() == s);
    CHECK(e.code() == errc::call_mismatch);
    const std::string what = e.what();
    CHECK(what.find("the count differs (100 here, 99 there)") == 0);
    const std::size_t call = what.find(describe(errc::call_mismatch));
    CHECK((call != std::string::npos && call == what.rfind(describe(errc::call_mismatch)))); // once
    CHECK(what.find("rank 3") != std::string::npos);
    CHECK(what.find("operation 12") != std::string::npos);
    CHECK(message_of({.code = errc::group_poisoned, .cause = errc::deadline}).find("first cause") != std::string::npos);
    CHECK(message_of(invalid_argument("root: not a rank")) == "root: not a rank: invalid argument");
    CHECK(message_of({}) == describe(errc::ok));
    status values = invalid_argument("RANK: is {mine}, below {mine} is {theirs}");
    values.peer = 4;
    values.mine = 7;
    values.theirs = 3;
    CHECK(message_of(values) == "RANK: is 7, below 7 is 3, rank 4: invalid argument");
    values.argument = "RANK: on rank {peer}";
    CHECK(message_of(values) == "RANK: on rank 4: invalid argument");
    for (int m = 1; m <= static_cast<int>(mismatch::segment); ++m)
        CHECK(message_of({.code = errc::call_mismatch, .mismatch = static_cast<mismatch>(m)}).find(" differs") !=
              std::string::npos);
    CHECK(error(s, "here").what() == "here: " + what);
    CHECK(std::string(error({.code = errc::deadline}, "here").what()) ==
          std::string("here: ") + describe(errc::deadline));
    const auto said = [](mismatch part, std::uint64_t mine, std::uint64_t theirs) {
        return message_of({.code = errc::call_mismatch, .mismatch = part, .mine = mine, .theirs = theirs});
    };
    CHECK(said(mismatch::segment, 0, 3) == "a message differs from what was expected (its number is 3): the ranks did "
                                           "not make the same call");
    CHECK(said(mismatch::type, type_identity<double>(), type_identity<float>())
              .starts_with("the element type differs (double here, float there): "));
    CHECK(said(mismatch::op, op_identity<plus>(), 0x1234)
              .starts_with("the op differs (plus here, 0x0000000000001234 there): "));
    const std::uint64_t half =
        op_with_values(op_identity<rounded_once<>>(), rounded_once<>{.after = 0.5f}.hash_of_values());
    const std::uint64_t whole = op_with_values(op_identity<rounded_once<>>(), rounded_once<>{}.hash_of_values());
    CHECK(said(mismatch::op, half, whole)
              .starts_with(
                  "the op differs in its numbers, such as a scale before or after (rounded_once on both ranks): "));
    CHECK(
        said(mismatch::op, half, op_identity<plus>()).starts_with("the op differs (rounded_once here, plus there): "));
    CHECK(said(mismatch::type, type_identity<bf16>(), type_identity<fp8_e4m3>())
              .starts_with("the element type differs (bf16 here, fp8_e4m3 there): "));
    CHECK(said(mismatch::collective, goal::allreduce::kind, goal::barrier::kind)
              .starts_with("the collective differs (allreduce here, barrier there): "));
    CHECK(said(mismatch::collective, goal::alltoall::kind, goal::multicasts::kind)
              .starts_with("the collective differs (alltoall here, multicasts there): "));
    CHECK(said(mismatch::collective, 0, 99).starts_with("the collective differs (0 here, 99 there): "));
    CHECK(said(mismatch::root, 1, 2).starts_with("the root differs (1 here, 2 there): "));
    // A rank that was told may have made either call: it says who made which, not "here".
    status told{.code = errc::peer_aborted,
                .cause = errc::call_mismatch,
                .mismatch = mismatch::op,
                .peer = 4,
                .operation = 2,
                .mine = op_identity<multiplies>(),
                .theirs = op_identity<plus>()};
    CHECK(message_of(told) ==
          "the op differs (plus on rank 4, multiplies on another rank), first cause: the ranks did not make "
          "the same call, operation 2: a peer gave up the operation");
    told.code = errc::group_poisoned;
    CHECK(message_of(told).starts_with("the op differs (plus on rank 4, multiplies on another rank), first cause: "));
    told.peer = no_rank;
    CHECK(message_of(told).starts_with("the op differs (multiplies on one rank, plus on another), first cause: "));
    CHECK_NOTHROW(detail::throw_if({}));
    CHECK_THROWS_AS(detail::throw_if(s), std::system_error);
}

TEST_CASE("error: a deadline says who was missing, in the same sentence wherever it is reported") {
    status s{.code = errc::deadline,
             .collective = 2,
             .peer = 5,
             .operation = 17,
             .missing = 1,
             .mine = 1 << 5,
             .theirs = last_call{.operation = 16, .collective = 3, .absence = absence::not_come}.packed()};
    const std::string end = ": the operation did not end by its deadline";
    CHECK(message_of(s) == "rank 5 has not come to allreduce #17 (its last call was broadcast #16)" + end);
    CHECK(std::string(error(s).what()) == message_of(s));
    status heard = s;
    heard.code = errc::peer_aborted;
    heard.cause = errc::deadline;
    CHECK(message_of(heard) == message_of(s));
    CHECK(std::string(error(heard).what()).find(message_of(s)) == 0);
    heard.code = errc::group_poisoned;
    CHECK(message_of(heard) == message_of(s) + ": an earlier operation on this group failed");

    const auto with = [&](last_call last, std::uint16_t missing = 1, std::uint64_t which = 1 << 5) {
        status other = s;
        other.theirs = last.packed();
        other.missing = missing;
        other.mine = which;
        return message_of(other).substr(0, message_of(other).find(end));
    };
    CHECK(with({.absence = absence::silent}) == "rank 5 is missing in allreduce #17 (it does not answer)");
    CHECK(with({.absence = absence::not_come}) == "rank 5 has not come to allreduce #17 (it has made no call)");
    CHECK(with({.operation = 3, .context = 2, .collective = 4, .absence = absence::elsewhere}) ==
          "rank 5 has not come to allreduce #17 (it is in barrier #3 of communicator 2)");
    CHECK(with({.absence = absence::late}) == "this rank, 5, came too late to allreduce #17");
    CHECK(with({.absence = absence::silent}, 2, 0x60) ==
          "ranks 5 and 6 are missing in allreduce #17 (rank 5 does not answer)");
    CHECK(
        with({.operation = 9, .absence = absence::not_come}, 300, 0x60) ==
        "ranks 5, 6 and at least 298 others have not come to allreduce #17 (the last call of rank 5 was operation #9)");
    CHECK(with({.absence = absence::silent}, 11, 0x7fe0) ==
          "ranks 5, 6, 7, 8, 9, 10, 11, 12 and 3 others are missing in allreduce #17 (rank 5 does not answer)");

    // Nobody knows who it was: then nobody is named.
    CHECK(message_of({.code = errc::deadline, .collective = 2, .operation = 17}) == "allreduce #17" + end);
    CHECK(message_of({.code = errc::deadline}) == describe(errc::deadline));
    CHECK(message_of(came_too_late(3)) == "this rank, 3, came too late" + end);
    CHECK((names_missing(s) && is_missing(s, 5) && !is_missing(s, 6) && !is_missing(s, 69)));
    CHECK_FALSE((names_missing({.code = errc::peer_dead, .peer = 1, .missing = 1}) || is_missing({}, 0)));
}
