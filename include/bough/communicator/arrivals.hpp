// SPDX-License-Identifier: BSL-1.0
// arrivals: what a communicator knows of when its ranks come (communicator_options::follow_arrivals).
//
// Each rank measures how long it spends in each call that is followed. After N of them, when it has
// started the next one, it starts an allgather of its latest times, as a call of the communicator right
// behind that one: all ranks make the same calls in the same order, so all start it in the same place.
// (Before that call it would be the older of the two, and the call could not send as much as it likes
// while a rank is away.)
//
// What the allgather says takes effect N / 2 calls later, at least one. All ranks compute it from equal
// times (lateness.hpp) and take it in the same call, so they take the same plan. By then the allgather
// has ended, as a rule. A rank for which it has not waits for it, at most for the communicator's timeout.
// A call counts when it starts, as ranks may come to the refusal of a call in different ways.
//
// *Failures*: if the allgather fails on one rank, others may have its result. Then they could not agree
// any more, so the communicator is broken with that error.
// *Memory*: 64 bytes for each rank, allocated by the first call that is followed.
#ifndef BOUGH_COMMUNICATOR_ARRIVALS_HPP
#define BOUGH_COMMUNICATOR_ARRIVALS_HPP

#include <bough/algorithm/allgather/circulant.hpp>
#include <bough/communicator/lateness.hpp>
#include <bough/communicator/plan_cache.hpp>
#include <bough/communicator/spare_frame.hpp>
#include <bough/core/config.hpp>
#include <bough/core/status.hpp>
#include <bough/engine/call.hpp>
#include <bough/op/identity.hpp>
#include <bough/op/mix_hash.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/schedule/plan.hpp>
#include <bough/session/operation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// Shorter vectors are not followed: there is little to gain.
inline constexpr std::uint64_t least_followed_bytes = 1 << 16;

// A call that is followed.
struct followed_call {
    lateness late{}; // by which its plan is chosen
    std::uint64_t number = 0, begun_ns = 0;
};

// `Core` is communicator_core, whose part it is.
template <class Core>
class arrivals final : public spare_frame {
public:
    // Pre: the communicator has at least two ranks; every >= 1.
    arrivals(Core& core, std::uint32_t every)
        : core_(core), every_(every), calls_(std::min<std::size_t>(every, most_calls_timed)),
          times_(calls_ * (core.size() + std::size_t{2}), not_measured),
          exchange_(hold_bound(plan<goal::allgather, circulant_allgather>(circulant_allgather{}, {.size = core.size()}),
                               core.rank(), core.members())) {
        core_.name_plan(*exchange_);
        core_.reserve(exchange_->work, what(), signature());
        operation().set_unattended();
    }
    arrivals(const arrivals&) = delete;
    arrivals& operator=(const arrivals&) = delete;
    ~arrivals() override = default; // after end()

    const lateness& expected() const noexcept { return late_.now; }

    // Has an allgather failed? The communicator is broken, though no call of the program has failed.
    bool has_failed() const { return core_.shared_session()->is_done(operation()) && operation().result(); }

    // This rank makes a call. An error: it must be refused.
    status enter(followed_call& made) {
        made = {};
        auto& session = *core_.shared_session();
        if (session.forked() || core_.is_stale()) return {}; // as the start of the call says
        made.begun_ns = session.now_ns();
        if (is_open_ && since_ == std::max(every_ / 2, 1u))
            if (const status bad = close()) return bad;
        made.number = number_ + 1;
        made.late = late_.now;
        is_entered_ = true;
        return {};
    }
    // A call of the communicator has started. If it is one that has been entered, it counts; and if an
    // exchange is due, that starts, too.
    BOUGH_COLD void follow_up() {
        if (!std::exchange(is_entered_, false)) return;
        const bool is_due = since_ == every_;
        if (is_due) std::copy_n(times_.data(), calls_, told());
        times_[static_cast<std::size_t>(++number_ % calls_)] = not_measured;
        since_ = is_due ? 1 : since_ + 1;
        if (!is_due) return;
        is_open_ = true;
        const status bad =
            core_.start_next(operation(), exchange_->work, what(), signature(), forever, core_.options.priority, {});
        if (bad) core_.shared_session()->break_communicator(core_.context(), bad);
    }
    // Whether or not it has started, it has been entered: no other call counts for it.
    void settle() noexcept { is_entered_ = false; }
    // It has ended well.
    void leave(const followed_call& its) {
        if (number_ - its.number >= calls_) return; // its place has been taken
        times_[static_cast<std::size_t>(its.number % calls_)] =
            call_time_of(core_.shared_session()->now_ns() - its.begun_ns);
    }

    // Nothing of it is in flight any more. False: the transport has not given back its memory, and holds
    // it for good.
    bool end() noexcept {
        auto& session = *core_.shared_session();
        if (session.is_done(operation())) return true;
        session.cancel(operation());
        return session.wait_for_bytes(operation());
    }

private:
    session_operation& operation() const noexcept { return exchange_->blocking; }
    // What this rank tells the others; behind it, what all have told.
    call_time* told() noexcept { return times_.data() + calls_; }

    call what() noexcept {
        call c;
        c.input = reinterpret_cast<const std::byte*>(told());
        c.input_block = core_.rank();
        c.output = reinterpret_cast<std::byte*>(told() + calls_);
        c.count = calls_ * core_.size();
        c.element_bytes = sizeof(call_time);
        return c;
    }
    // No call of a user has this type. It has N, on which all ranks must agree.
    call_signature signature() const noexcept {
        call_signature made;
        made.kind = goal::allgather::kind;
        made.op = op_id<void>;
        made.type = mix_hash(0x6172'7269'7661'6c73, every_);
        made.count = calls_ * core_.size();
        return made;
    }
    status close() {
        auto& session = *core_.shared_session();
        is_open_ = false;
        session.set_timeout_ns(operation(), core_.options.timeout_ns); // and it says who is missing
        if (const status why = session.wait(operation(), core_.hook())) {
            late_ = {};
            session.break_communicator(core_.context(), why);
            core_.report_failure(why);
            return why;
        }
        late_.hear(std::span<const call_time>(told() + calls_, calls_ * core_.size()), calls_);
        return {};
    }

    Core& core_;
    std::uint32_t every_, since_ = 0; // calls between two exchanges, and since the latest one began
    std::size_t calls_;               // whose times are told
    bool is_entered_ = false;         // a call has been entered, and has not started yet
    bool is_open_ = false;            // one has begun, and has no effect yet
    std::uint64_t number_ = 0;        // of the latest call that has started
    std::vector<call_time> times_;    // of this rank's latest calls; what it tells; what all have told
    std::unique_ptr<bound_plan> exchange_;
    lateness_in_turn late_{};
};

} // namespace bough::detail

#endif
