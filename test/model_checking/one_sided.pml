// SPDX-License-Identifier: BSL-1.0
// The blocks of bough/transport/one_sided.hpp: three ranks run broadcasts one behind the other, from roots that rotate, over
// trees of mixed degrees (flat, chain). Each (sender, receiver) pair has B blocks, reused on credits; who passes a block on
// does so from where it landed. Sequences and credits wrap all the time; payloads repeat, so that old bytes look like new.
//
//   OPS=7, B=1        operations; blocks of a pair
//   SCATTER           parts of a put (payload, digest, sequence), and puts, land in any order; without it in theirs
//   WRONG_...         mutants: one rule is broken
#ifndef OPS
#define OPS 7
#endif
#ifndef B
#define B 1
#endif
#define N 3
#ifdef WRONG_FEW_SEQUENCES
#define SEQUENCES B
#else
#define SEQUENCES 3 // 1 to 3, not a multiple of B
#endif
#define lane(from, to) ((from) * N + (to))
#define block(l, b) ((l) * B + (b))
#define flat(op) (op % 2 == 1)
#define value_of(op) (op % 3 == 0 -> 1 : 2)
#define next_sequence(s) ((s) == SEQUENCES -> 1 : (s) + 1)
#define digest_of(v, s) ((v) * 4 + (s))

mtype = { payload, digest, sequence, credit };
#define from_block 200 // a payload of 200 + i is read from block i when it lands, or, with SCATTER, some time before

byte payloads[N * N * B], digests[N * N * B], sequences[N * N * B]; // in the receiver's region
byte credits[N * N];                                                // in the sender's region, modulo 4
chan under_way[N * N] = [3 * B + 3] of { mtype, byte, byte };       // what has been put and not landed: part, block, value

// How many parts are under way to a block of lane l; and may it be filled again?
#ifdef SCATTER
#define none_under_way(l, b)                                                                                           \
    !(under_way[l] ?? [payload, b, _] || under_way[l] ?? [digest, b, _] || under_way[l] ?? [sequence, b, _])
#else
#define none_under_way(l, b) true
#endif
#ifdef WRONG_NO_FENCE
#define may_fill(l, b) true
#else
#define may_fill(l, b) none_under_way(l, b)
#endif

inline land(l) {
    d_step {
        if
        :: part == payload && value >= from_block -> payloads[block(l, where)] = payloads[value - from_block]
        :: part == payload && value < from_block -> payloads[block(l, where)] = value
        :: part == digest -> digests[block(l, where)] = value
        :: part == sequence -> sequences[block(l, where)] = value
        :: part == credit -> credits[l] = value
        fi;
        part = 0; where = 0; value = 0
    }
}

// What is under way on one lane, and the credits that come back against it, which travel on the other lane of the pair.
proctype network(byte l) {
    mtype part;
    byte where, value;
end:
    do
#ifdef SCATTER
    :: atomic { under_way[l] ?? [payload, _, _] -> under_way[l] ?? payload, where, value; part = payload; land(l) }
    :: atomic { under_way[l] ?? [payload, _, _] -> under_way[l] ?? payload, where, value; // is complete: has been read
                if
                :: value >= from_block -> value = payloads[value - from_block]
                :: else
                fi;
                under_way[l] ! payload, where, value; where = 0; value = 0 }
    :: atomic { under_way[l] ?? [digest, _, _] -> under_way[l] ?? digest, where, value; part = digest; land(l) }
    :: atomic { under_way[l] ?? [sequence, _, _] -> under_way[l] ?? sequence, where, value; part = sequence; land(l) }
    :: atomic { under_way[l] ?? [credit, _, _] -> under_way[l] ?? credit, where, value; part = credit; land(l) }
    :: atomic { len(under_way[l]) > 1 -> under_way[l] ? part, where, value; under_way[l] ! part, where, value;
                part = 0; where = 0; value = 0 } // one overtakes
#else
    :: atomic { under_way[l] ? part, where, value -> land(l) }
#endif
    od
}

proctype rank(byte me) {
    byte op, root, to, from, i, b, v, s, turns;
    byte sent[N], freed[N], sequence_to[N];     // to each peer: sent and freed modulo 4
    byte seen[N], used_up[N], sequence_from[N]; // from each
    bit forwards;

    d_step {
        for (i : 0 .. N - 1) {
#ifdef WRONG_EMPTY_SEQUENCE
            sequence_to[i] = 0; sequence_from[i] = 0 // what an unused block says
#else
            sequence_to[i] = 1; sequence_from[i] = 1
#endif
        }
        i = 0
    }
    do
    :: op < OPS ->
        root = op / 2 % N;
        forwards = false;
        // Who sends to me? Flat: the root. Chain: the rank before me.
        if
        :: me == root -> from = N
        :: me != root && flat(op) -> from = root
        :: me != root && !flat(op) -> from = (me + N - 1) % N
        fi;
        if
        :: from != N ->
            b = seen[from] % B;
            i = block(lane(from, me), b);
#ifdef SCATTER
#ifdef WRONG_NO_DIGEST
            sequences[i] == sequence_from[from];
#else
            (sequences[i] == sequence_from[from] && digests[i] == digest_of(payloads[i], sequences[i]));
#endif
#else
            sequences[i] == sequence_from[from];
#endif
            atomic {
                assert(payloads[i] == value_of(op));
                seen[from] = (seen[from] + 1) % 4;
                sequence_from[from] = next_sequence(sequence_from[from])
            }
        :: else
        fi;
        // To whom do I send?
        turns = 0;
        if
        :: me == root && flat(op) -> turns = 2
        :: me == root && !flat(op) -> turns = 1
        :: me != root && !flat(op) && (me + 1) % N != root -> turns = 1; forwards = true
        :: else
        fi;
        do
        :: turns > 0 ->
            to = (me + (turns == 2 -> 2 : 1)) % N;
            s = sent[to] % B;
#ifndef WRONG_NO_CREDITS
            do // credits of lane(me, to) are written by `to`, on its lane to me
            :: (sent[to] + 4 - freed[to]) % 4 < B -> break
            :: atomic { (sent[to] + 4 - freed[to]) % 4 >= B && credits[lane(to, me)] != freed[to] ->
                        // no more than I have sent, else it is nonsense
                        assert((credits[lane(to, me)] + 4 - freed[to]) % 4 <= (sent[to] + 4 - freed[to]) % 4);
                        freed[to] = credits[lane(to, me)] }
            od;
#endif
            atomic {
                may_fill(lane(me, to), s);
                if
                :: forwards -> v = from_block + i // the put is pending
                :: else -> v = value_of(op)
                fi;
                under_way[lane(me, to)] ! payload, s, v;
#ifdef SCATTER
                under_way[lane(me, to)] ! digest, s, digest_of(value_of(op), sequence_to[to]);
#endif
                under_way[lane(me, to)] ! sequence, s, sequence_to[to];
                sent[to] = (sent[to] + 1) % 4;
                sequence_to[to] = next_sequence(sequence_to[to]);
                v = 0; s = 0;
                turns--
            }
        :: else -> break
        od;
        // The block may be filled again: not before what reads it is complete, which is when it has been read.
        if
        :: from != N ->
#ifndef WRONG_FORWARD_FORGOTTEN
            if
            :: forwards -> !(under_way[lane(me, (me + 1) % N)] ?? [payload, eval((sent[(me + 1) % N] + 3) % 4 % B), eval(from_block + i)])
            :: else
            fi;
#endif
#if defined(SCATTER) && !defined(WRONG_CREDITS_OVERTAKE)
            !(under_way[lane(me, from)] ?? [credit, _, _]); // a flush: the last one has landed
#endif
            atomic {
                used_up[from] = (used_up[from] + 1) % 4;
                under_way[lane(me, from)] ! credit, 0, used_up[from];
                i = 0; b = 0; to = 0; from = 0
            }
        :: else
        fi;
        op++
    :: else -> break
    od
}

init {
    atomic {
        byte l;
        for (l : 0 .. N * N - 1) {
            if
            :: l % (N + 1) != 0 -> run network(l)
            :: else
            fi
        }
        run rank(0);
        run rank(1);
        run rank(2)
    }
}
