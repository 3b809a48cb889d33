// SPDX-License-Identifier: BSL-1.0
// The CostModel with the least rights: code that compiles with it asks for nothing but the concept.
//
// It cannot be default-constructed, copied, compared or printed, and its costs are only convertible
// to double.
#ifndef BOUGH_TESTING_COST_MODEL_ARCHETYPE_HPP
#define BOUGH_TESTING_COST_MODEL_ARCHETYPE_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/core/rank.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI::testing {

class cost_model_archetype {
public:
    // A cost that is not a number, but converts to one.
    class cost {
    public:
        constexpr operator double() const noexcept { return ns_; }
        cost(const cost&) = delete;
        cost& operator=(const cost&) = delete;

    private:
        friend class cost_model_archetype;
        constexpr explicit cost(double ns) noexcept : ns_(ns) {}
        double ns_;
    };

    // Messages take `latency_ns` and cost the receiver 1 ns; combines cost 1 ns; all else is free.
    constexpr explicit cost_model_archetype(double latency_ns) noexcept : latency_ns_(latency_ns) {}
    cost_model_archetype(const cost_model_archetype&) = delete;
    cost_model_archetype& operator=(const cost_model_archetype&) = delete;

    constexpr cost start_ns() const { return cost(0); }
    constexpr cost send_ns(rank_t, rank_t, std::uint64_t) const { return cost(0); }
    constexpr cost latency_ns(rank_t, rank_t, std::uint64_t) const { return cost(latency_ns_); }
    constexpr cost receive_ns(rank_t, rank_t, std::uint64_t) const { return cost(1); }
    constexpr cost combine_ns(rank_t, std::uint64_t) const { return cost(1); }
    constexpr cost copy_ns(rank_t, std::uint64_t) const { return cost(0); }

    void operator&() const = delete;
    template <class Other>
    void operator,(const Other&) const = delete;

protected:
    static constexpr cost cost_of(double ns) { return cost(ns); }

private:
    double latency_ns_;
};

static_assert(CostModel<cost_model_archetype> && !PortedCostModel<cost_model_archetype>);

// The PortedCostModel with the least rights. A message holds a port for 1 ns, or for 2 ns as half
// of an exchange; messages do not land early.
class ported_cost_model_archetype : public cost_model_archetype {
public:
    using cost_model_archetype::cost_model_archetype;

    // An answer that is not a bool, but converts to one.
    class answer {
    public:
        constexpr operator bool() const noexcept { return false; }
        answer(const answer&) = delete;
        answer& operator=(const answer&) = delete;

    private:
        friend class ported_cost_model_archetype;
        constexpr answer() noexcept = default;
    };

    constexpr cost port_ns(rank_t, rank_t, std::uint64_t, bool duplex) const { return cost_of(duplex ? 2 : 1); }
    constexpr answer lands_early() const { return answer(); }
};

static_assert(PortedCostModel<ported_cost_model_archetype>);

} // namespace bough::testing

#endif
