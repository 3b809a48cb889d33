// SPDX-License-Identifier: BSL-1.0
// The carrier of the walk: takes messages from their senders to their receivers, and says when they are
// there, by the rules of the model for ports and rendezvous (bough/model/walk.hpp).
//
// It has the positions of the ranks, as it wakes those that wait for what it brings. Under a model without
// ports and rendezvous a message that its receiver waits for is handed to that rank at once. Otherwise it
// lies in the mailbox until its receiver asks for it.
#ifndef BOUGH_MODEL_DETAIL_CARRIER_HPP
#define BOUGH_MODEL_DETAIL_CARRIER_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/core/config.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>
#include <bough/model/detail/mailbox.hpp>
#include <bough/model/detail/ports.hpp>
#include <bough/model/detail/positions.hpp>
#include <bough/model/detail/unbegun.hpp>
#include <bough/model/folded_ranks.hpp>
#include <bough/model/rendezvous.hpp>

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::model::detail {

// MayFold: only some ranks may be visited (visited_ranks).
template <CostModel M, bool MayFold>
class carrier {
    static constexpr bool ported = PortedCostModel<M>;
    using letter =
        std::conditional_t<ported, port_letter, std::conditional_t<has_rendezvous_v<M>, plain_letter, double>>;

public:
    static constexpr bool meets = has_rendezvous_v<M>;
    static constexpr bool hands = !ported && !meets; // a message to the rank that waits for it

    constexpr carrier(const M& model, const visited_ranks<MayFold>& visited, rank_t ranks)
        : model_(model), visited_(visited), ranks_(ranks), mail_(ranks) {
        if constexpr (ported) ports_ = bough::detail::plain_list<ports>(ranks, ports{});
    }

    constexpr positions& ranks() noexcept { return ranks_; }
    constexpr const positions& ranks() const noexcept { return ranks_; }

    // A message for which its sender has done its part at `at_ns`.
    BOUGH_ALWAYS_INLINE constexpr void send(rank_t from, rank_t to, std::uint64_t bytes, double at_ns) {
        if constexpr (ported) {
            hand_over(from, false);
            ports& mine = ports_[from];
            mine.to = to, mine.bytes = bytes, mine.ready_ns = at_ns, mine.sent_last = true;
            mine.answers = mine.got_from == to ? mine.got : 0;
            ++mine.sends;
        } else if constexpr (meets) {
            if (waits(from, to, bytes)) return line_up(from, {{at_ns}, bytes, to});
            post(from, {{at_ns}, bytes, to});
        } else {
            const double there_ns = at_ns + model_.latency_ns(from, to, bytes);
            const channel on = visited_.channel_of(from, to);
            if (!ranks_.awaits(on.to, on.from)) return mail_.put(on.from, on.to, there_ns);
            if (ranks_[on.to].clock_ns < there_ns) ranks_[on.to].clock_ns = there_ns;
            ranks_.wake(on.to, positions::handed);
        }
    }
    // A rank has come to the receive of its next message from this peer, at `clock_ns`. False: the message
    // has not been sent yet. Otherwise `clock_ns` is when it is there.
    BOUGH_ALWAYS_INLINE constexpr bool receive(rank_t from, rank_t to, std::uint64_t bytes, double& clock_ns) {
        if constexpr (ported) hand_over(to, true);
        letter message{};
        if (!mail_.take(from, to, message)) return false;
        if constexpr (hands) {
            if (clock_ns < message) clock_ns = message;
        } else {
            double begin_ns = message.there_ns;
            if constexpr (meets)
                if (message.announced) begin_ns = meet(from, begin_ns, clock_ns);
            if constexpr (ported) begin_ns = through_port(from, to, bytes, message, begin_ns, clock_ns);
            if (clock_ns < begin_ns) clock_ns = begin_ns;
        }
        return true;
    }
    // A rank has run all its steps at `clock_ns`. False: it waits until its messages have begun. Otherwise
    // `clock_ns` is when it ends.
    BOUGH_ALWAYS_INLINE constexpr bool end(rank_t rank, double& clock_ns) {
        if constexpr (ported) hand_over(rank, false);
        if constexpr (meets)
            if (!outboxes_.empty()) {
                const unbegun_messages<letter>& sent = outboxes_[rank];
                if (!sent.empty()) return false;
                if (clock_ns < sent.there_ns) clock_ns = sent.there_ns;
            }
        return true;
    }
    // The rank for which a rank waits that has run all its steps. Pre: end() was false.
    constexpr rank_t receiver_of_next(rank_t rank) const noexcept { return outboxes_[rank].front().to; }

private:
    // --- ports ---

    // Hands the last send of a rank to its out port, now that it is known what comes after it.
    constexpr void hand_over(rank_t from, bool then_receives) {
        ports& mine = ports_[from];
        if (mine.to == no_rank) return;
        const rank_t to = std::exchange(mine.to, no_rank);
        if constexpr (meets)
            if (waits(from, to, mine.bytes))
                return line_up(from, {{mine.ready_ns, mine.sends, mine.answers, then_receives}, mine.bytes, to});
        const double begin_ns = mine.ready_ns < mine.out_free_ns ? mine.out_free_ns : mine.ready_ns;
        mine.out_free_ns = begin_ns + model_.port_ns(from, to, mine.bytes, then_receives);
        const double there_ns = begin_ns + model_.latency_ns(from, to, mine.bytes);
        deliver(from, to, {there_ns, mine.sends, mine.answers, then_receives});
    }
    // A message comes through an in port, at which it is since `begin_ns`. Returns when it is through.
    constexpr double through_port(rank_t from, rank_t to, std::uint64_t bytes, const port_letter& message,
                                  double begin_ns, double clock_ns) {
        ports& mine = ports_[to];
        const bool duplex =
            std::exchange(mine.sent_last, false) && message.then_receives && message.answers != mine.sends;
        mine.got_from = from, mine.got = message.number;
        if (begin_ns < mine.in_free_ns) begin_ns = mine.in_free_ns;
        if (begin_ns < clock_ns && !model_.lands_early()) begin_ns = clock_ns;
        return mine.in_free_ns = begin_ns + model_.port_ns(from, to, bytes, duplex);
    }
    // Lays a message, or the notice of one, into the mailbox.
    constexpr void deliver(rank_t from, rank_t to, const letter& message) {
        const channel on = visited_.channel_of(from, to);
        mail_.put(on.from, on.to, message);
        if (ranks_.awaits(on.to, on.from)) ranks_.wake(on.to, no_rank);
    }

    // --- rendezvous ---

    // Is this message a rendezvous, or behind one?
    constexpr bool waits(rank_t from, rank_t to, std::uint64_t bytes) const {
        return bytes > eager_bytes(model_, from, to) || (!outboxes_.empty() && !outboxes_[from].empty());
    }
    BOUGH_COLD constexpr void line_up(rank_t from, const sent_message<letter>& sent) {
        sent_message<letter> m = sent;
        m.letter.announced = m.bytes > eager_bytes(model_, from, m.to);
        if (outboxes_.empty())
            outboxes_ = std::vector<unbegun_messages<letter>>(ranks_.size(), unbegun_messages<letter>{});
        const bool others = !outboxes_[from].empty();
        outboxes_[from].add(m);
        if (!others) post(from, m);
    }
    // Nothing is before this message: it begins, or, if it is a rendezvous, its notice goes out.
    constexpr void post(rank_t from, sent_message<letter> m) {
        m.letter.there_ns = m.letter.announced ? m.letter.there_ns + model_.latency_ns(from, m.to, 0)
                                               : begin(from, m, m.letter.there_ns);
        deliver(from, m.to, m.letter);
    }
    // A message begins when those before it have, and not before `at_ns`. Returns when it is there.
    constexpr double begin(rank_t from, const sent_message<letter>& m, double at_ns) {
        double never = 0;
        double* free_ns = &never;
        if constexpr (ported)
            free_ns = &ports_[from].out_free_ns;
        else if (!outboxes_.empty())
            free_ns = &outboxes_[from].begun_ns;
        if (*free_ns < at_ns) *free_ns = at_ns;
        const double there_ns = *free_ns + model_.latency_ns(from, m.to, m.bytes);
        if constexpr (ported) *free_ns += model_.port_ns(from, m.to, m.bytes, m.letter.then_receives);
        return there_ns;
    }
    // The receiver of the rendezvous at the head of the outbox has been at it since `at_ns`, and its
    // notice came at `notice_ns`. Returns when the message is there.
    BOUGH_COLD constexpr double meet(rank_t from, double notice_ns, double at_ns) {
        from = visited_.stands_for(from);
        unbegun_messages<letter>& sent = outboxes_[from];
        const sent_message<letter> m = sent.take();
        const double both_ns = notice_ns < at_ns ? at_ns : notice_ns;
        const double there_ns = begin(from, m, both_ns + model_.latency_ns(m.to, from, 0));
        if (sent.there_ns < there_ns) sent.there_ns = there_ns;
        while (!sent.empty()) {
            if (sent.front().letter.announced) return post(from, sent.front()), there_ns;
            post(from, sent.take());
        }
        if (ranks_.awaits(from, positions::itself)) ranks_.wake(from, positions::itself);
        return there_ns;
    }

    const M& model_;
    visited_ranks<MayFold> visited_;
    positions ranks_;
    mailbox<letter> mail_;
    bough::detail::plain_list<ports> ports_;         // by rank, for a ported model
    std::vector<unbegun_messages<letter>> outboxes_; // by rank; made when the first rendezvous is sent
};

} // namespace bough::model::detail

#endif
