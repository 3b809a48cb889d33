// SPDX-License-Identifier: BSL-1.0
// expect: bough: a transport that SharesMemory needs `void wake
// lines: 15
#include <bough/communicator.hpp>
#include <bough/transport/self.hpp>

struct shelf : bough::self {
    std::uint64_t common_bytes() const { return 64; }
    std::span<std::byte> common(bough::rank_t, std::uint64_t, std::uint64_t) { return {}; }
};
void call() { bough::communicator comm{shelf{}}; }
