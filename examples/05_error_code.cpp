// SPDX-License-Identifier: BSL-1.0
// A mismatched call is an error on every rank instead of a wrong answer: one rank passes 11 numbers where the others pass 10.
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/allreduce.hpp>
#include <bough/transport/in_process.hpp>

#include <array>
#include <iostream>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

int main() {
    std::array<std::error_code, 7> first, second;
    bough::in_process{7}.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        std::vector<int> x(comm.rank() == 3 ? 11 : 10, 1);
        std::error_code ec;
        bough::allreduce(comm, std::span(x), bough::plus{}, ec); // never throws
        first[comm.rank()] = ec;
        bough::allreduce(comm, std::span(x), bough::plus{}, ec);
        second[comm.rank()] = ec;
    });
    int failed = 0;
    for (const std::error_code& ec : first) failed += ec ? 1 : 0;
    std::cout << failed << " of 7 ranks got an error\n"
              << "from then on: " << second[0].message() << '\n';

    std::array<std::string, 2> said;
    bough::in_process{2}.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        std::vector<int> x(10 + comm.rank(), 1);
        try {
            bough::allreduce(comm, std::span(x), bough::plus{}, bough::recursive_doubling{});
        } catch (const bough::error& e) {
            said[comm.rank()] = e.what(); // e.code() is a std::error_code, e.details() a bough::status
        }
    });
    for (const std::string& text : said) std::cout << text << '\n';
}
