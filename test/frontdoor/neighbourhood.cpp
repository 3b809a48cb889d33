// SPDX-License-Identifier: BSL-1.0
// A neighbourhood of what each rank says of its own neighbours.
#include "frontdoor/neighbours.hpp"
#include <bough/barrier.hpp>
#include <bough/neighbour_alltoall.hpp>
#include <bough/neighbourhood.hpp>

#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

using namespace bough;

TEST_CASE("gather_neighbourhood: every rank has the lists of all") {
    std::vector<test::sized_neighbourhood> all = test::graphs();
    test::in_neighbourhoods(all, [](auto& comm, const neighbourhood& around, test::faults& faults) {
        std::vector<rank_t> from, to;
        const rank_t me = comm.rank();
        for (block_t k = 0; k != around.receives(me); ++k) from.push_back(around.source(me, k));
        for (block_t k = 0; k != around.sends(me); ++k) to.push_back(around.destination(me, k));
        const neighbourhood made = gather_neighbourhood(comm, from, to);
        faults.expect(made == around && made.hash() == around.hash(), "equal");
        std::error_code ec;
        faults.expect(gather_neighbourhood(comm, from, to, ec) == around && !ec, "with an error code");
        const std::vector<int> in(to.size(), static_cast<int>(me));
        std::vector<int> out(from.size());
        neighbour_alltoall(comm, in, out, made);
        for (std::size_t k = 0; k != out.size(); ++k) faults.expect(out[k] == static_cast<int>(from[k]), "used");
    });
}

TEST_CASE("gather_neighbourhood: lists that do not fit are an error on every rank, and the group goes on") {
    struct lists {
        std::vector<rank_t> from, to;
    };
    const auto seen = [](const std::vector<lists>& said) {
        std::vector<status> found(said.size());
        test::faults faults;
        in_process{static_cast<rank_t>(said.size())}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            const lists& mine = said[comm.rank()];
            const auto made = gather_neighbourhood(comm, mine.from, mine.to, found[comm.rank()]);
            faults.expect(!made, "nothing is made");
            barrier(comm);
        });
        CHECK(faults.text() == "");
        for (const status& s : found) CHECK(s == found.front());
        return found.front();
    };
    const status unknown = seen({{{1}, {1}}, {{0}, {}}, {{}, {}}}); // rank 1 sends nothing
    CHECK(unknown.peer == 0);
    CHECK(unknown.argument ==
          std::string_view("neighbours: what this rank says of its sources is not what they say of it"));
    const status silent = seen({{{}, {2}}, {{}, {}}, {{}, {}}}); // rank 2 expects nothing
    CHECK(silent.peer == 2);
    const status stranger = seen({{{}, {}}, {{}, {3}}, {{}, {}}});
    CHECK(stranger.peer == 1);
    CHECK(stranger.argument == std::string_view("neighbours: a destination is not a rank of the group"));
    const status strange_source = seen({{{}, {}}, {{}, {}}, {{7}, {}}});
    CHECK(strange_source.peer == 2);
}
