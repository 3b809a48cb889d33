// SPDX-License-Identifier: BSL-1.0
// What a machine is made of, as hwloc's XML says it (`lstopo --of xml`).
#ifndef BOUGH_TOOLS_HWLOC_FILE_HPP
#define BOUGH_TOOLS_HWLOC_FILE_HPP

#include <bough/interchange/import_result.hpp>

#include <cstdint>
#include <string>

namespace cli {

struct machine_shape {
    std::uint32_t sockets = 0, cores = 0; // cores: of each socket
};

// The fault: what is wrong with the text, or that sockets have different numbers of cores.
bough::import_fault read_hwloc(const std::string& text, machine_shape& read);

} // namespace cli

#endif
