// SPDX-License-Identifier: BSL-1.0
// How elements with gaps become messages, and back: those of the sizes of numbers have loops of their own.
// What elements are refused: test/frontdoor/run_time_rules.cpp.
#include "support/catch.hpp"
#include <bough/call/elements.hpp>

#include <cstddef>
#include <vector>

using namespace bough;

namespace {

// Byte k of the memory has the value k, or what a message has put there.
struct trial {
    std::size_t size = 0, count = 0;
    std::ptrdiff_t extent = 0;
    std::size_t begin = 0; // where element 0 lies

    std::vector<std::byte> memory() const {
        const auto span = static_cast<std::size_t>(extent < 0 ? -extent : extent);
        std::vector<std::byte> made(span * count + size + 1);
        for (std::size_t k = 0; k != made.size(); ++k) made[k] = static_cast<std::byte>(k & 0x7f);
        return made;
    }
    std::byte* element(std::vector<std::byte>& all, std::size_t i) const {
        return all.data() + static_cast<std::ptrdiff_t>(begin) + static_cast<std::ptrdiff_t>(i) * extent;
    }
    bool is_right() const {
        std::vector<std::byte> all = memory(), message(size * count + 1, std::byte{0xee});
        const run_time_type type{.size = size, .extent = extent};
        const const_elements x{all.data() + begin, count, type, {}};
        const auto layout = detail::layout_of(x, detail::form_of(type, false));
        layout.pack(message.data());
        bool good = message[size * count] == std::byte{0xee};
        for (std::size_t i = 0; i != count; ++i)
            for (std::size_t k = 0; k != size; ++k) good &= message[i * size + k] == element(all, i)[k];
        for (std::size_t k = 0; k != size * count; ++k) message[k] = static_cast<std::byte>(0x80 | (k & 0x7f));
        std::vector<std::byte> expected = all;
        for (std::size_t i = 0; i != count; ++i)
            for (std::size_t k = 0; k != size; ++k) element(expected, i)[k] = message[i * size + k];
        layout.unpack(message.data());
        return good && all == expected; // the gaps are as they were
    }
};

} // namespace

TEST_CASE("elements: packed and unpacked with gaps of any length, forwards and backwards") {
    for (const std::size_t size : {1u, 2u, 3u, 4u, 8u, 16u})
        for (const std::size_t gap : {0u, 1u, 5u, 64u})
            for (std::size_t count = 0; count != 11; ++count)
                for (const bool backwards : {false, true}) {
                    CAPTURE(size, gap, count, backwards);
                    const auto extent = static_cast<std::ptrdiff_t>(size + gap);
                    const std::size_t last = count == 0 ? 0 : (count - 1) * (size + gap);
                    const trial one{size, count, backwards ? -extent : extent, backwards ? last : 0};
                    CHECK(one.is_right());
                }
}

TEST_CASE("elements: whatever is to be said of them besides their size keeps them from being plain") {
    static double number = 0;
    static const run_time_piece piece{0, 8};
    static const std::ptrdiff_t at = 0;
    const elements plain{&number, 1, {.size = 8, .identity = 1}};
    const auto is_plain_with = [&plain](auto&& change) {
        elements x = plain;
        change(x);
        return detail::is_plain(x) || detail::is_plain(const_elements(x));
    };
    CHECK(detail::is_plain(plain));
    CHECK(is_plain_with([](elements& x) { x.type.extent = 8; }));
    CHECK(is_plain_with([](elements& x) { x.type.alignment = 64; }));
    CHECK_FALSE(is_plain_with([](elements& x) { x.data = nullptr; }));
    CHECK_FALSE(is_plain_with([](elements& x) { x.displacements = {&at, 1}; }));
    CHECK_FALSE(is_plain_with([](elements& x) { x.type.size = 0; }));
    if constexpr (sizeof(std::size_t) > 4)
        CHECK_FALSE(is_plain_with([](elements& x) { x.type.size = ~std::size_t{0} / 2 + 1; }));
    CHECK_FALSE(is_plain_with([](elements& x) { x.type.extent = 16; }));
    CHECK_FALSE(is_plain_with([](elements& x) { x.type.extent = -8; }));
    CHECK_FALSE(is_plain_with([](elements& x) { x.type.alignment = 3; }));
    CHECK_FALSE(is_plain_with([](elements& x) { x.type.unit = 8; }));
    CHECK_FALSE(is_plain_with([](elements& x) { x.type.pieces = {&piece, 1}; }));
    CHECK_FALSE(is_plain_with([](elements& x) { x.type.pack = [](void*, const void*, std::size_t, void*) {}; }));
    CHECK_FALSE(is_plain_with([](elements& x) { x.type.unpack = [](void*, const void*, std::size_t, void*) {}; }));
}
