// SPDX-License-Identifier: BSL-1.0
#include "engine/port.hpp"
#include "support/catch.hpp"
#include "support/huge_memory.hpp"
#include "support/sample.hpp"
#include <bough/engine/prepared.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>
#include <random>
#include <vector>

using namespace bough;

static_assert(block_begin(10, 4, 0) == 0 && block_begin(10, 4, 1) == 3 && block_begin(10, 4, 2) == 6 &&
              block_begin(10, 4, 3) == 8 && block_begin(10, 4, 4) == 10);
static_assert(block_begin(3, 5, 2) == 2 && block_begin(3, 5, 3) == 3 && block_begin(3, 5, 5) == 3);
static_assert(block_begin(0, 5, 4) == 0);
static_assert(block_begin(~std::uint64_t{0}, 0xffff'ffffu, 0xffff'ffffu) == ~std::uint64_t{0});

namespace {

// A schedule that sends each block of a buffer, so that the port sees where it lies.
std::vector<step> sends_of(buffer from, block_t blocks) {
    std::vector<step> steps;
    for (block_t b = 0; b != blocks; ++b) steps.push_back(send_step(1, {from, b, 1}));
    return steps;
}

std::vector<test::port::message> run(prepared& work, const call& c) {
    test::port port;
    work.prepare(c);
    work.engine().start(c, port);
    CHECK(work.engine().done());
    return port.sent;
}

} // namespace

TEST_CASE("prepared: blocks lie one behind the other, for any count") {
    std::array<std::byte, 64> memory{};
    for (const block_t blocks : {1u, 2u, 3u, 7u})
        for (std::uint64_t count = 0; count != 17; ++count)
            for (const std::uint32_t element_bytes : {1u, 3u}) {
                prepared work(bind_steps(sends_of(input, blocks), blocks));
                const auto sent = run(work, {.input = memory.data(), .count = count, .element_bytes = element_bytes});
                CAPTURE(blocks, count, element_bytes);
                REQUIRE(sent.size() == blocks);
                const std::byte* expected = memory.data();
                std::uint64_t longest = 0, shortest = ~std::uint64_t{0};
                for (const auto& m : sent) {
                    REQUIRE(m.data == expected);
                    REQUIRE(m.bytes % element_bytes == 0);
                    expected += m.bytes;
                    longest = std::max(longest, m.bytes);
                    shortest = std::min(shortest, m.bytes);
                }
                REQUIRE(expected == memory.data() + count * element_bytes);
                REQUIRE(longest - shortest <= element_bytes);
            }
}

TEST_CASE("prepared: a count of zero needs no memory") {
    prepared work(
        bind_steps(std::vector{receive_step(1, {scratch(0), 0, 2}),
                               combine_step({input, 0, 2}, {scratch(0), 0, 2}, {output, 0, 2}),
                               copy_step({output, 0, 2}, {scratch(1), 0, 2}), send_step(1, {scratch(1), 0, 2})},
                   2));
    test::port port;
    const call c{.element_bytes = 8};
    work.prepare(c);
    work.engine().start(c, port);
    work.engine().arrived(0, {nullptr, 0, 9, 1, true});
    work.engine().go_on(port);
    CHECK(work.engine().done());
    CHECK(work.engine().error() == errc::ok);
    CHECK(port.sent.at(0).bytes == 0);
    CHECK(work.scratch_bytes() == 0);
}

TEST_CASE("prepared: planes are apart, aligned, and as long as the blocks that are used") {
    std::vector<step> steps;
    for (std::uint32_t plane = 0; plane != 3; ++plane)
        for (block_t b = 2; b != 4; ++b) steps.push_back(send_step(1, {scratch(plane), b, 1}));
    prepared work(bind_steps(steps, 5)); // blocks 2 and 3 of 5 are used
    const auto sent = run(work, {.count = 12, .element_bytes = 24});
    REQUIRE(sent.size() == 6); // 12 elements in 5 blocks: 3 3 2 2 2
    for (std::size_t plane = 0; plane != 3; ++plane) {
        const auto& first = sent[2 * plane];
        const auto& second = sent[2 * plane + 1];
        CHECK(reinterpret_cast<std::uintptr_t>(first.data) % 64 == 0);
        CHECK((first.bytes == 48 && second.bytes == 48));
        CHECK(second.data == first.data + 48);
        if (plane != 0) CHECK(first.data >= sent[2 * plane - 1].data + 48);
    }
    CHECK(work.scratch_bytes() <= 3 * 128 + 64);
}

// On a machine of 32 bits, a plan of some planes for vectors of 1.5 GiB was such a case.
TEST_CASE("prepared: scratch that no memory can hold is refused, and not taken for short") {
    if (!bough_test::may_ask_for_huge_memory) return;
    const slice first{scratch(0), 0, 1}, second{scratch(1), 0, 1};
    std::vector<step> apart{send_step(1, first), send_step(1, second)};
    std::vector<step> in_parts{receive_step(1, first), receive_step(1, second), receive_step(1, first)};
    in_parts[0].more = in_parts[1].more = true;
    for (const auto& steps : {apart, in_parts}) {
        prepared work(bind_steps(steps, 1));
        const call huge{.count = std::uint64_t{1} << 60, .element_bytes = 8}; // two planes are 2^64 bytes
        CHECK_THROWS_AS(work.prepare(huge), std::bad_alloc);
        CHECK(work.scratch_bytes() == 0);
        work.prepare({.count = 4, .element_bytes = 8});
        CHECK(work.scratch_bytes() != 0);
    }
}

TEST_CASE("prepared: scratch grows, and stays for smaller calls") {
    prepared work(bind_steps(sends_of(scratch(0), 2), 2));
    const auto longest = run(work, {.count = 1000, .element_bytes = 8});
    const std::size_t bytes = work.scratch_bytes();
    CHECK(bytes >= 8000);
    const auto shorter = run(work, {.count = 10, .element_bytes = 8});
    CHECK(work.scratch_bytes() == bytes);
    CHECK(shorter.at(0).data == longest.at(0).data);
    CHECK(shorter.at(1).data == shorter.at(0).data + 40);
    const auto again = run(work, {.count = 1000, .element_bytes = 8});
    CHECK(again.at(1).data == longest.at(1).data);
    run(work, {.count = 2000, .element_bytes = 8});
    CHECK(work.scratch_bytes() >= 16000);
}

// Against a plan that has been laid out for nothing else: the blocks are as long, and lie as far apart.
TEST_CASE("prepared: calls of other lengths and shapes in between change no place") {
    std::mt19937_64 random(bough_test::seed());
    const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
    std::vector<step> steps = sends_of(scratch(0), 3);
    for (const step& s : sends_of(input, 3)) steps.push_back(s);
    for (const step& s : sends_of(scratch(1), 2)) steps.push_back(s);
    std::vector<std::byte> memory(4000);
    const std::vector<std::uint64_t> cuts[]{{0, 7, 7, 9}, {0, 1, 8, 9}};
    int kept = 0;
    for (int times = 0; times != 20; ++times) {
        prepared work(bind_steps(steps, 3));
        std::vector<std::uint64_t> numbers;
        for (int turn = 0; turn != 30; ++turn) {
            call c{.input = memory.data(), .count = below(2) == 0 ? 9 : below(4), .element_bytes = 1 + below(2)};
            if (turn >= 20) c.count += below(100); // needs more scratch
            if (below(3) == 0) {
                c.offsets = cuts[below(2)];
                c.count = 9;
            }
            prepared fresh(bind_steps(steps, 3));
            const auto expected = run(fresh, c), sent = run(work, c);
            REQUIRE(sent.size() == expected.size());
            for (std::size_t i = 0; i != sent.size(); ++i) {
                CAPTURE(turn, i, c.count, c.element_bytes, c.offsets.size());
                REQUIRE(sent[i].bytes == expected[i].bytes);
                const std::size_t first = i < 3 ? 0 : i < 6 ? 3 : 6; // of its buffer
                REQUIRE(sent[i].data - sent[first].data == expected[i].data - expected[first].data);
            }
            REQUIRE(sent[3].data == memory.data());
            REQUIRE(work.is_short() == fresh.is_short());
            // Scratch is the plan's own: another plan's bytes would be another's messages.
            for (std::size_t i : {0u, 6u})
                for (std::size_t j = i; j != (i == 0 ? 3u : 8u); ++j)
                    std::fill_n(const_cast<std::byte*>(sent[j].data), sent[j].bytes, std::byte{7});
            kept += std::find(numbers.begin(), numbers.end(), work.layout_number()) != numbers.end() ? 1 : 0;
            numbers.push_back(work.layout_number());
        }
    }
    CHECK(kept > 60);
}

TEST_CASE("prepared: four lengths in turns are laid out once each, and the oldest makes room for a fifth") {
    prepared work(bind_steps(sends_of(input, 2), 2));
    std::array<std::byte, 64> memory{};
    const auto number_of = [&](std::uint64_t count) {
        run(work, {.input = memory.data(), .count = count, .element_bytes = 1});
        return work.layout_number();
    };
    std::array<std::uint64_t, 4> first{};
    for (std::uint64_t n = 0; n != 4; ++n) first[n] = number_of(n);
    for (int turn = 0; turn != 3; ++turn)
        for (std::uint64_t n = 0; n != 4; ++n) CHECK(number_of(n) == first[n]);
    number_of(5);
    std::byte* const nowhere = nullptr;
    CHECK_FALSE(work.prepare_again(first[0], memory.data(), nowhere));
    for (std::uint64_t n = 1; n != 4; ++n) CHECK(work.prepare_again(first[n], memory.data(), nowhere));
    CHECK(number_of(0) > first[3]);
}

TEST_CASE("prepared: layouts are kept beside one for which there is no memory") {
    if (!bough_test::may_ask_for_huge_memory) return;
    std::vector<step> steps = sends_of(input, 2);
    steps.push_back(send_step(1, {scratch(0), 0, 2}));
    std::array<std::byte, 64> memory{};
    for (std::uint64_t lengths = 1; lengths != 7; ++lengths) { // fewer than are kept, as many, and more
        CAPTURE(lengths);
        prepared work(bind_steps(steps, 2));
        std::vector<std::uint64_t> numbers;
        for (std::uint64_t n = 0; n != lengths; ++n) {
            run(work, {.input = memory.data(), .count = 20 - 2 * n, .element_bytes = 1});
            numbers.push_back(work.layout_number());
        }
        CHECK_THROWS_AS(work.prepare({.count = std::uint64_t{1} << 60, .element_bytes = 8}), std::bad_alloc);
        for (std::uint64_t n = 0; n != lengths; ++n) {
            const bool again = work.prepare_again(numbers[n], memory.data(), nullptr);
            CHECK(again == (n + 3 >= lengths));
            if (!again) continue;
            test::port port;
            work.engine().start({.input = memory.data(), .count = 20 - 2 * n, .element_bytes = 1}, port);
            CHECK(port.sent.at(1).data == memory.data() + 10 - n);
        }
        for (std::uint64_t n = 0; n != lengths; ++n)
            CHECK(run(work, {.input = memory.data(), .count = 20 - 2 * n, .element_bytes = 1}).at(2).bytes ==
                  20 - 2 * n);
    }
}

TEST_CASE("prepared: a plan of many steps keeps one layout") {
    std::array<std::byte, 600> memory{};
    for (const block_t blocks : {256u, 257u}) {
        prepared work(bind_steps(sends_of(input, blocks), blocks));
        const auto number_of = [&](std::uint64_t count) {
            run(work, {.input = memory.data(), .count = count, .element_bytes = 1});
            return work.layout_number();
        };
        const std::uint64_t first = number_of(300);
        CHECK(number_of(600) != first);
        CHECK((number_of(300) == first) == (blocks == 256));
    }
}

TEST_CASE("prepared: a layout whose scratch has moved is made anew") {
    prepared work(bind_steps(sends_of(scratch(0), 2), 2));
    run(work, {.count = 10, .element_bytes = 8});
    const std::uint64_t before = work.layout_number();
    const auto longer = run(work, {.count = 1000, .element_bytes = 8});
    const auto shorter = run(work, {.count = 10, .element_bytes = 8});
    CHECK(work.layout_number() != before);
    CHECK(shorter.at(0).data == longer.at(0).data);
    run(work, {.count = 1000, .element_bytes = 8});
    const auto again = run(work, {.count = 10, .element_bytes = 8});
    CHECK(again.at(1).data == shorter.at(1).data);
}

TEST_CASE("prepared: another call may have other memory") {
    std::array<std::byte, 32> first{}, second{};
    prepared work(bind_steps(std::vector{copy_step({input, 0, 1}, {output, 0, 1})}, 1));
    for (std::size_t i = 0; i != 32; ++i) first[i] = static_cast<std::byte>(i);
    run(work, {.input = first.data(), .output = second.data(), .count = 4, .element_bytes = 8});
    CHECK(second == first);
    std::array<std::byte, 32> third{};
    run(work, {.input = first.data(), .output = third.data(), .count = 3, .element_bytes = 8});
    CHECK((third[23] == std::byte{23} && third[24] == std::byte{0}));
    run(work, {.input = second.data(), .output = third.data(), .count = 4, .element_bytes = 8});
    CHECK(third == first);
}

TEST_CASE("prepared: a plane has memory for the blocks that are used only") {
    // Blocks 1, 40 to 42 and 97 of 100, named more than once.
    const std::vector<step> steps{send_step(1, {scratch(0), 97, 1}), send_step(1, {scratch(0), 40, 2}),
                                  send_step(1, {scratch(0), 1, 1}),  send_step(1, {scratch(0), 41, 2}),
                                  send_step(1, {scratch(0), 50, 0}), send_step(1, {scratch(1), 99, 1})};
    prepared work(bind_steps(steps, 100));
    const auto sent = run(work, {.count = 100, .element_bytes = 1000});
    REQUIRE(sent.size() == 6);
    CHECK(sent[1].data == sent[2].data + 1000);
    CHECK(sent[3].data == sent[1].data + 1000);
    CHECK(sent[0].data == sent[3].data + 2000);
    CHECK(sent[4].bytes == 0);
    CHECK(sent[5].data >= sent[0].data + 1000);
    CHECK(work.scratch_bytes() <= 5 * 1024 + 1024 + 64);
    const auto longer = run(work, {.count = 250, .element_bytes = 1000}); // 50 blocks of 3, then 50 of 2
    CHECK(longer[1].data == longer[2].data + 3000);
    CHECK(longer[0].data == longer[3].data + 6000);
    CHECK(longer[0].bytes == 2000);
}

TEST_CASE("prepared: of a matrix of blocks, input is a row and output a column") {
    std::array<std::byte, 64> in{}, out{};
    // Rank 1 of 3: row 3 4 5, column 1 4 7.
    const std::vector<step> steps{send_step(1, {input, 5, 1}),  send_step(1, {input, 3, 2}),
                                  send_step(1, {output, 1, 1}), send_step(1, {output, 4, 1}),
                                  send_step(1, {output, 7, 1}), send_step(1, {output, 7, 0})};
    prepared work(bind_steps(steps, 9));
    CHECK(work.direct());
    call c{.input = in.data(), .output = out.data(), .count = 18, .element_bytes = 4};
    c.input_block = 3;
    c.output_block = 1;
    c.row = 3;
    const auto check = [](const auto& sent, std::size_t i, const std::byte* from, std::size_t bytes) {
        CAPTURE(i);
        CHECK(sent.at(i).data == from);
        CHECK(sent.at(i).bytes == bytes);
    };
    const auto equal = run(work, c);
    check(equal, 0, in.data() + 16, 8);
    check(equal, 1, in.data(), 16);
    check(equal, 2, out.data(), 8);
    check(equal, 3, out.data() + 8, 8);
    check(equal, 4, out.data() + 16, 8);
    CHECK(equal.at(5).bytes == 0);
    const std::array<std::uint64_t, 4> row{0, 3, 3, 5}, column{0, 1, 5, 6};
    c.count = 0;
    c.row_offsets = row;
    c.column_offsets = column;
    const auto cut = run(work, c);
    check(cut, 0, in.data() + 12, 8);
    check(cut, 1, in.data(), 12);
    check(cut, 2, out.data(), 4);
    check(cut, 3, out.data() + 4, 16);
    check(cut, 4, out.data() + 20, 4);
    // Other lengths with the same sums are another layout.
    const std::array<std::uint64_t, 4> other{0, 0, 2, 6};
    c.column_offsets = other;
    const auto again = run(work, c);
    check(again, 3, out.data(), 8);
    check(again, 4, out.data() + 8, 16);

    prepared through(bind_steps(std::vector{send_step(1, {scratch(0), 1, 1})}, 9));
    CHECK_FALSE(through.direct());
}

TEST_CASE("prepared: of a vector cut by row_offsets alone, a rank has its own block") {
    std::array<std::byte, 64> in{};
    prepared work(bind_steps(std::vector{send_step(0, {input, 2, 1})}, 4));
    const std::array<std::uint64_t, 5> own{0, 0, 0, 5, 5}, shorter{0, 0, 0, 3, 3};
    call c{.input = in.data(), .count = 5, .element_bytes = 4};
    c.input_block = 2;
    c.row_offsets = own;
    const auto sent = run(work, c);
    CHECK((sent.at(0).data == in.data() && sent.at(0).bytes == 20));
    c.count = 3;
    c.row_offsets = shorter;
    CHECK(run(work, c).at(0).bytes == 12);
}

TEST_CASE("prepared: among neighbours, input is a row, and blocks of the output lie where the call says") {
    std::array<std::byte, 64> in{}, out{};
    const std::vector<step> steps{send_step(1, {input, 4, 2}), send_step(1, {output, 9, 1}),
                                  send_step(1, {output, 2, 1})};
    prepared work(bind_steps(steps, 10));
    call c{.input = in.data(), .output = out.data(), .count = 20, .element_bytes = 4};
    c.input_block = 3;
    c.row = 3;
    const std::array<placed_block, 2> places{placed_block{2, 3}, placed_block{9, 1}}; // place 0 and place 2 have none
    c.placed = places;
    const auto equal = run(work, c);
    CHECK((equal.at(0).data == in.data() + 8 && equal.at(0).bytes == 16));
    CHECK((equal.at(1).data == out.data() + 8 && equal.at(1).bytes == 8));
    CHECK((equal.at(2).data == out.data() + 24 && equal.at(2).bytes == 8));
    // Other places are another layout.
    const std::array<placed_block, 2> others{placed_block{2, 0}, placed_block{9, 1}};
    c.placed = others;
    CHECK(run(work, c).at(2).data == out.data());
    const std::array<std::uint64_t, 4> row{0, 1, 1, 5};
    const std::array<std::uint64_t, 5> column{0, 1, 4, 4, 6};
    c.count = 0;
    c.row_offsets = row;
    c.column_offsets = column;
    c.placed = places;
    const auto cut = run(work, c);
    CHECK((cut.at(0).data == in.data() + 4 && cut.at(0).bytes == 16));
    CHECK((cut.at(1).data == out.data() + 4 && cut.at(1).bytes == 12));
    CHECK((cut.at(2).data == out.data() + 16 && cut.at(2).bytes == 8));
    // A rank that sends nothing has no row.
    prepared only(bind_steps(std::vector{send_step(1, {output, 9, 1})}, 10));
    call receives{.output = out.data(), .count = 20, .element_bytes = 4};
    receives.placed = places;
    CHECK(run(only, receives).at(0).data == out.data() + 8);
}

TEST_CASE("prepared: lengths that repeat are those of the blocks of all ranks, also on their way") {
    std::array<std::byte, 256> in{}, out{};
    // Rows of three blocks, of 1, 4 and 0 elements; rank 1 sends its own and passes on some of rank 2.
    const std::vector<step> steps{receive_step(2, {scratch(0), 6, 2}), send_step(1, {input, 4, 1}),
                                  send_step(3, {scratch(0), 7, 1}), send_step(3, {scratch(0), 6, 1})};
    prepared work(bind_steps(steps, 9));
    const std::array<std::uint64_t, 4> lengths{0, 1, 5, 5};
    const std::array<placed_block, 1> places{placed_block{0, 0}};
    call c{.input = in.data(), .output = out.data(), .count = 15, .element_bytes = 4};
    c.input_block = 3;
    c.row = 3;
    c.offsets = c.row_offsets = c.column_offsets = lengths;
    c.repeat = 3;
    c.placed = places;
    work.prepare(c);
    const auto length = [&](std::size_t i) { return work.scratch_bytes() >= i; };
    CHECK(length(5 * 4));
    CHECK(work.scratch_bytes() < 2 * 128);
    test::port port;
    work.engine().start(c, port);
    REQUIRE(port.sent.size() == 1); // the others wait for what comes
    CHECK((port.sent[0].data == in.data() + 4 && port.sent[0].bytes == 16));
}
