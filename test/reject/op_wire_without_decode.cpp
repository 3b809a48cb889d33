// SPDX-License-Identifier: BSL-1.0
// expect: bough: wire<T> needs .static constexpr std::size_t size. .*encode.* and .decode
#include <bough/op/explain_wire.hpp>

struct price {
    ~price() {}
};
template <>
struct bough::wire<price> {
    static constexpr std::size_t size = 8;
    static void encode(const price&, std::span<std::byte, size>) {}
};
static_assert(bough::explain_wire<price>());
