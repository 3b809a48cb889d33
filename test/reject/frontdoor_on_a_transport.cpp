// SPDX-License-Identifier: BSL-1.0
// expect: bough: a collective is called on a communicator, not on a transport
// lines: 15
#include <bough/allreduce.hpp>
#include <bough/transport/self.hpp>

void call(bough::self& wire, double& x) { bough::allreduce(wire, std::span(&x, 1), bough::plus{}); }
