// SPDX-License-Identifier: BSL-1.0
// Giving up one operation, and nothing else: others in flight, later calls and other communicators go on.
#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/error.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/in_process.hpp>

#include <array>
#include <iostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

int main() {
    std::array<std::string, 3> said;
    bough::in_process world{3};
    world.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        std::string& say = said[comm.rank()];

        std::vector<double> slow(100'000, 1.0), model(1000, comm.rank() == 0 ? 0.5 : 0.0);
        bough::operation lost = bough::start_allreduce(comm, slow, bough::plus{});
        bough::operation kept = bough::start_broadcast(comm, model, bough::root{0});
        if (comm.rank() == 2) lost.cancel(); // or: lost.set_timeout(50ms)

        bough::status s; // has the whole story: a std::error_code in its place has the code
        lost.wait(s);
        // A rank that had finished before it heard keeps its result.
        const bool as_expected =
            !s || s.code == bough::errc::cancelled ||
            (s.code == bough::errc::peer_aborted && s.cause == bough::errc::cancelled && s.peer == 2);
        say += as_expected ? "given up by rank 2 at the latest" : bough::message_of(s);
        kept.wait(); // throws if it had failed
        say += ", model " + std::to_string(model[999]).substr(0, 3);

        int ones = 1; // the next call
        bough::allreduce(comm, std::span(&ones, 1), bough::plus{});
        say += ", " + std::to_string(ones) + " ranks";

        const std::array<bough::rank_t, 2> list{2, 0}; // these two alone make a communicator
        if (comm.rank() != 1) {
            auto two = bough::create_group(comm, list);
            say += ", rank " + std::to_string(two.rank()) + " of " + std::to_string(two.size());
        }
    });
    for (const std::string& s : said) std::cout << s << '\n';
}
