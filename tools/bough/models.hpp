// SPDX-License-Identifier: BSL-1.0
// What choices are made by: models and tables of times, from the command line and from files.
#ifndef BOUGH_TOOLS_MODELS_HPP
#define BOUGH_TOOLS_MODELS_HPP

#include "json.hpp"
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/lrc.hpp>
#include <bough/select/any_costs.hpp>
#include <bough/select/candidates.hpp>
#include <bough/select/table.hpp>

#include <string>
#include <variant>

namespace cli {

struct named_model {
    bough::any_costs costs;
    std::string text; // "alpha 5 us, beta 1 ns/byte, gamma 0.25 ns/byte"
    std::variant<bough::model::alpha_beta_gamma, bough::model::lrc> parameters; // the same in its own type
};

// `5000,1,0.25`: alpha in ns, beta and gamma in ns per byte. Or a file: what `bough measure --json` prints, or a document with
// alpha_ns, beta_ns_per_byte and gamma_ns_per_byte. Empty: 5000,1,0.25. Throws usage_error.
named_model parse_model(const std::string& text);

// `order,bits,any_size`. Throws usage_error.
bough::requirements parse_requirements(const std::string& text);

json json_of(const bough::decision_table&);
// What `bough tune` printed. Throws usage_error, which names the file.
bough::decision_table read_table(const std::string& path);

} // namespace cli

#endif
