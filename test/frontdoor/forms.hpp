// SPDX-License-Identifier: BSL-1.0
// A front door comes in three forms: one throws, two leave an error. They must agree.
#ifndef BOUGH_TEST_FRONTDOOR_FORMS_HPP
#define BOUGH_TEST_FRONTDOOR_FORMS_HPP

#include "support/catch.hpp"
#include <bough/error.hpp>

#include <string>
#include <system_error>

namespace test {

// call(), call(std::error_code&) and call(status&) all end with `code`, naming `argument` if there is one.
template <class F>
void check_forms(F&& call, bough::errc code, const std::string& argument = "") {
    bough::status s;
    s.code = bough::errc::forked_child; // is overwritten, with success too
    call(s);
    CHECK(s.code == code);
    std::error_code ec = std::make_error_code(std::errc::io_error);
    call(ec);
    CHECK(ec == bough::make_error_code(code));
    try {
        call();
        CHECK(code == bough::errc::ok);
    } catch (const bough::error& e) {
        CHECK(e.code() == bough::make_error_code(code));
        CHECK(e.details().code == s.code);
        CHECK(e.details().cause == s.cause);
        const std::string what = e.what();
        CAPTURE(what, argument);
        CHECK(what.find(bough::describe(code)) != std::string::npos);
        CHECK(what.find(argument) != std::string::npos);
    }
    const std::string named = s.argument == nullptr ? "" : s.argument;
    CAPTURE(named);
    CHECK(named.substr(0, argument.size()) == argument);
    CHECK(named.empty() == argument.empty());
}

} // namespace test

#endif
