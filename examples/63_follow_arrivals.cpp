// SPDX-License-Identifier: BSL-1.0
// A communicator that follows when its ranks come: while one keeps the others waiting, allreduce takes a
// plan in which they work meanwhile; when it comes in time again, the usual plan is back.
#include <bough/allreduce.hpp>
#include <bough/decision.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/select/standard/allreduce.hpp>
#include <bough/transport/in_process.hpp>

#include <chrono>
#include <iostream>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

// 5 us a message, 1 byte per ns.
constexpr bough::model::alpha_beta_gamma network{.alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.1};

int main() {
    bough::in_process world{4};
    world.run([](auto transport) {
        bough::communicator comm{std::move(transport), {.costs = network, .follow_arrivals = 4}};
        std::vector<float> gradient(1 << 18);

        // Which rank does the next call hide? All ranks know the same.
        const auto hidden = [&] {
            const bough::problem next{.bytes = gradient.size() * sizeof(float), .element_bytes = sizeof(float)};
            const bough::decision d = bough::decision_of<bough::goal::allreduce>(comm, next);
            const auto* plan = d.winner().what.algorithm.get<bough::late_rank_allreduce>();
            return plan == nullptr ? bough::no_rank : plan->late;
        };
        // Rank 2 comes so much later than the others, until the plan fits that.
        const auto train = [&](std::chrono::milliseconds late, bough::rank_t until) {
            while (hidden() != until) {
                if (comm.rank() == 2) std::this_thread::sleep_for(late);
                gradient.assign(gradient.size(), 1.0f);
                bough::allreduce(comm, gradient, bough::plus{});
            }
        };
        const auto say = [&](const char* when) {
            if (comm.rank() != 0) return;
            std::cout << when << ": ";
            if (hidden() == bough::no_rank)
                std::cout << "a plan in which all ranks do alike\n";
            else
                std::cout << "late_rank{.late = " << hidden() << "}\n";
        };

        say("at first");
        train(15ms, 2);
        say("rank 2 has been late");
        train(0ms, bough::no_rank);
        say("it comes in time again");
    });
}
