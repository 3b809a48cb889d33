// SPDX-License-Identifier: BSL-1.0
// expect: bough: a batch refers to its data
// lines: 12
#include <bough/batch.hpp>

#include <vector>

void make(bough::batch& all, std::vector<double>& sum) { all.add(std::vector<double>(3), sum, bough::plus{}); }
