// SPDX-License-Identifier: BSL-1.0
// The C++ program that makes a plan.
#ifndef BOUGH_TOOLS_PLAYGROUND_PROGRAM_HPP
#define BOUGH_TOOLS_PLAYGROUND_PROGRAM_HPP

#include "question.hpp"

#include <string>

namespace playground {

std::string program_of(const asked_plan&);

} // namespace playground

#endif
