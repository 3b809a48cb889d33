// SPDX-License-Identifier: BSL-1.0
// The C++ program that makes a plan.
#ifndef BOUGH_TOOLS_PLAYGROUND_PROGRAM_HPP
#define BOUGH_TOOLS_PLAYGROUND_PROGRAM_HPP

#include "question.hpp"

#include <cstddef>
#include <string>

namespace playground {

// `steps`: of all ranks, without the changes.
std::string program_of(const asked_plan&, std::size_t steps);

} // namespace playground

#endif
