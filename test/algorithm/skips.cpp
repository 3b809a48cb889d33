// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/algorithm/detail/skips.hpp>

#include <cstdint>

using bough::rank_t;
using bough::detail::bruck_skips;
using bough::detail::circulant_skips;

namespace {

// 13: 13 7 4 2 1, with two ports 13 5 2 1.
constexpr circulant_skips thirteen(13);
static_assert(thirteen.rounds == 4 && thirteen[4] == 13 && thirteen[3] == 7 && thirteen[2] == 4 && thirteen[1] == 2 &&
              thirteen[0] == 1);
constexpr circulant_skips two_ports(13, 2);
static_assert(two_ports.rounds == 3 && two_ports[3] == 13 && two_ports[2] == 5 && two_ports[1] == 2);
static_assert(circulant_skips(1).rounds == 0 && circulant_skips(1)[0] == 1);
constexpr circulant_skips huge(0xffff'fffeu);
static_assert(huge.rounds == 32 && huge[32] == 0xffff'fffeu && huge[31] == 0x7fff'ffffu && huge[0] == 1);
static_assert(circulant_skips(7, 0xffff'ffffu).rounds == 1);

constexpr bruck_skips powers(13);
static_assert(powers.rounds == 4 && powers[4] == 13 && powers[3] == 8 && powers[2] == 4 && powers[1] == 2);
static_assert(bruck_skips(1).rounds == 0 && bruck_skips(1)[0] == 1);
static_assert(bruck_skips(0xffff'fffeu).rounds == 32 && bruck_skips(0xffff'fffeu)[32] == 0xffff'fffeu);
static_assert(bruck_skips(7, 0xffff'ffffu).rounds == 1);

} // namespace

TEST_CASE("skips grow by at most a factor of ports + 1, and are as few as can be") {
    for (rank_t p = 1; p <= 3000; ++p)
        for (const rank_t ports : {1u, 2u, 3u, 10u}) {
            rank_t rounds = 0;
            for (std::uint64_t power = 1; power < p; power *= ports + 1) ++rounds;
            const auto check = [&](const auto& skips) {
                bool good = skips.rounds == rounds && skips[0] == 1 && skips[rounds] == p;
                for (rank_t k = 0; k != skips.rounds; ++k)
                    good = good && skips[k] < skips[k + 1] && skips[k + 1] <= skips[k] * (ports + 1);
                if (good) return;
                CAPTURE(p, ports);
                CHECK(good);
            };
            check(circulant_skips(p, ports));
            check(bruck_skips(p, ports));
        }
    SUCCEED();
}
