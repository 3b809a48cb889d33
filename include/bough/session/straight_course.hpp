// SPDX-License-Identifier: BSL-1.0
// straight_course: the one short operation of a session that runs straight
// (bough/engine/straight_run.hpp), without matching and without the engine, while nothing is unusual.
//
// It is the only operation in flight. Its messages are looked for at the peer that the next step waits
// for, and nowhere else. So after some looks in vain, and after some operations without a poll of all
// peers, the engine goes on instead: a rank whose messages are always there already would never look at
// other peers.
#ifndef BOUGH_SESSION_STRAIGHT_COURSE_HPP
#define BOUGH_SESSION_STRAIGHT_COURSE_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/engine/straight_run.hpp>
#include <bough/session/failure.hpp>
#include <bough/session/in_flight.hpp>
#include <bough/session/operation.hpp>
#include <bough/session/straight_port.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

// What came of one turn: something happened; nothing yet; the engine must go on.
enum class straight_turn : std::uint8_t { moved, waits, over };

template <Transport T>
class straight_course {
public:
    straight_course(T& transport, in_flight<T>& flight, failure<T>& failure) noexcept
        : transport_(transport), flight_(flight), failure_(failure) {}

    bool is_running() const noexcept { return running_ != nullptr; }
    // May the next operation run straight, as far as its plan, the transport and the number of operations
    // since the last poll say? Counts it.
    bool serves(const prepared& work) noexcept {
        if constexpr (!can_run) return false;
        return work.is_short() && ++starts_ < most_starts_;
    }
    bool is_poll_due() const noexcept { return starts_ >= most_starts; }
    // All peers are polled now, for at most so many events. One message of each peer will do if enough
    // operations have started without a poll, or if the only operation in flight is a short one
    // (`is_alone`). What comes besides is for operations that have still to start. It would be kept until
    // then, and keep them from running straight.
    std::size_t poll(std::size_t most, bool is_alone) noexcept {
        const bool is_due = is_poll_due();
        starts_ = 0;
        if (is_alone) return std::min<std::size_t>(transport_.size(), most); // and the loss of a peer
        return is_due ? std::clamp<std::size_t>(transport_.size() - 1, 1, most) : most;
    }
    // May none run straight for now?
    void forbid(bool is_forbidden) noexcept { most_starts_ = is_forbidden ? 0 : most_starts; }

    // Pre: serves(), nothing runs, and `op` is in flight, alone. leave(event) is called if the engine must
    // go on. It calls stop(), and takes the message that nobody has used; null: there is none.
    template <class Leave>
    BOUGH_ALWAYS_INLINE void start(session_operation& op, const combine_call& combine, const Leave& leave) {
        op.work_->straight().start(combine);
        running_ = &op;
        go(1, true, leave);
    }
    // One turn of a caller. Pre: is_running(). `waits`: the caller does nothing else until its operation is
    // done.
    template <class Leave>
    straight_turn look(bool waits, const Leave& leave) {
        const std::uint32_t looks = waits ? looks_of_one_turn() : most_looks;
        if (go(waits ? looks : 1, false, leave)) return looks_ = 0, straight_turn::moved;
        if ((looks_ += looks) < most_looks) return straight_turn::waits;
        looks_ = 0;
        return straight_turn::over;
    }
    // The operation, which is left to the engine. Pre: is_running().
    session_operation& stop() {
        session_operation& op = *std::exchange(running_, nullptr);
        BOUGH_EXPECTS(!op.work_->straight().is_running(), op_calls_library);
        return op;
    }

private:
    static constexpr bool can_run = PollsPeers<T> && !GatheringTransport<T>;
    static constexpr std::uint32_t most_looks = 32;  // in vain
    static constexpr std::uint32_t most_starts = 64; // without a poll; the last of them runs in the engine

    // How often a caller that waits looks at a peer in one turn. With a core for each rank, it does
    // nothing else: so it sees the message sooner.
    std::uint32_t looks_of_one_turn() const noexcept {
        if constexpr (KnowsCores<T>)
            if (transport_.cores() >= transport_.size()) return most_looks;
        return 1;
    }
    struct one_run { // a lambda would not be inlined
        straight_run& run;
        straight_port<T>& through;
        straight_run::state& now;
        BOUGH_ALWAYS_INLINE void operator()() const { now = run.run(through); }
    };
    // True: something happened.
    template <class Leave>
    bool go(std::uint32_t looks, bool is_start, const Leave& leave) {
        if constexpr (can_run) {
            session_operation& op = *running_;
            straight_run& run = op.work_->straight();
            straight_port<T> p{transport_, op, latest_, looks};
            const std::uint32_t before = run.steps_done();
            straight_run::state now = straight_run::state::waits;
            failure_.guarded(op, one_run{run, p, now});
            if (op.result_) { // the user's op has thrown
                running_ = nullptr;
                return true;
            }
            if (now == straight_run::state::waits) return run.steps_done() != before;
            if (now == straight_run::state::done) {
                running_ = nullptr;
                if (op.record_.in != nullptr)
                    is_start ? op.record_.in->ends_alone(op.tag_.operation) : op.record_.in->ends(op.tag_.operation);
                flight_.remove_only(op);
                return true;
            }
            const event unused = latest_; // the next run may find another one meanwhile
            leave(p.is_unused ? &unused : nullptr);
            return true;
        }
        return false;
    }

    T& transport_;
    in_flight<T>& flight_;
    failure<T>& failure_;
    session_operation* running_ = nullptr;
    event latest_{};           // of the port, which need not clear it for each call
    std::uint32_t starts_ = 0; // since the last poll
    std::uint32_t most_starts_ = most_starts;
    std::uint32_t looks_ = 0; // in vain, one after the other
};

} // namespace bough::detail

#endif
