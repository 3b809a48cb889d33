// SPDX-License-Identifier: BSL-1.0
// Parsing the costs by which a run is drawn.
#include "timed_model.hpp"

#include "parse.hpp"
#include <bough/tree/export_text.hpp>

#include <cmath>
#include <cstdlib>
#include <vector>

namespace cli {

namespace {

// (libc++ 16 has no from_chars of floating point.)
std::vector<double> costs_of(const std::string& text) {
    std::vector<double> numbers;
    for (const char* at = text.c_str();;) {
        char* stop = nullptr;
        const bool digits = *at == '.' || (*at >= '0' && *at <= '9');
        const double value = digits ? std::strtod(at, &stop) : -1;
        if (!std::isfinite(value) || value < 0 || (*stop != '\0' && *stop != ','))
            throw usage_error("--model", "needs costs in ns with commas between: L,o,g,G,O or alpha,beta,gamma; not '" +
                                             text + "'");
        numbers.push_back(value);
        if (*stop == '\0') return numbers;
        at = stop + 1;
    }
}

} // namespace

timed_model parse_timed_model(const std::string& text) {
    const std::vector<double> n = costs_of(text);
    const auto name = [](double v) { return bough::detail::short_number(v); };
    if (n.size() == 3)
        return {bough::model::alpha_beta_gamma{.alpha_ns = n[0], .beta_ns_per_byte = n[1], .gamma_ns_per_byte = n[2]},
                "alpha " + name(n[0]) + " ns, beta " + name(n[1]) + " and gamma " + name(n[2]) + " ns/byte"};
    if (n.size() != 5)
        throw usage_error("--model", "needs five costs L,o,g,G,O or three alpha,beta,gamma; not '" + text + "'");
    const bough::model::loggops model{.message_latency_ns = n[0],
                                      .overhead = {n[1], n[4]},
                                      .gap = {n[2], n[3]},
                                      .combine = {0, 0.25},
                                      .copy = {0, 0.1}};
    if (const bough::status bad = model.check()) throw usage_error("--model", bad.argument);
    return {model, "LogGOPS: L " + name(n[0]) + ", o " + name(n[1]) + ", g " + name(n[2]) + " ns, G " + name(n[3]) +
                       ", O " + name(n[4]) + " ns/byte; combine 0.25, copy 0.1 ns/byte"};
}

} // namespace cli
