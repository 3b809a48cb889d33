// SPDX-License-Identifier: BSL-1.0
// A call that is given up, in bough/session/failure.hpp: three ranks make two calls, each a reduction along
// a chain to rank 0. The first may be cancelled by any rank, before or while it waits; the second is not.
// Without crashes the second ends well on every rank, whatever became of the first; with them every call of
// every rank that is left ends.
//
//   N=3                     ranks
//   CRASHES=1, CANCELS=2    how many of each, anywhere
//   WRONG_...               mutants: one rule is broken
//
// Links are first in, first out; a loss is reported after all that the lost rank sent. A crash while a rank
// tells the others leaves any part of that sent.
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef CANCELS
#define CANCELS 2
#endif
#ifndef N
#define N 3
#endif
#define one(r) (1 << (r))

mtype = { part, over };

chan link[N * N] = [6] of { mtype, byte };
#define from_to(a, b) link[(a) * N + (b)]

bit crashed[N];
byte crashes, cancels;

#define GOOD 1
#define BAD 2

inline send(to, kind, number) {
    if
    :: crashed[to]
    :: !crashed[to] -> from_to(me, to) ! kind, number
    fi
}
// The call is over here: every other rank is told. May crash there.
inline give_up(number, is_first) {
    result = BAD;
    given_up = number;
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
        :: k != me && (lost & one(k)) == 0 -> if :: send(k, over, number) :: dying fi
        :: else
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

#define listens(r) r != me && nempty(from_to(r, me)) -> from_to(r, me) ? what, number
#define notice(r) r != me && (lost & one(r)) == 0 && crashed[r] && empty(from_to(r, me)) -> lost = lost | one(r)

inline progress() {
    if
    :: listens(0)
    :: listens(1)
    :: listens(2)
#if N > 3
    :: listens(3)
#endif
    :: notice(0)
    :: notice(1)
    :: notice(2)
#if N > 3
    :: notice(3)
#endif
    fi;
    if
    :: what == part && (number > made || in_call == number) && (kept & one(number)) == 0 -> have = have | one(number)
    :: what == part && number > made && (kept & one(number)) // nobody needs it
#ifdef WRONG_LATE_IS_A_MISMATCH
    :: what == part && number <= made && in_call != number -> assert(false)
#else
    :: what == part && number <= made && in_call != number -> assert(number <= given_up)
#endif
#ifdef WRONG_NOTICE_NOT_KEPT
    :: what == over && number > made
#else
    :: what == over && number > made -> kept = kept | one(number); have = have & ~one(number)
#endif
    :: what == over && number <= made && in_call == number -> give_up(number, false)
    :: what == over && number <= made && in_call != number
    :: what == 0
    fi;
    what = 0; number = 0
}

// One call.
inline make(c) {
    atomic {
        made = c;
        result = 0;
        if
        :: kept & one(c) -> kept = kept & ~one(c); give_up(c, true)
        :: else -> in_call = c
        fi
    }
    do
    :: atomic { result == BAD -> in_call = 0; break }
    :: atomic { result != BAD && (me == N - 1 || (have & one(c))) ->
                result = GOOD;
                if
                :: me != 0 -> send(me - 1, part, c)
                :: else
                fi;
                in_call = 0;
                break }
    :: atomic { result != BAD && me != N - 1 && (have & one(c)) == 0 && (lost & one(me + 1)) -> give_up(c, true) }
    :: atomic { c == 1 && result != BAD && cancels < CANCELS -> cancels++; give_up(c, true) }
    :: atomic { result != BAD && me != N - 1 && (have & one(c)) == 0 && (lost & one(me + 1)) == 0 -> progress() }
    od;
    atomic { assert(c == 1 || result == GOOD || crashes != 0) }
}

proctype rank(byte me) {
    mtype what;
    byte number, lost, kept, have, made, in_call, given_up, k, result;
    bit dying;

    // Out of the library progress() may be called, or not.
    do
    :: atomic { progress() }
    :: break
    od;
    make(1);
    do
    :: atomic { progress() }
    :: break
    :: atomic { crashes < CRASHES -> crashes++; goto crash }
    od;
    make(2);
end:
    do
    :: atomic { progress() }
    od;
crash:
    atomic {
        crashed[me] = true;
        k = 0;
        do
        :: k < N ->
            do
            :: nempty(from_to(k, me)) -> from_to(k, me) ? _, _
            :: empty(from_to(k, me)) -> break
            od;
            k++
        :: else -> break
        od
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
