// SPDX-License-Identifier: BSL-1.0
// expect: bough: a collective counts its calls in the communicator, which must not be const
// lines: 15
#include <bough/barrier.hpp>
#include <bough/transport/self.hpp>

void call(const bough::communicator<bough::self>& comm) { bough::barrier(comm); }
