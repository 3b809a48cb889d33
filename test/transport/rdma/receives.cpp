// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "transport/rdma/scripted_messenger.hpp"
#include <bough/transport/rdma/receives.hpp>

using namespace bough;

TEST_CASE("receives: as many are posted as are wanted, from no more buffers than there may be") {
    bough_test::scripted_messenger device;
    detail::fabric_receives<bough_test::scripted_messenger> receives(device, 100, 40, 64);
    CHECK_FALSE(receives.has_posted());
    CHECK(receives.refill());
    CHECK(device.posted.size() == 40);
    for (int kept = 0; kept != 24; ++kept) {
        detail::fabric_buffer& b = receives.used(device.posted.front()->op.index);
        CHECK(&b == device.posted.front());
        device.posted.pop_front();
        CHECK(receives.refill());
    }
    CHECK(device.posted.size() == 40);
    detail::fabric_buffer& last = receives.used(device.posted.front()->op.index);
    device.posted.pop_front();
    CHECK_FALSE(receives.refill()); // all 64 are posted or in use
    receives.put(last);
    CHECK((device.posted.size() == 40 && device.posted.back() == &last));
}
