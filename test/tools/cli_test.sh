#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# Tests the command line: cli_test.sh PROGRAM. Checks outputs, exit statuses, the sentences of errors, and that JSON is JSON.
set -u
bough=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
checks=0

fail() {
    failures=$((failures + 1))
    printf 'FAILED: %s\n' "$1"
    printf '  standard output: %s\n' "$(head -c 600 "$scratch/out")"
    printf '  standard error:  %s\n' "$(head -c 600 "$scratch/err")"
}

# run STATUS ARGUMENTS...: the exit status must be STATUS.
run() {
    local expected=$1 status=0
    shift
    checks=$((checks + 1))
    command_line="bough $*"
    "$bough" "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
    [ "$status" = "$expected" ] || fail "$command_line: exit status $status, not $expected"
}

# The last run must have printed this (a fixed string), somewhere; or exactly this; or not this.
prints() { grep -qF -- "$1" "$scratch/out" || fail "$command_line: did not print '$1'"; }
prints_exactly() { [ "$(cat "$scratch/out")" = "$1" ] || fail "$command_line: did not print exactly '$1'"; }
prints_not() { ! grep -qF -- "$1" "$scratch/out" || fail "$command_line: printed '$1'"; }

# refuses SENTENCE ARGUMENTS...: exit status 2, nothing on standard output, one line with SENTENCE on standard error.
refuses() {
    local sentence=$1
    shift
    run 2 "$@"
    grep -qF -- "bough: $sentence" "$scratch/err" || fail "$command_line: did not say 'bough: $sentence'"
    [ "$(wc -l <"$scratch/err")" = 1 ] || fail "$command_line: said more than a line"
    [ ! -s "$scratch/out" ] || fail "$command_line: printed something beside the error"
}

json() {
    run 0 "$@"
    if command -v python3 >/dev/null; then
        python3 -m json.tool "$scratch/out" >/dev/null 2>&1 || fail "$command_line: not JSON"
    fi
}

# --- The whole ---
run 0
for command in tree schedule verify table choose map measure tune run demo; do
    prints "  $command "
    run 0 "$command" --help
    [ "$(grep -c "^  bough $command" "$scratch/out")" -ge 2 ] || fail "bough $command --help: shows no two examples"
    run 0
done
run 0 --help
run 0 --version
grep -qE '^bough [0-9]+\.[0-9]+\.[0-9]+$' "$scratch/out" || fail "bough --version: no version"
refuses "'draw': is not a command; known are tree, schedule, verify, table" draw
refuses "'--fast': is not an argument of 'bough tree'" tree flat --ranks 3 --fast

# --- tree ---
run 0 tree fnomial --degree 3 --ranks 9
prints_exactly "0(1 2 3(4 5) 6(7 8))"
run 0 tree binomial --ranks 7 --root 3 --ordered
prints_exactly "3(2 4 1(0) 5(6))"
run 0 tree binomial_high --ranks 8
prints_exactly "0(4 2(6) 1(5 3(7)))"
run 0 tree degree_k --degree 3 --ranks 6
prints_exactly "0(1 2 3 4(5))"
run 0 tree kary --degree 2 --ranks 7
prints_exactly "0(2(6 5) 1(4 3))"
run 0 tree chain --ranks 4
prints_exactly "0(1(2(3)))"
run 0 tree flat --ranks 1
prints_exactly "0"
json tree binomial --ranks 4 --json
prints_exactly '{"size":4,"root":0,"parent":[0,0,0,2],"children":[[2,1],[],[3],[]]}'
json tree chain --ranks 300 --root 7 --format json
run 0 tree flat --ranks 3 --format dot
prints "digraph tree {"
prints "0 -> 2 [label=0];"
refuses "--ranks: needs a number from 1 to" tree flat --ranks 0
refuses "--ranks: needs a whole number, not '-3'" tree flat --ranks -3
refuses "--ranks: needs a whole number, not 'many'" tree flat --ranks many
refuses "--ranks: needs a number from 1 to" tree flat --ranks 4294967295
refuses "--ranks: needs a number from 1 to" tree flat --ranks 99999999999999999999999
refuses "--ranks is required" tree flat
refuses "SHAPE is required" tree
refuses "SHAPE: there is no 'oak'; known are binomial, binomial_high, fnomial, degree_k, kary, chain, flat" tree oak --ranks 3
refuses "--root: needs a number from 0 to 2, not '3'" tree flat --ranks 3 --root 3
refuses "--degree: an f-nomial tree needs a degree of at least 2" tree fnomial --degree 1 --ranks 3
refuses "--degree: a degree-k tree needs a k of at least 1" tree degree_k --degree 0 --ranks 3
refuses "--degree: a k-ary tree needs an arity of at least 1" tree kary --degree 0 --ranks 3
refuses "--degree: chain has no degree to choose" tree chain --degree 2 --ranks 3
refuses "--ordered: kary{.arity = 2} cannot keep rank order" tree kary --ordered --ranks 3
refuses "--format: there is no 'svg'; known are outline, json, dot" tree flat --ranks 3 --format svg

# --- schedule ---
run 0 schedule allreduce recursive_doubling --ranks 3
prints "allreduce by recursive_doubling over 3 ranks, root 0, 1 block"
prints "combine       output[0..1) = op(scratch0[0..1), input[0..1))  after 0, 1"
run 0 schedule reduce fnomial --degree 4 --ranks 4294967294 --rank 4294967293
prints "send"
prints_not "rank 0"
run 0 schedule reduce binomial --ranks 1
prints "copy"
json schedule broadcast binomial --ranks 5 --blocks 2 --root 2 --json
prints '"verb":"send","peer":'
json schedule barrier dissemination --ranks 5 --rank 4 --format json
prints '"rank": 4'
prints_not '"rank": 3'
refuses "COLLECTIVE: there is no 'alltosome'; known are reduce, allreduce, broadcast, barrier, gather" schedule alltosome flat --ranks 3
refuses "ALGORITHM: reduce has no 'oak'; known are binomial, binomial_high, fnomial, degree_k, kary, chain, flat" schedule reduce oak --ranks 3
refuses "ALGORITHM: scan has no 'flat'; known are recursive_doubling" schedule scan flat --ranks 3
refuses "ALGORITHM: reduce has no 'recursive_doubling'" schedule reduce recursive_doubling --ranks 3
refuses "ALGORITHM: allreduce has no 'dissemination'" schedule allreduce dissemination --ranks 3
refuses "--degree: recursive_doubling has no degree" schedule allreduce recursive_doubling --degree 2 --ranks 3
refuses "--ordered: recursive_doubling is no tree" schedule allreduce recursive_doubling --ordered --ranks 3
refuses "--ranks: needs a number from 1 to" schedule reduce flat --ranks 0
refuses "--ranks: that is too much to write out" schedule reduce flat --ranks 4294967294
refuses "--ranks: that is too much to write out" schedule reduce flat --ranks 4294967294 --rank 0
refuses "--rank: needs a number from 0 to 3, not '4'" schedule reduce flat --ranks 4 --rank 4
refuses "--root: there is no rank 4 among 4 ranks" schedule reduce flat --ranks 4 --root 4
refuses "--blocks: needs a number from 1 to" schedule reduce flat --ranks 4 --blocks 0
refuses "--blocks: that is too much to write out" schedule reduce flat --ranks 4 --blocks 4000000
refuses "--blocks: a barrier has exactly one block" schedule barrier flat --ranks 4 --blocks 2

# --- verify ---
run 0 verify allreduce recursive_doubling --ranks 13
prints "13 ranks, root 0, 1 block: proved"
grep -qE '^  rounds +5 ' "$scratch/out" || fail "$command_line: not 5 rounds"
for shape in binomial binomial_high fnomial degree_k kary chain flat; do
    run 0 verify reduce "$shape" --ranks 1..20 --blocks 2
    prints "proved for each of 20 sizes"
    run 0 verify allreduce "$shape" --ranks 7 --root 3
    run 0 verify broadcast "$shape" --ranks 7 --root 3
    run 0 verify barrier "$shape" --ranks 7
done
run 0 verify reduce fnomial --ranks 9 --root 4
grep -qE '^  needs_commutative +yes ' "$scratch/out" || fail "$command_line: rank order with a relabelled root?"
run 0 verify reduce fnomial --ranks 9 --root 4 --ordered
grep -qE '^  needs_commutative +no ' "$scratch/out" || fail "$command_line: no rank order"
run 0 verify barrier dissemination --ranks 1..64
json verify reduce chain --ranks 1..3 --json
prints '"right": true'
refuses "--ranks: the range '5..3' ends before it begins" verify reduce flat --ranks 5..3
refuses "--ranks: needs a whole number, not ''" verify reduce flat --ranks 5..
refuses "--ranks: that is too much to write out or to prove" verify reduce flat --ranks 1..99999999
refuses "--root: there is no rank 2 among 1 rank" verify reduce flat --ranks 1..4 --root 2
refuses "COLLECTIVE is required" verify

# A file: what schedule wrote is right, and each change of it is found.
json schedule allreduce fnomial --ranks 7 --blocks 2 --json
good=$scratch/good.json
bad=$scratch/bad.json
cp "$scratch/out" "$good"
run 0 verify --schedule "$good"
prints "proved"
sed 's/"peer": *1\b/"peer":2/' "$good" >"$bad"
run 1 verify --schedule "$bad"
prints "no send for this receive"
run 1 verify --schedule "$bad" --json
prints '"name":"unmatched_receive"'
sed 's/"first": *1\b/"first":77/' "$good" >"$bad"
run 1 verify --schedule "$bad"
prints "leaves the vector"
sed 's/"buffer": *"output"/"buffer":"input"/g' "$good" >"$bad"
run 1 verify --schedule "$bad"
sed 's/"peer": *1\b/"peer":4294967295/' "$good" >"$bad"
run 1 verify --schedule "$bad"
sed 's/"send"/"shout"/' "$good" >"$bad"
refuses "file '$bad': there is no verb 'shout'" verify --schedule "$bad"
sed 's/"scratch1"/"scratch99999999"/' "$good" >"$bad"
refuses "file '$bad': needs a number from 0 to" verify --schedule "$bad"
sed 's/"size": *7/"size":8/' "$good" >"$bad"
refuses "file '$bad': \"ranks\" does not list every rank" verify --schedule "$bad"
sed 's/"size": *7/"size":-7/' "$good" >"$bad"
refuses "file '$bad': \"size\" is not a number from" verify --schedule "$bad"
head -c 500 "$good" >"$bad"
refuses "file '$bad': is not JSON" verify --schedule "$bad"
echo '[1, 2]' >"$bad"
refuses "file '$bad': lacks \"collective\"" verify --schedule "$bad"
refuses "file '$scratch/none': cannot be opened" verify --schedule "$scratch/none"
refuses "file '$scratch': cannot be" verify --schedule "$scratch"
refuses "--schedule: the file says what it is" verify reduce flat --ranks 3 --schedule "$good"

# --- table ---
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

# --- choose ---
run 0 choose allreduce --ranks 13 --bytes 64K
prints "allreduce over 13 ranks, 65536 bytes: "
prints "candidates, the model expects it to be the fastest"
prints "model: alpha 5.00 us, beta 1 ns/byte, gamma 0.25 ns/byte"
run 0 choose allreduce --ranks 13 --bytes 64K --require order,bits --all
prints "does not keep rank order, and that is required"
prints_not "at least"
run 0 choose allreduce --ranks 8 --bytes 8 --model 1000000,0,0
prints "recursive_doubling, 3.00 ms"
for collective in reduce broadcast barrier gather scatter reduce_scatter allgather scan exscan alltoall; do
    run 0 choose "$collective" --ranks 7 --bytes 8,1M
    prints "$collective over 7 ranks"
done
json choose reduce --ranks 9 --root 4 --bytes 8,64K --json
prints '"root": 4'
printf '{"model":{"message_latency_ns":100,"receive":{"base_ns":1,"per_byte_ns":0.5},"combine":{"base_ns":1,"per_byte_ns":0.5},"startup_ns":0}}' >"$scratch/model.json"
run 0 choose allreduce --ranks 4 --bytes 8 --model "$scratch/model.json"
prints "model: L 0.10 us"
printf '{"alpha_ns":1000,"beta_ns_per_byte":0.5,"gamma_ns_per_byte":-1}' >"$scratch/model.json"
refuses "--model: file '$scratch/model.json' has no cost \"gamma_ns_per_byte\"" choose allreduce --ranks 4 --model "$scratch/model.json"
refuses "--model: needs a file, or three costs as 5000,1,0.25" choose allreduce --ranks 4 --model 1,2
refuses "--model: needs a file, or three costs" choose allreduce --ranks 4 --model 1,2,3,4
refuses "--model: needs a file, or three costs" choose allreduce --ranks 4 --model 1,-2,3
refuses "--model: file 'none' cannot be opened" choose allreduce --ranks 4 --model none
refuses "--require: there is no 'luck'; known are order, bits, any_size" choose allreduce --ranks 4 --require luck
refuses "--ranks is required" choose allreduce
refuses "--table: file '$scratch/model.json' holds no table" choose allreduce --ranks 4 --table "$scratch/model.json"

# --- map ---
run 0 map allreduce --ranks 2..9 --bytes 8..64K
prints "The fastest allreduce by ranks and bytes"
[ "$(grep -cE '^ +[2-9]  ([A-Z] ){14}' "$scratch/out")" = 8 ] || fail "$command_line: not 8 rows of 14 cells"
json map broadcast --ranks 2..4 --bytes 8..1K --json
run 0 map reduce --ranks 2..5 --bytes 8..1K --model 100,1,1 --format svg
prints "<svg xmlns="
prints "</svg>"
if command -v python3 >/dev/null; then
    python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$scratch/out" || fail "$command_line: not XML"
fi
refuses "--bytes: a range begins at 1 or more" map allreduce --bytes 0..8
refuses "--bytes: the range '64..8' ends before it begins" map allreduce --bytes 64..8
refuses "--ranks: at most 1024" map allreduce --ranks 2..2000

# --- tune ---
json tune allreduce --ranks 2..3 --bytes 8,1K --iterations 3
cp "$scratch/out" "$scratch/tuned.json"
prints '"algorithm":"recursive_doubling"'
run 0 choose allreduce --ranks 3 --bytes 64 --table "$scratch/tuned.json"
prints "by the table: allreduce over 3 ranks, 64 bytes: "
prints "it was measured as the fastest"
refuses "--ranks: at most 64" tune allreduce --ranks 2..100
refuses "--bytes: 1G on each of 4 ranks is too much" tune allreduce --ranks 4 --bytes 8,1G
refuses "--transport: there is no 'pigeon'" tune allreduce --transport pigeon
sed 's/"ranks":2/"ranks":-2/' "$scratch/tuned.json" >"$scratch/bad.json"
refuses "--table: file '$scratch/bad.json' has a row whose \"ranks\" is not a number" choose allreduce --ranks 3 --table "$scratch/bad.json"

# --- measure ---
run 0 measure --ranks 4 --iterations 5
prints "C  before the first message"
prints "c  to combine it"
json measure --transport in_process --ranks 3 --iterations 5 --json
prints '"message_latency_ns"'
refuses "--ranks: needs a number from 3 to" measure --ranks 2
refuses "--ranks: needs a number from 3 to" measure --ranks 1000
refuses "--iterations: needs a number from 1 to" measure --iterations 0
refuses "--transport: there is no 'pigeon'; known are in_process" measure --transport pigeon
run 0 measure --model alpha_beta_gamma --ranks 3 --iterations 3
json measure --model alpha_beta_gamma --ranks 3 --iterations 3 --json
refuses "--model: there is no 'abacus' to measure; known are lrc, alpha_beta_gamma" measure --model abacus

# --- run ---
run 0 run allreduce --ranks 4 --bytes 8,4K,64K --iterations 5
prints "right: $((4 * 5 * (1 + 512 + 8192))) elements"
run 0 run reduce --ranks 5 --root 3 --bytes 0,24 --iterations 5 --algorithm all --op min --type i32
prints_not "recursive_doubling"
prints "fnomial{.degree = 8}"
run 0 run broadcast --ranks 5 --root 4 --bytes 1K --iterations 5 --algorithm fnomial --degree 3
prints "fnomial{.degree = 3}"
run 0 run barrier --ranks 3 --iterations 5 --algorithm all
prints "dissemination"
run 0 run allreduce --ranks 1 --bytes 8 --iterations 5 --op multiplies --type f32
json run allreduce --ranks 3 --bytes 8 --iterations 5 --op bit_xor --type u64 --algorithm recursive_doubling --json
prints '"right": true'
for collective in gather scatter reduce_scatter allgather scan exscan alltoall; do
    run 0 run "$collective" --ranks 3 --bytes 72,7200 --iterations 5 --algorithm all
    prints "right: "
done
run 0 run alltoall --ranks 4 --bytes 1K --iterations 5 --algorithm pairwise
prints "right: $((4 * 5 * 1024 / 8 / 4)) elements"
refuses "COLLECTIVE: there is no 'scatterv'" run scatterv --ranks 3
refuses "ALGORITHM: reduce has no 'oak'" run reduce --ranks 3 --algorithm oak
refuses "--ranks: needs a number from 1 to" run reduce --ranks 0
refuses "--ranks: needs a number from 1 to" run reduce --ranks 100000
refuses "--root: needs a number from 0 to 2" run reduce --ranks 3 --root 3
refuses "--bytes: needs a whole number, not 'big'" run reduce --ranks 3 --bytes big
refuses "--bytes: needs a whole number, not ''" run reduce --ranks 3 --bytes 8,,8
refuses "--bytes: needs a number from 0 to" run reduce --ranks 3 --bytes 99999999999999G
refuses "--bytes: 12 bytes are no whole number of f64" run reduce --ranks 3 --bytes 12
refuses "--bytes: 64G on each of 3 ranks is too much" run reduce --ranks 3 --bytes 64G
refuses "--op: there is no 'divides'; known are plus" run reduce --ranks 3 --op divides
refuses "--op: bit_or makes no sense on f64" run reduce --ranks 3 --op bit_or
refuses "--type: there is no 'f16'; known are f64" run reduce --ranks 3 --type f16
refuses "--degree: goes with one algorithm, not with auto" run reduce --ranks 3 --degree 3
refuses "--transport: there is no 'tcp'" run reduce --ranks 3 --transport tcp
refuses "--iterations: needs a whole number" run reduce --ranks 3 --iterations lots

# --- demo ---
numbers=$scratch/numbers.txt
printf '# four numbers\n1.5 -2\n3 # and not 100\n\n1e1\n' >"$numbers"
run 0 demo "$numbers"
prints "4 numbers, lowest -2, highest 10, mean 3.125"
prints "5. Check against one thread that adds them up in order: right"
[ "$(wc -l <"$scratch/out")" -le 60 ] || fail "$command_line: longer than 60 lines"
(cd "$(dirname "$0")" && "$bough" demo) >"$scratch/out" 2>"$scratch/err" || fail "bough demo: exit status $?"
prints "2016 numbers from"
prints ": right"
printf '1.5\n2.5 three\n' >"$numbers"
refuses "file '$numbers': line 2: 'three' is not a number" demo "$numbers"
printf '1 inf\n' >"$numbers"
refuses "file '$numbers': line 1: 'inf' is not a number" demo "$numbers"
printf '# nothing\n' >"$numbers"
refuses "file '$numbers': holds no numbers" demo "$numbers"
refuses "file '$scratch/none': cannot be opened" demo "$scratch/none"
refuses "file '$scratch': cannot be opened" demo "$scratch"

printf '%d runs, %d failures\n' "$checks" "$failures"
[ "$failures" = 0 ]
