// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/core/status.hpp>

#include <set>
#include <string_view>
#include <type_traits>

using namespace bough;

namespace {

constexpr errc codes[] = {errc::ok,           errc::invalid_argument, errc::deadline,       errc::peer_dead,
                          errc::peer_aborted, errc::call_mismatch,    errc::protocol_error, errc::group_poisoned,
                          errc::cancelled,    errc::op_threw,         errc::size_overflow,  errc::no_resources,
                          errc::unsupported,  errc::forked_child,     errc::would_block,    errc::no_majority};

// The numbers travel and are stored: each code keeps its own for ever. New ones are added at the end.
constexpr bool numbers_are_stable() {
    int expected = 0;
    for (const errc code : codes)
        if (static_cast<int>(code) != expected++) return false;
    return expected == static_cast<int>(last_errc) + 1;
}
static_assert(numbers_are_stable());

static_assert(!status{} && status{errc::deadline});
static_assert(std::is_trivially_copyable_v<status>);
static_assert(invalid_argument("size: why") && invalid_argument("size: why").code == errc::invalid_argument);
static_assert(std::string_view(invalid_argument("size: why").argument) == "size: why");
static_assert(static_cast<int>(mismatch::none) == 0 && static_cast<int>(mismatch::segment) == 8);

} // namespace

// Two literals with the same letters, as two translation units have them.
constexpr char here[] = "data: null", there[] = "data: null";
static_assert(invalid_argument(here) == invalid_argument(there));
static_assert(!(invalid_argument(here) == invalid_argument("data")));
static_assert(!(invalid_argument(here) == invalid_argument(nullptr)));
static_assert(invalid_argument(nullptr) == invalid_argument(nullptr));

TEST_CASE("every code has a sentence of its own") {
    std::set<std::string_view> sentences;
    for (const errc code : codes) {
        REQUIRE_FALSE(std::string_view(describe(code)).empty());
        REQUIRE(sentences.insert(describe(code)).second);
        REQUIRE(std::string_view(describe(code)) != describe(static_cast<errc>(200)));
    }
    REQUIRE(std::string_view(describe(static_cast<errc>(200))) == "unknown error");
}
