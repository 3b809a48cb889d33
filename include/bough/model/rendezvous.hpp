// SPDX-License-Identifier: BSL-1.0
// rendezvous: any cost model, with messages that begin only when both their ranks are at them.
//
//   walk(plan, rendezvous{alpha_beta_gamma{...}}, 65536)    all messages, as in Rabenseifner's paper
//   walk(plan, rendezvous{lrc{...}, 16384}, 65536)          those of more than 16 KiB; others are eager
//
// An eager message sets out whether or not its receiver waits for it. A rendezvous does not: its sender
// sends a notice, and the message begins when the receiver has answered it. bough/model/walk.hpp says
// what that means for the messages behind it. A model of your own has such a limit if it has the member
// eager_bytes(), as loggops has (S in LogGPS), or eager_bytes(from, to) if it differs between pairs; of
// two limits the lower holds. Messages of no bytes are eager in any case: the notice is all of them.
//
// No time of a walk is shorter than without a limit. Runs over a network, where hosts may have several
// ports, have a rule of their own: bough/simulate/engine.hpp.
#ifndef BOUGH_MODEL_RENDEZVOUS_HPP
#define BOUGH_MODEL_RENDEZVOUS_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/core/rank.hpp>

#include <algorithm>
#include <cstdint>

namespace bough::inline BOUGH_ABI::model {

namespace detail {
template <class M>
concept LimitsEager = requires(const M& model) {
    model.eager_bytes();
};
template <class M>
concept LimitsEagerOfPairs = requires(const M& model, rank_t rank) {
    model.eager_bytes(rank, rank);
};
} // namespace detail

// Has the model a limit, so that messages may be rendezvous?
template <class M>
inline constexpr bool has_rendezvous_v = detail::LimitsEager<M> || detail::LimitsEagerOfPairs<M>;

// Up to how many bytes are the messages of this pair eager? All, if the model says nothing.
template <CostModel M>
constexpr std::uint64_t eager_bytes(const M& model, rank_t from, rank_t to) {
    if constexpr (detail::LimitsEagerOfPairs<M>)
        return model.eager_bytes(from, to);
    else if constexpr (detail::LimitsEager<M>)
        return model.eager_bytes();
    else
        return ~std::uint64_t{0};
}

template <CostModel M>
class rendezvous : public M {
public:
    // Messages of more than `eager_bytes` bytes are rendezvous.
    constexpr explicit rendezvous(const M& model, std::uint64_t eager_bytes = 0)
        : M(model), limit_bytes_(eager_bytes) {}

    constexpr std::uint64_t eager_bytes(rank_t from, rank_t to) const {
        return std::min(limit_bytes_, bough::model::eager_bytes(static_cast<const M&>(*this), from, to));
    }

private:
    std::uint64_t limit_bytes_;
};

} // namespace bough::model

#endif
