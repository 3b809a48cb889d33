// SPDX-License-Identifier: BSL-1.0
// expect: bough: the first half must be a reduce_scatter
#include <bough/algorithm/allgather/circulant.hpp>
#include <bough/algorithm/allreduce/reduce_scatter_allgather.hpp>
#include <bough/algorithm/reduce_scatter/circulant.hpp>

constexpr bough::reduce_scatter_allgather wrong{bough::circulant_allgather{}, bough::circulant_reduce_scatter{}};

int main() { return static_cast<int>(wrong.natural_blocks(7)); }
