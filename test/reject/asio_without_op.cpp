// SPDX-License-Identifier: BSL-1.0
// expect: bough: this collective combines: give an op behind the data
// lines: 20
#include <bough/asio/async.hpp>
#include <bough/transport/self.hpp>

#include <vector>

void call(bough::communicator<bough::on_executor<bough::self>>& comm, std::vector<double>& x) {
    bough::async_allreduce(comm, x, [](boost::system::error_code) {});
}
