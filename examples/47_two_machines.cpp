// SPDX-License-Identifier: BSL-1.0
// One rank of a group that a list of addresses and a key make: no launcher, one command on each machine.
//
//   47_two_machines RANK HOSTS KEY     HOSTS: a line "address port" for each rank; KEY: `openssl rand -hex 32`, mode 0600
#include <bough/allreduce.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/tcp.hpp>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <system_error>
#include <vector>

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: %s RANK HOSTS KEY\n", argv[0]);
        return 2;
    }
    bough::tcp_hosts hosts;
    const auto [rest, fault] = std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), hosts.rank);
    if (fault != std::errc{} || *rest != '\0') {
        std::fprintf(stderr, "rank: '%s' is not a number\n", argv[1]);
        return 2;
    }
    std::ifstream file(argv[2]);
    if (file.peek() == std::ifstream::traits_type::eof()) {
        std::fprintf(stderr, "hosts: '%s' cannot be read, or is empty\n", argv[2]);
        return 2;
    }
    const std::string list{std::istreambuf_iterator<char>(file), {}};
    bough::status bad = bough::read_hosts(list, hosts.hosts);
    if (!bad) bad = bough::read_key_file(argv[3], hosts.key);
    if (bad) {
        std::fprintf(stderr, "%s\n", bough::message_of(bad).c_str());
        return 2;
    }
    try {
        bough::communicator comm{bough::tcp{hosts}}; // waits up to 30 s for the others
        std::vector<double> x(1000, comm.rank() + 1.0);
        bough::allreduce(comm, std::span(x), bough::plus{});
        std::printf("rank %u of %u has %g\n", comm.rank(), comm.size(), x[999]);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "rank %u: %s\n", hosts.rank, e.what());
        return 1;
    }
}
