// SPDX-License-Identifier: BSL-1.0
// The costs by which a run is drawn: LogGOPS or alpha, beta and gamma, as numbers with commas.
#ifndef BOUGH_TOOLS_TIMED_MODEL_HPP
#define BOUGH_TOOLS_TIMED_MODEL_HPP

#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/logp.hpp>

#include <string>
#include <variant>

namespace cli {

struct timed_model {
    std::variant<bough::model::loggops, bough::model::alpha_beta_gamma> costs;
    std::string text; // "LogGOPS: L 2500, o 1500, g 1000 ns, G 0.1, O 0 ns/byte; combine 0.25, copy 0.1 ns/byte"
};

// `L,o,g,G,O` or `alpha,beta,gamma`, in ns and ns per byte. Throws usage_error.
timed_model parse_timed_model(const std::string& text);

} // namespace cli

#endif
