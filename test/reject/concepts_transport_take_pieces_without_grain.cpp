// SPDX-License-Identifier: BSL-1.0
// expect: bough: a Transport's take_pieces, if it has one, is `posted take_pieces
// lines: 15
#include <bough/communicator.hpp>
#include <bough/transport/self.hpp>

struct crumbly : bough::self {
    bough::posted take_pieces(std::uint64_t, std::uint64_t) { return bough::posted::would_block; }
};
void call() { bough::communicator comm{crumbly{}}; }
