// SPDX-License-Identifier: BSL-1.0
// step_graph: the steps of all ranks as one graph: which waits for which, and which messages they
// exchange. pairing: finds the messages.
#ifndef BOUGH_VERIFY_PROVER_STEP_GRAPH_HPP
#define BOUGH_VERIFY_PROVER_STEP_GRAPH_HPP

#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/schedule/in_place.hpp>
#include <bough/schedule/posts.hpp>
#include <bough/schedule/traits.hpp>
#include <bough/verify/prover/findings.hpp>
#include <bough/verify/prover/rank_steps.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

// A message. The last part stands for it at each end.
struct paired_message {
    std::uint32_t send = no_step, receive = no_step;  // nodes
    std::uint32_t parts = 1;                          // at each end
    std::uint32_t previous = no_step, next = no_step; // messages on its channel
};

// Nodes are steps: see rank_steps.hpp, whose lists these are.
struct step_graph {
    std::uint32_t size = 0;
    rank_t ranks = 0;
    const step* steps = nullptr;
    const rank_t* rank_of = nullptr;
    const std::uint32_t *first = nullptr, *after_first = nullptr, *after = nullptr;
    const std::uint32_t *last = nullptr, *behind = nullptr;
    const std::uint32_t* buffers = nullptr;
    const std::size_t* origins = nullptr;
    std::size_t cells = 0; // of the memory of all ranks
    // Of the pairing:
    const paired_message* messages = nullptr; // channel by channel
    std::uint32_t message_count = 0;
    const std::uint32_t* message_of = nullptr; // by node: the message of which it is a part, or no_step
    // By node: for how many others it waits. For a last part, the other parts count, too.
    const std::uint32_t* waits = nullptr;

    // The number of a node's step among those of its rank.
    constexpr std::uint32_t index_of(std::uint32_t n) const noexcept { return n - first[rank_of[n]]; }
};

// What the pairing makes.
struct pairs {
    // Nodes: by sender, then by receiver, then in program order.
    plain_list<std::uint32_t> sends{}, receives{};
    plain_list<paired_message> messages{};
    plain_list<std::uint32_t> message_of{}, waits{};
};

// The graph of the steps of all ranks; the pairing adds the messages.
template <class Ranks>
constexpr step_graph graph_of(const Ranks& of, const rank_totals& total) noexcept {
    return {.size = total.nodes,
            .ranks = total.ranks,
            .steps = of.steps.data(),
            .rank_of = of.rank_of.data(),
            .first = of.first.data(),
            .after_first = of.after_first.data(),
            .after = of.after.data(),
            .last = of.last.data(),
            .behind = of.behind.data(),
            .buffers = of.buffers.data(),
            .origins = of.origins.data(),
            .cells = total.cells};
}
template <class Pairs>
constexpr void add_pairs(step_graph& graph, const Pairs& made) noexcept {
    graph.messages = made.messages.data();
    graph.message_count = static_cast<std::uint32_t>(made.messages.size());
    graph.message_of = made.message_of.data();
    graph.waits = made.waits.data();
}

// Pairs the n-th send of a channel with its n-th receive.
class pairing {
public:
    // `made` has the posts in program order and the ranks' own waits.
    constexpr pairing(const step_graph& graph, pairs& made, findings& found)
        : graph_(graph), made_(made), found_(found) {}

    constexpr void sort() {
        const auto peer = [steps = graph_.steps](std::uint32_t n) { return steps[n].peer; };
        const auto owner = [ranks = graph_.rank_of](std::uint32_t n) { return ranks[n]; };
        sort_posts(made_.sends, graph_.ranks, peer);
        sort_posts(made_.sends, graph_.ranks, owner);
        sort_posts(made_.receives, graph_.ranks, peer);
        made_.message_of.assign(graph_.size, std::uint32_t{no_step});
        made_.messages.reserve(made_.sends.size());
    }
    // Pairs up to `most` more. False: there is more to do, or a fault was found.
    constexpr bool pair(std::size_t most) {
        const std::uint32_t* const sends = made_.sends.data();
        const std::uint32_t* const receives = made_.receives.data();
        const std::size_t sent = made_.sends.size(), received = made_.receives.size();
        for (std::size_t i = made_.messages.size(); i != sent || i != received; ++i) {
            if (most-- == 0) return false;
            if (i == received || (i != sent && channel_of(sends[i]) < channel_to(receives[i])))
                return fail(fault::unmatched_send, sends[i]);
            if (i == sent || channel_to(receives[i]) < channel_of(sends[i]))
                return fail(fault::unmatched_receive, receives[i]);
            const auto m = static_cast<std::uint32_t>(i);
            made_.messages.push_back({.send = sends[i], .receive = receives[i]});
            paired_message* const made = made_.messages.data() + i;
            if (!pair_parts(m, *made)) return false;
            if (i != 0 && channel_of(sends[i - 1]) == channel_of(sends[i])) made->previous = m - 1, made[-1].next = m;
        }
        return true;
    }

private:
    // The channel of a send, or of a receive: the sender, then the receiver.
    constexpr std::uint64_t channel_of(std::uint32_t send) const noexcept {
        return std::uint64_t{graph_.rank_of[send]} << 32 | graph_.steps[send].peer;
    }
    constexpr std::uint64_t channel_to(std::uint32_t receive) const noexcept {
        return std::uint64_t{graph_.steps[receive].peer} << 32 | graph_.rank_of[receive];
    }
    constexpr bool fail(fault what, std::uint32_t n) {
        return found_.fail(what, graph_.rank_of[n], graph_.index_of(n), 0, graph_.steps[n].peer);
    }
    // Pairs the parts of a message, last to first. Both ends must have as many, with the same
    // blocks.
    constexpr bool pair_parts(std::uint32_t m, paired_message& made) {
        std::uint32_t* const message_of = made_.message_of.data();
        const step* const steps = graph_.steps;
        const rank_t from = graph_.rank_of[made.send], to = graph_.rank_of[made.receive];
        for (std::uint32_t send = made.send, receive = made.receive;; --send, --receive) {
            const slice& out = steps[send].a;
            const slice& into = steps[receive].out;
            message_of[send] = m;
            message_of[receive] = m;
            const bool more = send != graph_.first[from] && steps[send - 1].more;
            if (out.count != into.count || more != (receive != graph_.first[to] && steps[receive - 1].more))
                return found_.fail(fault::length_mismatch, to, graph_.index_of(receive), into.first, from);
            if (out.first != into.first)
                return found_.fail(fault::mixed_blocks, to, graph_.index_of(receive), into.first, from);
            if (more) continue;
            if (send == made.send) return true;
            made.parts += made.send - send;
            made_.waits.data()[made.send] += made.send - send; // the last part waits for the others to be ready
            made_.waits.data()[made.receive] += made.send - send;
            return true;
        }
    }

    const step_graph& graph_;
    pairs& made_;
    findings& found_;
};

// By node: for a combine that may read a message where it landed, the send of that message; no_step
// for any other.
template <int = 0>
constexpr plain_list<std::uint32_t> held_sends(const step_graph& graph) {
    plain_list<std::uint32_t> sends(graph.size, no_step);
    for (rank_t r = 0; r != graph.ranks; ++r) {
        const std::uint32_t base = graph.first[r];
        const std::size_t count = graph.first[r + std::size_t{1}] - base;
        for_each_in_place({graph.steps + base, count},
                          {{graph.after_first + base, count + 1}, {graph.after, graph.after_first[graph.size]}, base},
                          [&](std::uint32_t receive, std::uint32_t combine) {
                              sends[base + combine] = graph.messages[graph.message_of[base + receive]].send;
                          });
    }
    return sends;
}

} // namespace bough::detail

#endif
