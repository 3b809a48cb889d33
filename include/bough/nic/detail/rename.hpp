// SPDX-License-Identifier: BSL-1.0
// Renaming: rewrites a rank's schedule so that every message has a place of its own.
//
// In a schedule a receive writes where the algorithm wants the data, and a plane of scratch serves
// many messages in turn. On a NIC messages come in any order, so each lands in a plane of its own.
// Steps that want just that message read it there. A copy puts the message in its place in two
// cases only: a step reads it together with something else, or the host wants it there. If
// `direct`, a result that came in one message stays where it landed. A packed plane becomes one that
// has room for every block.
//
// The first step of what is made is the bell (a receive from the rank itself, which writes the
// whole vector); the last is the notice (a send of the rank's result to itself). Dependence is then
// inferred as for every schedule (bough/schedule/dependence.hpp).
#ifndef BOUGH_NIC_DETAIL_RENAME_HPP
#define BOUGH_NIC_DETAIL_RENAME_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/step.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/schedule/in_place.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::nic::detail {

// The range of blocks [first, last) that hold something. It may be empty.
struct block_range {
    block_t first = 0, last = 0;
    constexpr void add(block_t b) noexcept {
        if (first == last) first = b;
        first = std::min(first, b);
        last = std::max(last, b + 1);
    }
    constexpr slice of(buffer where) const noexcept { return {where, first, last - first}; }
};
template <class Goal>
constexpr block_range held_by(const Goal& goal, const dimensions& at, rank_t rank) {
    block_range range;
    for (block_t b = 0; b != at.blocks; ++b)
        if (goal.holds(at, rank, b)) range.add(b);
    return range;
}
template <class Goal>
constexpr block_range results_of(const Goal& goal, const dimensions& at, rank_t rank) {
    block_range range;
    for (block_t b = 0; b != at.blocks; ++b)
        if (!goal.result(at, rank, b).empty()) range.add(b);
    return range;
}

struct renamed {
    std::vector<bough::step> steps{};
    // By step: the steps that it waits for; a receive waits for none.
    std::vector<std::vector<std::uint32_t>> before{};
    // For a receive: the receive whose place it shares; all receives of one place name the same
    // one.
    std::vector<std::uint32_t> lands_with{};
    // The step of the schedule that this one is; the bell, the notice and copies have none.
    std::vector<std::uint32_t> source{};
    bool direct = false; // is the host given a message where it landed?
};

class renamer {
public:
    // `result` is what the host is to be given.
    constexpr renamer(std::span<const bough::step> steps, const dimensions& at, rank_t rank, bool in_place,
                      slice result, bool direct)
        : from_(steps), rank_(rank), in_place_(in_place), result_(result) {
        blocks_ = at.blocks;
        landing_ = 0;
        const auto name = [&](const slice& s) {
            blocks_ = std::max<std::size_t>(blocks_, s.last());
            landing_ = std::max(landing_, storage_of(s.buffer));
        };
        for (const bough::step& s : steps) {
            if (s.reads_a()) name(s.a);
            if (s.reads_b()) name(s.b);
            if (s.writes()) name(s.out);
        }
        vector_ = {input, 0, at.blocks};
        copied_.resize(steps.size(), 0);
        walk();
        direct_ = direct && source(result) != no_step;
        for (block_t b = result.first; b != result.last() && !direct_; ++b) {
            const std::uint32_t by = writer_[place(output) * blocks_ + b];
            if (by != no_step) copied_[by] = 1;
        }
        walk();
    }
    constexpr bool is_direct() const noexcept { return direct_; }
    constexpr std::vector<bough::step>&& take() { return std::move(made_); }
    constexpr std::vector<std::uint32_t>&& take_sources() { return std::move(source_); }

private:
    constexpr std::size_t place(buffer b) const noexcept { return in_place_ ? storage_of(b) : b.index; }
    constexpr bool copies_itself(const bough::step& s) const noexcept {
        return s.verb == verb::copy && place(s.a.buffer) == place(s.out.buffer) && s.a.first == s.out.first;
    }
    // The one receive that wrote all of the slice last, or no_step. In the latter case the messages
    // in it are marked to be copied to their places.
    constexpr std::uint32_t source(const slice& s) {
        const std::uint32_t* const by = writer_.data() + place(s.buffer) * blocks_;
        if (s.count == 0) return no_step;
        bool one = by[s.first] != no_step;
        for (block_t b = s.first; b != s.last(); ++b) one = one && by[b] == by[s.first];
        if (one) return by[s.first];
        for (block_t b = s.first; b != s.last(); ++b)
            if (by[b] != no_step) copied_[by[b]] = 1;
        return no_step;
    }
    constexpr slice read(const slice& s) {
        const std::uint32_t by = source(s);
        return by == no_step ? s : slice{scratch(plane_of_[by]), s.first, s.count};
    }
    constexpr void wrote(const slice& s, std::uint32_t by) {
        for (block_t b = s.first; b != s.last(); ++b) writer_[place(s.buffer) * blocks_ + b] = by;
    }
    constexpr void walk() {
        writer_.clear();
        writer_.resize((std::size_t{landing_} + 2) * blocks_, std::uint32_t{no_step});
        plane_of_.clear();
        plane_of_.resize(from_.size(), std::uint32_t{no_step});
        std::uint32_t plane = landing_;
        made_.clear();
        source_.clear();
        put(receive_step(rank_, vector_), no_step);
        for (std::uint32_t i = 0; i != from_.size(); ++i) {
            bough::step s = from_[i];
            for (slice* const named : {&s.a, &s.b, &s.out}) named->buffer.packed = 0;
            if (copies_itself(s)) continue;
            s.more = false;
            if (s.reads_a()) s.a = read(s.a);
            if (s.reads_b()) s.b = read(s.b);
            if (s.verb == verb::receive) {
                plane_of_[i] = plane++;
                const slice target = s.out;
                s.out.buffer = scratch(plane_of_[i]);
                put(s, i);
                if (copied_[i] != 0) put(copy_step(s.out, target), no_step);
                wrote(target, i);
                continue;
            }
            if (s.writes()) wrote(s.out, no_step);
            put(s, i);
        }
        put(send_step(rank_, direct_ ? read(result_) : result_), no_step);
    }
    constexpr void put(const bough::step& s, std::uint32_t source) {
        made_.push_back(s);
        source_.push_back(source);
    }

    std::span<const bough::step> from_;
    rank_t rank_;
    bool in_place_, direct_ = false;
    slice result_;
    slice vector_{};
    std::size_t blocks_ = 0;
    std::uint32_t landing_ = 0;
    std::vector<std::uint32_t> writer_{}, plane_of_{}, source_{};
    std::vector<std::uint8_t> copied_{};
    std::vector<bough::step> made_{};
};

// Finds chains of combines that fold messages into one slice, where nothing but the next combine
// reads the result of each. A chain becomes one combine with what has accumulated in the landing
// place of the first message. Only for ops that are exact and commute.
class accumulator {
public:
    // `waits` are the dependences of the steps, as for every schedule.
    constexpr accumulator(renamed& r, const dependences& waits, bool in_place) : r_(r), in_place_(in_place) {
        const std::size_t n = r.steps.size();
        readers_.resize(n, 0);
        reader_.resize(n, std::uint32_t{no_step});
        for (std::uint32_t i = 0; i != n; ++i)
            for (const std::uint32_t b : r.before[i]) ++readers_[b], reader_[b] = i;
        message_.resize(n, std::uint32_t{no_step});
        const bough::detail::dependents later = bough::detail::dependents_of(waits);
        bough::detail::for_each_in_place(r.steps, later.view(), [&](std::uint32_t receive, std::uint32_t combine) {
            const bough::step& s = r.steps[combine];
            if (same_place(s.a == r.steps[receive].out ? s.b : s.a, s.out)) message_[combine] = receive;
        });
    }
    // True if something was changed; then `dropped` says which steps are no longer needed.
    constexpr bool run(std::vector<std::uint8_t>& dropped) {
        const auto n = static_cast<std::uint32_t>(r_.steps.size());
        dropped.clear();
        dropped.resize(n, 0);
        std::vector<std::uint8_t> seen;
        seen.resize(n, 0);
        bool changed = false;
        for (std::uint32_t i = 0; i != n; ++i) {
            if (seen[i] != 0 || message_[i] == no_step) continue;
            std::vector<std::uint32_t> chain;
            for (std::uint32_t c = i; c != no_step; c = next(c)) chain.push_back(c), seen[c] = 1;
            if (chain.size() < 2) continue;
            changed = true;
            const std::uint32_t last = chain.back();
            const std::uint32_t first_message = message_[i];
            for (const std::uint32_t c : chain) {
                const std::uint32_t message = message_[c];
                r_.lands_with[message] = first_message;
                if (c == last) continue;
                dropped[c] = 1;
                for (const std::uint32_t b : r_.before[c])
                    if (b != last) r_.before[last].push_back(b);
            }
            std::erase_if(r_.before[last], [&](std::uint32_t b) { return dropped[b] != 0; });
            const slice target = r_.steps[last].out;
            r_.steps[last] = combine_step(target, r_.steps[first_message].out, target);
        }
        return changed;
    }

private:
    constexpr bool same_place(const slice& x, const slice& y) const noexcept {
        const bool buffers = in_place_ ? storage_of(x.buffer) == storage_of(y.buffer) : x.buffer == y.buffer;
        return buffers && x.first == y.first && x.count == y.count;
    }
    constexpr std::uint32_t next(std::uint32_t c) const {
        if (readers_[c] != 1) return no_step;
        const std::uint32_t d = reader_[c];
        return message_[d] != no_step && same_place(r_.steps[c].out, r_.steps[d].out) ? d : no_step;
    }

    renamed& r_;
    bool in_place_;
    std::vector<std::uint32_t> readers_{}, reader_{};
    // By combine: the message that it folds into the place that it writes.
    std::vector<std::uint32_t> message_{};
};

// Renames the steps of one rank. Pre: `steps` are those of `rank` in a plan that verify accepts.
constexpr renamed rename(std::span<const bough::step> steps, const dimensions& at, rank_t rank, bool in_place,
                         slice result, bool accumulate, bool direct) {
    renamer by(steps, at, rank, in_place, result, direct);
    renamed r;
    r.direct = by.is_direct();
    r.steps = by.take();
    r.source = by.take_sources();
    const dependences waits = infer_dependences(r.steps);
    const auto n = static_cast<std::uint32_t>(r.steps.size());
    for (std::uint32_t i = 0; i != n; ++i) {
        r.before.emplace_back();
        if (r.steps[i].verb != verb::receive)
            for (const std::uint32_t b : waits.of(i)) r.before.back().push_back(b);
        r.lands_with.push_back(i);
    }
    std::vector<std::uint8_t> dropped;
    if (!accumulate || !accumulator(r, waits, in_place).run(dropped)) return r;
    renamed kept;
    kept.direct = r.direct;
    std::vector<std::uint32_t> number; // a message may land with one that comes later in the schedule
    std::uint32_t next = 0;
    for (std::uint32_t i = 0; i != n; ++i) number.push_back(dropped[i] != 0 ? no_step : next++);
    for (std::uint32_t i = 0; i != n; ++i) {
        if (dropped[i] != 0) continue;
        kept.steps.push_back(r.steps[i]);
        kept.source.push_back(r.source[i]);
        kept.before.emplace_back();
        for (const std::uint32_t b : r.before[i])
            if (dropped[b] == 0) kept.before.back().push_back(number[b]);
        kept.lands_with.push_back(number[r.lands_with[i]]);
    }
    return kept;
}

} // namespace bough::nic::detail

#endif
