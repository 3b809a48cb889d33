// SPDX-License-Identifier: BSL-1.0
// expect: bough: what is started or bound gives its error by its handle
#include <bough/broadcast.hpp>
#include <bough/transport/self.hpp>

#include <system_error>
#include <vector>

void call(bough::communicator<bough::self>& comm) {
    std::vector<int> x(3);
    std::error_code ec;
    bough::operation op = bough::start_broadcast(comm, x, bough::root{0}, ec);
}
