// SPDX-License-Identifier: BSL-1.0
// measure_transfers: single messages, exchanges and combines timed between two ranks, as an alpha_beta_gamma model.
//
//   const auto found = bough::measure_transfers(comm);      // every rank calls it, every rank gets the same values
//   if (!found.fit.error) comm.set_costs(found.fit.model);
//
// Ranks 0 and 1 play: a message to and fro (half a round trip is one_way), and both at once (exchange); each of a chain of
// such rounds sends what the one before has brought, so none begins early. The time of one round is the difference between a
// long chain and a short one, so what an operation costs before its first message is not in it. A burst is a chain in which
// only the last message is answered. With three ranks or more that have cores of their own, up to eight others send to rank 0 at once
// (fan_in), and it to all of them (fan_out): that tells what a message takes at either end. Combines are timed on rank 0
// alone, with plus on doubles. Medians go into model::fit_alpha_beta_gamma.
// Stays within a budget of time where it can: long messages are timed less often, or not at all beyond two sizes. Every
// operation has the communicator's deadline.
#ifndef BOUGH_MEASURE_TRANSFERS_HPP
#define BOUGH_MEASURE_TRANSFERS_HPP

#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/communicator.hpp>
#include <bough/model/fit_alpha_beta_gamma.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/tree/flat.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace bough {

struct transfer_options {
    std::vector<std::uint64_t> bytes{8, 1024, 16384, 131072, 1048576}; // ascending; rounded to whole doubles
    std::uint32_t repetitions = 51;                                    // at most, of each kind and size
    std::uint64_t budget_ns = 300'000'000;                             // for all of it
};

struct transfer_measurement {
    model::alpha_beta_gamma_fit fit{};
    std::vector<model::transfer_sample> samples; // medians
};

namespace detail {

// Rounds between the ranks 0 and 1; the others do nothing. one_way: to and fro; exchange: both at once; burst: to and to, and
// fro once.
struct transfer_rounds {
    std::uint32_t rounds = 1;
    model::transfer_kind kind = model::transfer_kind::one_way;
    rank_t peers = 1; // of rank 0; of a fan more

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        if (rank > peers || at.size <= peers) return;
        slice have{input, 0, at.blocks};
        if (kind == model::transfer_kind::fan_in || kind == model::transfer_kind::fan_out)
            return fan(have, rank, kind == model::transfer_kind::fan_in, out);
        if (kind == model::transfer_kind::burst) {
            for (std::uint32_t i = 0; i != rounds; ++i)
                if (rank == 0)
                    out.send(1, have);
                else
                    out.receive(0, have.in(bough::scratch(i % 2)));
            if (rank == 0)
                out.receive(1, have.in(bough::scratch(0)));
            else
                out.send(0, have.in(bough::scratch((rounds - 1) % 2)));
            return;
        }
        const bool in_turn = kind == model::transfer_kind::one_way;
        for (std::uint32_t i = 0; i != rounds; ++i) {
            const slice landed = have.in(bough::scratch(i % 2));
            if (in_turn && rank == 1) {
                out.receive(0, landed);
                out.send(0, landed);
            } else {
                out.send(1 - rank, have);
                out.receive(1 - rank, landed);
            }
            have = landed;
        }
    }
    constexpr block_t natural_blocks(rank_t) const noexcept { return 1; }
    constexpr block_t scratch(const dimensions& at, rank_t rank) const noexcept {
        return rank > peers || at.size <= peers ? 0
                                                : at.blocks * std::max<block_t>(std::min<block_t>(rounds, 2), peers);
    }
    constexpr status check(const dimensions&) const noexcept { return {}; }
    friend constexpr bool operator==(const transfer_rounds&, const transfer_rounds&) = default;

private:
    // Each peer to rank 0, or rank 0 to each, round after round. Who gets the last message of a fan-out answers it.
    constexpr void fan(const slice& have, rank_t rank, bool inwards, StepSink auto& out) const {
        if (rank == 0) {
            for (std::uint32_t i = 0; i != rounds; ++i)
                for (rank_t peer = 1; peer <= peers; ++peer)
                    if (inwards)
                        out.receive(peer, have.in(bough::scratch(peer - 1)));
                    else
                        out.send(peer, have);
            for (rank_t peer = 1; !inwards && peer <= peers; ++peer)
                out.receive(peer, have.in(bough::scratch(peer - 1)));
        } else {
            for (std::uint32_t i = 0; i != rounds; ++i)
                if (inwards)
                    out.send(0, have);
                else
                    out.receive(0, have.in(bough::scratch(i % 2)));
            if (!inwards) out.send(0, have.in(bough::scratch((rounds - 1) % 2)));
        }
    }
};

// How many ranks a fan is measured with, rank 0 not counted; less than 2: none is. More than there are cores would take turns.
template <class X>
rank_t fan_peers(communicator<X>& comm) noexcept {
    const rank_t cores = cores_of(comm.transport());
    return std::min<rank_t>(8, std::min(comm.size(), cores) - 1);
}

template <class X>
class transfer_timer {
public:
    static constexpr std::uint32_t short_chain = 1, long_chain = 9;

    explicit transfer_timer(communicator<X>& comm, std::uint64_t bytes)
        : comm_(comm), data_(std::max<std::uint64_t>(1, bytes / sizeof(double)), 1.0), other_(data_) {}

    std::uint64_t bytes() const noexcept { return data_.size() * sizeof(double); }

    // Rank 0's clock.
    double chain_ns(std::uint32_t rounds, model::transfer_kind kind) {
        const plan<goal::broadcast, transfer_rounds> timed({rounds, kind, peers_of(kind)}, {.size = comm_.size()});
        call c;
        c.input = reinterpret_cast<const std::byte*>(data_.data());
        c.output = reinterpret_cast<std::byte*>(other_.data());
        c.count = data_.size();
        c.element_bytes = sizeof(double);
        call_signature signature;
        signature.count = data_.size();
        throw_if(detail::run_barrier(comm_, dissemination{}));
        const std::uint64_t begin = comm_.transport().now_ns();
        throw_if(comm_.run(timed, c, signature));
        return static_cast<double>(comm_.transport().now_ns() - begin);
    }
    // One combine, of many: clocks may be coarse.
    double combine_ns() {
        constexpr int many = 16;
        const any_op op = make_any_op<double>(plus{});
        const std::uint64_t begin = comm_.transport().now_ns();
        for (int i = 0; i != many; ++i)
            op(reinterpret_cast<const std::byte*>(data_.data()), reinterpret_cast<const std::byte*>(other_.data()),
               reinterpret_cast<std::byte*>(other_.data()), data_.size());
        return static_cast<double>(comm_.transport().now_ns() - begin) / many;
    }
    // Of one round or combine: the median of as many runs as fit into the budget, at least `least`. 0: none did.
    double sample_ns(model::transfer_kind kind, std::uint32_t most, std::uint32_t least, std::uint64_t budget_ns) {
        const bool local = kind == model::transfer_kind::combine;
        if (local && comm_.rank() != 0) return 0;
        const auto once = [&] {
            if (local) return combine_ns();
            const double base = chain_ns(short_chain, kind);
            const double all = chain_ns(long_chain, kind);
            // On a busy machine the short chain may even take longer.
            const double round = all > base ? (all - base) / (long_chain - short_chain) : all / long_chain;
            return kind == model::transfer_kind::one_way ? round / 2 : round / peers_of(kind);
        };
        const std::uint64_t begin = comm_.transport().now_ns();
        once(); // warms up
        const auto each = static_cast<double>(comm_.transport().now_ns() - begin);
        auto runs =
            static_cast<std::uint32_t>(std::clamp(static_cast<double>(budget_ns) / (each + 1), 0.0, double(most)));
        runs = std::max(runs, least);
        if (!local) bough::broadcast(comm_, std::span(&runs, 1), root{0}, flat{}); // rank 0 has the clock
        if (runs == 0) return 0;
        std::vector<double> times;
        for (std::uint32_t i = 0; i != runs; ++i) times.push_back(once());
        std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
        return times[runs / 2];
    }

    rank_t peers_of(model::transfer_kind kind) const noexcept {
        return kind == model::transfer_kind::fan_in || kind == model::transfer_kind::fan_out ? fan_peers(comm_) : 1;
    }

private:
    communicator<X>& comm_;
    std::vector<double> data_, other_;
};

} // namespace detail

// Collective. Throws bough::error if the group breaks; what the fit lacks (a second rank) is in fit.error.
template <class X>
transfer_measurement measure_transfers(communicator<X>& comm, const transfer_options& options = {}) {
    BOUGH_EXPECTS(options.repetitions >= 1 && options.bytes.size() >= 2,
                  "options: one repetition and two sizes at least");
    transfer_measurement found;
    if (comm.size() < 2) {
        found.fit.error = invalid_argument("ranks: messages need two");
        return found;
    }
    std::vector<model::transfer_kind> kinds{model::transfer_kind::one_way, model::transfer_kind::exchange,
                                            model::transfer_kind::burst, model::transfer_kind::combine};
    if (detail::fan_peers(comm) >= 2)
        kinds.insert(kinds.end(), {model::transfer_kind::fan_in, model::transfer_kind::fan_out});
    const std::uint64_t share = options.budget_ns / (kinds.size() * options.bytes.size());
    for (std::size_t i = 0; i != options.bytes.size(); ++i) {
        detail::transfer_timer<X> timer(comm, options.bytes[i]);
        for (const auto kind : kinds)
            found.samples.push_back({kind, timer.bytes(),
                                     timer.sample_ns(kind, options.repetitions, i < 2 ? 1 : 0, share),
                                     timer.peers_of(kind)});
    }
    std::vector<double> times;
    for (const model::transfer_sample& s : found.samples) times.push_back(s.ns);
    broadcast(comm, std::span(times), root{0}, flat{});
    for (std::size_t i = 0; i != times.size(); ++i) found.samples[i].ns = times[i];
    std::erase_if(found.samples, [](const model::transfer_sample& s) { return !(s.ns > 0); });
    found.fit = model::fit_alpha_beta_gamma(found.samples);
    found.fit.model.early = true; // so it is here: a session takes messages in before they are asked for
    return found;
}

} // namespace bough

#endif
