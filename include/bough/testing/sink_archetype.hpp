// SPDX-License-Identifier: BSL-1.0
// The StepSink with the least rights: a generator that compiles with it asks for nothing but the
// concept.
//
// It cannot be default-constructed, copied, moved or compared, and what its members return cannot
// be used.
#ifndef BOUGH_TESTING_SINK_ARCHETYPE_HPP
#define BOUGH_TESTING_SINK_ARCHETYPE_HPP

#include <bough/concepts/step_sink.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>

#include <cstddef>

namespace bough::inline BOUGH_ABI::testing {

class sink_archetype {
public:
    // Counts in `steps` the steps that it is given, so that a test can see that they came.
    constexpr explicit sink_archetype(std::size_t& steps) noexcept : steps_(&steps) {}
    sink_archetype(const sink_archetype&) = delete;
    sink_archetype& operator=(const sink_archetype&) = delete;

    constexpr void send(rank_t, slice) { ++*steps_; }
    constexpr void receive(rank_t, slice) { ++*steps_; }
    constexpr void send_part(rank_t, slice) { ++*steps_; }
    constexpr void receive_part(rank_t, slice) { ++*steps_; }
    constexpr void combine(slice, slice, slice) { ++*steps_; }
    constexpr void copy(slice, slice) { ++*steps_; }

    void operator&() const = delete;
    template <class Other>
    void operator,(const Other&) const = delete;

private:
    std::size_t* steps_;
};

static_assert(StepSink<sink_archetype> && StepSink<sink_archetype&>);

} // namespace bough::testing

#endif
