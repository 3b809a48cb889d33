// SPDX-License-Identifier: BSL-1.0
// Everybody has something for everybody: a matrix transposed by alltoall, words sorted by alltoallv.
#include <bough/alltoall.hpp>
#include <bough/gather.hpp>
#include <bough/transport/in_process.hpp>

#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

int main() {
    bough::in_process{3}.run([](auto transport) {
        bough::communicator comm{std::move(transport)};
        const int me = static_cast<int>(comm.rank());

        // Rank r has row r of a matrix and gets column r: element j of its input goes to rank j.
        const std::vector<int> row{10 * me, 10 * me + 1, 10 * me + 2};
        std::vector<int> column(3);
        bough::alltoall(comm, std::span(row), std::span(column));
        std::vector<int> transposed(me == 0 ? 9 : 0);
        bough::gather(comm, std::span(column), std::span(transposed), bough::root{0});
        for (std::size_t i = 0; i != transposed.size(); i += 3)
            std::printf("%2d %2d %2d\n", transposed[i], transposed[i + 1], transposed[i + 2]);

        // Letters a-h belong to rank 0, i-q to rank 1, the rest to rank 2. First the lengths, then the letters.
        const std::string text[] = {"reduction", "broadcast", "scatter"};
        std::vector<std::size_t> send(3, 0), receive(3);
        std::string sorted;
        const auto owner = [](char c) { return c < 'i' ? 0u : c < 'r' ? 1u : 2u; };
        for (const unsigned to : {0u, 1u, 2u})
            for (const char c : text[me])
                if (owner(c) == to) sorted += c, ++send[to];
        bough::alltoall(comm, std::span(send), std::span(receive));
        std::string mine(receive[0] + receive[1] + receive[2], '-');
        bough::alltoallv(comm, std::span(sorted), send, std::span(mine), receive);
        mine.resize(16, '.');
        std::string all(me == 0 ? 48 : 0, '-');
        bough::gather(comm, std::span(mine), std::span(all), bough::root{0});
        for (std::size_t i = 0; i != all.size(); i += 16) std::printf("%.16s\n", all.data() + i);
    });
}
