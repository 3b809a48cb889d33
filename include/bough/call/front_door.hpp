// SPDX-License-Identifier: BSL-1.0
// What the front doors share: the way from typed arguments to a plan, a call and a signature, with
// every rule checked.
#ifndef BOUGH_CALL_FRONT_DOOR_HPP
#define BOUGH_CALL_FRONT_DOOR_HPP

#include <bough/algorithm/tree_source.hpp>
#include <bough/call/arguments.hpp>
#include <bough/call/first_use.hpp>
#include <bough/call/runs_calls.hpp>
#include <bough/call/typed_call.hpp>
#include <bough/communicator.hpp>
#include <bough/concepts/explain_op.hpp>
#include <bough/core/config.hpp>
#include <bough/core/memory_size.hpp>
#include <bough/op/any_op.hpp>
#include <bough/schedule/any_algorithm.hpp>
#include <bough/schedule/plan.hpp>
#include <bough/select/any_cost_model.hpp>
#include <bough/select/candidates.hpp>
#include <bough/select/transport_costs.hpp>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#if !BOUGH_COMPILED_ELSEWHERE
#include <bough/call/standard_plan.hpp>
#endif

namespace bough::inline BOUGH_ABI {

// Leaves the choice of the algorithm to the communicator's costs, among the algorithms that serve
// the op and have the required properties:
//   allreduce(comm, x, op, automatic{.required = rank_consistent | order_preserving})
//   start_reduce(comm, x, op, root{0}, automatic{.late_ranks = true})
// late_ranks: ranks are expected to come at different times. Over a transport between ranks that share
// memory (SharesMemory), a barrier, or a reduce or allreduce of up to some KiB, is then done by the rank
// that comes last: a rank that has come burns nothing more, and the result is there as soon as the last
// one has come (doc/split_phase.md). Otherwise, and for other collectives, it changes nothing.
struct automatic {
    requirements required{};
    bool late_ranks = false;
    friend constexpr bool operator==(const automatic&, const automatic&) = default;
};

namespace detail {

// Is it automatic{}? Calls in a loop ask for that, so it takes no branch for each member.
constexpr bool is_default(const automatic& choice) noexcept {
    const auto& [required, late_ranks] = choice; // so that a new member cannot be forgotten here
    const auto& [consistent, order, every_size, bracket, any_partition] = required;
    const std::uint64_t flags =
        unsigned{consistent} | unsigned{order} | unsigned{every_size} | unsigned{any_partition} | unsigned{late_ranks};
    return (flags | bracket.family | bracket.parameter) == 0;
}

template <class T>
struct is_plan : std::false_type {};
template <class G, class A>
struct is_plan<plan<G, A>> : std::true_type {};

// Does the choice say needs_exact? Some algorithms do, as they give each rank a bracket of its own.
template <class C>
inline constexpr bool needs_exact_v = requires {
    requires C::needs_exact;
};
template <class G, class A>
inline constexpr bool needs_exact_v<plan<G, A>> = needs_exact_v<A>;

// Does a choice that is known at compile time serve an op on a type? If not, a sentence says why.
template <class Choice, class O, class T>
consteval bool explain_exact() {
    static_assert(
        !needs_exact_v<Choice> || is_exact_v<O, T>,
        "bough: with this algorithm every rank combines in its own order, so the ranks get the same bits only "
        "with an exact op (is_exact_v); take another, or inexact_census if differences in rounding do not matter");
    return true;
}

// An error if the ranks would not get the same bits.
inline status check_exact(bool needed, bool exact) noexcept {
    if (!needed || exact) return {};
    status s = invalid_argument("op: not known to be exact, but with this plan every rank combines in its own order");
    s.code = errc::unsupported;
    return s;
}

// An error if the plan does not serve the op: a plan that is known not to keep rank order needs an
// op that is known to commute.
inline status check_order(bool keeps_order, bool commutative) noexcept {
    if (keeps_order || commutative) return {};
    status s = invalid_argument("op: not known to be commutative, but this plan does not keep rank order");
    s.code = errc::unsupported;
    return s;
}

// Runs a front door. Nothing throws once the call has its number. So an exception (memory runs out
// while a plan is chosen) is an error of a call that has not started.
template <RunsCalls Comm, class F>
status guard_call(Comm& comm, F&& front_door) {
#if BOUGH_HAS_EXCEPTIONS
    try {
        return front_door();
    } catch (...) {
        status s;
        s.code = errc::no_resources;
        return comm.refuse(s);
    }
#else
    (void)comm;
    return front_door();
#endif
}

// Writes the wire form of `count` elements. If an encode throws, that is an error of this call, and
// the other ranks are told.
template <class T>
status encode_all(const T* in, std::size_t count, std::byte* out) {
    constexpr std::size_t size = wire_size_v<T>;
    const auto encode = [&] {
        for (std::size_t i = 0; in != nullptr && i != count; ++i)
            wire<T>::encode(in[i], std::span<std::byte, size>(out + i * size, size));
    };
#if BOUGH_HAS_EXCEPTIONS
    try {
        encode();
    } catch (...) {
        return {.code = errc::op_threw};
    }
#else
    encode();
#endif
    return {};
}

// Runs `plan` on typed memory: directly if T travels as bytes, otherwise through its wire form.
template <RunsPlans Comm, Plan P, class T>
status run_typed(Comm& comm, const P& plan, const typed_call<T>& typed) {
    call c = detail::call_of(typed);
    if constexpr (travels_as_bytes_v<T>) {
        return comm.run(plan, c, typed.signature);
    } else {
        constexpr std::size_t size = wire_size_v<T>;
        // Whole vectors are staged in place, parts one behind the other.
        const std::size_t in_count = typed.in_parts ? typed.in_part.count : typed.count;
        const std::size_t out_count = typed.in_parts ? typed.out_part.count : typed.count;
        const std::size_t out_first = typed.in_parts ? in_count : 0;
        auto&& staged = comm.template room<std::byte>();
        const std::uint64_t needed = capped_product(capped_sum(out_first, out_count), size);
        if (!fits_memory(needed)) return comm.refuse(size_overflow("data: more bytes than can be addressed"));
        staged.resize(static_cast<std::size_t>(needed));
        std::byte* const from = staged.data();
        const std::byte* const result = from + out_first * size;
        const auto encode = [in = typed.in, in_count, from] { return detail::encode_all(in, in_count, from); };
        if (const status bad = comm.before(encode)) return comm.refuse(bad);
        c.input = from;
        c.output = from + out_first * size;
        const auto decode = [out = typed.out, result](std::size_t first, std::size_t last) {
            for (std::size_t i = first; out != nullptr && i != last; ++i)
                out[i] = wire<T>::decode(std::span<const std::byte, size>(result + i * size, size));
        };
        const status ended = comm.run(plan, c, typed.signature);
        if (typed.placed.empty()) return comm.then(ended, [decode, out_count] { decode(0, out_count); });
        // Only what has arrived.
        const auto each = static_cast<std::size_t>(typed.count / plan.blocks());
        return comm.then(ended, [decode, each, placed = typed.placed, lengths = typed.column_offsets] {
            for (const placed_block& b : placed)
                lengths.empty() ? decode(b.place * each, (b.place + 1) * each)
                                : decode(static_cast<std::size_t>(lengths[b.place]),
                                         static_cast<std::size_t>(lengths[b.place + 1]));
        });
    }
}

// What a collective makes of a choice: of a tree source, its algorithm over that tree; of any other
// choice, the choice itself (as_chosen: of every choice).
template <template <class> class TreeAlgorithm>
struct over_trees {
    template <class C>
    constexpr auto operator()(const C& choice) const {
        if constexpr (TreeSource<C>)
            return TreeAlgorithm<C>{choice};
        else
            return choice;
    }
};
struct as_chosen {
    template <class C>
    constexpr const C& operator()(const C& choice) const noexcept {
        return choice;
    }
};

// Runs the plan that the caller chose: a plan, an algorithm, or a tree source, from which `trees`
// makes an algorithm.
template <class Goal, RunsPlans Comm, class T, class Choice, class Trees = as_chosen>
status run_choice(Comm& comm, const typed_call<T>& typed, const Choice& choice, const Trees& trees = {}) {
    const dimensions& at = typed.at;
    if constexpr (runs_on_bytes_v<T>) {
        return detail::run_choice<Goal>(comm, typed.on_bytes(), choice, trees);
    } else if constexpr (is_plan<Choice>::value) {
        static_assert(std::same_as<decltype(choice.goal()), Goal>, "bough: this plan is one of another collective");
        if (choice.size() != at.size) return comm.refuse(invalid_argument("plan: its size is not the group's"));
        if (choice.root() != at.root) return comm.refuse(invalid_argument("plan: its root is not the call's"));
        if (Goal::combines) {
            if (const status bad = check_order(keeps_rank_order(choice.algorithm(), choice.at()), typed.commutative))
                return comm.refuse(bad);
            if (const status bad = check_exact(needs_exact(choice.algorithm()), typed.exact)) return comm.refuse(bad);
        }
        if (const status bad = check_first_use(comm, choice, !typed.commutative)) return comm.refuse(bad);
        return run_typed(comm, choice, typed);
    } else {
        const auto algorithm = bough::algorithm_for<Goal>(trees(choice));
        if constexpr (std::same_as<decltype(algorithm), const any_algorithm>)
            if (!algorithm.serves_kind(Goal::kind))
                return comm.refuse(invalid_argument("algorithm: is one of another collective"));
        if (const status bad = bough::check_plan(algorithm, at)) return comm.refuse(bad);
        if (Goal::combines) {
            if (const status bad = check_order(bough::keeps_rank_order(algorithm, at), typed.commutative))
                return comm.refuse(bad);
            if (const status bad = check_exact(bough::needs_exact(algorithm), typed.exact)) return comm.refuse(bad);
        }
        const plan<Goal, std::remove_cvref_t<decltype(algorithm)>> made(algorithm, at);
        if (const status bad = detail::check_first_use(comm, made, !typed.commutative)) return comm.refuse(bad);
        return detail::run_typed(comm, made, typed);
    }
}

// What the op of a call requires of an algorithm.
template <class Goal, class T>
requirements needed_by(const typed_call<T>& typed) noexcept {
    return Goal::combines && !typed.commutative ? order_preserving : requirements{};
}

// The class of a size: there is one choice for all sizes above a power of two up to the next, and it is
// priced for that one, whichever came first. Class 0 is the size 0; class k ends at 2^(k - 1) bytes.
constexpr std::uint8_t size_class_of(std::uint64_t bytes) noexcept {
    return static_cast<std::uint8_t>(bytes == 0 ? 0 : std::bit_width(bytes - 1) + 1);
}

template <RunsPlans Comm>
problem problem_of(Comm& comm, std::uint8_t size_class, bool exact_op) noexcept {
    if constexpr (StatesProblem<Comm>)
        return comm.problem_of(size_class, exact_op);
    else
        return {.bytes = size_class == 0 ? 0 : std::uint64_t{1} << (size_class - 1),
                .element_bytes = 1,
                .cores = bough::cores_of(comm.transport()),
                .switch_ns = bough::switch_ns_of(comm.transport()),
                .exact_op = exact_op,
                .levels = comm.options().levels.get(),
                .network = comm.options().network.get()};
}

// The plan that is chosen (bough/call/standard_plan.hpp); null: none has what is needed.
template <class Goal>
std::shared_ptr<const plan<Goal, any_algorithm>> standard_plan(const dimensions&, const problem&, const any_cost_model&,
                                                               const requirements&,
                                                               const plan<Goal, any_algorithm>* like);

// The root whose choice is taken for this one, too, if all pairs of ranks are alike. The candidates
// of a broadcast are the same for every root, but for its rotation. Other trees keep rank order: at
// any root but 0 they are made of two, one on either side of the root. Their prices depend on how
// many ranks are on either side: none, few, or many on both. In small groups each root is priced.
template <class Goal>
constexpr rank_t priced_root(const dimensions& at) noexcept {
    if (at.root == 0 || Goal::kind == goal::broadcast::kind) return 0;
    if (at.size <= 16) return at.root;
    const rank_t side = std::min(at.root, at.size - 1 - at.root); // ranks on the side that has fewer
    return side == 0 ? at.size - 1 : side < at.size / 4 ? at.size / 8 : at.size / 2;
}

// The plan that the communicator's costs choose among the standard candidates of the goal
// (bough/select/standard_set.hpp), for calls with this key; null: none has what is required.
template <class Goal, RunsPlans Comm>
const plan<Goal, any_algorithm>* plan_of_key(Comm& comm, rank_t size, const choice_key& key) {
    using chosen = plan<Goal, any_algorithm>;
    return comm.template remember_plan<chosen>(key, [&] {
        problem what = detail::problem_of(comm, key.size_class, key.exact);
        what.narrowing = key.narrowing;
        what.late = key.late.rank;
        what.late_ns = key.late.ns();
        const any_cost_model& costs = comm.options().costs;
        const dimensions asked{.size = size, .root = key.root};
        const chosen* like = nullptr;
        choice_key other = key;
        if (other.root = priced_root<Goal>(asked);
            other.root != key.root && costs.homogeneous() && what.network == nullptr)
            like = comm.template remember_plan<chosen>(other, [&] {
                return standard_plan<Goal>({size, other.root}, what, costs, key.needed, nullptr);
            });
        return standard_plan<Goal>(asked, what, costs, key.needed, like);
    });
}
// The same for this call. `narrowing`: problem::narrowing. `late`: the rank that is expected to come
// late; over a known network it does not count.
template <class Goal, RunsPlans Comm, class T>
const plan<Goal, any_algorithm>* automatic_plan(Comm& comm, const typed_call<T>& typed, std::uint8_t size_class,
                                                const requirements& required, std::uint32_t narrowing,
                                                lateness late = {}) {
    if (comm.options().network != nullptr) late = {};
    return detail::plan_of_key<Goal>(comm, typed.at.size,
                                     {Goal::kind, size_class, typed.at.root, typed.ranks,
                                      required | detail::needed_by<Goal>(typed), typed.exact, 0, narrowing, late});
}

// For a call for which automatic_plan() has found none. It finds none on the other ranks, either.
template <RunsPlans Comm>
status refuse_choice(Comm& comm) {
    status s = comm.options().costs.check(comm.size());
    if (!s) s = invalid_argument("choice: no algorithm has all the required properties, and a price");
    s.code = errc::unsupported;
    return comm.refuse(s);
}

// Does the plan of this call depend on when the ranks came to the latest calls?
template <class Goal, RunsPlans Comm, class T>
bool is_followed([[maybe_unused]] Comm& comm, [[maybe_unused]] const typed_call<T>& typed) {
    if constexpr (Goal::kind == goal::allreduce::kind && FollowsArrivals<Comm>)
        return comm.follows(typed.count * typed.element_bytes);
    else
        return false;
}

// Runs automatic_plan().
template <class Goal, RunsPlans Comm, class T>
status run_best(Comm& comm, const typed_call<T>& typed, const automatic& wanted, const lateness& late = {}) {
    const std::uint8_t size_class = size_class_of(typed.count * typed.element_bytes);
    const auto* best = detail::automatic_plan<Goal>(comm, typed, size_class, wanted.required, 1, late);
    if (best == nullptr) return detail::refuse_choice(comm);
    if (!wanted.late_ranks) return detail::run_typed(comm, *best, typed);
    typed_call<T> expects_late = typed;
    expects_late.signature.late_ranks = 1;
    return detail::run_typed(comm, *best, expects_late);
}
// The same; if the communicator follows arrivals, with what it knows of them, and the call is timed.
template <class Goal, RunsPlans Comm, class T>
status run_automatic(Comm& comm, const typed_call<T>& typed, const automatic& wanted) {
    if constexpr (runs_on_bytes_v<T>) {
        return detail::run_automatic<Goal>(comm, typed.on_bytes(), wanted);
    } else {
        if constexpr (Goal::kind == goal::allreduce::kind && FollowsArrivals<Comm>)
            if (detail::is_followed<Goal>(comm, typed)) [[unlikely]] {
                auto& followed = comm.followed();
                followed_call its;
                if (const status bad = followed.enter(its)) return comm.refuse(bad);
                const struct settles {
                    decltype(followed) its;
                    ~settles() { its.settle(); }
                } at_its_start{followed};
                return comm.then(detail::run_best<Goal>(comm, typed, wanted, its.late),
                                 [to = &followed, its] { to->leave(its); });
            }
        return detail::run_best<Goal>(comm, typed, wanted);
    }
}

} // namespace detail

// For the doors: what the compiled form holds of a collective.
#if defined(BOUGH_COMPILED_TEMPLATE)
#define BOUGH_COMPILED_GOAL(G)                                                                                         \
    namespace detail {                                                                                                 \
    BOUGH_COMPILED_TEMPLATE std::shared_ptr<const plan<G, any_algorithm>>                                              \
    standard_plan<G>(const dimensions&, const problem&, const any_cost_model&, const requirements&,                    \
                     const plan<G, any_algorithm>*);                                                                   \
    BOUGH_COMPILED_TEMPLATE std::unique_ptr<bound_plan>                                                                \
    hold_bound<plan<G, any_algorithm>>(const plan<G, any_algorithm>&, rank_t, const std::vector<rank_t>&);             \
    }
#else
#define BOUGH_COMPILED_GOAL(G)
#endif

} // namespace bough

#endif
