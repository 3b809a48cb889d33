// SPDX-License-Identifier: BSL-1.0
#include "matrix/run.hpp"

TEST_CASE("matrix: allreduce") { CHECK(test::matrix::run_matrix<bough::goal::allreduce>(30) > 5000); }
