// SPDX-License-Identifier: BSL-1.0
// Noise: when ranks arrive, which ranks are slow, and what interrupts their processors. It is a
// value, and all of it comes from one seed.
//
//   noise{.seed = 7, .arrival = {.how = noise::coming::exponential, .scale_ns = 20'000}}
//   noise{.daemons = {{.period_ns = 10'000'000, .duration_ns = 50'000}}, .reach = noise::reaches::nic}
//
// *Host* mode: the ranks' processors do their steps, so whatever interrupts a rank delays the step
// at hand and all that follow, on intermediate ranks, too. *NIC* mode: the processor only starts
// the operation and sees it end. The NIC does what happens between, undisturbed (Moody et al., SC
// 2003: why a NIC-based reduction is consistent). Slow ranks are slow in both modes.
//
// Times of noise are whole nanoseconds. The intervals in which a rank is interrupted are computed
// with integers, so they are the same on every machine and in every engine. An interruption that
// begins exactly when work begins comes first.
#ifndef BOUGH_SIMULATE_NOISE_HPP
#define BOUGH_SIMULATE_NOISE_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/random.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/model/arriving.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI {

struct noise {
    enum class coming : std::uint8_t { together, given, uniform, exponential };
    enum class reaches : std::uint8_t { host, nic };

    // When ranks begin. uniform: in [0, scale); exponential: mean scale; given: `at_ns`, one per rank.
    struct arrivals {
        coming how = coming::together;
        double scale_ns = 0;
        std::vector<double> at_ns{};
        friend constexpr bool operator==(const arrivals&, const arrivals&) = default;
    };
    // Interrupts every rank for duration_ns, every period_ns. The first interruption is at
    // phase_ns, or at a time below period_ns that is drawn for each rank.
    struct daemon {
        std::uint64_t period_ns = 0;
        std::uint64_t duration_ns = 0;
        std::uint64_t phase_ns = 0;
        bool random_phase = true;
        friend constexpr bool operator==(const daemon&, const daemon&) = default;
    };
    // In per_1000 of 1000 windows of window_ns, drawn for every rank, there is one interruption of
    // min_ns to max_ns somewhere in the window.
    struct interruption {
        std::uint64_t window_ns = 0;
        std::uint64_t min_ns = 0;
        std::uint64_t max_ns = 0;
        std::uint32_t per_1000 = 1000;
        friend constexpr bool operator==(const interruption&, const interruption&) = default;
    };
    // Slow ranks, whose work takes `factor` times as long: those listed, and per_1000 of 1000
    // others.
    struct slowness {
        double factor = 1;
        std::uint32_t per_1000 = 0;
        std::vector<rank_t> ranks{};
        friend constexpr bool operator==(const slowness&, const slowness&) = default;
    };

    std::uint64_t seed = 1;
    arrivals arrival{};
    std::vector<daemon> daemons{};
    std::vector<interruption> interruptions{};
    slowness slow{};
    reaches reach = reaches::host;
    // Do interruptions delay the entry of an operation? false: the clock starts when the last rank
    // has entered, as after a barrier, so what held it up lies before the start.
    bool disturbs_entry = true;

    friend constexpr bool operator==(const noise&, const noise&) = default;

    constexpr bool interrupts() const noexcept { return !daemons.empty() || !interruptions.empty(); }
    constexpr bool quiet() const noexcept {
        return arrival.how == coming::together && !interrupts() && slow.factor == 1;
    }

    // Returns ok, or invalid_argument with the name of what is out of range.
    constexpr status check(rank_t size) const noexcept {
        if (arrival.how == coming::given && arrival.at_ns.size() != size)
            return invalid_argument("arrival: one time per rank is needed");
        if (!(arrival.scale_ns >= 0)) return invalid_argument("arrival: a scale is not negative");
        for (const double at : arrival.at_ns)
            if (!(at >= 0)) return invalid_argument("arrival: times are not negative");
        if (!(slow.factor > 0)) return invalid_argument("slow: a factor is above 0");
        double taken = 0;
        for (const daemon& d : daemons) {
            if (d.period_ns <= d.duration_ns) return invalid_argument("daemons: a period is longer than its duration");
            if (d.period_ns >> 32 != 0) return invalid_argument("daemons: a period is below 2^32 ns");
            taken += static_cast<double>(d.duration_ns) / static_cast<double>(d.period_ns);
        }
        for (const interruption& i : interruptions) {
            if (i.min_ns > i.max_ns) return invalid_argument("interruptions: min_ns is above max_ns");
            if (i.window_ns <= i.max_ns) return invalid_argument("interruptions: a window is longer than max_ns");
            if (i.window_ns >> 32 != 0) return invalid_argument("interruptions: a window is below 2^32 ns");
            taken += static_cast<double>(i.max_ns) / static_cast<double>(i.window_ns);
        }
        return taken < 1 ? status{} : invalid_argument("daemons, interruptions: together they leave no time");
    }
};

namespace detail {

// How the engines see noise. This is the one without any.
struct no_noise {
    constexpr double arrival_ns(rank_t) const noexcept { return 0; }
    constexpr double factor(rank_t) const noexcept { return 1; }
    constexpr double enter(rank_t, double at_ns, double work_ns) const noexcept { return at_ns + work_ns; }
    constexpr double compute(rank_t, double at_ns, double work_ns) const noexcept { return at_ns + work_ns; }
    constexpr double work(rank_t, double at_ns, double work_ns) const noexcept { return at_ns + work_ns; }
    constexpr double leave(rank_t, double at_ns) const noexcept { return at_ns; }
};

template <int>
class basic_noise_of_ranks {
public:
    // Pre: from.check(size) is ok.
    constexpr basic_noise_of_ranks(const noise& from, rank_t size) : from_(from) {
        BOUGH_EXPECTS(!from.check(size), "noise: see its check()");
        slow_.resize(size, char{0});
        for (rank_t r = 0; r != size; ++r)
            if (random_sequence(from.seed, stream_slow, r).below(1000) < from.slow.per_1000) slow_[r] = 1;
        for (const rank_t r : from.slow.ranks)
            if (r < size) slow_[r] = 1;
    }

    constexpr double arrival_ns(rank_t rank) const noexcept {
        const noise::arrivals& a = from_.arrival;
        random_sequence random(from_.seed, stream_arrival, rank);
        switch (a.how) {
        case noise::coming::together: return 0;
        case noise::coming::given: return a.at_ns[rank];
        case noise::coming::uniform: return random.unit() * a.scale_ns;
        case noise::coming::exponential: return random.exponential() * a.scale_ns;
        }
        return 0;
    }
    constexpr double factor(rank_t rank) const noexcept { return slow_[rank] ? from_.slow.factor : 1; }

    // When is the processor done that begins `work_ns` of work at `at_ns`? There is a function for
    // the first work of an operation, for work between two operations, for a step, and for the last
    // moment, when the processor sees the end.
    constexpr double enter(rank_t rank, double at_ns, double work_ns) const noexcept {
        const double ns = work_ns * factor(rank);
        return from_.disturbs_entry ? interrupted(rank, at_ns, ns) : at_ns + ns;
    }
    constexpr double compute(rank_t rank, double at_ns, double work_ns) const noexcept {
        return interrupted(rank, at_ns, work_ns * factor(rank));
    }
    constexpr double work(rank_t rank, double at_ns, double work_ns) const noexcept {
        const double ns = work_ns * factor(rank);
        return from_.reach == noise::reaches::nic ? at_ns + ns : interrupted(rank, at_ns, ns);
    }
    constexpr double leave(rank_t rank, double at_ns) const noexcept { return interrupted(rank, at_ns, 0); }

private:
    static constexpr std::uint64_t stream_arrival = 1, stream_slow = 2, stream_daemon = 3, stream_interruption = 1000;
    struct interval {
        double begin_ns, end_ns;
    };

    constexpr double interrupted(rank_t rank, double at_ns, double left_ns) const noexcept {
        if (!from_.interrupts()) return at_ns + left_ns;
        for (;;) {
            const interval next = next_interval(rank, at_ns);
            if (next.begin_ns > at_ns) {
                if (at_ns + left_ns <= next.begin_ns) return at_ns + left_ns;
                left_ns -= next.begin_ns - at_ns;
            }
            at_ns = next.end_ns;
        }
    }

    // The first to begin of the interruptions that end after `at_ns`.
    constexpr interval next_interval(rank_t rank, double at_ns) const noexcept {
        interval first{0x1p+1000, 0x1p+1000};
        const std::uint64_t now = static_cast<std::uint64_t>(at_ns);
        for (std::size_t i = 0; i != from_.daemons.size(); ++i) {
            const noise::daemon& d = from_.daemons[i];
            const std::uint64_t phase =
                d.random_phase ? random_sequence(from_.seed, stream_daemon + i, rank).below(d.period_ns) : d.phase_ns;
            std::uint64_t begin = now < phase ? phase : phase + (now - phase) / d.period_ns * d.period_ns;
            if (static_cast<double>(begin + d.duration_ns) <= at_ns) begin += d.period_ns;
            keep_first(first, begin, d.duration_ns);
        }
        for (std::size_t i = 0; i != from_.interruptions.size(); ++i) {
            const noise::interruption& n = from_.interruptions[i];
            // Look no farther than the earliest interruption known so far.
            for (std::uint64_t window = now / n.window_ns;
                 n.per_1000 != 0 && static_cast<double>(window * n.window_ns) < first.begin_ns; ++window) {
                random_sequence random(from_.seed, stream_interruption + i, std::uint64_t{rank} << 32 ^ window);
                if (random.below(1000) >= n.per_1000) continue;
                const std::uint64_t length = n.min_ns + random.below(n.max_ns - n.min_ns + 1);
                const std::uint64_t begin = window * n.window_ns + random.below(n.window_ns - length + 1);
                if (static_cast<double>(begin + length) <= at_ns) continue;
                keep_first(first, begin, length);
                break;
            }
        }
        return first;
    }
    static constexpr void keep_first(interval& first, std::uint64_t begin, std::uint64_t length) noexcept {
        if (static_cast<double>(begin) < first.begin_ns && length != 0)
            first = {static_cast<double>(begin), static_cast<double>(begin + length)};
    }

    const noise& from_;
    std::vector<char> slow_;
};
using noise_of_ranks = basic_noise_of_ranks<0>;

// When `rank` comes: noise delays it from the time that the model gives.
template <CostModel M, class Noise>
constexpr double arrival_ns(const M& model, const Noise& noise, rank_t rank) {
    return bough::model::arrival_ns(model, rank) + noise.arrival_ns(rank);
}

} // namespace detail

} // namespace bough

#endif
