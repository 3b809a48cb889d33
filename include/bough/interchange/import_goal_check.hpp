// SPDX-License-Identifier: BSL-1.0
// Proves what can be proved of a GOAL file.
//
//   goal_check proof = check_goal(file);              any file: matching, deadlock, volume
//   imported_schedules plan;
//   import_fault fault = schedules_of(file, plan);    an annotated file, for verify_schedules
//
// GOAL has sizes, not data: it does not say which bytes a message holds or what a calc computes. So
// for a foreign file three things can be proved:
//   - every send meets one receive of the same size: the n-th of its sender, receiver and tag, in
//     the order of the file
//   - `requires` and `irequires` have no cycle
//   - nothing waits for ever, even if a send waits for its receive (buffers only remove waiting)
// A file that export_goal annotated is proved like any plan: its comments name the slices. Every
// line must agree with its comment, and every dependence that the slices imply must follow from
// `requires`.
#ifndef BOUGH_INTERCHANGE_IMPORT_GOAL_CHECK_HPP
#define BOUGH_INTERCHANGE_IMPORT_GOAL_CHECK_HPP

#include <bough/core/rank.hpp>
#include <bough/core/stable_sort.hpp>
#include <bough/core/step.hpp>
#include <bough/interchange/export_sizes.hpp>
#include <bough/interchange/import_goal.hpp>
#include <bough/interchange/import_result.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/schedule/print_step.hpp>
#include <bough/schedule/schedule.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

struct goal_check {
    import_fault fault;
    std::uint64_t operations = 0, messages = 0, bytes = 0;
    std::uint64_t volume_max = 0; // bytes sent by the busiest rank
    std::uint32_t hops = 0;       // the longest chain of messages
    // Two messages of a channel have the same tag: the order of posting decides.
    bool ambiguous_matching = false;
};

namespace detail {

template <int>
class basic_goal_checker {
public:
    explicit basic_goal_checker(const goal_file& file) : file_(file) {}

    goal_check run() {
        found_.fault = file_.fault;
        if (found_.fault.none()) list();
        if (found_.fault.none()) match();
        if (found_.fault.none()) link();
        if (found_.fault.none()) execute();
        return std::move(found_);
    }

private:
    using kind = goal_operation::kind;
    struct node {
        rank_t rank = 0;
        std::uint32_t op = 0;
        std::uint32_t waits = 0;
        std::uint32_t other = no_step; // the other end of the message
        std::uint32_t hops = 0;
        bool begun = false, complete = false;
    };
    struct end { // one end of a message
        rank_t from = 0, to = 0;
        std::uint32_t tag = 0, node = 0;
        friend bool operator<(const end& a, const end& b) {
            if (a.from != b.from) return a.from < b.from;
            if (a.to != b.to) return a.to < b.to;
            return a.tag != b.tag ? a.tag < b.tag : a.node < b.node;
        }
    };
    static bool same_channel(const end& a, const end& b) { return a.from == b.from && a.to == b.to && a.tag == b.tag; }

    const goal_operation& op_of(std::uint32_t n) const { return file_.ranks[nodes_[n].rank].ops[nodes_[n].op]; }
    void fail(std::uint32_t n, std::string sentence) {
        const import_fault f{std::move(sentence), op_of(n).line, nodes_[n].rank, nodes_[n].op};
        // Keep the fault that comes first in the file, in whatever order faults are found.
        if (found_.fault.none() || f.line < found_.fault.line) found_.fault = f;
    }

    void list() {
        for (rank_t r = 0; r != file_.ranks.size(); ++r) {
            first_.push_back(static_cast<std::uint32_t>(nodes_.size()));
            std::uint64_t sent = 0;
            for (std::uint32_t i = 0; i != file_.ranks[r].ops.size(); ++i) {
                const goal_operation& op = file_.ranks[r].ops[i];
                const auto n = static_cast<std::uint32_t>(nodes_.size());
                nodes_.push_back({r, i});
                ++found_.operations;
                if (op.what == kind::receive) receives_.push_back({op.peer, r, op.tag, n});
                if (op.what != kind::send) continue;
                sends_.push_back({r, op.peer, op.tag, n});
                ++found_.messages;
                found_.bytes += op.bytes;
                sent += op.bytes;
            }
            found_.volume_max = std::max(found_.volume_max, sent);
        }
    }
    void match() {
        std::sort(sends_.begin(), sends_.end());
        std::sort(receives_.begin(), receives_.end());
        std::size_t s = 0, r = 0;
        while (s != sends_.size() || r != receives_.size()) {
            const bool have_both = s != sends_.size() && r != receives_.size();
            if (have_both && same_channel(sends_[s], receives_[r])) {
                if (s + 1 != sends_.size() && same_channel(sends_[s], sends_[s + 1])) found_.ambiguous_matching = true;
                pair(sends_[s++].node, receives_[r++].node);
                continue;
            }
            const end by_channel_s = s != sends_.size() ? end{sends_[s].from, sends_[s].to, sends_[s].tag, 0} : end{};
            const end by_channel_r =
                r != receives_.size() ? end{receives_[r].from, receives_[r].to, receives_[r].tag, 0} : end{};
            if (r == receives_.size() || (have_both && by_channel_s < by_channel_r))
                fail(sends_[s++].node, "no receive for this send");
            else
                fail(receives_[r++].node, "no send for this receive");
        }
    }
    void pair(std::uint32_t s, std::uint32_t r) {
        nodes_[s].other = r;
        nodes_[r].other = s;
        if (op_of(s).bytes != op_of(r).bytes)
            fail(r, "receives " + std::to_string(op_of(r).bytes) + " bytes, but the message of line " +
                        std::to_string(op_of(s).line) + " has " + std::to_string(op_of(s).bytes));
    }
    void link() {
        after_.resize(nodes_.size());
        for (rank_t r = 0; r != file_.ranks.size(); ++r)
            for (const goal_edge& e : file_.ranks[r].edges) {
                after_[first_[r] + e.earlier].push_back({first_[r] + e.op, e.only_begun});
                ++nodes_[first_[r] + e.op].waits;
            }
    }
    void execute() {
        std::vector<std::uint32_t> ready;
        std::size_t complete = 0;
        const auto release = [&](std::uint32_t n, bool begun) {
            for (const auto& [next, only_begun] : after_[n]) {
                if (only_begun != begun) continue;
                nodes_[next].hops = std::max(nodes_[next].hops, nodes_[n].hops);
                if (--nodes_[next].waits == 0) ready.push_back(next);
            }
        };
        const auto finish = [&](std::uint32_t n) {
            nodes_[n].complete = true;
            ++complete;
            found_.hops = std::max(found_.hops, nodes_[n].hops);
            release(n, false);
        };
        for (std::uint32_t n = 0; n != nodes_.size(); ++n)
            if (nodes_[n].waits == 0) ready.push_back(n);
        while (!ready.empty()) {
            const std::uint32_t n = ready.back();
            ready.pop_back();
            nodes_[n].begun = true;
            release(n, true);
            const std::uint32_t other = nodes_[n].other;
            if (other == no_step) {
                finish(n);
            } else if (nodes_[other].begun) {
                const bool sends = op_of(n).what == kind::send;
                node& to = nodes_[sends ? other : n];
                to.hops = std::max(to.hops, nodes_[sends ? n : other].hops + 1);
                finish(n);
                finish(other);
            }
        }
        if (complete == nodes_.size()) return;
        // An operation that has begun tells for whom it waits. If none has begun, `requires` has a
        // cycle.
        for (const bool begun : {true, false}) {
            for (std::uint32_t n = 0; n != nodes_.size(); ++n)
                if (!nodes_[n].complete && nodes_[n].begun == begun)
                    fail(n, begun ? "deadlock: waits for ever for line " + std::to_string(op_of(nodes_[n].other).line)
                                  : std::string("deadlock: requires and irequires go in a circle"));
            if (!found_.fault.none()) return;
        }
    }

    const goal_file& file_;
    goal_check found_;
    std::vector<node> nodes_;
    std::vector<std::uint32_t> first_; // by rank: its first node
    std::vector<end> sends_, receives_;
    std::vector<std::vector<std::pair<std::uint32_t, bool>>> after_;
};
using goal_checker = basic_goal_checker<0>;

// Does `requires` imply every dependence of the steps? `op_of` has the operation of each step.
template <int = 0>
import_fault check_requires(const goal_rank& me, rank_t rank, const schedule& steps,
                            const std::vector<std::uint32_t>& op_of) {
    const std::size_t n = me.ops.size(), words = (n + 63) / 64;
    std::vector<std::vector<std::uint32_t>> direct(n);
    for (const goal_edge& e : me.edges) {
        if (e.earlier >= e.op)
            return {"an annotated file has its operations in an order that they can run in: this requires a later one",
                    e.line, rank, e.op};
        if (!e.only_begun) direct[e.op].push_back(e.earlier);
    }
    std::vector<std::uint64_t> before(n * words, 0); // by operation: the set of those before it
    for (std::size_t i = 0; i != n; ++i)
        for (const std::uint32_t b : direct[i]) {
            for (std::size_t w = 0; w != words; ++w) before[i * words + w] |= before[b * words + w];
            before[i * words + b / 64] |= std::uint64_t{1} << (b % 64);
        }
    const dependences waits = infer_dependences(steps.steps);
    for (std::uint32_t i = 0; i != steps.size(); ++i)
        for (const std::uint32_t b : waits.of(i)) {
            const std::uint32_t op = op_of[i], earlier = op_of[b];
            if (op != earlier && (before[op * words + earlier / 64] >> (earlier % 64) & 1) == 0)
                return {"does not require line " + std::to_string(me.ops[earlier].line) + ", though '" +
                            to_string(steps[i]) + "' must wait for '" + to_string(steps[b]) + "'",
                        me.ops[op].line, rank, op};
        }
    return {};
}

} // namespace detail

template <int = 0>
goal_check check_goal(const goal_file& file) {
    return detail::goal_checker(file).run();
}

// Makes the schedules of an annotated file. Pre: file.fault is none, file.annotated().
template <int = 0>
import_fault schedules_of(const goal_file& file, imported_schedules& made) {
    // Per rank: the order of more takes too much memory.
    constexpr std::size_t most_operations = std::size_t{1} << 14;
    constexpr std::uint64_t most_blocks = std::uint64_t{1} << 22;
    made = {};
    made.kind = file.kind;
    made.at = file.at;
    if (file.at.size != file.ranks.size()) return {"the annotation of the plan names another number of ranks", 1};
    if (file.at.blocks > most_blocks / file.at.size) return {"the annotation of the plan names too many blocks", 1};
    const export_sizes sizes(file.bytes, file.at.blocks, file.element_bytes);
    for (rank_t r = 0; r != file.ranks.size(); ++r) {
        const goal_rank& me = file.ranks[r];
        if (me.ops.size() > most_operations) return {"more operations than can be checked for their order", me.line, r};
        schedule& steps = made.schedules.emplace_back();
        auto& lines = made.lines.emplace_back();
        auto& numbers = made.step.emplace_back();
        std::uint32_t planes = 0;
        std::vector<std::pair<std::uint64_t, std::uint32_t>> tags; // (direction and peer, tag)
        for (std::uint32_t i = 0; i != me.ops.size(); ++i) {
            const goal_operation& op = me.ops[i];
            const auto fault = [&](const char* sentence) { return import_fault{sentence, op.line, r, i}; };
            if (op.steps == 0) return fault("this line has no annotation, though the file has");
            std::uint64_t bytes = 0;
            for (std::size_t k = 0; k != op.steps; ++k) {
                const step& s = me.steps[op.first_step + k];
                const bool last = k + 1 == op.steps;
                const bool agrees =
                    op.what == goal_operation::kind::calc
                        ? !s.communicates() && op.steps == 1
                        : s.verb == (op.what == goal_operation::kind::send ? verb::send : verb::receive) &&
                              s.peer == op.peer && s.more == !last;
                if (!agrees) return fault("this line and its annotation do not say the same");
                for (const slice& used : {s.a, s.b, s.out}) {
                    if (used.last() > file.at.blocks)
                        return fault("the annotation names blocks that the plan does not have");
                    if (is_scratch(used.buffer)) planes = std::max(planes, scratch_plane(used.buffer) + 1);
                }
                bytes += sizes.bytes_of(s.verb == verb::send ? s.a : s.out);
                steps.steps.push_back(s);
                lines.push_back(op.line);
                numbers.push_back(i);
            }
            if (op.what == goal_operation::kind::calc) continue;
            if (bytes != op.bytes) return fault("this line and its annotation differ in bytes");
            tags.push_back({std::uint64_t{op.what == goal_operation::kind::send} << 32 | op.peer, op.tag});
        }
        bough::detail::stable_sort(tags.begin(), tags.end(),
                                   [](const auto& a, const auto& b) { return a.first < b.first; });
        for (std::size_t i = 1; i < tags.size(); ++i)
            if (tags[i].first == tags[i - 1].first && tags[i].second <= tags[i - 1].second)
                return {"the tags of messages with rank " + std::to_string(static_cast<rank_t>(tags[i].first)) +
                            " do not ascend: their order is not that of the file",
                        me.line, r};
        made.scratch.push_back(planes * file.at.blocks);
        if (const import_fault bad = detail::check_requires(me, r, steps, numbers); !bad.none()) return bad;
    }
    return {};
}

} // namespace bough

#endif
