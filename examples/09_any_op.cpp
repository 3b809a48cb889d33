// SPDX-License-Identifier: BSL-1.0
// Op and element type known at run time only, as in an MPI: an any_op instead of a template argument.
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/communicator.hpp>
#include <bough/op/builtin_op.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/transport/in_process.hpp>

#include <cstdio>
#include <cstring>
#include <utility>

// What MPI_Allreduce(MPI_IN_PLACE, data, count, type, op, comm) would do once it has looked up type and op.
template <class Transport>
bough::status allreduce(bough::communicator<Transport>& comm, void* data, std::uint64_t count,
                        const bough::any_op& op) {
    const auto plan = bough::plan_allreduce(bough::recursive_doubling{}, {.size = comm.size()}); // any op: rank order
    auto* const bytes = static_cast<std::byte*>(data);
    return comm.run(
        plan,
        {.input = bytes,
         .output = bytes,
         .count = count,
         .element_bytes = static_cast<std::uint32_t>(op.element_size),
         .combine = op.function,
         .combine_state = op.state},
        {.count = count, .op = static_cast<std::uint16_t>(op.id), .type = static_cast<std::uint8_t>(op.type.hash)});
}

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
        const bough::status a = allreduce(comm, numbers, 2, max);
        const bough::status b = allreduce(comm, word[comm.rank()], 1, first);
        if (comm.rank() == 3 && !a && !b) std::printf("%d %d %s\n", numbers[0], numbers[1], word[3]);
    });
}
