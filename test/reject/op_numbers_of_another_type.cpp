// SPDX-License-Identifier: BSL-1.0
// expect: of an op must be const and noexcept, and return std::uint64_t
#include <bough/allreduce.hpp>
#include <bough/communicator.hpp>
#include <bough/transport/in_process.hpp>

struct scaled_plus {
    double scale = 1;
    double operator()(double a, double b) const { return scale * (a + b); }
    int hash_of_values() const noexcept { return static_cast<int>(scale); }
};

int main() {
    bough::in_process{2}.run([](auto transport) {
        bough::communicator comm{std::move(transport)};
        bough::allreduce(comm, 1.0, scaled_plus{});
    });
}
