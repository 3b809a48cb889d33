// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/core/plain_list.hpp>
#include <bough/core/random.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

using bough::detail::plain_list;

namespace {

struct pair {
    std::uint32_t a = 7;
    std::uint64_t b = 9;
    friend constexpr bool operator==(const pair&, const pair&) = default;
};

bool same(const plain_list<pair>& a, const std::vector<pair>& b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

constexpr bool works_at_compile_time() {
    plain_list<int> x(3, 4);
    x.push_back(5);
    x.insert(x.begin(), 1);
    x.erase(x.begin() + 1);
    plain_list<int> y = x, z = std::move(x);
    y.erase_if([](int e) { return e == 4; });
    return z.size() == 4 && y.size() == 2 && y.front() == 1 && y.back() == 5 && x.empty();
}
static_assert(works_at_compile_time());

} // namespace

TEST_CASE("plain_list: does what a vector does, whatever is done to it") {
    bough::detail::split_mix random{bough_test::seed()};
    for (int life = 0; life != 50; ++life) {
        plain_list<pair> x;
        std::vector<pair> y;
        for (int turn = 0; turn != 300; ++turn) {
            const std::uint64_t n = random();
            const pair value{static_cast<std::uint32_t>(n), n >> 7};
            const std::size_t at = y.empty() ? 0 : n % y.size();
            switch (n >> 40 & 15) {
            case 0: x.resize(n % 40), y.resize(n % 40); break;
            case 1: x.resize(n % 40, value), y.resize(n % 40, value); break;
            case 2: x.assign(n % 20, value), y.assign(n % 20, value); break;
            case 3: {
                const auto* const made = x.insert(x.begin() + at, value);
                CHECK(made == x.begin() + at); // which may lie elsewhere than before
                y.insert(y.begin() + static_cast<std::ptrdiff_t>(at), value);
                break;
            }
            case 4:
                if (!y.empty()) x.erase(x.begin() + at), y.erase(y.begin() + static_cast<std::ptrdiff_t>(at));
                break;
            case 5:
                x.erase(x.begin() + at, x.end()), y.erase(y.begin() + static_cast<std::ptrdiff_t>(at), y.end());
                break;
            case 6:
                x.erase_if([](const pair& p) { return p.a % 3 == 0; });
                std::erase_if(y, [](const pair& p) { return p.a % 3 == 0; });
                break;
            case 7:
                if (!y.empty()) x.push_back(x[at]), y.push_back(pair(y[at])); // an element of its own
                break;
            case 8:
                if (!y.empty()) x.pop_back(), y.pop_back();
                break;
            case 9: {
                plain_list<pair> copy = x, other(1, value);
                other = copy;
                REQUIRE(other == x);
                x = std::move(copy);
                REQUIRE(copy.empty());
                break;
            }
            case 10: x.reserve(n % 100), y.reserve(n % 100); break;
            case 11: x.assign(y.begin(), y.end()); break;
            case 12:
                if (!y.empty()) x.insert(x.begin(), x[at]), y.insert(y.begin(), pair(y[at]));
                break;
            default: x.push_back(value), y.push_back(value);
            }
            REQUIRE(same(x, y));
            REQUIRE(x.capacity() >= x.size());
        }
    }
}

TEST_CASE("plain_list: grows to twice its memory, so that appending takes constant time") {
    plain_list<int> x;
    std::size_t moves = 0;
    for (int i = 0; i != 1000; ++i) {
        const std::size_t before = x.capacity();
        x.push_back(i);
        moves += x.capacity() != before;
    }
    CHECK(moves == 11);
    x.clear();
    CHECK(x.capacity() == 1024);
    const int* const first = x.data();
    x.assign(1024, 3);
    CHECK(x.data() == first);
}
