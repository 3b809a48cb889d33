// SPDX-License-Identifier: BSL-1.0
// A bound schedule: one rank's steps, laid out for the engine. Made once per plan and rank, run many times.
//
// Binding infers the dependences, numbers the messages of each channel, finds the receives whose payload is only ever
// combined once (the engine can combine it where it landed), and gives every scratch plane its range of blocks. It knows
// no element type and no count: those come with the call.
#ifndef BOUGH_EXECUTE_BOUND_HPP
#define BOUGH_EXECUTE_BOUND_HPP

#include <bough/execute/bound_view.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/schedule/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough {

struct bound_schedule {
    block_t blocks = 1;
    std::uint16_t plan_id = 0;
    bool may_hold = false;
    std::vector<bound_step> steps;
    std::vector<bound_place> places;
    std::vector<std::uint32_t> after, waits, start;
    std::vector<bound_channel> channels;
    std::vector<std::uint32_t> receives;
    std::vector<plane_extent> planes;

    constexpr bound_view view() const noexcept {
        return {blocks, plan_id, may_hold, steps, places, after, waits, start, channels, receives, planes};
    }
};

namespace detail {

constexpr std::uint16_t fold16(std::uint64_t h) noexcept {
    return static_cast<std::uint16_t>(h ^ (h >> 16) ^ (h >> 32) ^ (h >> 48));
}

// A hash of steps: the same on every rank that was given the same ones.
constexpr std::uint64_t hash_steps(std::uint64_t seed, std::span<const step> steps) noexcept {
    std::uint64_t h = seed;
    const auto add = [&h](std::uint64_t value) {
        h = (h ^ value) * 0x9e37'79b9'7f4a'7c15u;
        h ^= h >> 32;
    };
    for (const step& s : steps) {
        add(std::uint64_t{s.peer} << 8 | static_cast<std::uint8_t>(s.verb));
        for (const slice& part : {s.a, s.b, s.out}) {
            add(part.buffer.index);
            add(std::uint64_t{part.first} << 32 | part.count);
        }
    }
    return h;
}

// A hash of a vector's blocks.
constexpr std::uint16_t hash_offsets(std::span<const std::uint64_t> offsets) noexcept {
    std::uint64_t h = offsets.size();
    for (const std::uint64_t offset : offsets) {
        h = (h ^ offset) * 0x9e37'79b9'7f4a'7c15u;
        h ^= h >> 32;
    }
    return fold16(h);
}

class binder {
public:
    constexpr bound_schedule bind(std::span<const step> steps, block_t blocks) {
        bound_.blocks = blocks;
        const dependences order = infer_dependences(steps);
        bound_.steps.assign(steps.size(), bound_step{});
        bound_.waits.assign(steps.size(), 0);
        std::vector<std::uint32_t> count(steps.size() + 1, 0);
        for (std::uint32_t i = 0; i != steps.size(); ++i) {
            convert(steps[i], bound_.steps[i]);
            for (const std::uint32_t before : order.of(i)) ++count[before + 1], ++bound_.waits[i];
            const std::uint32_t previous = order.channel[i];
            if (previous == no_step) continue;
            bound_.steps[i].segment = bound_.steps[previous].segment + 1;
            if (steps[i].verb != verb::send) continue;
            bound_.steps[previous].next_on_channel = i;
            ++bound_.waits[i];
        }
        for (std::size_t i = 0; i != steps.size(); ++i) {
            count[i + 1] += count[i];
            bound_.steps[i].after = count[i];
            bound_.steps[i].after_count = count[i + 1] - count[i];
        }
        bound_.after.assign(count.back(), 0);
        for (std::uint32_t i = 0; i != steps.size(); ++i)
            for (const std::uint32_t before : order.of(i)) bound_.after[count[before]++] = i;
        for (std::uint32_t i = 0; i != steps.size(); ++i)
            if (bound_.waits[i] == 0) bound_.start.push_back(i);
        index_receives(steps);
        fuse(steps);
        return std::move(bound_);
    }

private:
    constexpr std::uint32_t place(const slice& s) {
        if (is_scratch(s.buffer)) {
            const std::uint32_t plane = scratch_plane(s.buffer);
            if (plane >= bound_.planes.size()) bound_.planes.resize(plane + 1, plane_extent{});
            plane_extent& extent = bound_.planes[plane];
            extent = {std::min(extent.first, s.first), std::max(extent.last, s.last())};
        }
        const std::size_t recent = bound_.places.size() < 4 ? 0 : bound_.places.size() - 4;
        for (std::size_t i = bound_.places.size(); i-- != recent;) {
            const bound_place& p = bound_.places[i];
            if (p.buffer == s.buffer.index && p.first == s.first && p.count == s.count)
                return static_cast<std::uint32_t>(i);
        }
        bound_.places.push_back({s.buffer.index, s.first, s.count});
        return static_cast<std::uint32_t>(bound_.places.size() - 1);
    }
    constexpr void convert(const step& s, bound_step& made) {
        made.verb = s.verb;
        made.peer = s.peer;
        if (s.reads_a()) made.a = place(s.a);
        if (s.reads_b()) made.b = place(s.b);
        if (s.writes()) made.out = place(s.out);
    }
    constexpr void index_receives(std::span<const step> steps) {
        std::vector<std::uint64_t> posts;
        for (std::uint32_t i = 0; i != steps.size(); ++i)
            if (steps[i].verb == verb::receive) posts.push_back(std::uint64_t{steps[i].peer} << 32 | i);
        std::sort(posts.begin(), posts.end());
        for (const std::uint64_t post : posts) {
            const auto peer = static_cast<rank_t>(post >> 32);
            if (bound_.channels.empty() || bound_.channels.back().peer != peer)
                bound_.channels.push_back({peer, static_cast<std::uint32_t>(bound_.receives.size()), 0});
            ++bound_.channels.back().count;
            bound_.receives.push_back(static_cast<std::uint32_t>(post));
        }
    }
    // A receive is fused if nobody but one combine of exactly its blocks waits for it, and that reads it once.
    constexpr void fuse(std::span<const step> steps) {
        for (std::uint32_t i = 0; i != steps.size(); ++i) {
            if (steps[i].verb != verb::receive || !is_scratch(steps[i].out.buffer)) continue;
            std::uint32_t reader = no_step;
            bool alone = true;
            for (std::uint32_t e = 0; e != bound_.steps[i].after_count && alone; ++e) {
                const std::uint32_t later = bound_.after[bound_.steps[i].after + e];
                const step& s = steps[later];
                const bool reads =
                    (s.reads_a() && overlap(s.a, steps[i].out)) || (s.reads_b() && overlap(s.b, steps[i].out));
                if (!reads) continue; // only overwrites it
                alone = reader == no_step && s.verb == verb::combine &&
                        (s.a == steps[i].out) != (s.b == steps[i].out) && !overlap(s.out, steps[i].out);
                reader = later;
            }
            if (!alone || reader == no_step || bound_.steps[reader].partner != no_step) continue;
            bound_.steps[i].partner = reader;
            bound_.steps[reader].partner = i;
            bound_.steps[reader].partner_is_a = steps[reader].a == steps[i].out;
        }
    }

    bound_schedule bound_;
};

} // namespace detail

// Binds the steps of one rank.
constexpr bound_schedule bind_steps(std::span<const step> steps, block_t blocks) {
    return detail::binder{}.bind(steps, blocks);
}

// Binds a rank's part of a plan. `members[r]` is the transport's number of the plan's rank r; empty: the same.
template <Plan P>
constexpr bound_schedule bind_plan(const P& plan, rank_t rank, std::span<const rank_t> members = {}) {
    const auto steps_of = [&plan](rank_t r) {
        schedule made;
        plan.emit(r, made);
        return std::move(made.steps);
    };
    bound_schedule bound = bind_steps(steps_of(rank), plan.blocks());
    // The steps of all ranks of a group of usual size, so that any difference shows; of a larger one, of some.
    std::uint64_t id = std::uint64_t{plan.size()} << 32 | plan.root();
    const rank_t stride = plan.size() / 1024 + 1;
    for (rank_t r = 0; r < plan.size(); r += stride) id = detail::hash_steps(id, steps_of(r));
    for (const rank_t r : {plan.root(), plan.size() - 1}) id = detail::hash_steps(id, steps_of(r));
    if constexpr (requires { plan.algorithm().hash(); }) id ^= plan.algorithm().hash();
    bound.plan_id = detail::fold16(id);
    if constexpr (requires { plan.algorithm(); })
        bound.may_hold = may_hold_v<std::remove_cvref_t<decltype(plan.algorithm())>>;
    if (!members.empty()) {
        for (bound_step& s : bound.steps)
            if (s.peer != no_rank) s.peer = members[s.peer];
        for (bound_channel& c : bound.channels) c.peer = members[c.peer];
    }
    return bound;
}

} // namespace bough

#endif
