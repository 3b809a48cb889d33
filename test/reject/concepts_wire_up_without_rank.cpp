// SPDX-License-Identifier: BSL-1.0
// expect: a WireUp needs `rank_t rank\(\) const`
#include <bough/concepts/explain_wire_up.hpp>

struct my_launcher {
    bough::rank_t size() const { return 1; }
    bough::status exchange(std::span<const std::byte>, std::span<std::byte>, std::uint64_t);
};
static_assert(bough::explain_wire_up<my_launcher>());

int main() {}
