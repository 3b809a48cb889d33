// SPDX-License-Identifier: BSL-1.0
// Any op will do: a lambda with state that does not commute. Results combine in rank order, whichever rank is the root.
#include <bough/reduce.hpp>
#include <bough/transport/in_process.hpp>

#include <cstdio>
#include <span>
#include <utility>

struct matrix {
    unsigned a, b, c, d;
};

int main() {
    unsigned modulus = 10'007; // not known before run time
    // The left operand comes from the lower rank. Nothing says that this op commutes, so bough takes it that it does not.
    const auto product = [modulus](const matrix& x, const matrix& y) {
        return matrix{(x.a * y.a + x.b * y.c) % modulus, (x.a * y.b + x.b * y.d) % modulus,
                      (x.c * y.a + x.d * y.c) % modulus, (x.c * y.b + x.d * y.d) % modulus};
    };
    const auto matrix_of = [](bough::rank_t rank) { return matrix{rank + 1, 2, 3, rank}; };

    matrix expected = matrix_of(0);
    for (bough::rank_t rank = 1; rank != 7; ++rank) expected = product(expected, matrix_of(rank));
    std::printf("in rank order, by hand:   %u %u %u %u\n", expected.a, expected.b, expected.c, expected.d);

    bough::in_process world{7};
    world.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        matrix m = matrix_of(comm.rank());
        bough::reduce(comm, std::span(&m, 1), product, bough::root{3});
        if (comm.rank() == 3) std::printf("reduced over 7 ranks to 3: %u %u %u %u\n", m.a, m.b, m.c, m.d);
    });
}
