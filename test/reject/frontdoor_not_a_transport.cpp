// SPDX-License-Identifier: BSL-1.0
// expect: bough: a Transport needs `posted post_send
// lines: 15
#include <bough/communicator.hpp>

struct my_link {
    bough::rank_t rank() const { return 0; }
    bough::rank_t size() const { return 1; }
};
void call() { bough::communicator comm{my_link{}}; }
