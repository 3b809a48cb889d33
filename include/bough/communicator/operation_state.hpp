// SPDX-License-Identifier: BSL-1.0
// operation_state: one operation in flight, with everything that must live until its end. The
// handle that points to it is in bough/operation.hpp.
#ifndef BOUGH_COMMUNICATOR_OPERATION_STATE_HPP
#define BOUGH_COMMUNICATOR_OPERATION_STATE_HPP

#include <bough/communicator/arena.hpp>
#include <bough/communicator/call_order.hpp>
#include <bough/communicator/caller.hpp>
#include <bough/communicator/core.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/deadline.hpp>
#include <bough/operation.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

template <Transport T>
class operation_state final : public operation_state_base, public spare_frame, named_call {
public:
    using core_type = communicator_core<T>;

    // Takes an unused one from the communicator, or makes a new one. It belongs to the handle that
    // is made from it.
    static operation_state* make(const std::shared_ptr<core_type>& core, bool persistent) {
        std::unique_ptr<operation_state> made;
        if (core->spare_frames.empty()) {
            made = std::make_unique<operation_state>();
        } else {
            made.reset(static_cast<operation_state*>(core->spare_frames.back().release()));
            core->spare_frames.pop_back();
        }
        made->core_ = core;
        made->is_persistent_ = persistent;
        if (persistent) made->makes_calls_ = caller<core_type>(core);
        return made.release();
    }

    // --- for an initiator (bough/call/initiator.hpp) ---

    core_type& core() noexcept { return *core_; }
    bool is_persistent() const noexcept { return is_persistent_; }
    bool has_name() const noexcept { return is_named(); }
    arena& kept() noexcept { return kept_; }
    // Its calls have this name.
    void set_name(std::string_view name) {
        name_ = {"", 0}; // it is a call with a name, also if there is no memory for that
        auto* copy = static_cast<char*>(kept_.allocate(name.size() + 1, 1));
        if (!name.empty()) std::memcpy(copy, name.data(), name.size());
        name_ = {copy, name.size()};
    }
    // Adds f() -> status, called before each run.
    template <class F>
    void add_before(const F& f) {
        append(around_.before, kept_.template make<hook_of<F>>(f));
    }
    // Adds f() -> void, called after each run that ended well.
    template <class F>
    void add_after(const F& f) {
        append(around_.after, kept_.template make<hook_of<F>>(f));
    }
    template <class P>
    void bind(const P& plan, const call& c, const call_signature& signature) {
        work_ = core_->plans.take(plan, core_->rank(), core_->members());
        if (!work_->is_named) core_->name_plan(*work_);
        call_ = c;
        signature_ = signature;
        signature_.name = number_of_name(name_);
    }
    // Copies an argument of the call.
    template <class E>
    std::span<const E> keep(std::span<const E> list) {
        if (list.empty()) return {};
        auto* copy = static_cast<E*>(kept_.allocate(list.size_bytes(), alignof(E)));
        for (std::size_t i = 0; i != list.size(); ++i) copy[i] = list[i];
        return {copy, list.size()};
    }
    // For a persistent operation: copies what its starts need, and allocates it all.
    void make_ready() {
        keep_lengths();
        core_->reserve(work_->work, call_, signature_);
    }
    // Starts a run. An error: it has not started.
    status launch() {
        result_ = {};
        if (is_named()) [[unlikely]]
            return launch_named();
        return begin(core_->start(op_, work_->work, call_, signature_));
    }
    status begin(const status& bad) {
        ended_ = false;
        if (bad)
            end(bad);
        else
            session_().start_clock(op_);
        return bad;
    }
    // Ends with this error, without having started.
    void end(const status& why) noexcept {
        result_ = why;
        ended_ = true;
        is_kept_ = false;
        leave_order();
        end_waiting();
        give_back();
    }
    // For a failure on this rank after which the run may be in flight, or may have ended.
    status abandon() {
        const status why{.code = errc::no_resources};
        if (is_kept() && core_->order()->give_up(*this, why.code)) return why;
        if (is_kept() || ended_) return why; // it had not started
        session_().abandon(op_);
        end(why);
        return why;
    }
    // The call breaks a rule.
    status refuse(const status& why) { return is_named() ? core_->refuse_named(why) : core_->refuse(why); }
    // The bound call breaks a rule: each start will end with this error.
    void refuse_always(const status& why) noexcept {
        bound_error_ = why;
        give_back();
    }

    // --- for a handle ---

    bool poll() override {
        if (is_kept() || (!ended_ && !session_().is_done(op_))) core_->progress();
        return done();
    }
    bool done() override {
        if (is_kept()) [[unlikely]] {
            core_->attend_order();
            if (is_kept()) return false;
        }
        if (!ended_ && session_().is_done(op_)) finish();
        return ended_;
    }
    const status& wait() override {
        if (!is_kept() && ended_) return result_;
        if (is_named()) [[unlikely]]
            wait_in_order();
        else
            session_().wait(op_, core_->hook());
        if (!ended_) finish();
        return result_;
    }
    bool wait_for_ns(std::uint64_t ns) override {
        if (!is_kept() && ended_) return true;
        const std::uint64_t last = deadline_after(session_().now_ns(), ns);
        std::uint32_t turn = 0;
        session_().wait_until(
            [&] {
                if (is_named()) core_->attend_order();
                return has_run() || ((++turn & 15u) == 0 && session_().now_ns() >= last);
            },
            last, core_->hook(), op_.waits_for_late());
        return done();
    }
    void cancel() override {
        if (is_kept() && core_->order()->give_up(*this, errc::cancelled)) return;
        if (!is_kept() && !ended_) session_().cancel(op_);
    }
    void set_timeout_ns(std::uint64_t ns) override {
        if (is_kept() && core_->order()->set_timeout_ns(*this, ns)) return;
        if (!is_kept() && !ended_) session_().set_timeout_ns(op_, ns);
    }
    void set_priority(int priority) override {
        if (is_kept() && core_->order()->set_priority(*this, priority)) return;
        if (!is_kept() && !ended_) session_().set_priority(op_, priority);
    }
    void start() override {
        BOUGH_EXPECTS(done(), "start: the operation is still in flight");
        if (bound_error_) return end(refuse(bound_error_));
#if BOUGH_HAS_EXCEPTIONS
        status bad;
        try {
            bad = call_all_before();
        } catch (...) { // the user's code threw: an op that lifts
            bad.code = errc::op_threw;
        }
#else
        const status bad = call_all_before();
#endif
        if (bad) return end(refuse(bad));
        (void)launch();
    }
    const status& result() const noexcept override { return result_; }
    std::string where() const override {
        if (!is_named()) return {};
        std::string text = "'" + std::string(name()) + "'";
        if (has_waited_in_vain_ && is_deadline(result_) && !core_->order()->held_up_by().empty())
            text += " waited for '" + core_->order()->held_up_by() + "'";
        return text;
    }
    std::size_t memory_bytes() const noexcept override {
        return sizeof(*this) + kept_.bytes() + (work_ ? work_->work.memory_bytes() : 0);
    }
    void release() noexcept override {
        if (is_kept()) (void)core_->order()->give_up(*this, errc::cancelled);
        if (!is_kept() && !ended_) {
            session_().cancel(op_);
            if (!session_().wait_for_bytes(op_)) {
                BOUGH_EXPECTS(!holds_callers_bytes(), session<T>::kept_bytes);
                return detail::keep_for_good(*this); // so all that the transport holds stays valid
            }
        }
        leave_order();
        const caller<core_type> last_call = std::move(makes_calls_);
        give_back();
        name_ = {};
        around_ = {};
        kept_.clear();
        bound_error_ = result_ = {};
        ended_ = true;
        const std::shared_ptr<core_type> core = std::move(core_); // which may end with this
        std::unique_ptr<spare_frame> self(this);
        if (core->spare_frames.size() < core->options.cached_plans)
            try_to([&] { core->spare_frames.push_back(std::move(self)); });
    }

private:
    struct hook {
        virtual status run() = 0;
        hook* next = nullptr;

    protected:
        ~hook() = default;
    };
    template <class F>
    struct hook_of final : hook {
        explicit hook_of(const F& given) : f(given) {}
        status run() override {
            if constexpr (requires {
                              { f() } -> std::same_as<status>;
                          })
                return f();
            else
                return f(), status{};
        }
        F f;
    };
    struct hooks {
        hook *first = nullptr, *last = nullptr;
    };

    static void append(hooks& list, hook& made) noexcept {
        (list.last == nullptr ? list.first : list.last->next) = &made;
        list.last = &made;
    }
    static status call_all(const hooks& list) {
        for (hook* h = list.first; h != nullptr; h = h->next)
            if (const status bad = h->run()) return bad;
        return {};
    }
    status call_all_before() { return call_all(around_.before); }

    template <class F>
    static void try_to(F&& f) noexcept {
#if BOUGH_HAS_EXCEPTIONS
        try {
            f();
        } catch (...) { // no memory to keep it for later
        }
#else
        f();
#endif
    }

    // The lengths and places of blocks may lie in the front door.
    void keep_lengths() {
        call_.offsets = keep(call_.offsets);
        call_.row_offsets = keep(call_.row_offsets);
        call_.column_offsets = keep(call_.column_offsets);
        call_.placed = keep(call_.placed);
    }
    session<T>& session_() const noexcept { return *core_->shared_session(); }
    bool has_run() { return !is_kept() && (ended_ || session_().is_done(op_)); }

    // --- a call with a name ---

    // Does it wait for its turn? While it does, whoever polls the session may start or end it
    // (call_order.hpp), and what this has written may not be read. Afterwards all of it is its owner's.
    bool is_kept() noexcept {
        if (!is_kept_) return false;
        is_kept_ = session_().with_lock([this] { return waits(); });
        if (is_kept_ || !ended_) return is_kept_;
        leave_order(); // it has not started
        give_back();
        return false;
    }
    bool has_ended() override { return done(); }
    void take_turn(std::uint64_t timeout_ns, const operation_place& place) override {
        const status bad = core_->start_next(op_, work_->work, call_, signature_, timeout_ns, priority_, place);
        if (bad) return fail(bad);
        session_().start_clock(op_);
        end_waiting();
    }
    void fail(const status& why) noexcept override {
        result_ = why;
        ended_ = true;
        end_waiting();
    }
    BOUGH_COLD status launch_named() {
        if (!is_persistent_) {
            keep_lengths();
            makes_calls_ = caller<core_type>(core_); // until its turn
        }
        has_waited_in_vain_ = false;
        priority_ = core_->options.priority;
        status bad{.code = errc::no_resources};
        try_to([&] { bad = core_->use_names(); });
        if (bad) {
            bad = core_->refuse_named(bad);
        } else {
            ended_ = false;
            is_kept_ = true; // perhaps
            bad = {.code = errc::no_resources};
            try_to([&] { bad = core_->order()->enter(*this, core_->options.timeout_ns); });
            if (bad.code == errc::no_resources && !core_->is_stale())
                session_().break_communicator(core_->context(), bad);
        }
        if (bad) end(bad);
        return bad;
    }
    // It has its turn, or has ended: another rank need not expect it any more.
    void end_waiting() noexcept {
        if (!is_persistent_) const caller<core_type> last_call = std::move(makes_calls_);
    }
    BOUGH_COLD void wait_in_order() {
        std::uint64_t attend_ns = 0;
        const auto over = [&] {
            core_->attend_order();
            if (has_run()) return true;
            return attend_ns = is_kept() ? core_->order()->attend_ns(*this) : session_().attend_ns(op_), false;
        };
        if (session_().wait_until(over, attend_ns, core_->hook(), op_.waits_for_late())) return;
        if (!is_kept() && ended_) return;
        is_kept() ? end({.code = errc::forked_child}) : void(session_().wait(op_)); // a child of a fork
    }
    void leave_order() noexcept {
        if (is_named() && core_->order() != nullptr) core_->order()->leave(*this);
    }
    // Are messages in memory of the caller?
    bool holds_callers_bytes() const noexcept {
        return (work_->work.sends_or_receives(0) && !kept_.owns(call_.input)) ||
               (work_->work.sends_or_receives(1) && !kept_.owns(call_.output));
    }

    void finish() {
        result_ = op_.result();
        if (!result_) {
#if BOUGH_HAS_EXCEPTIONS
            try {
                result_ = call_all(around_.after);
            } catch (...) { // thrown by a wire form's decode, or an op that lowers
                result_ = {.code = errc::op_threw};
            }
#else
            result_ = call_all(around_.after);
#endif
        }
        ended_ = true;
        leave_order();
        give_back();
        if (result_) [[unlikely]]
            core_->report_failure(result_);
    }
    void give_back() noexcept {
        if (is_persistent() || !work_) return;
        try_to([this] { core_->plans.put(std::move(work_)); });
        work_.reset();
    }

    std::shared_ptr<core_type> core_;
    std::unique_ptr<bound_plan> work_;
    session_operation op_;
    call call_{};
    call_signature signature_{};
    arena kept_;
    struct {
        hooks before, after;
    } around_; // a run
    status result_{}, bound_error_{};
    bool ended_ = true;
    bool is_persistent_ = false;
    bool is_kept_ = false;          // it has a name, and waited for its turn when that was last asked
    caller<core_type> makes_calls_; // if it is persistent, or waits for its turn
};

} // namespace bough::detail

#endif
