// SPDX-License-Identifier: BSL-1.0
// What a program of processes over tcp instantiates: compiled at high optimisation, where g++ sees most.
#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/launch.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/shared_memory.hpp>
#include <bough/transport/tcp.hpp>

#include <cstdio>
#include <span>
#include <utility>
#include <vector>

namespace {

template <class Transport>
double sum_of(Transport transport) {
    bough::communicator comm{std::move(transport)};
    std::vector<double> x(1000, comm.rank());
    bough::broadcast(comm, std::span(x), bough::root{1});
    bough::operation sum = bough::start_allreduce(comm, std::span(x), bough::plus{});
    sum.wait();
    return x[0];
}

} // namespace

int main() {
    const auto report = bough::launch(2, [](bough::job wire) {
        std::printf("%g\n", sum_of(bough::shared_memory{wire}));
        std::printf("%g\n", sum_of(bough::tcp{wire}));
    });
    return report.ok() ? 0 : 1;
}
