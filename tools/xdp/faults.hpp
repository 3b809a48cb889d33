// SPDX-License-Identifier: BSL-1.0
// What must not work: frames that lie about their sender, tables that do not fit, two NICs on one interface; and what must be
// left as it was when it has not.
#ifndef BOUGH_TOOLS_XDP_FAULTS_HPP
#define BOUGH_TOOLS_XDP_FAULTS_HPP

#include "network.hpp"

#include <string>

namespace xdp {

// Throws std::runtime_error, with what did work.
void check_faults(const std::string& object, const network& net);

} // namespace xdp

#endif
