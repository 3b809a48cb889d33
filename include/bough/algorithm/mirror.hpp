// SPDX-License-Identifier: BSL-1.0
// Mirror: runs a collective that only moves blocks backwards in time. mirror(scatter) is a gather,
// and the other way round.
//
// A step read backwards: what was sent is received, what was received is sent, a copy goes the
// other way; input and output change places. Where something was duplicated or combined there is no
// mirror image: see bough/algorithm/reverse.hpp.
//   plan_gather(mirror(tree_scatter{fnomial{.degree = 3}}), {.size = 9})
//
// Ranks, Rounds, Traffic, Scratch: those of the original
// Pre         every block is sent on, kept or both received and copied once: no rank gives the same
//             block to two
// Errors      those of the original's check()
// Source      the duality of scatter and gather: Chan, Heimlich, Purkayastha, van de Geijn 2007
#ifndef BOUGH_ALGORITHM_MIRROR_HPP
#define BOUGH_ALGORITHM_MIRROR_HPP

#include <bough/core/contract.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/plan.hpp>

#include <cstddef>
#include <type_traits>

namespace bough::inline BOUGH_ABI {

namespace detail {

constexpr slice mirrored_slice(const slice& s) noexcept {
    return s.buffer == input ? s.in(output) : s.buffer == output ? s.in(input) : s;
}

// The steps of one rank, backwards. Pre: none of them combines.
constexpr void mirror_steps(const schedule& forward, StepSink auto& out) {
    const auto goes_on = [&](std::size_t i) { return i != 0 && forward[i - 1].more; };
    for (std::size_t i = forward.size(); i-- != 0;) {
        const step& s = forward[i];
        switch (s.verb) {
        case verb::send: push_step(out, receive_step(s.peer, mirrored_slice(s.a), goes_on(i))); break;
        case verb::receive: push_step(out, send_step(s.peer, mirrored_slice(s.out), goes_on(i))); break;
        case verb::copy: out.copy(mirrored_slice(s.out), mirrored_slice(s.a)); break;
        case verb::combine: BOUGH_EXPECTS(false, "mirror: a combine has no mirror image"); break;
        }
    }
}

// The goals of the mirror image. An algorithm that does not say what it serves is assumed to serve
// any goal.
template <class Original>
struct mirrored_goals {
    static constexpr bool scatter = serves_v<Original, goal::gather>;
    static constexpr bool gather = serves_v<Original, goal::scatter>;
    using type = std::conditional_t<scatter && gather, goals<goal::gather, goal::scatter>,
                                    std::conditional_t<gather, goals<goal::gather>, goals<goal::scatter>>>;
    static_assert(scatter || gather, "bough: mirror takes a scatter or a gather; for the rest see reverse");
};

} // namespace detail

template <Algorithm Original>
struct mirrored {
    using serves = typename detail::mirrored_goals<Original>::type;
    Original original{};

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        schedule forward;
        original.emit(at, rank, forward);
        detail::mirror_steps(forward, out);
    }
    constexpr block_t natural_blocks(rank_t size) const { return original.natural_blocks(size); }
    constexpr block_t scratch(const dimensions& at, rank_t rank) const { return original.scratch(at, rank); }
    constexpr status check(const dimensions& at) const { return original.check(at); }
    constexpr label text() const { return label("mirror").field(label_of(original)); }
    friend constexpr bool operator==(const mirrored&, const mirrored&) = default;
};

template <Algorithm Original>
constexpr mirrored<Original> mirror(const Original& original) {
    return {original};
}

} // namespace bough

#endif
