// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/session/mutex.hpp>
#include <bough/transport/self.hpp>
#include <bough/transport/serialised.hpp>

#include <concepts>
#include <type_traits>

using namespace bough::detail;

// A session takes no lock unless its transport says that several threads use it.
static_assert(std::same_as<session_mutex_of<bough::self>::type, no_mutex>);
static_assert(!std::same_as<session_mutex_of<bough::serialised<bough::self>>::type, no_mutex>);
static_assert(!std::is_copy_constructible_v<locked<no_mutex>> && std::is_empty_v<no_mutex>);

namespace {

struct counting_mutex {
    int held = 0, locks = 0;
    void lock() { ++held, ++locks; }
    void unlock() { --held; }
};

} // namespace

TEST_CASE("locked: holds a mutex for its life, and only where that is needed") {
    counting_mutex m;
    {
        const locked<counting_mutex> one(m, true);
        CHECK(m.held == 1);
        const locked<counting_mutex> within(m, true); // the mutexes of sessions are recursive
        CHECK(m.held == 2);
        const locked<counting_mutex> needless(m, false);
        CHECK(m.held == 2);
    }
    CHECK(m.held == 0);
    CHECK(m.locks == 2);
}
