// SPDX-License-Identifier: BSL-1.0
// straight_order: the order in which a straight_run runs the steps of a bound schedule.
//
// What waits for no message comes before what does, so all that a rank can send is sent before it
// waits. Otherwise the order is that of the list. Of the receives that can come next, the first is
// taken whose payload can be combined at once, where it landed; if there is none, the first of all is
// copied to its place.
#ifndef BOUGH_ENGINE_STRAIGHT_ORDER_HPP
#define BOUGH_ENGINE_STRAIGHT_ORDER_HPP

#include <bough/core/contract.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/engine/bound_view.hpp>
#include <bough/engine/straight_run.hpp>

#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

namespace detail {

template <int>
class straight_orderer {
public:
    explicit straight_orderer(const bound_view& bound)
        : bound_(bound), waits_(bound.waits.begin(), bound.waits.end()), is_done_(bound.steps.size(), false) {}

    detail::plain_list<straight_step> order() {
        detail::plain_list<straight_step> made;
        made.reserve(bound_.steps.size());
        while (done_ != bound_.steps.size())
            if (const std::uint32_t local = next_without_message(); local != not_a_step)
                made.push_back(run(local));
            else
                made.push_back(receive(next_receive()));
        return made;
    }

private:
    using action = straight_step::action;

    bool is_ready(std::uint32_t i) const noexcept { return !is_done_[i] && waits_[i] == 0; }
    std::uint32_t next_without_message() const noexcept {
        for (std::uint32_t i = 0; i != bound_.steps.size(); ++i)
            if (is_ready(i) && bound_.steps[i].verb != verb::receive) return i;
        return not_a_step;
    }
    // Messages of one peer are read in their order.
    bool is_next_of_its_peer(std::uint32_t i) const noexcept {
        for (const bound_channel& channel : bound_.channels)
            if (channel.peer == bound_.steps[i].peer)
                return bound_.steps[i].segment == 0 ||
                       is_done_[bound_.receives[channel.first + bound_.steps[i].segment - 1]];
        return false;
    }
    bool combines_at_once(std::uint32_t receive) const noexcept {
        const std::uint32_t combine = bound_.steps[receive].partner;
        return combine != not_a_step && waits_[combine] == 1; // for nothing but this message
    }
    std::uint32_t next_receive() const noexcept {
        std::uint32_t first = not_a_step;
        for (std::uint32_t i = 0; i != bound_.steps.size(); ++i) {
            if (!is_ready(i) || !is_next_of_its_peer(i)) continue;
            if (combines_at_once(i)) return i;
            if (first == not_a_step) first = i;
        }
        return first;
    }
    straight_step run(std::uint32_t i) {
        const bound_step& s = bound_.steps[i];
        finish(i);
        const action what = s.verb == verb::send      ? action::send
                            : s.verb == verb::combine ? action::combine
                                                      : action::copy;
        return {what, s.peer, s.segment, s.a, s.b, s.out, i, not_a_step};
    }
    straight_step receive(std::uint32_t i) {
        BOUGH_EXPECTS(i != not_a_step, "steps: some wait for each other");
        const bound_step& s = bound_.steps[i];
        const bool combines = combines_at_once(i);
        finish(i);
        if (!combines) return {action::receive, s.peer, s.segment, s.a, s.b, s.out, i, not_a_step};
        const bound_step& c = bound_.steps[s.partner];
        finish(s.partner);
        const action what = c.partner_is_a ? action::combine_with_lower : action::combine_with_upper;
        return {what, s.peer, s.segment, c.a, c.b, c.out, s.partner, i};
    }
    void finish(std::uint32_t i) {
        const bound_step& s = bound_.steps[i];
        is_done_[i] = true;
        ++done_;
        for (std::uint32_t e = 0; e != s.after_count; ++e) --waits_[bound_.after[s.after + e]];
        if (s.next_on_channel != not_a_step) --waits_[s.next_on_channel];
    }

    bound_view bound_;
    detail::plain_list<std::uint32_t> waits_;
    plain_list<unsigned char> is_done_;
    std::size_t done_ = 0; // how many of them
};

} // namespace detail

// The steps of a bound schedule in the order of a straight run. Time: the square of the steps.
template <int Delay = 0>
detail::plain_list<straight_step> straight_order(const bound_view& bound) {
    return detail::straight_orderer<Delay>(bound).order();
}

} // namespace bough

#endif
