#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# tools/figures --check must be able to fail: on tables, and on pictures.   figures_test.sh SOURCE_DIR
set -eu
figures=$1/tools/figures
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
papers=$scratch/doc/papers
made=$scratch/made
mkdir -p "$papers/data" "$scratch/benchmark/figures/plots" "$made"
for i in 1 2 3 4 5 6 7 8 9 10; do printf 'a,b\n%s,1.5\n' $i >"$papers/data/$i.csv"; done
# Lines as gnuplot writes them: a mark goes on over several lines.
cat >"$papers/a.svg" <<'END'
<svg
 width="860" height="520">
<desc>Produced by GNUPLOT 5.4 patchlevel 4 </desc>
<path stroke='rgb(80, 80, 80)' d='M10.5,20 L30.25,-4
 L7,8'/>
<text x="12.5" y="3" fill="#6baed6">13 ranks, 1.41</text>
</svg>
END
cp "$papers/a.svg" "$papers/b.svg"

# expect good|bad|other NAME [SED_COMMAND]: what is said when made/a.svg is a.svg changed so. other: not compared.
expect() {
    cp "$papers"/data/*.csv "$papers"/*.svg "$made"
    sed -i "${3-}" "$made/a.svg"
    judge "$1" "$2"
}
judge() {
    if BOUGH_FIGURES_ROOT="$scratch" "$figures" --check "$made" >"$scratch/out" 2>&1; then found=good; else found=bad; fi
    if [ $found = good ] && grep -q 'were not compared' "$scratch/out"; then found=other; fi
    if [ $found != "$1" ]; then
        echo "figures_test: $2: expected $1, found $found"
        cat "$scratch/out"
        exit 1
    fi
}
expect good "the same"
expect good "the last digit of a place" 's/30.25/30.21/'
expect bad "another place" 's/30.25/30.35/'
expect bad "another place in the second line of a mark" 's/L7,8/L7,9/'
expect bad "another sign" 's/,-4/,4/'
expect bad "another colour" 's/6baed6/6baed7/'
expect bad "another number in a text" 's/1\.41/1.42/'
expect bad "another word" 's/ranks/nodes/'
expect bad "another mark" 's/M10/L10/'
expect bad "a line less" '/L7,8/d'
expect bad "a line more" '1s/^/<g>\n/'
expect bad "a line more at the end" '$s/$/\n<g>/'
expect other "drawn by another gnuplot" 's/5\.4/6.0/; s/ranks/nodes/'
expect good "as it was"
rm "$made/a.svg"
judge other "not drawn"
expect good "as it was"
cp "$made/a.svg" "$made/c.svg"
judge bad "a picture that is not kept"
rm "$made/c.svg"
sed -i 's/1\.5/1.6/' "$made/3.csv"
judge bad "another number in a table"
