// SPDX-License-Identifier: BSL-1.0
// Forms: how every front door finds the form of a call from its arguments, or says at compile time
// what is wrong with them.
//
// A collective has its forms as the overloads of one type (for example allreduce_forms):
//   struct my_forms : takes<goal::allreduce, parameters{.op = true}> {
//       template <class On, ...> static status call(On& on, std::span<T, N> data, ...);
//   };
// `on` is a communicator, or an initiator (bough/call/initiator.hpp). Data in a vector or the like
// arrive as spans, one value as a span of one element. An error result (the last argument) does not
// arrive at all. So a collective is written once: the blocking, started, bound and asynchronous
// front doors all call its forms.
#ifndef BOUGH_CALL_FORMS_HPP
#define BOUGH_CALL_FORMS_HPP

#include <bough/call/arguments.hpp>
#include <bough/call/contiguous.hpp>
#include <bough/call/front_door.hpp>
#include <bough/communicator.hpp>
#include <bough/concepts/explain_op.hpp>
#include <bough/concepts/explain_plan.hpp>
#include <bough/concepts/explain_tree.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/op/explain_wire.hpp>
#include <bough/op/lift.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

class batch;           // bough/batch.hpp
struct const_elements; // bough/run_time.hpp
struct elements;
struct partial; // bough/call/partial.hpp

namespace detail {

// The forms of a collective for elements whose type is known at run time only: bough/run_time.hpp.
template <class Forms>
struct run_time_forms;
template <class A>
inline constexpr bool is_elements_v =
    std::same_as<std::remove_cvref_t<A>, elements> || std::same_as<std::remove_cvref_t<A>, const_elements>;

// Which arguments a collective takes; the sentences below depend on it.
struct parameters {
    bool data = true;
    bool op = false;
    bool root = false;
    bool lists = false;      // a list of counts or members follows the data
    bool trees = false;      // the choice may be a tree
    bool values = false;     // one value may stand for a vector, and the result is returned
    bool blocks = false;     // an op may be a BlockwiseOp (bough/op/lift.hpp)
    bool neighbours = false; // a neighbourhood follows the data and lists
    bool partial = false;    // partial{} may stand behind the op (bough/call/partial.hpp)
};
template <class Goal, parameters P>
struct takes {
    using goal_type = Goal;
    using trees = as_chosen; // or over_trees<...>, if a tree source is a choice
    static constexpr parameters wanted = P;
    // Changes a rank's value after the call, for collectives where it is not what the call has
    // written.
    template <class... A>
    static void finish_value(const A&...) noexcept {}
};
// Not data. An op or a choice is never a span.
template <class A>
concept NotData = !is_span_v<A>;

// True also for a class of yours that is derived from a communicator.
template <class C>
inline constexpr bool is_communicator_v = requires(const C& c) {
    []<class X>(const communicator<X>&) {}(c);
};

// What a front door is called on: a communicator, or a transport that was mistaken for one.
template <class C>
concept CalledOn = is_communicator_v<std::remove_cvref_t<C>> || Transport<std::remove_cvref_t<C>>;

template <class C>
consteval bool explain_called_on() {
    using group = std::remove_reference_t<C>;
    static_assert(is_communicator_v<std::remove_const_t<group>>,
                  "bough: a collective is called on a communicator, not on a transport: write `bough::communicator "
                  "comm{std::move(transport)};` once, and give comm");
    static_assert(!std::is_const_v<group>,
                  "bough: a collective counts its calls in the communicator, which must not be const");
    return is_communicator_v<group>;
}

template <class A>
inline constexpr bool is_batch_v = std::same_as<std::remove_cvref_t<A>, batch>;

// A range whose elements do not lie one behind the other, such as a std::list.
template <class A>
concept ScatteredRange = !SpanLike<A> && !is_span_v<std::remove_cvref_t<A>> && requires(A & range) {
    range.begin();
    range.end();
};

// Something that refers to elements elsewhere, such as a std::mdspan or a std::reference_wrapper:
// its own bytes are an address.
template <class A>
concept StandsForOthers = requires {
    typename A::element_type;
}
|| requires(const A& a) { a.data_handle(); }
|| (
       requires { typename A::type; } &&
       requires(const A& a) {
           { a.get() } -> std::same_as<typename A::type&>;
       });

// Bits, which have no addresses.
template <class A>
inline constexpr bool is_bits_v = false;
template <class Allocator>
inline constexpr bool is_bits_v<std::vector<bool, Allocator>> = true;

// One value in the place of data.
template <class A>
concept OneValue = std::is_object_v<std::remove_reference_t<A>> && !is_span_v<std::remove_cvref_t<A>> && !SpanLike<A> &&
                   !ScatteredRange<A> && !std::is_pointer_v<std::remove_cvref_t<A>> && !is_batch_v<A> &&
                   !is_elements_v<A> && !StandsForOthers<std::remove_cvref_t<A>>;

template <class A>
inline constexpr bool writable_v = std::is_lvalue_reference_v<A> && !std::is_const_v<std::remove_reference_t<A>>;

// Data as the forms take them: a value that the caller keeps becomes a span of one element.
template <class Forms, class A>
constexpr decltype(auto) as_data(A&& argument) noexcept {
    if constexpr (Forms::wanted.values && OneValue<A> && writable_v<A>)
        return std::span<std::remove_reference_t<A>>(std::addressof(argument), 1);
    else
        return detail::as_span(std::forward<A>(argument));
}

// Is there a form for these arguments, the first of which is data?
template <class Forms, class On>
constexpr bool has_form() {
    return requires(On & on) { Forms::call(on); };
}
template <class Forms, class On, class First, class... A>
constexpr bool has_form() {
    return requires(On & on, First && first, A && ... rest) {
        Forms::call(on, detail::as_data<Forms>(std::forward<First>(first)), detail::as_span(std::forward<A>(rest))...);
    };
}

template <class S>
struct span_element {
    using type = void;
};
template <class T, std::size_t Extent>
struct span_element<std::span<T, Extent>> {
    using type = T;
};
template <class A>
using data_element = typename span_element<
    std::remove_cvref_t<decltype(detail::as_span(std::declval<A>()))>>::type; // void: it is not data

template <class>
inline constexpr bool no_form = false; // dependent, so that only the branch that is taken fails

template <class A>
inline constexpr bool is_number_v = std::is_integral_v<std::remove_cvref_t<A>>;
template <class A>
inline constexpr bool is_root_v = std::same_as<std::remove_cvref_t<A>, root>;

template <class A>
inline constexpr bool is_at_most_v = std::same_as<std::remove_cvref_t<A>, at_most>;

template <class A>
inline constexpr bool is_partial_v = std::same_as<std::remove_cvref_t<A>, partial>;

template <class A>
inline constexpr bool is_counts_at_root_v = std::same_as<std::remove_cvref_t<A>, counts_at_root>;

// The sentences about data. True: no sentence applies.
template <class Forms, class First, class Second>
consteval bool explain_data() {
    using in = data_element<First>;
    using out = data_element<Second>;
    constexpr bool two = !std::is_void_v<out> && !Forms::wanted.lists;
    if constexpr (is_batch_v<First>)
        return true;
    else if constexpr (std::is_pointer_v<std::remove_cvref_t<First>>)
        static_assert(no_form<First>,
                      "bough: a pointer does not say how many elements follow: write std::span(pointer, "
                      "count)");
    else if constexpr (is_bits_v<std::remove_cvref_t<First>>)
        static_assert(no_form<First>, "bough: a std::vector<bool> holds bits, which do not travel one by one: give a "
                                      "std::vector<unsigned char>, or an array of bool");
    else if constexpr (ScatteredRange<First>)
        static_assert(no_form<First>,
                      "bough: data lie one behind the other in memory: give a std::span, std::vector or "
                      "std::array (a std::list, a std::deque and a view do not)");
    else if constexpr (std::is_void_v<in> && StandsForOthers<std::remove_cvref_t<First>>)
        static_assert(no_form<First>,
                      "bough: this refers to data elsewhere (a std::reference_wrapper, a std::unique_ptr and a "
                      "std::mdspan do): give the variable that it refers to, or a std::span of the elements");
    else if constexpr (std::is_void_v<in> && Forms::wanted.values)
        static_assert(no_form<First>, "bough: what is started writes its result into memory of yours: give a variable, "
                                      "neither const nor a temporary");
    else if constexpr (std::is_void_v<in>)
        static_assert(no_form<First>, "bough: this collective takes vectors: for one value write std::span(&value, 1)");
    else if constexpr (two && !std::same_as<std::remove_const_t<in>, std::remove_const_t<out>>)
        static_assert(no_form<First>, "bough: input and output must have elements of one type: convert them before or "
                                      "after the call");
    else if constexpr (two && std::is_const_v<out>)
        static_assert(no_form<First>, "bough: the result is written here: give an output whose elements are not const");
    else
        return true;
    return false;
}
// The sentences about the arguments behind the data.
template <class Forms, class... A>
consteval bool explain_rest() {
    constexpr std::size_t spans = (std::size_t{0} + ... + !std::is_void_v<data_element<A>>);
    constexpr bool numbered = (is_number_v<A> || ...), rooted = (is_root_v<A> || ...);
    constexpr std::size_t others = sizeof...(A) - (std::size_t{0} + ... + (is_number_v<A> || is_root_v<A>));
    constexpr bool batched = (is_batch_v<A> || ...);
    constexpr bool is_partial = Forms::wanted.partial && (is_partial_v<A> || ...);
    if constexpr (is_partial)
        static_assert(no_form<Forms>,
                      "bough: a partial call has an input and an output, an op, and partial{...} behind "
                      "them: a rank that comes too late keeps its input");
    else if constexpr (Forms::wanted.op && !batched && others == spans)
        static_assert(no_form<Forms>, "bough: this collective combines: give an op behind the data, as bough::plus{}");
    else if constexpr (Forms::wanted.root && numbered && !rooted)
        static_assert(no_form<Forms>, "bough: a root is written root{0}, not as a plain number");
    else if constexpr (Forms::wanted.root && !rooted)
        static_assert(no_form<Forms>, "bough: this collective has a root: write root{0} behind the data");
    else if constexpr (Forms::wanted.neighbours && others == spans)
        static_assert(no_form<Forms>, "bough: this collective is one among neighbours: give a bough::neighbourhood "
                                      "behind the data");
    else if constexpr (Forms::wanted.lists)
        static_assert(no_form<Forms>, "bough: this collective takes a list behind the data (counts of std::size_t, "
                                      "members of bough::rank_t): the first lines of its header show all forms");
    else
        static_assert(no_form<Forms>,
                      "bough: this collective has no form with these arguments in this order: the first "
                      "lines of its header show all forms");
    return false;
}
struct no_argument {};
template <class Forms, class First, class Second = no_argument, class... A>
consteval bool explain_misfit() {
    if constexpr (explain_data<Forms, First, Second>()) {
        if constexpr (std::same_as<Second, no_argument>)
            return explain_rest<Forms, First>();
        else
            return explain_rest<Forms, First, Second, A...>();
    }
    return false;
}

// The type of the first argument that is not data.
template <class... A>
struct first_other {
    using type = void;
};
template <class First, class... A>
struct first_other<First, A...>
    : std::conditional_t<std::is_void_v<data_element<First>>, std::type_identity<std::remove_cvref_t<First>>,
                         first_other<A...>> {};

// Can a collective be done by this choice? Trees: may it be a tree source, too?
template <class Goal, class Choice, bool Trees = false>
consteval bool explain_choice() {
    constexpr bool serves = std::same_as<Choice, automatic> || is_plan<Choice>::value || ServesGoal<Choice, Goal> ||
                            (Trees && TreeSource<Choice>);
    // A type with some members of an algorithm or a tree is meant as one, so its sentence says what
    // is missing.
    if constexpr (Algorithm<Choice>)
        return explain_claims<Choice>();
    else if constexpr (EmitsAt<Choice> || requires(const Choice& c) { c.natural_blocks(rank_t{}); })
        return explain_algorithm<Choice>();
    else if constexpr (Trees && requires(const Choice& c) { c.child_count(rank_t{}, rank_t{}); })
        return explain_tree_shape<Choice>();
    else
        static_assert(serves, "bough: what this collective is done by is a plan, an algorithm or a family that serves "
                              "it, or automatic{}");
    return true;
}
// Is the last argument a choice, if it is not data, op or root?
template <class Forms, class... A>
consteval bool explain_last() {
    constexpr std::size_t others =
        (std::size_t{0} + ... +
         (std::is_void_v<data_element<A>> && !is_root_v<A> && !is_batch_v<A> && !is_at_most_v<A> &&
          !(Forms::wanted.partial && is_partial_v<A>)&&!(Forms::wanted.lists && Forms::wanted.root &&
                                                         is_counts_at_root_v<A>)));
    constexpr std::size_t ops = Forms::wanted.op && !(is_batch_v<A> || ...) ? 1 : 0;
    if constexpr (ErrorResult<std::remove_cvref_t<std::tuple_element_t<sizeof...(A) - 1, std::tuple<A...>>>>)
        static_assert(no_form<Forms>, "bough: what is started or bound gives its error by its handle, wait(ec): leave "
                                      "the error result out here (and give a variable, not const, to what blocks)");
    else if constexpr (others > ops + (Forms::wanted.neighbours ? 1 : 0))
        return explain_choice<typename Forms::goal_type,
                              std::remove_cvref_t<std::tuple_element_t<sizeof...(A) - 1, std::tuple<A...>>>,
                              Forms::wanted.trees>();
    else
        return true;
}

// For data that fit a form: do the elements travel, and does the op take them?
template <class Forms, class T, class... A>
consteval bool explain_elements() {
    using O = typename first_other<A...>::type;
    constexpr std::size_t more_spans = (std::size_t{0} + ... + !std::is_void_v<data_element<A>>);
    if constexpr (std::is_void_v<T>)
        return true;
    else if constexpr (std::is_const_v<T> && more_spans == (Forms::wanted.lists ? 1 : 0))
        static_assert(no_form<T>,
                      "bough: the result is written here: give data that are not const, nor a temporary, or "
                      "an input and an output");
    else if constexpr (!Forms::wanted.op)
        return explain_wire<std::remove_const_t<T>>();
    else if constexpr (LiftedOp<O, std::remove_const_t<T>>)
        return true;
    else if constexpr (Forms::wanted.blocks && BlockwiseOp<O, std::remove_const_t<T>>)
        return true;
    else if constexpr (explain_wire<std::remove_const_t<T>>())
        return explain_op<O, std::remove_const_t<T>>();
    return false;
}

// True, or a compile error with a sentence. A... has no error result.
template <class Forms, class On>
consteval bool explain_call() {
    static_assert(has_form<Forms, On>(), "bough: this collective needs data: give a span, a vector or a value");
    return has_form<Forms, On>();
}
// Are input and output one value each?
template <class Forms, class T, class... A>
inline constexpr bool is_two_values_v = false;
template <class Forms, class T, class Second, class Third, class... A>
inline constexpr bool is_two_values_v<Forms, T, Second, Third, A...> =
    Forms::wanted.values && !std::is_void_v<T> && OneValue<Second> &&
    !Op<std::remove_cvref_t<Second>, std::remove_const_t<T>> &&
    (std::same_as<std::remove_cvref_t<Second>, std::remove_const_t<T>> ||
     std::is_arithmetic_v<std::remove_cvref_t<Second>>);

template <class Forms, class On, class First, class... A>
consteval bool explain_call() {
    using data = decltype(detail::as_data<Forms>(std::declval<First>()));
    constexpr bool two = is_two_values_v<Forms, data_element<data>, A...>;
    static_assert(!two, "bough: the result for one value is returned: write out = allreduce(comm, in, op), or give "
                        "std::span(&in, 1) and std::span(&out, 1)");
    if constexpr (two)
        return false;
    else if constexpr (!has_form<Forms, On, First, A...>())
        return explain_misfit<Forms, data, A...>();
    else if constexpr (explain_elements<Forms, data_element<data>, A...>())
        return explain_last<Forms, data, A...>();
    return false;
}

template <class Forms, class On, class First, class... A>
requires(is_elements_v<First>) consteval bool explain_call() {
    return run_time_forms<Forms>::template explain<On, First, A...>();
}

// For what is started: does the input outlive the call? (Lists and ops are copied.)
template <class First = void, class... A>
consteval bool explain_lasting() {
    static_assert(!DyingContainer<First>, "bough: what is started or bound reads its input until it has ended: give a "
                                          "variable that lives as long, not a temporary");
    return !DyingContainer<First>;
}

template <class Forms, class On>
status run_form(On& on) {
    return Forms::call(on);
}
template <class Forms, class On, class First, class... A>
status run_form(On& on, First&& first, A&&... rest) {
    if constexpr (is_elements_v<First>)
        return run_time_forms<Forms>::call(on, first, detail::as_span(std::forward<A>(rest))...);
    else
        return Forms::call(on, detail::as_data<Forms>(std::forward<First>(first)),
                           detail::as_span(std::forward<A>(rest))...);
}

// What a blocking front door returns: a value, if one was given in the place of data.
template <class Forms, class... A>
struct form_result {
    using type = void;
};
template <class Forms, class First, class... A>
requires(Forms::wanted.values&& OneValue<First>) struct form_result<Forms, First, A...> {
    using type = std::remove_cvref_t<First>;
};
template <class Forms, class... A>
using form_result_t = typename form_result<Forms, A...>::type;

template <class... A>
inline constexpr bool reports_v = false;
template <class First, class... A>
inline constexpr bool reports_v<First, A...> = reports_v<A...>;
template <ErrorResult E>
inline constexpr bool reports_v<E&> = true;

// Calls run(arguments). If the last argument is an error result, it gets the status and is not
// passed on; otherwise the status is thrown.
template <class Run, class... A>
void end_call(Run&& run, A&&... arguments) {
    if constexpr (reports_v<A...>) {
        constexpr std::size_t last = sizeof...(A) - 1;
        auto all = std::forward_as_tuple(std::forward<A>(arguments)...);
        const auto run_all_but_last = [&]<std::size_t... I>(std::index_sequence<I...>) {
            return run(std::get<I>(std::move(all))...);
        };
        detail::report(run_all_but_last(std::make_index_sequence<last>()), std::get<last>(all));
    } else {
        detail::throw_if(run(std::forward<A>(arguments)...));
    }
}

// Explains the call as its form gets it: without an error result, and with the copy of a value that
// the call writes.
template <class Forms, class C, std::size_t... I, class... A>
consteval bool explain_arguments(std::index_sequence<I...>, std::type_identity<std::tuple<A...>>) {
    using all = std::tuple<A...>;
    return explain_call<
        Forms, C,
        std::conditional_t<I == 0 && !std::is_void_v<form_result_t<Forms, A...>>,
                           std::remove_cvref_t<std::tuple_element_t<I, all>>&, std::tuple_element_t<I, all>>...>();
}

} // namespace detail
} // namespace bough

#endif
