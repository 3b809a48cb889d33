// SPDX-License-Identifier: BSL-1.0
// The second of two units with different settings: see settings_one.cpp.
#include <bough/allreduce.hpp>
#include <bough/op/identity.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/kary.hpp>

#include <cstdint>

void break_contract_elsewhere(bough::rank_t arity);
void break_contract_elsewhere(bough::rank_t arity) { bough::kary{arity}.expects(); }

std::uint64_t identity_elsewhere();
std::uint64_t identity_elsewhere() { return bough::detail::named_op<bough::plus>::identity(); }
