// SPDX-License-Identifier: BSL-1.0
// Two units with different settings in one program: this one brings a handler of contracts, and is compiled with NDEBUG.
// With an argument it breaks a contract in the other unit, else in its own.
#define BOUGH_CONTRACT_HANDLER
#include <bough/allreduce.hpp>
#include <bough/op/identity.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/kary.hpp>

#include <cstdint>
#include <cstdlib>

[[noreturn]] void bough::contract_handler(const char*, const char*, int) noexcept { std::_Exit(7); }

void break_contract_elsewhere(bough::rank_t arity);

std::uint64_t identity_elsewhere();

int main(int arguments, char**) {
    // What a message says of its op must not depend on the settings of its sender.
    if (bough::detail::named_op<bough::plus>::identity() != identity_elsewhere()) return 3;
    if (arguments > 1) break_contract_elsewhere(0);
    bough::kary{static_cast<bough::rank_t>(arguments - 1)}.expects();
    return 0;
}
