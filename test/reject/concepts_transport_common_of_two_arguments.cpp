// SPDX-License-Identifier: BSL-1.0
// expect: bough: a transport that SharesMemory needs `std::span<std::byte> common
// lines: 15
#include <bough/communicator.hpp>
#include <bough/transport/self.hpp>

struct shelf : bough::self {
    std::uint64_t common_bytes() const { return 64; }
    std::span<std::byte> common(bough::rank_t, std::uint64_t) { return {}; }
    void wake(bough::rank_t) {}
};
void call() { bough::communicator comm{shelf{}}; }
