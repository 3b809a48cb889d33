// SPDX-License-Identifier: BSL-1.0
// Builds the graph of an MSCCL algorithm: its steps, where each message goes, which step runs
// before which, and whether the algorithm ends.
#ifndef BOUGH_INTERCHANGE_IMPORT_MSCCL_GRAPH_HPP
#define BOUGH_INTERCHANGE_IMPORT_MSCCL_GRAPH_HPP

#include <bough/core/rank.hpp>
#include <bough/core/stable_sort.hpp>
#include <bough/interchange/import_result.hpp>
#include <bough/interchange/msccl.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/schedule/goal.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

struct msccl_import_options {
    // How many messages on one channel may be sent and not yet received. NCCL's protocol "Simple"
    // has room for two chunks.
    std::uint32_t slots = 2;
};

namespace detail {

inline block_t msccl_blocks(const msccl_algorithm& a) {
    return a.kind == goal::alltoall::kind ? a.size * a.chunks : a.chunks;
}
// How many chunks make up a block of the goal.
inline block_t msccl_chunks(const msccl_algorithm& a) {
    return a.kind == goal::allreduce::kind ? 1 : a.chunks / a.size;
}
inline msccl_layout layout_of(const msccl_algorithm& a) { return {a.kind, a.size, msccl_blocks(a)}; }

// Checks each step by itself.
template <int = 0>
import_fault check_msccl(const msccl_algorithm& a) {
    constexpr std::uint64_t most_cells = std::uint64_t{1} << 22;
    if (msccl_layout::name_of(a.kind).empty()) return {"this is no collective that can be proved", 1};
    if (a.size == 0 || a.gpus.size() != a.size) return {"ngpus is not the number of gpu elements", 1};
    if (a.chunks == 0) return {"nchunksperloop must be at least 1", 1};
    if (!a.in_place && !a.out_of_place) return {"inplace and outofplace are both 0: there is no use for it", 1};
    if (a.kind != goal::allreduce::kind && a.chunks % a.size != 0)
        return {"nchunksperloop must be a multiple of ngpus for this collective", 1};
    if (a.chunks > most_cells / a.size / a.size) return {"too many chunks to prove", 1};
    const msccl_layout layout = layout_of(a);
    for (rank_t r = 0; r != a.size; ++r) {
        const msccl_gpu& gpu = a.gpus[r];
        if (gpu.id != r) return {"the gpu elements do not have the ids 0, 1, 2, ...", gpu.line};
        if (gpu.scratch_chunks > most_cells) return {"too much scratch to prove", gpu.line, r};
        for (const msccl_block& tb : gpu.blocks)
            for (std::uint32_t i = 0; i != tb.steps.size(); ++i) {
                const msccl_step& s = tb.steps[i];
                const auto fault = [&](std::string sentence) {
                    return import_fault{std::move(sentence), s.line, r, i};
                };
                if (s.dep_block >= 0) {
                    if (static_cast<std::uint64_t>(s.dep_block) >= gpu.blocks.size())
                        return fault("depid names no thread block of this GPU");
                    const auto& steps = gpu.blocks[static_cast<std::size_t>(s.dep_block)].steps;
                    if (s.dep_step < 0 || static_cast<std::uint64_t>(s.dep_step) >= steps.size())
                        return fault("deps names no step of that thread block");
                    if (!steps[static_cast<std::size_t>(s.dep_step)].has_dep)
                        return fault("waits for a step that tells nobody that it is done: its hasdep is 0");
                }
                if (s.what == msccl_verb::nothing) continue;
                if (s.count == 0) return fault("cnt is 0");
                for (const bool sends : {true, false}) {
                    if (!(sends ? msccl_sends(s.what) : msccl_receives(s.what))) continue;
                    const std::int64_t peer = sends ? tb.send : tb.receive;
                    if (peer < 0 || static_cast<std::uint64_t>(peer) >= a.size || peer == static_cast<std::int64_t>(r))
                        return fault(sends ? "a send in a thread block whose 'send' is no other GPU"
                                           : "a receive in a thread block whose 'recv' is no other GPU");
                }
                const bool uses_source = s.what != msccl_verb::receive && s.what != msccl_verb::receive_copy_send;
                const bool uses_target = s.what != msccl_verb::send && s.what != msccl_verb::receive_reduce_send;
                for (const msccl_chunk& c : {uses_source ? s.source : s.target, uses_target ? s.target : s.source}) {
                    const std::uint64_t room = c.buffer == 's'   ? gpu.scratch_chunks
                                               : c.buffer == 'i' ? layout.input_chunks()
                                                                 : layout.output_chunks();
                    if (c.offset < 0 || static_cast<std::uint64_t>(c.offset) + s.count > room)
                        return fault(std::string("reaches beyond buffer ") + c.buffer + ", which has " +
                                     std::to_string(room) + " chunks");
                }
            }
    }
    return {};
}

struct msccl_node {
    rank_t rank = 0;
    std::uint32_t block = 0, step = 0; // the thread block, and the step in it
    std::uint32_t chain = 0;           // the number of the thread block among those of all GPUs
    std::uint32_t receiver = no_step;  // the node that receives what it sends
    std::uint32_t sender = no_step;    // the node that sends what it receives
};

struct msccl_graph {
    std::vector<msccl_node> nodes;
    std::vector<std::uint32_t> order; // an order in which the nodes can run
    std::uint32_t chains = 0;
    std::vector<std::uint32_t>
        clocks; // by node, then chain: how many steps of the chain are before the node, itself included

    static const msccl_step& step_at(const msccl_algorithm& a, const msccl_node& n) {
        return a.gpus[n.rank].blocks[n.block].steps[n.step];
    }
    const msccl_step& step_of(const msccl_algorithm& a, std::uint32_t n) const { return step_at(a, nodes[n]); }
    bool before(std::uint32_t earlier, std::uint32_t n) const {
        return clocks[std::size_t{n} * chains + nodes[earlier].chain] > nodes[earlier].step;
    }
};

template <int>
class basic_msccl_linker {
public:
    basic_msccl_linker(const msccl_algorithm& a, const msccl_import_options& options, msccl_graph& graph)
        : a_(a), options_(options), g_(graph) {}

    import_fault run() {
        list();
        if (fault_.none()) match();
        if (fault_.none()) sort();
        if (fault_.none()) clock();
        return fault_;
    }

private:
    struct end { // one end of a message
        rank_t from, to;
        std::uint32_t channel, node;
        friend bool operator<(const end& x, const end& y) {
            if (x.from != y.from) return x.from < y.from;
            if (x.to != y.to) return x.to < y.to;
            return x.channel < y.channel;
        }
    };
    void fail(std::uint32_t n, std::string sentence) {
        const import_fault f{std::move(sentence), g_.step_of(a_, n).line, g_.nodes[n].rank, g_.nodes[n].step};
        if (fault_.none() || f.line < fault_.line) fault_ = f;
    }
    void list() {
        first_.resize(a_.size);
        for (rank_t r = 0; r != a_.size; ++r)
            for (std::uint32_t t = 0; t != a_.gpus[r].blocks.size(); ++t, ++g_.chains) {
                const msccl_block& tb = a_.gpus[r].blocks[t];
                first_[r].push_back(static_cast<std::uint32_t>(g_.nodes.size()));
                for (std::uint32_t i = 0; i != tb.steps.size(); ++i) {
                    const auto n = static_cast<std::uint32_t>(g_.nodes.size());
                    g_.nodes.push_back({r, t, i, g_.chains});
                    if (msccl_sends(tb.steps[i].what))
                        sends_.push_back({r, static_cast<rank_t>(tb.send), tb.channel, n});
                    if (msccl_receives(tb.steps[i].what))
                        receives_.push_back({static_cast<rank_t>(tb.receive), r, tb.channel, n});
                }
            }
        const auto before = [](const end& a, const end& b) { return a < b; };
        bough::detail::stable_sort(sends_.begin(), sends_.end(), before);
        bough::detail::stable_sort(receives_.begin(), receives_.end(), before);
        for (auto* ends : {&sends_, &receives_})
            for (std::size_t i = 1; i < ends->size(); ++i) {
                const end &x = (*ends)[i - 1], &y = (*ends)[i];
                if (!(x < y) && !(y < x) && g_.nodes[x.node].block != g_.nodes[y.node].block)
                    fail(y.node, "two thread blocks use one channel to the same GPU: which message is whose is open");
            }
    }
    void match() {
        std::size_t s = 0, r = 0;
        while (s != sends_.size() || r != receives_.size()) {
            if (r == receives_.size() || (s != sends_.size() && sends_[s] < receives_[r])) {
                fail(sends_[s++].node, "no receive for this send");
            } else if (s == sends_.size() || receives_[r] < sends_[s]) {
                fail(receives_[r++].node, "no send for this receive");
            } else {
                const std::uint32_t from = sends_[s++].node, to = receives_[r++].node;
                g_.nodes[from].receiver = to;
                g_.nodes[to].sender = from;
                if (g_.step_of(a_, from).count != g_.step_of(a_, to).count)
                    fail(to, "cnt is " + std::to_string(g_.step_of(a_, to).count) + ", but of its message, in line " +
                                 std::to_string(g_.step_of(a_, from).line) + ", it is " +
                                 std::to_string(g_.step_of(a_, from).count));
            }
        }
    }
    // Calls f(before) for each node that must be complete before n.
    template <class F>
    void for_each_before(std::uint32_t n, F&& f) const {
        const msccl_node& node = g_.nodes[n];
        const msccl_step& s = g_.step_of(a_, n);
        if (node.step != 0) f(n - 1);
        if (s.dep_block >= 0)
            f(first_[node.rank][static_cast<std::size_t>(s.dep_block)] + static_cast<std::uint32_t>(s.dep_step));
        if (node.sender != no_step) f(node.sender);
    }
    void sort() {
        std::vector<std::uint32_t> waits(g_.nodes.size(), 0);
        std::vector<std::pair<std::uint32_t, std::uint32_t>> edges; // (before, after)
        for (std::uint32_t n = 0; n != g_.nodes.size(); ++n)
            for_each_before(n, [&](std::uint32_t b) { edges.push_back({b, n}); });
        // Message k + slots of a channel is sent when message k was received.
        for (std::size_t i = 0; options_.slots != 0 && i + options_.slots < sends_.size(); ++i) {
            const end &x = sends_[i], &y = sends_[i + options_.slots];
            if (!(x < y)) edges.push_back({g_.nodes[x.node].receiver, y.node});
        }
        std::sort(edges.begin(), edges.end());
        for (const auto& e : edges) ++waits[e.second];
        std::vector<std::uint32_t> ready;
        for (std::uint32_t n = 0; n != waits.size(); ++n)
            if (waits[n] == 0) ready.push_back(n);
        for (std::size_t i = 0; i != ready.size(); ++i) {
            auto e = std::lower_bound(edges.begin(), edges.end(), std::pair<std::uint32_t, std::uint32_t>{ready[i], 0});
            for (; e != edges.end() && e->first == ready[i]; ++e)
                if (--waits[e->second] == 0) ready.push_back(e->second);
        }
        g_.order = ready;
        if (g_.order.size() == g_.nodes.size()) return;
        std::vector<char> done(g_.nodes.size(), 0);
        for (const std::uint32_t n : g_.order) done[n] = 1;
        for (std::uint32_t n = 0; n != g_.nodes.size(); ++n) {
            const bool first_of_block = done[n] == 0 && (g_.nodes[n].step == 0 || done[n - 1] != 0);
            if (first_of_block) fail(n, "deadlock: waits for ever" + reason(n, done));
        }
    }
    std::string reason(std::uint32_t n, const std::vector<char>& done) const {
        std::uint32_t on = no_step;
        for_each_before(n, [&](std::uint32_t b) {
            if (done[b] == 0) on = b;
        });
        if (on == no_step) return ", because the channel holds no more messages";
        return " for the step of line " + std::to_string(g_.step_of(a_, on).line);
    }
    void clock() {
        constexpr std::size_t most = std::size_t{1} << 27;
        if (g_.chains != 0 && g_.nodes.size() > most / g_.chains) {
            fault_ = {"too many steps and thread blocks to check for races", 1};
            return;
        }
        g_.clocks.assign(g_.nodes.size() * g_.chains, 0);
        for (const std::uint32_t n : g_.order) {
            std::uint32_t* const mine = g_.clocks.data() + std::size_t{n} * g_.chains;
            for_each_before(n, [&](std::uint32_t b) {
                const std::uint32_t* const other = g_.clocks.data() + std::size_t{b} * g_.chains;
                for (std::uint32_t c = 0; c != g_.chains; ++c) mine[c] = std::max(mine[c], other[c]);
            });
            mine[g_.nodes[n].chain] = g_.nodes[n].step + 1;
        }
    }

    const msccl_algorithm& a_;
    const msccl_import_options& options_;
    msccl_graph& g_;
    std::vector<std::vector<std::uint32_t>> first_; // by thread block: its first node
    std::vector<end> sends_, receives_;             // by channel, in its order
    import_fault fault_;
};
using msccl_linker = basic_msccl_linker<0>;

template <int = 0>
import_fault make_graph(const msccl_algorithm& a, const msccl_import_options& options, msccl_graph& graph) {
    return msccl_linker(a, options, graph).run();
}

} // namespace detail

} // namespace bough

#endif
