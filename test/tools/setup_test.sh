#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# Tests tools/setup with an apt-get, a sudo and an id of its own: setup_test.sh TOOLS_DIRECTORY.
# Nothing is installed.
set -u
setup=$1/setup
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin" "$scratch/tmp"
for program in bash env sed grep head sort mktemp rm mkdir dirname cat paste awk true; do
    ln -s "$(type -P $program)" "$scratch/bin/$program"
done
failures=0
fake() { # fake PROGRAM: its script is read
    { echo '#!/bin/bash'; cat; } >"$scratch/bin/$1"
    chmod +x "$scratch/bin/$1"
}
run() { # run STATUS ARGUMENT...
    local status=0
    called="setup ${*:2}"
    rm -f "$scratch/asked"
    env -i PATH="$scratch/bin" TMPDIR="$scratch/tmp" SCRATCH="$scratch" LC_ALL=C "$setup" "${@:2}" >"$scratch/said" 2>&1 </dev/null ||
        status=$?
    [ $status = "$1" ] || fail "exit status $status, not $1"
}
fail() { failures=$((failures + 1)); printf 'FAILED: %s: %s: %s\n%s\n' "$state" "$called" "$1" "$(cat "$scratch/said")"; }
says() { grep -qF -- "$1" "$scratch/said" || fail "not said: $1"; }
says_not() { ! grep -qF -- "$1" "$scratch/said" || fail "said: $1"; }
asked() { grep -qE -- "$1" "$scratch/asked" || fail "not asked of apt-get: $1"; }

# A system on which all is installed but what $scratch/lacks names.
fake dpkg-query <<<'grep -qx -- "${!#}" "$SCRATCH/lacks" && exit 1; echo installed'
fake apt-cache <<<'exit 0'
fake apt-get <<'APT'
echo "$*" >>"$SCRATCH/asked"
case " $* " in *" --print-uris "*)
    printf '0 upgraded, 2 newly installed, 0 to remove and 0 not upgraded.\nNeed to get 9,876 kB/12.3 MB of archives.\n'
    printf 'After this operation, 1,234 MB of additional disk space will be used.\n'
    exit ;;
esac
for broken in $(cat "$SCRATCH/broken"); do [[ " $* " != *" $broken "* ]] || { echo "E: $broken"; exit 100; }; done
APT
fake id <<<'echo ${WHO-0}'
fake g++ <<<'case $1 in --version) echo "g++ (Debian) 12.2.0" ;; *) echo 12 ;; esac'
fake cmake <<<'echo "cmake version 3.25.1"'
fake ninja <<<'exit 0'

state='nothing is missing'
: >"$scratch/lacks" >"$scratch/broken"
run 0
says 'packages are installed'

state='root'
echo spin >"$scratch/lacks"
run 0
says 'setup: installing spin: 2 packages, 9,876 kB to fetch, 1,234 MB on the disk'
asked 'install .*spin$'
[ "$(grep ' install ' "$scratch/asked" | grep -vc -e ' --print-uris ')" = 1 ] || fail 'installs more than once'
echo update >"$scratch/broken"
run 1
says 'does the network work'
says 'try again: spin'
log=$(sed -n 's/.*All of it: //p' "$scratch/said")
[ -n "$log" ] && [ -f "$log" ] || fail 'the log that it names is gone'
echo clang-19 >"$scratch/lacks"
run 0
says 'setup: not installed, and not needed: clang-19'
printf 'spin\nclang-19\n' >"$scratch/lacks"
echo clang-19 >"$scratch/broken"
run 0
asked 'install .*spin$'
says 'setup: not installed, and not needed: clang-19'
echo spin >"$scratch/broken"
run 1
says 'apt-get said why'

state='not root, no sudo'
fake id <<<'echo 1000'
: >"$scratch/broken"
run 0
says 'setup: cannot install (not root, and no sudo); going on without: spin'
run 1 spin
says 'please install: spin'
echo clang-19 >"$scratch/lacks"
run 0
says 'not needed: clang-19'
[ ! -e "$scratch/asked" ] || fail 'apt-get was called'

state='not root, and sudo does not work'
fake sudo <<<'echo "sudo: a terminal is required to read the password" >&2; exit 1'
run 0
says 'not needed: clang-19'
echo spin >"$scratch/lacks"
run 0
says 'going on without: spin'
run 1 spin
fake sudo <<<'env "$@"'
state='not root, and sudo works'
run 0
asked 'install .*spin$'

state='what is there does not suffice'
rm "$scratch/bin/sudo"
fake cmake <<<'echo "cmake version 3.22.1"'
run 1
says 'setup: CMake is version 3.22.1'
fake cmake <<<'echo "cmake version 4.0.2"'
run 0
rm "$scratch/bin/ninja"
run 1
says 'there is no ninja'
fake ninja <<<'exit 0'
fake g++ <<<'echo 11'
run 0 --for demo
says 'setup: g++ is version 11; bough needs g++ 12 or later'
rm "$scratch/bin/g++"
run 1 --for demo
says 'setup: there is no compiler g++'
says_not 'command not found'

printf '%d failures\n' "$failures"
[ "$failures" = 0 ]
