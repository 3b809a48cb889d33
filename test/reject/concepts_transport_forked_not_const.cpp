// SPDX-License-Identifier: BSL-1.0
// expect: bough: a Transport's forked, if it has one, is `bool forked\(\) const`
// lines: 15
#include <bough/communicator.hpp>
#include <bough/transport/self.hpp>

struct child : bough::self {
    bool forked() { return false; }
};
void call() { bough::communicator comm{child{}}; }
