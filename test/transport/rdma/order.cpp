// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/transport/rdma/frame.hpp>
#include <bough/transport/rdma/order.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

using namespace bough;
using detail::fabric_frame;
using detail::fabric_order;

TEST_CASE("fabric: frames that a provider delivers in any order, or twice, are heard in theirs, once") {
    for (std::uint64_t seed = 0; seed != 200; ++seed) {
        fabric_order order;
        std::vector<detail::fabric_buffer> buffers(301);
        for (std::uint32_t i = 0; i != buffers.size(); ++i) buffers[i].op.index = i + 7;
        std::vector<std::uint32_t> heard;
        std::vector<bool> is_in(300);
        std::uint64_t random = bough_test::mixed(seed ^ bough_test::seed());
        for (std::uint32_t base = 0; base != 300; base += 30) {
            std::vector<std::uint32_t> frames(30);
            std::iota(frames.begin(), frames.end(), base);
            for (std::size_t i = frames.size(); i-- > 1;)
                std::swap(frames[i], frames[bough_test::one_of(i + 1, random = bough_test::mixed(random))]);
            const std::uint32_t repeated = frames[0];
            frames.push_back(repeated);
            std::uint32_t refused = 0;
            for (const std::uint32_t f : frames) {
                // What comes twice comes in another buffer.
                detail::fabric_buffer& b = is_in[f] ? buffers[300] : buffers[f];
                switch (order.came(f, b)) {
                case fabric_order::turn::next: heard.push_back(f + 7); break;
                case fabric_order::turn::later: break;
                case fabric_order::turn::never: ++refused; CHECK(f == repeated);
                }
                is_in[f] = true;
                while (const detail::fabric_buffer* const next = order.next()) heard.push_back(next->op.index);
            }
            CHECK(refused == 1);
            CHECK_FALSE(order.keeps_any());
        }
        REQUIRE(heard.size() == 300);
        for (std::uint32_t i = 0; i != 300; ++i) REQUIRE(heard[i] == i + 7);
    }
}

TEST_CASE("fabric: a frame has the length of its kind") {
    fabric_frame head;
    const auto good = [&](std::uint16_t kind, std::size_t body) {
        head.kind = kind;
        return detail::is_fabric_frame(head, sizeof head + body, 100);
    };
    CHECK(good(fabric_frame::message, 0));
    CHECK(good(fabric_frame::message, 100));
    CHECK_FALSE(good(fabric_frame::message, 101));
    CHECK(good(fabric_frame::announcement, 16));
    CHECK_FALSE(good(fabric_frame::announcement, 15));
    for (const std::uint16_t kind : {fabric_frame::go, fabric_frame::none, fabric_frame::done}) {
        CHECK(good(kind, 24));
        CHECK_FALSE(good(kind, 0));
    }
    for (const std::uint16_t kind :
         {fabric_frame::room, fabric_frame::hello, fabric_frame::bye, fabric_frame::farewell}) {
        CHECK(good(kind, 0));
        CHECK_FALSE(good(kind, 1));
    }
    CHECK_FALSE(good(fabric_frame::farewell + 1, 0));
    CHECK_FALSE(good(0xffff, 24));
}
