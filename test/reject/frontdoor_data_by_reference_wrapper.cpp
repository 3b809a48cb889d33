// SPDX-License-Identifier: BSL-1.0
// expect: bough: this refers to data elsewhere
#include <bough/broadcast.hpp>
#include <bough/transport/self.hpp>

#include <functional>

void call(bough::communicator<bough::self>& comm) {
    int x = 1;
    bough::broadcast(comm, std::ref(x), bough::root{0});
}
