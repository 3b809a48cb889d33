// SPDX-License-Identifier: BSL-1.0
#include "frontdoor/blocks.hpp"
#include "hear.hpp"
#include "support/catch.hpp"
#include "support/guarded.hpp"
#include <bough/gather.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/self.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/kary.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

using namespace bough;
using test::tagged;

namespace {

constexpr long guard = -77;

// Element i of what rank r gives in call number `call`.
constexpr long value(rank_t r, std::size_t i, long call) {
    return static_cast<long>(r) * 100'000 + static_cast<long>(i) * 7 + call;
}

void fill(std::span<long> block, rank_t r, long call) {
    for (std::size_t i = 0; i != block.size(); ++i) block[i] = value(r, i, call);
}
bool holds(std::span<const long> block, rank_t r, long call) {
    for (std::size_t i = 0; i != block.size(); ++i)
        if (block[i] != value(r, i, call)) return false;
    return true;
}

using endpoint = in_process::endpoint;

// One gather out of place and one in place, of blocks of these lengths; `regular`: by gather, not gatherv.
template <class Choice>
void check(communicator<endpoint>& comm, const std::vector<std::size_t>& counts, root to, const Choice& choice,
           bool regular, test::faults& faults) {
    static thread_local long call = 0;
    ++call;
    const rank_t me = comm.rank();
    const bool is_root = me == to.rank;
    const std::size_t total = test::length_of(counts, comm.size());
    const std::size_t first = test::length_of(counts, me);
    // All lengths on every rank, or with counts_at_root none but at the root.
    constexpr bool lists = std::same_as<Choice, counts_at_root>;
    const std::vector<std::size_t> known = lists && !is_root ? std::vector<std::size_t>() : counts;
    const auto make = [&](auto... data) {
        if constexpr (!lists)
            if (regular) return gather(comm, data..., to, choice);
        gatherv(comm, data..., known, to, choice);
    };
    const std::string where = test::where(comm, counts, regular) + ", root " + std::to_string(to.rank);
    const auto is_result = [&](std::span<const long> whole) {
        for (rank_t r = 0; r != comm.size(); ++r)
            if (!holds(whole.subspan(test::length_of(counts, r), counts[r]), r, call)) return false;
        return true;
    };

    test::guarded<long> in(counts[me], 0, guard);
    test::guarded<long> out(is_root ? total : 3, -1, guard);
    fill(in.span(), me, call);
    make(std::span<const long>(in.span()), out.span());
    faults.expect(in.intact() && out.intact(), "guards: " + where);
    faults.expect(holds(in.span(), me, call), "the input is only read: " + where);
    if (is_root)
        faults.expect(is_result(out.span()), "result: " + where);
    else
        faults.expect(std::count(out.span().begin(), out.span().end(), -1) == 3, "out of a leaf: " + where);

    test::guarded<long> data(is_root ? total : counts[me], -1, guard);
    fill(is_root ? data.span().subspan(first, counts[me]) : data.span(), me, call);
    make(data.span());
    faults.expect(data.intact(), "guards in place: " + where);
    faults.expect(is_root ? is_result(data.span()) : holds(data.span(), me, call), "in place: " + where);
}

template <class Choice>
void check_all(const Choice& choice) {
    test::in_groups([&](auto& comm, test::faults& faults) {
        for (rank_t r = 0; r != comm.size(); ++r)
            for (const auto& [counts, regular] : test::cuts(comm.size(), 1000, {r}))
                check(comm, counts, root{r}, choice, regular, faults);
    });
}

} // namespace

TEST_CASE("gather: any size, root and count, out of place and in place") {
    SECTION("automatic") { check_all(automatic{}); }
    SECTION("binomial, relabelled: subtrees of two intervals") { check_all(binomial{}); }
    SECTION("high binomial: subtrees of many intervals") { check_all(binomial{.orientation = orientation::high}); }
    SECTION("lengths that only the root has") { check_all(counts_at_root{}); }
    SECTION("ternary") { check_all(tree_gather{kary{.arity = 3}}); }
    SECTION("ordered fnomial") { check_all(ordered{fnomial{.degree = 3}}); }
}

TEST_CASE("gather: elements with a wire form of their own") {
    test::faults faults;
    in_process{7}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        const auto text = [](rank_t r, int i) { return tagged{"r" + std::to_string(r) + std::to_string(i)}; };
        const std::vector<tagged> in{text(comm.rank(), 0), text(comm.rank(), 1)};
        std::vector<tagged> out(comm.rank() == 4 ? 14 : 0);
        gather(comm, std::span(in), std::span(out), root{4}, binomial{});
        if (comm.rank() == 4)
            for (rank_t r = 0; r != 7; ++r)
                faults.expect(out[2 * r] == text(r, 0) && out[2 * r + 1] == text(r, 1), "rank " + std::to_string(r));
        std::vector<tagged> data(comm.rank() == 4 ? 14 : 2, tagged{"---"});
        std::copy(in.begin(), in.end(), data.begin() + (comm.rank() == 4 ? 8 : 0));
        gather(comm, std::span(data), root{4});
        faults.expect(data == (comm.rank() == 4 ? out : in), "in place");
    });
    CHECK(faults.text() == "");
}

TEST_CASE("gather: a plan, a group of one, and a static span") {
    communicator comm{self{}};
    const int in[] = {1, 2};
    int out[] = {0, 0};
    gather(comm, std::span(in), std::span(out), root{0}, plan_gather(binomial{}, {.size = 1}));
    CHECK(out[1] == 2);
    std::error_code ec;
    gather(comm, std::span(in), std::span(out), root{0}, plan_gather(binomial{}, {.size = 2}), ec);
    CHECK(ec == errc::invalid_argument);
}

TEST_CASE("gather: what breaks a rule is named") {
    communicator comm{self{}};
    std::vector<int> in(4), out(4), longer(5);
    status s;
    const auto says = [&](std::string_view sentence) {
        CHECK(s.code == errc::invalid_argument);
        REQUIRE(s.argument != nullptr);
        CHECK(std::string_view(s.argument) == sentence);
    };
    gather(comm, std::span(in), std::span(out), root{1}, s);
    says("root: not a rank of the group");
    gather(comm, std::span(in), std::span(longer), root{0}, s);
    says("out: must hold one block for every rank");
    gather(comm, std::span(in), std::span<int>{}, root{0}, s);
    says("out: must hold one block for every rank");
    gather(comm, std::span<const int>(static_cast<int*>(nullptr), 4), std::span(out), root{0}, s);
    says("data: null, but its count is not zero");
    gather(comm, std::span(longer).first(4), std::span(longer).last(4), root{0}, s);
    says("out: overlaps the input, but not as the root's own block in its place");
    gather(comm, std::span(in), std::span(in), root{0}, s); // the root's own block in its place
    CHECK_FALSE(s);
    const std::vector<std::size_t> none, three{3}, two{4, 0};
    gatherv(comm, std::span(in), std::span(out), none, root{0}, s);
    says("counts: one per rank is needed");
    gatherv(comm, std::span(in), std::span(out), two, root{0}, s);
    says("counts: one per rank is needed");
    gatherv(comm, std::span(in), std::span(out), three, root{0}, s);
    says("counts: this rank's block is not as long");
    gatherv(comm, std::span(in), std::span(out), two, root{0}, counts_at_root{}, s);
    says("counts: one per rank is needed");
    gatherv(comm, std::span(in), std::span(out), three, root{0}, counts_at_root{}, s);
    says("counts: this rank's block is not as long");
    gatherv(comm, std::span(in), three, root{0}, counts_at_root{}, s);
    says("data: at the root, its length is not the sum of counts");
    gatherv(comm, std::span(in), three, root{0}, s);
    says("data: at the root, its length is not the sum of counts");
    gather(comm, std::span(in), std::span(out), root{0}, fnomial{.degree = 1}, s);
    says("degree: an f-nomial tree needs a degree of at least 2");

    in_process{2}.run([&](auto transport) {
        communicator pair{std::move(transport)};
        pair.set_timeout_ns(5'000'000'000);
        const std::vector<std::size_t> huge{~std::size_t{0} / 8, ~std::size_t{0} / 8};
        std::vector<int> block(1);
        status bad;
        gatherv(pair, std::span(block), std::span(block), huge, root{0}, bad);
        if (pair.rank() == 1) s = bad;
    });
    CHECK(s.code == errc::size_overflow);
    // In place, an odd length cannot be two blocks; the other rank hears of it.
    s = test::status_of_odd_length(
        0, [](auto& pair, std::span<int> data, status& bad) { gather(pair, data, root{0}, bad); });
    says("data: at the root, its length is not a multiple of the number of ranks");
}

TEST_CASE("gather: ranks that do not make the same call are told so") {
    const auto code_of = [](auto call) { // of the root's call, and of the next one on every rank
        std::vector<status> first(5), second(5);
        in_process{5}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            comm.set_timeout_ns(5'000'000'000);
            call(comm, first[comm.rank()]);
            std::vector<int> in(1), out(5);
            for (int tries = 0; tries != 100 && !second[comm.rank()]; ++tries) // who has heard of it by then
                gather(comm, std::span(in), std::span(out), root{0}, second[comm.rank()]);
            test::hear_of_failure(comm, second[comm.rank()]);
        });
        for (const status& s : second) CHECK(s);
        return first[0];
    };
    const status count = code_of([](auto& comm, status& s) {
        std::vector<int> in(comm.rank() == 3 ? 2 : 1), out(5);
        gather(comm, std::span(in), std::span(out), root{0}, s);
    });
    CHECK((count.code == errc::call_mismatch || count.cause == errc::call_mismatch));
    CHECK(count.mismatch == mismatch::count);
    const status cut = code_of([](auto& comm, status& s) { // equal sums, but cut in another way
        std::vector<std::size_t> counts{2, 2, 2, 2, 2};
        if (comm.rank() == 3) counts = {1, 3, 2, 2, 2};
        std::vector<int> in(2), out(10);
        gatherv(comm, std::span(in), std::span(out), counts, root{0}, s);
    });
    CHECK((cut.code == errc::call_mismatch || cut.cause == errc::call_mismatch));
    CHECK(cut.mismatch == mismatch::plan);
    CHECK(message_of(cut).find("or gave different counts") != std::string::npos);
    const status form = code_of([](auto& comm, status& s) {
        std::vector<int> in(2), out(10);
        if (comm.rank() == 3)
            gatherv(comm, std::span(in), std::span(out), std::vector<std::size_t>(5, 2), root{0}, s);
        else
            gather(comm, std::span(in), std::span(out), root{0}, s);
    });
    CHECK((form.code == errc::call_mismatch || form.cause == errc::call_mismatch));
    // Lengths that only the root has: what arrives is not as long as it says; another rank is the root,
    // too; one rank lists all lengths.
    const std::vector<std::size_t> two(5, 2);
    const status length = code_of([&](auto& comm, status& s) {
        std::vector<int> in(comm.rank() == 3 ? 3 : 2), out(10);
        gatherv(comm, std::span(in), std::span(out), two, root{0}, counts_at_root{}, s);
    });
    CHECK(length.code == errc::call_mismatch);
    CHECK(length.peer == 3);
    const status roots = code_of([&](auto& comm, status& s) {
        std::vector<int> in(2), out(10);
        gatherv(comm, std::span(in), std::span(out), two, root{comm.rank() == 3 ? 3u : 0u}, counts_at_root{}, s);
    });
    CHECK((roots.code == errc::call_mismatch || roots.cause == errc::call_mismatch));
    CHECK(roots.mismatch == mismatch::root);
    const status known = code_of([&](auto& comm, status& s) {
        std::vector<int> in(2), out(10);
        if (comm.rank() == 3)
            gatherv(comm, std::span(in), std::span(out), two, root{0}, s);
        else
            gatherv(comm, std::span(in), std::span(out), two, root{0}, counts_at_root{}, s);
    });
    CHECK((known.code == errc::call_mismatch || known.cause == errc::call_mismatch));
    CHECK(known.mismatch == mismatch::count);
}
