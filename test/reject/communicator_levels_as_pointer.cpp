// SPDX-License-Identifier: BSL-1.0
// expect: bough: a Transport's levels, if it knows them, are `std::shared_ptr<const two_levels> levels\(\) const`
// lines: 15
#include <bough/communicator.hpp>
#include <bough/transport/self.hpp>

struct near : bough::self {
    const bough::two_levels* levels() const { return nullptr; }
};
void call() { bough::communicator comm{near{}}; }
