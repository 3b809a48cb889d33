// SPDX-License-Identifier: BSL-1.0
// Over TLS, too, a call that returns has handed its data over: what TLS keeps for want of room is not at its peer.
#include "support/catch.hpp"
#include "support/handed_over.hpp"
#include "support/sample.hpp"
#include "transport/certificates.hpp"
#include <bough/transport/tcp/tls.hpp>

using namespace bough;
using namespace bough_test;

namespace {

tcp_options options_of(bool is_narrow) {
    tcp_options options;
    options.tls = test_tcp::authority().issue();
    if (!is_narrow) return options;
    options.unexpected_bytes_per_peer = 256 << 10;
    options.socket_bytes = 4 << 10;
    return options;
}

} // namespace

TEST_CASE("tcp_tls: a rank is silent between its calls, or ends, and the others have what it sent") {
    for (const bool is_narrow : {false, true}) {
        const tcp_options options = options_of(is_narrow);
        const auto join = [&](auto& wire) { return tcp_tls(wire, options); };
        for (const rank_t ranks : {2u, 3u, 4u}) {
            check_silence_between_calls("tcp_tls", ranks, {1, 1'000, 4'097, 20'000}, join);
            check_silence_after_start("tcp_tls", ranks, join);
            check_silence_after_words("tcp_tls", ranks, join);
        }
        check_leaving("tcp_tls", 3, bough_test::all() ? 40 : 4, join);
    }
}
