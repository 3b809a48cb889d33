// SPDX-License-Identifier: BSL-1.0
// As 47_two_machines, inside TLS 1.3: each rank shows a certificate, and all have one authority.
//
//   48_two_machines_tls RANK HOSTS KEY CERTIFICATE PRIVATE_KEY AUTHORITIES     the last three: PEM files
#include <bough/allreduce.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/tcp/tls.hpp>

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
    if (argc != 7) {
        std::fprintf(stderr, "usage: %s RANK HOSTS KEY CERTIFICATE PRIVATE_KEY AUTHORITIES\n", argv[0]);
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
    bough::tcp_options options;
    options.tls = {.certificate = argv[4], .key = argv[5], .authorities = argv[6]};
    try {
        bough::communicator comm{bough::tcp_tls{hosts, options}}; // waits up to 30 s for the others
        std::vector<double> x(1000, comm.rank() + 1.0);
        bough::allreduce(comm, std::span(x), bough::plus{});
        std::printf("rank %u of %u has %g\n", comm.rank(), comm.size(), x[999]);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "rank %u: %s\n", hosts.rank, e.what());
        return 1;
    }
}
