// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/core/plain_list.hpp>
#include <bough/core/search.hpp>

#include <array>
#include <cstddef>
#include <vector>

namespace detail = bough::detail;

namespace {

constexpr std::array<int, 5> numbers{3, 1, 4, 1, 5};
constexpr auto at_least(int least) {
    return [least](int n) { return n >= least; };
}

static_assert(detail::find_if(numbers, at_least(4)) == numbers.begin() + 2);
static_assert(detail::find_if(numbers, at_least(6)) == numbers.end());
static_assert(detail::find(numbers, 1) == numbers.begin() + 1); // the first of two
static_assert(detail::find(numbers, 2) == numbers.end());
static_assert(detail::any_of(numbers, at_least(5)) && !detail::any_of(numbers, at_least(6)));
static_assert(detail::contains(numbers, 5) && !detail::contains(numbers, 2));

} // namespace

TEST_CASE("search: of an empty list, of the last element, and through a list that may be changed") {
    std::vector<int> list;
    CHECK(detail::find(list, 1) == list.end());
    CHECK(detail::find_if(list, at_least(0)) == list.end());
    CHECK(!detail::any_of(list, at_least(0)));
    CHECK(!detail::contains(list, 0));
    list = {7, 8, 9};
    *detail::find(list, 9) = 10;
    *detail::find_if(list, at_least(8)) = 6;
    CHECK(list == std::vector<int>{7, 6, 10});
    detail::plain_list<int> other(3, 2);
    other.back() = 5;
    CHECK(detail::find(other, 5) - other.begin() == 2);
}
