// SPDX-License-Identifier: BSL-1.0
// Alltoall over groups of near ranks: what one group has for another crosses in few messages, for
// which the ranks of a group hand each other their blocks.
//
//   grouped_alltoall{contiguous_groups{8}}              one message from each group to each other one
//   grouped_alltoall{contiguous_groups{8}, 4}           four, each for a quarter of the ranks there
//
// Each lane from group A to group B has a sender in A and a receiver in B. Lanes are dealt in turn,
// so the members of a group share this work.
//   1  In each group, every rank gives every other its block, and the blocks that the other is to send.
//   2  The senders send, each message to another group.
//   3  In each group, the receivers hand out what came.
//
// Ranks       2^16 - 1 at most, since a block has a number of 32 bits; the root does not matter
// Rounds      in a group of g: g - 1, then about (groups - 1) lanes / g, then up to g - 1
// Traffic     between groups lanes messages for each ordered pair, and the blocks once, the least there
//             can be; inside, a block that goes to another group moves up to twice, and once less if its
//             own rank is the sender or the receiver. With as many lanes as a group has ranks nothing is
//             handed out there
// Scratch     one block for each one that is on its way through a rank, neither its own nor for it
// Time        alpha_beta_gamma, h equal groups of g, one lane, h - 1 = k g, blocks of b bytes:
//             2 (g - 1) (alpha + beta b k g) + (g - 1) beta b + k (alpha + beta b g g)
//             Where a message needs both its ranks (bough/model/rendezvous.hpp): with several lanes, or
//             on groups of different sizes, ranks may wait in a circle, and the price is infinite
// Determinism nothing is combined
// Pre         p * p blocks: block i p + j goes from rank i to rank j; they may differ in length,
//             also be empty
// Errors      check(): lanes: none; groups that do not fit; blocks; too many ranks
// Source      message combining by nodes: Traeff and Rougier 2014, "MPI collectives and datatypes for
//             hierarchical all-to-all communication"; batches between nodes: Fan et al., arXiv
//             2411.02581 (TuNA)
//
// Picture, p = 7 in groups 0 1 2 | 3 4 | 5 6, one lane (i>j: the block from i to j), what rank 0
// does. It sends to and receives from the group of 3 and 4; rank 1 does that for 5 and 6.
//   step 1   to 1   0>1 0>5 0>6                from 1   1>0 1>3 1>4
//            to 2   0>2                        from 2   2>0 2>3 2>4
//   step 2   to 4   0>3 0>4 1>3 1>4 2>3 2>4    from 4   3>0 3>1 3>2 4>0 4>1 4>2
//   step 3   to 1   3>1 4>1                    from 1   5>0 6>0
//            to 2   3>2 4>2
#ifndef BOUGH_ALGORITHM_ALLTOALL_GROUPED_HPP
#define BOUGH_ALGORITHM_ALLTOALL_GROUPED_HPP

#include <bough/algorithm/detail/alltoall_blocks.hpp>
#include <bough/algorithm/detail/circle.hpp>
#include <bough/algorithm/detail/level.hpp>
#include <bough/algorithm/groups.hpp>
#include <bough/core/label.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/schedule/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

template <Grouping Groups>
struct grouped_alltoall {
    using serves = goals<goal::alltoall>;
    Groups groups{};
    rank_t lanes = 1; // messages for each ordered pair of groups; at most one for each rank that gets something

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const view here(groups, at.size, rank);
        const slice kept{input, rank * at.size + rank, 1};
        out.copy(kept, kept.in(output));
        const detail::circle members{here.members}, all{here.count};
        for (rank_t k = 1; k < here.members; ++k) {
            send(here, here.in_group(members.ahead(here.place, k)), out, leg::to_sender);
            receive(here, here.in_group(members.behind(here.place, k)), out, leg::to_sender);
        }
        // The i-th message that goes out stands beside the i-th that comes in: they were sent in one
        // round. But a rank that waits for a group d behind it has sent to all groups up to d ahead of
        // it. So nobody waits for a message that waits for its own, whatever the groups' sizes.
        struct crossing {
            rank_t peer, distance;
        };
        detail::plain_list<crossing> to, from;
        for (rank_t d = 1; d < here.count; ++d) {
            const rank_t next = all.ahead(here.group, d), last = all.behind(here.group, d);
            for_lanes(here, next, [&](const lane& l) {
                if (sender(here, here.group, next, l) == rank) to.push_back({receiver(here, here.group, next, l), d});
            });
            for_lanes(here, here.group, [&](const lane& l) {
                if (receiver(here, last, here.group, l) == rank) from.push_back({sender(here, last, here.group, l), d});
            });
        }
        std::size_t sent = 0;
        for (std::size_t i = 0; i < std::max(to.size(), from.size()); ++i) {
            const rank_t distance = i < from.size() ? from[i].distance : 0;
            for (; sent < to.size() && (sent <= i || to[sent].distance <= distance); ++sent)
                send(here, to[sent].peer, out, leg::across);
            if (i < from.size()) receive(here, from[i].peer, out, leg::across);
        }
        for (rank_t k = 1; k < here.members; ++k) {
            send(here, here.in_group(members.ahead(here.place, k)), out, leg::from_receiver);
            receive(here, here.in_group(members.behind(here.place, k)), out, leg::from_receiver);
        }
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size * size; }
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        const view here(groups, at.size, rank);
        block_t blocks = 0;
        for (rank_t other = 0; other != here.count; ++other) {
            if (other == here.group) continue;
            for_lanes(here, other, [&](const lane& l) {
                if (sender(here, here.group, other, l) == rank) blocks += (here.members - 1) * l.served;
            });
            for_lanes(here, here.group, [&](const lane& l) {
                if (receiver(here, other, here.group, l) == rank)
                    blocks += groups.members(at.size, other) * (l.served - 1);
            });
        }
        return blocks;
    }
    constexpr status check(const dimensions& at) const {
        if (lanes == 0) return invalid_argument("lanes: at least one is needed");
        if (const status bad = groups.check(at.size)) return bad;
        return detail::check_block_per_pair(at);
    }
    // All that is said of groups above is said of how far they are from each other.
    constexpr rank_t alike_group(const dimensions& at, rank_t rank) const {
        return detail::have_one_size(groups, at.size) ? groups.group_of(at.size, rank) : no_rank;
    }
    constexpr label text() const { return label("grouped_alltoall").field(label_of(groups)).field("lanes", lanes, 1); }
    constexpr std::uint64_t identity() const {
        return detail::identity_of_levels("grouped_alltoall", groups, std::uint64_t{lanes});
    }
    friend bool operator==(const grouped_alltoall&,
                           const grouped_alltoall&) = default; // constexpr if that of groups is

private:
    using view = detail::level_view<Groups>;
    // Serves the members of a group at the places `number`, `number` + `stride`, ...
    struct lane {
        rank_t number, stride, served;
    };

    // Calls f(lane) for the lanes to a group.
    template <class F>
    constexpr void for_lanes(const view& here, rank_t to, const F& f) const {
        const rank_t there = groups.members(here.size, to), stride = std::min(lanes, there);
        for (rank_t l = 0; l != stride; ++l) f(lane{l, stride, (there - l + stride - 1) / stride});
    }
    // How many groups `other` lies behind the next one.
    static constexpr rank_t turn(const view& here, rank_t group, rank_t other) noexcept {
        return (other > group ? other - group : other + (here.count - group)) - 1;
    }
    constexpr rank_t sender(const view& here, rank_t from, rank_t to, const lane& l) const {
        const std::uint64_t number = std::uint64_t{turn(here, from, to)} * l.stride + l.number;
        return groups.member(here.size, from, static_cast<rank_t>(number % groups.members(here.size, from)));
    }
    constexpr rank_t receiver(const view& here, rank_t from, rank_t to, const lane& l) const {
        return groups.member(here.size, to, l.number + turn(here, to, from) % l.served * l.stride);
    }

    // Calls f(source, destination) for the blocks that a source has for the ranks that a lane serves.
    template <class F>
    constexpr void served_by(const view& here, rank_t group, const lane& l, rank_t source, const F& f) const {
        for (rank_t k = 0; k != l.served; ++k) f(source, groups.member(here.size, group, l.number + k * l.stride));
    }

    // What a message is for: step 1, 2 and 3.
    enum class leg : std::uint8_t { to_sender, across, from_receiver };

    // Calls f(source, destination) for the blocks of a message, in the same order on both sides.
    template <class F>
    constexpr void blocks_of(leg now, const view& here, rank_t from, rank_t to, const F& f) const {
        if (now == leg::across) return blocks_across(here, from, to, f);
        if (now == leg::to_sender) f(from, to);
        for (rank_t other = 0; other != here.count; ++other) {
            if (other == here.group) continue;
            if (now == leg::to_sender)
                for_lanes(here, other, [&](const lane& l) {
                    if (sender(here, here.group, other, l) == to) served_by(here, other, l, from, f);
                });
            else
                for_lanes(here, here.group, [&](const lane& l) {
                    if (groups.place_of(here.size, to) % l.stride != l.number) return;
                    if (receiver(here, other, here.group, l) != from) return;
                    for (rank_t k = 0; k != groups.members(here.size, other); ++k)
                        f(groups.member(here.size, other, k), to);
                });
        }
    }
    template <class F>
    constexpr void blocks_across(const view& here, rank_t from, rank_t to, const F& f) const {
        const rank_t source = groups.group_of(here.size, from), there = groups.group_of(here.size, to);
        for_lanes(here, there, [&](const lane& l) {
            if (receiver(here, source, there, l) != to) return;
            for (rank_t k = 0; k != groups.members(here.size, source); ++k)
                served_by(here, there, l, groups.member(here.size, source, k), f);
        });
    }

    // Calls f(slice, is_own, arrives, more) for the parts of a message: blocks side by side that the
    // sender has from itself, or not, and the receiver keeps, or not.
    template <class F>
    constexpr void for_parts(const view& here, rank_t from, rank_t to, leg now, const F& f) const {
        slice part{input, 0, 0};
        bool is_own = false, arrives = false;
        blocks_of(now, here, from, to, [&](rank_t source, rank_t destination) {
            const block_t block = source * here.size + destination;
            const bool same = is_own == (source == from) && arrives == (destination == to);
            if (part.count != 0 && same && part.last() == block) {
                ++part.count;
                return;
            }
            if (part.count != 0) f(part, is_own, arrives, true);
            part = {input, block, 1};
            is_own = source == from;
            arrives = destination == to;
        });
        if (part.count != 0) f(part, is_own, arrives, false);
    }
    constexpr void send(const view& here, rank_t to, StepSink auto& out, leg now) const {
        for_parts(here, here.in_group(here.place), to, now, [&](slice part, bool is_own, bool, bool more) {
            const slice had = part.in(is_own ? input : bough::scratch(0));
            more ? out.send_part(to, had) : out.send(to, had);
        });
    }
    constexpr void receive(const view& here, rank_t from, StepSink auto& out, leg now) const {
        for_parts(here, from, here.in_group(here.place), now, [&](slice part, bool, bool arrives, bool more) {
            const slice come = part.in(arrives ? output : bough::scratch(0));
            more ? out.receive_part(from, come) : out.receive(from, come);
        });
    }
};
template <class Groups>
grouped_alltoall(Groups) -> grouped_alltoall<Groups>;
template <class Groups>
grouped_alltoall(Groups, rank_t) -> grouped_alltoall<Groups>;

} // namespace bough

#endif
