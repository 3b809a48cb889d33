// SPDX-License-Identifier: BSL-1.0
#include "simulated/runner.hpp"

namespace test {

outcome run_taking(const history& h, sabotage how) {
    static runner<bough::simulated_taking> reused;
    return reused.run(h, how);
}

} // namespace test
