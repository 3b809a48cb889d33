// SPDX-License-Identifier: BSL-1.0
// Messages of a call that wait behind one whose payload is under way have come, even if their sender is lost by then.
#include "support/catch.hpp"
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/session/session.hpp>
#include <bough/testing/transport_archetype.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

using namespace bough;

namespace {

// Messages can only be taken, and each take ends with a later poll.
struct late_end : testing::transport_archetype {
    explicit late_end(testing::transport_archetype&& end) : transport_archetype(std::move(end)) {}
    bool claim(std::uint64_t) { return false; }
};
static_assert(InPlaceTransport<late_end>);

// A rank, and what it does in its first call.
struct one_rank {
    struct part {
        explicit part(const std::vector<step>& steps, int fill = 0)
            : data(304, std::byte(fill)), work(bind_steps(steps, 304)) {}
        std::vector<std::byte> data;
        prepared work;
        session_operation op;
    };
    one_rank(const testing::loop_group& group, rank_t r)
        : session(std::make_unique<bough::session<late_end>>(late_end(group.connect(r)))), rank(r) {}
    void start(const std::vector<step>& steps) { start(parts.emplace_back(steps, static_cast<int>(rank)), 1); }
    void start(part& p, std::uint32_t number) const {
        envelope tag;
        tag.operation = number;
        call c;
        c.input = c.output = p.data.data();
        c.count = p.data.size();
        c.element_bytes = 1;
        session->start(p.op, p.work, c, tag, {}, 1'000'000);
    }
    session_operation& op() { return parts.front().op; }
    std::unique_ptr<bough::session<late_end>> session;
    rank_t rank;
    std::deque<part> parts;
};

} // namespace

TEST_CASE("early and lost: a peer that is lost after its part does no harm while another payload is under way") {
    for (const bool is_known : {true, false}) {
        CAPTURE(is_known);
        testing::loop_group group(3);
        one_rank zero(group, 0), one(group, 1), two(group, 2);
        one.start({send_step(0, {input, 0, 300})});
        two.start({send_step(0, {input, 300, 4})});
        REQUIRE(two.op().done());
        zero.session->progress();
        if (is_known) {
            two.session.reset();
            zero.session->progress();
            REQUIRE(zero.session->is_lost(2));
        }
        zero.session->make_way(true); // both payloads are under way now
        if (!is_known) two.session.reset();
        zero.start({receive_step(1, {output, 0, 300}), receive_step(2, {output, 300, 4})});
        for (int i = 0; i != 100 && !zero.op().done(); ++i) {
            zero.session->progress();
            one.session->progress();
        }
        REQUIRE(zero.op().done());
        CHECK(zero.op().result() == status{});
        CHECK(zero.parts[0].data[0] == std::byte{1});
        CHECK(zero.parts[0].data[303] == std::byte{2});
        CHECK_FALSE(zero.session->poison());
    }
}

TEST_CASE("early and lost: the end of the group drops nothing of an operation that does not need the lost rank") {
    testing::loop_group group(3);
    one_rank zero(group, 0), one(group, 1), two(group, 2);
    two.session.reset();
    zero.session->progress();
    one.start({send_step(0, {input, 0, 300}), send_step(0, {input, 300, 4})});
    zero.session->progress();
    zero.session->make_way(true);
    zero.start({receive_step(1, {output, 0, 300}), receive_step(1, {output, 300, 4})});
    one_rank::part other({receive_step(2, {output, 0, 4})});
    zero.start(other, 2);
    CHECK(other.op.done());
    REQUIRE(zero.session->poison());
    for (int i = 0; i != 100 && !zero.op().done(); ++i) {
        zero.session->progress();
        one.session->progress();
    }
    CHECK(zero.op().result() == status{});
    CHECK(zero.parts[0].data[303] == std::byte{1});
}
