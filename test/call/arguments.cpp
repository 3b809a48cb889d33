// SPDX-License-Identifier: BSL-1.0
// The rules for the data of a call, at their borders. (What callers are told: test/frontdoor/refused.cpp)
#include "support/catch.hpp"
#include <bough/call/arguments.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>

using namespace bough;
using detail::check_data;
using detail::check_pair;

static_assert(ErrorResult<std::error_code> && ErrorResult<status> && !ErrorResult<errc> && !ErrorResult<int>);

TEST_CASE("arguments: data are there, and have a length that their bytes do not overflow") {
    const int x = 0;
    constexpr std::size_t most = ~std::size_t{0} / 2 / 4;
    CHECK_FALSE(check_data(nullptr, 0, 4));
    CHECK_FALSE(check_data(&x, most, 4));
    CHECK(check_data(&x, most + 1, 4).code == errc::size_overflow);
    CHECK(message_of(check_data(&x, most + 1, 4)).starts_with("data: more bytes than can be addressed: "));
    CHECK_FALSE(check_data(&x, ~std::size_t{0}, 0)); // elements without bytes
    const status null = check_data(nullptr, 1, 4);
    CHECK(null.code == errc::invalid_argument);
    CHECK(std::string(null.argument) == "data: null, but its count is not zero");
}

TEST_CASE("arguments: two vectors are one, or share no byte") {
    std::array<std::int32_t, 12> x{};
    const auto check = [&](std::size_t in, std::size_t out, std::size_t count) {
        const status bad = check_pair(x.data() + in, count, x.data() + out, count, 4);
        if (bad) CHECK(std::string(bad.argument) == "out: overlaps the input without being it");
        return !bad;
    };
    for (std::size_t in = 0; in <= 8; ++in)
        for (std::size_t out = 0; out <= 8; ++out) {
            CAPTURE(in, out);
            CHECK(check(in, out, 4) == (in == out || in + 4 <= out || out + 4 <= in));
            CHECK(check(in, out, 0));
        }
    CHECK(std::string(check_pair(x.data(), 4, x.data() + 4, 3, 4).argument) == "out: must be as long as the input");
    CHECK(check_pair(nullptr, 4, x.data(), 4, 4));
    CHECK(check_pair(x.data(), 4, nullptr, 4, 4));
}

TEST_CASE("arguments: a result is left as the caller wants it, success too") {
    std::error_code ec = make_error_code(errc::op_threw);
    status s{.code = errc::op_threw};
    const status found{.code = errc::deadline, .peer = 3};
    detail::report(found, ec);
    detail::report(found, s);
    CHECK(ec == make_error_code(errc::deadline));
    CHECK(s == found);
    detail::report({}, ec);
    detail::report({}, s);
    CHECK_FALSE(ec);
    CHECK_FALSE(s);
}

TEST_CASE("arguments: the signature of a call tells counts, roots, types and ops apart") {
    const call_signature usual = detail::signature_of<double, plus>(5, 2);
    CHECK(usual == detail::signature_of<double, plus>(5, 2));
    CHECK(usual.count == 5);
    CHECK(usual.root == 2);
    CHECK(detail::signature_of<double, max>(5, 2).op != usual.op);
    CHECK(detail::signature_of<double, max>(5, 2).type == usual.type);
    CHECK(detail::signature_of<float, plus>(5, 2).type != usual.type);
    CHECK(detail::signature_of<float, plus>(5, 2).op == usual.op);
}
