// SPDX-License-Identifier: BSL-1.0
// Measuring transfers: what the timed schedules take in the model itself, and that every rank gets the same values.
#include "support/catch.hpp"
#include <bough/measure/transfers.hpp>
#include <bough/model/walk.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/self.hpp>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace {

using bough::model::transfer_kind;

constexpr bough::model::alpha_beta_gamma network{
    .alpha_ns = 1000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25, .f_alpha = 0.5, .f_beta = 0.75};

using rounds_plan = bough::plan<bough::goal::allreduce, bough::detail::transfer_rounds>;

// Of messages of 4096 bytes.
double chain_ns(bough::rank_t ranks, std::uint32_t rounds, transfer_kind kind) {
    const rounds_plan plan({rounds, kind}, {.size = ranks});
    return walk(plan, network, 4096 * plan.blocks()).makespan_ns;
}

} // namespace

TEST_CASE("a round to and fro is two messages one way, a round of both at once is one exchange") {
    for (const bough::rank_t ranks : {2u, 3u, 8u})
        for (const std::uint32_t rounds : {1u, 2u, 9u}) {
            CAPTURE(ranks, rounds);
            CHECK(chain_ns(ranks, rounds, transfer_kind::one_way) == 2 * rounds * network.one_way_ns(4096));
            CHECK(chain_ns(ranks, rounds, transfer_kind::exchange) == rounds * network.exchange_ns(4096));
            CHECK(chain_ns(ranks, rounds, transfer_kind::exchange_combine) ==
                  rounds * (network.exchange_ns(4096) + network.combine_ns(0, 4096)));
            // Ports are held all the time: a burst is no faster than one message after the other, and one answer.
            CHECK(chain_ns(ranks, rounds, transfer_kind::burst) == (rounds + 1) * network.one_way_ns(4096));
        }
}

TEST_CASE("a round of a fan costs what its narrow end takes of all its messages") {
    // To send takes 300 + 0.25 n, to receive 100 + 0.5 n.
    constexpr bough::model::alpha_beta_gamma uneven{.alpha_ns = 1000,
                                                    .beta_ns_per_byte = 1,
                                                    .early = true,
                                                    .held_alpha = 0.1,
                                                    .held_beta = 0.25,
                                                    .send_alpha = 0.3,
                                                    .receive_beta = 0.5};
    const auto rank_0_ns = [&](bough::rank_t peers, std::uint32_t rounds, transfer_kind kind, std::uint64_t bytes) {
        const rounds_plan plan({rounds, kind, peers}, {.size = peers + 2});
        return finish_times(plan, uneven, bytes * plan.blocks())[0];
    };
    for (const bough::rank_t peers : {4u, 8u}) {
        const auto message_ns = [&](transfer_kind kind, std::uint64_t bytes) {
            return (rank_0_ns(peers, 9, kind, bytes) - rank_0_ns(peers, 1, kind, bytes)) / 8 / peers;
        };
        CHECK(message_ns(transfer_kind::fan_in, 8) == Approx(100).epsilon(0.05));
        CHECK(message_ns(transfer_kind::fan_out, 8) == Approx(300).epsilon(0.05));
        CHECK(message_ns(transfer_kind::fan_in, 1 << 20) == Approx(0.5 * (1 << 20)).epsilon(0.01));
        CHECK(message_ns(transfer_kind::fan_out, 1 << 20) == Approx(0.25 * (1 << 20)).epsilon(0.01));
    }
}

TEST_CASE("of messages in a row each is another part of the vector: none is in the receiver's cache already") {
    for (const auto kind : {transfer_kind::burst, transfer_kind::fan_in, transfer_kind::fan_out}) {
        const rounds_plan plan({bough::detail::transfer_rounds::many, kind}, {.size = 2});
        std::vector<bough::block_t> sent;
        for (const bough::step& s : plan.schedule_of(kind == transfer_kind::fan_in ? 1 : 0))
            if (s.verb == bough::verb::send) sent.push_back(s.a.first);
        REQUIRE(sent.size() == bough::detail::transfer_rounds::many);
        std::sort(sent.begin(), sent.end());
        CHECK(std::adjacent_find(sent.begin(), sent.end()) == sent.end());
    }
}

TEST_CASE("fans are measured where ranks have cores of their own, and only there") {
    for (const std::uint32_t cores : {4u, 2u}) {
        bough::in_process world{4, {.cores = cores}}; // what it is told
        world.run([&](auto transport) {
            bough::communicator comm{std::move(transport)};
            const auto found =
                bough::measure_transfers(comm, {.bytes = {8, 2048}, .repetitions = 2, .budget_ns = 20'000'000});
            if (comm.rank() != 0) return;
            int in = 0, out = 0;
            for (const auto& s : found.samples) {
                in += s.kind == transfer_kind::fan_in && s.peers == 3;
                out += s.kind == transfer_kind::fan_out && s.peers == 3;
            }
            CHECK(in == (cores == 4 ? 2 : 0));
            CHECK(out == in);
            CHECK_FALSE(found.fit.error);
            CHECK(found.fit.model.held_alpha + found.fit.model.send_alpha + found.fit.model.receive_alpha <= 1 + 1e-9);
        });
    }
}

TEST_CASE("every rank gets the same model, whose costs are not negative") {
    for (const bough::rank_t ranks : {2u, 3u}) {
        bough::in_process world{ranks};
        std::vector<bough::transfer_measurement> found(ranks);
        world.run([&](auto transport) {
            bough::communicator comm{std::move(transport)};
            const bough::rank_t r = comm.rank();
            found[r] =
                bough::measure_transfers(comm, {.bytes = {8, 2048, 65536}, .repetitions = 3, .budget_ns = 50'000'000});
        });
        const auto& fit = found[0].fit;
        CAPTURE(ranks, fit.model.alpha_ns, fit.model.beta_ns_per_byte, fit.model.gamma_ns_per_byte);
        CHECK_FALSE(fit.error);
        CHECK(fit.model.alpha_ns >= 0);
        CHECK(fit.model.beta_ns_per_byte >= 0);
        CHECK(fit.model.alpha_ns + fit.model.beta_ns_per_byte > 0);
        CHECK(fit.model.gamma_ns_per_byte >= 0);
        CHECK(fit.model.f_alpha <= 1);
        CHECK(fit.model.f_beta <= 1);
        CHECK(fit.model.held_alpha >= 0);
        CHECK(fit.model.held_alpha <= 1);
        CHECK(fit.model.held_beta <= 1);
        CHECK(found[0].samples.size() >= 6);
        for (const auto& other : found) {
            CHECK(other.samples == found[0].samples);
            CHECK(other.fit.model == fit.model);
        }
    }
}

TEST_CASE("without time, the two shortest sizes are timed all the same") {
    bough::in_process world{2};
    world.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        const auto found = bough::measure_transfers(comm, {.bytes = {8, 1024, 1 << 20}, .budget_ns = 0});
        if (comm.rank() != 0) return;
        std::uint64_t longest = 0;
        for (const auto& s : found.samples) longest = std::max(longest, s.bytes);
        CHECK(longest == 1024);
        CHECK_FALSE(found.fit.error);
    });
}

TEST_CASE("messages longer than any memory are refused, a burst of them counted in all") {
    bough::in_process{2}.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        for (const std::uint64_t bytes : {~std::uint64_t{0}, ~std::uint64_t{0} / 9 + 9}) {
            const auto found = bough::measure_transfers(comm, {.bytes = {8, bytes}});
            CHECK(std::string(found.fit.error.argument) == "bytes: no memory is so long");
        }
    });
}

TEST_CASE("one rank alone is told that messages need two") {
    bough::communicator comm{bough::self{}};
    const auto found = bough::measure_transfers(comm);
    CHECK(std::string(found.fit.error.argument) == "ranks: messages need two");
}
