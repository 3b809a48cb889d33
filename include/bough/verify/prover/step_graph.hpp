// SPDX-License-Identifier: BSL-1.0
// step_graph: the steps of all ranks as one graph: which waits for which, and which messages they
// exchange.
//
// A node is a step; the nodes of a rank have consecutive numbers, in program order. The last part
// of a message stands for the message at each end.
#ifndef BOUGH_VERIFY_PROVER_STEP_GRAPH_HPP
#define BOUGH_VERIFY_PROVER_STEP_GRAPH_HPP

#include <bough/core/rank.hpp>
#include <bough/core/step.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/schedule/in_place.hpp>
#include <bough/schedule/posts.hpp>
#include <bough/schedule/schedule.hpp>
#include <bough/schedule/turns.hpp>
#include <bough/verify/prover/findings.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

class step_graph {
public:
    struct message {
        std::uint32_t send = no_step, receive = no_step;  // the last part at each end
        std::uint32_t parts = 1;                          // at each end
        std::uint32_t previous = no_step, next = no_step; // messages on its channel
    };

    constexpr explicit step_graph(std::span<const schedule> schedules) : schedules_(schedules) {
        std::size_t count = 0;
        for (const schedule& of_rank : schedules) count += of_rank.size();
        waits_.resize(count, 0);
        message_of_.resize(count, std::uint32_t{no_step});
        steps_.resize(count, nullptr);
        rank_of_.resize(count, 0);
        first_.reserve(schedules.size());
        std::uint32_t n = 0;
        for (rank_t r = 0; r != schedules.size(); ++r) {
            first_.push_back(n);
            for (const step& s : schedules[r]) {
                steps_[n] = &s;
                rank_of_[n++] = r;
            }
        }
    }

    // Finds the messages and the dependences. False: a fault was found. Pre: each step is right by
    // itself (check_step).
    constexpr bool link(findings& found) {
        if (!pair_messages(found)) return false;
        infer();
        return true;
    }

    constexpr std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(steps_.size()); }
    constexpr rank_t ranks() const noexcept { return static_cast<rank_t>(schedules_.size()); }
    constexpr rank_t rank_of(std::uint32_t n) const noexcept { return rank_of_[n]; }
    constexpr const step& step_of(std::uint32_t n) const noexcept { return *steps_[n]; }
    // The number of a node's step among those of its rank.
    constexpr std::uint32_t index_of(std::uint32_t n) const noexcept { return n - first_[rank_of_[n]]; }

    // After link():
    // By node: for how many others it waits. For a last part, the other parts count, too.
    constexpr const std::vector<std::uint32_t>& waits() const noexcept { return waits_; }
    constexpr const std::vector<message>& messages() const noexcept { return messages_; }
    // The message of which node `n` is a part, or no_step.
    constexpr std::uint32_t message_of(std::uint32_t n) const noexcept { return message_of_[n]; }
    // Pre: node `n` is a part of a message.
    constexpr std::uint32_t last_part(std::uint32_t n) const noexcept {
        const message& of = messages_[message_of_[n]];
        return step_of(n).verb == verb::send ? of.send : of.receive;
    }
    // Calls f(later) for each node that waits for node `n`.
    template <class F>
    constexpr void for_each_after(std::uint32_t n, F&& f) const {
        for (std::uint32_t e = after_first_[n]; e != after_first_[n + 1]; ++e) f(after_[e]);
    }
    // By message: see bough/schedule/turns.hpp.
    constexpr std::vector<std::uint32_t> turns() const {
        return turns_of(schedules_, first_, waits_, message_of_, messages_, after_first_, after_);
    }
    // By node: for a combine that may read a message where it landed, the send of that message;
    // no_step for any other.
    constexpr std::vector<std::uint32_t> held_sends() const {
        std::vector<std::uint32_t> sends(size(), no_step);
        const std::span<const std::uint32_t> first = after_first_;
        for (std::size_t r = 0; r != schedules_.size(); ++r) {
            const std::uint32_t base = first_[r];
            const std::vector<step>& steps = schedules_[r].steps;
            for_each_in_place(steps, {first.subspan(base, steps.size() + 1), after_, base},
                              [&](std::uint32_t receive, std::uint32_t combine) {
                                  sends[base + combine] = messages_[message_of_[base + receive]].send;
                              });
        }
        return sends;
    }

private:
    static constexpr bool is_before(const post& a, const post& b) noexcept {
        return a.from != b.from ? a.from < b.from : a.to < b.to;
    }

    // Pairs the n-th send of a channel with its n-th receive.
    constexpr bool pair_messages(findings& found) {
        std::vector<post> sends, receives;
        sends.reserve(size());
        receives.reserve(size());
        for (std::uint32_t n = 0; n != size(); ++n) {
            const step& s = step_of(n);
            if (s.verb == verb::send && !s.more) sends.push_back({rank_of_[n], s.peer, n});
            if (s.verb == verb::receive && !s.more) receives.push_back({s.peer, rank_of_[n], n});
        }
        sort_posts(sends, &post::to, ranks());
        sort_posts(sends, &post::from, ranks());
        sort_posts(receives, &post::from, ranks());
        messages_.reserve(sends.size());
        for (std::size_t i = 0; i != sends.size() || i != receives.size(); ++i) {
            if (i == receives.size() || (i != sends.size() && is_before(sends[i], receives[i])))
                return found.fail(fault::unmatched_send, sends[i].from, index_of(sends[i].node), 0, sends[i].to);
            if (i == sends.size() || is_before(receives[i], sends[i]))
                return found.fail(fault::unmatched_receive, receives[i].to, index_of(receives[i].node), 0,
                                  receives[i].from);
            const auto m = static_cast<std::uint32_t>(i);
            messages_.push_back({.send = sends[i].node, .receive = receives[i].node});
            if (!pair_parts(m, found)) return false;
            if (i != 0 && !is_before(sends[i - 1], sends[i])) { // on the same channel
                messages_[m].previous = m - 1;
                messages_[m - 1].next = m;
            }
        }
        return true;
    }

    // Pairs the parts of a message, last to first. Both ends must have as many, with the same
    // blocks.
    constexpr bool pair_parts(std::uint32_t m, findings& found) {
        message& made = messages_[m];
        for (std::uint32_t part = 0;; ++part) {
            const std::uint32_t send = made.send - part;
            const std::uint32_t receive = made.receive - part;
            const rank_t from = rank_of_[send], to = rank_of_[receive];
            const slice& out = step_of(send).a;
            const slice& into = step_of(receive).out;
            message_of_[send] = m;
            message_of_[receive] = m;
            const bool more = send != first_[from] && step_of(send - 1).more;
            const bool more_received = receive != first_[to] && step_of(receive - 1).more;
            if (out.count != into.count || more != more_received)
                return found.fail(fault::length_mismatch, to, index_of(receive), into.first, from);
            if (out.first != into.first)
                return found.fail(fault::mixed_blocks, to, index_of(receive), into.first, from);
            if (more) continue;
            made.parts = part + 1;
            waits_[made.send] += part; // the last part waits for the others to be ready
            waits_[made.receive] += part;
            return true;
        }
    }

    // Infers the dependences of each rank's steps.
    constexpr void infer() {
        after_first_.assign(std::size_t{size()} + 1, 0);
        std::vector<std::uint32_t> earlier, later;
        earlier.reserve(2 * steps_.size());
        later.reserve(2 * steps_.size());
        for (std::size_t r = 0; r != schedules_.size(); ++r) {
            const std::uint32_t first = first_[r];
            for_each_dependence(schedules_[r].steps, [&](std::uint32_t i, std::uint32_t before) {
                earlier.push_back(first + before);
                later.push_back(first + i);
                ++after_first_[first + before + 1];
                ++waits_[first + i];
            });
        }
        for (std::size_t n = 1; n != after_first_.size(); ++n) after_first_[n] += after_first_[n - 1];
        after_.assign(later.size(), 0);
        std::vector<std::uint32_t> fill(after_first_.begin(), after_first_.end() - 1);
        for (std::size_t e = 0; e != later.size(); ++e) after_[fill[earlier[e]]++] = later[e];
    }

    std::span<const schedule> schedules_;
    std::vector<std::uint32_t> first_;               // by rank
    std::vector<const step*> steps_;                 // by node
    std::vector<rank_t> rank_of_;                    // by node
    std::vector<std::uint32_t> waits_, message_of_;  // by node
    std::vector<message> messages_;                  // channel by channel
    std::vector<std::uint32_t> after_first_, after_; // after node n: after_[after_first_[n]] ...
};

} // namespace bough::detail

#endif
