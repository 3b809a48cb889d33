// SPDX-License-Identifier: BSL-1.0
#include "matrix/run.hpp"

TEST_CASE("matrix: exscan") { CHECK(test::matrix::run_matrix<bough::goal::exscan>(1) > 500); }
