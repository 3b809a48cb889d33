// SPDX-License-Identifier: BSL-1.0
// The shape of a call on a group of so many ranks: how long blocks are, who takes part, who is whose
// neighbour. It follows from the plan, so all ranks know it.
#ifndef BOUGH_TEST_SOAK_SHAPE_HPP
#define BOUGH_TEST_SOAK_SHAPE_HPP

#include "soak/draw.hpp"
#include "soak/neighbours.hpp"
#include "soak/values.hpp"
#include <bough/call/arguments.hpp>
#include <bough/core/rank.hpp>
#include <bough/tree/multicast_request.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace soak {

// Elements of one type, combined with one op. All calls have one section, but those of a batch.
struct section {
    std::uint8_t type = 0, op = 0; // of values.hpp
    std::size_t first = 0;         // byte
    std::size_t count = 0;         // elements
};

class call_shape {
public:
    call_shape(const call_plan& plan, bough::rank_t size)
        : plan_(plan), size_(size), root_{static_cast<bough::rank_t>(plan.root % size)}, each_(plan.elements / size) {
        dice d(plan.seed);
        flip_ = d.once_in(2);
        if (is_of_neighbours(plan.what)) {
            each_ = std::min(each_, std::size_t{20'000}); // there are several for each rank
            around_.emplace(plan.seed, size);
        }
        if (plan.what == kind::multicast) members_ = draw_members(d);
        if (plan.what == kind::multicasts)
            for (std::uint64_t left = 1 + d.roll(5); left != 0; --left) {
                const auto from = static_cast<bough::rank_t>(d.roll(size));
                wanted_.push_back({.root = from, .members = draw_members(d)});
            }
        if (is_of_batch(plan.what)) draw_batch(d);
    }

    const call_plan& plan() const { return plan_; }
    bough::rank_t size() const { return size_; }
    bough::root root() const { return root_; }
    // A further choice of the call, by its kind: whether only the root knows the lengths of blocks
    // (gatherv, scatterv), whether blocks travel in slots (alltoallv), whether lengths are one list (neighbours).
    bool flip() const { return flip_; }
    // Elements from one rank to another, of collectives with a block for each rank.
    std::size_t block(bough::rank_t from, bough::rank_t to) const {
        switch (plan_.what) {
        case kind::allgatherv:
        case kind::gatherv: return length(from, 0);
        case kind::scatterv:
        case kind::reduce_scatterv: return length(to, 0);
        case kind::alltoallv: // in place, both ways have the same length
            return plan_.in_place ? length(std::min(from, to), std::max(from, to)) : length(from, to);
        default: return each_;
        }
    }
    std::size_t longest_block() const { return 2 * each_; }
    // Elements that leave from a place for a neighbour.
    std::size_t block_for_neighbour(bough::rank_t from, std::size_t place) const {
        if (plan_.what != kind::neighbour_alltoallv) return each_;
        return length(has_one_list() ? 0 : from, place);
    }
    bool has_one_list() const { return flip_ && around().is_grid(); }
    const neighbours& around() const { return *around_; }
    const std::vector<bough::rank_t>& members() const { return members_; }
    const std::vector<bough::multicast_request>& wanted() const { return wanted_; }
    static bool takes_part(bough::rank_t r, bough::rank_t root, const std::vector<bough::rank_t>& members) {
        return r == root || std::find(members.begin(), members.end(), r) != members.end();
    }
    const std::vector<section>& batch() const { return batch_; }

private:
    std::size_t length(std::uint64_t a, std::uint64_t b) const {
        return bough_test::mixed(plan_.seed * 256 + a * 16 + b) % (2 * each_ + 1);
    }
    // Some ranks, in any order.
    std::vector<bough::rank_t> draw_members(dice& d) const {
        std::vector<bough::rank_t> some;
        for (bough::rank_t r = 0; r != size_; ++r)
            if (d.once_in(2)) some.insert(some.begin() + static_cast<std::ptrdiff_t>(d.roll(some.size() + 1)), r);
        return some;
    }
    void draw_batch(dice& d) {
        constexpr std::size_t most = 2'000, alignment = 16;
        std::size_t end = 0;
        for (std::uint64_t left = d.roll(6); left != 0; --left) {
            section s;
            s.type = static_cast<std::uint8_t>(d.roll(types().size()));
            const type_kind& type = types()[s.type];
            s.op = static_cast<std::uint8_t>(d.roll(type.ops.size()));
            s.first = (end + alignment - 1) / alignment * alignment;
            s.count = d.roll(std::min(plan_.elements, most) + 1);
            end = s.first + s.count * type.type.size;
            batch_.push_back(s);
        }
    }

    call_plan plan_;
    bough::rank_t size_;
    bough::root root_;
    std::size_t each_; // elements of a block, where all are equally long
    bool flip_ = false;
    std::optional<neighbours> around_{};
    std::vector<bough::rank_t> members_{};
    std::vector<bough::multicast_request> wanted_{};
    std::vector<section> batch_{};
};

} // namespace soak

#endif
