// SPDX-License-Identifier: BSL-1.0
// How consistent a reduction is: its time on NICs against that of one process per rank, with idle and with busy cores.
// The measurement of Moody, Fernandez, Petrini, Panda, "Scalable NIC-based Reduction on Large-scale Clusters", SC'03, section 6.
#ifndef BOUGH_TOOLS_XDP_CONSISTENCY_HPP
#define BOUGH_TOOLS_XDP_CONSISTENCY_HPP

#include "network.hpp"

#include <string>

namespace xdp {

// Prints a table: 16 ranks, a 4-nomial tree, one double; from before the last host enters until the root has the result.
// `csv`, if not empty: a file for the distributions, one line per kind and load and bin of a twentieth of a decade.
void print_consistency(const std::string& object, const network& net, unsigned samples, const std::string& csv = {});

} // namespace xdp

#endif
