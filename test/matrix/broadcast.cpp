// SPDX-License-Identifier: BSL-1.0
#include "matrix/run.hpp"

TEST_CASE("matrix: broadcast") { CHECK(test::matrix::run_matrix<bough::goal::broadcast>(12) > 5000); }
