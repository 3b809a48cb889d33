// SPDX-License-Identifier: BSL-1.0
// One rank of a group whose ranks may be of different builds: see check.
//
//   rank TRANSPORT      tcp, hosts (tcp without a wire-up), shared_memory; MPI_Init's job: mpi
//
// It prints the sum of a vector, or the error that it gets.
#include <bough/allreduce.hpp>
#include <bough/op/arithmetic.hpp>
#if defined(TEST_MPI)
#include <bough/transport/mpi.hpp>
#else
#include <bough/launch/environment.hpp>
#include <bough/transport/shared_memory.hpp>
#include <bough/transport/tcp.hpp>
#endif

#include <cstddef>
#include <cstdio>
#include <exception>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace {

template <class T>
void sum(T transport) {
    bough::communicator comm{std::move(transport)};
    std::vector<double> x(100'000, comm.rank() + 1.0);
    bough::allreduce(comm, std::span(x), bough::plus{});
    std::printf("rank %u: %g\n", comm.rank(), x[77'777]);
}

#if !defined(TEST_MPI)
bough::tcp_hosts hosts() {
    bough::environment_place place;
    if (const bough::status bad = bough::environment_wire_up::read(place)) throw bough::error(bad);
    bough::tcp_hosts all{.rank = place.rank, .hosts = {}, .key = {}};
    all.key.bytes()[3] = std::byte{7};
    for (bough::rank_t r = 0; r != place.size; ++r)
        all.hosts.push_back({"127.0.0.1", static_cast<std::uint16_t>(place.port + 1 + r)});
    return all;
}
#endif

} // namespace

int main(int argc, char** argv) {
    const std::string_view over = argc > 1 ? argv[1] : "";
    int code = 0;
#if defined(TEST_MPI)
    MPI_Init(&argc, &argv);
#endif
    try {
#if defined(TEST_MPI)
        sum(bough::mpi{MPI_COMM_WORLD});
#else
        if (over == "hosts") {
            bough::tcp_options options;
            options.timeout_ns = 2'000'000'000;
            sum(bough::tcp{hosts(), options});
        } else {
            bough::environment_wire_up wire;
            if (over == "tcp") sum(bough::tcp{wire});
            if (over == "shared_memory") sum(bough::shared_memory{wire});
        }
#endif
    } catch (const std::exception& e) {
        std::printf("%s\n", e.what());
        code = 2;
    }
#if defined(TEST_MPI)
    MPI_Finalize();
#endif
    return code;
}
