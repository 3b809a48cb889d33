// SPDX-License-Identifier: BSL-1.0
// What it costs here to read another process's memory through the kernel, beside copying through
// shared memory. Measured once for a group, while it is joined; that takes about a millisecond.
//
// A direct read copies once, but the kernel walks over the pages of the other process, and a virtual
// machine makes that slow. Through a segment both sides copy, the sender into memory that stays in
// its cache. Which is faster is a property of the machine and of the length.
#ifndef BOUGH_TRANSPORT_SEGMENT_READ_COSTS_HPP
#define BOUGH_TRANSPORT_SEGMENT_READ_COSTS_HPP

#include <bough/core/config.hpp>
#include <bough/os/clock.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

struct read_costs {
    static constexpr std::uint64_t never = ~std::uint64_t{0};
    // From so many bytes on, a payload in private memory is had faster by a direct read: one that is
    // copied to its place, and one that is combined piece by piece.
    std::uint64_t copied_from = 0, combined_from = 0;
    double direct_ns_per_byte = 0.1;

    friend constexpr bool operator==(const read_costs&, const read_costs&) = default;
};

// One length: what a direct read of it takes, and what the copies that replace it.
struct read_sample {
    std::uint64_t bytes = 0;
    double direct_ns = 0, copied_ns = 0; // to its place
    // To where a combine reads it: into the cache, out of a segment.
    double direct_piece_ns = 0, staged_piece_ns = 0;
};

// Direct reads are taken from the shortest length on from which they win at every length.
template <int = 0>
read_costs read_costs_of(const read_sample* samples, std::size_t count) {
    read_costs made{.copied_from = read_costs::never, .combined_from = read_costs::never};
    for (std::size_t i = count; i-- != 0 && samples[i].direct_ns <= samples[i].copied_ns;)
        made.copied_from = samples[i].bytes;
    for (std::size_t i = count; i-- != 0 && samples[i].direct_piece_ns <= samples[i].staged_piece_ns;)
        made.combined_from = samples[i].bytes;
    if (count != 0)
        made.direct_ns_per_byte = samples[count - 1].direct_ns / static_cast<double>(samples[count - 1].bytes);
    return made;
}

// Measures with this process's own memory: the kernel reads it in the same way as another's. All
// lengths never, if the kernel does not allow it.
template <int = 0>
read_costs measure_reads(std::size_t piece_bytes) {
    static constexpr std::array<std::size_t, 4> lengths{16384, 65536, 262144, 1048576};
    const std::size_t piece = std::clamp<std::size_t>(piece_bytes, 4096, 65536);
    std::vector<std::byte> source(lengths.back(), std::byte{1}), target(lengths.back()), window(131072);
    const pid_t me = ::getpid();
    bool allowed = true;
    const auto direct = [&](std::byte* into, std::size_t at, std::size_t bytes) {
        const iovec here{into, bytes}, there{source.data() + at, bytes};
        allowed = ::process_vm_readv(me, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes) && allowed;
    };
    int repeats = 3; // the first finds pages and caches cold
    const auto fastest_ns = [&repeats](auto&& once) {
        std::uint64_t best = ~std::uint64_t{0};
        for (int i = 0; i != repeats; ++i) {
            const std::uint64_t begin = steady_now_ns();
            once();
            best = std::min(best, steady_now_ns() - begin);
        }
        return static_cast<double>(best);
    };
    std::array<read_sample, lengths.size()> samples;
    for (std::size_t k = 0; k != lengths.size(); ++k) {
        const std::size_t bytes = lengths[k];
        const auto by_pieces = [&](std::size_t length, auto&& each) {
            for (std::size_t at = 0; at < bytes; at += length) each(at, std::min(length, bytes - at));
        };
        samples[k].bytes = bytes;
        if (bytes > 65536) repeats = 2;
        samples[k].direct_ns = fastest_ns([&] { direct(target.data(), 0, bytes); });
        samples[k].copied_ns = fastest_ns([&] {
            by_pieces(piece, [&](std::size_t at, std::size_t n) {
                std::memcpy(window.data(), source.data() + at, n);
                asm volatile("" : : "r"(window.data()) : "memory");
                std::memcpy(target.data() + at, window.data(), n);
            });
        });
        samples[k].direct_piece_ns = fastest_ns(
            [&] { by_pieces(window.size(), [&](std::size_t at, std::size_t n) { direct(window.data(), at, n); }); });
        samples[k].staged_piece_ns = fastest_ns([&] {
            by_pieces(piece, [&](std::size_t at, std::size_t n) {
                std::memcpy(window.data(), source.data() + at, n);
                asm volatile("" : : "r"(window.data()) : "memory");
            });
        });
    }
    return allowed ? read_costs_of(samples.data(), samples.size())
                   : read_costs{.copied_from = read_costs::never, .combined_from = read_costs::never};
}

} // namespace bough::detail

#endif
