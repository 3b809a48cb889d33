// SPDX-License-Identifier: BSL-1.0
// any_cost_model: holds a CostModel of any type as one value, and prices plans by it. A
// communicator holds one.
//
//   any_cost_model costs = model::lrc{...};      costs = my_model{...};
//   costs.price_ns(plan_ref(plan), what)         the walk of the plan under the model
//   costs.walk(plan_ref(plan), what, terms)      the same, of some ranks that stand for all, or no further than needed
//   costs.bound_ns(plan_ref(plan), what)         a lower bound of that, found quickly
//   costs.alike_ns(plan_ref(plan), what)         an estimate of it, if all ranks do much alike
//   costs.loop_ns(plan_ref(plan), what, steps)   how long its busiest rank is at work
//   costs.costs_of(from, to, bytes, what, size)  what the model says of one message
//   costs.last_arrival_ns(what, size)            when the last rank comes
//   costs.check(size)                            an error that names the costs, if some are not costs
//   any_cost_model{}                             no model
//
// The bound: no plan ends before its busiest rank has done its part. An empty value prices nothing;
// in options it stands for the costs of the transport. The model is kept inside the value, so it
// must be trivially copyable and small. Large tables stay outside, behind a pointer.
// In place of a plan_ref, a taped_plan may be given (bough/select/taped_plan.hpp): then its steps are
// emitted once for several of these functions.
#ifndef BOUGH_SELECT_ANY_COST_MODEL_HPP
#define BOUGH_SELECT_ANY_COST_MODEL_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/model/arriving.hpp>
#include <bough/model/block_sizes.hpp>
#include <bough/model/folded_ranks.hpp>
#include <bough/model/walk.hpp>
#include <bough/model/walker.hpp>
#include <bough/select/any_cost_model/busy_rank.hpp>
#include <bough/select/any_cost_model/pricing.hpp>
#include <bough/select/any_cost_model/work_of_rank.hpp>
#include <bough/select/plan_ref.hpp>
#include <bough/select/problem.hpp>
#include <bough/select/taped_plan.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

namespace bough::inline BOUGH_ABI {

// Are all pairs of ranks alike in a model? Then it says: static constexpr bool homogeneous = true.
template <class M>
inline constexpr bool is_homogeneous_v = requires {
    requires M::homogeneous;
};

// Do ranks, and pairs of them, differ by nothing else than which of them lie in one group? Then the model
// says by rank in which group each lies: groups_of_ranks(). (And they come at one time.)
template <class M>
inline constexpr bool knows_groups_v = requires(const M& model) {
    { model.groups_of_ranks() } -> std::same_as<const rank_t*>;
}
&&!requires(const M& model) { model.arrival_ns(rank_t{}); };

namespace detail {

// A cost as a choice takes it: infinite, if the model breaks the law that costs are finite and not
// negative.
constexpr double lawful(double ns) noexcept { return ns >= 0 ? ns : std::numeric_limits<double>::infinity(); }
constexpr bool is_finite_cost(double ns) noexcept { return ns >= 0 && ns < std::numeric_limits<double>::infinity(); }

// A model seen from ranks that share cores, of which one may be late. Its costs are lawful, so that no
// comparison loses a NaN.
template <CostModel M>
struct shared_cores {
    const M& model;
    double turn_ns; // the time until a rank that waits has the core again
    double wake_ns; // what each message costs the core of its sender besides: it wakes its receiver
    rank_t late;    // as in the problem
    double late_ns;

    static constexpr bool homogeneous = is_homogeneous_v<M>;
    constexpr double start_ns() const { return lawful(model.start_ns()); }
    constexpr double send_ns(rank_t from, rank_t to, std::uint64_t bytes) const {
        return lawful(model.send_ns(from, to, bytes));
    }
    constexpr double latency_ns(rank_t from, rank_t to, std::uint64_t bytes) const {
        return lawful(model.latency_ns(from, to, bytes)) + turn_ns;
    }
    constexpr double receive_ns(rank_t from, rank_t to, std::uint64_t bytes) const {
        return lawful(model.receive_ns(from, to, bytes));
    }
    constexpr double combine_ns(rank_t rank, std::uint64_t bytes) const {
        return lawful(model.combine_ns(rank, bytes));
    }
    constexpr double copy_ns(rank_t rank, std::uint64_t bytes) const { return lawful(model.copy_ns(rank, bytes)); }
    constexpr double port_ns(rank_t from, rank_t to, std::uint64_t bytes,
                             bool duplex) const requires PortedCostModel<M> {
        return lawful(model.port_ns(from, to, bytes, duplex));
    }
    constexpr bool lands_early() const requires PortedCostModel<M> { return model.lands_early(); }
    constexpr double arrival_ns(rank_t rank) const {
        return lawful(bough::model::arrival_ns(model, rank)) + (rank == late ? late_ns : 0);
    }
    constexpr std::uint64_t eager_bytes(rank_t from, rank_t to) const requires model::has_rendezvous_v<M> {
        return bough::model::eager_bytes(model, from, to);
    }
};

template <CostModel M>
constexpr shared_cores<M> share_cores(const M& model, const problem& what, rank_t size) {
    BOUGH_EXPECTS(what.cores >= 1, "cores: at least one");
    const rank_t ranks_per_core = what.cores >= size ? 1 : (size + what.cores - 1) / what.cores;
    const double switch_ns = ranks_per_core == 1 ? 0 : what.switch_ns;
    const bool outwards = what.goes == course::outwards;
    return {model, outwards ? switch_ns : switch_ns * ranks_per_core, outwards ? switch_ns : 0, what.late,
            static_cast<double>(what.late_ns)};
}

// When the last of `size` ranks comes, by the model and the problem.
template <CostModel M>
constexpr double last_arrival_ns(const M& model, const problem& what, rank_t size) {
    if constexpr (requires { model.arrival_ns(rank_t{0}); }) {
        const auto seen = share_cores(model, what, size);
        double last = 0;
        for (rank_t r = 0; r != size; ++r) last = std::max(last, seen.arrival_ns(r));
        return last;
    } else {
        return what.late < size ? static_cast<double>(what.late_ns) : 0;
    }
}

// The time that the work of all ranks takes on the cores that they share; 0 if each rank has its
// own. `size` is that of the group: the plan may show one rank for all. P: emitted_steps or taped_plan.
template <CostModel M, class P>
constexpr double shared_work_ns(const shared_cores<M>& model, const problem& what, P&& plan, rank_t size,
                                const model::folded_ranks* fold = nullptr) {
    if (what.cores >= size) return 0;
    double ns = 0;
    for (rank_t r = 0; r != plan.size(); ++r) {
        if (fold != nullptr && !fold->stands_for_others(r)) continue;
        ns += work_of_rank(model, r, plan.steps_of(r)).ns();
    }
    return ns / (fold == nullptr ? plan.size() : fold->members()) * size / what.cores;
}

// Ranks that may have more to do than most, and some that stand for the rest. The root comes first; some may come twice.
inline std::array<rank_t, few_tapes::most> few_ranks(const taped_plan& plan, const problem& what) {
    const rank_t root = plan.root(), size = plan.size();
    return {root, size / 2, size - 1, size / 3, root == 0 ? no_rank : rank_t{0}, what.late};
}

// A plan of so many steps is looked at in full to find its busiest rank.
inline constexpr std::uint64_t steps_looked_at = std::uint64_t{1} << 12;

// What a call takes in a loop of calls that overlap: as long as its busiest rank is at work. Where the
// data goes inwards, its end waits for all ranks; if these share cores, for their work on these. Of a
// plan with more steps, ranks at equal distances tell, with a quarter of that many steps, and a few more.
// The distance is odd, so that it meets even and odd ranks.
template <CostModel M>
double loop_ns(const shared_cores<M>& model, const problem& what, const taped_plan& plan, std::uint64_t steps) {
    const std::uint64_t size = plan.size(), apart = steps <= steps_looked_at ? 1 : 4 * (steps / steps_looked_at) + 1;
    double busiest_ns = 0, root_ns = 0, others_ns = 0;
    std::uint64_t others = 0;
    const auto look = [&](rank_t r) {
        const work_of_rank work(model, r, plan.steps_of(r));
        busiest_ns = std::max(busiest_ns, work.busy_ns());
        if (r == plan.root())
            root_ns = work.ns();
        else
            others_ns += work.ns(), ++others;
    };
    for (std::uint64_t r = 0; r < size; r += apart) look(static_cast<rank_t>(r));
    const auto few = few_ranks(plan, what);
    for (auto at = few.begin(); at != few.end(); ++at)
        if (*at < size && *at % apart != 0 && std::find(few.begin(), at, *at) == at) look(*at); // each rank once
    if (what.goes != course::inwards || what.cores >= size || others == 0) return busiest_ns;
    const double mean_ns = others_ns / static_cast<double>(others);
    return std::max(busiest_ns, (root_ns + mean_ns * static_cast<double>(size - 1)) / what.cores);
}

} // namespace detail

// A lower bound of what a plan takes, and an estimate, from a few ranks, of how many steps all
// have.
struct cost_bound {
    double ns = 0;
    std::uint64_t steps = 0;
    bool waits = false; // do some messages wait for their receivers?
};

// How a plan is walked.
struct walk_terms {
    const model::folded_ranks* fold = nullptr;                  // the ranks that stand for all; null: all are visited
    double enough_ns = std::numeric_limits<double>::infinity(); // it may end once a rank takes longer
};
struct walked_price {
    double ns = 0;        // infinite if the plan deadlocks; NaN if a cost is not finite, or negative
    bool is_over = false; // the walk ended before the plan: ns is a lower bound
    std::uint64_t steps = 0;
};

// What a model says of one message, and of a combine and a copy of as many bytes by the receiver.
struct message_costs {
    double start_ns = 0, send_ns = 0, latency_ns = 0, receive_ns = 0, combine_ns = 0, copy_ns = 0;
    bool has_ports = false, lands_early = false; // of a PortedCostModel
    double port_ns = 0, duplex_port_ns = 0;
};

namespace detail {
template <class P>
concept PlanToPrice =
    std::same_as<std::remove_cvref_t<P>, plan_ref> || std::same_as<std::remove_cvref_t<P>, taped_plan>;
} // namespace detail

class any_cost_model {
public:
    static constexpr std::size_t capacity = 192; // bytes

    any_cost_model() noexcept = default;
    // Is there a model? This is a precondition of every function below.
    explicit operator bool() const noexcept { return functions_ != nullptr; }

    template <class M>
    requires(!std::same_as<M, any_cost_model> && CostModel<M>) any_cost_model(const M& model)
        : functions_(&functions_of<M>) {
        static_assert(
            std::is_trivially_copyable_v<M> && sizeof(M) <= capacity && alignof(M) <= alignof(std::max_align_t),
            "bough: a cost model that is kept in any_cost_model must be small and trivially copyable: keep its "
            "tables outside, behind a pointer");
        std::construct_at(reinterpret_cast<M*>(model_.data()), model);
    }

    // What a plan is expected to take. Infinite if it deadlocks; NaN if it has no price, since a cost is
    // infinite, negative or NaN.
    template <detail::PlanToPrice P>
    double price_ns(P&& plan, const problem& what) const {
        const rank_t size = plan.size();
        return price_ns(std::forward<P>(plan), what, size);
    }
    // The price of a plan of fewer ranks, as part of a group of `size`: so many share the cores.
    template <detail::PlanToPrice P>
    double price_ns(P&& plan, const problem& what, rank_t size) const {
        return on_tape(plan, what, [&](auto& taped) { return functions_->walk(model_.data(), taped, what, size, {}); })
            .ns;
    }
    // Pre: terms.fold is null, or folds the plan and the groups of this model (detail::alike_ranks).
    template <detail::PlanToPrice P>
    walked_price walk(P&& plan, const problem& what, const walk_terms& terms) const {
        return on_tape(plan, what,
                       [&](auto& taped) { return functions_->walk(model_.data(), taped, what, taped.size(), terms); });
    }
    // The price of a plan whose ranks all do alike; negative if the model is not the same for all
    // pairs of ranks, or one comes late.
    template <detail::PlanToPrice P>
    double symmetric_price_ns(P&& plan, const problem& what) const {
        if (!functions_->homogeneous || what.late != no_rank) return -1;
        return on_tape(plan, what, [&](auto& taped) { return price_ns(taped.folded(), what, taped.size()); });
    }
    // Are all pairs of ranks alike in the model?
    bool homogeneous() const noexcept { return functions_->homogeneous; }
    // By rank, the group in which it lies, if pairs of ranks differ by nothing else than whether both lie
    // in one; otherwise null. Walks of such a model may be folded.
    const rank_t* groups_of_ranks() const noexcept { return functions_->groups_of_ranks(model_.data()); }
    // When the last of `size` ranks comes, as far as the model or the problem knows. No plan ends before.
    double last_arrival_ns(const problem& what, rank_t size) const {
        return functions_->last_arrival_ns(model_.data(), what, size);
    }
    template <detail::PlanToPrice P>
    cost_bound bound_ns(P&& plan, const problem& what) const {
        return on_tape(plan, what, [&](auto& taped) { return functions_->bound_ns(model_.data(), taped, what); });
    }
    // An estimate of the price of a plan in which all ranks do much alike, by what a few ranks do.
    template <detail::PlanToPrice P>
    double alike_ns(P&& plan, const problem& what) const {
        return on_tape(plan, what, [&](auto& taped) { return functions_->alike_ns(model_.data(), taped, what); });
    }
    // What a call takes in a loop, if the problem goes one way. `steps`: those of all ranks, as bound_ns
    // tells them.
    template <detail::PlanToPrice P>
    double loop_ns(P&& plan, const problem& what, std::uint64_t steps) const {
        return on_tape(plan, what, [&](auto& taped) { return functions_->loop_ns(model_.data(), taped, what, steps); });
    }
    // Are the costs between `size` ranks finite and not negative? By what a few ranks have, of a few
    // sizes.
    status check(rank_t size) const {
        for (const rank_t from : {rank_t{0}, size / 2, size - 1})
            for (const rank_t to : {rank_t{0}, rank_t{1} % size, size - 1})
                for (const std::uint64_t bytes : {0u, 8u, 1u << 16, 1u << 28}) {
                    const message_costs of = costs_of(from, to, bytes, {}, size);
                    for (const double ns : {of.start_ns, of.send_ns, of.latency_ns, of.receive_ns, of.combine_ns,
                                            of.copy_ns, of.port_ns, of.duplex_port_ns})
                        if (!detail::is_finite_cost(ns))
                            return invalid_argument("costs: one of them is infinite, negative or not a number");
                }
        return {};
    }
    // `size` ranks share the cores of `what`.
    message_costs costs_of(rank_t from, rank_t to, std::uint64_t bytes, const problem& what, rank_t size) const {
        return functions_->costs_of(model_.data(), from, to, bytes, what, size);
    }

private:
    struct functions {
        walked_price (*walk)(const std::byte*, detail::taped_plan&, const problem&, rank_t, const walk_terms&);
        cost_bound (*bound_ns)(const std::byte*, detail::taped_plan&, const problem&);
        double (*alike_ns)(const std::byte*, detail::taped_plan&, const problem&);
        double (*loop_ns)(const std::byte*, detail::taped_plan&, const problem&, std::uint64_t);
        message_costs (*costs_of)(const std::byte*, rank_t, rank_t, std::uint64_t, const problem&, rank_t);
        const rank_t* (*groups_of_ranks)(const std::byte*) noexcept;
        double (*last_arrival_ns)(const std::byte*, const problem&, rank_t);
        bool homogeneous;
    };
    // Calls f with the steps of the plan.
    template <class P, class F>
    static auto on_tape(P& plan, const problem& what, const F& f) {
        if constexpr (std::same_as<std::remove_const_t<P>, plan_ref>) {
            detail::plan_tapes memory;
            detail::taped_plan taped(plan, what.bytes, what.element_bytes, memory);
            return f(taped);
        } else {
            return f(plan);
        }
    }
    template <class M>
    static const M& model_at(const std::byte* at) noexcept {
        return *reinterpret_cast<const M*>(at);
    }
    // Defined outside, and not inline, so that the compiled form can hold them.
    template <class M>
    static walked_price walk_by(const std::byte* model, detail::taped_plan& plan, const problem& what, rank_t size,
                                const walk_terms& terms);
    template <class M>
    static cost_bound busy_ns(const std::byte* model, detail::taped_plan& plan, const problem& what);
    template <class M>
    static double alike_by(const std::byte* model, detail::taped_plan& plan, const problem& what);
    template <class M>
    static double loop_by(const std::byte* model, detail::taped_plan& plan, const problem& what, std::uint64_t steps);
    template <class M>
    static message_costs message_of(const std::byte* model, rank_t from, rank_t to, std::uint64_t bytes,
                                    const problem& what, rank_t size);
    template <class M>
    static const rank_t* groups_by(const std::byte* model) noexcept {
        if constexpr (knows_groups_v<M>) return model_at<M>(model).groups_of_ranks();
        return nullptr;
    }
    template <class M>
    static double last_of(const std::byte* model, const problem& what, rank_t size) {
        return detail::last_arrival_ns(model_at<M>(model), what, size);
    }
    template <class M>
    static constexpr functions functions_of{&walk_by<M>,    &busy_ns<M>,   &alike_by<M>, &loop_by<M>,
                                            &message_of<M>, &groups_by<M>, &last_of<M>,  is_homogeneous_v<M>};

    alignas(std::max_align_t) std::array<std::byte, capacity> model_{};
    const functions* functions_ = nullptr;
};

template <class M>
walked_price any_cost_model::walk_by(const std::byte* model, detail::taped_plan& plan, const problem& what, rank_t size,
                                     const walk_terms& terms) {
    using conditions = detail::pricing<knows_groups_v<M>>;
    const auto seen = detail::share_cores(model_at<M>(model), what, size);
    using walker_type = model::detail::walker<detail::taped_plan, std::remove_const_t<decltype(seen)>, conditions>;
    walker_type walker(plan, seen, what.bytes, what.element_bytes, 0, {terms.fold, terms.enough_ns});
    const model::walk_result walked = walker.run();
    const std::uint64_t parts = walked.steps - walker.deeds();
    walked_price found{walked.makespan_ns, walker.conditions().is_over(),
                       walker.deeds() + parts / detail::parts_of_a_step};
    if (walked.deadlock())
        found.ns = std::numeric_limits<double>::infinity();
    else if (!found.is_over)
        found.ns += detail::shared_work_ns(seen, what, plan, size, terms.fold);
    if (!(found.ns >= 0) || (!walked.deadlock() && !detail::is_finite_cost(found.ns)))
        found.ns = std::numeric_limits<double>::quiet_NaN();
    return found;
}

template <class M>
message_costs any_cost_model::message_of(const std::byte* model, rank_t from, rank_t to, std::uint64_t bytes,
                                         const problem& what, rank_t size) {
    const auto seen = detail::share_cores(model_at<M>(model), what, size);
    message_costs made{.start_ns = seen.start_ns(),
                       .send_ns = seen.send_ns(from, to, bytes),
                       .latency_ns = seen.latency_ns(from, to, bytes),
                       .receive_ns = seen.receive_ns(from, to, bytes),
                       .combine_ns = seen.combine_ns(to, bytes),
                       .copy_ns = seen.copy_ns(to, bytes)};
    if constexpr (PortedCostModel<M>) {
        made.has_ports = true;
        made.lands_early = seen.lands_early();
        made.port_ns = seen.port_ns(from, to, bytes, false);
        made.duplex_port_ns = seen.port_ns(from, to, bytes, true);
    }
    return made;
}

// From below, by what a few ranks do, the late one among them.
template <class M>
cost_bound any_cost_model::busy_ns(const std::byte* model, detail::taped_plan& plan, const problem& what) {
    const auto seen = detail::share_cores(model_at<M>(model), what, plan.size());
    cost_bound found;
    const rank_t size = plan.size();
    const rank_t root = plan.root();
    // The root may have much more to do than the others, and some of them more than most.
    std::array<std::uint64_t, 3> others{};
    std::size_t known = 0;
    const auto few = detail::few_ranks(plan, what);
    std::array<std::uint64_t, detail::few_tapes::most> steps{};
    for (std::size_t i = 0; i != few.size(); ++i) {
        const rank_t r = few[i];
        if (r >= size) continue;
        if (const auto first = static_cast<std::size_t>(std::find(few.begin(), few.end(), r) - few.begin());
            first != i) {
            steps[i] = steps[first];
        } else {
            const detail::busy_rank busy(seen, r, plan.few_steps_of(r));
            found.ns = std::max(found.ns, busy.end_ns());
            found.waits = found.waits || busy.waits();
            steps[i] = busy.steps();
        }
        if (r == root && found.steps == 0)
            found.steps = steps[i];
        else if (known != others.size())
            others[known++] = steps[i];
    }
    const auto [a, b, c] = others; // the middle one of three, the larger one of two
    found.steps += (known == 3 ? std::max(std::min(a, b), std::min(std::max(a, b), c)) : std::max(a, b)) * (size - 1);
    return found;
}

template <class M>
double any_cost_model::alike_by(const std::byte* model, detail::taped_plan& plan, const problem& what) {
    const auto seen = detail::share_cores(model_at<M>(model), what, plan.size());
    double ns = 0;
    for (const rank_t r : detail::few_ranks(plan, what))
        if (r < plan.size()) ns = std::max(ns, detail::alike_ns(seen, r, plan.few_steps_of(r)));
    return ns;
}

template <class M>
double any_cost_model::loop_by(const std::byte* model, detail::taped_plan& plan, const problem& what,
                               std::uint64_t steps) {
    return detail::loop_ns(detail::share_cores(model_at<M>(model), what, plan.size()), what, plan, steps);
}

} // namespace bough

#endif
