// SPDX-License-Identifier: BSL-1.0
// Six functions as an MPI has them, over bough: types and ops are handles that a C program makes while it runs.
#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/communicator.hpp>
#include <bough/reduce.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/run_time.hpp>
#include <bough/transport/in_process.hpp>

#include <climits>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <thread>
#include <utility>

// What C sees.
struct my_type;
struct my_op;
extern "C" using my_function = void(void* in, void* inout, int* length, const my_type** type); // inout = in op inout

// What the handles are.
using communicator = bough::communicator<bough::in_process::endpoint>;
struct my_type {
    bough::run_time_type is;
};
struct my_op {
    my_function* function;
    bool commutes;
    std::uint64_t number; // the same on all ranks
};
inline char in_place_object;
void* const my_in_place = &in_place_object;

namespace {

thread_local communicator* world; // one rank is one thread here

// What an op's context points to: its function wants the type, too.
struct used_op {
    const my_op* op;
    const my_type* type;
};
void combine(void* context, const void* in, void* inout, std::size_t count) {
    const used_op& used = *static_cast<const used_op*>(context);
    const my_type* type = used.type;
    const std::ptrdiff_t extent = type->is.extent != 0 ? type->is.extent : std::ptrdiff_t(type->is.size);
    while (count != 0) { // a C function counts in int, a call may have more elements
        int length = static_cast<int>(std::min<std::size_t>(count, INT_MAX));
        used.op->function(const_cast<void*>(in), inout, &length, &type);
        in = static_cast<const std::byte*>(in) + length * extent;
        inout = static_cast<std::byte*>(inout) + length * extent;
        count -= static_cast<std::size_t>(length);
    }
}
bough::run_time_op op_of(used_op& used) {
    return {.function = combine,
            .context = &used,
            .commutative = used.op->commutes,
            .as_in_memory = true,
            .identity = used.op->number};
}
bough::elements some(void* data, std::size_t count, const my_type* type) { return {data, count, type->is, {}}; }
bough::const_elements some(const void* data, std::size_t count, const my_type* type) {
    return {data, count, type->is, {}};
}
int said(const bough::status& s) {
    if (s) std::printf("rank %u: %s\n", world->rank(), bough::message_of(s).c_str());
    return static_cast<int>(s.code);
}

// What the host has to do while a call waits: its own messages, say. It says that the rank must not sleep.
std::atomic<int> turns_of_host{0};
bool progress_of_host(void*, std::uint32_t) {
    ++turns_of_host;
    return true;
}

} // namespace

extern "C" {

int my_allreduce(const void* in, void* out, std::size_t count, const my_type* type, const my_op* op) {
    used_op used{op, type};
    bough::status s;
    if (in == my_in_place)
        bough::allreduce(*world, some(out, count, type), op_of(used), s);
    else
        bough::allreduce(*world, some(in, count, type), some(out, count, type), op_of(used), s);
    return said(s);
}
int my_reduce(const void* in, void* out, std::size_t count, const my_type* type, const my_op* op, unsigned root) {
    used_op used{op, type};
    bough::status s;
    if (in == my_in_place) // at the root only
        bough::reduce(*world, some(out, count, type), op_of(used), bough::root{root}, s);
    else
        bough::reduce(*world, some(in, count, type), some(out, count, type), op_of(used), bough::root{root}, s);
    return said(s);
}
int my_bcast(void* data, std::size_t count, const my_type* type, unsigned root) {
    bough::status s;
    bough::broadcast(*world, some(data, count, type), bough::root{root}, s);
    return said(s);
}
int my_allgather(const void* in, std::size_t sent, const my_type* sent_type, void* out, std::size_t each,
                 const my_type* type) {
    bough::status s;
    const bough::elements all = some(out, each * world->size(), type);
    if (in == my_in_place)
        bough::allgather(*world, all, s);
    else
        bough::allgather(*world, some(in, sent, sent_type), all, s);
    return said(s);
}
int my_reduce_scatter(const void* in, void* out, const std::size_t* counts, const my_type* type, const my_op* op) {
    used_op used{op, type};
    bough::status s;
    std::size_t total = 0;
    for (unsigned r = 0; r != world->size(); ++r) total += counts[r];
    bough::reduce_scatterv(*world, some(in, total, type), some(out, counts[world->rank()], type),
                           std::span(counts, world->size()), op_of(used), s);
    return said(s);
}
// A persistent call, as MPI_Allreduce_init makes one. What it packs into is its own.
struct my_request {
    used_op used;
    bough::persistent_operation operation;
};
my_request* my_allreduce_init(void* data, std::size_t count, const my_type* type, const my_op* op) {
    auto* made = new my_request{{op, type}, {}};
    made->operation = bough::bind_allreduce(*world, some(data, count, type), op_of(made->used));
    return made;
}

// An op of the C program: the greater of two values, with the rank that has it; and one that does not commute.
struct place {
    double value;
    int rank;
};
void greater(void* in, void* inout, int* length, const my_type**) {
    const auto* a = static_cast<const place*>(in);
    auto* b = static_cast<place*>(inout);
    for (int i = 0; i != *length; ++i)
        if (a[i].value > b[i].value || (a[i].value == b[i].value && a[i].rank < b[i].rank)) b[i] = a[i];
}
void append(void* in, void* inout, int* length, const my_type**) { // decimal digits, the lower rank's to the left
    const auto* a = static_cast<const long*>(in);
    auto* b = static_cast<long*>(inout);
    for (int i = 0; i != *length; ++i) b[i] += a[i] * 10 * (b[i] > 9 ? b[i] > 99 ? 100 : 10 : 1);
}

} // extern "C"

int main() {
    // A double and an int, with 4 bytes between elements that belong to nobody.
    static constexpr bough::run_time_piece pieces[] = {{offsetof(place, value), 8}, {offsetof(place, rank), 4}};
    static constexpr my_type place_type{{.size = 12, .extent = sizeof(place), .identity = 1, .pieces = pieces}};
    static constexpr my_type long_type{{.size = sizeof(long), .identity = 2}};
    static constexpr my_type column_type{{.size = sizeof(long), .extent = 3 * sizeof(long), .identity = 2}};
    static constexpr my_op maxloc{greater, true, 1}, digits{append, false, 2};

    bough::in_process{4}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        world = &comm;
        const auto me = static_cast<int>(comm.rank());
        int errors = 0;

        place best{me == 2 ? 7.5 : me, me}, there{};
        errors += my_allreduce(&best, &there, 1, &place_type, &maxloc);

        long number = me + 1, all = 0;
        errors += my_allreduce(&number, &all, 1, &long_type, &digits);
        errors += my_reduce(me == 3 ? my_in_place : &number, &number, 1, &long_type, &digits, 3);
        long last = number;
        errors += my_bcast(&last, 1, &long_type, 3);

        long matrix[4][3] = {};
        const long mine = 10 * me;
        errors += my_allgather(&mine, 1, &long_type, &matrix[0][1], 1, &column_type); // into the middle column

        const std::size_t counts[] = {2, 0, 1, 1};
        const long cut[] = {1, 2, 3, 4};
        long share[2] = {};
        errors += my_reduce_scatter(cut, share, counts, &long_type, &digits);

        place again{};
        my_request* const request = my_allreduce_init(&again, 1, &place_type, &maxloc);
        for (int step = 0; step != 3; ++step) {
            again = {me + step == 4 ? 9.0 : 1.0, me};
            request->operation.start();
            request->operation.wait();
        }
        comm.set_while_waiting({progress_of_host, nullptr});
        while (me == 3 && turns_of_host == 0) std::this_thread::yield(); // a rank that waits for this one drives it
        errors += my_bcast(&last, 1, &long_type, 3);
        comm.set_while_waiting({});
        if (me == 0) {
            std::printf("the greatest is %g, at rank %d\n", there.value, there.rank);
            std::printf("digits in rank order: %ld %ld\n", all, last);
            std::printf("the middle column: %ld %ld %ld %ld\n", matrix[0][1], matrix[1][1], matrix[2][1], matrix[3][1]);
            std::printf("rank 0's share: %ld %ld\n", share[0], share[1]);
            std::printf("at last: %g at rank %d, errors: %d\n", again.value, again.rank, errors);
            std::printf("the host had its turn: %s\n", turns_of_host != 0 ? "yes" : "no");
        }
        delete request;
    });
}
