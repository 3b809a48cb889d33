// SPDX-License-Identifier: BSL-1.0
// The second of two units with different settings: see settings_one.cpp.
#include <bough/allreduce.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/kary.hpp>

void break_contract_elsewhere(bough::rank_t arity);
void break_contract_elsewhere(bough::rank_t arity) { bough::kary{arity}.expects(); }
