// SPDX-License-Identifier: BSL-1.0
// late_ranks: the operations of a session that are done in memory which all ranks see, by the rank
// that comes last (late_places.hpp).
//
// They are operations in flight like others: with a number, a deadline, and an error when the group
// breaks. What differs is that no message moves them on. So each poll looks at the memory, at one word
// for each of them. This class needs the operations in flight, failure and disputes, control to ask a
// peer, and the transport to wake peers.
#ifndef BOUGH_SESSION_LATE_RANKS_HPP
#define BOUGH_SESSION_LATE_RANKS_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/session/contexts.hpp>
#include <bough/session/control.hpp>
#include <bough/session/disputes.hpp>
#include <bough/session/failure.hpp>
#include <bough/session/in_flight.hpp>
#include <bough/session/late_places.hpp>
#include <bough/session/mismatch.hpp>
#include <bough/session/operation.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

template <Transport T>
class late_ranks {
public:
    late_ranks(T& transport, control<T>& control, in_flight<T>& flight, failure<T>& failure, disputes<T>& disputes)
        : transport_(transport), control_(control), flight_(flight), failure_(failure), disputes_(disputes) {
        if constexpr (SharesMemory<T>) posts_.reserve(16);
    }
    late_ranks(const late_ranks&) = delete;
    late_ranks& operator=(const late_ranks&) = delete;

    bool empty() const noexcept { return posts_.empty(); }
    // An operation starts. end(op): it ends well. Pre: it is in flight, and `part` has places.
    template <class F>
    void start(session_operation& op, const late_part& part, const F& end) {
        op.late_ = part;
        op.late_.number = part.places->next();
        op.work_->skip_messages();
        posts_.push_back(in_flight<T>::post_id(op, 0));
        if (go_on(op, end)) posts_.pop_back();
    }
    // Does all that can be done now. True: something was done.
    template <class F>
    bool look(const F& end) {
        std::size_t kept = 0;
        bool moved = false;
        for (std::size_t i = 0; i != posts_.size(); ++i) {
            session_operation* op = flight_.find_post(posts_[i]); // null: it has ended
            const bool has_entered = op != nullptr && op->late_.entered;
            const bool is_over = op == nullptr || op->result_ || go_on(*op, end);
            moved |= is_over || has_entered != op->late_.entered;
            if (!is_over) posts_[kept++] = posts_[i];
        }
        posts_.resize(kept);
        return moved;
    }
    // The number of a communicator is free again: the next one that has it finds its places as new.
    // Pre: this rank was its first one, and no member is at work in them.
    void forget(std::uint16_t context) noexcept {
        if constexpr (SharesMemory<T>) {
            const auto at = late_places::where(context, transport_.size(), transport_.common_bytes());
            if (at.most_bytes != 0) late_places::clear(transport_.common(transport_.rank(), at.offset, at.bytes));
        }
    }

private:
    // True: it has ended.
    template <class F>
    bool go_on(session_operation& op, const F& end) {
        if (!op.late_.entered && !enter(op)) return op.done_;
        // Until a dispute is settled, none ends well.
        if (failure_.is_disputed(op) || op.result_) return op.done_;
        if (op.late_.gets() && !collect(op)) return false;
        end(op);
        return true;
    }
    // Does this rank's part. False: it is not this operation's turn, or it failed.
    bool enter(session_operation& op) {
        late_part& late = op.late_;
        late_places& places = *late.places;
        if (late.disputed || late.number != places.entered() || !places.is_turn(late.number)) return false;
        rank_t peer = no_rank;
        late_places::outcome came = late_places::outcome::left;
        const auto combine = [&late](const std::byte* lower, const std::byte* upper, std::byte* out) {
            late.combine(lower, upper, out, late.bytes);
        };
        failure_.guarded(op, [&] {
            came = places.contribute(late.number, op.signature_, op.tag_.operation,
                                     {late.in, static_cast<std::size_t>(late.bytes)}, peer, combine);
        });
        if (op.result_) return false;
        if (came == late_places::outcome::mismatch) {
            late.disputed = true;
            failure_.sheltered([&] { differs(op, peer); });
            return false;
        }
        late.entered = true;
        if (came == late_places::outcome::completed)
            for (rank_t r = 0; r != places.size(); ++r)
                if (late.root == no_rank || late.root == r) wake(places, r);
        return true;
    }
    // Another rank has made another call in this place.
    BOUGH_COLD void differs(session_operation& op, rank_t rank) {
        const late_places& places = *op.late_.places;
        const envelope& mine = op.tag_;
        if (rank >= places.size())
            return failure_.break_communicator(mine.context,
                                               {.code = errc::protocol_error, .operation = mine.operation});
        const rank_t peer = places.world_rank(rank);
        const late_places::call_made theirs = places.call_of(op.late_.number, rank);
        if (theirs.operation == mine.operation)
            return failure_.break_communicator(mine.context,
                                               call_mismatch(op.signature_, theirs.signature, peer, mine.operation));
        event said; // as if a message of its call had come
        said.peer = peer;
        said.envelope = mine;
        said.envelope.segment = 0;
        said.envelope.operation = theirs.operation;
        sign(said.envelope, theirs.signature);
        if (contexts::before(mine.operation,
                             theirs.operation)) // it has made another call of this number, or refused it
            control_.send(peer, inquiry_segment, mine, {});
        else if (failure_.has_refused(said.envelope))
            failure_.meets_refused(said.envelope);
        else
            disputes_.heard(flight_.find(said.envelope), said);
    }
    // Takes the result out. False: it is not there yet.
    bool collect(session_operation& op) {
        const late_part& late = op.late_;
        late_places& places = *late.places;
        if (!places.is_done(late.number)) return false;
        if (late.bytes != 0) std::memcpy(late.out, places.result(late.number), static_cast<std::size_t>(late.bytes));
        if (places.release(late.number, late.readers()))
            for (rank_t r = 0; r != places.size(); ++r)
                if (places.wants_turn(r)) wake(places, r);
        return true;
    }
    void wake(const late_places& places, rank_t r) {
        if constexpr (SharesMemory<T>)
            if (r != places.rank()) transport_.wake(places.world_rank(r));
    }

    T& transport_;
    control<T>& control_;
    in_flight<T>& flight_;
    failure<T>& failure_;
    disputes<T>& disputes_;
    plain_list<std::uint64_t> posts_; // of each, the id that a post of it would have
};

} // namespace bough::detail

#endif
