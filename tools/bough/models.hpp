// SPDX-License-Identifier: BSL-1.0
// What choices are made by: models and tables of times, from the command line and from files.
#ifndef BOUGH_TOOLS_MODELS_HPP
#define BOUGH_TOOLS_MODELS_HPP

#include "cluster.hpp"
#include "json.hpp"
#include <bough/concepts/cost_model.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/heterogeneous.hpp>
#include <bough/model/lrc.hpp>
#include <bough/select/any_cost_model.hpp>
#include <bough/select/candidates.hpp>
#include <bough/select/table.hpp>

#include <cstdint>
#include <string>
#include <variant>

namespace cli {

// The costs of a cluster file, which are kept as long as the program runs. Throws usage_error if asked for a rank that the
// file has no costs of.
class cluster_model {
public:
    explicit cluster_model(const cluster& costs) : cluster_(&costs) {}
    double start_ns() const { return 0; }
    double send_ns(bough::rank_t from, bough::rank_t to, std::uint64_t bytes) const {
        return of(from, to).send_ns(from, to, bytes);
    }
    double latency_ns(bough::rank_t from, bough::rank_t to, std::uint64_t bytes) const {
        return of(from, to).latency_ns(from, to, bytes);
    }
    double receive_ns(bough::rank_t from, bough::rank_t to, std::uint64_t bytes) const {
        return of(from, to).receive_ns(from, to, bytes);
    }
    double combine_ns(bough::rank_t rank, std::uint64_t bytes) const { return of(rank, rank).combine_ns(rank, bytes); }
    double copy_ns(bough::rank_t, std::uint64_t) const { return 0; }

private:
    const bough::model::heterogeneous& of(bough::rank_t, bough::rank_t) const;
    const cluster* cluster_;
};
static_assert(bough::CostModel<cluster_model>);

struct named_model {
    bough::any_cost_model costs;
    std::string text; // "alpha 5 us, beta 1 ns/byte, gamma 0.25 ns/byte"
    // The same in its own type.
    std::variant<bough::model::alpha_beta_gamma, bough::model::lrc, cluster_model> parameters;
};

// `5000,1,0.25`: alpha in ns, beta and gamma in ns per byte. Or a file: what `bough measure --json` prints, a document with
// alpha_ns, beta_ns_per_byte and gamma_ns_per_byte, or a cluster file. Empty: 5000,1,0.25. Throws usage_error.
named_model parse_model(const std::string& text);

// --eager: up to how many bytes messages are eager; all, if it was not given. Throws usage_error.
std::uint64_t parse_eager(const std::string& text);
// "; eager up to 4096 bytes", for a line that names a model; empty if --eager was not given.
std::string eager_text(std::uint64_t eager_bytes);
// A model with that limit.
bough::any_cost_model with_eager(const named_model&, std::uint64_t eager_bytes);

// `order,bits,any_size`. Throws usage_error.
bough::requirements parse_requirements(const std::string& text);

json json_of(const bough::decision_table&);
// What `bough tune` printed. Throws usage_error, which names the file.
bough::decision_table read_table(const std::string& path);

} // namespace cli

#endif
