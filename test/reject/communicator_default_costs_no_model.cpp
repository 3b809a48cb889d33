// SPDX-License-Identifier: BSL-1.0
// expect: bough: a Transport's default_costs, if it has them, are `auto default_costs\(\) const`, which returns a CostModel
// lines: 15
#include <bough/communicator.hpp>
#include <bough/transport/self.hpp>

struct priced : bough::self {
    int default_costs() const { return 3; }
};
void call() { bough::communicator comm{priced{}}; }
