// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/concepts/explain_transport.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/testing/transport_archetype.hpp>

#include <type_traits>

using namespace bough;

namespace {

// As the archetype, with one expression changed.
struct base {
    rank_t rank() const { return 0; }
    rank_t size() const { return 1; }
    posted post_send(rank_t, const envelope&, std::span<const std::byte>, std::uint64_t) { return posted::failed; }
    posted take(std::uint64_t, std::span<std::byte>, std::uint64_t) { return posted::failed; }
    void release(std::uint64_t) {}
    std::size_t poll(std::span<event>) { return 0; }
    errc cancel(std::uint64_t) { return errc::invalid_argument; }
    std::uint64_t now_ns() const { return 0; }
};
struct signed_rank : base {
    int rank() const { return 0; }
};
struct polls_a_vector_only : base {
    std::size_t poll(event (&)[8]) { return 0; }
};
struct sends_and_says_nothing : base {
    void post_send(rank_t, const envelope&, std::span<const std::byte>, std::uint64_t) {}
};
struct clock_that_changes : base {
    std::uint64_t now_ns() { return 0; }
};
struct claims : base {
    bool claim(std::uint64_t) { return true; }
};
struct waits : base {
    void wait(std::uint32_t, std::uint64_t) {}
};

constexpr envelope changed(envelope e, int member) {
    switch (member) {
    case 0: ++e.epoch; break;
    case 1: ++e.operation; break;
    case 2: ++e.segment; break;
    case 3: ++e.context; break;
    case 4: ++e.kind; break;
    case 5: ++e.root; break;
    case 6: ++e.digest.hash; break;
    case 7: ++e.digest.op; break;
    case 8: ++e.digest.type; break;
    case 9: ++e.digest.plan; break;
    default: ++e.digest.count; break;
    }
    return e;
}

} // namespace

static_assert(explain_transport<testing::transport_archetype>() && explain_transport<base>());
static_assert(!InPlaceTransport<base> && !WaitableTransport<base>);
static_assert(!Transport<signed_rank> && !Transport<polls_a_vector_only> && !Transport<sends_and_says_nothing> &&
              !Transport<clock_that_changes> && !Transport<int>);
static_assert(explain_in_place_transport<claims>() && explain_waitable_transport<waits>());

// What travels is a value without holes: a transport may copy it as 32 bytes.
static_assert(sizeof(envelope) == 32 && std::is_trivially_copyable_v<envelope>);
static_assert(std::has_unique_object_representations_v<envelope>);
static_assert([] {
    const envelope plain{.epoch = 1, .operation = 2, .segment = 3, .kind = 5, .digest = {.hash = 4}};
    for (int member = 0; member != 11; ++member)
        if (changed(plain, member) == plain || !(changed(plain, member) == changed(plain, member))) return false;
    return plain == envelope{plain};
}());

TEST_CASE("transport: envelopes are equal if all their members are") {
    for (int a = 0; a != 11; ++a)
        for (int b = 0; b != 11; ++b) CHECK((changed({}, a) == changed({}, b)) == (a == b));
}
