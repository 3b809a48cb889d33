// SPDX-License-Identifier: BSL-1.0
// bough/execute/agreement.hpp and the epochs of bough/execute/session.hpp: N ranks agree on who has failed and on a word
// (one bit, combined by and), begin the next epoch, and exchange one call in it.
//
//   N=3           ranks                         CRASHES=2     how many may crash, anywhere, in a broadcast too
//   SUSPECT       time may be up at any moment, however alive the others are; without it all reports of loss are true
//   CALLS         the call in the next epoch is part of the model
//   LATE          one scenario of 5 ranks: a passed-on decision is still on its way when its sender is held for failed
//   WRONG_...     mutants: one rule is broken
//
// Links are first in, first out; a loss is reported after all that the lost rank sent. A broadcast is one step here: its
// sender reads nothing in between, and a receiver may be as late as it likes. A crash in it loses any part of it.
#ifndef N
#define N 3
#endif
#ifndef CRASHES
#define CRASHES 2
#endif
#define LENGTH 5

#define one(r) (1 << (r))
#define ALL (one(N) - 1)
#define RUNNING 0
#define DECIDED 1
#define OUT 2     // learned that it was taken for dead: its agreement ended with an error
#define CRASHED 3
#define ENDED 4   // and reads no more

// What a message is: 0, 1, ...: of that round. Its other fields: the failed ranks, the word.
#define DECISION 100
#define CALL 200  // of the next epoch; the failed ranks are those of the epoch that its sender lives in

chan link[N * N] = [LENGTH] of { byte, byte, bit };
#define from_to(a, b) link[(a) * N + (b)]

byte state[N];
byte failed_of[N], lost_of[N];
#define failed failed_of[me]
#define lost lost_of[me]
byte decided_failed[N];
bit decided_word[N];
byte crashes;

#ifdef LATE
#define word_of(r) 1
#else
#define word_of(r) ((r) != N - 1)
#endif

// Whom a message of this rank does not concern any more: it is not sent, which keeps the number of states small.
#ifdef CALLS
#define reads_no_more(r) (state[r] == CRASHED || state[r] == ENDED || state[r] == OUT)
#else
#define reads_no_more(r) (state[r] != RUNNING)
#endif
#ifdef WRONG_DECISION_FROM_FAILED
#define is_ignored(r) false
#define is_deaf(r, what) reads_no_more(r)
#else
#define is_ignored(r) (failed & one(r))
#define is_deaf(r, what) (reads_no_more(r) || (lost_of[r] & one(me)) || (what <= DECISION && (failed_of[r] & one(me))))
#endif

// Sends to `targets`; may crash there, with any part of it sent.
inline broadcast(what, failed_ranks, the_word, targets) {
    dying = false;
#ifdef LATE
    reached = targets;
    if
    :: me == 4 && what == 0 -> dying = true; reached = one(0)
    :: me == 0 && what == DECISION -> dying = true; reached = one(1)
    :: me == 1 && what == DECISION -> dying = true; reached = one(0) | one(2)
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
        :: ((targets) & one(k)) == 0 || is_deaf(k, what)
#ifdef LATE
        :: else ->
            if
            :: reached & one(k) -> from_to(me, k) ! what, failed_ranks, the_word
            :: else
            fi
#else
        :: else ->
            assert(nfull(from_to(me, k)));
            if
            :: from_to(me, k) ! what, failed_ranks, the_word
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

// A message of this round.
inline count(sender, its_failed, its_word) {
    heard = heard | one(sender);
    same = same && its_word == word && its_failed == failed;
    next_word = next_word & its_word;
#ifndef WRONG_FAILED_NOT_MERGED
    next_failed = next_failed | its_failed
#endif
}

inline begin_round() {
    failed = failed | lost;
    next_failed = failed;
    next_word = word;
    heard = one(me);
    same = true;
    broadcast(round, failed, word, ALL & ~failed & ~one(me));
    k = 0;
    do // messages of this round that came before it
    :: k < N ->
        if
        :: ahead & one(k) ->
            ahead = ahead & ~one(k);
            if
            :: (failed & one(k)) == 0 -> count(k, ahead_failed[k], ahead_word[k])
            :: else
            fi;
            ahead_failed[k] = 0; ahead_word[k] = 0
        :: else
        fi;
        k++
    :: else -> break
    od;
    k = 0
}

// The property: whoever ends with a decision has the same one, unless it holds the other for failed (or is held by it).
inline check_decision() {
    assert(!word || (failed & one(N - 1)) || word_of(N - 1)); // the right value: no survivor's word is missing
#ifdef LATE
    assert(word == 1);
#endif
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

// What session::handle() and arrived() do with a message of the next epoch, once that has begun.
inline take_call(sender, its_failed) {
    assert(its_failed == failed); // its sender lives in the same group
    heard = heard | one(sender)
}

#define receive(r) :: r != me && nempty(from_to(r, me)) -> from_to(r, me) ? what, said, its_word; sender = r
// The transport reports a loss, after everything that came from there.
#define notice(r) \
    :: atomic { r != me && (lost & one(r)) == 0 && state[r] == CRASHED && empty(from_to(r, me)) -> \
                lost = lost | one(r) }

proctype rank(byte me) {
    byte next_failed, heard, round, ahead;
    byte ahead_failed[N];
    bit ahead_word[N];
#ifdef CALLS
    byte kept, kept_failed[N];
#endif
    bit word, next_word, same, dying, its_word;
    byte what, said, sender, k;
#ifdef LATE
    byte reached;
#endif

    atomic { word = word_of(me); begin_round() }
    do
    :: atomic {
            if
            receive(0)
            receive(1)
            receive(2)
#if N > 3
            receive(3)
#endif
#if N > 4
            receive(4)
#endif
            fi;
            if
#ifdef CALLS
            :: what == CALL ->
#ifndef WRONG_NEWER_EPOCH_DROPPED
                kept = kept | one(sender); kept_failed[sender] = said
#else
                skip
#endif
#endif
            :: what != CALL && is_ignored(sender)
            :: what == DECISION && !is_ignored(sender) ->
                if
                :: said & one(me) -> said = 0; what = 0; sender = 0; goto out
                :: else -> failed = said; word = its_word; said = 0; what = 0; sender = 0; goto adopt
                fi
            :: what < round && !is_ignored(sender)
            :: what == round && !is_ignored(sender) ->
                if
                :: failed & one(sender)
                :: else -> count(sender, said, its_word)
                fi
            :: what > round && what < DECISION && !is_ignored(sender) ->
                assert(what == round + 1 && (ahead & one(sender)) == 0);
                ahead = ahead | one(sender); ahead_failed[sender] = said; ahead_word[sender] = its_word
            fi;
            what = 0; said = 0; sender = 0; its_word = 0
       }
    notice(0)
    notice(1)
    notice(2)
#if N > 3
    notice(3)
#endif
#if N > 4
    notice(4)
#endif
#ifdef SUSPECT
    :: atomic { ((heard | failed | lost) & ALL) != ALL -> lost = lost | (ALL & ~heard & ~failed) }
#endif
    :: atomic {
            ((heard | failed | lost) & ALL) == ALL ->
            next_failed = next_failed | (lost & ~heard);
            if
#ifdef WRONG_NEWLY_LOST
            :: same && next_word == word -> goto decide
            :: else ->
#else
            :: same && next_failed == failed && next_word == word -> goto decide
            :: else ->
#endif
                failed = next_failed; word = next_word; round++;
                begin_round()
            fi
       }
#if !defined(LATE)
    :: atomic { crashes < CRASHES -> crashes++; goto crash }
#endif
    od;

adopt:
#ifdef WRONG_NOT_PASSED_ON
    atomic { goto decided }
#endif
decide:
    atomic {
#ifndef WRONG_DECIDES_WITHOUT_TELLING
#ifdef WRONG_SLOW_NOT_TOLD
        broadcast(DECISION, failed, word, ALL & ~failed & ~one(me));
#else
        broadcast(DECISION, failed, word, ALL & ~one(me));
#endif
#endif
decided:
        check_decision();
        next_failed = 0; next_word = 0; same = 0; ahead = 0; round = 0; heard = one(me)
    }
#ifdef CALLS
    atomic {
#ifndef WRONG_SUSPECT_HEARD
        lost = lost | failed;
#endif
        broadcast(CALL, failed, 0, ALL & ~failed & ~one(me));
        k = 0;
        do
        :: k < N ->
            if
            :: (kept & one(k)) && (lost & one(k)) == 0 -> take_call(k, kept_failed[k])
            :: else
            fi;
            kept_failed[k] = 0;
            k++
        :: else -> break
        od;
        k = 0; kept = 0
    }
    do
    :: atomic {
            if
            receive(0)
            receive(1)
            receive(2)
#if N > 3
            receive(3)
#endif
            fi;
            if
            :: (lost & one(sender))
            :: (lost & one(sender)) == 0 && what == CALL -> take_call(sender, said)
            :: (lost & one(sender)) == 0 && what != CALL ->
#ifdef WRONG_OLD_EPOCH_ACCEPTED
                take_call(sender, said); assert(what == CALL)
#else
                skip
#endif
            fi;
            what = 0; said = 0; sender = 0; its_word = 0
       }
    notice(0)
    notice(1)
    notice(2)
#if N > 3
    notice(3)
#endif
#ifdef SUSPECT
    :: atomic { ((heard | failed | lost) & ALL) != ALL -> lost = ALL & ~one(me) }
#endif
    :: atomic { ((heard | failed | lost) & ALL) == ALL -> break }
    :: atomic { crashes < CRASHES -> crashes++; goto crash }
    od;
#endif
    atomic { state[me] = ENDED; goto gone }
out:
    atomic { state[me] = OUT; goto gone }
crash:
    atomic { state[me] = CRASHED }
gone:
    skip;
    d_step { // what is still on its way to this rank concerns nobody
        k = 0;
        do
        :: k < N ->
            do
            :: nempty(from_to(k, me)) -> from_to(k, me) ? _, _, _
            :: empty(from_to(k, me)) -> break
            od;
            k++
        :: else -> break
        od;
        k = 0; failed = 0; lost = 0
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
