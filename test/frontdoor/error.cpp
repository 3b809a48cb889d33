// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/error.hpp>

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
        {errc::would_block, std::errc::operation_would_block},
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
    for (int m = 1; m <= static_cast<int>(mismatch::segment); ++m)
        CHECK(message_of({.code = errc::call_mismatch, .mismatch = static_cast<mismatch>(m)}).find(" differs: ") !=
              std::string::npos);
    CHECK_NOTHROW(detail::throw_if({}));
    CHECK_THROWS_AS(detail::throw_if(s), std::system_error);
}
