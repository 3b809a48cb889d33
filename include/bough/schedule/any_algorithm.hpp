// SPDX-License-Identifier: BSL-1.0
// any_algorithm: an algorithm that is chosen at run time. Like the algorithms that it holds, it is
// a value and an Algorithm.
//
//   any_algorithm a = recursive_doubling{};
//   a = any_algorithm::of<goal::allreduce>(ring{});      a family's algorithm for a goal
//   plan<goal::allreduce, any_algorithm> p(a, {.size = 13});      verify, walk, run: as any plan
//
// Copies share what they hold, which never changes. It answers as the algorithm it holds: the same
// steps, the same claims, the same label; two are equal if they hold equal algorithms of one type.
// Its steps go through a virtual function, so that whatever consumes steps is compiled once,
// not once for every algorithm.
#ifndef BOUGH_SCHEDULE_ANY_ALGORITHM_HPP
#define BOUGH_SCHEDULE_ANY_ALGORITHM_HPP

#include <bough/core/contract.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/plan.hpp>
#include <bough/schedule/step_ref.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace bough::inline BOUGH_ABI {

namespace detail {

struct held_algorithm {
    held_algorithm(const void* t, const bough::claims& c) noexcept : type(t), fixed(c) {}
    held_algorithm(const held_algorithm&) = delete;
    held_algorithm& operator=(const held_algorithm&) = delete;
    virtual ~held_algorithm() = default;
    virtual void emit(const dimensions&, rank_t, step_ref&) const = 0;
    virtual block_t natural_blocks(rank_t) const = 0;
    virtual block_t scratch(const dimensions&, rank_t) const = 0;
    virtual status check(const dimensions&) const = 0;
    virtual bough::claims claims(const dimensions&) const = 0;
    virtual rank_t alike_group(const dimensions&, rank_t) const = 0;
    virtual label text() const = 0;
    virtual std::uint64_t identity() const = 0;
    virtual bool equals(const held_algorithm&) const = 0; // Pre: of the same type

    const void* type;
    bough::claims fixed;
};

template <class A>
struct held_algorithm_of final : held_algorithm {
    static constexpr char tag = 0;

    explicit held_algorithm_of(A a) : held_algorithm(&tag, fixed_claims_of(a)), algorithm(std::move(a)) {}
    void emit(const dimensions& at, rank_t rank, step_ref& out) const override { algorithm.emit(at, rank, out); }
    block_t natural_blocks(rank_t size) const override { return algorithm.natural_blocks(size); }
    block_t scratch(const dimensions& at, rank_t rank) const override { return algorithm.scratch(at, rank); }
    status check(const dimensions& at) const override { return algorithm.check(at); }
    bough::claims claims(const dimensions& at) const override { return claims_of(algorithm, at); }
    rank_t alike_group(const dimensions& at, rank_t rank) const override {
        return bough::alike_group(algorithm, at, rank);
    }
    label text() const override { return label_of(algorithm); }
    std::uint64_t identity() const override { return identity_of(algorithm); }
    bool equals(const held_algorithm& other) const override {
        return algorithm == static_cast<const held_algorithm_of&>(other).algorithm;
    }

    A algorithm;
};

} // namespace detail

class any_algorithm {
public:
    template <class A>
    requires(!std::same_as<A, any_algorithm> && requires(const A& a) { a.natural_blocks(rank_t{}); } && Algorithm<A>)
        any_algorithm(A algorithm)
        : held_(static_cast<const detail::held_algorithm*>(new detail::held_algorithm_of<A>(std::move(algorithm)))) {}

    // An algorithm, or the one that a family has for the goal.
    template <class Goal, ServesGoal<Goal> C>
    static any_algorithm of(const C& choice) {
        static_assert(serves_v<std::remove_cvref_t<decltype(bough::algorithm_for<Goal>(choice))>, Goal>,
                      "bough: this algorithm is one of another collective");
        return bough::algorithm_for<Goal>(choice);
    }

    // The members of an Algorithm.
    void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        if constexpr (std::derived_from<std::remove_cvref_t<decltype(out)>, detail::step_ref>) {
            held_->emit(at, rank, out);
        } else {
            detail::step_ref_to to(out);
            held_->emit(at, rank, to);
        }
    }
    block_t natural_blocks(rank_t size) const { return held_->natural_blocks(size); }
    block_t scratch(const dimensions& at, rank_t rank) const { return held_->scratch(at, rank); }
    status check(const dimensions& at) const { return held_->check(at); }

    bough::claims claims(const dimensions& at) const { return held_->claims(at); }
    rank_t alike_group(const dimensions& at, rank_t rank) const { return held_->alike_group(at, rank); }
    bool keeps_rank_order(const dimensions& at) const { return claims(at).keeps_rank_order; }
    const bough::claims& fixed_claims() const noexcept { return held_->fixed; }
    std::uint64_t hash() const noexcept { return held_->fixed.hash; }
    // Is it an algorithm of this collective (Goal::kind)?
    bool serves_kind(std::uint8_t kind) const noexcept { return held_->fixed.serves.contains(kind); }
    label text() const { return held_->text(); }
    std::uint64_t identity() const { return held_->identity(); }

    // The algorithm that it holds if that is an A, or null.
    template <class A>
    const A* get() const noexcept {
        if (held_->type != &detail::held_algorithm_of<A>::tag) return nullptr;
        return &static_cast<const detail::held_algorithm_of<A>&>(*held_).algorithm;
    }

    // A template, so that it does not compare values that only convert to an any_algorithm.
    template <std::same_as<any_algorithm> A, std::same_as<any_algorithm> B>
    friend bool operator==(const A& a, const B& b) {
        return a.held_ == b.held_ || (a.held_->type == b.held_->type && a.held_->equals(*b.held_));
    }

private:
    std::shared_ptr<const detail::held_algorithm> held_;
};

static_assert(Algorithm<any_algorithm>);

} // namespace bough

#endif
