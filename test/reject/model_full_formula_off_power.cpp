// SPDX-License-Identifier: BSL-1.0
// expect: the formula for full trees needs a power of the degree
#include <bough/model/lrc_formula.hpp>

constexpr double ns = bough::model::fnomial_full_ns({.message_latency_ns = 1}, 31, 4, 8);

int main() {}
