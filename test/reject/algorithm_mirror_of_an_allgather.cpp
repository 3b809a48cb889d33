// SPDX-License-Identifier: BSL-1.0
// expect: bough: mirror takes a scatter or a gather; for the rest see reverse
#include <bough/algorithm/allgather/ring.hpp>
#include <bough/algorithm/mirror.hpp>

constexpr auto wrong = bough::mirror(bough::ring_allgather{});

int main() { return wrong.original == bough::ring_allgather{}; }
