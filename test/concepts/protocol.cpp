// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/concepts/explain_transport.hpp>
#include <bough/concepts/forwarding_transport.hpp>
#include <bough/concepts/protocol.hpp>
#include <bough/testing/faulty.hpp>
#include <bough/testing/recording.hpp>
#include <bough/transport/emulated.hpp>
#include <bough/transport/self.hpp>
#include <bough/transport/serialised.hpp>

#include <cstddef>
#include <set>
#include <string>

using namespace bough;

namespace {

struct telling : self {
    static protocol way_of(rank_t peer, std::size_t bytes, bool combines) noexcept {
        if (peer == 7) return protocol::late_place;
        return bytes < 100 ? protocol::copied : combines ? protocol::in_place : protocol::remote_write;
    }
};
static_assert(SaysWays<telling> && explain_optional_members<telling>());
static_assert(!SaysWays<self> && explain_optional_members<self>());
static_assert(!SaysWays<forwarding_transport<self>>);

// Does a transport over `telling` say what that one says?
template <class T>
bool says_the_same(const T& over) {
    static_assert(SaysWays<T> && explain_optional_members<T>());
    return over.way_of(7, 1, false) == protocol::late_place && over.way_of(0, 99, true) == protocol::copied &&
           over.way_of(0, 100, true) == protocol::in_place && over.way_of(0, 100, false) == protocol::remote_write;
}

} // namespace

TEST_CASE("protocol: each way has a text of its own") {
    std::set<std::string> texts;
    for (std::uint8_t p = 0; p <= static_cast<std::uint8_t>(protocol::late_place); ++p)
        texts.insert(way_text(static_cast<protocol>(p)));
    CHECK(texts.size() == 7);
    CHECK(texts.count(way_text(static_cast<protocol>(99))) == 0);
}

TEST_CASE("protocol: every transport over another one says its ways") {
    testing::record log;
    testing::fault_point fault;
    CHECK(says_the_same(telling{}));
    CHECK(says_the_same(forwarding_transport<telling>{telling{}}));
    CHECK(says_the_same(serialised{telling{}}));
    CHECK(says_the_same(emulated{telling{}, emulation{}}));
    CHECK(says_the_same(testing::recording{telling{}, log}));
    CHECK(says_the_same(testing::faulty{telling{}, fault}));
    CHECK(says_the_same(serialised{emulated{telling{}, emulation{}}}));
}
