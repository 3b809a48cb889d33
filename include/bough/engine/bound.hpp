// SPDX-License-Identifier: BSL-1.0
// A bound schedule: one rank's steps, laid out for the engine. It is made once per plan and rank,
// and run many times.
//
// Binding infers the dependences, numbers the messages of each channel, and gives every scratch
// plane its range of blocks. It also finds the receives whose payload is only ever combined once:
// the engine can combine such a payload where it landed. A message in parts is packed into memory
// of its own before it leaves, and unpacked after it has come. That costs one copy of its bytes at
// either end, and none where a part is only combined, nor where the message is a whole load of a packed
// plane (bough/schedule/packed_loads.hpp). Binding knows no element type and no count:
// those come with the call.
#ifndef BOUGH_ENGINE_BOUND_HPP
#define BOUGH_ENGINE_BOUND_HPP

#include <bough/core/plain_list.hpp>
#include <bough/engine/bound_view.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/schedule/in_place.hpp>
#include <bough/schedule/packed_loads.hpp>
#include <bough/schedule/plan.hpp>
#include <bough/schedule/series.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace bough::inline BOUGH_ABI {

struct bound_schedule {
    block_t blocks = 1;
    std::uint64_t plan_id = 0;
    bool may_hold = false;
    detail::plain_list<bound_step> steps;
    detail::plain_list<bound_place> places;
    detail::plain_list<std::uint32_t> after, waits, start;
    detail::plain_list<bound_channel> channels;
    detail::plain_list<std::uint32_t> receives;
    detail::plain_list<plane_extent> planes;
    detail::plain_list<std::uint32_t> operands;

    constexpr bound_view view() const noexcept {
        return {blocks, plan_id, may_hold, steps, places, after, waits, start, channels, receives, planes, operands};
    }
    // How many operands each of its series of combines has; 0: it was not bound as a plan that combines
    // in series.
    constexpr std::uint32_t series_operands() const noexcept { return operands.empty() ? 0 : operands[0]; }
};

namespace detail {

// A hash of steps: ranks that were given the same steps get the same hash.
constexpr std::uint64_t hash_steps(std::uint64_t seed, std::span<const step> steps) noexcept {
    std::uint64_t h = seed;
    const auto add = [&h](std::uint64_t value) {
        h = (h ^ value) * 0x9e37'79b9'7f4a'7c15u;
        h ^= h >> 32;
    };
    for (const step& s : steps) {
        add(std::uint64_t{s.peer} << 8 | (s.more ? 4u : 0u) | static_cast<std::uint8_t>(s.verb));
        for (const slice& part : {s.a, s.b, s.out}) {
            add(part.buffer.index | std::uint64_t{part.buffer.packed} << 32);
            add(std::uint64_t{part.first} << 32 | part.count);
        }
    }
    return h;
}

// A hash of a plan whose algorithm is told from others without a look at its steps; 0: it is not.
// It takes no time that grows with the ranks.
template <Plan P>
constexpr std::uint64_t identity_of_plan(const P& plan) {
    if constexpr (requires { bough::identity_of(plan.algorithm()); }) {
        const std::uint64_t who = bough::identity_of(plan.algorithm());
        if (who == 0) return 0;
        const step dimensions = copy_step({input, plan.size(), plan.root()}, {output, plan.blocks(), 0});
        return hash_steps(who, {&dimensions, 1}) | 1u;
    } else {
        return 0;
    }
}

// A hash of a vector's blocks.
constexpr std::uint64_t hash_offsets(std::span<const std::uint64_t> offsets) noexcept {
    std::uint64_t h = offsets.size();
    for (const std::uint64_t offset : offsets) {
        h = (h ^ offset) * 0x9e37'79b9'7f4a'7c15u;
        h ^= h >> 32;
    }
    return h;
}

template <int>
class binder {
public:
    constexpr bound_schedule bind(std::span<const step> steps, block_t blocks, bool in_series) {
        bound_.blocks = blocks;
        steps_ = steps;
        order_ = infer_dependences(steps);
        dependents_ = dependents_of(order_);
        for (const step& s : steps)
            for (const slice& used : {s.a, s.b, s.out})
                if (is_scratch(used.buffer)) add_plane(scratch_plane(used.buffer));
        find_loads();
        staged_.assign(steps.size(), no_step);
        bound_index_.assign(steps.size(), no_step);
        for (std::uint32_t i = 0; i != steps.size();) {
            std::uint32_t last = i;
            while (steps[last].more) ++last;
            if (last == i)
                convert(i);
            else if (const std::uint32_t load = whole_load(i, last); load != no_step)
                move_load(i, last, load);
            else if (steps[i].verb == verb::send)
                pack(i, last);
            else
                unpack(i, last);
            i = last + 1;
        }
        number_channels();
        index_edges();
        index_receives();
        fuse();
        if (in_series) find_series();
        return std::move(bound_);
    }

private:
    constexpr void add_plane(std::uint32_t plane) {
        while (bound_.planes.size() <= plane) bound_.planes.push_back({});
    }
    // Finds where each step reads and writes packed planes, and makes the places: of each load, and of
    // its slices.
    constexpr void find_loads() {
        bool has_packed = false;
        for (const step& s : steps_)
            has_packed = has_packed || s.a.buffer.packed + s.b.buffer.packed + s.out.buffer.packed != 0;
        if (!has_packed) return;
        packed_loads<> loads;
        plain_list<std::uint32_t> sizes; // by load: how many slices
        entries_.assign(steps_.size() * 3, no_step);
        const auto is_used = [](const slice& s) { return s.buffer.packed != 0 && s.count != 0; };
        for (std::size_t i = 0; i != steps_.size(); ++i) {
            const step& s = steps_[i];
            if (s.reads_a() && is_used(s.a)) entries_[3 * i] = loads.read(s.a);
            if (s.reads_b() && is_used(s.b)) entries_[3 * i + 1] = loads.read(s.b);
            if (!s.writes() || !is_used(s.out)) continue;
            const std::uint32_t e = entries_[3 * i + 2] = loads.write(s);
            if (sizes.size() < loads.loads()) sizes.resize(loads.loads(), 0);
            sizes[loads[e].load] = std::max(sizes[loads[e].load], loads[e].place + 1);
        }
        plain_list<std::uint32_t> begins; // by load: its place
        std::size_t end = 0;
        for (const std::uint32_t size : sizes) {
            begins.push_back(static_cast<std::uint32_t>(end));
            end += 1 + size;
        }
        bound_.places.assign(end, bound_place{});
        for (std::size_t load = 0; load != sizes.size(); ++load) bound_.places[begins[load]].parts = sizes[load];
        for (std::uint32_t& e : entries_) {
            if (e == no_step) continue;
            const auto& entry = loads[e];
            const std::uint32_t whole = begins[entry.load];
            bound_.places[whole].buffer = entry.what.buffer.index;
            bound_.places[whole + 1 + entry.place] = {entry.what.buffer.index, entry.what.first, entry.what.count, 0};
            e = whole + 1 + entry.place;
        }
    }
    // The place of the load of which the parts [first, last] of a message are all slices, in their order;
    // or no_step.
    constexpr std::uint32_t whole_load(std::uint32_t first, std::uint32_t last) const {
        if (entries_.empty()) return no_step;
        const std::size_t operand = steps_[first].verb == verb::send ? 0 : 2;
        const std::uint32_t part = entries_[std::size_t{first} * 3 + operand];
        if (part == no_step || part == 0 || bound_.places[part - 1].parts != last - first + 1) return no_step;
        for (std::uint32_t i = first; i <= last; ++i)
            if (entries_[std::size_t{i} * 3 + operand] != part + (i - first)) return no_step;
        return part - 1;
    }
    // The place of a slice: one of the last four places if it is there, otherwise a new one.
    constexpr std::uint32_t place(const slice& s) {
        if (is_scratch(s.buffer)) {
            plane_extent& extent = bound_.planes[scratch_plane(s.buffer)];
            extent.first = std::min(extent.first, s.first);
            extent.last = std::max(extent.last, s.last());
        }
        const std::size_t recent = bound_.places.size() < 4 ? 0 : bound_.places.size() - 4;
        for (std::size_t i = bound_.places.size(); i-- != recent;) {
            const bound_place& p = bound_.places[i];
            if (p.buffer == s.buffer.index && p.first == s.first && p.count == s.count && p.parts == 0)
                return static_cast<std::uint32_t>(i);
        }
        bound_.places.push_back({s.buffer.index, s.first, s.count, 0});
        return static_cast<std::uint32_t>(bound_.places.size() - 1);
    }
    constexpr std::uint32_t add(const bound_step& made) {
        bound_.steps.push_back(made);
        return static_cast<std::uint32_t>(bound_.steps.size() - 1);
    }
    constexpr void wait(std::uint32_t later, std::uint32_t earlier) { edges_.push_back(pair_of(earlier, later)); }
    // Bound step `later` waits for what step `i` waits for. A part that is read where it came with its
    // message waits for nothing. Its place is overwritten by what waits for the part and does not read
    // it: that waits for what the part should have waited for.
    constexpr void wait_like(std::uint32_t later, std::uint32_t i) {
        const step& s = steps_[i];
        for (const std::uint32_t before : order_.of(i)) {
            wait(later, bound_index_[before]);
            if (staged_[before] == no_step) continue;
            const slice& part = steps_[before].out;
            if (!(s.reads_a() && s.a == part) && !(s.reads_b() && s.b == part)) wait_like(later, before);
        }
    }
    // Where step `i` has slice `s`, its operand number `which`: 0 and 1 are read, 2 is written.
    constexpr std::uint32_t place_in(std::uint32_t i, std::uint32_t which, const slice& s) {
        if (!entries_.empty() && entries_[std::size_t{i} * 3 + which] != no_step)
            return entries_[std::size_t{i} * 3 + which];
        return place(s.buffer.packed != 0 ? slice{} : s); // an empty slice is in no load
    }
    // Where a step reads an operand: in the message in parts that brought it, or in its usual place.
    constexpr std::uint32_t operand(std::uint32_t i, std::uint32_t which, const slice& s) {
        for (const std::uint32_t before : order_.of(i))
            if (staged_[before] != no_step && steps_[before].out == s) return staged_[before];
        return place_in(i, which, s);
    }
    constexpr void convert(std::uint32_t i) {
        const step& s = steps_[i];
        bound_step made{.verb = s.verb, .peer = s.peer};
        if (s.reads_a()) made.a = operand(i, 0, s.a);
        if (s.reads_b()) made.b = operand(i, 1, s.b);
        if (s.writes()) made.out = place_in(i, 2, s.out);
        bound_index_[i] = add(made);
        wait_like(bound_index_[i], i);
    }
    // Makes a plane for the parts [first, last], one behind the other. Returns the place of all.
    constexpr std::uint32_t stage(std::uint32_t first, std::uint32_t last) {
        const auto whole = static_cast<std::uint32_t>(bound_.places.size());
        bound_.planes.push_back({.first = 0, .last = 0});
        const auto buffer = static_cast<std::uint32_t>(bound_.planes.size() + 1);
        bound_.places.push_back({buffer, 0, 0, last - first + 1});
        for (std::uint32_t i = first; i <= last; ++i) {
            const slice& part = steps_[i].verb == verb::send ? steps_[i].a : steps_[i].out;
            bound_.places.push_back({buffer, part.first, part.count, 0});
        }
        return whole;
    }
    // Binds a message in parts that is a whole load, which lies as it leaves or comes.
    constexpr void move_load(std::uint32_t first, std::uint32_t last, std::uint32_t load) {
        const step& s = steps_[last];
        bound_step made{.verb = s.verb, .peer = s.peer};
        (s.verb == verb::send ? made.a : made.out) = load;
        const std::uint32_t moved = add(made);
        for (std::uint32_t i = first; i <= last; ++i) {
            bound_index_[i] = moved;
            wait_like(moved, i);
        }
        messages_.push_back(pair_of(last, moved));
    }
    // Binds a send in parts: each part is copied behind the one before, and all leave together.
    constexpr void pack(std::uint32_t first, std::uint32_t last) {
        const std::uint32_t whole = stage(first, last);
        for (std::uint32_t i = first; i <= last; ++i) {
            bound_index_[i] =
                add({.verb = verb::copy, .a = place_in(i, 0, steps_[i].a), .out = whole + 1 + (i - first)});
            wait_like(bound_index_[i], i);
        }
        const std::uint32_t send = add({.verb = verb::send, .peer = steps_[last].peer, .a = whole});
        for (std::uint32_t i = first; i <= last; ++i) wait(send, bound_index_[i]);
        messages_.push_back(pair_of(last, send));
    }
    // Binds a receive in parts: all come together, and each part is copied to its place, or
    // combined where it lies.
    constexpr void unpack(std::uint32_t first, std::uint32_t last) {
        const std::uint32_t whole = stage(first, last);
        const std::uint32_t receive = add({.verb = verb::receive, .peer = steps_[last].peer, .out = whole});
        messages_.push_back(pair_of(last, receive));
        for (std::uint32_t i = first; i <= last; ++i) {
            const std::uint32_t part = whole + 1 + (i - first);
            if (sole_combine(steps_, dependents_.view(), i) != no_step) {
                staged_[i] = part;
                bound_index_[i] = receive;
                continue;
            }
            bound_index_[i] = add({.verb = verb::copy, .a = part, .out = place_in(i, 2, steps_[i].out)});
            wait(bound_index_[i], receive);
            wait_like(bound_index_[i], i);
            // In a packed plane what the first part waits for they all do.
            for (std::uint32_t k = first; steps_[i].out.buffer.packed != 0 && k != i; ++k)
                wait_like(bound_index_[i], k);
        }
    }
    constexpr void number_channels() {
        for (std::uint32_t i = 0; i != steps_.size(); ++i)
            if (steps_[i].communicates() && !steps_[i].more && (i == 0 || !steps_[i - 1].more))
                messages_.push_back(pair_of(i, bound_index_[i]));
        std::sort(messages_.begin(), messages_.end());
        message_of_.assign(steps_.size(), no_step);
        for (const std::uint64_t message : messages_) {
            const std::uint32_t i = first_of(message), made = second_of(message);
            message_of_[i] = made;
            const std::uint32_t previous = order_.channel[i];
            if (previous == no_step) continue;
            const std::uint32_t before = message_of_[previous];
            bound_.steps[made].segment = bound_.steps[before].segment + 1;
            if (steps_[i].verb == verb::send) bound_.steps[before].next_on_channel = made;
        }
    }
    constexpr void index_edges() {
        const std::size_t count = bound_.steps.size();
        std::sort(edges_.begin(), edges_.end());
        edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
        bound_.waits.assign(count, 0);
        for (const std::uint64_t edge : edges_) {
            const std::uint32_t earlier = first_of(edge), later = second_of(edge);
            if (bound_.steps[earlier].after_count++ == 0)
                bound_.steps[earlier].after = static_cast<std::uint32_t>(bound_.after.size());
            bound_.after.push_back(later);
            ++bound_.waits[later];
        }
        for (const bound_step& s : bound_.steps)
            if (s.next_on_channel != not_a_step) ++bound_.waits[s.next_on_channel];
        for (std::uint32_t i = 0; i != count; ++i)
            if (bound_.waits[i] == 0 && bound_.steps[i].verb != verb::receive) bound_.start.push_back(i);
    }
    constexpr void index_receives() {
        detail::plain_list<std::uint64_t> posts;
        for (const std::uint64_t message : messages_)
            if (const step& s = steps_[first_of(message)]; s.verb == verb::receive)
                posts.push_back(pair_of(s.peer, second_of(message)));
        std::sort(posts.begin(), posts.end());
        for (const std::uint64_t post : posts) {
            const rank_t peer = first_of(post);
            if (bound_.channels.empty() || bound_.channels.back().peer != peer)
                bound_.channels.push_back({peer, static_cast<std::uint32_t>(bound_.receives.size()), 0});
            ++bound_.channels.back().count;
            bound_.receives.push_back(second_of(post));
        }
    }
    // Fuses each receive that may combine in place with its combine.
    constexpr void fuse() {
        for_each_in_place(steps_, dependents_.view(), [this](std::uint32_t receive, std::uint32_t reader) {
            bound_step& combine = bound_.steps[bound_index_[reader]];
            combine.partner = bound_index_[receive];
            combine.partner_is_a = steps_[reader].a == steps_[receive].out;
            bound_.steps[bound_index_[receive]].partner = bound_index_[reader];
        });
    }

    // Lists the operands of all series of combines, if they have equally many.
    constexpr void find_series() {
        const std::uint32_t each = operands_of_all_series(steps_, dependents_.view());
        if (each == 0) return;
        for_each_series(steps_, dependents_.view(), [&](std::span<const std::uint32_t> series) {
            bound_step& last = bound_.steps[bound_index_[series[series.size() - 1]]];
            last.series = static_cast<std::uint32_t>(bound_.operands.size());
            bound_.operands.push_back(each);
            bound_.operands.push_back(bound_.steps[bound_index_[series[0]]].a);
            for (const std::uint32_t i : series) bound_.operands.push_back(bound_.steps[bound_index_[i]].b);
        });
    }

    // Pairs of numbers are sorted as one number, so that std::sort is compiled once.
    static constexpr std::uint64_t pair_of(std::uint32_t first, std::uint32_t second) noexcept {
        return std::uint64_t{first} << 32 | second;
    }
    static constexpr std::uint32_t first_of(std::uint64_t pair) noexcept {
        return static_cast<std::uint32_t>(pair >> 32);
    }
    static constexpr std::uint32_t second_of(std::uint64_t pair) noexcept { return static_cast<std::uint32_t>(pair); }

    bound_schedule bound_;
    std::span<const step> steps_;
    dependences order_;
    dependents dependents_;
    detail::plain_list<std::uint32_t> bound_index_; // by step: the bound step for which later ones wait
    detail::plain_list<std::uint32_t> staged_;      // by step: the place of a received part in its message
    // By step and operand: its place in the load of a packed plane, or no_step. Empty if there are none.
    detail::plain_list<std::uint32_t> entries_;
    detail::plain_list<std::uint64_t> edges_;    // bound steps: the earlier one, and the later one
    detail::plain_list<std::uint64_t> messages_; // the step of the last part, and the bound step
    // By step: the bound step of a message with this last part.
    detail::plain_list<std::uint32_t> message_of_;
};

} // namespace detail

// Binds the steps of one rank. `in_series`: finds the operands of its series of combines, too.
template <int Delay = 0>
constexpr bound_schedule bind_steps(std::span<const step> steps, block_t blocks, bool in_series = false) {
    return detail::binder<Delay>{}.bind(steps, blocks, in_series);
}

// Binds a rank's part of a plan: looks at the steps of other ranks only if nothing else tells the
// plan from others (identity_of). `members[r]` is the transport's number of rank r of the plan;
// empty: the same number.
template <Plan P>
constexpr bound_schedule bind_plan(const P& plan, rank_t rank, std::span<const rank_t> members = {}) {
    const auto steps_of = [&plan](rank_t r) {
        schedule made;
        plan.emit(r, made);
        return std::move(made.steps);
    };
    bool in_series = false;
    if constexpr (requires { plan.algorithm(); }) in_series = bough::combines_in_series(plan.algorithm());
    bound_schedule bound = bind_steps(steps_of(rank), plan.blocks(), in_series);
    std::uint64_t id = detail::identity_of_plan(plan);
    if (id == 0) {
        // The hash has the steps of all ranks in a group of usual size, so that any difference shows;
        // in a larger group, those of some ranks.
        id = std::uint64_t{plan.size()} << 32 | plan.root();
        const rank_t stride = plan.size() / 1024 + 1;
        for (rank_t r = 0; r < plan.size(); r += stride) id = detail::hash_steps(id, steps_of(r));
        for (const rank_t r : {plan.root(), plan.size() - 1}) id = detail::hash_steps(id, steps_of(r));
    }
    if constexpr (requires { plan.algorithm().hash(); }) id ^= plan.algorithm().hash();
    bound.plan_id = id;
    if constexpr (requires { plan.algorithm(); }) bound.may_hold = bough::may_hold(plan.algorithm());
    if (!members.empty()) {
        for (bound_step& s : bound.steps)
            if (s.peer != no_rank) s.peer = members[s.peer];
        for (bound_channel& c : bound.channels) c.peer = members[c.peer];
    }
    return bound;
}

} // namespace bough

#endif
