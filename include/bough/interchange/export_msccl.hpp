// SPDX-License-Identifier: BSL-1.0
// export_msccl: writes a plan as the XML file that Microsoft's MSCCL runs on GPUs. Ranks come one
// after the other, as in export_goal.
//
//   auto why = export_msccl(out, plan_allreduce(ring{}, {.size = 8}));
//   if (!why.empty()) ...                  a sentence: why the format cannot express the plan
//
// How a plan is expressed in the format's words:
//   thread blocks  one for each channel (a peer, a direction), and one for local steps. Only the
//                  order within a thread block and `depid`, `deps` order steps. If a step has
//                  several dependences, there is a `nop` before it for each but the last.
//   s r cpy        send, receive, copy; a message in parts is a step for each part
//   rrc            a receive, and the combine that alone reads what came: out = op(in place or
//                  elsewhere, message)
//   re             a combine in place: dst = op(dst, src). Any other combine is a cpy, then a re.
//   buffers        i and o in the rank's own chunks; scratch plane p, block b: s at p * blocks + b
// The format does not order the operands of an op: MSCCL's ops commute. It has no root and no
// scans, and its chunks have one length. It allows at most 71 chunks in a step (longer slices are
// several steps), 256 steps in a thread block, and 15 bits of offset.
#ifndef BOUGH_INTERCHANGE_EXPORT_MSCCL_HPP
#define BOUGH_INTERCHANGE_EXPORT_MSCCL_HPP

#include <bough/concepts/plan.hpp>
#include <bough/interchange/msccl.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/schedule/print_goal.hpp>
#include <bough/schedule/schedule.hpp>
#include <bough/tree/export_text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

struct msccl_options {
    std::string name = "bough"; // of the algorithm
    std::string protocol = "Simple";
    std::uint32_t most_steps = 256; // per thread block; the newer executor allows 64
};

namespace detail {

template <int>
class basic_msccl_writer {
public:
    basic_msccl_writer(const schedule& steps, rank_t rank, const msccl_layout& layout)
        : steps_(steps), rank_(rank), layout_(layout), waits_(infer_dependences(steps.steps)),
          last_of_(steps.size(), place{}), fused_(steps.size(), no_step) {}

    // Returns a sentence if the format cannot express the steps.
    std::string run(msccl_gpu& gpu) {
        gpu_ = &gpu;
        gpu.id = rank_;
        gpu.input_chunks = layout_.input_chunks();
        gpu.output_chunks = layout_.output_chunks();
        find_fused();
        for (std::uint32_t i = 0; i != steps_.size() && why_.empty(); ++i) write(i);
        for (msccl_block& tb : gpu.blocks) // mark the steps that others wait for
            for (msccl_step& s : tb.steps)
                if (s.dep_block >= 0)
                    gpu.blocks[static_cast<std::size_t>(s.dep_block)]
                        .steps[static_cast<std::size_t>(s.dep_step)]
                        .has_dep = true;
        return why_;
    }

private:
    struct place {
        std::uint32_t block = no_step, step = 0;
    };
    static constexpr block_t most_count = 71;

    // Sets fused_[combine] to the receive with which it becomes one step, and the other way round.
    void find_fused() {
        std::vector<std::uint32_t> readers(steps_.size(), 0);
        for (std::uint32_t i = 0; i != steps_.size(); ++i)
            for (const std::uint32_t b : waits_.of(i)) {
                const step& s = steps_[i];
                const bool reads =
                    (s.reads_a() && overlap(s.a, steps_[b].out)) || (s.reads_b() && overlap(s.b, steps_[b].out));
                if (steps_[b].verb == verb::receive && reads) ++readers[b];
            }
        for (std::uint32_t i = 0; i != steps_.size(); ++i) {
            const step& c = steps_[i];
            if (c.verb != verb::combine || c.out.count == 0) continue;
            for (const std::uint32_t b : waits_.of(i)) {
                const step& r = steps_[b];
                if (r.verb != verb::receive || !is_scratch(r.out.buffer) || readers[b] != 1) continue;
                if (r.out != c.a && r.out != c.b) continue;
                if (c.a == c.b || overlap(c.out, r.out)) continue;
                // No other message may pass on the channel between the two.
                bool next = true;
                for (std::uint32_t k = b + 1; k < i; ++k)
                    next = next && !(steps_[k].verb == verb::receive && steps_[k].peer == r.peer);
                if (!next || r.more) continue;
                if (b != 0 && steps_[b - 1].more) continue; // a part of a message in parts
                fused_[i] = b;
                fused_[b] = i;
                break;
            }
        }
    }

    std::uint32_t block_of(std::int64_t send, std::int64_t receive) {
        std::vector<msccl_block>& all = gpu_->blocks;
        for (std::uint32_t t = 0; t != all.size(); ++t)
            if (all[t].send == send && all[t].receive == receive) return t;
        msccl_block tb;
        tb.send = send;
        tb.receive = receive;
        all.push_back(tb);
        return static_cast<std::uint32_t>(all.size() - 1);
    }

    void write(std::uint32_t i) {
        const step& s = steps_[i];
        if (s.verb == verb::receive && fused_[i] != no_step) return; // the step of its combine includes it
        std::uint32_t tb = 0;
        if (s.verb == verb::send)
            tb = block_of(s.peer, -1);
        else if (s.verb == verb::receive)
            tb = block_of(-1, s.peer);
        else if (fused_[i] != no_step)
            tb = block_of(-1, steps_[fused_[i]].peer);
        else
            tb = block_of(-1, -1);
        const std::vector<place> before = places_before(i, tb);
        switch (s.verb) {
        case verb::send: pieces(i, tb, before, msccl_verb::send, s.a, s.a); break;
        case verb::receive: pieces(i, tb, before, msccl_verb::receive, s.out, s.out); break;
        case verb::copy: pieces(i, tb, before, msccl_verb::copy, s.a, s.out); break;
        case verb::combine:
            if (fused_[i] != no_step) {
                const step& r = steps_[fused_[i]];
                pieces(i, tb, before, msccl_verb::receive_reduce_copy, r.out == s.a ? s.b : s.a, s.out);
                last_of_[fused_[i]] = last_of_[i];
            } else if (s.out == s.a || s.out == s.b) {
                pieces(i, tb, before, msccl_verb::combine, s.out == s.a ? s.b : s.a, s.out);
            } else {
                // First comes the operand that is the result's memory in place.
                const bool b_first = storage_of(s.b.buffer) == storage_of(s.out.buffer);
                pieces(i, tb, before, msccl_verb::copy, b_first ? s.b : s.a, s.out);
                pieces(i, tb, {}, msccl_verb::combine, b_first ? s.a : s.b, s.out);
            }
            break;
        }
        if (gpu_->blocks[tb].steps.size() > layout_.most_steps)
            why_ = "MSCCL XML: rank " + std::to_string(rank_) + " would have a thread block of more than " +
                   std::to_string(layout_.most_steps) + " steps";
    }

    // The last written step of each other thread block that step i waits for.
    std::vector<place> places_before(std::uint32_t i, std::uint32_t tb) const {
        std::vector<place> before;
        const auto add = [&](std::uint32_t b) {
            const place p = last_of_[b];
            if (p.block == no_step || p.block == tb) return;
            for (place& known : before)
                if (known.block == p.block) return void(known.step = std::max(known.step, p.step));
            before.push_back(p);
        };
        for (const std::uint32_t b : waits_.of(i)) add(b);
        if (fused_[i] != no_step)
            for (const std::uint32_t b : waits_.of(fused_[i])) add(b);
        std::sort(before.begin(), before.end(), [](const place& a, const place& b) { return a.block < b.block; });
        return before;
    }

    void pieces(std::uint32_t i, std::uint32_t tb, const std::vector<place>& before, msccl_verb what, slice source,
                slice target) {
        msccl_block& block = gpu_->blocks[tb];
        for (std::size_t k = 0; k + 1 < before.size(); ++k) append(block, {}, before[k]);
        for (block_t done = 0; done != source.count && why_.empty();) {
            block_t count = std::min<block_t>(source.count - done, most_count);
            msccl_step s;
            s.what = what;
            const slice from{source.buffer, source.first + done, count}, to{target.buffer, target.first + done, count};
            if (!chunk(from, s.source) || !chunk(to, s.target)) return;
            s.count = count;
            append(block, s, done == 0 && !before.empty() ? before.back() : place{});
            done += count;
        }
        // It moves nothing.
        if (source.count == 0) append(block, {}, before.empty() ? place{} : before.back());
        last_of_[i] = {tb, static_cast<std::uint32_t>(block.steps.size() - 1)};
    }
    void append(msccl_block& block, msccl_step s, const place& behind) {
        if (behind.block != no_step) {
            s.dep_block = behind.block;
            s.dep_step = behind.step;
        }
        block.steps.push_back(s);
    }
    bool chunk(const slice& s, msccl_chunk& made) {
        std::uint64_t offset = 0;
        if (!layout_.offset_of(rank_, s, made.buffer, offset)) {
            why_ = "MSCCL XML: rank " + std::to_string(rank_) + " names blocks that are no run of chunks in its buffer";
            return false;
        }
        if (offset + s.count > 0x7fff) {
            why_ = "MSCCL XML: offsets have 15 bits; with these ranks and blocks some are beyond";
            return false;
        }
        made.offset = static_cast<std::int64_t>(offset);
        if (made.buffer == 's')
            gpu_->scratch_chunks = std::max(gpu_->scratch_chunks, static_cast<std::uint32_t>(offset) + s.count);
        return true;
    }

    const schedule& steps_;
    rank_t rank_;
    const msccl_layout& layout_;
    dependences waits_;
    std::vector<place> last_of_;
    std::vector<std::uint32_t> fused_;
    msccl_gpu* gpu_ = nullptr;
    std::string why_;
};
using msccl_writer = basic_msccl_writer<0>;

template <int = 0>
std::string xml_of(const msccl_gpu& gpu) {
    const auto field = [](const char* name, std::int64_t value) {
        return std::string(" ") + name + "=\"" + std::to_string(value) + '"';
    };
    std::string text = "  <gpu" + field("id", gpu.id) + field("i_chunks", gpu.input_chunks) +
                       field("o_chunks", gpu.output_chunks) + field("s_chunks", gpu.scratch_chunks) + ">\n";
    for (std::size_t t = 0; t != gpu.blocks.size(); ++t) {
        const msccl_block& tb = gpu.blocks[t];
        text += "    <tb" + field("id", static_cast<std::int64_t>(t)) + field("send", tb.send) +
                field("recv", tb.receive) + field("chan", tb.channel) + ">\n";
        for (std::size_t i = 0; i != tb.steps.size(); ++i) {
            const msccl_step& s = tb.steps[i];
            text += "      <step" + field("s", static_cast<std::int64_t>(i)) + " type=\"" +
                    std::string(msccl_verb_name(s.what)) + "\" srcbuf=\"" + s.source.buffer + '"' +
                    field("srcoff", s.source.offset) + " dstbuf=\"" + s.target.buffer + '"' +
                    field("dstoff", s.target.offset) + field("cnt", s.count) + field("depid", s.dep_block) +
                    field("deps", s.dep_step) + field("hasdep", s.has_dep ? 1 : 0) + "/>\n";
        }
        text += "    </tb>\n";
    }
    return text + "  </gpu>\n";
}

} // namespace detail

// Makes the part of one rank. Returns a sentence if the format cannot express it. Pre:
// msccl_refuses(plan) is empty.
template <Plan P>
std::string msccl_gpu_of(const P& plan, rank_t rank, msccl_gpu& made, const msccl_options& options = {}) {
    schedule steps;
    plan.emit(rank, steps);
    const msccl_layout layout{decltype(plan.goal())::kind, plan.size(), plan.blocks(), options.most_steps};
    return detail::msccl_writer(steps, rank, layout).run(made);
}

// Why the format cannot express any plan of this goal; empty if it can.
template <Plan P>
std::string msccl_refuses(const P& plan) {
    const std::uint8_t kind = decltype(plan.goal())::kind;
    if (msccl_layout::name_of(kind).empty())
        return "MSCCL XML: there is no " + std::string(goal_name(kind)) +
               "; it has allreduce, allgather, reducescatter and alltoall, all without a root";
    if (plan.blocks() > 0x7fff) return "MSCCL XML: offsets have 15 bits: at most 32767 blocks";
    return {};
}

// Writes the plan. `out` takes text by <<. Returns a sentence if the format cannot express the
// plan; then what was written so far is of no use.
template <class Out, Plan P>
std::string export_msccl(Out& out, const P& plan, const msccl_options& options = {}) {
    if (std::string why = msccl_refuses(plan); !why.empty()) return why;
    const std::uint8_t kind = decltype(plan.goal())::kind;
    // An alltoall's chunks are the blocks of one row.
    const block_t chunks = kind == goal::alltoall::kind ? plan.size() : plan.blocks();
    out << "<algo name=\"" + detail::xml_text(options.name) + "\" proto=\"" + detail::xml_text(options.protocol) +
               "\" nchannels=\"1\" nchunksperloop=\"" + std::to_string(chunks) + "\" ngpus=\"" +
               std::to_string(plan.size()) + "\" coll=\"" + std::string(msccl_layout::name_of(kind)) + "\" inplace=\"" +
               (decltype(plan.goal())::in_place ? '1' : '0') + "\" outofplace=\"1\" minBytes=\"0\" maxBytes=\"0\">\n";
    for (rank_t r = 0; r != plan.size(); ++r) {
        msccl_gpu gpu;
        if (std::string why = msccl_gpu_of(plan, r, gpu, options); !why.empty()) return why;
        out << detail::xml_of(gpu);
    }
    out << std::string("</algo>\n");
    return {};
}

} // namespace bough

#endif
