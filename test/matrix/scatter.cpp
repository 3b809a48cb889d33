// SPDX-License-Identifier: BSL-1.0
#include "matrix/run.hpp"

TEST_CASE("matrix: scatter") { CHECK(test::matrix::run_matrix<bough::goal::scatter>(24) > 2000); }
