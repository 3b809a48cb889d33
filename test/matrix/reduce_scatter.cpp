// SPDX-License-Identifier: BSL-1.0
#include "matrix/run.hpp"

TEST_CASE("matrix: reduce_scatter") { CHECK(test::matrix::run_matrix<bough::goal::reduce_scatter>(8) > 2000); }
