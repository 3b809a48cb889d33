// SPDX-License-Identifier: BSL-1.0
// expect: a WireUp needs `status exchange\(std::span<const std::byte> mine
#include <bough/concepts/explain_wire_up.hpp>

struct my_launcher {
    bough::rank_t rank() const { return 0; }
    bough::rank_t size() const { return 1; }
};
static_assert(bough::explain_wire_up<my_launcher>());

int main() {}
