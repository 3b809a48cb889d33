// SPDX-License-Identifier: BSL-1.0
#include "matrix/run.hpp"

TEST_CASE("matrix: reduce") { CHECK(test::matrix::run_matrix<bough::goal::reduce>(30) > 5000); }
