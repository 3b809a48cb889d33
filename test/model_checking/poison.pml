// SPDX-License-Identifier: BSL-1.0
// Poison in bough/session/session.hpp: four ranks run a reduction along a chain to rank 0, then a broadcast from rank 0
// to all at once, without deadlines. Any rank may fail by itself (a mismatch, an op that threw) or crash; what is left must
// still end: with a result or with an error.
//
//   CRASHES=2, FAILURES=1   how many of each, anywhere
//   WRONG_...               mutants: one rule is broken
//
// Links are first in, first out; a loss is reported after all that the lost rank sent. A crash in a flood leaves any part
// of it sent.
#ifndef CRASHES
#define CRASHES 2
#endif
#ifndef FAILURES
#define FAILURES 1
#endif
#define N 4
#define one(r) (1 << (r))

mtype = { partial, total, abort };

chan link[N * N] = [3] of { mtype };
#define from_to(a, b) link[(a) * N + (b)]

bit crashed[N], poisoned[N], reduced[N];
byte crashes, failures;

#define DOING 0
#define GOOD 1
#define BAD 2

// What comes to a poisoned rank changes nothing any more. It is not even sent here: fewer states.
inline send(to, kind) {
    if
    :: crashed[to] || poisoned[to]
    :: !crashed[to] && !poisoned[to] -> from_to(me, to) ! kind
    fi
}
inline drain_all() {
    k = 0;
    do
    :: k < N ->
        do
        :: nempty(from_to(k, me)) -> from_to(k, me) ? _
        :: empty(from_to(k, me)) -> break
        od;
        k++
    :: else -> break
    od;
    k = 0
}

#ifdef WRONG_TREE_NEIGHBOURS
#define is_told(r) ((r) == me + 1 || (r) + 1 == me)
#else
#define is_told(r) ((r) != me)
#endif

// The first failure poisons the group and is told to everybody whose link is alive. May crash there.
inline poison(is_first) {
    if
    :: poisoned[me]
    :: !poisoned[me] ->
        poisoned[me] = true;
        if
        :: true
        :: crashes < CRASHES -> crashes++; dying = true
        fi;
        k = 0;
        do
#ifdef WRONG_NOT_PASSED_ON
        :: k < N && is_first ->
#else
        :: k < N ->
#endif
            if
            :: is_told(k) && !crashed[k] && (lost & one(k)) == 0 -> if :: send(k, abort) :: dying fi
            :: else
            fi;
            k++
        :: else -> break
        od;
        drain_all();
        lost = 0; lost_before = 0; have_partial = false; have_total = false;
        if
        :: dying -> goto crash
        :: else
        fi
    fi
}

#define listens(r) r != me && nempty(from_to(r, me)) -> from_to(r, me) ? what
#define notice(r) r != me && !poisoned[me] && (lost & one(r)) == 0 && crashed[r] && empty(from_to(r, me)) -> lost = lost | one(r)

// One call of session::progress() that finds something.
inline progress() {
    if
    :: listens(0); sender = 0
    :: listens(1); sender = 1
    :: listens(2); sender = 2
    :: listens(3); sender = 3
    :: notice(0)
    :: notice(1)
    :: notice(2)
    :: notice(3)
    fi;
    if
    :: what == partial -> have_partial = true
    :: what == total -> have_total = true
#ifdef WRONG_RETURNED_DO_NOT_LISTEN
    :: what == abort && !in_call
    :: what == abort && in_call -> poison(false)
#else
    :: what == abort -> poison(false)
#endif
    :: what == 0
    fi;
    what = 0; sender = 0
}

// Waits for a message from rank `from`; ends with BAD when that cannot come any more.
inline wait_for(from, have) {
    in_call = true;
    do
    :: atomic { have -> in_call = false; break }
    :: atomic { !have && poisoned[me] -> result = BAD; in_call = false; break }
#ifdef WRONG_LOSS_ONLY_NOTICED_WHEN_IT_COMES
    :: atomic { !have && !poisoned[me] && (lost & one(from)) && (lost & one(from)) != lost_before ->
                result = BAD; poison(true); in_call = false; break }
#else
    :: atomic { !have && !poisoned[me] && (lost & one(from)) -> result = BAD; poison(true); in_call = false; break }
#endif
    :: atomic { !have && !poisoned[me] && (lost & one(from)) == 0 -> progress() }
    :: atomic { failures < FAILURES && !poisoned[me] -> failures++; result = BAD; poison(true); in_call = false; break }
    od
}

proctype rank(byte me) {
    mtype what;
    byte lost, lost_before, sender, k, result;
    bit have_partial, have_total, dying, in_call;

    // The reduction: 3 -> 2 -> 1 -> 0.
    result = GOOD;
    if
    :: me != N - 1 -> wait_for(me + 1, have_partial)
    :: else
    fi;
    atomic {
        if
        :: result == GOOD && me != 0 -> send(me - 1, partial)
        :: result == GOOD && me == 0 -> reduced[me] = true
        :: else
        fi;
        assert(result == BAD || me == N - 1 || have_partial)
    }
    // Out of the library; progress() may be called here, or not.
    do
    :: atomic { progress() }
    :: break
    :: atomic { crashes < CRASHES -> crashes++; goto crash }
    od;
    // The broadcast.
    atomic { result = GOOD; lost_before = lost }
    if
    :: atomic { poisoned[me] -> result = BAD }
    :: atomic { !poisoned[me] && me == 0 ->
                k = 1;
                do
                :: k < N -> send(k, total); k++
                :: else -> break
                od;
                k = 0 }
    :: atomic { !poisoned[me] && me != 0 -> skip }; wait_for(0, have_total)
    fi;
    atomic { assert(result == BAD || me == 0 || have_total) }
    // Whoever still calls progress() learns of the poison in the end.
end:
    do
    :: atomic { progress() }
    od;
crash:
    atomic {
        crashed[me] = true; poisoned[me] = false; reduced[me] = false;
        drain_all();
        lost = 0; lost_before = 0; have_partial = false; have_total = false; result = 0; what = 0; sender = 0; dying = 0;
        in_call = false
    }
}

// Once nothing moves any more, either all ranks that live are poisoned or none is.
proctype judge() {
    byte k;
    byte sound, bad;
end:
    timeout ->
    d_step {
        do
        :: k < N ->
            if
            :: !crashed[k] && poisoned[k] -> bad++
            :: !crashed[k] && !poisoned[k] -> sound++
            :: crashed[k]
            fi;
            k++
        :: else -> break
        od;
        assert(bad == 0 || sound == 0)
    }
}

init {
    atomic {
        byte r;
        do
        :: r < N -> run rank(r); r++
        :: else -> break
        od;
        run judge()
    }
}
