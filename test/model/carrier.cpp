// SPDX-License-Identifier: BSL-1.0
// The rules of ports and rendezvous themselves are tested by whole walks (walk_ports.cpp, rendezvous.cpp).
#include "support/catch.hpp"
#include <bough/core/plain_list.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/detail/carrier.hpp>
#include <bough/model/folded_ranks.hpp>
#include <bough/model/lrc.hpp>
#include <bough/model/rendezvous.hpp>

#include <cstdint>

using namespace bough;
using namespace bough::model;
using model::detail::positions;
using ranks_list = bough::detail::plain_list<rank_t>;

namespace {

constexpr lrc plain{.message_latency_ns = 50};

template <class M, bool MayFold = false>
struct carried {
    explicit constexpr carried(const M& model, rank_t size, const folded_ranks* fold = nullptr)
        : costs(model), mail(costs, model::detail::visited_ranks<MayFold>(fold), size) {}

    // When a rank has the message that it has asked for since `at_ns`; negative: it has not been sent.
    constexpr double received_ns(rank_t from, rank_t to, double at_ns) {
        return mail.receive(from, to, 8, at_ns) ? at_ns : -1;
    }

    M costs;
    model::detail::carrier<M, MayFold> mail;
};

} // namespace

static_assert(model::detail::carrier<lrc, false>::hands && !model::detail::carrier<alpha_beta_gamma, false>::hands &&
              model::detail::carrier<rendezvous<lrc>, false>::meets);
static_assert([] {
    carried of(plain, 2);
    of.mail.send(0, 1, 8, 100);
    return of.received_ns(0, 1, 20) == 150;
}());

TEST_CASE("carrier: a message lies in the mailbox until its receiver asks for it") {
    carried of(plain, 3);
    CHECK(of.received_ns(0, 1, 0) == -1);
    of.mail.send(0, 1, 8, 100);
    of.mail.send(0, 1, 8, 300);
    of.mail.send(2, 1, 8, 200);
    CHECK(of.received_ns(2, 1, 0) == 250);
    CHECK(of.received_ns(0, 1, 20) == 150);
    CHECK(of.received_ns(0, 1, 500) == 500);
    CHECK(of.received_ns(0, 1, 500) == -1);
    ranks_list woken;
    CHECK_FALSE(of.mail.ranks().take_woken(woken));
}

TEST_CASE("carrier: a message is handed to the rank that waits for it, and to no other one") {
    carried of(plain, 3);
    of.mail.ranks().leave(1, {.clock_ns = 30, .done = 2, .awaits = 0});
    of.mail.send(2, 1, 8, 0);
    ranks_list woken;
    CHECK_FALSE(of.mail.ranks().take_woken(woken));
    of.mail.send(0, 1, 8, 100);
    REQUIRE(of.mail.ranks().take_woken(woken));
    CHECK(woken == ranks_list(1, rank_t{1}));
    CHECK(of.mail.ranks()[1].awaits == positions::handed);
    CHECK(of.mail.ranks()[1].clock_ns == 150);
    CHECK(of.received_ns(0, 1, 0) == -1); // it is not in the mailbox, too
    CHECK(of.received_ns(2, 1, 0) == 50);
}

TEST_CASE("carrier: a port has a message when it is known what its sender does next") {
    carried of(alpha_beta_gamma{.alpha_ns = 1000, .beta_ns_per_byte = 1}, 2);
    of.mail.send(0, 1, 8, 0);
    CHECK(of.received_ns(0, 1, 0) == -1);
    of.mail.ranks().leave(1, {.clock_ns = 0, .done = 0, .awaits = 0});
    of.mail.send(0, 1, 8, 0);
    ranks_list woken;
    CHECK(of.mail.ranks().take_woken(woken));
    CHECK(of.mail.ranks()[1].awaits == no_rank); // it finds the message in the mailbox
    CHECK(of.received_ns(0, 1, 0) == 1008);
    CHECK(of.received_ns(0, 1, 0) == -1);
    double clock_ns = 5;
    CHECK(of.mail.end(0, clock_ns));
    CHECK(clock_ns == 5); // a rank does not wait for its out port
    CHECK(of.received_ns(0, 1, 0) == 2016);
}

TEST_CASE("carrier: a rank whose messages have not begun has not ended, and goes on when they have") {
    carried of(rendezvous{plain}, 2);
    of.mail.send(0, 1, 8, 100);
    double clock_ns = 100;
    REQUIRE_FALSE(of.mail.end(0, clock_ns));
    CHECK(of.mail.receiver_of_next(0) == 1);
    of.mail.ranks().leave(0, {.clock_ns = clock_ns, .done = 1, .awaits = positions::itself});
    CHECK(of.received_ns(0, 1, 400) == 500); // the answer takes 50, the message as long
    ranks_list woken;
    REQUIRE(of.mail.ranks().take_woken(woken));
    CHECK(woken == ranks_list(1, rank_t{0}));
    CHECK(of.mail.end(0, clock_ns));
    CHECK(clock_ns == 500);
}

TEST_CASE("carrier: where some ranks stand for all, a message to one of the others is one to them") {
    const folded_ranks fold(8, 2, false); // what 5 sends to 3 is what 7 sends to 5
    carried<lrc, true> of(plain, 8, &fold);
    of.mail.send(5, 3, 8, 100);
    CHECK(of.received_ns(5, 3, 0) == -1);
    CHECK(of.received_ns(7, 5, 0) == 150);
}
