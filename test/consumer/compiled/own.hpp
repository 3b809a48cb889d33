// SPDX-License-Identifier: BSL-1.0
// A transport that bough::compiled does not hold, for all units of a program that use it.
#ifndef CONSUMER_COMPILED_OWN_HPP
#define CONSUMER_COMPILED_OWN_HPP

#include <bough/compiled/communicator.hpp>
#include <bough/transport/self.hpp>

namespace bough::inline BOUGH_ABI {
BOUGH_COMPILED_COMMUNICATOR(self)
}

#endif
