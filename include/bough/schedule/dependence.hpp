// SPDX-License-Identifier: BSL-1.0
// Dependence: which steps of a schedule must wait for which others. The verifier, the engines, the
// NIC assembler and the exporters share this one definition.
//
// A generator writes steps in plain program order. Step j must wait for an earlier step i if they
// touch the same block of the same storage and at least one of them writes it (read after write,
// write after write, write after read). Input and output are the same storage, since they are the
// same memory in the in-place form. In addition, messages on one channel (one peer, one direction)
// are posted in program order; the last part of a message in parts stands for the message.
//
// The blocks of a packed plane share memory, so there a step also waits for others than those of its
// block. The first write of a load (bough/schedule/packed_loads.hpp) waits for all that touched the
// load before; each later slice that is added waits for that first write. The parts of one message do
// not wait for each other.
//
// Only the last writer of a block and its readers since are kept: the relation is the transitive
// reduction that matters, linear in the blocks touched, not quadratic in the steps.
#ifndef BOUGH_SCHEDULE_DEPENDENCE_HPP
#define BOUGH_SCHEDULE_DEPENDENCE_HPP

#include <bough/core/plain_list.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>
#include <bough/schedule/block_places.hpp>
#include <bough/schedule/packed_loads.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI {

// Stands where there is no step.
inline constexpr std::uint32_t no_step = 0xffff'ffffu;

// The dependences of one rank's steps, numbered in program order.
struct dependences {
    detail::plain_list<std::uint32_t> first;  // steps + 1 offsets into `before`
    detail::plain_list<std::uint32_t> before; // the steps that must be complete
    // The step that must be posted before, on the same channel; or no_step.
    detail::plain_list<std::uint32_t> channel;

    // The steps that step i waits for.
    constexpr std::span<const std::uint32_t> of(std::size_t i) const noexcept {
        return std::span<const std::uint32_t>(before).subspan(first[i], first[i + 1] - first[i]);
    }
    friend constexpr bool operator==(const dependences&, const dependences&) = default;
};

namespace detail {

// The number under which block_places knows a storage: that of its buffer; the input has the output's.
constexpr std::uint32_t storage_place(const slice& s) noexcept { return s.buffer.index == 0 ? 1 : s.buffer.index; }

// A place for every block of every storage that steps touch.
constexpr void add_places(block_places<>& places, std::span<const step> steps) {
    const step* const end = steps.data() + steps.size();
    for (const step* s = steps.data(); s != end; ++s) {
        if (s->verb != verb::receive) places.add(storage_place(s->a), s->a.first, s->a.last());
        if (s->verb == verb::combine) places.add(storage_place(s->b), s->b.first, s->b.last());
        if (s->verb != verb::send) places.add(storage_place(s->out), s->out.first, s->out.last());
    }
}

// The last writer and the readers since, for every block of every storage.
template <int = 0>
class block_history {
public:
    // `places`: settled, with those of all blocks that will be read or written; `end`: their number.
    constexpr block_history(const block_places<>& places, std::size_t end) : places_(places), cells_(end, cell{}) {}

    template <class F>
    constexpr void read(const slice& s, std::uint32_t by, F&& depends_on) {
        if (s.count == 0) return;
        if (s.buffer.packed != 0) loads_.read(s);
        cell* at = cells_.data() + places_.at(storage_place(s), s.first);
        for (cell* const end = at + s.count; at != end; ++at) {
            if (at->writer != no_step) depends_on(at->writer);
            entries_.push_back({by, at->readers});
            at->readers = static_cast<std::uint32_t>(entries_.size() - 1);
        }
    }
    // What step `w`, which has the number `by`, writes. `message`: if it is a receive, the first part of
    // its message.
    template <class F>
    constexpr void write(const step& w, std::uint32_t by, std::uint32_t message, F&& depends_on) {
        if (w.out.count == 0) return;
        if (w.out.buffer.packed == 0) return overwrite(w.out, by, depends_on);
        const auto depends_on_other = [&](std::uint32_t earlier) {
            if (earlier < message) depends_on(earlier);
        };
        load(w, by, depends_on_other);
        overwrite(w.out, by, depends_on_other);
    }

private:
    struct reader {
        std::uint32_t step, next;
    };
    struct cell {
        std::uint32_t writer = no_step;
        std::uint32_t readers = no_step; // head of a list in entries_
    };
    template <class F>
    constexpr void overwrite(const slice& s, std::uint32_t by, F&& depends_on) {
        cell* at = cells_.data() + places_.at(storage_place(s), s.first);
        const reader* const entries = entries_.data();
        for (cell* const end = at + s.count; at != end; ++at) {
            if (at->writer != no_step) depends_on(at->writer);
            for (std::uint32_t e = at->readers; e != no_step; e = entries[e].next) depends_on(entries[e].step);
            *at = {by, no_step};
        }
    }
    template <class F>
    constexpr void load(const step& w, std::uint32_t by, F&& depends_on) {
        const std::uint32_t before = loads_.loads();
        const std::uint32_t e = loads_.write(w, [&](const auto& gone) { overwrite(gone.what, by, depends_on); });
        const std::size_t plane = w.out.buffer.index;
        if (first_writes_.size() <= plane) first_writes_.resize(plane + 1, 0);
        if (loads_.loads() != before)
            first_writes_[plane] = by;
        else if (loads_.is_new(e))
            depends_on(first_writes_[plane]);
    }

    const block_places<>& places_;
    plain_list<cell> cells_;
    plain_list<reader> entries_;
    packed_loads<> loads_;
    plain_list<std::uint32_t> first_writes_; // of the load of each packed plane, by buffer
};

// Calls f(i, earlier) for each step i and each step that it must wait for, i ascending. `places`, `end`:
// as block_history takes them.
template <class F>
constexpr void for_each_dependence(std::span<const step> steps, const block_places<>& places, std::size_t end, F&& f) {
    block_history<> history(places, end);
    // Step -> the last step it was listed for.
    detail::plain_list<std::uint32_t> listed_for(steps.size(), no_step);
    std::uint32_t* const listed = listed_for.data();
    std::uint32_t i = 0;
    const auto depends_on = [&](std::uint32_t earlier) {
        if (earlier == i || listed[earlier] == i) return;
        listed[earlier] = i;
        f(i, earlier);
    };
    const step* s = steps.data();
    std::uint32_t message = 0; // the first part of the message that step i is of; i if it is of none
    for (const auto count = static_cast<std::uint32_t>(steps.size()); i != count; ++i, ++s) {
        if (s->verb != verb::receive) history.read(s->a, i, depends_on);
        if (s->verb == verb::combine) history.read(s->b, i, depends_on);
        if (s->verb != verb::send) history.write(*s, i, message, depends_on);
        if (!s->more) message = i + 1;
    }
}

} // namespace detail

// Infers the dependences of one rank's steps. Time and memory: linear in the blocks that the steps touch.
template <int = 0>
constexpr dependences infer_dependences(std::span<const step> steps) {
    dependences found;
    found.first.assign(steps.size() + 1, 0);
    found.channel.resize(steps.size(), no_step);
    detail::plain_list<std::uint64_t> posts; // (direction, peer, step), to be sorted
    detail::block_places<> places;
    detail::add_places(places, steps);
    const std::size_t end = places.settle();
    detail::for_each_dependence(steps, places, end, [&](std::uint32_t i, std::uint32_t earlier) {
        found.before.push_back(earlier);
        ++found.first[i + 1];
    });
    for (std::size_t i = 0; i != steps.size(); ++i) found.first[i + 1] += found.first[i];

    for (const verb direction : {verb::send, verb::receive}) {
        posts.clear();
        for (std::uint32_t i = 0; i != steps.size(); ++i)
            if (steps[i].verb == direction && !steps[i].more) posts.push_back(std::uint64_t{steps[i].peer} << 32 | i);
        std::sort(posts.begin(), posts.end());
        for (std::size_t k = 1; k < posts.size(); ++k)
            if (posts[k] >> 32 == posts[k - 1] >> 32)
                found.channel[static_cast<std::uint32_t>(posts[k])] = static_cast<std::uint32_t>(posts[k - 1]);
    }
    return found;
}

} // namespace bough

#endif
