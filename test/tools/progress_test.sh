#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# Tests tools/progress: progress_test.sh TOOLS_DIRECTORY.
set -u
progress=$1/progress
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
fail() { failures=$((failures + 1)); printf 'FAILED: %s\n%s\n' "$1" "$(cat "$scratch/said")"; }
says() { grep -qF -- "$1" "$scratch/said" || fail "not said: $1"; }
says_not() { ! grep -qF -- "$1" "$scratch/said" || fail "said: $1"; }
on_terminal() { TERM=xterm script -qec "$*" /dev/null </dev/null 2>&1 | tr '\r' '\n' >"$scratch/said"; }

# What goes well says its name and nothing else, but for its progress on a terminal.
"$progress" 'test: building' "$scratch/log" 0 -- printf '[1/2] one\n[2/2] two\nend' >"$scratch/said" 2>&1 || fail "status $?"
[ "$(cat "$scratch/said")" = "test: building (log: $scratch/log)" ] || fail 'said something else'
[ "$(cat "$scratch/log")" = $'[1/2] one\n[2/2] two\nend' ] || fail 'the log is not what the command printed'
if command -v script >/dev/null; then
    on_terminal "$progress" "'test: building'" "$scratch/log" 4000 -- "printf '[1/2] Re-running CMake\n[1/4] one\n[2/4] two\nend'"
    says_not 'of 2,'
    says 'test: building, about 67 min left'
    says 'test: building, 1 of 4, about 50 min left'
    says 'test: building, 2 of 4, about 33 min left'
    [ "$(tail -n 3 "$scratch/log")" = $'[1/4] one\n[2/4] two\nend' ] || fail 'the log is not what the command printed'
    on_terminal "$progress" "'test: fetching'" "$scratch/log" 0 --of 3 "'^Get'" -- "printf 'Get a\nother\nGet b\n'"
    says 'test: fetching, 2 of 3'
    on_terminal "$progress" t "$scratch/log" 0 -- false && says 't failed:'
    on_terminal TERM=dumb "$progress" t "$scratch/log" 0 -- "printf '[1/4] one\n'"
    says "t (log: $scratch/log)"
    says_not $'\033'
    says_not 'of 4'
fi

# What fails: its status, and 20 lines from the first error on, without steps that went well and
# their commands.
long=$(printf 'x%.0s' {1..300})
{
    printf '[1/9] Building CXX object a.o\nFAILED: b.o\n/usr/bin/g++ %s\n' "$long"
    printf 'b.cpp:1: error: no\n'
    printf 'note %s\n' {1..40}
} >"$scratch/text"
status=0
"$progress" t "$scratch/log" 0 -- bash -c "cat '$scratch/text'; exit 3" >"$scratch/said" 2>&1 || status=$?
[ $status = 3 ] || fail "status $status, not 3"
says 't failed:'
says "t (log: $scratch/log)"
says '  FAILED: b.o'
says '  b.cpp:1: error: no'
says "  All of it: $scratch/log"
says_not 'Building'
says_not 'xxx'
[ "$(wc -l <"$scratch/said")" = 23 ] || fail 'not 20 lines of it'
# Without an error, the last ones.
"$progress" t "$scratch/log" 0 -- bash -c 'seq 101 150; exit 1' >"$scratch/said" 2>&1 && fail 'status 0'
says '  131'
says_not '  130'
"$progress" t "$scratch/log" 0 -- bash -c 'echo "c++: fatal: Killed signal terminated program cc1plus"; exit 1' >"$scratch/said" 2>&1
says 'CMAKE_BUILD_PARALLEL_LEVEL=1'

# A log that cannot be written: nothing is run.
status=0
"$progress" t "$scratch" 0 -- touch "$scratch/ran" >"$scratch/said" 2>&1 || status=$?
[ $status = 3 ] || fail "status $status, not 3"
[ "$(cat "$scratch/said")" = "progress: the log cannot be written: $scratch" ] || fail 'not one sentence'
[ ! -e "$scratch/ran" ] || fail 'it was run'
printf '%d failures\n' "$failures"
[ "$failures" = 0 ]
