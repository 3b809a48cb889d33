// SPDX-License-Identifier: BSL-1.0
// The WireUp with the least rights: code that compiles with it asks for nothing but the concept.
// Its job has one rank.
#ifndef BOUGH_TESTING_WIRE_UP_ARCHETYPE_HPP
#define BOUGH_TESTING_WIRE_UP_ARCHETYPE_HPP

#include <bough/concepts/wire_up.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::testing {

class wire_up_archetype {
public:
    static wire_up_archetype make() { return wire_up_archetype(0); }
    wire_up_archetype(const wire_up_archetype&) = delete;
    wire_up_archetype& operator=(const wire_up_archetype&) = delete;
    void operator&() const = delete;
    template <class Other>
    void operator,(const Other&) const = delete;

    rank_t rank() const { return 0; }
    rank_t size() const { return 1; }
    status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t) {
        if (const status bad = check_exchange(mine, all, 1)) return bad;
        std::copy(mine.begin(), mine.end(), all.begin());
        return {};
    }

private:
    explicit wire_up_archetype(int) {}
};

static_assert(WireUp<wire_up_archetype>);

} // namespace bough::testing

#endif
