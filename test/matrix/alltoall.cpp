// SPDX-License-Identifier: BSL-1.0
#include "matrix/run.hpp"

TEST_CASE("matrix: alltoall") { CHECK(test::matrix::run_matrix<bough::goal::alltoall>(1) > 900); }
