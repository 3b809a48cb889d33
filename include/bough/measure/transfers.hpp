// SPDX-License-Identifier: BSL-1.0
// measure_transfers times single messages, exchanges and combines between two ranks, and fits an
// alpha_beta_gamma model to the times.
//
//   const auto found = bough::measure_transfers(comm);      // every rank calls it, every rank gets the same values
//   if (!found.fit.error) comm.set_costs(found.fit.model);
//
// Ranks 0 and 1 exchange messages in rounds of these kinds:
//   one_way            a message goes to and fro; half a round trip counts
//   exchange           both ranks send at once
//   exchange_combine   the same, and each combines what has come with what it has sent, by plus on doubles
//   burst              several messages one way, of which only the last is answered
// With three ranks or more that have cores of their own there are two more kinds, which tell what a
// message takes at either end:
//   fan_in             up to eight others send to rank 0 at once
//   fan_out            rank 0 sends to all of them
//
// In the first three kinds each round of a chain sends what the round before has brought, so no
// round begins early. The time of one round is the difference between a long chain and a short one.
// So it does not include what an operation costs before its first message. The messages of bursts
// and fans are parts of one vector; beyond the two shortest sizes they have at most 64 KiB. No
// message is sent from memory that its receiver has read before and nobody has written since, for
// it would come from the receiver's own cache. Medians go into model::fit_alpha_beta_gamma.
//
// The measurement stays within a budget of time if it can: long messages are timed less often, or,
// beyond two sizes, not at all. Every operation has the communicator's deadline.
#ifndef BOUGH_MEASURE_TRANSFERS_HPP
#define BOUGH_MEASURE_TRANSFERS_HPP

#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/communicator.hpp>
#include <bough/core/memory_size.hpp>
#include <bough/model/fit_alpha_beta_gamma.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/tree/flat.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI {

// Which sizes are timed, and for how long.
struct transfer_options {
    // ascending; rounded to whole doubles.
    std::vector<std::uint64_t> bytes{8, 1024, 16384, 131072, 1048576};
    std::uint32_t repetitions = 51;        // at most, for each kind and size
    std::uint64_t budget_ns = 300'000'000; // for everything
};

// The samples, and the model that was fitted to them.
struct transfer_measurement {
    model::alpha_beta_gamma_fit fit{};
    std::vector<model::transfer_sample> samples; // medians
};

namespace detail {

// Whether messages of this kind follow each other without an answer. Each is then another part of
// the vector.
constexpr bool behind_others(model::transfer_kind kind) noexcept {
    using enum model::transfer_kind;
    return kind == burst || kind == fan_in || kind == fan_out;
}

// A chain of rounds of one kind (see above). Ranks beyond `peers` do nothing.
struct transfer_rounds {
    static constexpr std::uint32_t few = 1, many = 9;

    std::uint32_t rounds = few;
    model::transfer_kind kind = model::transfer_kind::one_way;
    rank_t peers = 1; // how many ranks exchange messages with rank 0; more than 1 in a fan

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        if (rank > peers || at.size <= peers) return;
        if (behind_others(kind))
            row(at, rank, out);
        else
            turns({input, 0, at.blocks}, rank, out);
    }
    constexpr block_t natural_blocks(rank_t) const noexcept { return behind_others(kind) ? many : 1; }
    constexpr block_t scratch(const dimensions& at, rank_t rank) const noexcept {
        if (rank > peers || at.size <= peers) return 0;
        return at.blocks * (behind_others(kind) ? peers : kind == model::transfer_kind::exchange_combine ? 3 : 2);
    }
    constexpr status check(const dimensions&) const noexcept { return {}; }
    friend constexpr bool operator==(const transfer_rounds&, const transfer_rounds&) = default;

private:
    constexpr void turns(slice have, rank_t rank, StepSink auto& out) const {
        for (std::uint32_t i = 0; i != rounds; ++i) {
            const slice next = have.in(bough::scratch(i % 2));
            const rank_t other = 1 - rank;
            if (kind == model::transfer_kind::one_way && rank == 1) {
                out.receive(other, next);
                out.send(other, next);
            } else if (kind == model::transfer_kind::exchange_combine) {
                const slice landed = have.in(bough::scratch(2));
                out.send(other, have);
                out.receive(other, landed);
                out.combine(rank == 0 ? have : landed, rank == 0 ? landed : have, next);
            } else {
                out.send(other, have);
                out.receive(other, next);
            }
            have = next;
        }
    }
    // In each round rank 0 sends to each peer, or each peer to rank 0. The last message from rank 0
    // to each peer is answered.
    constexpr void row(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const auto message = [&](rank_t from, rank_t to, const slice& what, const slice& into) {
            if (rank == from) out.send(to, what);
            if (rank == to) out.receive(from, into);
        };
        const bool inwards = kind == model::transfer_kind::fan_in;
        for (std::uint32_t i = 0; i != rounds; ++i)
            for (rank_t peer = 1; peer <= peers; ++peer) {
                const slice part{input, i % at.blocks, 1};
                message(inwards ? peer : 0, inwards ? 0 : peer, part, part.in(bough::scratch(peer - 1)));
            }
        for (rank_t peer = 1; !inwards && peer <= peers; ++peer) {
            const slice last{bough::scratch(peer - 1), (rounds - 1) % at.blocks, 1};
            message(peer, 0, last, last);
        }
    }
};

// The most bytes of a message in a burst or fan. The whole vector should fit into a cache that a
// core has to itself, as the data of a small pipeline does.
inline constexpr std::uint64_t longest_part = 65536;

// With how many ranks beside rank 0 a fan is measured; less than 2: no fan is measured. Not more
// than there are cores, because such ranks would take turns on them.
template <class X>
rank_t fan_peers(communicator<X>& comm) noexcept {
    const rank_t cores = cores_of(comm.transport());
    return std::min<rank_t>(8, std::min(comm.size(), cores) - 1);
}

template <class X>
class transfer_timer {
public:
    transfer_timer(communicator<X>& comm, model::transfer_kind kind, std::uint64_t bytes)
        : comm_(comm), rounds_{1, kind,
                               behind_others(kind) && kind != model::transfer_kind::burst ? fan_peers(comm) : 1},
          each_(std::max<std::uint64_t>(1, bytes / sizeof(double))),
          data_(static_cast<std::size_t>(each_ * rounds_.natural_blocks(comm.size()))), other_(data_.size()) {}

    // A sample without its time, which the caller fills in.
    model::transfer_sample sample() const noexcept { return {rounds_.kind, each_ * sizeof(double), 0, rounds_.peers}; }

    // The time of one round: the median of as many runs as fit into the budget, but at least
    // `least`. 0: no run fitted.
    double round_ns(std::uint32_t most, std::uint32_t least, std::uint64_t budget_ns) {
        const auto once = [&] {
            const double base = chain_ns(transfer_rounds::few);
            const double all = chain_ns(transfer_rounds::many);
            // On a busy machine the short chain may take even longer than the long one.
            const double round = all > base ? (all - base) / (transfer_rounds::many - transfer_rounds::few)
                                            : all / transfer_rounds::many;
            return rounds_.kind == model::transfer_kind::one_way ? round / 2 : round / rounds_.peers;
        };
        const std::uint64_t begin = comm_.transport().now_ns();
        once(); // warms up
        const auto each = static_cast<double>(comm_.transport().now_ns() - begin);
        auto runs =
            static_cast<std::uint32_t>(std::clamp(static_cast<double>(budget_ns) / (each + 1), 0.0, double(most)));
        runs = std::max(runs, least);
        bough::broadcast(comm_, std::span(&runs, 1), root{0}, flat{}); // rank 0 has the clock
        if (runs == 0) return 0;
        std::vector<double> times;
        for (std::uint32_t i = 0; i != runs; ++i) times.push_back(once());
        std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
        return times[runs / 2];
    }

private:
    // The time of one chain; that of rank 0 counts.
    double chain_ns(std::uint32_t rounds) {
        rounds_.rounds = rounds;
        const plan<goal::allreduce, transfer_rounds> timed(rounds_, {.size = comm_.size()});
        const any_op op = make_any_op<double>(plus{});
        // So that it was written since the last run; zeros also stay zero.
        std::fill(data_.begin(), data_.end(), 0.0);
        call c;
        c.input = reinterpret_cast<const std::byte*>(data_.data());
        c.output = reinterpret_cast<std::byte*>(other_.data());
        c.count = data_.size();
        c.element_bytes = sizeof(double);
        c.combine = op.function;
        c.combine_state = op.state;
        call_signature signature;
        signature.count = data_.size();
        throw_if(detail::run_barrier(comm_, dissemination{}));
        const std::uint64_t begin = comm_.transport().now_ns();
        throw_if(comm_.run(timed, c, signature));
        return static_cast<double>(comm_.transport().now_ns() - begin);
    }

    communicator<X>& comm_;
    transfer_rounds rounds_;
    std::uint64_t each_; // elements of a message
    std::vector<double> data_, other_;
};

} // namespace detail

// Collective. Throws bough::error if the group breaks. If the fit lacks something (a second rank),
// fit.error says so.
template <class X>
transfer_measurement measure_transfers(communicator<X>& comm, const transfer_options& options = {}) {
    BOUGH_EXPECTS(options.repetitions >= 1 && options.bytes.size() >= 2,
                  "options: one repetition and two sizes at least");
    transfer_measurement found;
    if (comm.size() < 2) {
        found.fit.error = invalid_argument("ranks: messages need two");
        return found;
    }
    const std::uint64_t longest = *std::max_element(options.bytes.begin(), options.bytes.end());
    if (!detail::fits_memory(detail::capped_product(longest, detail::transfer_rounds::many))) {
        found.fit.error = invalid_argument("bytes: no memory is so long");
        return found;
    }
    std::vector<model::transfer_kind> kinds{model::transfer_kind::one_way, model::transfer_kind::exchange,
                                            model::transfer_kind::burst, model::transfer_kind::exchange_combine};
    if (detail::fan_peers(comm) >= 2)
        kinds.insert(kinds.end(), {model::transfer_kind::fan_in, model::transfer_kind::fan_out});
    const std::uint64_t share = options.budget_ns / (kinds.size() * options.bytes.size());
    for (std::size_t i = 0; i != options.bytes.size(); ++i)
        for (const auto kind : kinds) {
            const bool part = i >= 2 && detail::behind_others(kind);
            detail::transfer_timer<X> timer(comm, kind,
                                            part ? std::min(options.bytes[i], detail::longest_part) : options.bytes[i]);
            found.samples.push_back(timer.sample());
            found.samples.back().ns = timer.round_ns(options.repetitions, i < 2 ? 1 : 0, share);
        }
    std::vector<double> times;
    for (const model::transfer_sample& s : found.samples) times.push_back(s.ns);
    broadcast(comm, std::span(times), root{0}, flat{});
    for (std::size_t i = 0; i != times.size(); ++i) found.samples[i].ns = times[i];
    std::erase_if(found.samples, [](const model::transfer_sample& s) { return !(s.ns > 0); });
    found.fit = model::fit_alpha_beta_gamma(found.samples);
    found.fit.model.early = true; // because a session takes messages in before they are asked for
    return found;
}

} // namespace bough

#endif
