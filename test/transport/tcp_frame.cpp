// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/transport/tcp/frame.hpp>

#include <algorithm>
#include <array>

using namespace bough;
using namespace bough::detail;

namespace {

constexpr frame example{{1, 2, 3, 4, 5, 6, {7, 8, 9, 10, 11}}, 1000, 12, frame_kind::message};

constexpr frame_fault decoded(const frame& f, std::uint32_t next, frame& out) {
    return decode_frame(encode_frame(f), next, out);
}
constexpr bool comes_back(const frame& f) {
    frame out;
    return decoded(f, f.sequence, out) == frame_fault::none && out == f;
}
static_assert(comes_back(example));
static_assert(comes_back({{~0u, ~0u, ~0u, 65535, 255, 255, {~std::uint64_t{0}, 65535, 65535, 65535, 65535}},
                          most_frame_bytes,
                          ~0u,
                          frame_kind::long_message}));
static_assert(comes_back({{}, 0, 0, frame_kind::nothing}) && comes_back({{}, 5, 0, frame_kind::credit}));

constexpr frame_fault fault_of(frame f, std::uint32_t next) {
    frame out;
    return decoded(f, next, out);
}
static_assert(fault_of({{}, most_short_bytes, 0, frame_kind::message}, 0) == frame_fault::none);
static_assert(fault_of({{}, most_short_bytes + 1, 0, frame_kind::message}, 0) == frame_fault::length);
static_assert(fault_of({{}, most_frame_bytes + 1, 0, frame_kind::long_message}, 0) == frame_fault::length);
static_assert(fault_of({{}, ~std::uint64_t{0}, 0, frame_kind::long_message}, 0) == frame_fault::length);
static_assert(fault_of({{}, most_short_bytes, 0, frame_kind::long_message}, 0) == frame_fault::length);
static_assert(fault_of({{}, most_short_bytes + 1, 0, frame_kind::long_message}, 0) == frame_fault::none);
static_assert(fault_of({{}, ~std::uint64_t{0}, 0, frame_kind::credit}, 0) == frame_fault::length);
static_assert(fault_of({{}, 1, 0, frame_kind::nothing}, 0) == frame_fault::length);
static_assert(fault_of({{}, 0, 0, static_cast<frame_kind>(0)}, 0) == frame_fault::kind);
static_assert(fault_of({{}, 0, 0, static_cast<frame_kind>(5)}, 0) == frame_fault::kind);
static_assert(fault_of({{}, 0, 4, frame_kind::message}, 5) == frame_fault::sequence);

} // namespace

TEST_CASE("tcp_frame: the bytes of a header are these, on every machine") {
    constexpr auto bytes = encode_frame(example);
    constexpr std::array<unsigned char, 48> expected{1,    0, 0, 0, 2, 0, 0, 0, 3,  0, 0, 0, 4,  0, 5,  6,
                                                     7,    0, 0, 0, 0, 0, 0, 0, 8,  0, 9, 0, 10, 0, 11, 0,
                                                     0xe8, 3, 0, 0, 0, 0, 0, 0, 12, 0, 0, 0, 1,  0, 0,  0};
    for (std::size_t i = 0; i != bytes.size(); ++i) {
        CAPTURE(i);
        CHECK(bytes[i] == static_cast<std::byte>(expected[i]));
    }
}

TEST_CASE("tcp_frame: every flipped bit is seen, or changes what it should") {
    const auto right = encode_frame(example);
    int accepted = 0;
    for (std::size_t bit = 0; bit != 8 * right.size(); ++bit) {
        auto bytes = right;
        bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
        frame f;
        const frame_fault fault = decode_frame(bytes, example.sequence, f);
        CAPTURE(bit);
        if (fault != frame_fault::none) {
            CHECK(f == frame{}); // nothing of a wrong header is used
            CHECK(bit >= 32 * 8);
            continue;
        }
        ++accepted;
        CHECK(f != example);
        CHECK(encode_frame(f) == bytes); // one header, one meaning
        CHECK(f.bytes <= most_frame_bytes);
    }
    CHECK(accepted >= 32 * 8); // the envelope is the session's business
    CHECK(accepted <= 32 * 8 + 48 + 3);
}

TEST_CASE("tcp_frame: frames are whole multiples of the alignment, whatever they carry") {
    for (std::uint64_t bytes = 0; bytes != 100; ++bytes)
        for (const auto kind : {frame_kind::message, frame_kind::long_message}) {
            const std::size_t tail = frame_tail_bytes(kind, bytes);
            CHECK((frame_header_bytes + bytes + tail) % frame_alignment == 0);
            CHECK(tail <= most_tail_bytes);
            CHECK((kind == frame_kind::message || tail >= frame_alignment));
        }
    CHECK(short_frame_bytes(1) == 64);
    CHECK(frame_payload_bytes({{}, 9, 0, frame_kind::credit}) == 0);
}

TEST_CASE("tcp_frame: random headers are refused, or mean one thing only") {
    const std::uint64_t count = bough_test::all() ? 10'000'000 : 200'000;
    std::uint64_t accepted = 0;
    for (std::uint64_t i = 0; i != count; ++i) {
        frame_header bytes;
        for (std::size_t k = 0; k != bytes.size(); ++k)
            bytes[k] = static_cast<std::byte>(bough_test::mixed(bough_test::seed() * count + i * 64 + k));
        // Nearly right ones are more interesting.
        std::fill(bytes.begin() + 44, bytes.end(), std::byte{});
        bytes[44] = static_cast<std::byte>(i % 6);
        std::fill(bytes.begin() + 34 + static_cast<std::ptrdiff_t>(i % 7), bytes.begin() + 44, std::byte{});
        frame f;
        if (decode_frame(bytes, 0, f) != frame_fault::none) continue;
        ++accepted;
        if (encode_frame(f) != bytes || f.bytes > most_frame_bytes) FAIL("a header with two meanings");
    }
    CHECK(accepted > 0);
    CHECK(accepted < count);
}
