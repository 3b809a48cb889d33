// SPDX-License-Identifier: BSL-1.0
// communicator: a group of ranks over a transport, and the plans that this rank has bound. What every collective is called on.
//
// The first communicator takes the transport; duplicate() and split() (bough/group.hpp) make further ones over the same.
// One thread at a time. All ranks of the group make the same calls in the same order; a rank that does not is told so
// (call_mismatch), as are the others. Moving a communicator is cheap; destroying the last one over
// a transport ends this rank's part in the group.
#ifndef BOUGH_COMMUNICATOR_HPP
#define BOUGH_COMMUNICATOR_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/contract.hpp>
#include <bough/execute/session.hpp>
#include <bough/model/lrc.hpp>
#include <bough/schedule/plan.hpp>
#include <bough/select/any_costs.hpp>
#include <bough/select/candidates.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace bough {

struct communicator_options {
    std::uint64_t timeout_ns = 30'000'000'000; // an operation that takes longer ends with errc::deadline
    std::size_t cached_plans = 64;             // bound plans kept for reuse; at least 1
    early_limits early{};                      // for messages that come before their operation
    // The costs that a collective without a given algorithm is chosen by: any CostModel. Must be equal on all ranks.
    any_costs costs =
        model::lrc{.message_latency_ns = 100, .receive = {60, 0.1}, .combine = {10, 0.1}, .startup_ns = 50, .copy = {}};
};

template <Transport T>
class communicator {
public:
    // The communicator of all ranks of a transport.
    explicit communicator(T transport, communicator_options options = {})
        : communicator(std::make_shared<session<T>>(std::move(transport), options.early), {}, 0, options) {}

    // One of `members` (ranks of the transport, this one among them; empty: all), in a context that no other communicator
    // of theirs uses. For bough/group.hpp.
    communicator(std::shared_ptr<session<T>> shared, std::vector<rank_t> members, std::uint16_t context,
                 communicator_options options)
        : options_(options), session_(std::move(shared)), members_(std::move(members)), context_(context),
          epoch_(session_->epoch()) {
        BOUGH_EXPECTS(options.cached_plans >= 1, "cached_plans: at least one plan must be kept");
        rank_ = session_->rank();
        for (rank_t r = 0; r != members_.size(); ++r)
            if (members_[r] == session_->rank()) rank_ = r;
    }

    rank_t rank() const noexcept { return rank_; }
    rank_t size() const noexcept { return members_.empty() ? session_->size() : static_cast<rank_t>(members_.size()); }
    // The transport's number of a rank of this communicator.
    rank_t world_rank(rank_t r) const noexcept { return members_.empty() ? r : members_[r]; }
    const std::shared_ptr<session<T>>& shared_session() const noexcept { return session_; }
    std::uint16_t context() const noexcept { return context_; }
    T& transport() noexcept { return session_->transport(); }
    const communicator_options& options() const noexcept { return options_; }
    void set_timeout_ns(std::uint64_t timeout) noexcept { options_.timeout_ns = timeout; }
    void set_costs(const any_costs& costs) noexcept {
        options_.costs = costs;
        choices_.clear();
    }

    // Looks after messages while the program does something else. Returns true if something happened.
    bool progress() { return session_->progress(); }
    // The failure that broke the group, if any: every later operation ends with group_poisoned.
    const status& poison() const noexcept { return session_->poison(); }

    // Runs a plan on this rank and waits for its end. Pre: the plan's size is the group's. For front doors and for plans
    // of your own; it checks nothing about types.
    template <Plan P>
    status run(const P& plan, const call& c, call_signature signature) {
        if (is_stale()) return stale();
        envelope tag = next_tag();
        operation op;
#if BOUGH_HAS_EXCEPTIONS
        try {
            return run_tagged(plan, c, signature, tag, op);
        } catch (...) { // memory ran out, before the operation or in the middle of it
            if (op.done())
                return session_->refuse(tag, members_), status{.code = errc::no_resources, .operation = tag.operation};
            session_->abandon(op);
            return op.result();
        }
#else
        return run_tagged(plan, c, signature, tag, op);
#endif
    }

    // Ends a call that broke a rule before it started: it still counts as one, so that the ranks stay in step.
    status refuse(const status& why) {
        if (is_stale()) return stale();
        session_->refuse(next_tag(), members_);
        return why;
    }
    // A later epoch has begun without this communicator (bough/group.hpp, shrink).
    bool is_stale() const noexcept { return epoch_ != session_->epoch(); }
    static status stale() noexcept { return {.code = errc::group_poisoned}; }

    // Which of the plans a front door may take it took the last time. A choice is a pure function of the key and of
    // options().costs, so it may be kept.
    struct choice_key {
        std::uint8_t kind = 0;
        std::uint8_t size_class = 0; // log2 of the bytes
        rank_t root = 0;
        rank_t ranks = 0; // that take part, where it need not be all; else 0
        requirements needed{};
        bool exact = false; // the op
        friend constexpr bool operator==(const choice_key&, const choice_key&) = default;
    };
    template <class F>
    std::size_t remember(const choice_key& key, F&& choose) {
        const made_choice* known = find_choice(key);
        return known != nullptr ? known->winner : keep({key, choose(), nullptr}).winner;
    }
    // The same of a plan: `choose` returns a shared pointer to it; null, if there is none.
    template <class P, class F>
    const P* remember_plan(const choice_key& key, F&& choose) {
        const made_choice* known = find_choice(key);
        if (known == nullptr) known = &keep({key, 0, std::shared_ptr<const P>(choose())});
        return static_cast<const P*>(known->plan.get());
    }

private:
    struct made_choice {
        choice_key key;
        std::size_t winner;
        std::shared_ptr<const void> plan;
    };
    const made_choice* find_choice(const choice_key& key) const noexcept {
        for (const made_choice& c : choices_)
            if (c.key == key) return &c;
        return nullptr;
    }
    const made_choice& keep(made_choice made) {
        if (choices_.size() == 256) choices_.clear();
        choices_.push_back(std::move(made));
        return choices_.back();
    }

    template <class P>
    status run_tagged(const P& plan, const call& c, const call_signature& signature, envelope tag, operation& op) {
        prepared& work = find(plan);
        tag.plan = work.bound().plan_id;
        if (!c.offsets.empty())
            tag.plan ^= detail::hash_offsets(c.offsets); // how the vector is cut is the plan's affair
        if (!c.row_offsets.empty()) {
            if (!work.direct()) {
                session_->refuse(tag, members_);
                status s =
                    invalid_argument("plan: passes on blocks of other ranks, whose lengths this rank does not know");
                s.code = errc::unsupported;
                return s;
            }
            tag.plan = static_cast<std::uint16_t>(~tag.plan); // does not match blocks of equal length
        }
        tag.signature = signature;
        tag.signature.kind = decltype(plan.goal())::kind;
        session_->start(op, work, c, tag, options_.timeout_ns);
        return session_->wait(op);
    }

    envelope next_tag() noexcept {
        envelope tag;
        tag.operation = ++operations_;
        tag.context = context_;
        return tag;
    }

    // A bound plan, whatever its type. The plan most lately used stands first.
    struct entry {
        virtual ~entry() = default;
        explicit entry(const void* t, bound_schedule b) : tag(t), work(std::move(b)) {}
        const void* tag;
        prepared work;
    };
    template <class P>
    struct entry_of final : entry {
        entry_of(const void* t, const P& p, rank_t rank, const std::vector<rank_t>& members)
            : entry(t, bough::bind_plan(p, rank, members)), plan(p) {}
        P plan;
    };
    template <class P>
    static constexpr char tag_of = 0;

    template <class P>
    prepared& find(const P& plan) {
        for (std::size_t i = 0; i != cache_.size(); ++i)
            if (cache_[i]->tag == &tag_of<P> && static_cast<entry_of<P>&>(*cache_[i]).plan == plan) {
                for (; i != 0; --i) std::swap(cache_[i], cache_[i - 1]);
                return cache_[0]->work;
            }
        if (cache_.size() == options_.cached_plans) cache_.pop_back();
        cache_.insert(cache_.begin(), std::make_unique<entry_of<P>>(&tag_of<P>, plan, rank(), members_));
        return cache_[0]->work;
    }

    communicator_options options_;
    std::shared_ptr<session<T>> session_; // does not move: operations in flight point into it
    std::vector<rank_t> members_;         // empty: all, by their own numbers
    std::uint16_t context_ = 0;
    std::uint32_t epoch_ = 1;
    rank_t rank_ = 0;
    std::vector<std::unique_ptr<entry>> cache_;
    std::vector<made_choice> choices_;
    std::uint32_t operations_ = 0;
};

} // namespace bough

#endif
