// SPDX-License-Identifier: BSL-1.0
// A reduction along a tree, as firmware would compile it: no operating system, no exceptions, no heap.
#include "every_freestanding_header.hpp"
#include <bough/op/arithmetic.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/tree/tree.hpp>

#include <cstdint>
#include <span>

// Folds `values`, one per rank, into that of the root. Children have greater ranks, so from the last rank down every
// value is complete when its parent takes it; a child's interval of ranks ends where the next child's begins.
extern "C" std::int64_t reduce_along_tree(std::int64_t* data, std::uint32_t size, std::uint32_t degree) {
    const std::span<std::int64_t> values(data, size);
    const bough::tree tree{bough::fnomial{.degree = degree}, size};
    for (bough::rank_t r = size; r-- > 0;)
        for (bough::rank_t i = tree.child_count(r); i-- > 0;)
            values[r] = bough::plus{}(values[r], values[tree.child(r, i)]);
    return values[0];
}
