// SPDX-License-Identifier: BSL-1.0
// What messages and combines cost on these NICs, by serial reductions of 2 to 13 of them with and without an op; and whether the
// model that follows tells what reductions along trees take, by degree.
// The method of Moody, Fernandez, Petrini, Panda, "Scalable NIC-based Reduction on Large-scale Clusters", SC'03, section 5.1.
#ifndef BOUGH_TOOLS_XDP_FIT_HPP
#define BOUGH_TOOLS_XDP_FIT_HPP

#include "network.hpp"

#include <string>

namespace xdp {

// One host rings; its NIC tells all others by a multicast, which is their contribution, and they reduce to it. From before
// it rings until it has the result; `samples` of each.
void print_fit(const std::string& object, const network& net, unsigned samples);

} // namespace xdp

#endif
