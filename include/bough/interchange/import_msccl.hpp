// SPDX-License-Identifier: BSL-1.0
// Turns foreign schedules in MSCCL's words into schedules that verify can prove.
//
//   imported_schedules made;
//   import_fault fault = schedules_of(algorithm, made, {.slots = 2});     the first bad step, if any
//   verdict proof = prove(algorithm, made);     the data; made.fault_of(proof) has the line
//
// The file's order is not ours: a thread block runs its steps one after the other, and beyond that
// only depid/deps and messages order steps. So there are three questions, and each must be answered
// yes.
//   Does it end?    The graph of all steps must have no cycle. In it a send waits while `slots`
//                   messages of its channel have not been received.
//   Is it a function of its input? If two steps touch the same chunk and one of them writes, thread
//                   blocks, dependences and messages must order them (vector clocks). Then every
//                   run computes what one run computes.
//   Is it right?    One such run, as steps of bough, is proved by verify: every contribution, block
//                   by block.
// A chunk may hold another block for a while: a chunk of scratch or of the output that is not at
// its block's place becomes a plane of its own. A file for in-place use only works on one memory: a
// plane to which the input is copied, and from which the output is copied. Ops commute here, as in
// MSCCL.
#ifndef BOUGH_INTERCHANGE_IMPORT_MSCCL_HPP
#define BOUGH_INTERCHANGE_IMPORT_MSCCL_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/step.hpp>
#include <bough/interchange/import_msccl_graph.hpp>
#include <bough/interchange/import_result.hpp>
#include <bough/interchange/msccl.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/schedule/schedule.hpp>
#include <bough/verify/verify.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// What an MSCCL file promises. Its vector may have several chunks for each block of the goal.
template <bool InPlace>
struct msccl_goal {
    static constexpr bool combines = true;
    static constexpr bool in_place = InPlace;
    std::uint8_t kind = 0;
    block_t chunks = 1; // of an alltoall: for each block of the goal
    constexpr bool holds(const dimensions& at, rank_t rank, block_t chunk) const noexcept {
        switch (kind) {
        case goal::allgather::kind: return goal::allgather::holds(at, rank, chunk);
        case goal::alltoall::kind: return goal::alltoall::holds(at, rank, chunk / chunks);
        default: return true;
        }
    }
    constexpr contributions result(const dimensions& at, rank_t rank, block_t chunk) const noexcept {
        switch (kind) {
        case goal::allgather::kind: return goal::allgather::result(at, rank, chunk);
        case goal::alltoall::kind: return goal::alltoall::result(at, rank, chunk / chunks);
        case goal::reduce_scatter::kind: return goal::reduce_scatter::result(at, rank, chunk);
        default: return {0, at.size};
        }
    }
};

namespace detail {

// Runs the steps of a graph that ends, in an order in which they can run.
template <int>
class basic_msccl_player {
public:
    basic_msccl_player(const msccl_algorithm& algorithm, const msccl_graph& graph, imported_schedules& made)
        : algorithm_(algorithm), graph_(graph), made_(made), layout_(layout_of(algorithm)),
          one_memory_(algorithm.in_place && !algorithm.out_of_place), goal_{algorithm.kind, msccl_chunks(algorithm)} {}

    import_fault run() {
        made_ = {};
        made_.kind = algorithm_.kind;
        made_.at = {algorithm_.size, 0, layout_.blocks};
        for (rank_t r = 0; r != algorithm_.size; ++r) begin(r);
        for (const std::uint32_t n : graph_.order) {
            play(n);
            if (!fault_.none()) return fault_;
        }
        for (rank_t r = 0; r != algorithm_.size; ++r) end(r);
        return fault_;
    }

private:
    static constexpr block_t nothing = 0xffff'ffffu;
    struct cell { // a chunk of memory
        block_t holds = nothing;
        std::uint32_t plane = no_step; // its own plane, if it ever holds a block at another block's place
        std::uint32_t writer = no_step;
        std::vector<std::uint32_t> readers; // the steps that have read it since
    };
    struct memory { // one rank's
        std::vector<cell> in, out, scratch;
        std::uint32_t planes = 0;
        std::uint32_t work = no_step;       // the plane that in and out are, if they are one memory
        std::vector<std::uint32_t> landing; // by thread block: the plane where its messages land
    };
    struct part {
        slice from, into;
    };

    void begin(rank_t r) {
        const msccl_gpu& gpu = algorithm_.gpus[r];
        made_.schedules.emplace_back();
        made_.lines.emplace_back();
        made_.step.emplace_back();
        memory& m = memories_.emplace_back();
        m.in.resize(layout_.blocks);
        m.out.resize(layout_.blocks);
        m.scratch.resize(gpu.scratch_chunks);
        m.landing.resize(gpu.blocks.size(), no_step);
        // Planes in which every chunk is at its block's place come first, so files that bough wrote
        // keep their numbers.
        m.planes = (gpu.scratch_chunks + layout_.blocks - 1) / layout_.blocks;
        if (one_memory_) m.work = m.planes++;
        for (block_t b = 0; b != layout_.blocks; ++b)
            if (goal_.holds(made_.at, r, b)) {
                m.in[b].holds = b;
                if (one_memory_) emit(r, gpu.line, 0, copy_step({input, b, 1}, {bough::scratch(m.work), b, 1}));
            }
    }
    void end(rank_t r) {
        memory& m = memories_[r];
        for (block_t b = 0; b != layout_.blocks; ++b) {
            if (goal_.result(made_.at, r, b).empty()) continue;
            const cell& c = one_memory_ ? m.in[b] : m.out[b];
            if (c.holds == nothing) continue; // verify reports this
            if (c.holds != b && fault_.none())
                fault_ = {"at the end, the chunk of block " + std::to_string(b) + " holds block " +
                              std::to_string(c.holds),
                          c.writer == no_step ? algorithm_.gpus[r].line : graph_.step_of(algorithm_, c.writer).line, r};
            if (one_memory_ && c.holds == b)
                emit(r, algorithm_.gpus[r].line, 0, copy_step({bough::scratch(m.work), b, 1}, {output, b, 1}));
        }
        made_.scratch.push_back(m.planes * layout_.blocks);
    }
    void emit(rank_t r, std::size_t line, std::uint32_t number, const step& s) {
        made_.schedules[r].steps.push_back(s);
        made_.lines[r].push_back(line);
        made_.step[r].push_back(number);
    }
    void emit(std::uint32_t n, const step& s) {
        const msccl_node& node = graph_.nodes[n];
        emit(node.rank, graph_.step_of(algorithm_, n).line, node.step, s);
    }
    bool fail(std::uint32_t n, std::string sentence) {
        const msccl_node& node = graph_.nodes[n];
        if (fault_.none()) fault_ = {std::move(sentence), graph_.step_of(algorithm_, n).line, node.rank, node.step};
        return false;
    }

    // --- memory ---

    std::uint32_t place(rank_t r, const msccl_chunk& c, std::uint32_t k) const {
        const auto offset = static_cast<std::uint32_t>(c.offset) + k;
        return c.buffer == 's' ? offset : layout_.block_of(r, c.buffer, offset);
    }
    cell& at(rank_t r, const msccl_chunk& c, std::uint32_t k) {
        memory& m = memories_[r];
        if (c.buffer == 's') return m.scratch[place(r, c, k)];
        return (c.buffer == 'i' || one_memory_ ? m.in : m.out)[place(r, c, k)];
    }
    bool before(std::uint32_t earlier, std::uint32_t n) const { return earlier == n || graph_.before(earlier, n); }
    bool may_read(cell& c, std::uint32_t n) {
        if (c.writer != no_step && !before(c.writer, n)) return races(c.writer, n);
        c.readers.push_back(n);
        return true;
    }
    bool may_write(cell& c, std::uint32_t n) {
        if (c.writer != no_step && !before(c.writer, n)) return races(c.writer, n);
        for (const std::uint32_t reader : c.readers)
            if (!before(reader, n)) return races(reader, n);
        c.writer = n;
        c.readers.clear();
        return true;
    }
    bool races(std::uint32_t other, std::uint32_t n) {
        return fail(n, "race: the step of line " + std::to_string(graph_.step_of(algorithm_, other).line) +
                           " touches the same chunk, and nothing orders the two");
    }
    // Finds the slice where chunk k is now. False if the step may not read it.
    bool reads(std::uint32_t n, const msccl_chunk& c, std::uint32_t k, slice& s) {
        const rank_t r = graph_.nodes[n].rank;
        cell& from = at(r, c, k);
        // In place, a chunk of the input must not be read after the output has been written over
        // it.
        if (!one_memory_ && algorithm_.in_place && c.buffer != 's') {
            cell& twin = (c.buffer == 'i' ? memories_[r].out : memories_[r].in)[place(r, c, k)];
            if (c.buffer == 'i' && twin.writer != no_step)
                return fail(n, "reads input that line " + std::to_string(graph_.step_of(algorithm_, twin.writer).line) +
                                   " has overwritten, when it is used in place");
        }
        if (!may_read(from, n)) return false;
        if (from.holds == nothing) return fail(n, "reads a chunk that nobody has written");
        s = slice_at(r, c, k, from.holds);
        return true;
    }
    // Finds the slice of chunk k, which holds this block from now on. False if the step may not
    // write it.
    bool writes(std::uint32_t n, const msccl_chunk& c, std::uint32_t k, block_t block, slice& s) {
        const rank_t r = graph_.nodes[n].rank;
        cell& to = at(r, c, k);
        if (!one_memory_ && algorithm_.in_place && c.buffer == 'o') {
            cell& twin = memories_[r].in[place(r, c, k)];
            for (const std::uint32_t reader : twin.readers)
                if (!before(reader, n)) return races(reader, n);
        }
        if (!may_write(to, n)) return false;
        to.holds = block;
        s = slice_at(r, c, k, block);
        return true;
    }
    slice slice_at(rank_t r, const msccl_chunk& c, std::uint32_t k, block_t block) {
        memory& m = memories_[r];
        const std::uint32_t where = place(r, c, k);
        if (c.buffer == 's') {
            if (where % layout_.blocks == block) return {bough::scratch(where / layout_.blocks), block, 1};
        } else if (where == block) {
            if (one_memory_) return {bough::scratch(m.work), block, 1};
            return {c.buffer == 'i' ? input : output, block, 1};
        } else if (c.buffer == 'i' && !one_memory_) {
            return {input, block, 1}; // a write to the input: verify reports it
        }
        cell& own = at(r, c, k);
        if (own.plane == no_step) own.plane = m.planes++;
        return {bough::scratch(own.plane), block, 1};
    }

    // --- steps ---

    void play(std::uint32_t n) {
        const msccl_node& node = graph_.nodes[n];
        const msccl_step& s = graph_.step_of(algorithm_, n);
        const std::uint32_t count = s.what == msccl_verb::nothing ? 0 : s.count;
        slice from, into, other;
        if (s.what == msccl_verb::copy || s.what == msccl_verb::combine) {
            for (std::uint32_t k = 0; k != count; ++k) {
                if (!reads(n, s.source, k, from)) return;
                if (s.what == msccl_verb::copy) {
                    if (!writes(n, s.target, k, from.first, into)) return;
                    emit(n, copy_step(from, into));
                } else {
                    if (!reads(n, s.target, k, other)) return;
                    if (!same_block(n, from.first, other.first) || !writes(n, s.target, k, other.first, into)) return;
                    emit(n, combine_step(other, from, into));
                }
            }
            merge(node.rank);
            return;
        }
        if (msccl_receives(s.what) && !take(n)) return;
        if (s.what == msccl_verb::receive_reduce_send) return pass_on(n, landed_);
        if (!msccl_sends(s.what)) return;
        std::vector<slice> parts;
        const msccl_chunk& sent = s.what == msccl_verb::send ? s.source : s.target;
        for (std::uint32_t k = 0; k != count; ++k) {
            if (!reads(n, sent, k, from)) return;
            parts.push_back(from);
        }
        pass_on(n, parts);
    }
    bool same_block(std::uint32_t n, block_t a, block_t b) {
        return a == b || fail(n, "reduces block " + std::to_string(a) + " with block " + std::to_string(b));
    }

    // Sends chunks. The message is cut wherever either end must cut it.
    void pass_on(std::uint32_t n, const std::vector<slice>& chunks) {
        const std::uint32_t to = graph_.nodes[n].receiver;
        const rank_t peer = graph_.nodes[to].rank;
        const msccl_step& r = graph_.step_of(algorithm_, to);
        std::vector<part>& parts = flying_[to];
        for (std::uint32_t k = 0; k != chunks.size(); ++k) {
            const bool lands = r.what == msccl_verb::receive || r.what == msccl_verb::receive_copy_send;
            const slice into = lands ? slice_at(peer, r.target, k, chunks[k].first) : landing(to, chunks[k].first);
            if (!parts.empty()) {
                part& last = parts.back();
                const auto goes_on = [](const slice& a, const slice& b) {
                    return a.buffer == b.buffer && a.last() == b.first;
                };
                if (goes_on(last.from, chunks[k]) && goes_on(last.into, into)) {
                    ++last.from.count, ++last.into.count;
                    continue;
                }
            }
            parts.push_back({chunks[k], into});
        }
        for (std::size_t i = 0; i != parts.size(); ++i) emit(n, send_step(peer, parts[i].from, i + 1 != parts.size()));
    }
    slice landing(std::uint32_t n, block_t block) {
        memory& m = memories_[graph_.nodes[n].rank];
        std::uint32_t& plane = m.landing[graph_.nodes[n].block];
        if (plane == no_step) plane = m.planes++;
        return {bough::scratch(plane), block, 1};
    }
    // Receives chunks, and reduces them if the step does. Then landed_ has what a rrs passes on.
    bool take(std::uint32_t n) {
        const msccl_node& node = graph_.nodes[n];
        const msccl_step& s = graph_.step_of(algorithm_, n);
        const rank_t peer = graph_.nodes[node.sender].rank;
        const std::vector<part> parts = std::exchange(flying_[n], {});
        for (std::size_t i = 0; i != parts.size(); ++i)
            emit(n, receive_step(peer, parts[i].into, i + 1 != parts.size()));
        landed_.clear();
        std::uint32_t k = 0;
        for (const part& p : parts)
            for (block_t b = p.into.first; b != p.into.last(); ++b, ++k) {
                slice from, into;
                const slice came{p.into.buffer, b, 1};
                if (s.what == msccl_verb::receive || s.what == msccl_verb::receive_copy_send) {
                    if (!writes(n, s.target, k, b, into)) return false;
                    continue;
                }
                if (!reads(n, s.source, k, from) || !same_block(n, b, from.first)) return false;
                if (s.what == msccl_verb::receive_reduce_send)
                    into = came;
                else if (!writes(n, s.target, k, b, into))
                    return false;
                emit(n, combine_step(from, came, into));
                landed_.push_back(into);
            }
        merge(node.rank);
        return true;
    }
    // Merges steps that continue one another into one step, as bough would write them.
    void merge(rank_t r) {
        std::vector<step>& steps = made_.schedules[r].steps;
        const auto goes_on = [](const slice& a, const slice& b) { return a.buffer == b.buffer && a.last() == b.first; };
        while (steps.size() >= 2) {
            step& a = steps[steps.size() - 2];
            const step& b = steps.back();
            const std::size_t last = steps.size() - 1;
            if (a.verb != b.verb || a.communicates() || made_.lines[r][last] != made_.lines[r][last - 1]) return;
            // Find the run that these two belong to, chunk by chunk from the front.
            if (!goes_on(a.a, b.a) || !goes_on(a.out, b.out) || (a.reads_b() && !goes_on(a.b, b.b))) return;
            a.a.count += b.a.count;
            a.out.count += b.out.count;
            if (a.reads_b()) a.b.count += b.b.count;
            steps.pop_back();
            made_.lines[r].pop_back();
            made_.step[r].pop_back();
        }
    }

    const msccl_algorithm& algorithm_;
    const msccl_graph& graph_;
    imported_schedules& made_;
    msccl_layout layout_;
    bool one_memory_;
    msccl_goal<true> goal_;
    std::vector<memory> memories_;
    // By receiver.
    std::vector<std::vector<part>> flying_ = std::vector<std::vector<part>>(graph_.nodes.size());
    std::vector<slice> landed_;
    import_fault fault_;
};
using msccl_player = basic_msccl_player<0>;

} // namespace detail

// Makes schedules of an algorithm, or returns the first step that is wrong.
template <int = 0>
import_fault schedules_of(const msccl_algorithm& algorithm, imported_schedules& made,
                          const msccl_import_options& options = {}) {
    detail::msccl_graph graph;
    if (import_fault bad = detail::check_msccl(algorithm); !bad.none()) return bad;
    if (import_fault bad = detail::make_graph(algorithm, options, graph); !bad.none()) return bad;
    return detail::msccl_player(algorithm, graph, made).run();
}

// Proves the data of schedules that schedules_of made. Messages are buffered: MSCCL's sends do not
// wait for their receives.
template <int = 0>
verdict prove(const msccl_algorithm& algorithm, const imported_schedules& made,
              const msccl_import_options& options = {}) {
    const block_t chunks = detail::msccl_chunks(algorithm);
    const verify_options how{.eager_slots = options.slots};
    if (algorithm.in_place && algorithm.out_of_place)
        return verify_schedules(msccl_goal<true>{algorithm.kind, chunks}, made.at, made.schedules, made.scratch, how);
    return verify_schedules(msccl_goal<false>{algorithm.kind, chunks}, made.at, made.schedules, made.scratch, how);
}

} // namespace bough

#endif
