#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# bough trace, and --trace of bough run and bough launch. What traces have: test/report/trace.cpp.
. "${0%/*}/expect.sh"

run 0 run allreduce --ranks 3 --bytes 64 --iterations 4 --algorithm ring --transport shared_memory --trace "$scratch/run.json"
[ ! -e "$scratch/run.json.ranks" ] || fail "the folder of the ranks is left"
if command -v python3 >/dev/null; then
    python3 - "$scratch/run.json" >"$scratch/faults" 2>&1 <<'PYTHON' || fail "$(cat "$scratch/faults")"
import json, sys
from collections import defaultdict
events = json.load(open(sys.argv[1]))['traceEvents']
names = {e['pid']: e['args']['name'] for e in events if e['name'] == 'process_name'}
assert names == {0: 'rank 0', 1: 'rank 1', 2: 'rank 2'}, names
calls = [e for e in events if e.get('cat') == 'call']
numbers = defaultdict(list)
for e in calls: numbers[e['pid']].append(e['args']['number'])
assert numbers[0] and sorted(numbers[0]) == sorted(numbers[1]) == sorted(numbers[2]), numbers
rings = [e for e in calls if e['args']['plan'] == 'ring' and e['args']['bytes'] == 64]
assert len(rings) >= 3 * 4 and all(e['args']['elements'] == 8 for e in rings)
assert all(e['args']['predicted_us'] > 0 for e in rings)
assert len([e for e in events if e.get('cat') == 'prediction']) == len(calls)
# A ring of 3 ranks sends 4 messages, to the next rank.
for c in rings:
    inside = [e for e in events if e.get('cat') == 'send' and e['pid'] == c['pid'] and e['tid'] == c['tid']
              and c['ts'] <= e['ts'] and e['ts'] + e['dur'] <= c['ts'] + c['dur'] + 0.0005]
    assert [e['name'] for e in inside] == ['send to %d' % ((c['pid'] + 1) % 3)] * 4, inside
# Slices of a track are nested; times in ns.
open_ones = defaultdict(list)
for e in events:
    if e['ph'] != 'X': continue
    begin, length = round(e['ts'] * 1000), round(e['dur'] * 1000)
    assert length >= 0, e
    ends = open_ones[e['pid'], e['tid']]
    while ends and ends[-1] <= begin: ends.pop()
    assert not ends or begin + length <= ends[-1], e
    ends.append(begin + length)
starts = [e['id'] for e in events if e['ph'] == 's']
assert sorted(starts) == sorted(e['id'] for e in events if e['ph'] == 'f') and len(set(starts)) == len(starts)
PYTHON
fi

# Programs: each of two here is a job of two threads.
run 0 launch -n 2 --trace "$scratch/job.json" "$bough" run barrier --ranks 2 --iterations 3
prints "barrier over 2 ranks"
grep -q '"name":"barrier #' "$scratch/job.json" || fail "no barrier in the trace"
# Costs are measured among three.
BOUGH_TRACE=$scratch/traces run 0 run barrier --ranks 2 --iterations 3
run 0 trace "$scratch/traces" --out "$scratch/out.json"
matches '^.*/out.json: 3 ranks, [0-9]+ calls, [0-9]+ messages; [0-9]+ predicted, 0 failed, 0 in flight at the end$'
json trace "$scratch/traces"
prints '"name":"rank 1"'

# A program that dies leaves what it did; one without a communicator leaves nothing.
run 137 launch -n 1 --trace "$scratch/dead.json" sh -c "'$bough' run barrier --ranks 2 --iterations 3; kill -KILL \$\$"
grep -q '"name":"barrier #' "$scratch/dead.json" || fail "no barrier in the trace of the program that died"
run 0 launch -n 1 --trace "$scratch/none.json" true
complains "bough: --trace: no rank has made a communicator"
grep -q '"traceEvents"' "$scratch/none.json" || fail "no file"

: >"$scratch/empty"
printf 'boughtrc\007\000\000\000\001\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000' >"$scratch/other"
mkdir "$scratch/folder"
refuses "FILE: '$scratch/nothing' cannot be opened" trace "$scratch/nothing"
refuses "FILE: no file in '$scratch/folder' ends in .trace" trace "$scratch/folder"
refuses "FILE: '$scratch/empty': is empty" trace "$scratch/empty"
refuses "FILE: '$scratch/other': is of another version of bough: format 7 with a head of 1 bytes" trace "$scratch/other"
refuses "--out: '/no/such/file' cannot be written" trace "$scratch/traces" --out /no/such/file
refuses "--trace: '/no/such/file' cannot be written" launch -n 1 --trace /no/such/file true
refuses "PROGRAM: '/no/such' cannot be run" launch -n 1 --trace "$scratch/left.json" /no/such
[ ! -e "$scratch/left.json" ] && [ ! -e "$scratch/left.json.ranks" ] || fail "something is left"
refuses "--trace: another launcher has started the ranks" run barrier --transport tcp --launch pmix --trace "$scratch/x"
refuses "FILE is required" trace
