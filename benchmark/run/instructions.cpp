// SPDX-License-Identifier: BSL-1.0
// Instructions of one 8-byte allreduce, all ranks together, without waiting: one thread drives every rank in turn, so the
// count is the same in every run. Made for callgrind:
//
//   valgrind --tool=callgrind --toggle-collect='measured*' build/.../bench-instructions 2     (ranks; 1000 operations)
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/execute/session.hpp>
#include <bough/op/any_op.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/in_process.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

using session = bough::session<bough::in_process::endpoint>;

struct rank_work {
    std::unique_ptr<session> group;
    std::unique_ptr<bough::prepared> work;
    bough::operation op;
    double value = 0;
};

constexpr std::uint32_t operations = 1000;

std::uint32_t next_operation = 0;

} // namespace

// Not in the unnamed namespace and not inlined: callgrind finds it by name.
[[gnu::noinline]] void measured(std::vector<rank_work>& ranks, const bough::any_op& plus) {
    for (std::uint32_t n = 0; n != operations; ++n) {
        bough::envelope tag;
        tag.operation = ++next_operation;
        for (rank_work& r : ranks) {
            r.value = 1;
            bough::call c;
            c.input = reinterpret_cast<const std::byte*>(&r.value);
            c.output = reinterpret_cast<std::byte*>(&r.value);
            c.count = 1;
            c.element_bytes = sizeof(double);
            c.combine = plus.function;
            tag.plan = r.work->bound().plan_id;
            r.group->start(r.op, *r.work, c, tag, 1'000'000'000);
        }
        for (bool busy = true; busy;) {
            busy = false;
            for (rank_work& r : ranks) {
                if (r.op.done()) continue;
                r.group->progress();
                busy |= !r.op.done();
            }
        }
    }
}

int main(int argc, char** argv) {
    const auto size = static_cast<bough::rank_t>(argc > 1 ? std::atoi(argv[1]) : 2);
    if (size < 1 || size > 64) return std::fputs("ranks: 1 to 64\n", stderr), 2;
    bough::in_process world{size};
    const auto plan = bough::plan_allreduce(bough::recursive_doubling{}, {.size = size});
    std::vector<rank_work> ranks(size);
    for (bough::rank_t r = 0; r != size; ++r) {
        ranks[r].group = std::make_unique<session>(world.connect(r));
        ranks[r].work = std::make_unique<bough::prepared>(bough::bind_plan(plan, r));
    }
    const bough::any_op plus = bough::make_any_op<double>(bough::plus{});
    measured(ranks, plus);
    std::size_t steps = 0;
    for (const rank_work& r : ranks) {
        steps += r.work->bound().steps.size();
        if (r.value != size) return std::fputs("wrong result\n", stderr), 1;
    }
    std::printf("%u ranks, %u operations of %zu steps\n", size, operations, steps);
}
