// SPDX-License-Identifier: BSL-1.0
// expect: bough: this collective combines: give a run_time_op or an any_op behind the data
#include <bough/run_time.hpp>
#include <bough/transport/self.hpp>

bough::operation call(bough::communicator<bough::self>& comm, double* data) {
    return bough::start_scan(comm, bough::elements{data, 1, {.size = 8}});
}
