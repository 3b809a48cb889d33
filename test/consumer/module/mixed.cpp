// SPDX-License-Identifier: BSL-1.0
// A unit that includes some headers of bough and imports the rest: both name the same things.
#include <bough/tree/fnomial.hpp>
#include <bough/tree/tree.hpp>

#include <cstdio>
#include <map>
#include <string>

import bough;

int main() {
    const bough::fnomial shape{.degree = 3};
    std::map<std::string, bough::verdict> all;
    all["reduce"] = bough::verify(bough::plan_reduce(bough::tree_reduce{shape}, {.size = 13}));
    std::printf("%u %s\n", bough::tree{shape, 13}.child_count(0), all["reduce"] ? "right" : "wrong");
}
