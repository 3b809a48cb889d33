// SPDX-License-Identifier: BSL-1.0
// A sleeping helper is woken by a flush that has sent something, and by no other one.
#include "support/catch.hpp"
#include <bough/concepts/forwarding_transport.hpp>
#include <bough/testing/transport_archetype.hpp>
#include <bough/transport/serialised.hpp>

#include <cstdint>
#include <memory>
#include <utility>

using namespace bough;

namespace {

struct peer_state {
    std::uint64_t accepted = 1, handed_over = 0;
    std::uint64_t each_flush = 0; // frames that the next flush hands over
};
// Keeps frames back as long as its peer takes none.
class slow : public forwarding_transport<testing::transport_archetype> {
public:
    slow(testing::transport_archetype inner, peer_state& peer)
        : forwarding_transport<testing::transport_archetype>(std::move(inner)), peer_(&peer) {}
    void flush() { peer_->handed_over += std::exchange(peer_->each_flush, 0); }
    bool unsent() const noexcept { return peer_->handed_over != peer_->accepted; }
    std::uint64_t accepted(rank_t) const noexcept { return peer_->accepted; }
    std::uint64_t handed_over(rank_t) noexcept { return peer_->handed_over; }

private:
    peer_state* peer_;
};
static_assert(GatheringTransport<slow>);

} // namespace

TEST_CASE("serialised: a flush that sends nothing wakes no helper") {
    const testing::loop_group group(3);
    peer_state peer{.accepted = 5};
    serialised<slow> link{slow(group.connect(0), peer)};
    const auto bell = std::make_shared<progress_bell>();
    link.set_bell(bell);
    const auto rings = [&](std::uint64_t handed_over) {
        bell->clear();
        link.set_asleep(true);
        peer.each_flush = handed_over;
        link.flush();
        const bool rang = !bell->begin_sleep_elsewhere(); // false: it has rung
        bell->end_sleep_elsewhere();
        return rang;
    };
    CHECK_FALSE(rings(0));
    CHECK_FALSE(rings(0));
    CHECK(rings(2)); // some of it
    CHECK_FALSE(rings(0));
    CHECK(rings(3)); // the rest
    CHECK_FALSE(rings(0));
}
