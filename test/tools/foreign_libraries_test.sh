#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# Tests tools/foreign_libraries with an apt-get and a dpkg of its own: foreign_libraries_test.sh TOOLS_DIRECTORY. Nothing
# is fetched.
set -u
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/tree/tools" "$scratch/bin"
cp "$1/foreign_libraries" "$1/progress" "$scratch/tree/tools"
failures=0
fail() { failures=$((failures + 1)); printf 'FAILED: %s\n%s\n' "$1" "$(cat "$scratch/said")"; }
fake() { # fake PROGRAM: its script is read
    { echo '#!/bin/bash'; cat; } >"$scratch/bin/$1"
    chmod +x "$scratch/bin/$1"
}
run() { # run STATUS ARGUMENT...
    local status=0
    rm -f "$scratch/asked"
    SCRATCH=$scratch PATH=$scratch/bin:$PATH "$scratch/tree/tools/foreign_libraries" "${@:2}" >"$scratch/said" 2>&1 || status=$?
    [ $status = "$1" ] || fail "${*:2}: exit status $status, not $1"
}
fake apt-get <<'APT'
echo "$*" >>"$SCRATCH/asked"
[ ! -e "$SCRATCH/broken" ] || exit 100
case $* in
*' update') exit "$(cat "$SCRATCH/update" 2>/dev/null || echo 0)" ;;
*' download libssl-dev libboost9.9-dev') touch libssl-dev.deb libboost9.9-dev.deb ;;
*) exit 100 ;;
esac
APT
fake apt-cache <<'APT'
printf 'libboost-dev\n  Depends: libboost9.9-dev\n'
APT
fake dpkg <<'DPKG' # dpkg -x PACKAGE FOLDER
mkdir -p "$3/usr/include/openssl" "$3/usr/include/x-linux-gnu/openssl" "$3/usr/lib/x-linux-gnu"
touch "$3/usr/include/x-linux-gnu/openssl/configuration.h" "$3"/usr/lib/x-linux-gnu/libcrypto.{a,so}
DPKG

of=$scratch/tree/build/libraries
run 2
run 2 vax
[ ! -e "$of" ] || fail 'something is begun for a machine that is not known'

touch "$scratch/broken"
run 100 i686
[ ! -e "$of/i686/complete" ] || fail 'it is complete without packages'
rm "$scratch/broken"

echo 100 >"$scratch/update" # a list could not be fetched; the packages can
run 0 i686
grep -q 'APT::Architecture=i386 .* download ' "$scratch/asked" || fail "not asked for i386: $(cat "$scratch/asked")"
[ -e "$of/i686/usr/include/openssl/configuration.h" ] || fail 'a header of that processor is not beside the others'
[ -e "$of/i686/usr/lib/x-linux-gnu/libcrypto.a" ] || fail 'there is no static library'
[ ! -e "$of/i686/usr/lib/x-linux-gnu/libcrypto.so" ] || fail 'a shared library is left, and would be found first'

run 0 i686
[ ! -e "$scratch/asked" ] || fail "what is there is fetched again: $(cat "$scratch/asked")"
run 0 aarch64
grep -q 'APT::Architecture=arm64 ' "$scratch/asked" || fail "not asked for arm64: $(cat "$scratch/asked")"
[ $failures = 0 ]
