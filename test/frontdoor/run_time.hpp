// SPDX-License-Identifier: BSL-1.0
// Memory images of elements in many layouts, and ops that tell the order of what they combine.
#ifndef BOUGH_TEST_FRONTDOOR_RUN_TIME_HPP
#define BOUGH_TEST_FRONTDOOR_RUN_TIME_HPP

#include <bough/run_time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace test {

// Maps x -> a x + b modulo 2^64, of which composition reveals the order. Exact.
struct affine_map {
    std::uint64_t a = 0, b = 0;
    friend bool operator==(const affine_map&, const affine_map&) = default;
};
struct compose {
    affine_map operator()(const affine_map& f, const affine_map& g) const { return {g.a * f.a, g.a * f.b + g.b}; }
};
inline affine_map value_of(bough::rank_t r, std::size_t i, std::uint64_t round = 0) {
    return {2 * r + 3 + 2 * round, i * 31 + r * 7 + 1 + round};
}
// op over the ranks [first, last).
inline affine_map fold(bough::rank_t first, bough::rank_t last, std::size_t i, std::uint64_t round, bool sums) {
    affine_map all = value_of(first, i, round);
    for (bough::rank_t r = first + 1; r < last; ++r) {
        const affine_map next = value_of(r, i, round);
        all = sums ? affine_map{all.a + next.a, all.b + next.b} : compose{}(all, next);
    }
    return all;
}

enum class layout { dense, gaps, backwards, pieces, two_arrays, packed, shifted };
inline constexpr layout layouts[] = {layout::dense,      layout::gaps,   layout::backwards, layout::pieces,
                                     layout::two_arrays, layout::packed, layout::shifted};

inline constexpr std::uint64_t identity = 0xaff1;
constexpr std::byte untouched{0xa5};

// Its context is a key; in memory an element is 8 bytes of a, 8 of the key, 8 of b without the key.
inline void pack_affine(void* context, const void* data, std::size_t count, void* message) {
    const std::uint64_t key = *static_cast<const std::uint64_t*>(context);
    for (std::size_t i = 0; i != count; ++i) {
        std::uint64_t words[3];
        std::memcpy(words, static_cast<const std::byte*>(data) + 24 * i, 24);
        const affine_map x{words[0] ^ key, words[2] ^ key};
        std::memcpy(static_cast<std::byte*>(message) + 16 * i, &x, 16);
    }
}
inline void unpack_affine(void* context, const void* message, std::size_t count, void* data) {
    const std::uint64_t key = *static_cast<const std::uint64_t*>(context);
    for (std::size_t i = 0; i != count; ++i) {
        affine_map x;
        std::memcpy(&x, static_cast<const std::byte*>(message) + 16 * i, 16);
        const std::uint64_t a = x.a ^ key, b = x.b ^ key;
        std::memcpy(static_cast<std::byte*>(data) + 24 * i, &a, 8);
        std::memcpy(static_cast<std::byte*>(data) + 24 * i + 16, &b, 8);
    }
}

// Memory with room for `slots` elements in a layout; bytes outside of them keep a pattern.
class image {
public:
    image(layout how, std::size_t slots) : how_(how), slots_(slots) {
        const auto n = static_cast<std::ptrdiff_t>(slots);
        bytes_.assign(64 + 48 * slots + 64, untouched);
        type_ = {.size = 16, .identity = identity};
        base_ = bytes_.data() + 32;
        switch (how) {
        case layout::dense: break;
        case layout::gaps: type_.extent = 40; break;
        case layout::backwards:
            type_.extent = -24;
            base_ += 24 * n;
            break;
        case layout::pieces:
            type_.extent = 32;
            pieces_ = {{{16, 8}, {0, 8}}};
            break;
        case layout::two_arrays: // all a, then all b: elements are interleaved
            type_.extent = 8;
            pieces_ = {{{0, 8}, {8 * n, 8}}};
            break;
        case layout::packed:
            type_.extent = 24;
            type_.pack = pack_affine;
            type_.unpack = unpack_affine;
            type_.context = &key_;
            break;
        case layout::shifted: // a lower bound that is not 0
            type_.extent = 48;
            pieces_ = {{{-8, 8}, {8, 8}}};
            break;
        }
        if (pieces_[0].bytes != 0) type_.pieces = pieces_;
    }
    image(const image&) = delete;
    image& operator=(const image&) = delete;

    bough::elements all(std::size_t count) { return {base_, count, type_, {}}; }
    bough::elements all() { return all(slots_); }
    bough::const_elements input(std::size_t count) { return all(count); }
    const bough::run_time_type& type() const { return type_; }
    void set(std::size_t i, const affine_map& x) {
        std::memcpy(a_of(i), &x.a, 8);
        std::memcpy(b_of(i), &x.b, 8);
        if (how_ == layout::packed) flip(i);
    }
    affine_map get(std::size_t i) {
        if (how_ == layout::packed) flip(i);
        affine_map x;
        std::memcpy(&x.a, a_of(i), 8);
        std::memcpy(&x.b, b_of(i), 8);
        if (how_ == layout::packed) flip(i);
        return x;
    }
    // Have only the bytes of elements been written?
    bool is_clean() {
        std::vector<std::byte> rest = bytes_;
        const auto hide = [&](const std::byte* at) { std::memset(rest.data() + (at - bytes_.data()), 0xa5, 8); };
        for (std::size_t i = 0; i != slots_; ++i) hide(a_of(i)), hide(b_of(i));
        for (const std::byte x : rest)
            if (x != untouched) return false;
        return true;
    }

private:
    std::byte* place(std::size_t i) {
        return base_ + static_cast<std::ptrdiff_t>(i) * (type_.extent == 0 ? 16 : type_.extent);
    }
    std::byte* a_of(std::size_t i) { return place(i) + pieces_[0].offset; }
    std::byte* b_of(std::size_t i) {
        if (how_ == layout::packed) return place(i) + 16;
        return place(i) + (pieces_[1].bytes != 0 ? pieces_[1].offset : 8);
    }
    void flip(std::size_t i) {
        for (std::byte* word : {a_of(i), b_of(i)}) {
            std::uint64_t w;
            std::memcpy(&w, word, 8);
            w ^= key_;
            std::memcpy(word, &w, 8);
        }
    }

    layout how_;
    std::size_t slots_;
    std::vector<std::byte> bytes_;
    std::array<bough::run_time_piece, 2> pieces_{};
    std::uint64_t key_ = 0x1234'5678'9abc'def0;
    bough::run_time_type type_{};
    std::byte* base_ = nullptr;
};

// What the functions of ops are given: how far elements lie apart and where their words are.
struct seen {
    std::ptrdiff_t extent = 16, a = 0, b = 8;
    bool sums = false;
    std::size_t calls = 0;
};
inline void combine_affine(void* context, const void* in, void* inout, std::size_t count) {
    seen& how = *static_cast<seen*>(context);
    ++how.calls;
    for (std::size_t i = 0; i != count; ++i) {
        const auto* f = static_cast<const std::byte*>(in) + static_cast<std::ptrdiff_t>(i) * how.extent;
        auto* g = static_cast<std::byte*>(inout) + static_cast<std::ptrdiff_t>(i) * how.extent;
        affine_map x, y;
        std::memcpy(&x.a, f + how.a, 8);
        std::memcpy(&x.b, f + how.b, 8);
        std::memcpy(&y.a, g + how.a, 8);
        std::memcpy(&y.b, g + how.b, 8);
        y = how.sums ? affine_map{x.a + y.a, x.b + y.b} : compose{}(x, y);
        std::memcpy(g + how.a, &y.a, 8);
        std::memcpy(g + how.b, &y.b, 8);
    }
}

} // namespace test

#endif
