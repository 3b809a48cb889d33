// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/core/moved_list.hpp>
#include <bough/core/random.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using bough::detail::moved_list;

namespace {

// Counts how many of its kind there are.
struct counted {
    static inline int alive = 0;
    explicit counted(std::string t) : text(std::move(t)) { ++alive; }
    counted() : counted(std::string("a text that is longer than a short one")) {}
    counted(counted&& other) noexcept : text(std::move(other.text)) { ++alive; }
    counted& operator=(counted&&) noexcept = default;
    ~counted() { --alive; }
    std::string text;
};
static_assert(!std::is_copy_constructible_v<moved_list<counted>>);

struct plain {
    int number;
    std::unique_ptr<int> owned;
};

bool same(const moved_list<counted>& a, const std::vector<std::string>& b) {
    if (a.size() != b.size() || counted::alive != static_cast<int>(b.size())) return false;
    for (std::size_t i = 0; i != b.size(); ++i)
        if (a[i].text != b[i]) return false;
    return true;
}

} // namespace

TEST_CASE("moved_list: does what a vector does, whatever is done to it") {
    bough::detail::split_mix random{bough_test::seed()};
    for (int life = 0; life != 50; ++life) {
        moved_list<counted> x;
        std::vector<std::string> y;
        for (int turn = 0; turn != 300; ++turn) {
            const std::uint64_t n = random();
            const std::string text = std::to_string(n) + " and so many letters that it is allocated";
            const std::size_t at = y.empty() ? 0 : static_cast<std::size_t>(n % y.size());
            const std::size_t before = static_cast<std::size_t>(n % (y.size() + 1));
            const auto place = static_cast<std::ptrdiff_t>(at);
            switch (n >> 40 & 15) {
            case 0: x.resize(n & 31), y.resize(n & 31, counted().text); break;
            case 1:
                x.insert(x.begin() + before, counted(text));
                y.insert(y.begin() + static_cast<std::ptrdiff_t>(before), text);
                break;
            case 2:
                if (!y.empty()) x.erase(x.begin() + at), y.erase(y.begin() + place);
                break;
            case 3:
                if (!y.empty()) x.pop_back(), y.pop_back();
                break;
            case 4:
                x.erase_if([](const counted& c) { return c.text.front() == '1'; });
                std::erase_if(y, [](const std::string& s) { return s.front() == '1'; });
                break;
            case 5: {
                moved_list<counted> taken = std::move(x);
                CHECK((x.empty() && x.capacity() == 0));
                x = std::move(taken);
                break;
            }
            case 6: x.reserve(n % 100); break;
            case 7:
                if (n % 8 == 0) x.clear(), y.clear();
                break;
            default: x.emplace_back(text), y.push_back(text); break;
            }
            REQUIRE(same(x, y));
            if (!y.empty()) {
                CHECK(x.front().text == y.front());
                CHECK(x.back().text == y.back());
            }
        }
    }
    CHECK(counted::alive == 0);
}

TEST_CASE("moved_list: grows by doubling, and frees what an assignment replaces") {
    moved_list<counted> x(3);
    CHECK(x.capacity() == 3);
    x.emplace_back();
    CHECK(x.capacity() == 6);
    x.resize(7);
    CHECK(x.capacity() == 12);
    x = moved_list<counted>(1);
    CHECK(counted::alive == 1);
    x = {};
    CHECK(counted::alive == 0);
}

TEST_CASE("moved_list: makes aggregates, too") {
    moved_list<plain> x;
    x.emplace_back(3, std::make_unique<int>(4));
    x.push_back({5, nullptr});
    const moved_list<plain>& all = x;
    int sum = 0;
    for (const plain& p : all) sum += p.number + (p.owned ? *p.owned : 0);
    CHECK(sum == 12);
}

namespace {

// The third one cannot be made.
struct third_fails {
    static inline int alive = 0;
    third_fails() {
        if (alive == 2) throw 3;
        ++alive;
    }
    third_fails(third_fails&&) noexcept { ++alive; }
    ~third_fails() { --alive; }
};

} // namespace

TEST_CASE("moved_list: if an element cannot be made, those before it are destroyed") {
    CHECK_THROWS_AS(moved_list<third_fails>(4), int);
    CHECK(third_fails::alive == 0);
}
