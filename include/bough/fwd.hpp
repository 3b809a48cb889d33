// SPDX-License-Identifier: BSL-1.0
// Names without definitions, for headers of yours that only mention bough. Do not declare these names
// yourself: they lie in an inline namespace, and yours would be other names.
#ifndef BOUGH_FWD_HPP
#define BOUGH_FWD_HPP

#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>

namespace bough::inline BOUGH_ABI {

struct step;
struct status;
struct schedule;
struct verdict;
struct plan_traits;
struct dimensions;
struct envelope;
struct event;
struct any_op;

class in_process;
class self;

struct communicator_options;
class operation;
class persistent_operation;

} // namespace bough

#endif
