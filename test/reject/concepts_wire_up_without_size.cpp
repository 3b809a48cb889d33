// SPDX-License-Identifier: BSL-1.0
// expect: a WireUp needs `rank_t size\(\) const`
#include <bough/concepts/explain_wire_up.hpp>

struct my_launcher {
    bough::rank_t rank() const { return 0; }
    bough::status exchange(std::span<const std::byte>, std::span<std::byte>, std::uint64_t);
};
static_assert(bough::explain_wire_up<my_launcher>());

int main() {}
