#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# bough map.
. "${0%/*}/expect.sh"

run 0 map allreduce --ranks 2..9 --bytes 8..64K
prints "The fastest allreduce by ranks and bytes"
lines 8 '^ +[2-9]  ([A-Z] ){14}'
json map broadcast --ranks 2..4 --bytes 8..1K --json
run 0 map reduce --ranks 2..5 --bytes 8..1K --model 100,1,1 --format svg
prints "<svg xmlns="
prints "</svg>"
if command -v python3 >/dev/null; then
    python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$scratch/out" || fail "not XML"
fi
run 0 map allreduce --ranks 13..13 --bytes 64K..64K --require order --eager 0
prints "gamma 0.25 ns/byte; eager up to 0 bytes"
prints "per_level  (1 of 1)"
run 0 map barrier --ranks 2..4
prints "    0 bytes"
run 0 map allreduce --ranks 2..4 --bytes 8,1000
prints "    8, 1000 bytes"

# A model whose best trees are not flat.
printf '{"model":{"message_latency_ns":2100,"receive":{"base_ns":420,"per_byte_ns":0},"combine":{"base_ns":1500,"per_byte_ns":0},"startup_ns":0}}' >"$scratch/model.json"
run 0 map reduce --ranks 16..64 --bytes 8..8 --model "$scratch/model.json"
prints_not "flat"
prints "fnomial{.degree = "
[ "$(grep -c ' of 49)$' "$scratch/out")" = "$(sed -n 's/^  \([A-Z]\)  .* of 49)$/\1/p' "$scratch/out" | sort -u | wc -l)" ] ||
    fail "two algorithms with one letter"

refuses "--bytes: a range begins at 1 or more" map allreduce --bytes 0..8
refuses "--bytes: the range '64..8' ends before it begins" map allreduce --bytes 64..8
refuses "--model: a cost is infinite, negative or not a number" map reduce --ranks 3..4 --bytes 1M..1M --model 1e308,1,1e308
refuses "--ranks: at most 1024" map allreduce --ranks 2..2000
