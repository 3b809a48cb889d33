// SPDX-License-Identifier: BSL-1.0
// expect: bough: an Algorithm needs ==, by which its plans are found again
// lines: 15
#include <bough/barrier.hpp>
#include <bough/transport/self.hpp>

struct idle {
    void emit(const bough::dimensions&, bough::rank_t, bough::StepSink auto&) const {}
    bough::block_t natural_blocks(bough::rank_t) const { return 1; }
    bough::block_t scratch(const bough::dimensions&, bough::rank_t) const { return 0; }
    bough::status check(const bough::dimensions&) const { return {}; }
};
void call(bough::communicator<bough::self>& comm) { bough::barrier(comm, idle{}); }
