// SPDX-License-Identifier: BSL-1.0
#include "frontdoor/forms.hpp"
#include "support/guarded.hpp"
#include <bough/algorithm/exscan/chain.hpp>
#include <bough/algorithm/scan/chain.hpp>
#include <bough/exscan.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/scan.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/self.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace bough;
using test::check_forms;

namespace {

// Maps x -> a x + b modulo 2^64, of which composition reveals the order.
struct affine {
    std::uint64_t a, b;
    friend bool operator==(const affine&, const affine&) = default;
};
struct then {
    affine operator()(const affine& f, const affine& g) const { return {g.a * f.a, g.a * f.b + g.b}; }
};
constexpr affine guard{77, 77}, untouched{5, 5};

affine value(rank_t r, std::size_t i, std::uint64_t call) { return {2 * r + 3 + 2 * call, i * 31 + r * 7 + 1}; }
affine folded(rank_t ranks, std::size_t i, std::uint64_t call) {
    affine all = value(0, i, call);
    for (rank_t r = 1; r < ranks; ++r) all = then{}(all, value(r, i, call));
    return all;
}

using endpoint = in_process::endpoint;

// f(in, out) and f(data): scan, or exscan where `below`.
template <class F>
void check(communicator<endpoint>& comm, std::size_t count, bool below, F&& f, test::faults& faults) {
    static thread_local std::uint64_t call = 0;
    ++call;
    const rank_t me = comm.rank();
    const std::string where = "p " + std::to_string(comm.size()) + ", rank " + std::to_string(me) + ", count " +
                              std::to_string(count) + (below ? ", exscan" : "");
    const auto is_result = [&](std::span<const affine> got, bool in_place) {
        for (std::size_t i = 0; i != count; ++i) {
            const affine none = in_place ? value(0, i, call) : untouched;
            if (!(got[i] == (below && me == 0 ? none : folded(below ? me : me + 1, i, call)))) return false;
        }
        return true;
    };
    test::guarded<affine> in(count, guard, guard), out(count, untouched, guard), data(count, guard, guard);
    for (std::size_t i = 0; i != count; ++i) in.span()[i] = data.span()[i] = value(me, i, call);
    f(std::span<const affine>(in.span()), out.span());
    faults.expect(in.intact() && out.intact(), "guards: " + where);
    for (std::size_t i = 0; i != count; ++i)
        faults.expect(in.span()[i] == value(me, i, call), "the input is only read: " + where);
    faults.expect(is_result(out.span(), false), "result: " + where);
    f(data.span());
    faults.expect(data.intact() && is_result(data.span(), true), "in place: " + where);
}

template <class S, class E>
void check_all(const S& of_scan, const E& of_exscan) {
    for (rank_t size = 1; size != 18; ++size) {
        test::faults faults;
        in_process{size}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            for (const std::size_t count : {0u, 1u, 5u, 300u}) {
                check(
                    comm, count, false, [&](auto... data) { scan(comm, data..., then{}, of_scan); }, faults);
                check(
                    comm, count, true, [&](auto... data) { exscan(comm, data..., then{}, of_exscan); }, faults);
            }
        });
        CHECK(faults.text() == "");
    }
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
struct append { // of decimal digits: associative, does not commute
    boxed operator()(const boxed& a, const boxed& b) const {
        std::uint64_t shift = 10;
        while (shift <= *b) shift *= 10;
        return boxed(*a * shift + *b);
    }
};

} // namespace

template <>
struct bough::wire<boxed> {
    static constexpr std::size_t size = 8;
    static void encode(const boxed& b, std::span<std::byte, size> out) {
        for (unsigned i = 0; i != 8; ++i) out[i] = static_cast<std::byte>(*b >> 8 * i);
    }
    static boxed decode(std::span<const std::byte, size> in) {
        std::uint64_t v = 0;
        for (unsigned i = 0; i != 8; ++i) v |= static_cast<std::uint64_t>(in[i]) << 8 * i;
        return boxed(v);
    }
};

TEST_CASE("scan and exscan: any size, in rank order; exscan leaves rank 0 as it is") {
    SECTION("automatic") { check_all(automatic{}, automatic{}); }
    SECTION("an algorithm") { check_all(chain_scan{}, chain_exscan{}); }
}

TEST_CASE("scan and exscan: elements with a wire form of their own") {
    test::faults faults;
    in_process{5}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        const rank_t me = comm.rank();
        const std::uint64_t up_to[] = {1, 12, 123, 1234, 12345};
        std::vector<boxed> in(2, boxed(me + 1)), out(2, boxed(99)), data(in);
        scan(comm, std::span(in), std::span(out), append{});
        faults.expect(*out[1] == up_to[me], "scan");
        scan(comm, std::span(data), append{});
        faults.expect(*data[0] == up_to[me], "scan in place");
        out.assign(2, boxed(99));
        exscan(comm, std::span(in), std::span(out), append{});
        faults.expect(*out[1] == (me == 0 ? 99 : up_to[me - 1]), "exscan");
        exscan(comm, std::span(in), append{});
        faults.expect(*in[0] == (me == 0 ? 1 : up_to[me - 1]), "exscan in place");
    });
    CHECK(faults.text() == "");
}

namespace {
struct reversed_scan { // combines the wrong way round, and says so by saying nothing
    constexpr void emit(const dimensions& at, rank_t r, StepSink auto& out) const { chain_scan{}.emit(at, r, out); }
    constexpr block_t natural_blocks(rank_t) const noexcept { return 1; }
    constexpr block_t scratch(const dimensions& at, rank_t r) const noexcept { return chain_scan{}.scratch(at, r); }
    constexpr status check(const dimensions&) const noexcept { return {}; }
    friend constexpr bool operator==(const reversed_scan&, const reversed_scan&) = default;
};
} // namespace

TEST_CASE("scan and exscan: what breaks a rule is named") {
    communicator comm{self{}};
    std::vector<int> x(4, 1), y(4), longer(5);
    const std::span<int> in(x), out(y);
    const std::span<int> null(static_cast<int*>(nullptr), 4), none;
    const std::span<int> huge(x.data(), ~std::size_t{0} / 4);
    const errc bad = errc::invalid_argument;
    check_forms([&](auto&... r) { scan(comm, in, std::span(longer), plus{}, r...); }, bad, "out: must be as long");
    check_forms([&](auto&... r) { exscan(comm, in, std::span(longer), plus{}, r...); }, bad, "out: must be as long");
    check_forms([&](auto&... r) { exscan(comm, in, none, plus{}, r...); }, bad, "out: must be as long");
    check_forms([&](auto&... r) { scan(comm, null, plus{}, r...); }, bad, "data: null");
    check_forms([&](auto&... r) { exscan(comm, in, null, plus{}, r...); }, bad, "data: null");
    check_forms([&](auto&... r) { scan(comm, huge, plus{}, r...); }, errc::size_overflow, "data:");
    const auto low = std::span(longer).first(4), high = std::span(longer).last(4);
    check_forms([&](auto&... r) { scan(comm, low, high, plus{}, r...); }, bad, "out: overlaps");
    check_forms([&](auto&... r) { exscan(comm, high, low, plus{}, r...); }, bad, "out: overlaps");
    const auto unknown = [](int a, int) { return a; };
    check_forms([&](auto&... r) { scan(comm, in, out, unknown, reversed_scan{}, r...); }, errc::unsupported, "op: ");
    check_forms([&](auto&... r) { scan(comm, in, out, unknown, r...); }, errc::ok);
    check_forms([&](auto&... r) { exscan(comm, in, unknown, r...); }, errc::ok);
    const auto of_two = plan_scan(chain_scan{}, {.size = 2});
    check_forms([&](auto&... r) { scan(comm, in, out, plus{}, of_two, r...); }, bad, "plan: its size");
    const auto of_one = plan_exscan(chain_exscan{}, {.size = 1, .blocks = 3});
    check_forms([&](auto&... r) { exscan(comm, in, out, plus{}, of_one, r...); }, errc::ok);
    check_forms([&](auto&... r) { scan(comm, none, plus{}, r...); }, errc::ok);
    CHECK_FALSE(comm.poison());
    CHECK((x == std::vector<int>(4, 1) &&
           y == std::vector<int>(4, 1))); // of one rank: scan copies, exscan writes nothing
}
