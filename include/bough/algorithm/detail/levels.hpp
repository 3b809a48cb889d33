// SPDX-License-Identifier: BSL-1.0
// The steps of one rank over a list of levels: reduce-scatter upwards, then the mirrored allgather,
// or a gather to a root.
#ifndef BOUGH_ALGORITHM_DETAIL_LEVELS_HPP
#define BOUGH_ALGORITHM_DETAIL_LEVELS_HPP

#include <bough/algorithm/levels.hpp>
#include <bough/concepts/step_sink.hpp>
#include <bough/core/slice.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

// Part i of n of a slice; parts differ by one block at most.
constexpr slice part_of(const slice& whole, rank_t i, rank_t n) noexcept {
    const auto cut = [&](rank_t k) { return static_cast<block_t>(std::uint64_t{whole.count} * k / n); };
    return {whole.buffer, whole.first + cut(i), cut(i + 1) - cut(i)};
}

// Which rank is which member of which group, at every level. Member m of a group before level l:
// its roles in the tuples of the levels before are the digits of m, the last level's in the lowest
// place.
class level_map {
public:
    // Pre: levels.complete_for(size). The rank `kept` is never eliminated: where it would be, it
    // takes its neighbour's role.
    constexpr level_map(const level_list& levels, rank_t size, rank_t kept = no_rank) : levels_(levels) {
        swapped_.fill(no_rank);
        groups_[0] = size;
        rank_t group = kept;
        for (std::uint32_t l = 0; l != levels.count; ++l) {
            groups_[l + 1] = levels[l].left_of(groups_[l]);
            if (kept == no_rank) continue;
            const rank_t tuple = tuple_of(l, group);
            if (group - first_of(l, tuple) == levels[l].radix) swapped_[l] = tuple;
            group = tuple;
        }
    }
    constexpr const level_list& levels() const noexcept { return levels_; }
    constexpr rank_t tuple_of(std::uint32_t l, rank_t group) const noexcept {
        const rank_t in_large = levels_[l].eliminated * (levels_[l].radix + 1);
        if (group < in_large) return group / (levels_[l].radix + 1);
        return levels_[l].eliminated + (group - in_large) / levels_[l].radix;
    }
    // The role of a group in its tuple. The group that leaves has the role `radix`.
    constexpr rank_t role_of(std::uint32_t l, rank_t group) const noexcept {
        const rank_t tuple = tuple_of(l, group);
        return in_role(l, tuple, group - first_of(l, tuple));
    }
    constexpr rank_t rank_of(std::uint32_t l, rank_t tuple, rank_t role, rank_t member) const noexcept {
        rank_t group = first_of(l, tuple) + in_role(l, tuple, role);
        while (l-- != 0) {
            group = first_of(l, group) + in_role(l, group, member % levels_[l].radix);
            member /= levels_[l].radix;
        }
        return group;
    }

private:
    constexpr rank_t first_of(std::uint32_t l, rank_t tuple) const noexcept {
        return tuple * levels_[l].radix + std::min(tuple, levels_[l].eliminated);
    }
    constexpr rank_t in_role(std::uint32_t l, rank_t tuple, rank_t i) const noexcept {
        const rank_t radix = levels_[l].radix;
        return swapped_[l] == tuple && i + 1 >= radix ? 2 * radix - 1 - i : i;
    }

    const level_list& levels_;
    std::array<rank_t, level_list::capacity + 1> groups_{};
    // The tuple whose last two groups have changed roles.
    std::array<rank_t, level_list::capacity> swapped_{};
};

// Writes the steps of one rank. `acc` is where it accumulates: output, or scratch where the goal
// gives it no output.
template <StepSink Sink>
class level_walk {
public:
    constexpr level_walk(const level_map& map, rank_t rank, block_t blocks, buffer acc, Sink& out)
        : map_(map), rank_(rank), acc_(acc), out_(out), have_(input), group_(rank) {
        pieces_[0] = {input, 0, blocks};
    }

    // Upwards: afterwards the rank has its part of the result in acc, unless it has left on the way.
    constexpr void reduce_scatter() {
        for (; reached_ != map_.levels().count; ++reached_) {
            const level& l = map_.levels()[reached_];
            tuple_ = map_.tuple_of(reached_, group_);
            const rank_t role = map_.role_of(reached_, group_);
            places_[reached_] = {role, tuple_, member_};
            if (tuple_ >= l.eliminated)
                meet(l, role);
            else if (l.radix == 1)
                fold(l, role);
            else
                eliminate(l, role);
            if (role == l.radix) return;
            group_ = tuple_;
            member_ = member_ * l.radix + role;
            pieces_[reached_ + 1] = kept(l, role, piece());
        }
        if (have_ == input) copy(piece().in(input), piece().in(acc_));
    }

    // Downwards: the mirror image. Every rank gets the whole vector in output.
    constexpr void allgather() {
        // A rank that left comes in again at that level.
        if (reached_ != map_.levels().count) give_back(reached_);
        while (reached_ != 0) give_back(--reached_);
    }

    // Downwards, to the root only: a rank whose role differs from the root's sends, and has ended.
    constexpr void gather(rank_t root) {
        if (reached_ != map_.levels().count) return;
        std::array<rank_t, level_list::capacity> root_roles{};
        for (std::uint32_t l = 0; l != reached_; ++l) {
            root_roles[l] = map_.role_of(l, root);
            root = map_.tuple_of(l, root);
        }
        while (reached_-- != 0) {
            const level& l = map_.levels()[reached_];
            const rank_t role = places_[reached_].role;
            if (role != root_roles[reached_]) {
                send(peer(root_roles[reached_]), kept(l, role, piece()).in(acc_));
                return;
            }
            for (rank_t k = 1; k < l.radix; ++k) {
                const rank_t from = (role + l.radix - k) % l.radix;
                receive(peer(from), kept(l, from, piece()).in(acc_));
            }
        }
    }

private:
    constexpr slice piece() const noexcept { return pieces_[reached_]; }
    static constexpr slice kept(const level& l, rank_t role, const slice& of) noexcept {
        return l.form == level_form::exchange ? of : part_of(of, role, l.radix);
    }
    constexpr rank_t peer(rank_t role) const noexcept {
        return map_.rank_of(reached_, places_[reached_].tuple, role, places_[reached_].member);
    }

    // The direct exchange: each rank sends the others their parts, gets its own part from each, and
    // combines in rank order.
    constexpr void meet(const level& l, rank_t role) {
        if (l.radix == 1) return; // a fold, in which this rank takes no part
        const slice mine = kept(l, role, piece());
        // Vectors that travel whole are short: all are sent at once. Parts of long vectors are sent in
        // turns, so that each rank receives from one other at a time.
        const bool at_once = l.form == level_form::exchange;
        const auto send_to = [&](rank_t to) { send(peer(to), kept(l, to, piece()).in(have_)); };
        const auto receive_from = [&](rank_t from) {
            receive(peer(from), landing(from < role ? from : from - 1, mine));
        };
        for (rank_t k = 1; k < l.radix; ++k) {
            send_to((role + k) % l.radix);
            if (!at_once) receive_from((role + l.radix - k) % l.radix);
        }
        for (rank_t k = 1; at_once && k < l.radix; ++k) receive_from((role + l.radix - k) % l.radix);
        combine_between(0, l.radix, role, mine);
        have_ = acc_;
    }
    // Of the operands [first, last), the lower half is the left operand.
    constexpr slice combine_between(rank_t first, rank_t last, rank_t role, const slice& mine) {
        if (last - first == 1) return first == role ? mine.in(have_) : landing(first < role ? first : first - 1, mine);
        const rank_t middle = first + (last - first) / 2;
        const slice lower = combine_between(first, middle, role, mine);
        const slice upper = combine_between(middle, last, role, mine);
        const slice result = first <= role && role < last ? mine.in(acc_) : lower;
        combine(lower, upper, result);
        return result;
    }

    // The fold: two ranks become one, and role 0 stays.
    constexpr void fold(const level& l, rank_t role) {
        const rank_t other = peer(1 - role);
        const slice lower = part_of(piece(), 0, 2);
        const slice upper = part_of(piece(), 1, 2);
        if (l.form == level_form::exchange) {
            if (role == 1) return send(other, piece().in(have_));
            receive(other, landing(0, piece()));
            combine_with(other, piece());
        } else {
            // Each of the two combines one half; the one that leaves then sends its half.
            const slice mine = rank_ < other ? lower : upper;
            const slice theirs = rank_ < other ? upper : lower;
            send(other, theirs.in(have_));
            receive(other, landing(0, mine));
            if (role == 1) {
                combine_into_landing(other, mine);
                return send(other, landing(0, mine));
            }
            combine_with(other, mine);
            receive(other, theirs.in(acc_));
        }
        have_ = acc_;
    }

    // The elimination: three ranks become two, and role 2 leaves.
    constexpr void eliminate(const level& l, rank_t role) {
        const bool whole = l.form == level_form::exchange;
        const slice lower = kept(l, 0, piece());
        const slice upper = kept(l, 1, piece());
        const slice mine = role == 0 ? lower : upper;
        const rank_t a = peer(0);
        const rank_t b = peer(1);
        const rank_t c = peer(2);
        if (role == 0) {
            send(b, upper.in(have_));
            receive(whole ? b : c, landing(0, mine));
            combine_with(c, mine);
        } else if (role == 1) {
            if (!whole) send(c, lower.in(have_));
            receive(c, landing(0, mine));
            combine_with(c, mine);
            have_ = acc_;
            if (whole) send(a, mine.in(have_));
            receive(a, landing(0, mine));
            combine_with(a, mine);
        } else {
            send(b, upper.in(have_));
            if (whole) return;
            receive(b, landing(0, lower));
            combine_into_landing(b, lower);
            send(a, landing(0, lower));
            return;
        }
        have_ = acc_;
    }

    constexpr void give_back(std::uint32_t at_level) {
        reached_ = at_level;
        const level& l = map_.levels()[reached_];
        const rank_t role = places_[reached_].role;
        const slice all = piece().in(output);
        const slice mine = role == l.radix ? all : kept(l, role, all);
        if (places_[reached_].tuple < l.eliminated) {
            const rank_t leaver = l.radix;
            const bool in_parts = l.form == level_form::halving && l.radix == 2;
            if (!in_parts) {
                if (role == leaver) receive(peer(leaver - 1), all);
                if (role == leaver - 1) send(peer(leaver), all);
            } else if (role == leaver) {
                receive(peer(0), kept(l, 0, all));
                receive(peer(1), kept(l, 1, all));
            } else if (role == 0) {
                send(peer(leaver), mine);
                receive(peer(1), kept(l, 1, all));
                send(peer(1), mine);
            } else {
                send(peer(0), mine);
                send(peer(leaver), mine); // while the other part comes
                receive(peer(0), kept(l, 0, all));
            }
        } else if (l.form == level_form::halving) {
            for (rank_t k = 1; k < l.radix; ++k) {
                const rank_t from = (role + l.radix - k) % l.radix;
                send(peer((role + k) % l.radix), mine);
                receive(peer(from), kept(l, from, all));
            }
        }
    }

    static constexpr slice landing(rank_t plane, const slice& s) noexcept { return s.in(bough::scratch(plane)); }
    // Combines what this rank has with what has landed into acc, in rank order.
    constexpr void combine_with(rank_t other, const slice& s) {
        if (other < rank_)
            combine(landing(0, s), s.in(have_), s.in(acc_));
        else
            combine(s.in(have_), landing(0, s), s.in(acc_));
    }
    constexpr void combine_into_landing(rank_t other, const slice& s) {
        if (other < rank_)
            combine(landing(0, s), s.in(have_), landing(0, s));
        else
            combine(s.in(have_), landing(0, s), landing(0, s));
    }
    // These emit a step only if it has blocks.
    constexpr void send(rank_t to, const slice& s) {
        if (s.count != 0) out_.send(to, s);
    }
    constexpr void receive(rank_t from, const slice& s) {
        if (s.count != 0) out_.receive(from, s);
    }
    constexpr void combine(const slice& lower, const slice& upper, const slice& result) {
        if (result.count != 0) out_.combine(lower, upper, result);
    }
    constexpr void copy(const slice& from, const slice& to) {
        if (to.count != 0) out_.copy(from, to);
    }

    struct place { // of this rank in a level
        rank_t role = 0, tuple = 0, member = 0;
    };
    const level_map& map_;
    rank_t rank_;
    buffer acc_;
    Sink& out_;
    buffer have_; // input until the first combine, then acc
    rank_t group_;
    rank_t tuple_ = 0;
    rank_t member_ = 0;
    std::uint32_t reached_ = 0;
    std::array<slice, level_list::capacity + 1> pieces_{}; // before each level, and in the end
    std::array<place, level_list::capacity> places_{};
};

} // namespace bough::detail

#endif
