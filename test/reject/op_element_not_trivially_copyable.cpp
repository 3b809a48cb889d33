// SPDX-License-Identifier: BSL-1.0
// expect: bough: an element must be trivially copyable; for any other type specialise bough::wire<T>
#include <bough/op/explain_wire.hpp>

#include <string>

static_assert(bough::explain_wire<std::string>());
