// SPDX-License-Identifier: BSL-1.0
// What the tests of collectives with one block a rank share: groups to run in, lengths of blocks, and an element that
// travels in another form than it has in memory.
#ifndef BOUGH_TEST_FRONTDOOR_BLOCKS_HPP
#define BOUGH_TEST_FRONTDOOR_BLOCKS_HPP

#include "support/catch.hpp"
#include "support/guarded.hpp"
#include <bough/communicator.hpp>
#include <bough/op/wire.hpp>
#include <bough/transport/in_process.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace test {

// Calls f(comm, faults) on every rank of groups of many sizes.
template <class F>
void in_groups(F&& f) {
    for (const bough::rank_t size : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 13u}) {
        faults wrong;
        bough::in_process{size}.run([&](auto transport) {
            bough::communicator comm{std::move(transport)};
            f(comm, wrong);
        });
        INFO("p " << size);
        CHECK(wrong.text() == "");
    }
}

// The lengths of the blocks of one call; `regular`: by the form that is given no counts.
struct cut {
    std::vector<std::size_t> counts;
    bool regular;
};

// Equal blocks; for each salt, blocks of many lengths, the same total cut in another way; and equal blocks again.
inline std::vector<cut> cuts(bough::rank_t size, std::size_t longest, std::initializer_list<bough::rank_t> salts) {
    std::vector<cut> made;
    const auto equal = [&](std::size_t count, bool regular) {
        made.push_back({std::vector<std::size_t>(size, count), regular});
    };
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{5}, longest}) equal(count, true);
    for (const bough::rank_t salt : salts) {
        std::vector<std::size_t> counts(size);
        for (bough::rank_t k = 0; k != size; ++k) counts[k] = (k * 7 + salt) % 5 == 0 ? 0 : (k * 31 + salt) % longest;
        made.push_back({counts, false});
        std::reverse(counts.begin(), counts.end());
        made.push_back({counts, false});
    }
    equal(0, false);
    equal(5, false);
    equal(5, true);
    return made;
}

// How many elements the first `ranks` blocks have.
inline std::size_t length_of(const std::vector<std::size_t>& counts, bough::rank_t ranks) {
    return std::accumulate(counts.begin(), counts.begin() + ranks, std::size_t{0});
}

inline std::string where(const auto& comm, const std::vector<std::size_t>& counts, bool regular) {
    return "p " + std::to_string(comm.size()) + ", rank " + std::to_string(comm.rank()) + ", total " +
           std::to_string(length_of(counts, comm.size())) + (regular ? "" : ", v");
}

// What call(comm, data, status) says on one of two ranks, of data whose length is odd.
template <class F>
bough::status status_of_odd_length(bough::rank_t rank, F&& call) {
    bough::status seen;
    bough::in_process{2}.run([&](auto transport) {
        bough::communicator pair{std::move(transport)};
        pair.set_timeout_ns(5'000'000'000);
        std::vector<int> data(3);
        bough::status s;
        call(pair, std::span(data), s);
        if (pair.rank() == rank) seen = s;
    });
    return seen;
}

// Travels in a form of its own: 3 bytes, where memory takes more.
struct tagged {
    std::string text;
    friend bool operator==(const tagged&, const tagged&) = default;
};

} // namespace test

template <>
struct bough::wire<test::tagged> {
    static constexpr std::size_t size = 3;
    static void encode(const test::tagged& value, std::span<std::byte, size> out) {
        for (std::size_t i = 0; i != size; ++i) out[i] = static_cast<std::byte>(value.text[i]);
    }
    static test::tagged decode(std::span<const std::byte, size> in) {
        return {{static_cast<char>(in[0]), static_cast<char>(in[1]), static_cast<char>(in[2])}};
    }
};

#endif
