// SPDX-License-Identifier: BSL-1.0
// expect: bough: a Transport's keeps_place, if it has one, is `bool keeps_place\(rank_t peer, std::span<const std::byte> bytes\) const`
// lines: 15
#include <bough/communicator.hpp>
#include <bough/transport/self.hpp>

#include <cstddef>
#include <span>

struct keeping : bough::self {
    bool keeps_place(std::span<const std::byte> bytes) const { return !bytes.empty(); }
};
void call() { bough::communicator comm{keeping{}}; }
