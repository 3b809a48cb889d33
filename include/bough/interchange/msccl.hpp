// SPDX-License-Identifier: BSL-1.0
// The words of MSCCL's XML as values (algorithm, GPU, thread block, step), and the rule that says
// which chunk is which block.
// Source: the readers of msccl and msccl-executor-nccl (msccl_parser.cc), and M. Cowan, S. Maleki,
// M. Musuvathi, O. Saarikivi, Y. Xiong: MSCCLang, ASPLOS 2023.
#ifndef BOUGH_INTERCHANGE_MSCCL_HPP
#define BOUGH_INTERCHANGE_MSCCL_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/schedule/goal.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace bough::inline BOUGH_ABI {

// The types of steps. Behind each stands its word in the file.
enum class msccl_verb : std::uint8_t {
    nothing,                 // nop: only waits
    send,                    // s
    receive,                 // r
    copy,                    // cpy
    combine,                 // re: dst = op(dst, src)
    receive_copy_send,       // rcs: dst = message; passes it on
    receive_reduce_copy,     // rrc: dst = op(src, message)
    receive_reduce_send,     // rrs: passes op(src, message) on
    receive_reduce_copy_send // rrcs: dst = op(src, message); passes it on
};
// The word in the file.
constexpr std::string_view msccl_verb_name(msccl_verb v) noexcept {
    constexpr std::array<std::string_view, 9> names{"nop", "s", "r", "cpy", "re", "rcs", "rrc", "rrs", "rrcs"};
    return names[static_cast<std::size_t>(v)];
}
// Does such a step take a message?
constexpr bool msccl_receives(msccl_verb v) noexcept {
    return v == msccl_verb::receive || v >= msccl_verb::receive_copy_send;
}
// Does such a step send one?
constexpr bool msccl_sends(msccl_verb v) noexcept {
    return v == msccl_verb::send || v == msccl_verb::receive_copy_send || v >= msccl_verb::receive_reduce_send;
}

// A place: a buffer of the GPU, and how many chunks into it.
struct msccl_chunk {
    char buffer = 'i'; // i, o or s
    std::int64_t offset = 0;
    friend bool operator==(const msccl_chunk&, const msccl_chunk&) = default;
};
// One step of a thread block.
struct msccl_step {
    msccl_verb what = msccl_verb::nothing;
    msccl_chunk source{}, target{};
    std::uint32_t count = 0;
    std::int64_t dep_block = -1, dep_step = -1; // the step that it waits for, on the same GPU; -1: none
    bool has_dep = false;                       // does another step wait for it?
    std::size_t line = 0;                       // in the file
    friend bool operator==(const msccl_step&, const msccl_step&) = default;
};
struct msccl_block {                      // a thread block: its steps run one after the other
    std::int64_t send = -1, receive = -1; // peers; -1: none
    std::uint32_t channel = 0;
    std::vector<msccl_step> steps;
    std::size_t line = 0;
};
struct msccl_gpu {
    rank_t id = 0;
    std::uint32_t input_chunks = 0, output_chunks = 0, scratch_chunks = 0;
    std::vector<msccl_block> blocks;
    std::size_t line = 0;
};
struct msccl_algorithm {
    std::uint8_t kind = 0; // of the goal
    rank_t size = 0;
    std::uint32_t chunks = 0; // nchunksperloop
    bool in_place = true, out_of_place = true;
    std::vector<msccl_gpu> gpus; // by rank
};

// Says which chunk is which block. MSCCL counts the chunks of each buffer from that buffer's
// beginning.
struct msccl_layout {
    std::uint8_t kind = 0;
    rank_t size = 1;
    block_t blocks = 1; // of the vector; for an allgather or reduce_scatter a multiple of size
    std::uint32_t most_steps = 256;

    static constexpr std::string_view name_of(std::uint8_t goal) noexcept {
        return goal == goal::allreduce::kind        ? "allreduce"
               : goal == goal::allgather::kind      ? "allgather"
               : goal == goal::reduce_scatter::kind ? "reducescatter"
               : goal == goal::alltoall::kind       ? "alltoall"
                                                    : "";
    }
    constexpr block_t share() const noexcept { return blocks / size; } // one rank's; in an alltoall: a row
    constexpr std::uint32_t input_chunks() const noexcept {
        return kind == goal::allgather::kind || kind == goal::alltoall::kind ? share() : blocks;
    }
    constexpr std::uint32_t output_chunks() const noexcept {
        return kind == goal::reduce_scatter::kind || kind == goal::alltoall::kind ? share() : blocks;
    }
    // The block that a chunk of the input holds at the beginning, or a chunk of the output at the
    // end.
    constexpr block_t block_of(rank_t rank, char buffer, std::uint32_t offset) const noexcept {
        if (kind == goal::alltoall::kind)
            return buffer == 'i'
                       ? rank * share() + offset
                       : (offset / chunks_of_pair()) * share() + rank * chunks_of_pair() + offset % chunks_of_pair();
        const bool own =
            (kind == goal::allgather::kind && buffer == 'i') || (kind == goal::reduce_scatter::kind && buffer == 'o');
        return own ? rank * share() + offset : offset;
    }
    constexpr block_t chunks_of_pair() const noexcept { return share() / size; } // alltoall

    // Finds the buffer and offset where a run of blocks begins. False if it is no run of chunks
    // there.
    constexpr bool offset_of(rank_t rank, const slice& s, char& buffer, std::uint64_t& offset) const noexcept {
        if (is_scratch(s.buffer)) {
            buffer = 's';
            offset = std::uint64_t{scratch_plane(s.buffer)} * blocks + s.first;
            return true;
        }
        buffer = s.buffer == input ? 'i' : 'o';
        const std::uint32_t chunks = s.buffer == input ? input_chunks() : output_chunks();
        if (s.count == 0) return offset = 0, true;
        offset = s.first;
        if (kind == goal::alltoall::kind)
            offset = s.buffer == input ? s.first - std::uint64_t{rank} * share() : s.first / share();
        else if (chunks != blocks)
            offset = s.first - std::uint64_t{rank} * share();
        for (block_t k = 0; k != s.count; ++k)
            if (offset + k >= chunks || block_of(rank, buffer, static_cast<std::uint32_t>(offset) + k) != s.first + k)
                return false;
        return true;
    }
};

} // namespace bough

#endif
