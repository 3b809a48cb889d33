// SPDX-License-Identifier: BSL-1.0
// The session: everything between a transport and the engines of the operations in flight. Written
// once, for all transports: matching by operation, early messages, call signatures, deadlines, the
// death of peers, and poison.
//
// A message belongs to the operation that its envelope names, never to "the oldest open one from this
// sender". A message that comes before its operation has started is kept (bough/session/unexpected.hpp).
// A message is a call_mismatch if its signature differs from that of this rank's call, or if this rank's
// plan does not expect it. A failure reaches no further than it must (bough/session/failure.hpp): a call
// that is cancelled or late fails alone, on all members of its communicator; calls that differ, are
// refused or throw poison their communicator; a lost rank poisons the group. Every rank whose link is
// alive is told the cause. In what is poisoned every later operation fails at once. The group of a
// session is that of its transport; communicators are contexts within it.
//
// In the child of a fork, everything still belongs to the parent. A transport that knows of forks
// says so by the optional member forked(). Then every operation in the child ends with
// forked_child; those that were in flight at the fork end as soon as the child looks at them. The
// session sends nothing, takes nothing and waits for nothing there, not even in its destructor.
//
// When an operation is done, its messages have been handed over: they need nothing more of this
// rank, which may compute, or end. Calls that start an operation, poll, or tell others something
// also hand their messages over before they return, as far as the system takes them at once.
//
// One thread at a time may use a session, unless the transport has a session_mutex
// (bough/transport/serialised.hpp): then each public member locks it, and with_lock(f) makes one
// step of several. The work itself is in bough/session/core.hpp.
#ifndef BOUGH_SESSION_SESSION_HPP
#define BOUGH_SESSION_SESSION_HPP

#include <bough/concepts/explain_transport.hpp> // here: the list of includes before its sentences stays short
#include <bough/concepts/transport.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/session/attendants.hpp>
#include <bough/session/core.hpp>
#include <bough/session/mutex.hpp>
#include <bough/session/waiting_hook.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

template <Transport T>
class session {
public:
    explicit session(T transport, const early_limits& limits = {}) : core_(std::move(transport), limits) {}
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    // Pre: no operation is in flight. Sends what the other ranks must still be told, but takes no
    // longer than 100 ms for it.
    ~session();

    rank_t rank() const noexcept { return core_.rank(); }
    rank_t size() const noexcept { return core_.size(); }
    // Is this process the child of a fork, and the session its parent's?
    bool forked() const noexcept { return core_.forked(); }
    // If several threads use the session: only within with_lock.
    T& transport() noexcept { return core_.transport(); }

    // Calls f() as one step: no other thread uses this session meanwhile.
    template <class F>
    decltype(auto) with_lock(F&& f) const {
        const lock_guard held = hold();
        return std::forward<F>(f)();
    }

    std::uint64_t now_ns() const {
        return with_lock([&] { return core_.transport().now_ns(); });
    }
    std::uint32_t epoch() const {
        return with_lock([&] { return core_.members().epoch(); });
    }
    // The epoch in which this transport began: 1, or that of the growth that made it (bough/grow.hpp).
    std::uint32_t first_epoch() const {
        return with_lock([&] { return core_.members().first_epoch(); });
    }
    // Pre: the session has no communicator yet.
    void start_at(std::uint32_t epoch) {
        with_lock([&] { core_.members().start_at(epoch); });
    }
    // What broke the group, if anything did.
    status poison() const {
        return forked() ? in_child() : with_lock([&] { return core_.poison(); });
    }
    // What broke the communicator with this context, or the group.
    status poison(std::uint16_t context) const {
        return forked() ? in_child() : with_lock([&] { return core_.poison(context); });
    }
    bool is_lost(rank_t r) const {
        return with_lock([&] { return core_.members().is_lost(r); });
    }
    // Messages of an earlier epoch, or of a suspect, that came and were dropped.
    std::uint64_t stale_messages() const {
        return with_lock([&] { return core_.stale_messages(); });
    }
    std::uint64_t early_bytes() const {
        return with_lock([&] { return core_.early().copied_bytes(); });
    }
    std::uint64_t early_allocations() const {
        return with_lock([&] { return core_.early().allocations(); });
    }

    // Starts an operation; `tag` has its context and number. done() becomes true after enough calls of
    // progress(). Throws what allocating throws: if the operation is done() then, it has not started.
    // `late`: it is done in these places, not by messages.
    void start(session_operation& op, prepared& work, const call& c, const envelope& tag,
               const call_signature& signature, std::uint64_t timeout_ns, const detail::late_part& late = {}) {
        const lock_guard held = hold();
        if (is_torn()) return op.tag_.operation = tag.operation, op.end_in_child();
        core_.start(op, work, c, tag, signature, timeout_ns, late);
    }
    // Starts a call once more that has run, with other data (session_core::repeat). Refused: nothing has
    // happened, and start() is the way.
    auto repeat(session_operation& op, const detail::repeatable& what, std::uint32_t number, std::uint64_t timeout_ns) {
        const lock_guard held = hold();
        return core_.repeat(op, what, number, timeout_ns);
    }
    // Starts the time of an operation now, not when check_deadlines() first looks at it.
    void start_clock(session_operation& op) {
        const lock_guard held = hold();
        if (!op.done_) op.start_clock(core_.transport().now_ns());
    }
    // From now on the priorities of operations count.
    void use_priorities() {
        const lock_guard held = hold();
        if (!is_torn()) core_.use_priorities();
    }
    // The operation may be in flight.
    void set_priority(session_operation& op, int priority) {
        const lock_guard held = hold();
        use_priorities();
        op.set_priority(priority);
    }
    // Sets the deadline of an operation to so much time from now.
    void set_timeout_ns(session_operation& op, std::uint64_t timeout_ns) {
        const lock_guard held = hold();
        if (!op.done_) op.set_timeout(core_.transport().now_ns(), timeout_ns);
    }

    // A call of this rank was not started, because it broke a rule or memory ran out; `why` is its
    // error. Ranks that do start it must not wait for this one. So the `members` (empty: all ranks)
    // are told the cause, and the first message of a rank that has started it poisons its communicator.
    // If all ranks refuse the call, nothing happens.
    void refuse(const envelope& tag, errc why, std::span<const rank_t> members = {}) {
        const lock_guard held = hold();
        if (!forked()) core_.refuse(tag, why, members);
        ring_for_the_rest();
    }

    // For a call that this rank prepares by control messages (bough/communicator/partial_calls.hpp):
    // would it end with an error at once, if it started now? `call` is signed.
    bool cannot_start(const envelope& call) const {
        return with_lock([&] { return forked() || core_.cannot_start(call); });
    }
    // Gives up such a call. It ends with peer_aborted on the other members of its communicator.
    void give_up_call(const envelope& call, const status& why) {
        if (!forked()) with_lock([&] { core_.give_up_call(call, why); });
        ring_for_the_rest();
    }

    // Makes room for operations of this plan in this context: their starts allocate nothing.
    void reserve(prepared& work, std::uint16_t context) {
        const lock_guard held = hold();
        if (!forked()) core_.reserve(work, context);
    }

    // Gives an operation up: it ends with errc::cancelled, and on the other members of its
    // communicator with peer_aborted, unless it has ended well there. Nothing else ends.
    void cancel(session_operation& op) {
        const lock_guard held = hold();
        if (!is_over(op)) core_.cancel(op, errc::cancelled);
    }
    // For an exception that does not come from the op, for instance when memory runs out: ends the
    // operation, and its communicator with it, unless the operation has ended.
    void abandon(session_operation& op) noexcept;
    // Waits until the transport has given back the bytes of an operation that has failed. Rule T9
    // says that it does so soon. False: it has not within give_back_ns, and breaks the rule.
    bool wait_for_bytes(session_operation& op) noexcept {
        const std::uint64_t last = deadline_after(now_ns(), give_back_ns);
        wait_until([&] { return is_done(op) || now_ns() >= last; }, last);
        return is_done(op);
    }
    // Gives up the operations that no program waits for (session_operation::set_unattended), and waits as
    // long for their bytes.
    void end_unattended() {
        const std::uint64_t last = deadline_after(now_ns(), give_back_ns);
        const auto is_over = [this] { return with_lock([this] { return forked() || core_.end_unattended(); }); };
        wait_until([&] { return is_over() || now_ns() >= last; }, last);
    }
    static constexpr std::uint64_t give_back_ns = 10'000'000'000;
    static constexpr const char* kept_bytes =
        "transport: does not give the bytes of a cancelled operation back (T9), and they must not be destroyed before";

    // Polls once and moves on what can move. Returns true if something happened, or a message has arrived
    // for which there is no memory yet.
    bool progress() {
        const lock_guard held = hold();
        return !is_torn() && core_.progress();
    }

    // Frees the slots of messages that cannot be used yet, as others may be waiting for them. Whoever
    // sleeps until the transport has something calls this between its last poll and the sleep. True: it
    // must not sleep yet. `always`: also with no operation in flight, for a caller that does not sleep.
    bool make_way(bool always = false) {
        return with_lock([&] { return !forked() && core_.make_way(always); });
    }

    // Has the operation ended? Use this, not op.done(), where another thread may be using the
    // session. In the child of a fork it ends the operation.
    bool is_done(session_operation& op) const {
        return with_lock([&] { return is_over(op); });
    }
    std::size_t outstanding() const { // operations in flight
        return with_lock([&] { return forked() ? 0 : core_.outstanding(); });
    }

    // Is there work to do before the next call? That is: operations in flight, calls that wait for their
    // turn, an open dispute, messages that are still to be sent, or bytes that wait in the transport.
    bool busy() const {
        const lock_guard held = hold();
        if (forked()) return false;
        return core_.outstanding() != 0 || core_.has_attendants() || core_.has_put_off() || core_.has_to_send() ||
               core_.unsent() || core_.is_disputed();
    }

    // Wakes what drives the session beside its callers (a progress thread, an executor), if there is work. May
    // throw if memory runs out: then perhaps nothing but the callers moves it on.
    void ring() {
        if constexpr (HearsOfStarts<T>) {
            const lock_guard held = hold();
            if (busy()) core_.transport().operation_started();
        }
    }

    // Would wait() do nothing, as it has ended well?
    bool needs_no_wait(const session_operation& op) const {
        return with_lock([&] { return op.done_ && !op.result_ && !core_.is_poll_due(); });
    }
    // Makes progress until the operation is done: never longer than its timeout, unless the
    // transport breaks its rules.
    const status& wait(session_operation& op, const waiting_hook& hook = detail::no_hook) {
        if (PollsPeers<T> && with_lock([this] { return core_.is_poll_due(); })) (void)progress();
        std::uint64_t attend_ns = 0;
        const auto done = [&] {
            const lock_guard held = hold();
            attend_ns = core_.attend_ns(op);
            return !op.is_still_awaited();
        };
        if (!wait_until(done, attend_ns, hook, op.waits_for_late()) && !op.done_) op.end_in_child();
        return op.result_;
    }

    // Makes progress until `done()`. The transport may sleep until deadline_ns, which done() may
    // change. The hook is called while it waits. `late`: what it waits for is done in late places. False:
    // it is not done, and this is the child of a fork.
    template <class F>
    bool wait_until(F&& done, const std::uint64_t& deadline_ns, const waiting_hook& hook = detail::no_hook,
                    bool late = false) {
        std::uint32_t idle = 0;
        for (std::uint32_t turn = 1; !is_torn() && !done(); ++turn) {
            if ((turn & 1023u) == 0) check_deadlines(); // even if other operations keep this rank busy
            if (turn_while_waiting()) {
                idle = 0;
                if (hook && waiting_hook::is_due(turn)) (void)hook(idle);
                continue;
            }
            if (forked()) return false;
            ++idle;
            if ((idle & 63u) == 0) check_deadlines();
            if (hook && hook(idle)) continue;
            if constexpr (WaitsForLate<T>)
                if (late) {
                    transport().wait_for_late(idle, deadline_ns);
                    continue;
                }
            if constexpr (WaitableTransport<T>) transport().wait(idle, deadline_ns);
        }
        return !is_torn();
    }

    // When check_deadlines() must look at this operation next, by the transport's clock. 0: at
    // once, because its time has not begun.
    std::uint64_t attend_ns(const session_operation& op) const {
        return with_lock([&] { return core_.attend_ns(op); });
    }
    // Ends operations whose time is up. Before that, it looks for the ranks that hold them up
    // (deadline_watch.hpp). Callers that use progress() instead of wait() must call this now and
    // then.
    void check_deadlines() {
        const lock_guard held = hold();
        if (!forked()) core_.check_deadlines();
    }

    // The communicators of this session (bough/group.hpp). Only within with_lock.
    bough::contexts& contexts() noexcept { return core_.contexts(); }
    // This rank has a communicator with this context and these members (empty: all ranks), which stay
    // where they are until it lets the communicator go.
    void open_communicator(std::uint16_t context, std::span<const rank_t> members) {
        const lock_guard held = hold();
        core_.open(context, members);
    }
    // Pre: none of its operations is in flight on this rank, and the epoch is that of
    // open_communicator(). `is_last`: this rank leaves the group with it, and need not tell the others.
    void let_go_of_communicator(std::uint16_t context, bool is_last) {
        const lock_guard held = hold();
        if (forked() || core_.contexts().members(context) == nullptr) return; // it was withdrawn
        if (is_last) return core_.contexts().leave(context);
        core_.end_calls(context, true);
        ring_for_the_rest();
    }
    // This rank makes no further call of a communicator.
    void end_calls_of_communicator(std::uint16_t context) {
        const lock_guard held = hold();
        if (!forked()) core_.end_calls(context, false);
        ring_for_the_rest();
    }
    // Every later call of this communicator ends with group_poisoned, on all of its members.
    void break_communicator(std::uint16_t context, const status& why) {
        const lock_guard held = hold();
        if (!forked()) core_.break_communicator(context, why);
        ring_for_the_rest();
    }

    // --- for bough/communicator/call_order.hpp ---

    // From now on every poll of this session attends to `a`, until leave(). Call it again when another
    // call of `a` has become the oldest that waits. In the child of a fork nobody is attended to.
    void attend_to(detail::attendant& a) {
        const lock_guard held = hold();
        if (!forked()) core_.attend_to(a);
    }
    void leave(detail::attendant& a) noexcept {
        const lock_guard held = hold();
        if (!forked()) core_.leave(a);
    }
    // Nobody is attended to, until it is called with false (bough/group.hpp, shrink).
    void pause_attendants(bool are_paused) noexcept {
        const lock_guard held = hold();
        core_.pause_attendants(are_paused);
    }
    // The place of a call that is made now, and starts later (session_operation::set_place).
    detail::operation_place take_place() {
        return with_lock([&] { return core_.take_place(); });
    }

    // --- for bough/communicator/core.hpp ---

    // Records the calls of a communicator, until unrecord(). If memory runs out, nothing has changed.
    void record(detail::recorder& its) {
        const lock_guard held = hold();
        core_.records().add(its);
    }
    void unrecord(detail::recorder& its) noexcept {
        const lock_guard held = hold();
        core_.records().remove(its);
    }
    // Calls f(recorder) for that of each communicator, after they have noted what is in flight now.
    template <class F>
    void for_each_recorder(F&& f) {
        const lock_guard held = hold();
        if (!forked()) core_.note();
        if (!is_torn()) core_.records().for_each(f);
    }

    // --- for bough/session/agreement.hpp, and for NIC programs (bough/nic/run/host.hpp) ---

    void send_control(rank_t to, const envelope& tag, std::span<const std::byte> bytes) {
        const lock_guard held = hold();
        if (!forked()) core_.send_control(to, tag, bytes);
    }
    // Have the control messages to this rank left the process?
    bool has_told(rank_t to) {
        const lock_guard held = hold();
        return forked() || core_.messages().has_told(to);
    }
    static constexpr std::uint16_t shrink_context = bough::contexts::none;
    // The messages of this session, and of others to it; send_control() sends one. Within with_lock.
    detail::control<T>& messages() noexcept { return core_.messages(); }
    const detail::control<T>& messages() const noexcept { return core_.messages(); }
    // Something that runs on control messages has failed: poisons the group with `why`.
    void give_up(const status& why) {
        const lock_guard held = hold();
        if (!forked()) core_.give_up(why);
    }
    // Treats a rank as lost: its messages are dropped from now on, even if it is alive, as it may
    // belong to another group by then.
    void suspect(rank_t r) {
        const lock_guard held = hold();
        core_.suspect(r);
    }
    // Begins a new epoch: the poison ends, and what belongs to the old epoch is dropped. Pre: no
    // operation is in flight.
    void begin_epoch() {
        const lock_guard held = hold();
        core_.begin_epoch();
    }

private:
    using mutex = typename detail::session_mutex_of<T>::type;
    using lock_guard = detail::locked<mutex>;
    static constexpr bool has_mutex = !std::is_same_v<mutex, detail::no_mutex>;

    // In the child of a fork the mutex is not locked: no thread is left there to unlock it, and
    // none to keep out.
    lock_guard hold() const {
        if constexpr (has_mutex)
            return lock_guard(mutex_, !forked());
        else
            return lock_guard(mutex_);
    }
    // Is this the child of a fork, and did another thread perhaps change the core at the fork? Then this copy
    // is not touched. Where one thread uses the session, only that thread may fork a child that uses it.
    bool is_torn() const noexcept { return has_mutex && forked(); }
    static status in_child() noexcept { return {.code = errc::forked_child}; }
    bool turn_while_waiting() {
        const lock_guard held = hold();
        return !is_torn() && core_.progress(true);
    }
    bool is_over(session_operation& op) const {
        if (!op.done_ && forked()) op.end_in_child();
        return op.done_;
    }
    // The transport has perhaps not taken all that this rank has to tell, and no operation is in flight
    // for which somebody polls.
    void ring_for_the_rest() noexcept {
        detail::ignore_exceptions([this] { ring(); });
    }
    void tell_the_rest() {
        const auto left = [this] { return core_.has_to_send() || core_.unsent() || core_.is_disputed(); };
        if (!left()) return;
        const std::uint64_t last = deadline_after(now_ns(), 100'000'000);
        for (std::uint32_t idle = 1; left() && now_ns() < last; ++idle) {
            progress();
            if constexpr (WaitableTransport<T>) transport().wait(idle, last);
        }
    }

    union { // ~session() destroys it, or leaves it to the parent
        detail::session_core<T> core_;
    };
    [[no_unique_address]] mutable mutex mutex_;
};

// Not inline, so that the compiled form can hold them.
template <Transport T>
session<T>::~session() {
    if (!forked()) tell_the_rest();
    if (!is_torn()) std::destroy_at(&core_);
}

template <Transport T>
void session<T>::abandon(session_operation& op) noexcept {
    const lock_guard held = hold();
    if (is_over(op)) return;
    core_.cancel(op, errc::no_resources);
    BOUGH_EXPECTS(wait_for_bytes(op), kept_bytes);
}

} // namespace bough

#endif
