// SPDX-License-Identifier: BSL-1.0
// The game of life on a torus of 3 x 3 ranks: each has 4 x 4 cells, and needs the edge of its 8 neighbours.
#include <bough/gather.hpp>
#include <bough/neighbour_alltoall.hpp>
#include <bough/schedule/print_verdict.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/verify/verify.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <span>
#include <utility>

constexpr int side = 4;
struct cells { // with the edges of the neighbours around
    char at[side + 2][side + 2];
};

// The part of a tile in a direction: its first row or column, its last, or all of it. `outside`: what is beyond that.
template <class F>
void for_part(const bough::grid_offset& to, bool outside, F&& f) {
    const auto first = [&](int way) { return way > 0 ? side + (outside ? 1 : 0) : way < 0 && outside ? 0 : 1; };
    const auto last = [&](int way) { return way < 0 ? (outside ? 0 : 1) : way > 0 ? first(1) : side; };
    std::size_t n = 0;
    for (int y = first(to.by[1]); y <= last(to.by[1]); ++y)
        for (int x = first(to.by[0]); x <= last(to.by[0]); ++x) f(y, x, n++);
}

int main() {
    const bough::grid_neighbours grid{.extents = {3, 3}, .offsets = bough::box_offsets(2)};
    const auto by_hops = bough::verify(bough::plan_neighbour_alltoall(bough::by_dimension{}, grid, {.size = 9}));
    std::printf("%u messages a rank for %zu neighbours\n", by_hops.traits.rounds, grid.offsets.size());

    bough::in_process{9}.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        cells now{};
        if (comm.rank() == 0) now.at[1][2] = now.at[2][3] = now.at[3][1] = now.at[3][2] = now.at[3][3] = 1; // a glider
        std::array<char, 8 * side> out{}, in{};
        for (int generation = 0; generation != 24; ++generation) {
            for (std::size_t k = 0; k != 8; ++k)
                for_part(grid.offsets[k], false,
                         [&](int y, int x, std::size_t n) { out[k * side + n] = now.at[y][x]; });
            // What goes to the neighbour at an offset arrives there from the other side.
            bough::neighbour_alltoall(comm, out, in, grid, bough::by_dimension{});
            for (std::size_t k = 0; k != 8; ++k)
                for_part(grid.offsets[7 - k], true,
                         [&](int y, int x, std::size_t n) { now.at[y][x] = in[k * side + n]; });
            cells next{};
            for (int y = 1; y <= side; ++y)
                for (int x = 1; x <= side; ++x) {
                    int around = -now.at[y][x];
                    for (int i = 0; i != 9; ++i) around += now.at[y - 1 + i / 3][x - 1 + i % 3];
                    next.at[y][x] = around == 3 || (around == 2 && now.at[y][x] != 0);
                }
            now = next;
        }
        std::array<char, side * side> mine{}, all[9]{};
        for_part({}, false, [&](int y, int x, std::size_t n) { mine[n] = now.at[y][x] != 0 ? 'o' : '.'; });
        bough::gather(comm, std::span(mine), std::span(all[0].data(), comm.rank() == 0 ? 9 * mine.size() : 0),
                      bough::root{0});
        for (int y = 0; comm.rank() == 0 && y != 3 * side; ++y)
            for (int x = 0; x != 3; ++x)
                std::printf("%.4s%s", all[y / side * 3 + x].data() + y % side * side, x == 2 ? "\n" : "");
    });
}
