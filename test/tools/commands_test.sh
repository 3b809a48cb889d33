#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# Every command that a document names exists: commands_test.sh SOURCE_DIR [TOOL]
#
# In code of the Markdown files, `bough COMMAND --option ...` must be a command of the tool with this option, and
# `tools/SCRIPT --option` one of that script. Commands of the tool within the text that say everything, ranks included, and need
# no file, are run; those in blocks are run by test/style/quotes. Without TOOL only scripts are looked at.
set -u
tool=${2:+$(realpath "$2")}
cd "$1" || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
faults=0
found=0
ran=0
fault() {
    echo "$1"
    faults=1
}

# help_of COMMAND: what it says of itself, kept; fails if there is none.
help_of() {
    [ -f "$scratch/help.$1" ] || "$tool" "$1" --help >"$scratch/help.$1" 2>/dev/null || rm -f "$scratch/help.$1"
    [ -f "$scratch/help.$1" ]
}

check_tool() { # check_tool WHERE COMMAND_LINE
    local where=${1#block } words word command
    read -ra words <<<"$2"
    command=${words[1]-}
    [[ $command =~ ^[a-z_]+$ ]] || return 0
    found=$((found + 1))
    help_of "$command" || { fault "$where: there is no 'bough $command'"; return; }
    for word in "${words[@]:2}"; do
        [[ $word =~ ^(--[a-z-]+|-[a-z])$ ]] || continue
        [ "$command $word" != 'launch --its' ] && [ "$command $word" != 'launch --arguments' ] || continue
        grep -qE -- "(^|[ ,])$word([ ,=]|\$)" "$scratch/help.$command" ||
            fault "$where: 'bough $command' has no option $word"
    done
    # Said in full, with what is here: run it.
    [ "$where" = "$1" ] || return 0
    case $2 in *json* | *[\|\>\\\'\"]* | *[A-Z][A-Z]* | *' '[A-Z]* | *program* | *.pem* | *rxe* | *fabric* | *pmix* | *' n'* | *mpi*) return ;; esac
    case $2 in *--ranks*) ;; *) return ;; esac
    case $command in measure | run | tune) return ;; esac # those take long, and print times
    ran=$((ran + 1))
    (cd "$scratch" && timeout 120 "$tool" "${words[@]:1}" >out 2>err) ||
        fault "$where: '$2' ends with $?: $(head -n 1 "$scratch/err")"
}

check_script() { # check_script WHERE COMMAND_LINE
    local where=${1#block } words word
    read -ra words <<<"$2"
    found=$((found + 1))
    [ -x "${words[0]}" ] || { fault "$where: ${words[0]} is no program"; return; }
    for word in "${words[@]:1}"; do
        [[ $word =~ ^--[a-z-]+$ ]] || continue
        grep -qF -- "$word" "${words[0]}" || fault "$where: ${words[0]} does not know $word"
    done
}

while IFS=$'\t' read -r where line; do
    line=${line#\$ }
    case $line in
    bough\ *) [ -z "$tool" ] || check_tool "$where" "$line" ;;
    tools/*) check_script "$where" "$line" ;;
    benchmark/*/run*) check_script "$where" "$line" ;;
    esac
done < <({
    find . -maxdepth 1 -name '*.md'
    find doc -name '*.md'
} | sed 's|^\./||' | LC_ALL=C sort | awk '
    function say(text) {
        sub(/^[ \t]+/, "", text)
        sub(/   .*/, "", text)
        print (inside ? "block " : "") document ":" number "\t" text
    }
    {
        document = $0
        number = inside = 0
        while ((getline line < document) > 0) {
            ++number
            if (line ~ /^```/) { inside = !inside; continue }
            if (inside || line ~ /^    /) { say(line); continue }
            while (match(line, /`[^`]+`/)) {
                say(substr(line, RSTART + 1, RLENGTH - 2))
                line = substr(line, RSTART + RLENGTH)
            }
        }
        close(document)
    }')
[ $found -gt 0 ] || fault "no document names a command"
echo "$found commands looked at, $ran run"
exit $faults
