// SPDX-License-Identifier: BSL-1.0
// expect: bough: an Algorithm needs `block_t natural_blocks\(rank_t size\) const`
#include <bough/allreduce.hpp>
#include <bough/transport/self.hpp>

#include <vector>

struct my_algorithm {
    constexpr void emit(const bough::dimensions& at, bough::rank_t, bough::StepSink auto& out) const {
        out.copy({bough::input, 0, at.blocks}, {bough::output, 0, at.blocks});
    }
    friend constexpr bool operator==(const my_algorithm&, const my_algorithm&) = default;
};

void call(bough::communicator<bough::self>& comm, std::vector<double>& x) {
    bough::allreduce(comm, x, bough::plus{}, my_algorithm{});
}
