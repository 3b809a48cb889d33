// SPDX-License-Identifier: BSL-1.0
// bough run --launch pmix: the job of a launcher that speaks PMIx.
#include "party.hpp"

#include "parse.hpp"

#ifdef BOUGH_TOOL_HAS_PMIX
#include <bough/error.hpp>
#include <bough/launch/pmix.hpp>

bough::job cli::pmix_job() {
    bough::job found;
    const bough::status bad = bough::pmix_wire_up::connect(found);
    if (bad.code == bough::errc::unsupported)
        throw usage_error("--launch", "no launcher that speaks PMIx has started this; try mpirun -n 4 bough run ...");
    if (bad) throw bough::error(bad);
    return found;
}
#else
bough::job cli::pmix_job() { throw usage_error("--launch", "this bough was built without PMIx"); }
#endif
