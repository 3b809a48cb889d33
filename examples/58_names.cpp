// SPDX-License-Identifier: BSL-1.0
// Calls with names: each rank starts its reductions in an order of its own, as a training step does whose gradients become
// ready in another order on each rank.
#include <bough/allreduce.hpp>
#include <bough/error.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/in_process.hpp>

#include <array>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

int main() {
    std::array<std::string, 3> said;
    bough::in_process world{3};
    world.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        auto grads = bough::duplicate(comm); // all of its calls have names

        std::array<std::vector<float>, 4> layers;
        std::array<bough::operation, 4> flying;
        for (std::size_t i = 0; i != 4; ++i) {
            const std::size_t layer = (i + comm.rank()) % 4; // 0 1 2 3 on rank 0, 1 2 3 0 on rank 1, ...
            layers[layer].assign(1000 * (layer + 1), static_cast<float>(layer));
            const std::string name = "gradient/" + std::to_string(layer);
            flying[layer] = bough::start_allreduce(grads, layers[layer], bough::plus{}, bough::named{name});
        }
        for (bough::operation& each : flying) each.wait();
        std::string& say = said[comm.rank()];
        for (const auto& layer : layers) say += std::to_string(static_cast<int>(layer.back())) + " ";

        // A name on one rank alone ends by its deadline, and says who has not started it.
        if (comm.rank() == 1) grads.set_timeout_ns(100'000'000);
        const char* name = comm.rank() == 1 ? "bias" : "weight";
        float x = 1;
        bough::operation lost = bough::start_allreduce(grads, x, bough::plus{}, bough::named{name});
        try {
            lost.wait();
        } catch (const bough::error& e) {
            say += comm.rank() == 1 ? e.what() : "told of rank " + std::to_string(e.details().peer);
        }
    });
    for (const std::string& s : said) std::cout << s << '\n';
}
