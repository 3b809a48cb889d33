// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/transport/tcp/links.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <sys/socket.h>
#include <utility>
#include <vector>

using namespace bough;
using namespace bough::detail;

namespace {

// The links of one rank of three, each over one end of a socket pair.
struct links_of_rank {
    using links_type = tcp_links<>;
    std::unique_ptr<tcp_memory> memory = std::make_unique<tcp_memory>(std::uint64_t{1} << 20);
    tcp_event_loop<links_type::link_type> loop{3};
    tcp_unsent<links_type::link_type> unsent{3};
    tcp_watch watch;
    due_events ends;
    links_type links{3, {.most_per_peer = 1 << 20, .window_kib = 256}, *memory, loop, unsent, watch, ends};

    unique_fd attach(rank_t peer) {
        std::array<int, 2> ends_of_pair{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_of_pair.data()) == 0);
        links.attach(peer, unique_fd(ends_of_pair[0]), {}, 256);
        return unique_fd(ends_of_pair[1]);
    }
};

} // namespace

TEST_CASE("tcp_links: a link is new, open and then lost") {
    links_of_rank r;
    CHECK((r.links.size() == 3 && r.links.open() == 0 && r.links.is_new(1)));
    const unique_fd other = r.attach(1);
    CHECK((r.links.open() == 1 && r.links.is_open(1) && !r.links.is_new(1) && !r.links.is_lost(1)));
    CHECK((r.links.is_new(2) && r.links.all()[2] == nullptr));
    REQUIRE(r.loop.hot().size() == 1);
    auto& link = r.links[1];
    CHECK((r.loop.hot()[0] == &link && link.peer == 1));
    CHECK(r.unsent.empty());

    const std::array<std::byte, 8> bytes{};
    CHECK(link.out.post(link.stream, {}, bytes, 7) == posted::complete);
    std::array<std::byte, 128> heard{};
    CHECK(::recv(other.get(), heard.data(), heard.size(), 0) > 8);

    r.loop.cool(0);
    event e;
    r.links.lose(link, e);
    CHECK((e.what == event::kind::lost && e.peer == 1 && e.code == errc::ok));
    CHECK((r.links.is_lost(1) && r.links.open() == 0 && !link.open));
    CHECK_FALSE(r.loop.is_watching());
    CHECK(::recv(other.get(), heard.data(), heard.size(), 0) == 0);
    CHECK(r.ends.empty()); // the event went to its caller
}

TEST_CASE("tcp_links: what was under way when a link is lost ends with peer_dead") {
    links_of_rank r;
    const unique_fd other = r.attach(2);
    auto& link = r.links[2];
    const std::vector<std::byte> longest(8 << 20);
    CHECK(link.out.post(link.stream, {}, longest, 7) == posted::pending);
    event e;
    r.links.lose(link, e);
    CHECK(e.what == event::kind::lost);
    REQUIRE(r.ends.hand_over(std::span(&e, 1)) == 1);
    CHECK((e.what == event::kind::complete && e.id == 7 && e.code == errc::peer_dead && e.peer == 2));
}

TEST_CASE("tcp_links: a peer can be lost without a link") {
    links_of_rank r;
    r.links.report_lost(2, errc::protocol_error);
    CHECK((r.links.is_lost(2) && !r.links.is_new(2) && r.links.open() == 0));
    event e;
    REQUIRE(r.ends.hand_over(std::span(&e, 1)) == 1);
    CHECK((e.what == event::kind::lost && e.peer == 2 && e.code == errc::protocol_error));
}

TEST_CASE("tcp_links: a link that the rank's descriptor cannot watch is not made") {
    links_of_rank r;
    if (!r.watch.open()) return; // there is no such descriptor on this system
    std::array<int, 2> pair{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
    const unique_fd other(pair[1]);
    REQUIRE(r.watch.add(pair[0])); // so it cannot be added a second time
    r.links.attach(1, unique_fd(pair[0]), {}, 256);
    CHECK((r.links.is_lost(1) && r.links.shortages() == 1 && r.loop.hot().empty()));
    event e;
    REQUIRE(r.ends.hand_over(std::span(&e, 1)) == 1);
    CHECK((e.what == event::kind::lost && e.code == errc::no_resources));
    std::byte more{};
    CHECK(::recv(other.get(), &more, 1, 0) == 0); // its socket is closed
}
