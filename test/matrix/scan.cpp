// SPDX-License-Identifier: BSL-1.0
#include "matrix/run.hpp"

TEST_CASE("matrix: scan") { CHECK(test::matrix::run_matrix<bough::goal::scan>(1) > 400); }
