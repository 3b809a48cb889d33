// SPDX-License-Identifier: BSL-1.0
#include "matrix/run.hpp"

TEST_CASE("matrix: gather") { CHECK(test::matrix::run_matrix<bough::goal::gather>(24) > 2000); }
