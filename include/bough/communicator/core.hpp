// SPDX-License-Identifier: BSL-1.0
// communicator_core: what a communicator shares with the operations that it has started. It lives
// until all of them are gone.
#ifndef BOUGH_COMMUNICATOR_CORE_HPP
#define BOUGH_COMMUNICATOR_CORE_HPP

#include <bough/communicator/arrivals.hpp>
#include <bough/communicator/call_order.hpp>
#include <bough/communicator/options.hpp>
#include <bough/communicator/packing_room.hpp>
#include <bough/communicator/partial_calls.hpp>
#include <bough/communicator/plan_cache.hpp>
#include <bough/communicator/remembered_choices.hpp>
#include <bough/communicator/repeated_calls.hpp>
#include <bough/communicator/reporter.hpp>
#include <bough/communicator/spare_frame.hpp>
#include <bough/communicator/trace_plan.hpp>
#include <bough/communicator/unbound_call.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/core/moved_list.hpp>
#include <bough/core/search.hpp>
#include <bough/report/options.hpp>
#include <bough/report/value.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/schedule/plan.hpp>
#include <bough/select/any_cost_model.hpp>
#include <bough/select/candidates.hpp>
#include <bough/select/transport_costs.hpp>
#include <bough/select/two_levels.hpp>
#include <bough/session/late_places.hpp>
#include <bough/session/session.hpp>
#include <bough/session/waiting_hook.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

namespace detail {

template <Transport T>
class communicator_core {
public:
    communicator_core(std::shared_ptr<session<T>> shared, std::vector<rank_t> members, std::uint16_t context,
                      const communicator_options& given);
    communicator_core(const communicator_core&) = delete;
    communicator_core& operator=(const communicator_core&) = delete;
    // Tells the other members that they may use the number of the communicator again. If it is the last
    // user of its session, the rank leaves the group, which says enough.
    ~communicator_core() {
        if (arrivals_ != nullptr && !arrivals_->end()) detail::keep_for_good(*arrivals_.release());
        if (session_->forked())
            reporter.recorded.disown();
        else
            session_->unrecord(reporter.recorded);
        if (!has_own_number() || session_->forked() || is_stale()) return;
        session_->let_go_of_communicator(context_, session_.use_count() == 1);
    }

    rank_t rank() const noexcept { return rank_; }
    rank_t size() const noexcept { return members_.empty() ? session_->size() : static_cast<rank_t>(members_.size()); }
    const std::vector<rank_t>& members() const noexcept { return members_; }
    const std::shared_ptr<session<T>>& shared_session() const noexcept { return session_; }
    std::uint16_t context() const noexcept { return context_; }
    // Has it a number that can be used again?
    bool has_own_number() const noexcept { return context_ != 0 && !members_.empty(); }
    std::uint32_t& callers() noexcept { return counts_.callers; } // caller.hpp
    std::uint32_t epoch() const noexcept { return epoch_; }
    // True: a later epoch has begun without this communicator (bough/group.hpp, shrink).
    bool is_stale() const { return epoch_ != session_->epoch(); }
    static status stale() noexcept { return outlived(); }

    envelope next_tag() noexcept {
        envelope tag;
        tag.operation = ++counts_.operations;
        tag.context = context_;
        return tag;
    }
    status refuse(const status& why);
    // The result of a call shows that the ranks did not make the same call. `why.peer`: a rank of this
    // communicator. The others hear of it in their next call at the latest.
    status result_differs(status why) {
        if (why.peer != no_rank && !members_.empty()) why.peer = members_[why.peer];
        session_->break_communicator(context_, why);
        return why;
    }
    // Allocates what the first start of a bound operation needs.
    void reserve(prepared& work, const call& c, const call_signature& signature) {
        if (is_stale() || lacks_lengths(work, c)) return; // each start is refused
        late_part late;
        // A call that has waited for its turn may be starting in another thread.
        session_->with_lock([&] { (void)find_late_part(c, signature, late); });
        work.prepare(c);
        session_->reserve(work, context_);
    }
    // Starts a call under a new number. If memory runs out, the number is refused or the operation
    // is abandoned; the others are told in either case. An error: the operation has not started.
    status start(session_operation& op, prepared& work, const call& c, const call_signature& signature) {
        if (order_ != nullptr) [[unlikely]]
            return refuse(invalid_argument("call: the calls of this communicator have names: give bough::named{...}"));
        // A call that waits for times has no number yet: one that starts meanwhile would take its place.
        if (arrivals_ != nullptr && reporter.in_hook) [[unlikely]]
            return refuse(invalid_argument("while_waiting: starts a call on a communicator that follows arrivals"));
        const status bad = start_next(op, work, c, signature, options.timeout_ns, options.priority, {});
        if (arrivals_ != nullptr && !bad) arrivals_->follow_up();
        return bad;
    }
    // The same, for a call whose turn has come, if calls have names.
    status start_next(session_operation& op, prepared& work, const call& c, const call_signature& signature,
                      std::uint64_t timeout_ns, int priority, const operation_place& place) {
        if (is_stale()) return stale();
        envelope tag = next_tag();
        op.record_in(reporter.recorded);
        op.set_priority(priority);
        op.set_place(place);
        bool has_started = false;
#if BOUGH_HAS_EXCEPTIONS
        try {
            return start_tagged(op, work, c, signature, tag, timeout_ns, has_started);
        } catch (...) {
            if (has_started && session_->is_done(op)) return {}; // ended without the helper that ring() wakes
            return give_up(op, tag);
        }
#else
        return start_tagged(op, work, c, signature, tag, timeout_ns, has_started);
#endif
    }
    // The same for a call that has run, with other data.
    repeat_outcome repeat(bound_plan& bound, const repeatable& what) {
        if constexpr (!PollsPeers<T> || GatheringTransport<T>) return repeat_outcome::refused; // nothing runs straight
        // In another epoch than that of the last call the session says no.
        const auto made = session_->repeat(bound.blocking, what, counts_.operations + 1, options.timeout_ns);
        if (made != repeat_outcome::refused) ++counts_.operations, session_->ring();
        return made;
    }
    // After an exception: ends the operation if it is in flight; otherwise refuses its number.
    status give_up(session_operation& op, const envelope& tag);

    // Polls once. Looks at deadlines now and then, more often if there is nothing else to do.
    bool progress() {
        const bool moved = session_->progress();
        attend_order();
        if ((counts_.turns += moved ? 1 : 16) >= 1024) {
            counts_.turns = 0;
            session_->check_deadlines();
            report_if_asked();
        }
        return moved;
    }

    // The order of named calls; null: calls have no names.
    call_order<T>* order() noexcept { return order_.get(); }
    // From the first call on, calls have names. An error: there have been calls without.
    status use_names() {
        if (is_stale()) return stale();
        if (order_ != nullptr) return {};
        if (counts_.operations != 0) return no_names();
        order_ = std::make_unique<call_order<T>>(*session_, members_, context_);
        return {};
    }
    // A call with a name breaks a rule. Which of the calls it is, the others cannot know.
    status refuse_named(const status& why) {
        if (order_ == nullptr && counts_.operations != 0) return refuse(no_names());
        if (session_->forked()) return {.code = errc::forked_child};
        if (is_stale()) return stale();
        session_->break_communicator(context_, why);
        return why;
    }
    // Starts the calls with names whose turn has come, and ends those that wait in vain.
    void attend_order() {
        if (order_ == nullptr) return;
        order_->advance();
        if (const status why = order_->take_failure()) [[unlikely]]
            report_failure(why);
    }

    // Calls that do not wait for late ranks. Made at the first one.
    partial_calls<T>& partials() {
        if (partials_ == nullptr) partials_ = std::make_unique<partial_calls<T>>(*session_, members_, context_);
        return *partials_;
    }

    // Are allreduces of so many bytes followed (bough/communicator/arrivals.hpp)? The same on all ranks.
    bool follows(std::uint64_t bytes) const noexcept {
        return options.follow_arrivals != 0 && bytes >= least_followed_bytes && size() > 1 && order_ == nullptr;
    }
    // Made at the first call. Pre: follows().
    BOUGH_COLD arrivals<communicator_core>& followed() {
        if (arrivals_ == nullptr)
            arrivals_ = std::make_unique<arrivals<communicator_core>>(*this, options.follow_arrivals);
        return *arrivals_;
    }
    // The rank that is expected to come late to an allreduce of so many bytes.
    lateness expected_late(std::uint64_t bytes) const noexcept {
        return follows(bytes) && arrivals_ != nullptr ? arrivals_->expected() : lateness{};
    }

    // remembered_choices::remember.
    template <class P, class F>
    const P* remember_plan(const choice_key& key, F&& choose) {
        return choices_.template remember<P>(key, options.cached_choices, std::forward<F>(choose));
    }
    void forget_choices() noexcept {
        repeated.forget();
        choices_.forget();
    }
    // Without costs of the program's own: those that the levels or the transport state.
    void use_stated_costs() {
        options.costs = options.levels ? options.levels->costs() : bough::default_costs_of(session_->transport());
        has_stated_costs_ = true;
    }
    void set_costs(const any_cost_model& costs) {
        options.costs = costs;
        has_stated_costs_ = false;
        if (!costs) use_stated_costs();
        forget_choices();
    }
    // The options of a communicator of some of these ranks. `members`: the transport's numbers.
    communicator_options options_among(const std::vector<rank_t>& members) const;
    std::size_t remembered_choices() const noexcept { return choices_.size(); }

    // The hook of the options, for a wait; none inside the hook. It looks for signals, too.
    waiting_hook hook() noexcept {
        return !wants_hook() || reporter.in_hook ? waiting_hook{} : waiting_hook{&call_hook, this};
    }
    bool in_hook() const noexcept { return reporter.in_hook; }
    // Has a blocking call nothing to do with hooks, signals and reports?
    bool is_plain() const noexcept { return reporter.is_plain && !reporter.in_hook; }
    void set_priority(int priority) {
        options.priority = priority;
        if (priority != 0) session_->use_priorities();
        repeated.forget(); // they keep theirs
    }
    void set_while_waiting(const waiting_hook& hook) noexcept {
        options.while_waiting = hook;
        reporter.is_plain = !wants_hook() && !options.report.on_failure;
    }

    // --- reports ---

    rank_report make_report() {
        rank_report made;
        session_->for_each_recorder([&](recorder& its) { made.append(its.bytes()); });
        return made;
    }
    // An operation has failed. Only the first failure that broke the group is reported.
    BOUGH_COLD void report_failure(const status& why) {
        const report_sink& to = options.report.on_failure;
        if (!to || reporter.has_reported || why.code == errc::forked_child) return;
        // Whoever waited for the failed call has reported it. For an exchange of arrivals nobody waits.
        if (why.code == errc::group_poisoned && (arrivals_ == nullptr || !arrivals_->has_failed())) return;
        if (!session_->poison(context_) && !is_deadline(why)) return;
        reporter.has_reported = static_cast<bool>(session_->poison(context_));
        ignore_exceptions([&] { to.function(to, make_report()); });
    }
    void name_plan(bound_plan& bound) {
        const label text = bound.text();
        session_->with_lock([&] { reporter.recorded.name_plan(bound.work.bound().plan_id, text.c_str()); });
        if (reporter.recorded.trace() != nullptr) detail::trace_plan(*this, bound, text.c_str());
        bound.is_named = true;
    }
    bough::counters counters() const {
        return session_->with_lock([this] {
            bough::counters its = reporter.recorded.head().counts;
            its.calls = counts_.operations;
            return its;
        });
    }

    communicator_options options;
    plan_cache plans;
    repeated_calls repeated;
    moved_list<std::unique_ptr<spare_frame>> spare_frames;
    packing_room packed; // of blocking calls
    detail::reporter reporter;
    unbound_call<communicator_core> unbound;

private:
    static bool call_hook(void* self, std::uint32_t idle) noexcept {
        auto& core = *static_cast<communicator_core*>(self);
        core.report_if_asked();
        const waiting_hook now = core.options.while_waiting; // the hook may change it
        if (!now) return false;
        core.reporter.in_hook = true;
        const bool stays_awake = now(idle);
        return core.reporter.in_hook = false, stays_awake;
    }

    static status no_names() noexcept {
        return invalid_argument("named: this communicator has made calls without names: call on a duplicate of it");
    }
    bool wants_hook() const noexcept { return options.while_waiting || options.report.on_signal != 0; }
    // Has the signal come since the last report?
    void report_if_asked() {
        if (!reporter.is_asked(options.report.on_signal)) return;
        const report_sink& to = options.report.signalled ? options.report.signalled : options.report.on_failure;
        if (to) ignore_exceptions([&] { to.function(to, make_report()); });
    }

    // Does the plan pass on blocks whose lengths this rank does not know?
    static bool lacks_lengths(const prepared& work, const call& c) noexcept {
        return !c.row_offsets.empty() && c.repeat == 0 && !work.direct();
    }
    status start_tagged(session_operation& op, prepared& work, const call& c, call_signature signature,
                        const envelope& tag, std::uint64_t timeout_ns, bool& has_started) {
        signature.plan = work.bound().plan_id;
        if (!c.offsets.empty()) signature.plan ^= hash_offsets(c.offsets); // cutting the vector is part of the plan
        if (!c.row_offsets.empty()) {
            if (lacks_lengths(work, c)) {
                session_->refuse(tag, errc::unsupported, members_);
                status s =
                    invalid_argument("plan: passes on blocks of other ranks, whose lengths this rank does not know");
                s.code = errc::unsupported;
                return s;
            }
            signature.plan = ~signature.plan; // so it matches no call with blocks of equal length
        }
        if (c.in_slots) signature.plan ^= slots_of_a_plan;
        late_part late;
        if (!find_late_part(c, signature, late)) {
            session_->refuse(tag, errc::no_resources, members_);
            return {.code = errc::no_resources};
        }
        signature.late_ranks = 0;
        if (late.places != nullptr) signature.plan = late_plan;
        session_->start(op, work, c, tag, signature, timeout_ns, late);
        has_started = true;
        session_->ring();
        return {};
    }

    // How a call is done in late places; without places in `late` it is done by messages. Which of the
    // two depends only on what is equal on all ranks. False: the system has no memory left.
    bool find_late_part(const call& c, const call_signature& signature, late_part& late) {
        if constexpr (SharesMemory<T>) {
            const bool all = signature.kind == goal::allreduce::kind || signature.kind == goal::barrier::kind;
            if (signature.late_ranks == 0 || (!all && signature.kind != goal::reduce::kind)) return true;
            if (!find_late_places(session_->transport(), c.count * c.element_bytes, late.places)) return false;
            late.combine = combine_of(c);
            late.in = c.input;
            late.out = c.output;
            late.bytes = c.count * c.element_bytes;
            late.root = all ? no_rank : signature.root;
        }
        return true;
    }
    // The places for data of so many bytes; null: there are none. Makes them at the first call. After a
    // shrink() there are none: a rank that was given up may still be at work in them.
    // (A template, as clang 14 instantiates a member that requires what T has not.)
    template <SharesMemory X>
    bool find_late_places(X& transport, std::uint64_t bytes, late_places*& found) {
        const auto at = late_places::where(context_, transport.size(), transport.common_bytes());
        if (at.most_bytes == 0 || epoch_ != session_->first_epoch() || bytes > at.most_bytes) return true;
        if (late_ == nullptr) {
            const auto part = transport.common(members_.empty() ? 0 : members_[0], at.offset, at.bytes);
            if (part.empty()) return false;
            late_ = std::make_unique<late_places>(part.data(), size(), rank_, at.most_bytes, members_);
        }
        found = late_.get();
        return true;
    }
    static constexpr std::uint64_t slots_of_a_plan = 0x736c'6f74'7300'0000;
    static constexpr std::uint64_t late_plan = 0x6c61'7465'7261'6e6b; // of the signatures of such calls

    std::shared_ptr<session<T>> session_; // must not move: operations in flight point into it
    std::vector<rank_t> members_;         // empty: all ranks of the transport, with the transport's numbers
    std::uint16_t context_ = 0;
    std::uint32_t epoch_ = 1;
    rank_t rank_ = 0;
    bool has_stated_costs_ = false;     // options.costs are not the program's own
    std::unique_ptr<late_places> late_; // made when the first call needs them
    std::unique_ptr<call_order<T>> order_;
    std::unique_ptr<partial_calls<T>> partials_;
    std::unique_ptr<arrivals<communicator_core>> arrivals_;
    bough::detail::remembered_choices choices_;
    struct {
        std::uint32_t operations = 0, turns = 0, callers = 0;
    } counts_;
};

// Not inline, so that the compiled form can hold them.
template <Transport T>
communicator_core<T>::communicator_core(std::shared_ptr<session<T>> shared, std::vector<rank_t> members,
                                        std::uint16_t context, const communicator_options& given)
    : options(given), plans(given.cached_plans),
      reporter({shared->rank(), shared->size(), shared->epoch(), context, members}, given.report),
      session_(std::move(shared)), members_(std::move(members)), context_(context), epoch_(session_->epoch()) {
    BOUGH_EXPECTS(options.cached_plans >= 1, "cached_plans: at least one plan must be kept");
    BOUGH_EXPECTS(options.cached_choices >= 1, "cached_choices: at least one choice must be remembered");
    if constexpr (KnowsLevels<T>) {
        if (std::shared_ptr<const two_levels> known = options.levels ? nullptr : session_->transport().levels())
            options.levels = members_.empty() ? known : known->among(members_);
    }
    BOUGH_EXPECTS(options.levels == nullptr || options.levels->groups().group_of_rank().size() == size(),
                  "levels: must list the ranks of this communicator");
    BOUGH_EXPECTS(options.network == nullptr || !options.network->check(size()),
                  "network: must join the ranks of this communicator");
    if (!options.costs) use_stated_costs();
    set_while_waiting(options.while_waiting);
    session_->record(reporter.recorded);
    rank_ = session_->rank();
    for (rank_t r = 0; r != members_.size(); ++r)
        if (members_[r] == session_->rank()) rank_ = r;
    session_->open_communicator(context_, members_);
    if (options.priority != 0) session_->use_priorities();
}

template <Transport T>
communicator_options communicator_core<T>::options_among(const std::vector<rank_t>& members) const {
    communicator_options made = options;
    if (has_stated_costs_) made.costs = {};
    if (made.levels == nullptr && made.network == nullptr) return made;
    std::vector<rank_t> here(members); // this communicator's numbers
    if (!members_.empty())
        for (rank_t& r : here) r = static_cast<rank_t>(detail::find(members_, r) - members_.begin());
    if (made.levels != nullptr) made.levels = made.levels->among(here);
    if (made.network != nullptr) made.network = made.network->among(here);
    return made;
}

template <Transport T>
status communicator_core<T>::refuse(const status& why) {
    if (session_->forked()) return {.code = errc::forked_child};
    if (is_stale()) return stale();
    if (order_ != nullptr) return refuse_named(why);
    session_->refuse(next_tag(), why.code, members_);
    return why;
}

template <Transport T>
status communicator_core<T>::give_up(session_operation& op, const envelope& tag) {
    if (session_->is_done(op))
        return session_->refuse(tag, errc::no_resources, members_),
               status{.code = errc::no_resources, .operation = tag.operation};
    session_->abandon(op);
    return op.result();
}

} // namespace detail
} // namespace bough

#endif
