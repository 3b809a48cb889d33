// SPDX-License-Identifier: BSL-1.0
// Events that no Transport may report end the program with a sentence, before they spoil memory or a
// result.
#include "support/catch.hpp"
#include "support/last_words.hpp"
#include <bough/concepts/forwarding_transport.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>
#include <bough/session/session.hpp>
#include <bough/transport/in_process.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

using namespace bough;

namespace {

// Reports what the test says, and `more` events than that.
struct wrong : forwarding_transport<in_process::endpoint> {
    wrong(in_process::endpoint end, event what, std::size_t extra)
        : forwarding_transport(std::move(end)), said(what), more(extra) {}
    std::size_t poll(std::span<event> events) {
        if (more != 0) return events.size() + more;
        events[0] = said;
        return 1;
    }
    event said;
    std::size_t more;
};

bough_test::last_words says(const event& what, std::size_t more = 0) {
    return bough_test::last_words_of([&] {
        in_process world{3};
        session<wrong> mine(wrong(world.connect(1), what, more));
        (void)mine.progress();
    });
}

// Keeps all sends pending, says that the first one is complete, and then what the test says of it.
struct twice : forwarding_transport<in_process::endpoint> {
    twice(in_process::endpoint end, event what) : forwarding_transport(std::move(end)), second(what) {}
    posted post_send(rank_t, const envelope&, std::span<const std::byte>, std::uint64_t id) {
        if (posts++ == 0) first = id;
        return posted::pending;
    }
    std::size_t poll(std::span<event> events) {
        if (told == 2 || posts == 0) return 0;
        events[0] = told++ == 0 ? event{.what = event::kind::complete} : second;
        events[0].id = first;
        return 1;
    }
    event second;
    std::uint64_t first = 0;
    std::size_t posts = 0, told = 0;
};

// What becomes of a rank with two sends, of which the first one ends, and then again as `second` says.
bough_test::last_words ends_twice(const event& second) {
    return bough_test::last_words_of([&] {
        in_process world{3};
        session<twice> root(twice(world.connect(0), second));
        const std::vector<step> steps{send_step(1, {input, 0, 1}), send_step(2, {input, 0, 1})};
        prepared work(bind_steps(steps, 1));
        session_operation op;
        std::uint64_t value = 1;
        call c;
        c.input = c.output = reinterpret_cast<std::byte*>(&value);
        c.count = 1;
        c.element_bytes = sizeof value;
        const call_signature signature{.plan = work.bound().plan_id};
        envelope tag;
        tag.operation = 1;
        root.start(op, work, c, tag, signature, 60'000'000'000);
        for (int i = 0; i != 4; ++i) (void)root.progress();
    });
}

} // namespace

TEST_CASE("wrong events: a peer that the group does not have") {
    for (const event::kind what : {event::kind::arrived, event::kind::lost})
        for (const rank_t peer : {rank_t{1}, rank_t{3}, no_rank}) { // this rank is 1
            const auto said = says({.what = what, .peer = peer});
            CHECK(said.aborted);
            CHECK(said.has("event::peer of a"));
        }
    CHECK_FALSE(says({.what = event::kind::lost, .peer = 0}).aborted);
}

TEST_CASE("wrong events: more of them than there is room for") {
    const auto said = says({}, 1);
    CHECK(said.aborted);
    CHECK(said.has("poll() says that it found more events than it was asked for"));
}

TEST_CASE("wrong events: of a post that has ended") {
    for (const event& second :
         {event{.what = event::kind::complete}, event{.what = event::kind::complete, .code = errc::cancelled},
          event{.what = event::kind::piece, .bytes = 8}}) {
        const auto said = ends_twice(second);
        CHECK(said.aborted);
        CHECK(said.has("tells of a post that is not pending"));
    }
}
