// SPDX-License-Identifier: BSL-1.0
// The options of bough::on_executor (bough/asio/on_executor.hpp).
#ifndef BOUGH_ASIO_OPTIONS_HPP
#define BOUGH_ASIO_OPTIONS_HPP

#include <bough/core/config.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

struct executor_options {
    // Polls that find nothing before it sleeps; other handlers run between them.
    std::uint32_t polls = 32;
    std::uint32_t longest_nap_us = 200; // without a descriptor: about how long a message may wait
    std::uint32_t tick_ms = 20;         // with a descriptor: how often deadlines are looked at
    bool use_descriptor = true;         // if the transport has one
};

} // namespace bough

#endif
