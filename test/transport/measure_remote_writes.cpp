// SPDX-License-Identifier: BSL-1.0
// Puts timed between ranks that are threads: the samples are there, and the model of them is finite.
#include "support/catch.hpp"
#include <bough/measure_remote_writes.hpp>
#include <bough/transport/remote_in_process.hpp>

#include <optional>
#include <thread>
#include <vector>

using namespace bough;

namespace {

const remote_write_timing_options few{.bytes = {8, 256, 2048}, .rounds = 10, .parts = 2, .first_byte = 64};

} // namespace

TEST_CASE("measure_remote_writes: rank 0 gets a model, and who only looks on is let go") {
    in_process_regions world(3, {.region_bytes = 1u << 16});
    std::vector<remote_write_timing> found(3);
    std::vector<std::thread> ranks;
    for (rank_t r = 0; r != 3; ++r)
        ranks.emplace_back([&, r] {
            auto end = world.connect(r);
            found[r] = measure_remote_writes(end, few);
        });
    for (std::thread& t : ranks) t.join();
    for (const auto& f : found) CHECK(f.result.code == errc::ok);
    CHECK(found[0].samples.size() == 3 * 2 + 1 + 2); // bytes in order: no acknowledgements
    CHECK((found[1].samples.empty() && found[2].samples.empty()));
    CHECK_FALSE(found[0].fit.error);
    CHECK(found[0].fit.model.copy_ns_per_byte > 0);
    CHECK(found[0].fit.model.acknowledgement_ns == 0);
}

TEST_CASE("measure_remote_writes: a peer that does not come ends it") {
    in_process_regions world(2, {.region_bytes = 1u << 16});
    auto end = world.connect(0);
    auto options = few;
    SECTION("in time") {
        options.timeout_ns = 20'000'000;
        CHECK(measure_remote_writes(end, options).result.code == errc::deadline);
    }
    SECTION("as soon as it is gone") {
        std::optional other(world.connect(1));
        other.reset();
        CHECK(measure_remote_writes(end, options).result.code == errc::peer_dead);
    }
}
