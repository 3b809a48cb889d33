// SPDX-License-Identifier: BSL-1.0
// Collectives on numbers of 16 and 8 bits: rounded at every combine, and once at the end.
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/allreduce.hpp>
#include <bough/communicator.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>
#include <bough/op/rounded_once.hpp>
#include <bough/op/small_float.hpp>
#include <bough/operation.hpp>
#include <bough/reduce.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/scan.hpp>
#include <bough/transport/in_process.hpp>

#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace {

using namespace bough;

// What rank r contributes: all of them matter, and no two sums are alike.
template <class T>
std::vector<T> contribution(rank_t r, std::size_t count) {
    std::vector<T> made(count);
    for (std::size_t i = 0; i != count; ++i)
        made[i] = T((1.f + static_cast<float>((i * 7 + r * 13) % 101) / 64.f) * (i % 3 == 0 ? -1.f : 1.f));
    return made;
}
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}
template <class T>
std::vector<float> widened(const std::vector<T>& x) {
    return std::vector<float>(x.begin(), x.end());
}
template <class T>
std::vector<T> narrowed(const std::vector<float>& x, float scale = 1) {
    std::vector<T> made;
    for (const float v : x) made.push_back(T::rounded(v * scale));
    return made;
}

template <class T>
void once_is_float_rounded() {
    for (const rank_t ranks : {1u, 2u, 3u, 5u, 8u}) {
        for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{33}, std::size_t{5000}}) {
            INFO(ranks << " ranks, " << count << " elements");
            std::vector<char> good(ranks, 0);
            in_process{ranks}.run([&](auto transport) {
                communicator comm{std::move(transport)};
                const rank_t me = comm.rank();
                const std::vector<T> mine = contribution<T>(me, count);
                std::vector<float> wide = widened(mine);
                allreduce(comm, std::span(wide), plus{});
                bool ok = true;

                std::vector<T> x = mine;
                allreduce(comm, std::span(x), rounded_once{});
                ok = ok && same_bits(x, narrowed<T>(wide));

                std::vector<T> out(count);
                allreduce(comm, std::span<const T>(mine), std::span(out),
                          rounded_once<>{.after = 1.f / static_cast<float>(comm.size())});
                ok = ok && same_bits(out, narrowed<T>(wide, 1.f / static_cast<float>(comm.size())));

                x = mine;
                auto started = start_allreduce(comm, std::span(x), rounded_once<>{.before = 2.f});
                started.wait();
                std::vector<float> doubled = widened(mine);
                for (float& v : doubled) v *= 2.f;
                allreduce(comm, std::span(doubled), plus{});
                ok = ok && same_bits(x, narrowed<T>(doubled));

                auto bound = bind_allreduce(comm, std::span(x), rounded_once{});
                for (int turn = 0; turn != 2; ++turn) {
                    x = mine;
                    bound.start();
                    bound.wait();
                    ok = ok && same_bits(x, narrowed<T>(wide));
                }

                x = mine;
                reduce(comm, std::span(x), rounded_once<max>{}, root{ranks - 1});
                std::vector<T> largest = mine;
                allreduce(comm, std::span(largest), max{});
                ok = ok && same_bits(x, me == ranks - 1 ? largest : mine);
                good[me] = ok ? 1 : 0;
            });
            CHECK(good == std::vector<char>(ranks, 1));
        }
    }
}

TEST_CASE("rounded_once: the sums are those of float, rounded", "[frontdoor]") {
    once_is_float_rounded<bf16>();
    once_is_float_rounded<fp16>();
    once_is_float_rounded<fp8_e5m2>();
}

TEST_CASE("plus on narrow numbers: every algorithm gives the bits of its bracket", "[frontdoor]") {
    for (const rank_t ranks : {2u, 3u, 4u, 7u}) {
        constexpr std::size_t count = 1111;
        std::vector<char> good(ranks, 0);
        in_process{ranks}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            bool ok = true;
            // A ring's block b begins at rank b + 1 and ends at rank b: one chain, so it can be redone by
            // hand.
            std::vector<bf16> x = contribution<bf16>(comm.rank(), count), same = x;
            allreduce(comm, std::span(x), plus{}, recursive_doubling{});
            std::vector<std::vector<bf16>> all;
            for (rank_t r = 0; r != ranks; ++r) all.push_back(contribution<bf16>(r, count));
            if (ranks == 2 || ranks == 4) {
                for (std::size_t i = 0; i != count; ++i) {
                    bf16 sum = plus{}(all[0][i], all[1][i]);
                    if (ranks == 4) sum = plus{}(sum, plus{}(all[2][i], all[3][i]));
                    ok = ok && sum.bits() == x[i].bits();
                }
            }
            allreduce(comm, std::span(same), plus{}, ring{});
            std::vector<float> errors(count);
            for (std::size_t i = 0; i != count; ++i) {
                float exact = 0, size = 0;
                for (const auto& one : all) exact += one[i], size += one[i] < 0 ? -one[i] : one[i];
                const float off = float(same[i]) - exact;
                ok = ok && (off < 0 ? -off : off) <= size * static_cast<float>(ranks - 1) / 256.f;
            }
            std::vector<bf16> share(5);
            std::vector<bf16> whole = contribution<bf16>(comm.rank(), 5 * ranks);
            reduce_scatter(comm, std::span<const bf16>(whole), std::span(share), min{});
            for (std::size_t i = 0; i != 5; ++i) {
                bf16 least = contribution<bf16>(0, 5 * ranks)[comm.rank() * 5 + i];
                for (rank_t r = 1; r != ranks; ++r)
                    least = min{}(least, contribution<bf16>(r, 5 * ranks)[comm.rank() * 5 + i]);
                ok = ok && least.bits() == share[i].bits();
            }
            good[comm.rank()] = ok ? 1 : 0;
        });
        CHECK(good == std::vector<char>(ranks, 1));
    }
}

TEST_CASE("one value of a narrow type is a value", "[frontdoor]") {
    in_process{3}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        const bf16 sum = allreduce(comm, bf16{1.5f}, plus{});
        const fp8_e4m3 most = allreduce(comm, fp8_e4m3{300.f}, plus{}); // saturates
        if (float(sum) != 4.5f || float(most) != 448) throw 1;
    });
}

TEST_CASE("ranks that disagree about the narrow type or the op are told", "[frontdoor]") {
    std::vector<errc> said(2, errc::ok);
    in_process{2}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        status s;
        if (comm.rank() == 0) {
            std::vector<bf16> x(100);
            allreduce(comm, std::span(x), plus{}, s);
        } else {
            std::vector<fp16> x(100);
            allreduce(comm, std::span(x), plus{}, s);
        }
        said[comm.rank()] = s.code;
    });
    for (const errc e : said) CHECK((e == errc::call_mismatch || e == errc::peer_aborted || e == errc::group_poisoned));
}

} // namespace
