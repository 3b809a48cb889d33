// SPDX-License-Identifier: BSL-1.0
// Where the bytes of a put land: every cut into two, every end against a word's boundary, and nothing beside them.
#include "support/catch.hpp"
#include <bough/core/remote_words.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

using namespace bough;

TEST_CASE("remote_words: what is written is read") {
    alignas(8) std::array<std::byte, 16> memory{};
    remote_words::write(memory.data() + 8, 0x1122'3344'5566'7788u);
    CHECK(remote_words::read(memory.data() + 8) == 0x1122'3344'5566'7788u);
    CHECK(remote_words::read(memory.data()) == 0);
}

TEST_CASE("remote_words: a put of two spans lands whole, and nowhere else") {
    std::array<std::byte, 64> source{};
    for (std::size_t i = 0; i != source.size(); ++i) source[i] = static_cast<std::byte>(i + 1);
    const std::span<const std::byte> all(source);
    constexpr std::array<std::size_t, 9> lengths{0, 1, 7, 8, 9, 15, 16, 17, 31};
    for (std::size_t at = 8; at != 17; ++at) // aligned and not: the end is so, or not, with each length
        for (const std::size_t first : lengths)
            for (const std::size_t second : lengths) {
                alignas(8) std::array<std::byte, 96> memory{};
                memory.fill(std::byte{0xee});
                auto expected = memory;
                std::copy_n(all.begin(), first + second, expected.begin() + static_cast<std::ptrdiff_t>(at));
                remote_words::land(memory.data() + at, all.first(first), all.subspan(first, second));
                CAPTURE(at, first, second);
                CHECK(memory == expected);
            }
}
