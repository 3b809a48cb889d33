# SPDX-License-Identifier: BSL-1.0
# What the tests of the program `bough` are written in; each sources this: TEST PROGRAM. A test is a list of calls of the program,
# each with what is expected of it:
#
#   run STATUS ARGUMENTS...        its exit status
#   json ARGUMENTS...              status 0, and it prints JSON
#   refuses SENTENCE ARGUMENTS...  status 2, one line on standard error that begins "bough: SENTENCE", nothing on standard output
#
# and then of the last call:
#
#   prints TEXT, prints_not TEXT   some line of standard output contains it; or none does
#   prints_exactly TEXT            that is all
#   matches REGEX                  some line of standard output matches
#   lines COUNT [REGEX]            so many lines match, or there are so many lines
#   complains TEXT                 standard error contains it
#   keep NAME                      what it printed is the file $scratch/NAME from now on
#   fail SENTENCE                  where another expectation does not hold
#
# A test that ends has at least one call, and says how many there were and how many expectations failed.
set -u
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
bough=$(realpath "$1")
scratch=$(mktemp -d)
failures=0
checks=0
command_line='no call'
: >"$scratch/out"
: >"$scratch/err"
trap 'end $?' EXIT

end() {
    rm -rf "$scratch"
    printf '%d runs, %d failures\n' "$checks" "$failures"
    [ "$failures" = 0 ] && [ "$checks" != 0 ] || exit 1
    exit "$1"
}
fail() {
    failures=$((failures + 1))
    printf 'FAILED: %s: %s\n' "$command_line" "$1"
    printf '  standard output: %s\n' "$(head -c 600 "$scratch/out")"
    printf '  standard error:  %s\n' "$(head -c 600 "$scratch/err")"
}

run() {
    local expected=$1 status=0
    shift
    checks=$((checks + 1))
    command_line="bough $*"
    "$bough" "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
    [ "$status" = "$expected" ] || fail "exit status $status, not $expected"
}
json() {
    run 0 "$@"
    if command -v python3 >/dev/null; then
        python3 -m json.tool "$scratch/out" >/dev/null 2>&1 || fail "not JSON"
    fi
}
refuses() {
    local sentence=$1
    shift
    run 2 "$@"
    complains "bough: $sentence"
    [ "$(wc -l <"$scratch/err")" = 1 ] || fail "said more than a line"
    [ ! -s "$scratch/out" ] || fail "printed something beside the error"
}

prints() { grep -qF -- "$1" "$scratch/out" || fail "did not print '$1'"; }
prints_not() { ! grep -qF -- "$1" "$scratch/out" || fail "printed '$1'"; }
prints_exactly() { [ "$(cat "$scratch/out")" = "$1" ] || fail "did not print exactly '$1'"; }
matches() { grep -qE -- "$1" "$scratch/out" || fail "no line matches '$1'"; }
lines() {
    local found
    found=$(grep -cE -- "${2-}" "$scratch/out")
    [ "$found" = "$1" ] || fail "$found lines${2+ match '$2'}, not $1"
}
complains() { grep -qF -- "$1" "$scratch/err" || fail "did not say '$1'"; }
keep() { cp "$scratch/out" "$scratch/$1"; }
