// SPDX-License-Identifier: BSL-1.0
// Where the blocks of a vector lie, and which memory a rank may give for them.
#include "support/catch.hpp"
#include <bough/call/blocks.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

using namespace bough;
using detail::block_memory;
using detail::check_blocks;
using detail::rank_blocks;

namespace {

constexpr std::size_t most = ~std::size_t{0} / 2 / 8; // elements of eight bytes

std::string sentence(const status& s) {
    if (s.code == errc::size_overflow) return "too long";
    return s.argument != nullptr ? s.argument : "";
}
constexpr const char* overlaps = "out: overlaps the input, but not as the root's own block in its place";

} // namespace

TEST_CASE("blocks: equal ones, and those of counts, lie one behind the other") {
    const rank_blocks equal = rank_blocks::equal(3, 5, 8);
    CHECK_FALSE(equal.bad());
    CHECK(equal.total() == 15);
    CHECK(equal.first(2) == 10);
    CHECK(equal.count(2) == 5);
    CHECK(equal.offsets().empty());
    CHECK(equal.signature_count() == 5);

    const std::vector<std::size_t> counts{2, 0, 7};
    const rank_blocks unequal = rank_blocks::of(3, counts, 8);
    CHECK_FALSE(unequal.bad());
    CHECK(unequal.total() == 9);
    for (rank_t r = 0; r != 3; ++r) CHECK(unequal.count(r) == counts[r]);
    CHECK(unequal.first(0) == 0);
    CHECK(unequal.first(1) == 2);
    CHECK(unequal.first(2) == 2);
    CHECK(unequal.offsets().size() == 4);
    CHECK(unequal.signature_count() == 9);
}

TEST_CASE("blocks: their bytes together fit, to the last element") {
    CHECK_FALSE(rank_blocks::equal(4, most / 4, 8).bad());
    CHECK(rank_blocks::equal(4, most / 4 + 1, 8).bad().code == errc::size_overflow);
    const std::vector<std::size_t> fit{most - 1, 1}, over{most, 1}, wrap{~std::size_t{0}, 2};
    CHECK_FALSE(rank_blocks::of(2, fit, 8).bad());
    CHECK(rank_blocks::of(2, over, 8).bad().code == errc::size_overflow);
    CHECK(rank_blocks::of(2, wrap, 8).bad().code == errc::size_overflow);
    CHECK(std::string(rank_blocks::of(2, wrap, 8).bad().argument).starts_with("counts: "));
    CHECK(std::string(rank_blocks::equal(4, most, 8).bad().argument).starts_with("data: "));
    CHECK(sentence(rank_blocks::of(3, fit, 8).bad()) == "counts: one per rank is needed");
}

TEST_CASE("blocks: a rank's memory is its block, and the whole vector where it has one") {
    std::array<std::uint64_t, 20> x{};
    const std::vector<std::size_t> counts{2, 3, 4};
    const rank_blocks blocks = rank_blocks::of(3, counts, 8);
    const auto check = [&](const block_memory& m, bool has_whole) {
        return sentence(check_blocks(m, blocks, 1, has_whole, 8, "wrong whole"));
    };
    CHECK(check({.own = &x[0], .own_count = 3}, false).empty());
    CHECK(check({.own = &x[0], .own_count = 2}, false) == "counts: this rank's block is not as long");
    CHECK(check({.own = nullptr, .own_count = 3}, false) == "data: null, but its count is not zero");
    // The whole vector is looked at where there is one only.
    CHECK(check({.own = &x[0], .own_count = 3, .whole = nullptr, .whole_count = 1}, false).empty());
    CHECK(check({.own = &x[0], .own_count = 3, .whole = &x[3], .whole_count = 8}, true) == "wrong whole");
    CHECK(check({.own = &x[0], .own_count = 3, .whole = nullptr, .whole_count = 9}, true) ==
          "data: null, but its count is not zero");
    // It is apart from the block, or has it in its place: at 2 of 9 elements, which begin at 5.
    for (std::size_t own = 0; own <= 17; ++own) {
        CAPTURE(own);
        const std::string said = check({.own = &x[own], .own_count = 3, .whole = &x[5], .whole_count = 9}, true);
        CHECK(said == (own + 3 <= 5 || own >= 14 || own == 7 ? "" : overlaps));
    }
}

TEST_CASE("blocks: a rank without elements has no memory that could overlap") {
    std::array<std::uint64_t, 4> x{};
    const std::vector<std::size_t> counts{4, 0};
    const rank_blocks blocks = rank_blocks::of(2, counts, 8);
    for (std::size_t own = 0; own != 4; ++own)
        CHECK_FALSE(check_blocks({.own = &x[own], .own_count = 0, .whole = &x[0], .whole_count = 4}, blocks, 1, true, 8,
                                 "wrong whole"));
}

TEST_CASE("blocks: in place, a rank's own block is cut from the whole vector, if that is as long as all blocks") {
    std::array<int, 9> x{};
    const std::span<int> all(x);
    const std::vector<std::size_t> counts{2, 3, 4};
    const rank_blocks blocks = rank_blocks::of(3, counts, 4);
    CHECK(detail::own_block(all, blocks, 1).data() == &x[2]);
    CHECK(detail::own_block(all, blocks, 1).size() == 3);
    CHECK(detail::own_block(all.first(8), blocks, 1).empty());
    CHECK(detail::own_block(all.first(3), blocks, 1, false).data() == &x[0]); // it is the block itself
    CHECK(detail::own_block(all, rank_blocks::of(2, counts, 4), 1).empty());
}

TEST_CASE("blocks: a vector that all ranks give is a multiple of their number, or the sum of counts") {
    CHECK_FALSE(detail::check_equal_cut(12, 3));
    CHECK_FALSE(detail::check_equal_cut(0, 3));
    CHECK(detail::check_equal_cut(13, 3).code == errc::invalid_argument);
    const std::vector<std::size_t> counts{2, 3};
    CHECK_FALSE(detail::check_sum(5, rank_blocks::of(2, counts, 8)));
    CHECK(sentence(detail::check_sum(6, rank_blocks::of(2, counts, 8))) == "data: its length is not the sum of counts");
    CHECK(sentence(detail::check_sum(5, rank_blocks::of(3, counts, 8))) == "counts: one per rank is needed");
}
