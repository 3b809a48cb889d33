// SPDX-License-Identifier: BSL-1.0
// Op and element type known at run time only, as in an MPI: an any_op instead of a template argument.
#include <bough/allreduce.hpp>
#include <bough/communicator.hpp>
#include <bough/op/builtin_op.hpp>
#include <bough/run_time.hpp>
#include <bough/transport/in_process.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

// A function that a program registers at run time, as with MPI_Op_create: keeps the text that sorts first, 8 bytes each.
void first_text(const void*, const std::byte* lower, const std::byte* upper, std::byte* out, std::size_t count) {
    for (std::size_t i = 0; i != 8 * count; i += 8)
        std::memmove(out + i, std::memcmp(upper + i, lower + i, 8) < 0 ? upper + i : lower + i, 8);
}
constexpr bough::any_op first{.function = first_text, .element_size = 8, .id = 1000};

int main() {
    const bough::any_op max = bough::builtin_op(bough::op_kind::max, bough::element_type::i32);
    std::printf("bitwise and of doubles exists: %s\n",
                bough::builtin_op(bough::op_kind::band, bough::element_type::f64) ? "yes" : "no");
    bough::in_process{4}.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        std::int32_t numbers[] = {static_cast<std::int32_t>(comm.rank()), -static_cast<std::int32_t>(comm.rank())};
        char word[4][8] = {"pear", "fig", "apple", "plum"};
        bough::status a, b;
        bough::allreduce(comm, bough::elements{numbers, 2, {.size = 4, .identity = 1}}, max, a);
        bough::allreduce(comm, bough::elements{word[comm.rank()], 1, {.size = 8, .identity = 2}}, first, b);
        if (comm.rank() == 3 && !a && !b) std::printf("%d %d %s\n", numbers[0], numbers[1], word[3]);
    });
}
