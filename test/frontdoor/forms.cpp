// SPDX-License-Identifier: BSL-1.0
// What a front door can be given: spans of any kind, in place or not, any op, any choice, elements with a wire form.
#include "frontdoor/forms.hpp"

#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/self.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/tree/table.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <numeric>
#include <vector>

using namespace bough;

namespace {

constexpr rank_t size = 5;
using comm_type = communicator<in_process::endpoint>;

// Runs body(comm) on all ranks; the body returns how much it finds wrong.
template <class F>
int wrong(F&& body) {
    std::atomic<int> sum{0};
    in_process(size).run([&](auto end) {
        comm_type comm{std::move(end)};
        sum += body(comm);
    });
    return sum;
}

// Owns memory, so it cannot travel as it lies.
class boxed {
public:
    boxed() : boxed(0) {}
    explicit boxed(std::uint64_t v) : value_(std::make_unique<std::uint64_t>(v)) {}
    boxed(const boxed& other) : boxed(*other) {}
    boxed& operator=(const boxed& other) {
        *value_ = *other;
        return *this;
    }
    std::uint64_t operator*() const { return *value_; }

private:
    std::unique_ptr<std::uint64_t> value_;
};
static_assert(!std::is_trivially_copyable_v<boxed>);

struct append { // of decimal digits: associative, does not commute
    boxed operator()(const boxed& a, const boxed& b) const {
        std::uint64_t shift = 10;
        while (shift <= *b) shift *= 10;
        return boxed(*a * shift + *b);
    }
};
// One byte here, 64 on the way.
struct spread {
    spread() = default;
    spread(const spread& other) : value(other.value) {}
    spread& operator=(const spread& other) {
        value = other.value;
        return *this;
    }
    unsigned char value = 0;
};
static_assert(sizeof(spread) == 1 && !std::is_trivially_copyable_v<spread>);
struct plus_spread {
    spread operator()(const spread& a, const spread&) const { return a; }
};
struct modular { // an op with state
    std::uint64_t modulus;
    std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return (a + b) % modulus; }
};

} // namespace

template <>
struct bough::wire<spread> {
    static constexpr std::size_t size = 64;
    static void encode(const spread& v, std::span<std::byte, size> out) noexcept { out[0] = std::byte{v.value}; }
    static spread decode(std::span<const std::byte, size>) noexcept { return {}; }
};
template <>
struct bough::wire<boxed> {
    static constexpr std::size_t size = 3; // as tight as this test needs
    static void encode(const boxed& v, std::span<std::byte, size> out) noexcept {
        for (std::size_t i = 0; i != size; ++i) out[i] = static_cast<std::byte>(*v >> (8 * i));
    }
    static boxed decode(std::span<const std::byte, size> in) noexcept {
        std::uint64_t v = 0;
        for (std::size_t i = 0; i != size; ++i) v |= std::to_integer<std::uint64_t>(in[i]) << (8 * i);
        return boxed(v);
    }
};

TEST_CASE("front doors: spans of fixed length, constant input, in place and not") {
    CHECK(wrong([](comm_type& comm) {
              const int me = static_cast<int>(comm.rank());
              int bad = 0;
              std::array<int, 3> fixed{me, me, 1};
              allreduce(comm, std::span(fixed), plus{});
              bad += fixed != std::array{10, 10, 5};
              const std::array<int, 3> in{me, 1, 2};
              std::array<int, 3> out{};
              allreduce(comm, std::span(in), std::span(out), plus{});
              bad += out != std::array{10, 5, 10} || in != std::array{me, 1, 2};
              std::array<int, 3> changeable{me, 1, 2};
              std::vector<int> other(3, 9);
              allreduce(comm, std::span(changeable), std::span(other), max{});
              bad += other != std::vector{4, 1, 2} || changeable != std::array{me, 1, 2};
              reduce(comm, std::span(in), std::span(out), plus{}, root{3});
              bad += out != std::array{10, 5, 10};
              reduce(comm, std::span(fixed), plus{}, root{0});
              bad += fixed != (me == 0 ? std::array{50, 50, 25} : std::array{10, 10, 5});
              std::vector<int> nowhere; // out is used at the root only
              reduce(comm, std::span(in), me == 1 ? std::span(other) : std::span(nowhere), plus{}, root{1});
              bad += other != (me == 1 ? std::vector{10, 5, 10} : std::vector{4, 1, 2});
              broadcast(comm, std::span(other), root{2});
              bad += other != std::vector{4, 1, 2};
              return bad;
          }) == 0);
}

TEST_CASE("front doors: every kind of choice gives the same result") {
    CHECK(wrong([](comm_type& comm) {
              int bad = 0;
              const auto check = [&](const auto& choice) {
                  std::vector<std::uint64_t> x(7, comm.rank() + 1u);
                  allreduce(comm, std::span(x), plus{}, choice);
                  bad += x != std::vector<std::uint64_t>(7, 15);
              };
              check(automatic{});
              check(recursive_doubling{});
              check(fnomial{.degree = 3});
              check(chain{});
              check(ordered{flat{}});
              check(table{tree{flat{}, size}});
              check(tree_allreduce{fnomial{.degree = 2}, 1});
              check(plan_allreduce(recursive_doubling{}, {.size = size}));
              check(plan_allreduce(flat{}, {.size = size, .blocks = 4}));
              return bad;
          }) == 0);
}

TEST_CASE("front doors: status and error_code say the same on a result too") {
    CHECK(wrong([](comm_type& comm) {
              std::vector<std::uint64_t> x(3, 1);
              status s{.code = errc::deadline};
              std::error_code ec = errc::deadline;
              allreduce(comm, std::span(x), plus{}, s);
              allreduce(comm, std::span(x), plus{}, recursive_doubling{}, ec);
              int bad = s != status{} || ec;
              reduce(comm, std::span(x), plus{}, root{1}, s);
              reduce(comm, std::span(x), plus{}, root{2}, fnomial{.degree = 2}, ec);
              bad += s != status{} || ec;
              broadcast(comm, std::span(x), root{0}, ec);
              broadcast(comm, std::span(x), root{0}, chain{}, s);
              return bad + (s != status{} || ec);
          }) == 0);
}

TEST_CASE("front doors: elements that own memory travel by their wire form") {
    CHECK(wrong([](comm_type& comm) {
              const rank_t me = comm.rank();
              int bad = 0;
              const auto is = [](const std::vector<boxed>& x, std::uint64_t value) {
                  return *x[0] == value && *x[1] == value;
              };
              std::vector<boxed> x(2, boxed(me + 1));
              const std::vector<boxed> in = x;
              std::vector<boxed> out(2);
              allreduce(comm, std::span(in), std::span(out), append{});
              bad += !is(out, 12345) || !is(in, me + 1);
              reduce(comm, std::span(in), std::span(out), append{}, root{2}); // in rank order, for any root
              bad += !is(out, 12345);
              reduce(comm, std::span(x), append{}, root{4});
              bad += !is(x, me == 4 ? 12345 : me + 1);
              allreduce(comm, std::span(x).first(0), append{});
              x.assign(2, boxed(me == 3 ? 77 : 0));
              broadcast(comm, std::span(x), root{3});
              bad += !is(x, 77);
              return bad;
          }) == 0);
}

TEST_CASE("front doors: elements whose wire form is longer than any memory are refused") {
    if constexpr (sizeof(std::size_t) != 4) return; // with 64 bits, no machine has the elements
    communicator comm{self{}};
    std::vector<spread> x((std::size_t{1} << 26) + 1); // 64 MiB, and a little more than 4 GiB as messages
    status result;
    allreduce(comm, x, plus_spread{}, recursive_doubling{}, result);
    CHECK(result.code == errc::size_overflow);
}

TEST_CASE("front doors: an op with state, and one that is a lambda") {
    CHECK(wrong([](comm_type& comm) {
              const modular op{7};
              std::vector<std::uint64_t> x(100, comm.rank() + 4u);
              allreduce(comm, std::span(x), op);
              int bad = x != std::vector<std::uint64_t>(100, (4 + 5 + 6 + 7 + 8) % 7);
              std::uint64_t calls = 0;
              const auto counting = [&calls](std::uint64_t a, std::uint64_t b) { return ++calls, a * 2 + b; };
              x.assign(1, 1);
              reduce(comm, std::span(x), counting, root{0}, chain{});
              bad += x[0] != (comm.rank() == 0 ? 9u : 1u); // 1*2 + (1*2 + (1*2 + (1*2 + 1)))
              return bad + (calls != (comm.rank() == 4 ? 0u : 1u));
          }) == 0);
}

TEST_CASE("front doors: an op that throws is an error on every rank, and nothing is left behind") {
    for (rank_t culprit = 0; culprit != size; ++culprit) {
        std::atomic<int> sum{0};
        in_process(size).run([&](auto end) {
            comm_type comm{std::move(end)};
            const bool now = comm.rank() == culprit;
            const auto op = [now](int a, int b) { return now ? throw 42 : a + b; };
            std::vector<int> x(2000, 1);
            status s;
            allreduce(comm, std::span(x), op, recursive_doubling{}, s);
            if (culprit == 1) { // is folded into rank 0: it only sends and receives, and never calls its op
                sum += bool(s);
                return;
            }
            if (now) sum += s.code != errc::op_threw;
            // Who had rightly returned already learns of it from a later call.
            for (int i = 0; i != 1000 && !s; ++i) allreduce(comm, std::span(x), plus{}, s);
            const bool told = s.code == errc::peer_aborted || s.code == errc::group_poisoned;
            if (!now) sum += !told || s.cause != errc::op_threw || s.peer != culprit;
        });
        CAPTURE(culprit);
        CHECK(sum == 0);
    }
}
