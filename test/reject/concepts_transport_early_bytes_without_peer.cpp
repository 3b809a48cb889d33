// SPDX-License-Identifier: BSL-1.0
// expect: bough: a Transport's early_bytes, if it has them, are `std::uint64_t early_bytes\(rank_t peer\) const`
// lines: 15
#include <bough/communicator.hpp>
#include <bough/transport/self.hpp>

struct keeping : bough::self {
    std::uint64_t early_bytes() const { return 1000; }
};
void call() { bough::communicator comm{keeping{}}; }
