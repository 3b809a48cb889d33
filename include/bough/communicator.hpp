// SPDX-License-Identifier: BSL-1.0
// communicator: a group of ranks over a transport, on which collectives are called. It keeps the
// plans that this rank has bound.
//
// The first communicator takes the transport; duplicate() and split() (bough/group.hpp) make
// further ones over the same transport. One thread at a time uses it. All ranks of the group make
// the same calls in the same order; blocking calls and started ones (bough/operation.hpp) count
// alike. If a rank makes another call, it and the others get call_mismatch. Moving a communicator
// is cheap; one that has been moved from may be destroyed or assigned to. This rank's part in the
// group ends when the last communicator over the transport, and the last operation started on it,
// are destroyed.
#ifndef BOUGH_COMMUNICATOR_HPP
#define BOUGH_COMMUNICATOR_HPP

#include <bough/communicator/caller.hpp>
#include <bough/communicator/core.hpp>
#include <bough/concepts/explain_transport.hpp>
#include <bough/concepts/protocol.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/duration.hpp>
#include <bough/select/two_levels.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

template <class T>
class communicator {
    static_assert(explain_transport<T>() && explain_optional_members<T>() && detail::explain_costs_and_levels<T>());

public:
    // The communicator of all ranks of a transport.
    explicit communicator(T transport, communicator_options options = {});

    // For bough/group.hpp: the communicator of `members` (ranks of the transport, this one among
    // them; empty: all), in a context that no other communicator of theirs uses.
    communicator(std::shared_ptr<session<T>> shared, std::vector<rank_t> members, std::uint16_t context,
                 communicator_options options);

    communicator(communicator&&) noexcept = default;
    communicator& operator=(communicator&&) noexcept = default;

    rank_t rank() const noexcept { return core_->rank(); }
    rank_t size() const noexcept { return core_->size(); }
    // The transport's number of a rank of this communicator.
    rank_t world_rank(rank_t r) const noexcept { return core_->members().empty() ? r : core_->members()[r]; }
    // Counts the groups that this one has come from: 1 at first, and one more with each shrink and grow.
    std::uint32_t epoch() const noexcept { return core_->epoch(); }
    const std::shared_ptr<session<T>>& shared_session() const noexcept { return core_->shared_session(); }
    std::uint16_t context() const noexcept { return core_->context(); }
    T& transport() noexcept { return core_->shared_session()->transport(); }
    const communicator_options& options() const noexcept { return core_->options; }
    // Which way a message from a rank of this communicator comes; see SaysWays.
    template <SaysWays X = T> // and not `requires`: clang 14 instantiates that for every transport
    protocol way_of(rank_t peer, std::size_t bytes, bool combines) const {
        return shared_session()->with_lock(
            [&] { return shared_session()->transport().way_of(world_rank(peer), bytes, combines); });
    }
    // Sets the timeout of the operations that are started from now on. `forever`: they have none.
    void set_timeout_ns(std::uint64_t timeout) noexcept { core_->options.timeout_ns = timeout; }
    template <Duration D>
    void set_timeout(const D& timeout) noexcept { // any std::chrono::duration
        set_timeout_ns(nanoseconds_of(timeout));
    }
    // Sets options().priority, for the operations that are started from now on.
    void set_priority(int priority) { core_->set_priority(priority); }
    // Sets options().while_waiting, for the waits that begin from now on.
    void set_while_waiting(const waiting_hook& hook) noexcept { core_->set_while_waiting(hook); }
    // Sets options().costs. An empty model: the costs that options().levels or the transport state again.
    void set_costs(const any_cost_model& costs) noexcept { core_->set_costs(costs); }

    // Moves messages on while the program does something else. Returns true if something happened.
    bool progress() { return core_->progress(); }
    // The failure that broke this communicator or the group, if there is one: every later operation
    // ends with group_poisoned.
    status poison() const { return core_->shared_session()->poison(context()); }

    // What this communicator has done so far on this rank.
    bough::counters counters() const { return core_->counters(); }
    // What is known here of the communicators over this transport: their latest calls, those in flight
    // and the ranks that they wait for, messages that came early, and what broke the group. Print it,
    // save it, or merge it with those of other ranks: bough/report.hpp. If several threads use the
    // session, what one of them is recording may be half there.
    rank_report report() { return core_->make_report(); }

    // Runs a plan on this rank and waits for its end. Pre: the plan's size is the group's. It is
    // for front doors and for your own plans, and checks nothing about types.
    template <Plan P>
    status run(const P& plan, const call& c, const call_signature& signature) {
        detail::bound_plan* bound = nullptr;
#if BOUGH_HAS_EXCEPTIONS
        try {
            bound = &core_->plans.find(plan, rank(), core_->members());
        } catch (...) { // memory ran out
            return refuse({.code = errc::no_resources});
        }
#else
        bound = &core_->plans.find(plan, rank(), core_->members());
#endif
        call_signature full = signature;
        full.kind = decltype(plan.goal())::kind;
        return run_bound(*bound, c, full);
    }

    // Ends a call that broke a rule before it started. It still counts as a call, so that the ranks
    // stay in step.
    status refuse(const status& why) { return core_->refuse(why); }
    bool is_stale() const noexcept { return core_->is_stale(); }
    static status stale() noexcept { return detail::communicator_core<T>::stale(); }

    // The options of a communicator of some of these ranks, given by the transport's numbers.
    communicator_options options_among(const std::vector<rank_t>& members) const {
        return core_->options_among(members);
    }

    // --- for front doors (bough/call/runs_calls.hpp) ---

    template <class P, class F>
    const P* remember_plan(const detail::choice_key& key, F&& choose) {
        return core_->template remember_plan<P>(key, std::forward<F>(choose));
    }
    bool follows(std::uint64_t bytes) const noexcept { return core_->follows(bytes); }
    auto& followed() { return core_->followed(); }
    // The equal call that was made lately (bough/communicator/repeated_calls.hpp). Null: there is none,
    // and after the call has run well, keep_repeated() makes it one.
    detail::repeated_call* find_repeated(const detail::repeat_key& key) noexcept {
        return core_->repeated.find(key, core_->plans);
    }
    void keep_repeated(const detail::repeat_key& key, const call& c) noexcept {
        if (!core_unchecked().reporter.recorded.has_hook())
            core_unchecked().repeated.keep(key, c, core_unchecked().plans);
    }
    // The call that was kept at this place; null: it is there no more.
    detail::repeated_call* repeated_at(const detail::repeat_place& where) noexcept {
        return core_->repeated.at(where, core_->plans);
    }
    // The place of the last blocking call that can be made again, of those since this was last asked. Whoever
    // keeps the places of its calls asks after each of them.
    detail::repeat_place last_repeated() noexcept { return core_->repeated.take_last(); }
    // Runs it with the data that `again` has now.
    status run_repeated(detail::repeated_call& again) {
        core_unchecked().repeated.runs(again);
        return run_guarded(*again.plan, [&](bool& has_ended) {
            const detail::repeat_outcome made = core_unchecked().repeat(*again.plan, again.what);
            has_ended = made == detail::repeat_outcome::ended_well;
            if (made != detail::repeat_outcome::refused) return status{};
            const status bad =
                core_unchecked().start(again.plan->blocking, again.plan->work, again.what.made, again.what.signature);
            again.what.started_whole(again.plan->work);
            return bad;
        });
    }
    template <class P>
    const P* find_bound(const P& plan) const {
        return core_->plans.find_plan(plan);
    }
    template <class O>
    static const O& hold(const O& op) noexcept { // the caller's op outlives the call
        return op;
    }
    template <class E>
    auto room() const {
        if constexpr (std::is_same_v<E, std::byte>)
            return detail::borrowed_bytes(core_->packed);
        else
            return std::vector<E>();
    }
    template <class F>
    static status before(F&& make_ready) {
        return make_ready();
    }
    // make_result() may return a status: what came is not what the call was to bring.
    template <class F>
    status then(status s, F&& make_result) const {
        if (s) return s;
        const auto make = [&]() -> status {
            if constexpr (std::is_void_v<decltype(make_result())>)
                return make_result(), status{};
            else
                return make_result();
        };
#if BOUGH_HAS_EXCEPTIONS
        try {
            s = make();
        } catch (...) { // the others have their results
            return {.code = errc::op_threw};
        }
#else
        s = make();
#endif
        if (s) [[unlikely]]
            return core_->result_differs(s);
        return s;
    }
    const std::shared_ptr<detail::communicator_core<T>>& core() const noexcept { return core_.core(); }

private:
    // For what a call does after its first access, which has checked that there is a core.
    detail::communicator_core<T>& core_unchecked() const noexcept { return *core_; }
    status run_bound(detail::bound_plan& bound, const call& c, const call_signature& full);
    // Starts a blocking call by `start`, and waits for its end.
    template <class F>
    status run_guarded(detail::bound_plan& bound, F&& start) {
        bound.is_waiting = true;
        const status result = run_caught(bound, start);
        bound.is_waiting = false;
        core_unchecked().repeated.ran(bound);
        return result;
    }
    template <class F>
    status run_caught(detail::bound_plan& bound, F& start) {
#if BOUGH_HAS_EXCEPTIONS
        try {
            return start_and_wait(bound, start);
        } catch (...) { // while it was in flight
            shared_session()->abandon(bound.blocking);
            return bound.blocking.result();
        }
#else
        return start_and_wait(bound, start);
#endif
    }
    template <class F>
    status start_and_wait(detail::bound_plan& bound, F& start) {
        BOUGH_EXPECTS(!core_unchecked().in_hook(),
                      "while_waiting: makes a blocking call on the communicator that waits");
        bool has_ended = false; // well, and nothing is to be done before the next call
        if (const status bad = start(has_ended)) return bad;
        auto& session = *core_unchecked().shared_session();
        if (has_ended || session.needs_no_wait(bound.blocking)) return {};
        return core_unchecked().is_plain() ? session.wait(bound.blocking) : wait_with_care(bound);
    }

    // Not cold, which would be compiled for size: where something is to be done while a program waits,
    // every call that waits comes here.
    BOUGH_NEVER_INLINE status wait_with_care(detail::bound_plan& bound) {
        const status result = shared_session()->wait(bound.blocking, core_unchecked().hook());
        if (result) core_unchecked().report_failure(result);
        return result;
    }

    detail::caller<detail::communicator_core<T>> core_;
};

// Not inline, so that the compiled form can hold them.
template <class T>
communicator<T>::communicator(T transport, communicator_options options)
    : communicator(std::make_shared<session<T>>(std::move(transport), options.early), {}, 0, options) {}

template <class T>
communicator<T>::communicator(std::shared_ptr<session<T>> shared, std::vector<rank_t> members, std::uint16_t context,
                              communicator_options options)
    : core_(std::make_shared<detail::communicator_core<T>>(std::move(shared), std::move(members), context, options)) {}

// Compiled once for all plans.
template <class T>
status communicator<T>::run_bound(detail::bound_plan& bound, const call& c, const call_signature& full) {
    if (!bound.is_named) core_unchecked().name_plan(bound);
    return run_guarded(bound, [&](bool&) { return core_unchecked().start(bound.blocking, bound.work, c, full); });
}

} // namespace bough

#endif
