// SPDX-License-Identifier: BSL-1.0
#include "fabric/ranks.hpp"
#include "support/any_order.hpp"
#include "support/catch.hpp"
#include "support/process_collectives.hpp"
#include "support/sample.hpp"
#include "support/two_late.hpp"

#include <utility>
#include <vector>

using namespace bough;
using namespace test_fabric;

namespace {

int wrong_over(fabric link, const std::vector<std::size_t>& counts) {
    communicator comm{std::move(link)};
    comm.set_timeout_ns(60'000'000'000);
    return bough_test::wrong_collectives(comm, counts);
}

} // namespace

TEST_CASE("fabric: collectives are folds, bit by bit, for any number of ranks, over every provider") {
    for (const fabric_options& provider : offered_here())
        for (const rank_t ranks : {1u, 2u, 3u, 5u, 8u}) {
            fabric_options options = provider;
            options.linger_ns = 1'000'000'000;
            const std::size_t longest = bough_test::all() ? 300'000 : 20'000;
            const launch_report report = launch(ranks, [&](job world) {
                return wrong_over(fabric{world, options}, {0, 1, 7, 600, longest}) == 0 ? 0 : 1;
            });
            CAPTURE(options.provider, ranks, describe(report));
            CHECK(report.ok());
        }
}

TEST_CASE("fabric: long messages that nobody has taken leave the window to older operations") {
    for (const fabric_options& provider : offered_here()) {
        const launch_report report = launch(3, [&](job world) {
            return bough_test::early_messages_in_the_way(fabric{world, provider}, 30, 20'000).code == errc::ok ? 0 : 1;
        });
        CAPTURE(provider.provider, describe(report));
        CHECK(report.ok());
    }
}

TEST_CASE("fabric: operations of several communicators may be started in any order") {
    for (const fabric_options& provider : offered_here()) {
        const launch_report report = launch(4, [&](job world) {
            return bough_test::any_order(fabric{world, provider}, 7).code == errc::ok ? 0 : 1;
        });
        CAPTURE(provider.provider, describe(report));
        CHECK(report.ok());
    }
}

TEST_CASE("fabric: the provider that libfabric thinks best runs too") {
    if (detail::fabric_device{}.open({})) {
        WARN("skipped: libfabric has no provider here");
        return;
    }
    const launch_report report = launch(3, [&](job world) {
        return wrong_over(fabric{world}, {1, 5'000}) == 0 ? 0 : 1;
    });
    CAPTURE(describe(report));
    CHECK(report.ok());
}
