// SPDX-License-Identifier: BSL-1.0
// expect: bough: a Transport's way_of, if it has one, is `protocol way_of\(rank_t peer, std::size_t bytes, bool combines\) const`
// lines: 15
#include <bough/communicator.hpp>
#include <bough/transport/self.hpp>

struct telling : bough::self {
    bough::protocol way_of(std::size_t, bool) const { return bough::protocol::copied; }
};
void call() { bough::communicator comm{telling{}}; }
