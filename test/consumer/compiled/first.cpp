// SPDX-License-Identifier: BSL-1.0
// A program of two units that call the same collective.
#include <bough/allreduce.hpp>
#include <bough/transport/in_process.hpp>

#include <cstdio>
#include <utility>

long second_sum(bough::communicator<bough::in_process::endpoint>& comm, long mine);

int main() {
    bough::in_process{4}.run([](auto transport) {
        bough::communicator comm{std::move(transport)};
        const long first = bough::allreduce(comm, 1L + comm.rank(), bough::plus{});
        const long second = second_sum(comm, first);
        if (comm.rank() == 2) std::printf("%ld %ld\n", first, second);
    });
}
