// SPDX-License-Identifier: BSL-1.0
// Training that does not wait for a straggler: at a deadline, the sum over the ranks that have come, and
// who they are. What a late rank brings goes into its next contribution, so nothing is lost.
#include <bough/allreduce.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/in_process.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

int main() {
    std::array<std::string, 4> said;
    std::atomic<int> gone_on{0};
    bough::in_process world{4};
    world.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        const bough::rank_t me = comm.rank();

        std::vector<double> gradient(1000), total(1000), rest(1000, 0.0);
        bough::contributors came;
        for (int step = 0; step != 2; ++step) {
            for (std::size_t i = 0; i != gradient.size(); ++i) gradient[i] = 1.0 + rest[i];
            if (me == 2 && step == 0) gone_on.wait(0); // the straggler: it comes when the others have gone on

            const bough::rank_t least = step == 0 ? 3 : 4; // the last step waits for all
            bough::allreduce(comm, gradient, total, bough::plus{},
                             bough::partial{.within = 5ms, .at_least = least, .contributed = &came});
            if (came.has(me))
                rest.assign(rest.size(), 0.0);
            else
                rest = gradient; // was not counted

            // The same on all ranks: an average is total / came.count().
            said[me] += std::string(step == 0 ? "" : ", then ") + std::to_string(static_cast<int>(total[999])) +
                        " from " + std::to_string(came.count()) + (came.has(me) ? " ranks" : " ranks, too late itself");
            if (me == 0 && step == 0) gone_on = 1, gone_on.notify_all();
        }
    });
    for (const std::string& s : said) std::cout << s << '\n';
}
