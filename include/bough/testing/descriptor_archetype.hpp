// SPDX-License-Identifier: BSL-1.0
// The DescriptorTransport with the least rights: its descriptor is always -1, and it cannot be
// armed.
#ifndef BOUGH_TESTING_DESCRIPTOR_ARCHETYPE_HPP
#define BOUGH_TESTING_DESCRIPTOR_ARCHETYPE_HPP

#include <bough/testing/transport_archetype.hpp>

#include <utility>

namespace bough::inline BOUGH_ABI::testing {

class descriptor_archetype : public transport_archetype {
public:
    explicit descriptor_archetype(transport_archetype end) : transport_archetype(std::move(end)) {}

    int descriptor() noexcept { return -1; }
    bool arm() noexcept { return false; }
    void disarm() noexcept {}
};

static_assert(DescriptorTransport<descriptor_archetype> && !WaitableTransport<descriptor_archetype>);

} // namespace bough::testing

#endif
