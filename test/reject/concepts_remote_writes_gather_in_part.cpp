// SPDX-License-Identifier: BSL-1.0
// expect: remote writes with unsent\(\) need
#include <bough/transport/one_sided.hpp>

struct my_nic {
    static constexpr bool keeps_byte_order = true;
    bough::rank_t rank() const { return 0; }
    bough::rank_t size() const { return 1; }
    std::span<std::byte> region() const { return {}; }
    bough::posted put(bough::rank_t, std::uint64_t, std::span<const std::byte>, std::span<const std::byte>,
                      std::uint64_t);
    std::size_t poll(std::span<bough::event>);
    std::uint64_t now_ns() const;
    bool unsent() const;
    std::uint64_t accepted(bough::rank_t) const;
    int handed_over(bough::rank_t);
};

int main() { bough::one_sided link{my_nic{}}; }
