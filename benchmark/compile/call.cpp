// SPDX-License-Identifier: BSL-1.0
// Short calls whose instructions benchmark/compile/instructions counts: 1000 pairs of 8-byte allreduces over two ranks. One
// thread is both ranks, so that nobody waits and the count is the same in every run: rank 1 starts its call, rank 0 makes
// the same call and finds the message of rank 1, and rank 1 ends.
#include <bough/allreduce.hpp>
#include <bough/transport/in_process.hpp>

#include <cstdio>

using communicator = bough::communicator<bough::in_process::endpoint>;

// Not inlined: callgrind finds it by name.
[[gnu::noinline]] double measured(communicator& one, communicator& other, int pairs) {
    double sum = 0;
    for (int i = 0; i != pairs; ++i) {
        double theirs = i;
        bough::operation started = bough::start_allreduce(other, theirs, bough::plus{});
        sum += bough::allreduce(one, 1.0, bough::plus{});
        started.wait();
    }
    return sum;
}

int main() {
    bough::in_process world{2};
    communicator one{world.connect(0)}, other{world.connect(1)};
    (void)measured(one, other, 10); // the plans are chosen and bound
    std::printf("%g\n", measured(one, other, 1000));
}
