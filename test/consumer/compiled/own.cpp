// SPDX-License-Identifier: BSL-1.0
// Its user.
#include "own.hpp"

#include <bough/allreduce.hpp>

#include <cstdio>

int main() {
    bough::communicator comm{bough::self{}};
    std::printf("%ld\n", bough::allreduce(comm, 7L, bough::plus{}));
}
