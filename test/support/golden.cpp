// SPDX-License-Identifier: BSL-1.0
#include "support/golden.hpp"

std::string bough_test::golden_path(const std::string& name) { return BOUGH_TEST_DIR "/golden/" + name; }
