// SPDX-License-Identifier: BSL-1.0
// bough run --launch environment: the job of torchrun, or of a script that sets the same variables.
#include "party.hpp"

#include "parse.hpp"
#include <bough/error.hpp>
#include <bough/launch/environment.hpp>

#include <optional>
#include <utility>

bough::job cli::environment_job() {
    bough::status why;
    std::optional<bough::environment_wire_up> made = bough::environment_wire_up::join(why);
    bool names_peer = false;
    if (!made && why.code == bough::errc::invalid_argument)
        throw usage_error("--launch", bough::detail::argument_text(why, names_peer));
    if (!made) throw bough::error(why);
    return bough::job(std::move(*made));
}
