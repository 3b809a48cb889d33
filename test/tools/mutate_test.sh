#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# tools/mutate tells faults that tests notice from those that they do not.   mutate_test.sh SOURCE_DIR COMPILER
set -eu
{ command -v python3 && command -v git; } >/dev/null || { echo 'skipped: python3 or git is not installed'; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/tools" "$scratch/include/bough/toy" "$scratch/test/toy" "$scratch/test/support"
cp "$1/tools/mutate" "$scratch/tools"
for f in catch.hpp listener.hpp deadline_listener.cpp names_listener.cpp; do
    cp "$1/test/support/$f" "$scratch/test/support"
done
cd "$scratch"
git init -q . 2>/dev/null
cat >include/bough/toy/clamp.hpp <<'END'
#pragma once
#include <unistd.h>
namespace toy {
inline int calls = 0;
inline void note() { ++calls; } // a < b
constexpr bool is_less(int a, int b) { return a < b; }
inline int larger(int a, int b) {
    note();
    if (a > b) return a;
    return b;
}
inline int sum_up_to(int n) {
    int s = 0;
    while (n != 0) s += n--;
    return s;
}
inline bool is_done() {
    return true;
}
inline void wait() {
    while (!is_done()) usleep(1000);
}
inline int unseen(int a) { return a + 7; }
inline bool is_whole() { return true; }
}
END
printf 'namespace test { int seven(); }\n' >test/toy/seven.hpp
printf '#include "seven.hpp"\nint test::seven() { return 7; }\n' >test/toy/seven.cpp
printf 'inline bool alone(int a) {\n    return a == 3;\n}\n' >include/bough/toy/alone.hpp
cat >test/toy/clamp.cpp <<'END'
#include <bough/toy/clamp.hpp>
#include "seven.hpp"
#include "support/catch.hpp"
#include <csignal>
static_assert(toy::is_less(1, 2) && !toy::is_less(2, 2));
TEST_CASE("larger: the larger one, either way round") {
    const int before = toy::calls;
    CHECK(toy::larger(1, 2) == 2);
    CHECK(toy::larger(2, 1) == 2);
    CHECK(toy::calls == before + 2);
    CHECK(toy::sum_up_to(3) == 6);
    toy::wait();
    CHECK(toy::unseen(0) != 8);
}
TEST_CASE("is_whole: a crash of which Catch can say nothing") {
    if (!toy::is_whole()) raise(SIGKILL);
}
TEST_CASE("hidden: run by others only", "[.]") { CHECK(test::seven() == 8); }
END
failures=0
expect() { grep -q -e "$1" out || { failures=$((failures + 1)); printf 'FAILED: not said: %s\n' "$1"; cat out err; }; }
run() {
    status=0
    CXX=$2 tools/mutate $3 >out 2>err || status=$?
    [ $status = "$1" ] && ! grep -q Traceback err || { failures=$((failures + 1)); echo "FAILED: $3: exit status $status, not $1"; cat out err; }
}

run 0 "$2" '--list toy'
! grep -q 'hpp:5:.*<=' out || { failures=$((failures + 1)); echo 'FAILED: a fault in a comment'; }
run 1 "$2" '--faults 1000 --seconds 5 --record faults toy'
expect '^proof  *include/bough/toy/clamp.hpp:6 (<) '
expect '^fails  *include/bough/toy/clamp.hpp:8 (call)  test/toy/clamp.cpp: larger: the larger one, either way round$'
expect '^fails  *include/bough/toy/clamp.hpp:9 (if (!)'
expect '^survives  *include/bough/toy/clamp.hpp:9 (>)'
expect '^survives: include/bough/toy/clamp.hpp:23: '
expect '^late  *include/bough/toy/clamp.hpp:18 (return true;)  test/toy/clamp.cpp: larger: the larger one, either way round$'
expect '^fails  *include/bough/toy/clamp.hpp:24 (return true;)  test/toy/clamp.cpp: is_whole: .* (ended by signal 9)$'
expect '^untested: include/bough/toy/alone.hpp:2: '
expect ' faults noticed, [0-9]* by tests of their own room, 1 by proofs of the compiler, [0-9]* by a deadline'
# Each fault is one row, and the table counts them.
grep -q "^toy	include/bough/toy/clamp.hpp	8	call	fails	own	test/toy/clamp.cpp	larger: " faults ||
    { failures=$((failures + 1)); echo 'FAILED: --record'; cat faults; }
run 0 "$2" '--table faults'
expect "^| toy | $(grep -cv '	void	' faults) | $(grep -c '	fails	own	' faults) | $(grep -c '	late	own	' faults) | 1 | 0 | $(
    grep -c '	survives	\|	untested	' faults) |\$"

# What is listed with a reason is not planted any more.
printf '%s | %s | %s | %s\n' include/bough/toy/clamp.hpp 'if (a > b) return a;' 'if (a >= b) return a;' 'equal ones are equal' \
    >test/mutants.txt
run 0 "$2" '--list toy'
! grep -q 'a >= b' out || { failures=$((failures + 1)); echo 'FAILED: a listed fault is planted'; }

# Lines that have changed.
git add . && git -c user.name=n -c user.email=e commit -q -m first
sed -i 's/a + 7/a + 9/' include/bough/toy/clamp.hpp
run 0 "$2" '--changed HEAD --list'
[ "$(grep -c '^include/bough/toy/clamp.hpp:23:' out)" = "$(grep -c '^include' out)" ] && [ -s out ] ||
    { failures=$((failures + 1)); echo "FAILED: --changed: $(cat out)"; }

run 2 "$2" 'fools'
grep -q "'fools' is neither a room nor a header; rooms are toy" err || { failures=$((failures + 1)); cat err; }
run 2 "$2" ''
run 2 "$2" '--changed no_such_commit'
run 2 "$2" '--faults 0 toy'
run 2 "$2" '--record no_such_folder/faults toy'
grep -q -e '--record: .*no_such_folder' err || { failures=$((failures + 1)); cat err; }
run 2 "$2" '--table'
run 2 "$2" '--table no_such_file'
run 2 "$2" '--table test/mutants.txt'
grep -q -e '--table: test/mutants.txt:1: is not a line of --record' err || { failures=$((failures + 1)); cat err; }
exit $((failures != 0))
