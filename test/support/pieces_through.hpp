// SPDX-License-Identifier: BSL-1.0
// Whether long messages over shared memory are combined piece by piece through a transport that is over it.
#ifndef BOUGH_TEST_SUPPORT_PIECES_THROUGH_HPP
#define BOUGH_TEST_SUPPORT_PIECES_THROUGH_HPP

#include "support/catch.hpp"
#include "transport/shared_memory_world.hpp"
#include <bough/communicator.hpp>
#include <bough/concepts/forwarding_transport.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace bough_test {

struct takes {
    std::uint64_t whole = 0, in_pieces = 0, pieces = 0;
};

// Counts what is taken.
class taking_counted : public bough::forwarding_transport<bough::shared_memory> {
public:
    taking_counted(bough::shared_memory inner, takes& counts)
        : forwarding_transport(std::move(inner)), counts_(&counts) {}
    bough::posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        ++counts_->whole;
        return inner_.take(handle, into, id);
    }
    bough::posted take_pieces(std::uint64_t handle, std::uint64_t grain, std::uint64_t id) {
        ++counts_->in_pieces;
        return inner_.take_pieces(handle, grain, id);
    }
    std::size_t poll(std::span<bough::event> events) {
        const std::size_t found = inner_.poll(events);
        for (const bough::event& e : events.first(found)) counts_->pieces += e.what == bough::event::kind::piece;
        return found;
    }

private:
    takes* counts_;
};

// wrap(end, rank): the transport over that end. One thread drives two ranks, which reduce a MiB to rank 0.
template <class F>
bool pieces_through(F&& wrap) {
    auto ends = shared_ends(2, {.eager_bytes = 1024, .direct_reads = false});
    takes counts[2];
    bough::communicator root{wrap(taking_counted{std::move(ends[0]), counts[0]}, 0)};
    bough::communicator leaf{wrap(taking_counted{std::move(ends[1]), counts[1]}, 1)};
    std::vector<std::uint64_t> mine(1 << 17, 1), other(mine.size(), 2);
    bough::operation got = bough::start_reduce(root, std::span(mine), bough::plus{}, bough::root{0});
    bough::operation sent = bough::start_reduce(leaf, std::span(other), bough::plus{}, bough::root{0});
    while (!got.done() || !sent.done()) {
        root.progress();
        leaf.progress();
    }
    CHECK(mine == std::vector<std::uint64_t>(mine.size(), 3));
    CHECK((counts[0].whole == 0) == (counts[0].in_pieces != 0));
    return counts[0].in_pieces != 0 && counts[0].pieces > counts[0].in_pieces;
}

} // namespace bough_test

#endif
