// SPDX-License-Identifier: BSL-1.0
// expect: a GatheringTransport needs `std::uint64_t handed_over\(rank_t to\)
#include <bough/concepts/explain_transport.hpp>

struct my_link {
    bough::rank_t rank() const { return 0; }
    bough::rank_t size() const { return 1; }
    bough::posted post_send(bough::rank_t, const bough::envelope&, std::span<const std::byte>, std::uint64_t);
    bough::posted take(std::uint64_t, std::span<std::byte>, std::uint64_t);
    void release(std::uint64_t);
    std::size_t poll(std::span<bough::event>);
    bough::errc cancel(std::uint64_t);
    std::uint64_t now_ns() const;
    void flush();
    bool unsent() const;
    std::uint64_t accepted(bough::rank_t) const;
};
static_assert(bough::explain_gathering_transport<my_link>());

int main() {}
