// SPDX-License-Identifier: BSL-1.0
// The message of a batch: parts without gaps, each aligned, and the same on ranks that add the same parts.
#include "support/catch.hpp"
#include "support/last_words.hpp"
#include <bough/call/batch_list.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/exact_sum.hpp>
#include <bough/op/min_max.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

using namespace bough;
using detail::batch_list;

namespace {

struct shy { // where it throws, it cannot travel
    bool throws = false;
};
struct either {
    shy operator()(const shy& a, const shy&) const { return a; }
};

template <class T, class O>
void add(batch_list& list, std::vector<T>& x, const O& op) {
    list.add(static_cast<const T*>(x.data()), x.size(), x.data(), x.size(), op);
}

} // namespace

template <>
struct bough::wire<shy> {
    static constexpr std::size_t size = 1;
    static void encode(const shy& x, std::span<std::byte, 1> out) {
        if (x.throws) throw 1;
        out[0] = std::byte{7};
    }
    static shy decode(std::span<const std::byte, 1>) { return {}; }
};

TEST_CASE(
    "batch_list: parts lie without gaps, and each where its type may lie, whatever the order in which they are added") {
    std::vector<std::int8_t> bytes{1, 2, 3};
    std::vector<double> doubles{1.5, 2.5};
    std::vector<std::int32_t> ints{10, 20, 30};
    std::vector<std::int16_t> none;
    batch_list list;
    add(list, bytes, plus{});
    add(list, doubles, plus{});
    add(list, none, plus{});
    add(list, ints, max{});
    REQUIRE_FALSE(list.check(true));
    list.lay_out();
    CHECK(list.size() == 4);
    CHECK(list.bytes() == 3 + 2 * 8 + 3 * 4);
    REQUIRE_FALSE(list.pack());
    // The strictest alignment first.
    const std::byte* message = list.message();
    CHECK(std::memcmp(message, doubles.data(), 16) == 0);
    CHECK(std::memcmp(message + 16, ints.data(), 12) == 0);
    CHECK(std::memcmp(message + 28, bytes.data(), 3) == 0);

    // A message is combined part by part, each by its op.
    const std::vector<std::byte> mine(message, message + list.bytes());
    bytes = {10, 10, 10};
    doubles = {4, 5};
    ints = {15, 15, 15};
    REQUIRE_FALSE(list.pack());
    batch_list::combine(&list, mine.data(), list.message(), list.message(), 1);
    list.unpack();
    CHECK(bytes == std::vector<std::int8_t>{11, 12, 13});
    CHECK(doubles == std::vector<double>{5.5, 7.5});
    CHECK(ints == std::vector<std::int32_t>{15, 20, 30});
}

TEST_CASE("batch_list: its signature tells parts, their order, their ops, types and lengths apart") {
    std::vector<int> x(4), longer(5);
    std::vector<float> y(4);
    const auto signature = [](auto&&... adds) {
        batch_list list;
        (adds(list), ...);
        list.lay_out();
        return list.signature(2);
    };
    const auto x_plus = [&](batch_list& l) { add(l, x, plus{}); };
    const auto x_max = [&](batch_list& l) { add(l, x, max{}); };
    const auto y_plus = [&](batch_list& l) { add(l, y, plus{}); };
    const auto longer_plus = [&](batch_list& l) { add(l, longer, plus{}); };
    const call_signature usual = signature(x_plus, y_plus);
    CHECK(usual == signature(x_plus, y_plus));
    CHECK(usual.root == 2);
    CHECK(usual.type != signature(y_plus, x_plus).type);
    CHECK(usual.op != signature(x_max, y_plus).op);
    CHECK(usual.type == signature(x_max, y_plus).type);
    CHECK(usual.count != signature(longer_plus, y_plus).count);
    CHECK(usual.op == signature(longer_plus, y_plus).op);
    CHECK(usual.count != signature(x_plus).count);
    CHECK(signature(x_plus).count != signature(longer_plus).count);
}

TEST_CASE("batch_list: it commutes, and is exact, if every part does") {
    std::vector<int> ints(1);
    std::vector<double> doubles(1);
    batch_list list;
    add(list, ints, plus{});
    list.lay_out();
    CHECK(list.commutative());
    CHECK(list.exact());
    add(list, doubles, plus{});
    list.lay_out();
    CHECK(list.commutative());
    CHECK_FALSE(list.exact()); // sums of double depend on the order
    add(list, ints, [](int a, int b) { return 2 * a + b; });
    list.lay_out();
    CHECK_FALSE(list.commutative());
    list.clear();
    CHECK(list.empty());
    list.lay_out();
    CHECK(list.commutative());
    CHECK(list.exact());
    CHECK(list.bytes() == 0);
}

TEST_CASE("batch_list: states travel where an op has them, and the values come back") {
    std::vector<double> x{1e100, 1, -1e100};
    batch_list list;
    add(list, x, exact_sum{});
    list.lay_out();
    REQUIRE_FALSE(list.pack());
    const std::vector<std::byte> mine(list.message(), list.message() + list.bytes());
    CHECK(mine.size() > 3 * sizeof(double));
    x = {-1e100, 2, 1e100};
    REQUIRE_FALSE(list.pack());
    batch_list::combine(&list, mine.data(), list.message(), list.message(), 1);
    list.unpack();
    CHECK(x == std::vector<double>{0, 3, 0});
}

TEST_CASE("batch_list: parts that break a rule, and a message that is too long, are refused") {
    std::array<int, 8> x{};
    const int* const in = x.data();
    {
        batch_list list;
        list.add(in, 4, x.data() + 2, 4, plus{});
        CHECK(list.check(true).code == errc::invalid_argument);
        CHECK_FALSE(list.check(false)); // a rank that gets no result
    }
    {
        batch_list list;
        list.add(in, 4, x.data(), 3, plus{});
        CHECK(list.check(true).code == errc::invalid_argument);
    }
    if constexpr (sizeof(std::size_t) > sizeof(std::uint32_t)) { // else no memory is so long
        constexpr std::size_t most = ~std::uint32_t{0} / sizeof(int);
        batch_list list;
        list.add(in, most, x.data(), most, plus{});
        CHECK_FALSE(list.check(true));
        list.add(in, 1, x.data(), 1, plus{});
        CHECK(list.check(true).code == errc::size_overflow);
    }
}

TEST_CASE("batch_list: a value that cannot travel is an error of the call, and not an exception") {
    std::vector<shy> x(3);
    batch_list list;
    add(list, x, either{});
    list.lay_out();
    CHECK_FALSE(list.pack());
    CHECK(list.message()[2] == std::byte{7});
    x[1].throws = true;
    CHECK(list.pack().code == errc::op_threw);
}

TEST_CASE(
    "batch_list: a change amid a call ends the program with a sentence, whether a message or the end comes next") {
    std::vector<int> x{1, 2}, more(1000);
    batch_list list;
    add(list, x, plus{});
    list.lay_out();
    REQUIRE_FALSE(list.pack());
    add(list, more, plus{}); // no part of the message: it would be combined and unpacked beyond its end
    const auto sentence = "batch: was changed while a call of it was in flight";
    std::vector<std::byte> other(list.bytes()), out(list.bytes());
    for (const bool combines : {true, false}) {
        const auto said = bough_test::last_words_of([&] {
            combines ? batch_list::combine(&list, list.message(), other.data(), out.data(), 1) : list.unpack();
        });
        CHECK(said.aborted);
        CHECK(said.has(sentence));
    }
    list.lay_out(); // for the next call
    REQUIRE_FALSE(list.pack());
    list.unpack();
}

TEST_CASE("batch_list: a call between the start and the end of another one ends the program with a sentence") {
    std::vector<int> x{1, 2};
    batch_list list;
    add(list, x, plus{});
    list.lay_out();
    const char first = 0, second = 0; // calls
    REQUIRE_FALSE(list.pack(&first));
    REQUIRE_FALSE(list.pack(&second));
    list.unpack(&second);
    for (const bool writes : {true, false}) {
        const auto said =
            bough_test::last_words_of([&] { writes ? list.unpack(&first) : list.expect_packed_by(&first); });
        CHECK(said.aborted);
        CHECK(said.has("batch: was used in another call before this one had ended"));
    }
    REQUIRE_FALSE(list.pack(&first)); // one after the other
    list.expect_packed_by(&first);
    // Also if the second one has the address of the first, as where a hook makes a blocking call.
    REQUIRE_FALSE(list.pack(&first));
    REQUIRE_FALSE(list.pack(&first));
    list.unpack(&first);
    for (const bool writes : {true, false})
        CHECK(bough_test::last_words_of([&] {
                  writes ? list.unpack(&first) : list.expect_packed_by(&first);
              }).has("batch: was used in another call before this one had ended"));
}
