// SPDX-License-Identifier: BSL-1.0
// bough/session/agreement.hpp and the epochs of bough/session/session.hpp: N ranks agree on who has failed and on a word
// (one bit, combined by and), begin the next epoch, and exchange one call in it.
//
//   N=3           ranks
//   CRASHES=2     how many may crash, each in a broadcast of which any part, none or all is sent. Between two broadcasts a
//                 rank only reads: a crash there looks like one at the end of the former
//   SUSPECT       time may be up at any moment, however alive the others are; without it all reports of loss are true
//   CALLS         the call in the next epoch is part of the model
//   LATE          one scenario of 5 ranks: a decision is still on its way when its sender is already held for failed
//   ONE_WORD      all words are alike: a round less
//   MAJORITY      a rank ends well only when more than half of all have told it the decision that it has made
//   WRONG_...     mutants: one rule is broken
//   WITNESS_OUT   an error that must be found: some run ends with a slow rank that has learned that it is out
//
// Links are first in, first out; a loss is reported after all that the lost rank sent. A broadcast is one step: its sender
// reads nothing in between, and receivers may be as late as they like. So is the end of a round, in which all that the
// rank has heard in it is read: the order within a round makes no difference.
#ifndef N
#define N 3
#endif
#ifndef CRASHES
#define CRASHES 2
#endif

#define one(r) (1 << (r))
#define ALL (one(N) - 1)

#define RUNNING 0
#define DECIDED 1
#define OUT 2     // learned that it was taken for dead: its agreement ended with an error
#define CRASHED 3
#define ENDED 4   // and reads no more

// What a message is: 0, 1, ...: of that round. Its other fields: the failed ranks, the word.
#define DECISION 100
#define CALL 101  // of the next epoch; the failed ranks are those that its sender left behind

chan link[N * N] = [6] of { byte, byte, bit };
#define from_to(a, b) link[(a) * N + (b)]

byte state[N];
byte failed_of[N];     // what the agreement knows: told to the others
byte lost_of[N];       // what the session knows: lost links, suspects
byte decided_failed[N];
bit decided_word[N];
byte crashes;
#define failed failed_of[me]
#define lost lost_of[me]

#if defined(LATE) || defined(ONE_WORD)
#define first_word(r) 1
#else
#define first_word(r) ((r) != N - 1)
#endif

// Whose messages say nothing to rank r any more. They are not even sent here: fewer states.
#if defined(WRONG_DECISION_FROM_FAILED)
#define is_ignored_by(r, sender, what) (what != DECISION && (failed_of[r] & one(sender)))
#elif defined(WRONG_SUSPECT_HEARD)
#define is_ignored_by(r, sender, what) (what != CALL && ((lost_of[r] | failed_of[r]) & one(sender)))
#else
#define is_ignored_by(r, sender, what) ((lost_of[r] & one(sender)) || (what != CALL && (failed_of[r] & one(sender))))
#endif
#if defined(CALLS) || defined(MAJORITY)
#define has_left(r) (state[r] >= OUT)
#else
#define has_left(r) (state[r] != RUNNING)
#endif

inline broadcast(kind, targets) {
#ifdef LATE
    reached = targets;
    if
    :: me == 4 && kind == 0 -> dying = true; reached = one(0)
    :: me == 0 && kind == DECISION -> dying = true; reached = one(1)
    :: me == 1 && kind == DECISION -> dying = true; reached = one(0) | one(2)
    :: else
    fi;
#else
    if
    :: true
    :: crashes < CRASHES -> crashes++; dying = true
    fi;
#endif
    k = 0;
    do
    :: k < N ->
        if
        :: ((targets) & one(k)) == 0 || has_left(k) || is_ignored_by(k, me, kind)
#ifdef LATE
        :: else -> if :: reached & one(k) -> from_to(me, k) ! kind, failed, word :: else fi
#else
        :: else ->
            assert(nfull(from_to(me, k)));
            if
            :: from_to(me, k) ! kind, failed, word
            :: dying
            fi
#endif
        fi;
        k++
    :: else -> break
    od;
    k = 0;
    if
    :: dying -> goto crash
    :: else
    fi
}

inline drain(sender) {
    do
    :: nempty(from_to(sender, me)) -> from_to(sender, me) ? _, _, _
    :: empty(from_to(sender, me)) -> break
    od
}

inline begin_round() {
    failed = failed | lost;
    broadcast(round, ALL & ~failed & ~one(me))
}

#define has_decision(r) (r != me && !is_ignored_by(me, r, DECISION) && from_to(r, me) ?? [DECISION, _, _])
#define has_message(r) (from_to(r, me) ? [eval(round), _, _])
#define is_reported_lost(r) (state[r] == CRASHED && empty(from_to(r, me)))
#ifdef SUSPECT
#define is_given_up(r) true
#else
#define is_given_up(r) is_reported_lost(r)
#endif
#define is_settled(r) (r == me || (failed & one(r)) || (lost & one(r)) || has_message(r) || is_given_up(r))

#if N == 2
#define all_settled (is_settled(0) && is_settled(1))
#elif N == 3
#define all_settled (is_settled(0) && is_settled(1) && is_settled(2))
#elif N == 4
#define all_settled (is_settled(0) && is_settled(1) && is_settled(2) && is_settled(3))
#else
#define all_settled (is_settled(0) && is_settled(1) && is_settled(2) && is_settled(3) && is_settled(4))
#endif

// Everybody not failed has said something in this round, or is lost.
inline end_round() {
    next_failed = failed; next_word = word; same = true; k = 0;
    do
    :: k < N ->
        if
        :: k == me || (failed & one(k))
        :: k != me && (failed & one(k)) == 0 && has_message(k) ->
            from_to(k, me) ? _, said, its_word;
#ifdef WRONG_FAILED_NOT_MERGED
            same = same && its_word == word;
#else
            same = same && said == failed && its_word == word;
            next_failed = next_failed | said;
#endif
            next_word = next_word & its_word;
            if // its loss may be known already, and what it sent for the next round is read in vain
            :: true
            :: state[k] == CRASHED && !(from_to(k, me) ?? [DECISION, _, _]) -> lost = lost | one(k); drain(k)
            fi
        :: k != me && (failed & one(k)) == 0 && is_given_up(k) -> // SUSPECT: whatever is on its way
            next_failed = next_failed | one(k);
            lost = lost | one(k);
#ifndef WRONG_DECISION_FROM_FAILED
            drain(k)
#endif
        fi;
        k++
    :: else -> break
    od;
    k = 0; said = 0; its_word = 0
}

// Who ends with a decision has the same one as anybody else who did, unless one of the two holds the other for failed.
inline check_decision() {
    assert(!word || (failed & one(N - 1)) || first_word(N - 1)); // no survivor's word is missing
    k = 0;
    do
    :: k < N ->
#ifndef SUSPECT
        assert((failed & one(k)) == 0 || state[k] == CRASHED);
#endif
        if
        :: state[k] == DECIDED || state[k] == ENDED ->
            assert((failed == decided_failed[k] && word == decided_word[k])
#ifdef SUSPECT
                   || (failed & one(k)) || (decided_failed[k] & one(me))
#endif
            )
        :: else
        fi;
        k++
    :: else -> break
    od;
    k = 0;
    decided_failed[me] = failed;
    decided_word[me] = word;
    state[me] = DECIDED
}

#define adopt(r) \
    :: atomic { \
            has_decision(r) -> from_to(r, me) ?? DECISION, said, its_word; \
            if \
            :: said & one(me) -> said = 0; its_word = 0; goto out \
            :: else -> failed = said; word = its_word; said = 0; its_word = 0 \
            fi; \
            heard_from(r); \
            goto adopted \
       }
#ifdef MAJORITY
#define heard_from(r) settled = one(r); votes++
#else
#define heard_from(r) skip
#endif

#define is_vote (said == failed && its_word == word)
// It has decided. Rounds do not matter to it any more.
#define vote(r) \
    :: atomic { \
            has_decision(r) && ((settled | failed) & one(r)) == 0 -> \
            from_to(r, me) ?? DECISION, said, its_word; \
            settled = settled | one(r); \
            if \
            :: said & one(me) -> said = 0; its_word = 0; goto out \
            :: (said & one(me)) == 0 && is_vote -> votes++ \
            :: (said & one(me)) == 0 && !is_vote \
            fi; \
            said = 0; its_word = 0 \
       } \
    :: atomic { \
            r != me && ((settled | failed) & one(r)) == 0 && !has_decision(r) && will_not_vote(r) -> \
            settled = settled | one(r) \
       }
#ifdef SUSPECT
#define will_not_vote(r) true
#else
#define will_not_vote(r) (state[r] == CRASHED)
#endif
#ifdef WRONG_HALF
#define is_majority(n) (2 * (n) >= N)
#else
#define is_majority(n) (2 * (n) > N)
#endif
#ifdef WRONG_NEWER_EPOCH_DROPPED
#define drop_newer(r) :: atomic { r != me && from_to(r, me) ?? [CALL, _, _] -> from_to(r, me) ?? CALL, _, _ }
#else
#define drop_newer(r) // kept on its link until the epoch begins here
#endif

#define has_call(r) (from_to(r, me) ?? [CALL, _, _])

proctype rank(byte me) {
    byte next_failed, round, said, what, k;
    bit word, next_word, same, dying, its_word;
#ifdef MAJORITY
    byte settled, votes = 1; // who has told its decision or never will; who has the same as this rank, which has its own
#endif
#ifdef LATE
    byte reached;
#endif

    atomic { word = first_word(me); begin_round() }
    do
    adopt(0)
    adopt(1)
    drop_newer(0)
    drop_newer(1)
#if N > 2
    adopt(2)
    drop_newer(2)
#endif
#if N > 3
    adopt(3)
    drop_newer(3)
#endif
#if N > 4
    adopt(4)
#endif
    :: atomic {
            all_settled -> end_round();
            if
#ifdef WRONG_NEWLY_LOST
            :: same && next_word == word -> goto decide
#else
            :: same && next_word == word && next_failed == failed -> goto decide
#endif
            :: else
            fi;
            failed = next_failed; word = next_word; next_failed = 0; next_word = 0; same = 0;
            round++;
            begin_round()
       }
    od;

adopted:
#ifdef WRONG_NOT_PASSED_ON
    atomic { goto decided }
#endif
decide:
    atomic {
        next_failed = 0; next_word = 0; same = 0; round = 0;
#if defined(WRONG_DECIDES_WITHOUT_TELLING)
        skip;
#elif defined(WRONG_SLOW_NOT_TOLD)
        broadcast(DECISION, ALL & ~failed & ~one(me));
#else
        broadcast(DECISION, ALL & ~one(me)); // the failed, too: one that was only slow learns that it is out
#endif
decided:
        check_decision()
    }
#ifdef MAJORITY
#ifdef WRONG_NO_VOTES
    atomic { // as many as it holds for alive
        votes = 0; k = 0;
        do
        :: k < N -> votes = votes + ((failed & one(k)) == 0); k++
        :: else -> break
        od;
        k = 0; settled = ALL
    }
#endif
    do
    :: atomic { is_majority(votes) -> break }
    :: atomic {
            !is_majority(votes) && ((settled | failed | one(me)) == ALL) ->
#ifndef SUSPECT
            assert(crashes != 0);
#endif
            goto out
       }
    vote(0)
    vote(1)
#if N > 2
    vote(2)
#endif
#if N > 3
    vote(3)
#endif
    od;
    atomic { // no two end well with different decisions, whoever holds whom for failed
        votes = 0; k = 0;
        do
        :: k < N ->
            votes = votes + ((failed & one(k)) == 0);
            assert(state[k] != ENDED || (failed == decided_failed[k] && word == decided_word[k]));
            k++
        :: else -> break
        od;
        assert(is_majority(votes));
        k = 0; votes = 0; settled = 0;
        state[me] = ENDED
    }
#endif
#ifdef CALLS
    atomic {
#ifdef WRONG_SUSPECT_HEARD
        lost = 0;
#else
        lost = lost | failed;
#endif
        broadcast(CALL, ALL & ~failed & ~one(me));
    }
    do
    :: atomic { // one that is in this epoch here has called, or is lost
            k != me && k < N && (lost & one(k)) == 0 && nempty(from_to(k, me)) ->
            from_to(k, me) ? what, said, _;
            if
            :: what == CALL -> assert(said == failed); k++ // its sender left the same ranks behind
#ifdef WRONG_OLD_EPOCH_ACCEPTED
            :: what != CALL -> assert(what == CALL)
#else
            :: what != CALL // of the old epoch
#endif
            fi;
            what = 0; said = 0
       }
    :: atomic { k < N && (k == me || (lost & one(k)) || (failed & one(k)) && empty(from_to(k, me)) || is_given_up(k)) -> k++ }
    :: k == N -> break
    od;
#endif
    atomic { state[me] = ENDED; goto gone }
out:
    atomic {
#ifdef WITNESS_OUT
        assert(false);
#endif
        state[me] = OUT; goto gone
    }
crash:
    atomic { state[me] = CRASHED }
gone:
    skip;
    d_step { // what is still on its way to this rank concerns nobody
        k = 0;
        do
        :: k < N -> drain(k); k++
        :: else -> break
        od;
        k = 0; failed = 0; lost = 0; word = 0; dying = 0;
#ifdef MAJORITY
        votes = 0; settled = 0
#endif
    }
}

init {
    atomic {
        byte r;
        do
        :: r < N -> run rank(r); r++
        :: else -> break
        od
    }
}
