// SPDX-License-Identifier: BSL-1.0
// A schedule as a constant: computed by the compiler, frozen into an array, and used as a template argument.
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/core/freeze.hpp>
#include <bough/schedule/print_step.hpp>
#include <bough/tree/fnomial.hpp>

#include <array>
#include <cstddef>
#include <iostream>
#include <type_traits>

constexpr auto plan = bough::plan_reduce(bough::fnomial{.degree = 3}, {.size = 7});

template <bough::rank_t Rank>
constexpr auto steps_of = bough::freeze<[] { return plan.schedule_of(Rank).steps; }>(); // std::array<bough::step, N>

static_assert(steps_of<3>.size() == 5);
static_assert(steps_of<3>[0] == bough::receive_step(4, {bough::scratch(1), 0, 1}));

// A program for one schedule. Peers and places are constants in it: what firmware or an unrolled loop is made of.
template <std::array Steps>
struct program {
    static constexpr bool receives_from(bough::rank_t peer) {
        for (const bough::step& s : Steps)
            if (s.verb == bough::verb::receive && s.peer == peer) return true;
        return false;
    }
};
static_assert(program<steps_of<0>>::receives_from(3));
static_assert(!program<steps_of<0>>::receives_from(4));
// Ranks that do the same share one program, and its code.
static_assert(std::is_same_v<program<steps_of<1>>, program<steps_of<2>>>);

int main() {
    std::cout << "rank 3 of 7 in a 3-nomial reduce, " << sizeof(steps_of<3>) << " bytes of constants:\n";
    for (const bough::step& s : steps_of<3>) std::cout << "  " << s << '\n';
}
