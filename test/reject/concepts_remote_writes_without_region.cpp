// SPDX-License-Identifier: BSL-1.0
// expect: a RemoteWriteTransport needs `std::span<std::byte> region
#include <bough/concepts/explain_remote_write_transport.hpp>

struct my_nic {
    static constexpr bool keeps_byte_order = true;
    bough::rank_t rank() const { return 0; }
    bough::rank_t size() const { return 1; }
    bough::posted put(bough::rank_t, std::uint64_t, std::span<const std::byte>, std::span<const std::byte>,
                      std::uint64_t);
    std::size_t poll(std::span<bough::event>);
    std::uint64_t now_ns() const;
};
static_assert(bough::explain_remote_write_transport<my_nic>());

int main() {}
