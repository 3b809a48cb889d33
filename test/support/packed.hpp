// SPDX-License-Identifier: BSL-1.0
// Packed trees as a search may find them: a chain and a binomial tree from one root, or from each rank.
#ifndef BOUGH_TEST_SUPPORT_PACKED_HPP
#define BOUGH_TEST_SUPPORT_PACKED_HPP

#include <bough/core/rank.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/table.hpp>
#include <bough/tree/tree.hpp>

#include <vector>

namespace test {

inline std::vector<bough::table> packed(bough::rank_t size, bough::rank_t root, bool turned = false) {
    using namespace bough;
    const table chained(tree(chain{}, size, root)), halved(tree(binomial{}, size, root));
    return turned ? std::vector<table>{chained, halved} : std::vector<table>{halved, chained};
}
// Rank 0 has one tree more than the others.
inline std::vector<bough::table> packed_from_all(bough::rank_t size) {
    std::vector<bough::table> made = packed(size, 0);
    for (bough::rank_t root = 0; root != size; ++root)
        for (const bough::table& t : packed(size, root)) made.push_back(t);
    made.erase(made.begin());
    return made;
}

} // namespace test

#endif
