#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# bough doctor. What it finds in recordings: test/report and test/processes/recordings.cpp.
. "${0%/*}/expect.sh"

: >"$scratch/empty"
echo 'no recording, but a text that is long enough for the head of one' >"$scratch/text"
printf 'boughrec' >"$scratch/cut"
printf 'boughrec\007\000\000\000\001\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000' >"$scratch/other"
refuses "FILE: '$scratch/none' cannot be opened" doctor "$scratch/none"
refuses "FILE: '$scratch' cannot be read" doctor "$scratch"
refuses "FILE: '$scratch/empty': is empty" doctor "$scratch/empty"
refuses "FILE: '$scratch/text': is no recording of bough" doctor "$scratch/text"
refuses "FILE: '$scratch/cut': is cut: it ends in the first bytes of a recording" doctor "$scratch/cut"
refuses "FILE: '$scratch/other': is of another version of bough: format 7 with a head of 1 bytes" doctor "$scratch/other"
refuses "FILE is required" doctor
