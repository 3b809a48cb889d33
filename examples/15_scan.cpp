// SPDX-License-Identifier: BSL-1.0
// Who comes before me? exscan numbers what the ranks have, scan joins it: the op need not commute.
#include <bough/exscan.hpp>
#include <bough/gather.hpp>
#include <bough/scan.hpp>
#include <bough/transport/in_process.hpp>

#include <cstddef>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

// A map x -> factor * x + offset. Two of them in a row are one.
struct affine {
    long factor, offset;
};
constexpr auto then = [](const affine& first, const affine& second) {
    return affine{second.factor * first.factor, second.factor * first.offset + second.offset};
};

struct line {
    std::size_t first, last;
    affine so_far;
};

int main() {
    bough::in_process{5}.run([](auto transport) {
        bough::communicator comm{std::move(transport)};

        // Rank r has r + 2 records. The number of its first one is the sum over the ranks below.
        const std::size_t records = comm.rank() + 2;
        std::size_t first = 0; // stays on rank 0: nobody is below
        bough::exscan(comm, std::span(&records, 1), std::span(&first, 1), bough::plus{});

        // What the maps of the ranks up to this one do together, in place.
        affine map{2, static_cast<long>(comm.rank())};
        bough::scan(comm, std::span(&map, 1), then);

        const line mine{first, first + records - 1, map};
        std::vector<line> all(comm.rank() == 0 ? comm.size() : 0);
        bough::gather(comm, std::span(&mine, 1), std::span(all), bough::root{0});
        for (const line& l : all)
            std::printf("records %2zu to %2zu   x -> %ldx + %ld\n", l.first, l.last, l.so_far.factor, l.so_far.offset);
    });
}
