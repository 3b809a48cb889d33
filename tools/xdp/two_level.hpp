// SPDX-License-Identifier: BSL-1.0
// One against two processes per node, hosts against NICs: Moody et al. 2003, figures 1 and 11.
#ifndef BOUGH_TOOLS_XDP_TWO_LEVEL_HPP
#define BOUGH_TOOLS_XDP_TWO_LEVEL_HPP

#include "network.hpp"

#include <string>

namespace xdp {

// Prints the latency of two-level reductions (bough/nic/run/two_level.hpp) of one double over 2 to 16 nodes: the processes of a
// node among themselves in shared memory, then a 4-nomial tree of the nodes, run by hosts over shared memory, or by NICs.
// Idle cores, and busy ones.
void print_two_level(const std::string& object, const network& net, unsigned samples);

} // namespace xdp

#endif
