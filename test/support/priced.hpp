// SPDX-License-Identifier: BSL-1.0
// priced: a transport that says of its costs what no other does, to see what those over it say.
#ifndef BOUGH_TEST_SUPPORT_PRICED_HPP
#define BOUGH_TEST_SUPPORT_PRICED_HPP

#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/concepts/forwarding_transport.hpp>
#include <bough/model/lrc.hpp>
#include <bough/select/transport_costs.hpp>
#include <bough/transport/self.hpp>

namespace bough_test {

struct priced : bough::forwarding_transport<bough::self> {
    priced() : forwarding_transport(bough::self{}) {}
    static bough::model::lrc default_costs() noexcept {
        return {.message_latency_ns = 7000, .receive = {11, 0.5}, .combine = {13, 0.25}, .startup_ns = 17, .copy = {}};
    }
    static double switch_ns() noexcept { return 19; }
    static bough::rank_t cores() noexcept { return 23; }
    static bool forked() noexcept { return true; }
    static void flush() noexcept {}
    static bool unsent() noexcept { return true; }
    static std::uint64_t accepted(bough::rank_t to) noexcept { return to + 29; }
    static std::uint64_t handed_over(bough::rank_t to) noexcept { return to + 31; }
};

inline double price(const bough::any_cost_model& costs) {
    const auto plan = bough::plan_allreduce(bough::recursive_doubling{}, {.size = 8});
    return costs.price_ns(bough::plan_ref(plan), {.bytes = 1000});
}
// Does a transport over `priced` say the same?
template <class T>
bool says_the_same(T&& over) {
    return price(bough::default_costs_of(over)) == price(priced::default_costs()) &&
           bough::switch_ns_of(over) == priced::switch_ns() && bough::cores_of(over) == priced::cores() &&
           over.forked() && over.unsent() && over.accepted(0) == priced::accepted(0) &&
           over.handed_over(0) == priced::handed_over(0);
}

} // namespace bough_test

#endif
