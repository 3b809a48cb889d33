// SPDX-License-Identifier: BSL-1.0
// An MSCCL XML file, read.
#ifndef BOUGH_TOOLS_MSCCL_FILE_HPP
#define BOUGH_TOOLS_MSCCL_FILE_HPP

#include <bough/interchange/import_result.hpp>
#include <bough/interchange/msccl.hpp>

#include <string>

namespace cli {

// What is wrong with the file, by its first line, if anything.
bough::import_fault read_msccl(const std::string& text, bough::msccl_algorithm& read);

} // namespace cli

#endif
