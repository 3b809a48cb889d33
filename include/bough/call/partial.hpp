// SPDX-License-Identifier: BSL-1.0
// Partial: a call that does not wait for late ranks, and says who has contributed.
//
//   bough::contributors came;
//   bough::allreduce(comm, in, out, bough::plus{}, bough::partial{.within = 5ms, .contributed = &came});
//   if (!came.has(comm.rank())) keep(in);    // this rank came too late: `out` is the result of the others
//   scale(out, 1.0 / came.count());
//
// One rank, the decider, decides who takes part: those that have made the call when all have, or when
// `within` is over since the decider's own arrival and `at_least` ranks have come, itself among them. The
// result is op over the inputs of those, in rank order. `out` and `came` are the same on all ranks, also
// on those that come too late. These get them at once if they are there, and keep nobody waiting.
//
// Data        an input and an output, spans or what one can be made of, which do not overlap. The input
//             is only read: what a late rank brings is not lost
// Agreement   every rank gives equal data and op, as for any call, and equal terms. Otherwise all end
//             with call_mismatch. `contributed` is each rank's own
// Time        2 (p - 1) short messages in two rounds more than the plain call among those that take part
// Determinism the bits depend on who takes part, not on when ranks come
// Bound       a rank may be `behind` calls late for each decider. When so many results lie ready for it,
//             the next call waits for it; at 0, each call waits for all
// Errors      those of the collective. A rank that is lost is left out, unless it is the decider, or too
//             few are left, or it is lost after it was counted. deadline: the decider did not come; or
//             too few ranks came, or one is too far behind, within half of the timeout
// Source      Li, Ben-Nun, Di Girolamo, Dryden, Alistarh, Hoefler: Taming unbalanced training workloads
//             in deep learning with partial collective operations, PPoPP 2020; the bound: Ho et al.: More
//             effective distributed ML via a stale synchronous parallel parameter server, NIPS 2013
#ifndef BOUGH_CALL_PARTIAL_HPP
#define BOUGH_CALL_PARTIAL_HPP

#include <bough/call/arguments.hpp>
#include <bough/call/front_door.hpp>
#include <bough/call/runs_calls.hpp>
#include <bough/communicator.hpp>
#include <bough/communicator/core.hpp>
#include <bough/communicator/partial_calls.hpp>
#include <bough/concepts/plan.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/duration.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/engine/call.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/op/wire.hpp>
#include <bough/select/any_cost_model.hpp>
#include <bough/session/operation.hpp>
#include <bough/session/session.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// Which ranks have contributed to a result. It may be used again, and then allocates nothing.
class contributors {
public:
    // Has rank r of the communicator contributed? Pre: r < size().
    bool has(rank_t r) const noexcept { return has_[r] != 0; }
    rank_t count() const noexcept { return static_cast<rank_t>(std::count(has_.begin(), has_.end(), 1)); }
    rank_t size() const noexcept { return static_cast<rank_t>(has_.size()); } // ranks; 0: there was no call yet
    friend bool operator==(const contributors&, const contributors&) = default;

    // For front doors. A call that fails has no contributors.
    void clear(rank_t ranks) { has_.assign(ranks, 0); }
    void set(const std::vector<unsigned char>& by_rank) noexcept { // pre: clear(by_rank.size())
        std::copy(by_rank.begin(), by_rank.end(), has_.begin());
    }

private:
    std::vector<unsigned char> has_;
};

// A length of time: any std::chrono::duration.
struct length_of_time {
    std::uint64_t ns = 0;
    constexpr length_of_time() = default;
    template <Duration D>
    constexpr length_of_time(const D& d) noexcept : ns(nanoseconds_of(d)) {} // as in .within = 5ms
};

struct partial {
    length_of_time within{};  // how long the decider waits, from its own arrival, for ranks that it need not have
    rank_t at_least = 1;      // contributors; the call waits for so many
    std::uint32_t behind = 8; // calls for which a rank may be late at a time
    rank_t decider = 0;       // a rank of the communicator, for which the call waits
    contributors* contributed = nullptr; // who has contributed; null: the caller does not want to know
};

namespace detail {

// One partial call of a communicator.
template <class Comm>
class partial_run {
public:
    using transport_type = std::remove_cvref_t<decltype(std::declval<Comm&>().transport())>;
    using calls_type = partial_calls<transport_type>;
    using part = typename calls_type::part;

    partial_run(Comm& comm, const call_signature& signature, const partial& how)
        : comm_(comm), core_(*comm.core()), session_(*comm.shared_session()),
          calls_(core_.partials()), made_{.terms = {how.within.ns, how.decider, std::max<rank_t>(how.at_least, 1),
                                                    how.behind},
                                          .signature = signature} {
        made_.signature.plan = made_.terms.hash();
    }

    Comm& comm() const noexcept { return comm_; }
    communicator_core<transport_type>& core() const noexcept { return core_; }
    calls_type& calls() const noexcept { return calls_; }

    // As partial_calls::enter(), with the next number of the communicator.
    part enter(status& why) {
        BOUGH_EXPECTS(!core_.in_hook(), "while_waiting: makes a blocking call on the communicator that waits");
        made_.tag = core_.next_tag();
        sign(made_.tag, made_.signature);
        made_.last_ns = deadline_after(session_.now_ns(), core_.options.timeout_ns);
        return calls_.enter(made_, core_.hook(), why);
    }
    // Runs this rank's part, and waits for its end.
    status run(session_operation& op, prepared& work, const call& c) {
        op.record_in(core_.reporter.recorded);
        op.set_priority(core_.options.priority);
#if BOUGH_HAS_EXCEPTIONS
        try {
            return start_and_wait(op, work, c);
        } catch (...) {
            return core_.give_up(op, made_.tag);
        }
#else
        return start_and_wait(op, work, c);
#endif
    }
    // This rank has no part in the call, or the call has failed.
    status run_nothing() { return run(calls_.operation(), calls_.nothing(), {}); }
    // The call has failed, and this rank does not know why yet.
    status fail() {
        if (const status why = run_nothing()) return why;
        // A message shows that a rank has made another call. The two tell each other what differs.
        const auto over = [&] { return session_.poison(made_.tag.context) || session_.now_ns() >= made_.last_ns; };
        if (!session_.wait_until(over, made_.last_ns)) return {.code = errc::forked_child};
        if (const status why = session_.poison(made_.tag.context)) return why;
        return break_with({.code = errc::deadline, .operation = made_.tag.operation, .context = made_.tag.context});
    }
    status refuse(const status& why) {
        session_.refuse(made_.tag, why.code, core_.members());
        return why;
    }
    // This rank does not do what others wait for.
    status break_with(const status& why) {
        session_.break_communicator(made_.tag.context, why);
        return why;
    }

private:
    status start_and_wait(session_operation& op, prepared& work, const call& c) {
        session_.start(op, work, c, made_.tag, made_.signature, time_left(session_.now_ns(), made_.last_ns));
        session_.ring();
        const status ended = session_.wait(op, core_.hook());
        if (ended) core_.report_failure(ended);
        return ended;
    }

    Comm& comm_;
    communicator_core<transport_type>& core_;
    session<transport_type>& session_;
    calls_type& calls_;
    partial_call made_;
};

// The ranks that take part, as front doors run on them.
template <class Comm>
class call_among {
public:
    explicit call_among(partial_run<Comm>& its) noexcept : its_(its), comm_(its.comm()) {}

    rank_t rank() const noexcept { return its_.calls().place(); }
    rank_t size() const noexcept { return its_.calls().count(); }
    auto& transport() noexcept { return comm_.transport(); }
    const communicator_options& options() const noexcept { return comm_.options(); }
    // The choice for a smaller group depends on how many ranks it has, not on which.
    template <class P, class F>
    const P* remember_plan(choice_key key, F&& choose) {
        if (!is_whole()) key.ranks = size();
        return comm_.template remember_plan<P>(key, std::forward<F>(choose));
    }
    problem problem_of(std::uint8_t size_class, bool exact_op) const noexcept {
        problem what = detail::problem_of(comm_, size_class, exact_op);
        if (!is_whole()) what.levels = nullptr, what.network = nullptr; // they are of all ranks
        return what;
    }
    template <class P>
    const P* find_bound(const P& plan) const {
        return comm_.find_bound(plan);
    }
    template <Plan P>
    status run(const P& plan, const call& c, const call_signature&) {
        auto& core = its_.core();
        bound_plan& bound = is_whole() ? core.plans.find(plan, comm_.rank(), core.members()) : its_.calls().find(plan);
        const std::uint64_t identity = bound.work.bound().plan_id;
        if (its_.calls().is_decider())
            its_.calls().tell(identity);
        else if (const status bad = its_.calls().compare(identity))
            return bad;
        bound.is_waiting = true;
        const status ended = its_.run(bound.blocking, bound.work, c);
        bound.is_waiting = false;
        return ended;
    }
    status refuse(const status& why) { return its_.refuse(why); }

    template <class O>
    static const O& hold(const O& op) noexcept {
        return op;
    }
    template <class E>
    auto room() const {
        return comm_.template room<E>();
    }
    template <class F>
    static status before(F&& make_ready) {
        return make_ready();
    }
    template <class F>
    status then(const status& s, F&& make_result) const {
        return comm_.then(s, std::forward<F>(make_result));
    }

private:
    bool is_whole() const noexcept { return size() == comm_.size(); }

    partial_run<Comm>& its_;
    Comm& comm_;
};

// The decider gives the result to those that have not come.
template <class T, class Calls>
status send_result(Calls& calls, std::span<const T> out) {
    if constexpr (travels_as_bytes_v<T>) {
        calls.send_result(std::as_bytes(out));
        return {};
    } else {
        std::vector<std::byte> bytes(out.size() * wire_size_v<T>);
        if (const status bad = detail::encode_all(out.data(), out.size(), bytes.data())) return bad;
        calls.send_result(bytes);
        return {};
    }
}
// A late rank reads it.
template <class T>
status read_result(std::span<const std::byte> bytes, std::span<T> out) {
    constexpr std::size_t size = wire_size_v<T>;
    if (bytes.size() != out.size() * size) return {.code = errc::protocol_error};
    if constexpr (travels_as_bytes_v<T>) {
        if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
    } else {
        for (std::size_t i = 0; i != out.size(); ++i)
            out[i] = wire<T>::decode(bytes.subspan(i * size).template first<size>());
    }
    return {};
}

template <class Comm>
status check_terms(const Comm& comm, const partial& how) {
    if (comm.core()->order() != nullptr)
        return invalid_argument(
            "partial: the calls of this communicator have names: call on the one that it was made of");
    if (how.decider >= comm.size()) return invalid_argument("decider: not a rank of the group");
    if (how.at_least > comm.size()) return invalid_argument("at_least: more than the ranks of the group");
    return {};
}
inline status check_two_vectors(bool are_one) {
    if (!are_one) return {};
    return invalid_argument("output: is the input, which a rank that comes too late must keep");
}

// Runs a partial call of a blocking front door, whose data are checked. `signature`: of the call, without a
// plan. `front_door(among)` runs the collective on a call_among.
template <class T, class Comm, class F>
status run_partial(Comm& comm, std::span<T> out, const call_signature& signature, const partial& how,
                   const F& front_door) {
    if (comm.is_stale()) return comm.stale();
    if (const status bad = detail::check_terms(comm, how)) return comm.refuse(bad);
    return detail::guard_call(comm, [&]() -> status {
        partial_run<Comm> its(comm, signature, how);
        if (how.contributed != nullptr) how.contributed->clear(comm.size());
        // From here on the call has its number, and nothing is thrown.
        const auto run_part = [&]() -> status {
            status why;
            const auto found = its.enter(why);
            if (found == partial_run<Comm>::part::fails) return why ? why : its.fail();
            if (found == partial_run<Comm>::part::late) {
                why = its.run_nothing();
                return why ? why : detail::read_result(its.calls().result(), out);
            }
            call_among<Comm> among(its);
            why = front_door(among);
            if (!its.calls().is_decider()) return why;
            if (!why) why = detail::send_result<T>(its.calls(), std::span<const T>(out));
            return why.code == errc::op_threw ? its.break_with(why) : why; // late ranks would wait for the result
        };
        status ended;
#if BOUGH_HAS_EXCEPTIONS
        try {
            ended = run_part();
        } catch (...) {
            ended = its.break_with({.code = errc::no_resources});
        }
#else
        ended = run_part();
#endif
        if (!ended && how.contributed != nullptr) how.contributed->set(its.calls().who());
        return ended;
    });
}

} // namespace detail
} // namespace bough

#endif
