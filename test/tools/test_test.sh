#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# Tests how tools/test is asked: test_test.sh SOURCE_DIRECTORY BUILD_DIRECTORY. It knows every label
# that there is, and a wrong one is an error at once.
set -u
test=$1/tools/test
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
fail() { failures=$((failures + 1)); echo "FAILED: $1"; }

"$test" --rooms >"$scratch/known" || fail "--rooms"
ctest --test-dir "$2" --print-labels | sed -n 's/^  \([a-z_]*\)$/\1/p' >"$scratch/labels"
[ "$(wc -l <"$scratch/labels")" -gt 5 ] || fail "no labels"
while read -r label; do grep -qx "$label" "$scratch/known" || fail "--rooms does not know $label"; done <"$scratch/labels"
status=0
"$test" --room fools >"$scratch/out" 2>"$scratch/err" || status=$?
[ $status = 2 ] || fail "--room fools: exit status $status, not 2"
[ ! -s "$scratch/out" ] || fail "--room fools: something was begun"
grep -q "^tools/test: --room: there is no 'fools'; known are .*, floors, " "$scratch/err" || fail "--room fools: $(cat "$scratch/err")"

# A test of the room thorough belongs to another room besides; and that room can be built.
count() { ctest --test-dir "$2" --show-only --label-regex '^thorough$' "${@:3}" | sed -n 's/^Total Tests: //p'; }
rooms="^($(grep -vxE 'thorough|static' "$scratch/labels" | paste -sd'|'))\$"
[ "$(count "$@")" -gt 10 ] || fail "the room thorough: $(count "$@") tests"
[ "$(count "$@")" = "$(count "$@" --label-regex "$rooms")" ] || fail "some tests are in no room but thorough"
grep -qx thorough "$scratch/known" || fail "--rooms does not know thorough"
cmake --build "$2" --target help | grep '^room-thorough: ' >/dev/null || fail "there is no target room-thorough"

# Programs of 32 bits: whoever can run one says yes.
! "$1/cmake/runs_i686" false || fail "runs_i686 takes a program that fails for one that runs"
! command -v qemu-i386-static >/dev/null || "$1/cmake/runs_i686" qemu-i386-static || fail "the emulator does not run the program of runs_i686"

# What is run of it: nothing unless it is asked for, and then a line says how much was left out. (In a tree of
# its own, with a cmake that builds nothing and a ctest that says how it is called.)
tree=$scratch/tree
mkdir -p "$tree/tools" "$tree/test" "$tree/examples" "$tree/benchmark" "$tree/build/dev" "$tree/bin"
cp "$test" "$1/tools/progress" "$tree/tools"
cp "$1/test/CMakeLists.txt" "$tree/test"
printf '#!/bin/sh\n' | tee "$tree/tools/setup" >"$tree/tools/test-fresh"
printf '#!/bin/sh\necho "libraries: $*"; exit 1\n' >"$tree/tools/foreign_libraries" # it goes on without them
echo 'CMAKE_CXX_COMPILER:FILEPATH=c++' >"$tree/build/dev/CMakeCache.txt"
for preset in asan-ubsan tsan gcc no-exceptions i686 s390x aarch64 release; do cp -r "$tree/build/dev" "$tree/build/$preset"; done
cat >"$tree/bin/cmake" <<'END'
#!/bin/sh
case $* in *--target\ help*) printf 'room-%s: phony\n' core thorough howto ;; esac
END
cat >"$tree/bin/ctest" <<'END'
#!/bin/sh
case $* in
*tsan*--show-only*) echo 'Total Tests: 0' ;;
*--show-only*) echo 'Total Tests: 17' ;;
*) echo "ctest: $*" ;;
esac
END
chmod +x "$tree"/tools/* "$tree"/bin/*
asked() { # asked ARGUMENT...: what it says, in $scratch/out
    SUDO_UID=0 PATH=$tree/bin:$PATH "$tree/tools/test" "$@" >"$scratch/out" 2>"$scratch/err" ||
        fail "$*: exit status $?: $(cat "$scratch/err")"
}
said() { grep -q -- "$1" "$scratch/out"; }
left_out='^== left out: .*: 17 tests of the room thorough; tools/test --room thorough or --all runs them$'
asked
said '^ctest: .* --label-exclude ^thorough\$' || fail "the room thorough is run unasked"
said "$left_out" || fail "it does not say what is left out: $(cat "$scratch/out")"
asked --preset gcc
said '^ctest: --preset gcc .* --label-exclude ^thorough\$' || fail "--preset: the room thorough is run unasked"
asked --preset tsan # which excludes another label
! said label-exclude && ! said 'left out' || fail "--preset tsan: $(cat "$scratch/out")"
! said '^libraries: ' || fail "--preset tsan fetches libraries of another machine"
asked --preset s390x
said '^libraries: s390x$' && said '^ctest: --preset s390x ' || fail "--preset s390x: $(cat "$scratch/out")"
for room in thorough howto; do
    asked --room $room
    said "^ctest: .* --label-regex ^$room\\$" || fail "--room $room: $(cat "$scratch/out")"
    ! said label-exclude || fail "--room $room: something is excluded"
    ! said 'left out' || fail "--room $room: something is left out"
done
asked --all
[ "$(grep -c '^ctest: --preset' "$scratch/out")" -ge 5 ] || fail "--all: $(cat "$scratch/out")"
! said label-exclude || fail "--all: something is excluded"
! said 'tests of the room thorough' || fail "--all: the room thorough is left out"

# Begun by sudo, it builds as the user that typed it.
mkdir "$scratch/bin"
fake() { printf '#!/bin/sh\n%s\n' "$2" >"$scratch/bin/$1" && chmod +x "$scratch/bin/$1"; }
fake id 'echo 0'
fake stat 'echo 1000'
fake dpkg-query 'echo installed'
fake sudo 'echo "sudo $*"'
SUDO_UID=1000 PATH=$scratch/bin:$PATH "$test" --room core --preset gcc >"$scratch/out" 2>"$scratch/err" || fail "sudo: exit status $?"
[ "$(tail -n 1 "$scratch/out")" = "sudo -u #1000 -- $(realpath "$test") --room core --preset gcc" ] || fail "sudo: $(cat "$scratch/out")"

# The last words of a run are the checks that did not hold.
mkdir "$scratch/run"
cat >"$scratch/run/CTestTestfile.cmake" <<'END'
add_test(good "echo" "no FAILED check")
add_test(bad "sh" "-c" "echo one; echo '/y.cpp:12: FAILED:'; echo '  CHECK( a < b )'; false")
add_test(mute "sh" "-c" "seq 1 30; exit 1")
add_test(silent "false")
END
(cd "$scratch/run" && ctest --output-junit results.xml) >/dev/null 2>&1
eval "$(sed -n '/^what_failed() {/,/^}/p' "$test")"
what_failed "$scratch/run/results.xml" >"$scratch/out"
{
    printf '== failed: bad\n   /y.cpp:12: FAILED:\n     CHECK( a < b )\n== failed: mute\n'
    seq 21 30 | sed 's/^/   /'
    echo '== failed: silent'
} | diff - "$scratch/out" || fail "the last words"

# What failed beside others is run again alone, and what passes then is named.
cat >"$scratch/run/CMakePresets.json" <<'END'
{
    "version": 3,
    "configurePresets": [{ "name": "dev", "generator": "Ninja", "binaryDir": "${sourceDir}" }],
    "testPresets": [{ "name": "dev", "configurePreset": "dev" }]
}
END
cat >"$scratch/run/CTestTestfile.cmake" <<'END'
add_test(good "true")
add_test(at.first "sh" "-c" "test -e passes || { touch passes; exit 1; }")
add_test(at.first_too "true")
add_test(bad "test" "-e" "bad_passes")
set_tests_properties(at.first PROPERTIES FIXTURES_SETUP made)
add_test(uses "test" "-e" "bad_passes")
set_tests_properties(uses PROPERTIES FIXTURES_REQUIRED made)
add_test(gone "/no/program")
add_test(skips "sh" "-c" "exit 77")
set_tests_properties(skips PROPERTIES SKIP_RETURN_CODE 77)
add_test(says_so "echo" "skipped: no such device")
set_tests_properties(says_so PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: ")
END
eval "$(sed -n '/^one_of() {/p' "$test")"
for function in failed_tests run_again; do eval "$(sed -n "/^$function() {/,/^}\$/p" "$test")"; done
again() { # the list of unsteady tests
    (
        cd "$scratch/run" && logs=. unsteady=()
        ctest --preset dev --output-junit "$PWD/dev.xml" >/dev/null 2>&1
        run_again dev >"$scratch/out" 2>&1
        echo "${unsteady[*]}"
    )
}
[ "$(again)" = "dev: at.first" ] || fail "run again: $(again; cat "$scratch/out")"
grep -q '^== dev: run again, one at a time: at.first bad uses gone$' "$scratch/out" || fail "run again: $(cat "$scratch/out")"
rm "$scratch/run/passes" && touch "$scratch/run/bad_passes"
[ "$(again)" = "dev: at.first dev: uses" ] || fail "run again, one has no program: $(cat "$scratch/out")"
rm "$scratch/run/passes" && sed -i '/gone/d' "$scratch/run/CTestTestfile.cmake"
[ "$(again)" = "dev: at.first dev: uses" ] || fail "run again, all pass: $(cat "$scratch/out")"

printf '%d failures\n' "$failures"
[ "$failures" = 0 ]
