// SPDX-License-Identifier: BSL-1.0
#include "frontdoor/blocks.hpp"
#include "hear.hpp"
#include "support/catch.hpp"
#include "support/guarded.hpp"
#include <bough/gather.hpp>
#include <bough/group.hpp>
#include <bough/scatter.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/self.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/kary.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

using namespace bough;

namespace {

constexpr long guard = -77;

using endpoint = in_process::endpoint;

// One scatter out of place and one in place, of blocks of these lengths; `regular`: by scatter, not scatterv.
template <class Choice>
void check(communicator<endpoint>& comm, const std::vector<std::size_t>& counts, root from, const Choice& choice,
           bool regular, test::faults& faults) {
    static thread_local long call = 0;
    call += 10'000'000;
    const rank_t me = comm.rank();
    const bool is_root = me == from.rank;
    const std::size_t total = test::length_of(counts, comm.size());
    const std::size_t first = test::length_of(counts, me);
    // All lengths on every rank, or with counts_at_root none but at the root.
    constexpr bool lists = std::same_as<Choice, counts_at_root>;
    const std::vector<std::size_t> known = lists && !is_root ? std::vector<std::size_t>() : counts;
    const auto make = [&](auto... data) {
        if constexpr (!lists)
            if (regular) return scatter(comm, data..., from, choice);
        scatterv(comm, data..., known, from, choice);
    };
    const std::string where = test::where(comm, counts, regular) + ", root " + std::to_string(from.rank);
    // Element i of the vector is call + i.
    const auto is_part = [](std::span<const long> part, std::size_t at) {
        for (std::size_t i = 0; i != part.size(); ++i)
            if (part[i] != call + static_cast<long>(at + i)) return false;
        return true;
    };

    test::guarded<long> in(is_root ? total : 3, -2, guard);
    test::guarded<long> out(counts[me], -1, guard);
    if (is_root) std::iota(in.span().begin(), in.span().end(), call);
    make(std::span<const long>(in.span()), out.span());
    faults.expect(in.intact() && out.intact(), "guards: " + where);
    faults.expect(is_part(out.span(), first), "result: " + where);
    faults.expect(is_root ? is_part(in.span(), 0) : std::count(in.span().begin(), in.span().end(), -2) == 3,
                  "the input is only read: " + where);

    test::guarded<long> data(is_root ? total : counts[me], -1, guard);
    if (is_root) std::iota(data.span().begin(), data.span().end(), call);
    make(data.span());
    faults.expect(data.intact(), "guards in place: " + where);
    faults.expect(is_part(data.span(), is_root ? 0 : first), "in place: " + where);
}

template <class Choice>
void check_all(const Choice& choice) {
    test::in_groups([&](auto& comm, test::faults& faults) {
        for (rank_t r = 0; r != comm.size(); ++r)
            for (const auto& [counts, regular] : test::cuts(comm.size(), 1000, {r}))
                check(comm, counts, root{r}, choice, regular, faults);
    });
}

// Travels in a form of its own, which is longer than it is in memory.
struct digit {
    explicit digit(int v = 0) : value(static_cast<char>(v)) {}
    digit(const digit& other) : value(other.value) {} // not trivially copyable
    digit& operator=(const digit&) = default;
    friend bool operator==(const digit&, const digit&) = default;
    char value;
};

} // namespace

template <>
struct bough::wire<digit> {
    static constexpr std::size_t size = 2;
    static void encode(const digit& d, std::span<std::byte, size> out) { out[0] = out[1] = std::byte(d.value); }
    static digit decode(std::span<const std::byte, size> in) { return digit(std::to_integer<int>(in[1])); }
};

TEST_CASE("scatter: any size, root and count, out of place and in place") {
    SECTION("automatic") { check_all(automatic{}); }
    SECTION("binomial, relabelled: subtrees of two intervals") { check_all(binomial{}); }
    SECTION("high binomial: subtrees of many intervals") { check_all(binomial{.orientation = orientation::high}); }
    SECTION("lengths that only the root has") { check_all(counts_at_root{}); }
    SECTION("ternary") { check_all(tree_scatter{kary{.arity = 3}}); }
    SECTION("ordered fnomial") { check_all(ordered{fnomial{.degree = 3}}); }
}

TEST_CASE("scatter: elements with a wire form of their own") {
    test::faults faults;
    in_process{7}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        std::vector<digit> in;
        for (int i = 0; comm.rank() == 4 && i != 21; ++i) in.emplace_back(i);
        std::vector<digit> out(3);
        scatter(comm, std::span(in), std::span(out), root{4}, binomial{});
        const int first = 3 * static_cast<int>(comm.rank());
        faults.expect(out == std::vector<digit>{digit(first), digit(first + 1), digit(first + 2)}, "out of place");
        std::vector<digit> data = in;
        if (comm.rank() != 4) data.assign(3, digit());
        scatter(comm, std::span(data), root{4});
        faults.expect(data == (comm.rank() == 4 ? in : out), "in place");
    });
    CHECK(faults.text() == "");
}

TEST_CASE("scatter: in a part of the group, and back by gather") {
    test::faults faults;
    in_process{9}.run([&](auto transport) {
        communicator world{std::move(transport)};
        auto comm = split(world, world.rank() % 2, world.size() - world.rank()); // reversed
        const root r{comm.size() - 1};
        std::vector<int> whole(comm.rank() == r.rank ? 2 * comm.size() : 0), part(2), back(whole.size());
        std::iota(whole.begin(), whole.end(), 100);
        scatter(comm, std::span(whole), std::span(part), r);
        faults.expect(part[0] == 100 + 2 * static_cast<int>(comm.rank()), "scattered");
        gather(comm, std::span(part), std::span(back), r);
        faults.expect(back == whole, "gathered");
    });
    CHECK(faults.text() == "");
}

TEST_CASE("scatter: a plan, and a group of one") {
    communicator comm{self{}};
    const int in[] = {1, 2};
    int out[] = {0, 0};
    scatter(comm, std::span(in), std::span(out), root{0}, plan_scatter(binomial{}, {.size = 1}));
    CHECK(out[1] == 2);
    std::error_code ec;
    scatter(comm, std::span(in), std::span(out), root{0}, plan_scatter(binomial{}, {.size = 2}), ec);
    CHECK(ec == errc::invalid_argument);
}

TEST_CASE("scatter: what breaks a rule is named") {
    communicator comm{self{}};
    std::vector<int> in(4), out(4), longer(5);
    status s;
    const auto says = [&](std::string_view sentence) {
        CHECK(s.code == errc::invalid_argument);
        REQUIRE(s.argument != nullptr);
        CHECK(std::string_view(s.argument) == sentence);
    };
    scatter(comm, std::span(in), std::span(out), root{1}, s);
    says("root: not a rank of the group");
    scatter(comm, std::span(longer), std::span(out), root{0}, s);
    says("in: must hold one block for every rank");
    scatter(comm, std::span(in), std::span<int>(static_cast<int*>(nullptr), 4), root{0}, s);
    says("data: null, but its count is not zero");
    scatter(comm, std::span(longer).first(4), std::span(longer).last(4), root{0}, s);
    says("out: overlaps the input, but not as the root's own block in its place");
    scatter(comm, std::span(in), std::span(in), root{0}, s); // the root's own block in its place
    CHECK_FALSE(s);
    const std::vector<std::size_t> none, three{3};
    scatterv(comm, std::span(in), std::span(out), none, root{0}, s);
    says("counts: one per rank is needed");
    scatterv(comm, std::span(in), std::span(out), three, root{0}, s);
    says("counts: this rank's block is not as long");
    scatterv(comm, std::span(in), three, root{0}, s);
    says("data: at the root, its length is not the sum of counts");
    CHECK_THROWS_AS(scatterv(comm, std::span(in), three, root{0}), bough::error);
}

TEST_CASE("scatter: a rank that expects another length is told so") {
    std::vector<status> seen(5);
    in_process{5}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        comm.set_timeout_ns(5'000'000'000);
        std::vector<int> in(5), out(comm.rank() == 3 ? 2 : 1);
        for (int tries = 0; tries != 100 && !seen[comm.rank()]; ++tries)
            scatter(comm, std::span(in), std::span(out), root{0}, seen[comm.rank()]);
        test::hear_of_failure(comm, seen[comm.rank()]);
    });
    for (const status& s : seen) CHECK(s);
    CHECK(seen[3].mismatch == mismatch::count);
}
