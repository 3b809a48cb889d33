// SPDX-License-Identifier: BSL-1.0
// taped_step: what the time of a step depends on: its verb, its peer and its bytes. Steps of ranks are kept in
// this form, so that they need not be emitted again.
#ifndef BOUGH_MODEL_TAPED_STEP_HPP
#define BOUGH_MODEL_TAPED_STEP_HPP

#include <bough/core/rank.hpp>
#include <bough/core/step.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI::model {

// A message in parts is one step.
struct taped_step {
    static constexpr std::uint32_t most_parts = 0xff'ffff;
    std::uint64_t bytes = 0;
    rank_t peer = no_rank;
    bough::verb verb = bough::verb::copy;
    std::uint32_t parts : 24 = 0; // of a message, before its last
};
static_assert(sizeof(taped_step) == 16);

} // namespace bough::model

#endif
