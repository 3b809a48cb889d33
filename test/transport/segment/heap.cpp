// SPDX-License-Identifier: BSL-1.0
// Shared_heap: pieces do not overlap, lie as they must, and all that is given back can be had again as one piece.
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/transport/segment/heap.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

using namespace bough;
using bough::detail::shared_heap;

namespace {

constexpr std::size_t line = shared_heap::alignment, page = 4 * line;

std::span<std::byte> some_memory(std::size_t bytes) {
    alignas(page) static std::byte all[64 * page];
    return std::span(all).first(bytes);
}

} // namespace

TEST_CASE("shared_heap: the first place that fits is taken") {
    shared_heap heap(some_memory(8 * line));
    const auto a = heap.allocate(line), b = heap.allocate(2 * line), c = heap.allocate(1), d = heap.allocate(4 * line);
    CHECK(heap.offset_of(a.data()) == 0);
    CHECK(heap.offset_of(b.data()) == line);
    CHECK(heap.offset_of(c.data()) == 3 * line);
    CHECK(heap.offset_of(d.data()) == 4 * line);
    CHECK(c.size() == 1);
    CHECK(heap.allocate(1).empty()); // the byte of c has its line to itself
    heap.deallocate(a);
    heap.deallocate(c);
    CHECK(heap.allocate(line + 1).empty()); // two free lines, but not side by side
    heap.deallocate(b);
    const auto joined = heap.allocate(4 * line);
    CHECK(heap.offset_of(joined.data()) == 0);
    CHECK(joined.size() == 4 * line);
}

TEST_CASE("shared_heap: no bytes, too many, and no memory at all get nothing") {
    shared_heap heap(some_memory(2 * line + 10)), none;
    CHECK(heap.allocate(0).empty());
    CHECK(heap.allocate(2 * line + 11).empty());
    CHECK(none.allocate(1).empty());
    const auto all = heap.allocate(2 * line + 10); // the last piece ends where the memory does
    CHECK(all.size() == 2 * line + 10);
    heap.deallocate(all);
    CHECK(heap.allocate(2 * line + 10).size() == 2 * line + 10);
}

TEST_CASE("shared_heap: a piece is known by its place") {
    const auto memory = some_memory(4 * line);
    const shared_heap heap(memory.subspan(line, 2 * line));
    CHECK(heap.contains(memory.subspan(line, 2 * line)));
    CHECK_FALSE(heap.contains(memory.subspan(line, 2 * line + 1)));
    CHECK_FALSE(heap.contains(memory.first(2 * line)));
    CHECK_FALSE(heap.contains(memory.subspan(3 * line, 1)));
}

TEST_CASE("shared_heap: parts of a piece may be given back later") {
    shared_heap heap(some_memory(4 * page), page);
    const auto all = heap.allocate(4 * page);
    REQUIRE(all.size() == 4 * page);
    heap.deallocate(all, [](std::size_t from, std::size_t end, const auto& give) {
        CHECK(from == 0);
        CHECK(end == 4 * page);
        give(from, from + page);
        give(end - page, end);
    });
    CHECK(heap.allocate(2 * page).empty());
    heap.free(page, 3 * page);
    CHECK(heap.allocate(4 * page).size() == 4 * page);
}

TEST_CASE("shared_heap: thousands of pieces of all sizes against a map of what is taken") {
    constexpr std::size_t bytes = 40 * page + 100;
    const auto memory = some_memory(bytes);
    shared_heap heap(memory, page);
    std::vector<char> taken(bytes, 0);
    std::vector<std::span<std::byte>> pieces;
    std::uint64_t state = bough_test::seed();
    const auto below = [&state](std::size_t n) { return bough_test::one_of(n, bough_test::mixed(++state)); };
    // What a piece has to itself: whole lines, or whole pages, as far as the memory goes.
    const auto mark = [&](std::span<std::byte> piece, char before) {
        const std::size_t unit = piece.size() >= page ? page : line, from = heap.offset_of(piece.data());
        REQUIRE(from % unit == 0);
        REQUIRE(from + piece.size() <= bytes);
        for (std::size_t i = from; i < from + (piece.size() + unit - 1) / unit * unit && i < bytes; ++i) {
            REQUIRE(taken[i] == before);
            taken[i] = !before;
        }
    };
    for (int i = 0; i != 5000; ++i) {
        if (pieces.empty() || below(5) < 3) {
            const std::size_t wanted = below(8) == 0 ? page : 1 + below(below(4) == 0 ? 6 * page : 3 * line);
            const auto piece = heap.allocate(wanted);
            if (piece.empty()) continue;
            REQUIRE(piece.size() == wanted);
            mark(piece, 0);
            pieces.push_back(piece);
        } else {
            const std::size_t which = below(pieces.size());
            mark(pieces[which], 1);
            heap.deallocate(pieces[which]);
            pieces[which] = pieces.back();
            pieces.pop_back();
        }
    }
    for (const auto& piece : pieces) heap.deallocate(piece);
    CHECK(heap.allocate(bytes).size() == bytes);
}
