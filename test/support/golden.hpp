// SPDX-License-Identifier: BSL-1.0
// golden_path: where a file of test/golden is. No other test file knows a path of this machine, so that compiler
// caches serve every clone.
#ifndef BOUGH_TEST_SUPPORT_GOLDEN_HPP
#define BOUGH_TEST_SUPPORT_GOLDEN_HPP

#include <string>

namespace bough_test {

std::string golden_path(const std::string& name);

} // namespace bough_test

#endif
