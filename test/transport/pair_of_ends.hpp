// SPDX-License-Identifier: BSL-1.0
// Two ranks that send messages by remote writes, driven by the test.
#ifndef BOUGH_TEST_TRANSPORT_PAIR_OF_ENDS_HPP
#define BOUGH_TEST_TRANSPORT_PAIR_OF_ENDS_HPP

#include "support/sample.hpp"
#include <bough/remote/in_process.hpp>
#include <bough/remote/simulated.hpp>
#include <bough/transport/one_sided.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough_test {

template <class World>
struct pair_of_ends {
    using link = bough::one_sided<typename World::endpoint>;
    bough::one_sided_options options;
    World world;
    std::vector<link> ends;
    pair_of_ends(const bough::one_sided_options& o, std::uint64_t seed = 1, std::uint64_t heap = 1 << 16)
        : options(o), world(2, of_world(bough::one_sided_bytes(2, o) + heap, seed)) {
        for (bough::rank_t r = 0; r != 2; ++r) ends.emplace_back(world.connect(r), o);
    }
    static auto of_world(std::uint64_t bytes, std::uint64_t seed) {
        if constexpr (std::is_same_v<World, bough::in_process_regions>)
            return bough::in_process_regions_options{.region_bytes = bytes};
        else
            return bough::simulated_regions_options{.seed = seed, .region_bytes = bytes};
    }
    // The next event of an end, while the other polls too; none after a while.
    std::optional<bough::event> next(bough::rank_t r) {
        bough::event e;
        for (int i = 0; i != 20'000; ++i) {
            if (kept[1 - r].has_value())
                ends[1 - r].poll({}); // goes on with what it has to do
            else if (ends[1 - r].poll(std::span(&e, 1)) == 1)
                kept[1 - r] = e;
            if (kept[r].has_value()) return std::exchange(kept[r], std::nullopt);
            if (ends[r].poll(std::span(&e, 1)) == 1) return e;
        }
        return {};
    }
    std::optional<bough::event> kept[2];
};
inline std::vector<std::byte> pattern(std::size_t bytes, unsigned seed = 1) {
    std::vector<std::byte> p(bytes);
    for (std::size_t i = 0; i != bytes; ++i) p[i] = static_cast<std::byte>(mixed(seed * 1000 + i));
    return p;
}

} // namespace bough_test

#endif
