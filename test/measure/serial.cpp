// SPDX-License-Identifier: BSL-1.0
// Measuring serial reductions: what the timed schedules take in the model itself, and that every rank gets the same values.
#include "support/catch.hpp"
#include <bough/measure/serial.hpp>
#include <bough/model/walk.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/self.hpp>

#include <string>
#include <vector>

using namespace bough;

namespace {

constexpr model::lrc network{
    .message_latency_ns = 2100, .receive = {420, 0.5}, .combine = {1500, 0.25}, .startup_ns = 9200, .copy = {0}};

using timed_plan = plan<goal::reduce, detail::serial_reduction>;

double reduction_ns(rank_t senders, bool combine, rank_t size, std::uint64_t bytes) {
    return walk(timed_plan({senders, combine}, {.size = size}), network, bytes).makespan_ns;
}

} // namespace

TEST_CASE("serial: a reduction takes the start, a latency, and what rank 0 does for each message") {
    for (const std::uint64_t bytes : {8u, 4096u})
        for (rank_t senders = 1; senders <= 12; ++senders) {
            CAPTURE(bytes, senders);
            const double receive_ns = network.receive.at_ns(bytes), combine_ns = network.combine.at_ns(bytes);
            CHECK(reduction_ns(senders, false, 13, bytes) == 9200 + 2100 + senders * receive_ns);
            CHECK(reduction_ns(senders, true, 13, bytes) == 9200 + 2100 + senders * (receive_ns + combine_ns));
        }
    CHECK(reduction_ns(0, true, 13, 8) == 9200); // what no message is needed for
}

TEST_CASE("serial: there are no more senders than other ranks") {
    CHECK_FALSE(detail::serial_reduction{.senders = 2}.check({.size = 3}));
    const status bad = detail::serial_reduction{.senders = 3}.check({.size = 3});
    CHECK(std::string(bad.argument) == "senders: more than there are ranks");
}

TEST_CASE(
    "serial: every rank gets the same model, whose costs are not negative, from all reductions that were asked for") {
    constexpr rank_t ranks = 4;
    in_process world{ranks};
    std::vector<measurement> found(ranks);
    world.run([&](auto transport) {
        communicator comm{std::move(transport)};
        found[comm.rank()] = measure(comm, {.max_ranks = 3, .repetitions = 5, .short_bytes = 16, .long_bytes = 1024});
    });
    REQUIRE_FALSE(found[0].fit.error);
    const model::lrc& m = found[0].fit.model;
    CHECK(m.message_latency_ns >= 0);
    CHECK(m.receive.base_ns >= 0);
    CHECK(m.receive.per_byte_ns >= 0);
    CHECK(m.combine.base_ns >= 0);
    CHECK(m.combine.per_byte_ns >= 0);
    REQUIRE(found[0].samples.size() == 2 * 2 * 3); // sizes, with an op and without, ranks
    std::size_t i = 0;
    for (const std::uint64_t bytes : {16u, 1024u})
        for (const bool with_op : {false, true})
            for (rank_t p = 1; p <= 3; ++p, ++i) {
                CAPTURE(i);
                CHECK(found[0].samples[i].bytes == bytes);
                CHECK(found[0].samples[i].with_op == with_op);
                CHECK(found[0].samples[i].ranks == p);
                CHECK(found[0].samples[i].ns >= 0);
                for (const measurement& other : found) CHECK(other.samples[i].ns == found[0].samples[i].ns);
            }
    for (const measurement& other : found) CHECK(other.fit.model == m);
}

TEST_CASE("serial: messages longer than any memory are refused") {
    communicator comm{self{}};
    for (const std::uint64_t bytes : {~std::uint64_t{0}, (~std::uint64_t{0} >> 1) + 1}) {
        CHECK(std::string(measure(comm, {.long_bytes = bytes}).fit.error.argument) == "bytes: no memory is so long");
        CHECK(std::string(measure(comm, {.short_bytes = bytes}).fit.error.argument) == "bytes: no memory is so long");
    }
}

TEST_CASE("serial: too few ranks are told") {
    communicator comm{self{}};
    const measurement found = measure(comm, {.repetitions = 1});
    CHECK(found.fit.error.code == errc::invalid_argument);
    CHECK(found.samples.size() == 4);
}
