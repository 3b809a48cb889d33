// SPDX-License-Identifier: BSL-1.0
// Communicator_core: what a communicator and the operations that it has started share. It outlives whichever goes first.
#ifndef BOUGH_COMMUNICATOR_CORE_HPP
#define BOUGH_COMMUNICATOR_CORE_HPP

#include <bough/communicator/plan_cache.hpp>
#include <bough/communicator/unbound_call.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/schedule/plan.hpp>
#include <bough/select/any_cost_model.hpp>
#include <bough/select/candidates.hpp>
#include <bough/select/transport_costs.hpp>
#include <bough/session/session.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

struct communicator_options {
    std::uint64_t timeout_ns =
        30'000'000'000; // an operation that takes longer, from its start, ends with errc::deadline
    // Bound plans kept for reuse, besides those in use; at least 1. They keep their scratch, and are looked through in each
    // call, the one most lately used first. Who goes round among more than these binds one anew in each call.
    std::size_t cached_plans = 64;
    early_limits early{}; // for messages that come before their operation
    // The costs that a collective without a given algorithm is chosen by: any CostModel. Must be equal on all ranks. None:
    // those that the transport states (bough/select/transport_costs.hpp); communicator::options() has them in their place.
    any_cost_model costs{};
};

namespace detail {

// Which of the plans a front door may take it took the last time. A choice is a pure function of the key and of
// options().costs, so it may be kept.
struct choice_key {
    std::uint8_t kind = 0;
    std::uint8_t size_class = 0; // of the bytes: size_class_of(); with bit 7 set, of a vector that stays whole
    rank_t root = 0;
    rank_t ranks = 0; // that take part, where it need not be all; else 0
    requirements needed{};
    bool exact = false;        // the op
    std::uint64_t members = 0; // a hash of those that take part, where it matters which they are; else 0
    friend constexpr bool operator==(const choice_key&, const choice_key&) = default;
};

// Memory of one started operation (bough/communicator/operation_state.hpp), kept for the next.
struct spare_frame {
    virtual ~spare_frame() = default;
    spare_frame* next_kept = nullptr;
};

// Frames whose memory a transport has not given back. They are never destroyed, and never lost from sight.
inline std::atomic<spare_frame*> leaked_frames{nullptr};
inline void keep_for_good(spare_frame& frame) noexcept {
    frame.next_kept = leaked_frames.load();
    while (!leaked_frames.compare_exchange_weak(frame.next_kept, &frame)) {
    }
}

template <Transport T>
class communicator_core {
public:
    communicator_core(std::shared_ptr<session<T>> shared, std::vector<rank_t> members, std::uint16_t context,
                      const communicator_options& given)
        : options(given), plans(given.cached_plans), session_(std::move(shared)), members_(std::move(members)),
          context_(context), epoch_(session_->epoch()) {
        BOUGH_EXPECTS(options.cached_plans >= 1, "cached_plans: at least one plan must be kept");
        if (!options.costs) options.costs = bough::default_costs_of(session_->transport());
        rank_ = session_->rank();
        for (rank_t r = 0; r != members_.size(); ++r)
            if (members_[r] == session_->rank()) rank_ = r;
    }

    rank_t rank() const noexcept { return rank_; }
    rank_t size() const noexcept { return members_.empty() ? session_->size() : static_cast<rank_t>(members_.size()); }
    const std::vector<rank_t>& members() const noexcept { return members_; }
    const std::shared_ptr<session<T>>& shared_session() const noexcept { return session_; }
    std::uint16_t context() const noexcept { return context_; }
    // A later epoch has begun without this communicator (bough/group.hpp, shrink).
    bool is_stale() const { return epoch_ != session_->epoch(); }
    static status stale() noexcept { return {.code = errc::group_poisoned}; }

    envelope next_tag() noexcept {
        envelope tag;
        tag.operation = ++operations_;
        tag.context = context_;
        return tag;
    }
    status refuse(const status& why) {
        if (session_->forked()) return {.code = errc::forked_child};
        if (is_stale()) return stale();
        session_->refuse(next_tag(), why.code, members_);
        detail::ignore_exceptions([this] { ring(); });
        return why;
    }
    // Starts a call under a number of its own. If memory runs out, the number is refused, or the operation abandoned: the
    // others are told in either case. An error: the operation has not started.
    status start(session_operation& op, prepared& work, const call& c, const call_signature& signature) {
        if (is_stale()) return stale();
        envelope tag = next_tag();
        bool has_started = false;
#if BOUGH_HAS_EXCEPTIONS
        try {
            return start_tagged(op, work, c, signature, tag, has_started);
        } catch (...) {
            if (has_started && session_->is_done(op)) return {}; // the helper was not needed for this one
            return give_up(op, tag);
        }
#else
        return start_tagged(op, work, c, signature, tag, has_started);
#endif
    }
    // After an exception: ends the operation, if it is in flight, or refuses its number.
    status give_up(session_operation& op, const envelope& tag) {
        if (session_->is_done(op))
            return session_->refuse(tag, errc::no_resources, members_),
                   status{.code = errc::no_resources, .operation = tag.operation};
        session_->abandon(op);
        return op.result();
    }

    // Polls once. Deadlines are looked at now and then: more often if there is nothing else to do.
    bool progress() {
        const bool moved = session_->progress();
        if ((turns_ += moved ? 1 : 16) >= 1024) {
            turns_ = 0;
            session_->check_deadlines();
        }
        return moved;
    }

    // `choose` returns a shared pointer to a plan; null, if there is none.
    template <class P, class F>
    const P* remember_plan(const choice_key& key, F&& choose) {
        for (const made_choice& c : choices_)
            if (c.key == key) return static_cast<const P*>(c.plan.get());
        made_choice made{key, std::shared_ptr<const P>(choose())};
        if (choices_.size() != kept_choices) {
            choices_.push_back(std::move(made));
            return static_cast<const P*>(choices_.back().plan.get());
        }
        made_choice& oldest = choices_[next_choice_++ % kept_choices];
        oldest = std::move(made);
        return static_cast<const P*>(oldest.plan.get());
    }
    void forget_choices() noexcept {
        choices_.clear();
        next_choice_ = 0;
    }
    static constexpr std::size_t kept_choices = 256;

    communicator_options options;
    plan_cache plans;
    std::vector<std::unique_ptr<spare_frame>> spare_frames;
    unbound_call<communicator_core> unbound;

private:
    struct made_choice {
        choice_key key;
        std::shared_ptr<const void> plan;
    };

    // Wakes whoever drives the session besides its callers, if there is anything to do. May throw for want of memory: then
    // nobody may look after what was started.
    void ring() {
        if constexpr (requires { session_->transport().operation_started(); })
            session_->with_lock([this] {
                if (session_->busy()) session_->transport().operation_started();
            });
    }
    status start_tagged(session_operation& op, prepared& work, const call& c, call_signature signature,
                        const envelope& tag, bool& has_started) {
        signature.plan = work.bound().plan_id;
        if (!c.offsets.empty()) signature.plan ^= hash_offsets(c.offsets); // how the vector is cut is the plan's affair
        if (!c.row_offsets.empty()) {
            if (!work.direct()) {
                session_->refuse(tag, errc::unsupported, members_);
                status s =
                    invalid_argument("plan: passes on blocks of other ranks, whose lengths this rank does not know");
                s.code = errc::unsupported;
                return s;
            }
            signature.plan = ~signature.plan; // does not match blocks of equal length
        }
        session_->start(op, work, c, tag, signature, options.timeout_ns);
        has_started = true;
        ring();
        return {};
    }

    std::shared_ptr<session<T>> session_; // does not move: operations in flight point into it
    std::vector<rank_t> members_;         // empty: all, by their own numbers
    std::uint16_t context_ = 0;
    std::uint32_t epoch_ = 1;
    rank_t rank_ = 0;
    std::vector<made_choice> choices_;
    std::size_t next_choice_ = 0; // to be replaced, once all places are taken
    std::uint32_t operations_ = 0;
    std::uint32_t turns_ = 0;
};

} // namespace detail
} // namespace bough

#endif
