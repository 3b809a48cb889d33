// SPDX-License-Identifier: BSL-1.0
// A rank forks amid its operations over tcp inside TLS: a child that sent one record, or read one,
// would end the parent's connections.
#include "support/catch.hpp"
#include "transport/certificates.hpp"
#include "transport/fork_trial.hpp"
#include <bough/transport/tcp/tls.hpp>

using namespace bough;

TEST_CASE("tcp_tls: the child of a fork ends its copies of operations in flight, and no record of it is seen") {
    const tls_options mine = test_tcp::authority().issue();
    const auto join = [&](auto& wire) {
        tcp_options options;
        options.tls = mine;
        return tcp_tls(wire, options);
    };
    bough_test::check_deeds_of_children("tcp_tls", join);
    bough_test::check_forks_amid_traffic("tcp_tls", join);
}
