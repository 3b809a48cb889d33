// SPDX-License-Identifier: BSL-1.0
// Dependence: which steps of a schedule must wait for which others. The one definition that verifier, engines, NIC
// assembler and exporters share.
//
// A generator writes steps in plain program order. Step j must wait for an earlier step i if they touch the same block
// of the same storage and at least one of them writes it (read after write, write after write, write after read).
// Input and output are the same storage, since they are the same memory in the in-place form. Besides, messages on one
// channel (one peer, one direction) are posted in program order; of a message in parts, the last part stands for it.
//
// Only the last writer of a block and its readers since are kept: the relation is the transitive reduction that matters,
// linear in the blocks touched, not quadratic in the steps.
#ifndef BOUGH_SCHEDULE_DEPENDENCE_HPP
#define BOUGH_SCHEDULE_DEPENDENCE_HPP

#include <bough/core/step.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bough {

inline constexpr std::uint32_t no_step = 0xffff'ffffu;

// The dependences of one rank's steps, numbered in program order.
struct dependences {
    std::vector<std::uint32_t> first;   // steps + 1 offsets into `before`
    std::vector<std::uint32_t> before;  // the steps that must be complete
    std::vector<std::uint32_t> channel; // the step that must be posted before, on the same channel; or no_step

    // The steps that step i waits for.
    constexpr std::span<const std::uint32_t> of(std::size_t i) const noexcept {
        return std::span<const std::uint32_t>(before).subspan(first[i], first[i + 1] - first[i]);
    }
    friend constexpr bool operator==(const dependences&, const dependences&) = default;
};

namespace detail {

// Last writer and readers since, for every block of every storage.
class block_history {
public:
    constexpr block_history(std::size_t storages, std::size_t blocks)
        : blocks_(blocks), writer_(storages * blocks, no_step), readers_(storages * blocks, no_step) {}

    template <class F>
    constexpr void read(const slice& s, std::uint32_t by, F&& depends_on) {
        for (block_t b = s.first; b != s.last(); ++b) {
            const std::size_t cell = storage_of(s.buffer) * blocks_ + b;
            if (writer_[cell] != no_step) depends_on(writer_[cell]);
            entries_.push_back({by, readers_[cell]});
            readers_[cell] = static_cast<std::uint32_t>(entries_.size() - 1);
        }
    }
    template <class F>
    constexpr void write(const slice& s, std::uint32_t by, F&& depends_on) {
        for (block_t b = s.first; b != s.last(); ++b) {
            const std::size_t cell = storage_of(s.buffer) * blocks_ + b;
            if (writer_[cell] != no_step) depends_on(writer_[cell]);
            for (std::uint32_t e = readers_[cell]; e != no_step; e = entries_[e].next) depends_on(entries_[e].step);
            writer_[cell] = by;
            readers_[cell] = no_step;
        }
    }

private:
    struct reader {
        std::uint32_t step, next;
    };
    std::size_t blocks_;
    std::vector<std::uint32_t> writer_;
    std::vector<std::uint32_t> readers_; // heads of lists in entries_
    std::vector<reader> entries_;
};

// Number of storages and of blocks that a sequence of steps names.
struct step_extent {
    std::size_t storages = 1;
    std::size_t blocks = 0;
    constexpr void add(const slice& s) noexcept {
        storages = std::max<std::size_t>(storages, storage_of(s.buffer) + std::size_t{1});
        blocks = std::max<std::size_t>(blocks, s.last());
    }
};

} // namespace detail

// Infers the dependences of one rank's steps. Time and memory: linear in the blocks that the steps touch.
constexpr dependences infer_dependences(std::span<const step> steps) {
    detail::step_extent extent;
    for (const step& s : steps) {
        if (s.reads_a()) extent.add(s.a);
        if (s.reads_b()) extent.add(s.b);
        if (s.writes()) extent.add(s.out);
    }
    detail::block_history history(extent.storages, extent.blocks);

    dependences found;
    found.first.reserve(steps.size() + 1);
    found.channel.resize(steps.size(), no_step);
    std::vector<std::uint32_t> listed_for(steps.size(), no_step); // step -> the last step it was listed for
    std::vector<std::uint64_t> posts;                             // (direction, peer, step), to be sorted
    for (std::uint32_t i = 0; i != steps.size(); ++i) {
        const step& s = steps[i];
        found.first.push_back(static_cast<std::uint32_t>(found.before.size()));
        const auto depends_on = [&](std::uint32_t earlier) {
            if (earlier == i || listed_for[earlier] == i) return;
            listed_for[earlier] = i;
            found.before.push_back(earlier);
        };
        if (s.reads_a()) history.read(s.a, i, depends_on);
        if (s.reads_b()) history.read(s.b, i, depends_on);
        if (s.writes()) history.write(s.out, i, depends_on);
    }
    found.first.push_back(static_cast<std::uint32_t>(found.before.size()));

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
