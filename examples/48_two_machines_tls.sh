#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Rehearses two machines on one, inside TLS, with an authority for this job alone.   48_two_machines_tls.sh PROGRAM
set -eu
program=$(realpath "$1")
folder=$(mktemp -d) second=
trap 'kill $second 2>/dev/null || :; rm -rf "$folder"' EXIT # no key stays, and no rank
trap 'exit 1' INT TERM
cd "$folder"

umask 077
openssl rand -hex 32 >job.key
printf '127.0.0.1 47003\n127.0.0.2 47003\n' >hosts

# The authority: its private key, ca.key, stays where it is. Everybody gets ca.pem.
openssl req -x509 -newkey ed25519 -nodes -days 30 -subj '/CN=job' -keyout ca.key -out ca.pem 2>log
# Of each rank: a private key, which only its machine has, and a certificate.
for rank in 0 1; do
    openssl req -newkey ed25519 -nodes -subj "/CN=rank $rank" -keyout $rank.key -out $rank.csr 2>>log
    openssl x509 -req -in $rank.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -out $rank.pem 2>>log
done

"$program" 1 hosts job.key 1.pem 1.key ca.pem &
second=$!
"$program" 0 hosts job.key 0.pem 0.key ca.pem
wait $second
