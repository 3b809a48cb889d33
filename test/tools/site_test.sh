#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# Makes the playground and tries it: site_test.sh SOURCE_DIR OUTPUT. The library of the playground is asked
# from Node, and the page is opened in headless Chromium, if these are there. Nothing is installed.
set -u
root=$1 site=$2
command -v clang++-14 >/dev/null && [ -d /usr/include/wasm32-wasi/c++/v1 ] && command -v wasm-ld-14 >/dev/null &&
    [ -f /usr/include/nlohmann/json.hpp ] || {
    echo "skipped: compiling to WebAssembly needs the Debian packages that tools/site installs"
    exit 77
}
page=$site/playground.html
faults=0
skipped=
fail() { echo "FAILED: $*"; faults=1; }
BOUGH_SITE_OUTPUT=$site "$root/tools/site" --no-setup playground || exit 1
[ "$(stat -c %s "$page")" -lt 1000000 ] || fail "the page has a million bytes or more"
# What it draws itself is no load.
! sed 's/url(${canvas\.toDataURL()})//' "$page" | grep -qE '(src|href)="?https?:|@import|url\(' || fail "the page loads something from elsewhere"

node=$(command -v node || command -v nodejs || true)
if [ -n "$node" ]; then
    "$node" "$root/test/tools/playground.mjs" "$page" check || fail "the library in the page"
else
    skipped+=" node"
fi

if command -v chromium >/dev/null; then
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    # open LINK: what the page has become, in $scratch/dom. (As root Chromium has no sandbox.) Its
    # clock does not wait for WebAssembly to be compiled, so on a busy machine it is given more, and tried again.
    open() {
        local budget
        for budget in 5000 20000 80000 320000 320000 320000 640000 640000 640000 1280000 1280000 1280000; do
            timeout 120 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$scratch/profile" \
                --virtual-time-budget=$budget --window-size=360,780 --dump-dom "file://$page$1" \
                >"$scratch/dom" 2>"$scratch/log" || fail "Chromium ends with $? for '$1'"
            ! grep -q 'data-ready="1"' "$scratch/dom" || return 0
        done
    }
    has() { grep -qF -- "$1" "$scratch/dom" || fail "$link: the page lacks: $1"; }
    has_not() { ! grep -qF -- "$1" "$scratch/dom" || fail "$link: the page has: $1"; }
    link=
    open "$link"
    has 'data-ready="1"'
    has '>Proved right</h1>'
    has 'allreduce by recursive_doubling over 13 ranks'
    has 'bough::plan_allreduce('
    has 'send -&gt; 2 output[0..1)'
    link='#collective=reduce&algorithm=fnomial&degree=3&ranks=20&edit=3.1.drop&beside=binomial'
    open "$link"
    has 'Wrong: rank 3, step 2: reads block 0 of a buffer that holds nothing there'
    has 'class="fault"'
    has 'class="dropped"'
    has 'Timeline of binomial'
    has '0(1 2 3(4 5) 6(7 8)'
    link='#collective=alltoall&algorithm=bruck&ranks=9&edit=0.0.nonsense'
    open "$link"
    has '>Proved right</h1>'
    has 'is no change of a step'
    link='#ranks=100000'
    open "$link"
    has 'data-ready="1"'
    has 'needs a number from 1 to 256'
    link='#collective=reduce&algorithm=of_another_version&rank=-1'
    open "$link"
    has '>Proved right</h1>'
    has 'The link asks for reduce by "of_another_version", which this page does not have.'
    has 'aria-label="Delete step 0 of rank 0"'
    link='#collective=neighbour_allgather'
    open "$link"
    has 'The link asks for the collective "neighbour_allgather", which this page does not have.'
    link='#ranks=8&%'
    open "$link"
    has 'over 8 ranks'
    has 'The link has "%", which means nothing here.'
    # By keyboard, at three widths, with changes, the link and the map.
    [ -z "$node" ] || "$node" "$root/test/tools/browser.mjs" "$page" "$(command -v chromium)" check ||
        fail "the page, used as by a visitor"
else
    skipped+=" chromium"
fi
[ -z "$skipped" ] || echo "left out, as not installed:$skipped"
exit $faults
