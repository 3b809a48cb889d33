// SPDX-License-Identifier: BSL-1.0
// Fit: the rdma model of a way to write into other ranks' memory, from timed puts.
//
//   one_way        n bytes, until the waiting rank sees them       Td + 2 (Ts + Tn) + n Tt
//   put            the call of a put of few bytes                  Td
//   burst          from one of many puts to one rank to the next   max(Ts, n Tt)
//   acknowledged   the same, each put known to have landed         the same + Ta
//   combine, copy  n bytes in memory                               n To, n Tc
//
// Tm is 0: it is what a library adds to a message, and no property of a put. Each sample weighs by
// its own time, so short times count as much as long ones. measure_remote_writes
// (bough/measure/remote_writes.hpp) takes such samples.
//
// *Source* the parameters are those of Gupta et al., IPDPS 2003, section 6; the ways to tell them apart are ours.
#ifndef BOUGH_MODEL_FIT_RDMA_HPP
#define BOUGH_MODEL_FIT_RDMA_HPP

#include <bough/core/status.hpp>
#include <bough/model/detail/least_squares.hpp>
#include <bough/model/math.hpp>
#include <bough/model/rdma.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::model {

// What was timed; see above.
enum class rdma_timing : std::uint8_t { one_way, put, burst, acknowledged, combine, copy };

// One timed put.
struct rdma_sample {
    rdma_timing kind = rdma_timing::one_way;
    std::uint64_t bytes = 0;
    double ns = 0;
    friend constexpr bool operator==(const rdma_sample&, const rdma_sample&) = default;
};

// What the model says of a sample.
constexpr double expected_ns(const rdma& m, const rdma_sample& s) noexcept {
    const double transmit = m.transmit_ns(s.bytes), gap = transmit > m.dma_startup_ns ? transmit : m.dma_startup_ns;
    switch (s.kind) {
    case rdma_timing::one_way: return m.descriptor_ns + 2 * (m.dma_startup_ns + m.nic_ns) + transmit;
    case rdma_timing::put: return m.descriptor_ns;
    case rdma_timing::burst: return gap;
    case rdma_timing::acknowledged: return gap + m.acknowledgement_ns;
    case rdma_timing::combine: return m.operation_ns(s.bytes);
    case rdma_timing::copy: return m.copy_ns_per_byte * static_cast<double>(s.bytes);
    }
    return 0;
}

// The fitted model, and how well it fits.
struct rdma_fit {
    status error{}; // invalid_argument: what the samples lack. Then nothing else here means anything.
    rdma model{};
    double residual_rms = 0, residual_max = 0; // for one_way and burst, relative to what was measured
};

// Fits the model. It needs samples of one_way of two sizes, of put and of burst. Parameters without
// samples are 0. Estimates below 0, which noise can produce, become 0. Ts is at most what one_way
// leaves for it.
constexpr rdma_fit fit_rdma(std::span<const rdma_sample> samples) {
    rdma_fit fit;
    const auto none = std::numeric_limits<double>::max();
    std::vector<std::array<double, 2>> rows;
    std::vector<double> values;
    double put = none, burst = none, copied[2] = {}, bytes[2] = {}, acknowledged = 0;
    std::size_t flushed = 0;
    for (const rdma_sample& s : samples) {
        if (!(s.ns > 0 && s.ns <= none))
            return {.error = invalid_argument("samples: a time must be finite and above 0")};
        const auto size = static_cast<double>(s.bytes);
        if (s.kind == rdma_timing::one_way) {
            rows.push_back({1 / s.ns, size / s.ns});
            values.push_back(1);
        }
        if (s.kind == rdma_timing::put) put = std::min(put, s.ns);
        if (s.kind == rdma_timing::burst) burst = std::min(burst, s.ns);
        if (s.kind == rdma_timing::combine || s.kind == rdma_timing::copy) {
            const std::size_t at = s.kind == rdma_timing::combine ? 0 : 1;
            copied[at] += s.ns;
            bytes[at] += size;
        }
        if (s.kind == rdma_timing::acknowledged)
            for (const rdma_sample& other : samples)
                if (other.kind == rdma_timing::burst && other.bytes == s.bytes)
                    acknowledged += s.ns - other.ns, ++flushed;
    }
    if (put == none || burst == none) return {.error = invalid_argument("samples: need a put and a burst")};
    std::array<double, 2> found{};
    if (rows.size() < 2 || !detail::least_squares(rows, values, found))
        return {.error = invalid_argument("samples: need one_way of two sizes")};
    const auto cost = [](double ns) { return ns > 0 ? ns : 0; };
    rdma& m = fit.model;
    const double way = cost(found[0]);
    m.descriptor_ns = std::min(put, way);
    m.dma_startup_ns = std::min(burst, (way - m.descriptor_ns) / 2);
    m.nic_ns = cost((way - m.descriptor_ns) / 2 - m.dma_startup_ns);
    m.transmit_ns_per_byte = cost(found[1]);
    m.operation_ns_per_byte = bytes[0] > 0 ? copied[0] / bytes[0] : 0;
    m.copy_ns_per_byte = bytes[1] > 0 ? copied[1] / bytes[1] : 0;
    m.acknowledgement_ns = flushed == 0 ? 0 : cost(acknowledged / static_cast<double>(flushed));

    double squares = 0;
    std::size_t count = 0;
    for (const rdma_sample& s : samples) {
        if (s.kind != rdma_timing::one_way && s.kind != rdma_timing::burst) continue;
        const double off = expected_ns(m, s) / s.ns - 1;
        squares += off * off;
        ++count;
        fit.residual_max = std::max(fit.residual_max, off < 0 ? -off : off);
    }
    fit.residual_rms = detail::square_root(squares / static_cast<double>(count));
    return fit;
}

} // namespace bough::model

#endif
