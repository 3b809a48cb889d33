// SPDX-License-Identifier: BSL-1.0
#include "matrix/run.hpp"

TEST_CASE("matrix: allgather") { CHECK(test::matrix::run_matrix<bough::goal::allgather>(8) > 2500); }
