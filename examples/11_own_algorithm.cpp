// SPDX-License-Identifier: BSL-1.0
// Your own algorithm: say what one rank does, in plain program order; bough proves it, prices it and runs it.
#include <bough/allreduce.hpp>
#include <bough/concepts/explain_plan.hpp>
#include <bough/schedule/print.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/verify/verify.hpp>

#include <iostream>
#include <span>
#include <utility>
#include <vector>

// Allreduce on a ring: p - 1 steps in which each block collects its sum on a way around, p - 1 that take the sums around.
struct ring {
    constexpr void emit(const bough::dimensions& at, bough::rank_t rank, bough::StepSink auto& out) const {
        const bough::rank_t p = at.size, right = (rank + 1) % p, left = (rank + p - 1) % p;
        for (bough::rank_t k = 0; k + 1 < p; ++k) {
            const bough::block_t sent = (rank + p - k) % p, come = (rank + 2 * p - k - 1) % p;
            const bough::slice landed{bough::scratch(0), come, 1};
            out.send(right, {k == 0 ? bough::input : bough::output, sent, 1});
            out.receive(left, landed);
            out.combine(landed, landed.in(bough::input), landed.in(bough::output));
        }
        for (bough::rank_t k = 0; k + 1 < p; ++k) {
            out.send(right, {bough::output, (rank + 1 + p - k) % p, 1});
            out.receive(left, {bough::output, (rank + p - k) % p, 1});
        }
        if (p == 1) out.copy({bough::input, 0, 1}, {bough::output, 0, 1});
    }
    constexpr bough::block_t natural_blocks(bough::rank_t size) const { return size; }
    constexpr bough::block_t scratch(const bough::dimensions& at, bough::rank_t) const { return at.size - 1; }
    constexpr bough::status check(const bough::dimensions& at) const {
        const bool right = at.blocks == at.size || at.blocks == bough::natural_blocks;
        return right ? bough::status{} : bough::invalid_argument("blocks: the ring needs one per rank");
    }
    friend constexpr bool operator==(const ring&, const ring&) = default;
};
static_assert(bough::explain_algorithm<ring>()); // says what is missing, if anything is
static_assert(bough::proven<bough::verify(bough::plan_allreduce(ring{}, {.size = 7}))>());

int main() {
    for (bough::rank_t p = 1; p <= 64; ++p)
        if (const bough::verdict v = bough::verify(bough::plan_allreduce(ring{}, {.size = p})); !v)
            std::cout << p << " ranks: " << v << '\n';
    std::cout << bough::verify(bough::plan_allreduce(ring{}, {.size = 7})).traits;
    bough::in_process{7}.run([](auto transport) {
        bough::communicator comm{std::move(transport)};
        std::vector<int> x(1000, static_cast<int>(comm.rank()));
        bough::allreduce(comm, std::span(x), bough::plus{}, ring{});
        if (comm.rank() == 4) std::cout << "rank 4 has " << x[0] << ", " << x[999] << '\n';
    });
}
