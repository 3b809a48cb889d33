// SPDX-License-Identifier: BSL-1.0
// The version of bough: the one place where it is written. CMake reads it from here.
#ifndef BOUGH_CORE_VERSION_HPP
#define BOUGH_CORE_VERSION_HPP

#include <bough/core/config.hpp>

#define BOUGH_VERSION_MAJOR 0
#define BOUGH_VERSION_MINOR 1
#define BOUGH_VERSION_PATCH 0

namespace bough::inline BOUGH_ABI {

struct version {
    unsigned major = BOUGH_VERSION_MAJOR;
    unsigned minor = BOUGH_VERSION_MINOR;
    unsigned patch = BOUGH_VERSION_PATCH;
    friend constexpr bool operator==(const version&, const version&) = default;
};

} // namespace bough

#endif
