// SPDX-License-Identifier: BSL-1.0
// One value for each rank: dot products, extremes, numbering. Two includes suffice: a collective and a transport.
#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/exscan.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/in_process.hpp>

#include <cstdio>
#include <utility>

struct range { // any struct of plain bytes, with an op of one's own
    double low, high;
};

int main() {
    bough::in_process{4}.run([](auto transport) {
        bough::communicator comm{std::move(transport)};
        const double mine = 1.5 * comm.rank();

        const double dot = bough::allreduce(comm, mine, bough::plus{}); // as of a dot product; `mine` stays as it is
        const double most = bough::allreduce(comm, mine, bough::max{});
        const auto join = [](const range& a, const range& b) {
            return range{a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
        };
        const range all = bough::allreduce(comm, range{mine, mine + 1}, join);

        const int items = 10 + static_cast<int>(comm.rank());
        const int first = bough::exscan(comm, items, bough::plus{});                 // how many the ranks below have
        const int total = bough::reduce(comm, items, bough::plus{}, bough::root{3}); // at rank 3; elsewhere: items
        const int told = bough::broadcast(comm, total, bough::root{3});

        bough::status bad;                                               // `again` is a result if there is no error
        const int again = bough::allreduce(comm, 1, bough::plus{}, bad); // never throws
        if (comm.rank() != 2) return;
        std::printf("%g %g, %g to %g; %d of %d from %d on; ", dot, most, all.low, all.high, items, told, first);
        if (bad)
            std::printf("%s\n", bough::message_of(bad).c_str());
        else
            std::printf("%d ranks\n", again);
    });
}
