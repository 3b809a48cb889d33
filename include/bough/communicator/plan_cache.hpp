// SPDX-License-Identifier: BSL-1.0
// plan_cache: keeps the plans that a rank has bound and that no operation uses at the moment,
// whatever their types.
//
// A blocking call uses a plan in the cache. A started operation takes its plan out, and gives it
// back at its end. So if the same plan is in flight twice, it is bound twice. The cache never keeps
// more than its limit, but for plans whose blocking call is under way.
#ifndef BOUGH_COMMUNICATOR_PLAN_CACHE_HPP
#define BOUGH_COMMUNICATOR_PLAN_CACHE_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/config.hpp>
#include <bough/core/label.hpp>
#include <bough/core/moved_list.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/engine/bound.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/schedule/schedule.hpp>
#include <bough/session/operation.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

struct bound_plan {
    virtual ~bound_plan() = default;
    template <int = 0>
    bound_plan(const void* t, bound_schedule b) : tag(t), work(std::move(b)) {}
    const void* tag; // names its type
    prepared work;
    session_operation blocking;     // of the blocking call that uses the plan, kept for the next one
    virtual label text() const = 0; // of its algorithm
    virtual schedule steps_of(rank_t) const = 0;
    virtual block_t blocks() const = 0;
    bool is_named = false;   // the recorder of its communicator knows what it is called
    bool is_waiting = false; // that call is under way: nobody else may use the plan, or destroy it
};

template <class P>
struct bound_plan_of final : bound_plan {
    bound_plan_of(const void* t, const P& p, rank_t rank, const std::vector<rank_t>& members)
        : bound_plan(t, bough::bind_plan(p, rank, members)), plan(p) {}
    label text() const override {
        if constexpr (requires { plan.algorithm(); })
            return bough::label_of(plan.algorithm());
        else
            return bough::label_of(plan);
    }
    schedule steps_of(rank_t rank) const override {
        schedule made;
        plan.emit(rank, made);
        return made;
    }
    block_t blocks() const override { return plan.blocks(); }
    P plan;
};

template <class P>
inline constexpr char plan_type_tag = 0;

template <class P>
bool is_bound_from(const bound_plan& bound, const P& plan) {
    return bound.tag == &plan_type_tag<P> && static_cast<const bound_plan_of<P>&>(bound).plan == plan;
}
// The same for who would use it: a plan that waits in a blocking call is nobody's, as that call may run
// other operations meanwhile (communicator_options::while_waiting).
template <class P>
bool is_free_from(const bound_plan& bound, const P& plan) {
    return detail::is_bound_from(bound, plan) && !bound.is_waiting;
}

// Binds a plan to this rank. Not inline, so that the compiled form can hold it.
template <class P>
std::unique_ptr<bound_plan> hold_bound(const P& plan, rank_t rank, const std::vector<rank_t>& members) {
    return std::make_unique<bound_plan_of<P>>(&plan_type_tag<P>, plan, rank, members);
}

class plan_cache {
public:
    explicit plan_cache(std::size_t limit) noexcept : limit_(limit) {}

    // The bound plan, which stays here.
    template <class P>
    bound_plan& find(const P& plan, rank_t rank, const std::vector<rank_t>& members) {
        if (!to_front(plan)) put(detail::hold_bound(plan, rank, members));
        return *free_[0];
    }
    // The plan in the cache that equals this one; null: there is none.
    template <class P>
    const P* find_plan(const P& plan) const {
        for (const std::unique_ptr<bound_plan>& known : free_)
            if (detail::is_bound_from(*known, plan)) return &static_cast<const bound_plan_of<P>&>(*known).plan;
        return nullptr;
    }
    // The bound plan, taken out.
    template <class P>
    std::unique_ptr<bound_plan> take(const P& plan, rank_t rank, const std::vector<rank_t>& members) {
        for (auto known = free_.begin(); known != free_.end(); ++known)
            if (detail::is_free_from(**known, plan)) {
                std::unique_ptr<bound_plan> taken = std::move(*known);
                free_.erase(known);
                ++changes_;
                return taken;
            }
        return detail::hold_bound(plan, rank, members);
    }
    template <int = 0>
    void put(std::unique_ptr<bound_plan> bound);

    // How often a plan was put in or taken out. As long as it stays the same, all plans are where they were.
    std::uint64_t changes() const noexcept { return changes_; }

private:
    template <class P>
    bool to_front(const P& plan) {
        for (std::size_t i = 0; i != free_.size(); ++i)
            if (detail::is_free_from(*free_[i], plan)) {
                for (; i != 0; --i) std::swap(free_[i], free_[i - 1]);
                return true;
            }
        return false;
    }

    std::size_t limit_;
    std::uint64_t changes_ = 0;
    moved_list<std::unique_ptr<bound_plan>> free_; // the one most lately used stands first
};

// Not inline, so that the compiled form can hold it.
template <int>
void plan_cache::put(std::unique_ptr<bound_plan> bound) {
    ++changes_;
    for (std::size_t i = free_.size(); i-- != 0 && free_.size() >= limit_;) // those that wait do not count
        if (!free_[i]->is_waiting) free_.erase(free_.begin() + i);
    free_.insert(free_.begin(), std::move(bound));
}
BOUGH_COMPILED_COMMON(void plan_cache::put<0>(std::unique_ptr<bound_plan>))

} // namespace bough::detail

#endif
