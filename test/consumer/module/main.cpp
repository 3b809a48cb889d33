// SPDX-License-Identifier: BSL-1.0
// A program without a header of bough: the README's first one, and proofs by the compiler.
#include <cstdio>
#include <iostream>
#include <span>
#include <sstream>
#include <utility>
#include <vector>

import bough;

constexpr auto plan = bough::plan_allreduce(bough::recursive_doubling{}, {.size = 13});
static_assert(bough::proven<bough::verify(plan)>());
static_assert(outline(bough::tree{bough::fnomial{.degree = 3}, 9}) == "0(1 2 3(4 5) 6(7 8))");

int main() {
    bough::in_process world{8}; // eight ranks, each a thread
    world.run([](auto transport) {
        bough::communicator comm{std::move(transport)};
        std::vector<double> x(1000, comm.rank());
        bough::allreduce(comm, std::span(x), bough::plus{}); // in place
        if (comm.rank() == 5) std::printf("rank 5 has %g, %g, ..., %g\n", x[0], x[1], x[999]);
        auto running = bough::start_broadcast(comm, std::span(x), bough::root{3});
        running.wait();
        if (bough::split(comm, comm.rank() % 2, comm.rank()).size() != 4) std::puts("split: not 4 ranks");
    });
    std::ostringstream said;
    said << bough::verify(plan) << '\n' << plan.schedule_of(2);
    if (said.str().find("no fault: the plan is proved") != 0) std::puts(said.str().c_str());
    const auto run = bough::trace(plan, bough::model::loggops{}, {.bytes = 4096});
    std::cout << run.size << " ranks\n";
}
