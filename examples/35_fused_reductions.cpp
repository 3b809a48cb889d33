// SPDX-License-Identifier: BSL-1.0
// Fusion: small reductions that belong together travel in one message. A batch takes what is at hand, whatever its types and
// ops; a fused op combines a struct member by member.
#include <bough/allreduce.hpp>
#include <bough/batch.hpp>
#include <bough/hana/fuse.hpp>
#include <bough/transport/in_process.hpp>

#include <array>
#include <cstdint>
#include <iostream>
#include <span>
#include <utility>

struct stats {
    double sum;
    float low, high;
    std::array<std::uint64_t, 3> histogram;
};
// Forget a member, or name it twice, and this does not compile.
constexpr auto merge = bough::fuse(bough::field<&stats::sum>(bough::plus{}), //
                                   bough::field<&stats::low>(bough::min{}),  //
                                   bough::field<&stats::high>(bough::max{}), //
                                   bough::field<&stats::histogram>(bough::plus{}));

int main() {
    bough::in_process{6}.run([](auto transport) {
        bough::communicator comm{std::move(transport)};
        const bough::rank_t me = comm.rank();

        std::array<double, 2> dots{me * 0.5, 1.0};
        std::uint32_t busiest = me * 7 % 5;
        float coldest = 20.f - static_cast<float>(me);
        bough::batch all;
        all.add(dots, bough::plus{}).add(busiest, bough::max{}).add(coldest, bough::min{});
        bough::allreduce(comm, all); // one message per edge
        if (me == 3) std::cout << dots[0] << ' ' << dots[1] << ' ' << busiest << ' ' << coldest << '\n';

        bough::persistent_operation again = bough::bind_allreduce(comm, all);
        for (int round = 0; round != 3; ++round) {
            dots = {1, 2};
            again.start(); // nothing is allocated
            again.wait();
        }
        if (me == 3) std::cout << dots[0] << ' ' << dots[1] << '\n';

        stats mine{me + 0.25, float(me), float(me * me), {1, me, 0}};
        bough::allreduce(comm, std::span(&mine, 1), merge);
        if (me == 3) std::cout << mine.sum << ' ' << mine.low << ' ' << mine.high << ' ' << mine.histogram[1] << '\n';
    });
}
