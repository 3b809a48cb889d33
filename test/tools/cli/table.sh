#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# bough table.
. "${0%/*}/expect.sh"

run 0 table
prints "Every plan is proved for 13 ranks"
prints_not WRONG
run 0 table --ranks 8 --format markdown
prints "| allreduce      | \`recursive_doubling\`"
json table --ranks 5 --json
run 0 table --ranks 1
prints_not WRONG

refuses "--ranks: needs a number from 1 to" table --ranks 0
refuses "--ranks: needs a number from 1 to" table --ranks 1000000
