#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# Tests what a newcomer sees first: demo_test.sh BOUGH_DEMO. tools/demo as a whole, on a fresh
# system: tools/test-fresh.
set -u
demo=$(realpath "$1")
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

fail() {
    failures=$((failures + 1))
    printf 'FAILED: %s\n  standard output: %s\n  standard error: %s\n' "$1" "$(cat "$scratch/out")" "$(cat "$scratch/err")"
}
run() { # run STATUS ARGUMENTS...
    local status=0
    "$demo" "${@:2}" >"$scratch/out" 2>"$scratch/err" || status=$?
    command_line="bough-demo ${*:2}"
    [ "$status" = "$1" ] || fail "$command_line: exit status $status, not $1"
}
prints() { grep -qE -- "$1" "$scratch/out" || fail "$command_line: did not print '$1'"; }
refuses() { # refuses SENTENCE ARGUMENTS...
    run 2 "${@:2}"
    [ "$(cat "$scratch/err")" = "bough-demo: $1" ] || fail "$command_line: did not say '$1'"
    [ ! -s "$scratch/out" ] || fail "$command_line: printed something beside the error"
}

numbers=$scratch/numbers.txt
# Sums that depend on the order of adding, were they not exact; both zeros.
printf '# numbers\n1e300 1 -1e300\n0.1 0.2 0.3 # and not 100\n\n-0 0 1e-300\n' >"$numbers"
run 0 "$numbers" --picture "$scratch/run.svg"
prints '^     9 numbers, lowest -1e\+300, highest 1e\+300, mean 0.1777777778$'
prints '^6\. Check against one thread that adds up all numbers in order: right\.$'
prints "^   $scratch/run.svg\$"
grep -q '</svg>' "$scratch/run.svg" || fail "$command_line: wrote no picture"
# The mistakes are found, and named by rank and step or block.
prints '^4\. Break it\. Rank [0-9]+ forgets to combine what it received from [0-9]+\.'
[ "$(grep -cE '^     rank [0-9]+, (step [0-9]+( \(.*\))?|block 0 of the result):' "$scratch/out")" = 2 ] ||
    fail "$command_line: no two verdicts"
prints ' where 13 ranks take turns on |with a core for each rank'
prints '^   Measured is [0-9.e+]+ times that'
[ "$(wc -l <"$scratch/out")" -le 52 ] || fail "$command_line: longer than two screens"
[ "$(awk '{ if (length > most) most = length } END { print most }' "$scratch/out")" -le 80 ] ||
    fail "$command_line: wider than 80 columns"

# From any folder.
cd "$here" || exit 1
run 0
prints '^5\. Run\. 2016 numbers from .*temperatures.txt,$'
cd "$scratch" || exit 1
printf '1 2 3\n' | "$demo" /dev/stdin >"$scratch/out" 2>"$scratch/err" || fail "bough-demo /dev/stdin: exit status $?"
command_line="bough-demo /dev/stdin" prints '^     3 numbers, lowest 1, highest 3, mean 2$'
run 0 --help
prints '^Usage: bough-demo '

printf '1.5\n2.5 three\n' >"$numbers"
refuses "file '$numbers': line 2: 'three' is not a number" "$numbers"
printf '1 inf\n' >"$numbers"
refuses "file '$numbers': line 1: 'inf' is not a number" "$numbers"
printf '# nothing\n' >"$numbers"
refuses "file '$numbers': holds no numbers" "$numbers"
refuses "file '$scratch/none': cannot be opened" "$scratch/none"
refuses "file '$scratch': cannot be opened" "$scratch"
refuses "'--fast': is not an argument; see --help" --fast
refuses "--picture: needs a file to write" --picture
refuses "--picture: '$scratch/no/run.svg' cannot be written" --picture "$scratch/no/run.svg"
refuses "'b': is one file too many" a b

printf '%d failures\n' "$failures"
[ "$failures" = 0 ]
