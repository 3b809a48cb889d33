#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Rehearses two machines on one: two processes, each at an address of its own.   47_two_machines.sh PROGRAM
set -eu
program=$(realpath "$1")
folder=$(mktemp -d) second=
trap 'kill $second 2>/dev/null || :; rm -rf "$folder"' EXIT # no key stays, and no rank
trap 'exit 1' INT TERM
cd "$folder"

umask 077                                            # a key that others may read is refused
openssl rand -hex 32 >job.key                        # make it once, and copy it: scp job.key second:
printf '127.0.0.1 47001\n127.0.0.2 47001\n' >hosts   # the same file on both: the real addresses, any free port

"$program" 1 hosts job.key &                         # on the second machine
second=$!
"$program" 0 hosts job.key                           # on the first; which of the two begins does not matter
wait $second
