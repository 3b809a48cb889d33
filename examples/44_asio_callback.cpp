// SPDX-License-Identifier: BSL-1.0
// A collective with a callback: a service that averages with its peers, round after round, in its io_context.
#include <bough/asio/async.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/in_process.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>

#include <array>
#include <iostream>
#include <utility>

template <class Comm>
struct averager {
    Comm& comm;
    double mine;
    int rounds = 0;
    double sum = 0; // belongs to the operation from its start until the handler is called

    void start() {
        sum = mine;
        bough::async_allreduce(comm, std::span(&sum, 1), bough::plus{},
                               [this](boost::system::error_code ec) { finished(ec); });
    }
    void finished(boost::system::error_code ec) {
        if (ec) {
            std::cerr << "rank " << comm.rank() << ": " << ec.message() << '\n';
            return; // no further round: io.run() returns
        }
        mine = (mine + sum / comm.size()) / 2; // half way to the mean
        if (++rounds != 20) start();
    }
};

int main() {
    std::array<double, 4> result{};
    bough::in_process{4}.run([&](auto transport) {
        boost::asio::io_context io; // timers, sockets and requests of the program live here, too
        bough::communicator comm{bough::on_executor{std::move(transport), io}};
        averager<decltype(comm)> service{.comm = comm, .mine = 10.0 * comm.rank()};
        service.start();
        io.run();
        result[comm.rank()] = service.mine;
    });
    std::cout.precision(4);
    std::cout << "after 20 rounds: " << result[0] << ", " << result[1] << ", " << result[2] << ", " << result[3]
              << '\n';
}
