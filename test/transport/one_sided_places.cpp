// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/remote/simulated.hpp>
#include <bough/transport/one_sided/places.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <vector>

using namespace bough;
using namespace bough::detail;

namespace {

// Rank 0 of two, with a region of 4 KiB of which the last 1 KiB is the heap.
struct region_of_rank {
    simulated_regions world{2, {.region_bytes = 4096}};
    simulated_regions::endpoint x = world.connect(0);
    landing_places<simulated_regions::endpoint> places;
    std::vector<std::byte> own = std::vector<std::byte>(1000);
    exposure at, exposed;

    explicit region_of_rank(std::uint64_t expose_bytes = 0) : places(x.region(), 3072, expose_bytes) {}
    bool find(std::span<std::byte> into) {
        at = exposed = {};
        return places.find(x, into, at, exposed);
    }
};

} // namespace

TEST_CASE("landing_places: a piece of the heap is a place without a key") {
    region_of_rank r;
    const std::span<std::byte> piece = r.places.allocate(1024);
    REQUIRE(piece.size() == 1024);
    CHECK(r.places.allocate(1).empty());
    CHECK(r.find(piece.subspan(100, 50)));
    CHECK((r.at.place == 3172 && r.at.key == 0 && !r.exposed));
    r.places.deallocate(piece, false);
    CHECK(r.places.allocate(1024).data() == piece.data());
}

TEST_CASE("landing_places: a piece that may still be written to is kept back") {
    region_of_rank r;
    const std::span<std::byte> piece = r.places.allocate(1024);
    r.places.deallocate(piece, true);
    CHECK(r.places.allocate(1024).empty());
    r.places.free_kept([&](std::span<const std::byte> kept) { return kept.data() == piece.data(); });
    CHECK(r.places.allocate(1024).empty());
    r.places.free_kept([](std::span<const std::byte>) { return false; });
    CHECK(r.places.allocate(1024).data() == piece.data());
}

TEST_CASE("landing_places: memory that the caller has exposed is found until it is concealed") {
    region_of_rank r;
    CHECK_FALSE(r.find(r.own));
    REQUIRE(r.places.expose(r.x, r.own));
    CHECK(r.world.exposed(0) == 1);
    CHECK(r.find(r.own));
    const exposure whole = r.at;
    CHECK((whole.key != 0 && !r.exposed)); // not for one message alone
    CHECK(r.find(std::span(r.own).subspan(40, 8)));
    CHECK((r.at.place == whole.place + 40 && r.at.key == whole.key));
    std::array<std::byte, 8> other{};
    CHECK_FALSE(r.find(other));
    r.places.conceal(r.x, r.own, true);
    CHECK(r.world.exposed(0) == 0);
    CHECK_FALSE(r.find(r.own));
}

TEST_CASE("landing_places: memory of a forked child's parent is forgotten, and stays exposed") {
    region_of_rank r;
    REQUIRE(r.places.expose(r.x, r.own));
    r.places.conceal(r.x, r.own, false);
    CHECK(r.world.exposed(0) == 1);
    CHECK_FALSE(r.find(r.own));
}

TEST_CASE("landing_places: memory is exposed for one message if the message is long enough") {
    region_of_rank r(100);
    CHECK_FALSE(r.find(std::span(r.own).first(99)));
    CHECK(r.world.exposed(0) == 0);
    CHECK(r.find(std::span(r.own).first(100)));
    CHECK((r.exposed && r.exposed.place == r.at.place && r.exposed.key == r.at.key));
    CHECK(r.world.exposed(0) == 1);
    r.x.conceal(r.exposed);
}

TEST_CASE("lies_in: a part, also at both ends, and nothing beside it") {
    std::array<std::byte, 16> a{};
    const std::span<const std::byte> whole(a.data() + 4, 8);
    CHECK((lies_in(whole, whole) && lies_in(whole.first(1), whole) && lies_in(whole.last(1), whole)));
    CHECK_FALSE(lies_in(std::span<const std::byte>(a).subspan(3, 2), whole));
    CHECK_FALSE(lies_in(std::span<const std::byte>(a).subspan(11, 2), whole));
    CHECK_FALSE(lies_in(std::span<const std::byte>(a).first(4), whole));
}
