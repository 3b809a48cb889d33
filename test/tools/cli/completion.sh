#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# bough help --man, and bough completion: what shells complete.
. "${0%/*}/expect.sh"

run 0 help --man
prints '.SH NAME'
prints '.SS bough choose'
if command -v man >/dev/null && command -v groff >/dev/null; then
    man --warnings=all -l "$scratch/out" >"$scratch/page" 2>"$scratch/err"
    [ ! -s "$scratch/err" ] || fail "troff warns"
fi
for shell in bash zsh fish; do run 0 completion $shell; done
run 0 completion bash

# completes "WORDS" EXPECTED: what bash offers for the last word.
completes() {
    local offered
    checks=$((checks + 1))
    command_line="completion of '$1'"
    offered=$(bash -c 'cd "$3"; source "$1"; COMP_WORDS=($2); [[ $2 != *" " ]] || COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _bough; echo "${COMPREPLY[*]}"' bash "$scratch/out" "$1" "$scratch")
    [ "$offered" = "$2" ] || fail "'$offered', not '$2'"
}
completes "bough sim" "simulate"
completes "bough tree --deg" "--degree"
completes "bough choose allr" "allreduce"
completes "bough help comp" "compare completion"

refuses "SHELL: there is no 'tcsh'; known are bash, zsh, fish" completion tcsh
