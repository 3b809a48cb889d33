// SPDX-License-Identifier: BSL-1.0
// Which way messages go over an RDMA device, as seen by what the device is told to do.
#ifndef BOUGH_TEST_SUPPORT_WATCHED_DEVICE_HPP
#define BOUGH_TEST_SUPPORT_WATCHED_DEVICE_HPP

#include "support/catch.hpp"
#include "support/joined_ends.hpp"
#include <bough/os/clock.hpp>
#include <bough/transport/rdma/endpoint.hpp>
#include <bough/transport/rdma/join.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace bough_test {

// Counts the pieces of long payloads.
template <class Device>
struct watched_device : Device {
    int written = 0, tagged = 0;

    bough::detail::fabric_result write(bough::rank_t to, const bough::detail::fabric_piece& p, std::uint64_t address,
                                       std::uint64_t key, std::uint32_t ticket) {
        ++written;
        return Device::write(to, p, address, key, ticket);
    }
    bough::detail::fabric_result send_tagged(bough::rank_t to, const bough::detail::fabric_piece& p,
                                             std::uint64_t tag) requires Device::tags {
        ++tagged;
        return Device::send_tagged(to, p, tag);
    }
};

// Messages around eager_bytes go from rank 0 to rank 1 in the way that rank 1 says.
template <class Device>
void check_ways(const typename Device::options_type& options) {
    using namespace bough;
    using end_type = detail::fabric_endpoint<watched_device<Device>>;
    auto ends = joined_ends<std::unique_ptr<end_type>>(2, [&](rank_t, auto& wire, status& result) {
        auto made = detail::join_fabric<watched_device<Device>>(wire, options, result);
        return made ? std::optional(std::move(made)) : std::nullopt;
    });
    REQUIRE(ends.size() == 2);
    const std::size_t limit = options.eager_bytes;
    for (const std::size_t bytes : {limit, limit + 1, 2 * limit + 70'000}) {
        const std::vector<std::byte> sent(bytes, std::byte{9});
        std::vector<std::byte> into(bytes);
        const int written = ends[0]->device().written, tagged = ends[0]->device().tagged;
        posted result = posted::would_block;
        bool ended = false, come = false;
        protocol way = protocol::copied;
        for (const std::uint64_t last = detail::steady_now_ns() + 20'000'000'000;
             (!come || !ended) && detail::steady_now_ns() < last;) {
            if (result == posted::would_block) {
                result = ends[0]->post_send(1, {}, sent, 1);
                ended = result == posted::complete;
            }
            for (const auto& end : ends) {
                std::array<event, 1> e;
                if (end->poll(e) == 0) continue;
                if (e[0].what == event::kind::complete) {
                    CHECK(e[0].code == errc::ok);
                    (e[0].id == 1 ? ended : come) = true;
                } else {
                    REQUIRE((e[0].what == event::kind::arrived && e[0].bytes == bytes));
                    CHECK((e[0].data != nullptr) == (bytes <= limit && bytes != 0));
                    come = end->take(e[0].id, into, 2) == posted::complete;
                }
            }
        }
        if (ends[0]->device().written != written) way = protocol::remote_write;
        if (ends[0]->device().tagged != tagged) way = protocol::staged;
        CAPTURE(limit, bytes, result);
        CHECK((come && ended && into == sent));
        CHECK(way == ends[1]->way_of(bytes));
        CHECK((way == protocol::copied) == (bytes <= limit));
    }
}

} // namespace bough_test

#endif
