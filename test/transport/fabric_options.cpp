// SPDX-License-Identifier: BSL-1.0
// bough::fabric and bough::verbs are one transport over two devices: what can be chosen of both has the same default.
#include "support/catch.hpp"
#include <bough/transport/fabric/options.hpp>
#include <bough/transport/verbs/options.hpp>

TEST_CASE("fabric and verbs: common options have equal defaults") {
    const bough::fabric_options f;
    const bough::verbs_options v;
    CHECK(f.window == v.window);
    CHECK(f.eager_bytes == v.eager_bytes);
    CHECK(f.timeout_ns == v.timeout_ns);
    CHECK(f.linger_ns == v.linger_ns);
    CHECK(f.answer_ns == v.answer_ns);
}
