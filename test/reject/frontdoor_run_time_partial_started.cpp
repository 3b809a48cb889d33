// SPDX-License-Identifier: BSL-1.0
// expect: bough: a partial call blocks
// lines: 15
#include <bough/operation.hpp>
#include <bough/run_time.hpp>
#include <bough/transport/self.hpp>

bough::operation call(bough::communicator<bough::self>& comm, const bough::elements& in, const bough::elements& out,
                      const bough::any_op& op) {
    return bough::start_allreduce(comm, in, out, op, bough::partial{});
}
