// SPDX-License-Identifier: BSL-1.0
// choose_target: chooses where a reduction should run, of what degree its tree should be, and how
// often its vector should be split first. It can run on the hosts, on the NICs, or with some levels
// of the tree on each.
//
//   auto fit = nic::fit_serial(                                    a target's L, r, c and C
//       [&](const model::reduction_sample& run) { return measured_ns(run); });
//   auto best = nic::choose_target(64, 8, {.host = host.model, .nic = fit.model}, {.elements = 8});
//   std::cout << to_string(best);
//
// A price is the time of the programs: nic::assemble makes them, and nic::run_simulated runs them
// under the model of their target. It is never above Moody's formula, and equal to it for full
// trees. A *hybrid* has two tiers: groups of consecutive ranks reduce to the first rank of each
// group on one target, and these first ranks then enter the upper tree on the other. Groups are
// subtrees of a full f-nomial tree, so the tiers are the tree's lower and upper levels. Each tier
// pays its target's C (startup_ns): what it costs to enter the target and to be told. Trees on one
// target are also tried with the vector split (bough/algorithm/reduce/vector_split.hpp), as often
// as its elements and the number of ranks allow.
//
// priced_ns gives the price of any plan as programs.
// *Source* Moody et al. 2003, sections 5.1 (fit), 5.2 (degree), 5.3 (splits); a choice of levels is
// their future work (section 8).
#ifndef BOUGH_NIC_CHOOSE_TARGET_HPP
#define BOUGH_NIC_CHOOSE_TARGET_HPP

#include <bough/algorithm/reduce/tree.hpp>
#include <bough/algorithm/reduce/vector_split.hpp>
#include <bough/concepts/cost_model.hpp>
#include <bough/concepts/plan.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/stable_sort.hpp>
#include <bough/model/fit.hpp>
#include <bough/model/lrc.hpp>
#include <bough/nic/assemble.hpp>
#include <bough/nic/run/simulated.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/select/print_decision.hpp>
#include <bough/tree/fnomial.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::nic {

namespace detail {

// A model in which an element of one byte costs what `bytes` bytes do.
template <CostModel M>
struct weighed {
    const M& model;
    std::uint64_t bytes = 1; // per element
    double start_ns() const { return model.start_ns(); }
    double send_ns(rank_t a, rank_t b, std::uint64_t n) const { return model.send_ns(a, b, n * bytes); }
    double latency_ns(rank_t a, rank_t b, std::uint64_t n) const { return model.latency_ns(a, b, n * bytes); }
    double receive_ns(rank_t a, rank_t b, std::uint64_t n) const { return model.receive_ns(a, b, n * bytes); }
    double combine_ns(rank_t r, std::uint64_t n) const { return model.combine_ns(r, n * bytes); }
    double copy_ns(rank_t r, std::uint64_t n) const { return model.copy_ns(r, n * bytes); }
    double arrival_ns(rank_t r) const requires requires { model.arrival_ns(r); }
    { return model.arrival_ns(r); }
};

using weight = std::uint8_t;
struct any_value {
    constexpr weight operator()(weight a, weight) const noexcept { return a; }
};
struct silent_hosts {
    void input(rank_t, std::uint32_t, std::span<weight>) const noexcept {}
    void complete(rank_t, std::uint32_t, std::span<const weight>) const noexcept {}
};
inline constexpr needs any_weight{.element = element::opaque, .commutative = true, .exact = true, .integer_only = true};

template <Plan P>
std::vector<program> programs_of(const P& plan, std::uint32_t elements) {
    auto made = assemble_all(plan, any_weight, capabilities_of<simulated>, {.elements = elements, .credits = false});
    BOUGH_EXPECTS(static_cast<bool>(made), "plan: no program can be made of it");
    return std::move(made.programs);
}

} // namespace detail

// The time that programs take under a model: until all hosts have been told if `all`, or else until
// `root` has been told. Elements have `element_bytes` bytes each. No values are computed.
// Pre: the programs are one set.
template <CostModel M>
double priced_ns(std::span<const program> programs, rank_t root, bool all, const M& model, std::uint64_t element_bytes,
                 const run_options& options = {}) {
    const run_result run = run_simulated<detail::weight>(
        programs, detail::any_value{}, detail::weighed<M>{model, element_bytes}, detail::silent_hosts{}, options);
    BOUGH_EXPECTS(run.finished, "programs: they do not end");
    return all ? run.makespan_ns : run.finish_ns[root];
}
// The time that one run of a plan takes as programs: for a reduce, until the root has been told.
// There are no credits, which serve the next run only. Pre: the plan has at most 65534 ranks, and
// its programs at most 65534 steps per rank (otherwise nic::assemble_all refuses it for the host).
template <Plan P, CostModel M>
double priced_ns(const P& plan, const M& model, std::uint32_t elements, std::uint64_t element_bytes,
                 const run_options& options = {}) {
    const auto made = detail::programs_of(plan, elements);
    constexpr bool all = !std::is_same_v<std::remove_cvref_t<decltype(plan.goal())>, goal::reduce>;
    return priced_ns(std::span<const program>(made), plan.root(), all, model, element_bytes, options);
}

// Which serial reductions are timed.
struct serial_options {
    rank_t most_ranks = 13;                     // reductions of 1, 2, ... most_ranks ranks are timed
    std::vector<std::uint64_t> bytes = {8, 16}; // sizes of messages
};
// Fits the model of a target to serial reductions, in which all other ranks send to rank 0.
// time(sample) returns what the run with sample.ranks, sample.bytes and sample.with_op took, in ns.
// `samples`, if not null, receives all samples.
template <class Time>
model::lrc_fit fit_serial(Time&& time, const serial_options& options = {},
                          std::vector<model::reduction_sample>* samples = nullptr) {
    std::vector<model::reduction_sample> all;
    for (const std::uint64_t bytes : options.bytes)
        for (const bool with_op : {false, true})
            for (rank_t p = 1; p <= options.most_ranks; ++p) {
                all.push_back({p, bytes, with_op, 0});
                all.back().ns = time(std::as_const(all.back()));
            }
    model::lrc_fit fit = model::fit_lrc(all);
    if (samples != nullptr) *samples = std::move(all);
    return fit;
}

// What a message and a combine cost on each target. C is what it costs a host to enter the target
// and to be told.
struct target_costs {
    model::lrc host{};
    model::lrc nic{};
};

// What is tried.
struct target_options {
    std::uint64_t elements = 1; // into which the bytes can be split
    rank_t most_degree = 8;
    rank_t most_splits = 4;
    double before_ns = 0; // what every rank spends before it enters, such as on a reduction within its node
};

// A way to run a reduction. If `group` is 1, there is one tree, or 2^splits trees, on the upper
// target only.
struct placement {
    bool lower_on_nic = false, upper_on_nic = false;
    rank_t group = 1; // how many ranks the lower tier reduces to one
    rank_t lower_degree = 0, upper_degree = 2;
    rank_t splits = 0; // of the vector, before the trees
    double predicted_ns = 0;
    constexpr bool is_hybrid() const noexcept { return group != 1; }
    friend constexpr bool operator==(const placement&, const placement&) = default;
};

// What was tried, with its predicted times.
struct target_choice {
    rank_t size = 1;
    std::uint64_t bytes = 0;
    std::vector<placement> tried{}; // the fastest first, and among equals the simplest first
    const placement& winner() const noexcept { return tried.front(); }
    // The fastest that runs on this target only.
    const placement& best_on(bool nic) const noexcept {
        return *std::find_if(tried.begin(), tried.end(),
                             [nic](const placement& p) { return !p.is_hybrid() && p.upper_on_nic == nic; });
    }
    // The fastest that runs on this target only, with so many splits. Null if none was tried.
    const placement* best_with(bool nic, rank_t splits) const noexcept {
        for (const placement& p : tried)
            if (!p.is_hybrid() && p.upper_on_nic == nic && p.splits == splits) return &p;
        return nullptr;
    }
};

namespace detail {

// The prices of f-nomial reductions. Each is simulated once.
template <int>
class basic_tier_prices {
public:
    basic_tier_prices(const target_costs& costs, std::uint64_t bytes) : costs_(costs), bytes_(bytes) {}
    // The price if all ranks enter at the same time: from then until the root has the result.
    double alike_ns(bool on_nic, rank_t size, rank_t degree) {
        const auto [at, is_new] = known_.try_emplace({on_nic, size, degree}, 0.0);
        if (is_new) at->second = ns(on_nic, size, degree, {});
        return at->second;
    }
    double ns(bool on_nic, rank_t size, rank_t degree, std::span<const double> enter_ns) {
        auto& programs = programs_[{size, degree}];
        if (programs.empty()) programs = programs_of(plan_reduce(fnomial{.degree = degree}, {.size = size}), 1);
        return priced_ns(std::span<const program>(programs), 0, false, on_nic ? costs_.nic : costs_.host, bytes_,
                         run_options{.enter_ns = enter_ns});
    }

private:
    struct key {
        bool on_nic;
        rank_t size, degree;
        friend auto operator<=>(const key&, const key&) = default;
    };
    target_costs costs_;
    std::uint64_t bytes_;
    std::map<key, double> known_;
    std::map<std::pair<rank_t, rank_t>, std::vector<program>> programs_;
};
using tier_prices = basic_tier_prices<0>;

} // namespace detail

namespace detail {

// Tries 1 to most_splits splits, with every degree, on both targets. The programs are the same on
// both.
template <int = 0>
void try_splits(target_choice& made, const target_costs& costs, const target_options& options) {
    const std::uint64_t element_bytes = made.bytes / options.elements;
    for (rank_t splits = 1; splits <= options.most_splits; ++splits) {
        const std::uint64_t groups = std::uint64_t{1} << splits;
        if (groups > options.elements || groups > made.size || made.size % groups != 0) break;
        const auto most = std::min<std::uint64_t>(options.most_degree, std::max<std::uint64_t>(made.size / groups, 2));
        for (rank_t f = 2; f <= most; ++f) {
            const auto programs =
                programs_of(plan_reduce(vector_split{.splits = splits, .degree = f}, {.size = made.size}),
                            static_cast<std::uint32_t>(options.elements));
            for (const bool on_nic : {false, true})
                made.tried.push_back({on_nic, on_nic, 1, 0, f, splits,
                                      priced_ns(std::span<const program>(programs), 0, false,
                                                on_nic ? costs.nic : costs.host, element_bytes)});
        }
    }
}

} // namespace detail

// Pre: size is 1 to 65534; most_degree >= 2; there are 1 to 65535 elements, and bytes is a multiple
// of their number. *Time* that of simulating some hundred sets of programs of up to `size` ranks.
template <int = 0>
target_choice choose_target(rank_t size, std::uint64_t bytes, const target_costs& costs,
                            const target_options& options = {}) {
    const rank_t most_degree = options.most_degree;
    BOUGH_EXPECTS(size >= 1 && size < no_index, "size: programs are for 1 to 65534 ranks");
    BOUGH_EXPECTS(most_degree >= 2, "most_degree: 2 is the least");
    BOUGH_EXPECTS(options.elements >= 1 && options.elements <= 0xffff && bytes % options.elements == 0,
                  "elements: 1 to 65535, of so many bytes each that they are all of them");
    detail::tier_prices prices(costs, bytes);
    target_choice made{size, bytes, {}};
    for (const bool on_nic : {false, true})
        for (rank_t f = 2; f <= most_degree; ++f)
            made.tried.push_back({on_nic, on_nic, 1, 0, f, 0, prices.alike_ns(on_nic, size, f)});
    detail::try_splits(made, costs, options);
    for (rank_t f = 2; f <= most_degree; ++f)
        for (std::uint64_t group = f; group < size; group *= f) {
            const rank_t leaders = static_cast<rank_t>((size + group - 1) / group);
            const rank_t last = static_cast<rank_t>(size - (leaders - 1) * group);
            for (const bool lower : {false, true}) {
                std::vector<double> enter_ns(leaders, prices.alike_ns(lower, static_cast<rank_t>(group), f));
                if (last == 1) // this rank has nobody to wait for
                    enter_ns.back() = 0;
                else
                    enter_ns.back() = prices.alike_ns(lower, last, f);
                for (rank_t upper = 2; upper <= most_degree && upper <= std::max<rank_t>(leaders, 2); ++upper)
                    made.tried.push_back({lower, !lower, static_cast<rank_t>(group), f, upper, 0,
                                          prices.ns(!lower, leaders, upper, enter_ns)});
            }
        }
    for (placement& p : made.tried) p.predicted_ns += options.before_ns;
    bough::detail::stable_sort(made.tried.begin(), made.tried.end(),
                               [](const placement& a, const placement& b) { return a.predicted_ns < b.predicted_ns; });
    return made;
}

// A placement in words, such as "groups of 8 on hosts, degree 8; then NICs, degree 4".
template <int = 0>
std::string to_string(const placement& p) {
    const auto on = [](bool nic) { return std::string(nic ? "NICs" : "hosts"); };
    const auto degree = [](rank_t f) { return ", degree " + std::to_string(f); };
    if (!p.is_hybrid())
        return "all on " + on(p.upper_on_nic) + degree(p.upper_degree) +
               (p.splits == 0 ? "" : ", " + std::to_string(p.splits) + (p.splits == 1 ? " split" : " splits"));
    return "groups of " + std::to_string(p.group) + " on " + on(p.lower_on_nic) + degree(p.lower_degree) + "; then " +
           on(p.upper_on_nic) + degree(p.upper_degree);
}

// The winner, then the fastest of each other kind and how much longer it is expected to take:
//   reduce over 64 ranks, 8 bytes: groups of 4 on hosts, degree 4; then NICs, degree 4: 21.5 us
//     all on NICs, degree 4                          32.8 us   1.52 times as long
//     all on hosts, degree 2                         40.1 us   1.87 times as long
template <int = 0>
std::string to_string(const target_choice& c) {
    std::string text = "reduce over " + std::to_string(c.size) + (c.size == 1 ? " rank, " : " ranks, ") +
                       std::to_string(c.bytes) + " bytes: " + to_string(c.winner()) + ": " +
                       time_text(c.winner().predicted_ns) + "\n";
    const auto kind = [](const placement& p) {
        return p.is_hybrid() ? 2 + (p.lower_on_nic ? 1 : 0) : (p.upper_on_nic ? 1 : 0);
    };
    std::vector<const placement*> others;
    for (const placement& p : c.tried)
        if (kind(p) != kind(c.winner()) &&
            std::none_of(others.begin(), others.end(), [&](const placement* o) { return kind(*o) == kind(p); }))
            others.push_back(&p);
    std::size_t width = 0;
    for (const placement* p : others) width = std::max(width, to_string(*p).size());
    for (const placement* p : others) {
        std::string what = to_string(*p);
        what.append(width - what.size() + 3, ' ');
        text += "  " + what + time_text(p->predicted_ns);
        if (has_factor(p->predicted_ns, c.winner().predicted_ns))
            text += "   " + factor_text(p->predicted_ns / c.winner().predicted_ns) + " times as long";
        text += "\n";
    }
    return text;
}

} // namespace bough::nic

#endif
