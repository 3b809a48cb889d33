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
for command in tree compare schedule verify table choose map measure simulate tune predict run launch timeline nic export import demo completion help; do
    prints "  $command "
    run 0 "$command" --help
    [ "$(grep -c "^  bough $command" "$scratch/out")" -ge 2 ] || fail "bough $command --help: shows no two examples"
    run 0
done
run 0 --help
run 0 --version
grep -qE '^bough [0-9]+\.[0-9]+\.[0-9]+$' "$scratch/out" || fail "bough --version: no version"
refuses "'draw': is not a command; known are tree, compare, schedule, verify, table" draw
run 0 help
prints "  choose  "
run 0 help choose
prints "  bough choose allreduce --ranks 13 --bytes 64K"
refuses "COMMAND: there is no 'draw'; known are tree, compare" help draw
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
prints_exactly '{"tree":"binomial","size":4,"root":0,"parent":[0,0,0,2],"children":[[2,1],[],[3],[]]}'
json tree chain --ranks 300 --root 7 --format json
run 0 tree flat --ranks 3 --format dot
prints "digraph tree {"
prints "0 -> 2 [label=0];"
run 0 tree binomial --ranks 8 --format svg
prints "binomial of 8, root 0"
prints "</svg>"
refuses "--ranks: needs a number from 1 to" tree flat --ranks 0
refuses "--ranks: needs a whole number, not '-3'" tree flat --ranks -3
refuses "--ranks: needs a whole number, not 'many'" tree flat --ranks many
refuses "--ranks: needs a number from 1 to" tree flat --ranks 4294967295
refuses "--ranks: needs a number from 1 to" tree flat --ranks 99999999999999999999999
refuses "--ranks is required" tree flat
refuses "--costs: does not change binomial, a shape" tree binomial --ranks 4 --costs 1,2
refuses "--latency: does not change flat, a shape" tree flat --ranks 4 --latency 5
refuses "--members: does not change chain, a shape" tree chain --ranks 4 --members 1
refuses "--costs: postal is made of --latency and --gap alone" tree postal --ranks 4 --latency 1 --gap 1 --costs 1,2
refuses "SHAPE is required" tree
refuses "SHAPE: there is no 'oak'; known are binomial, binomial_high, fnomial, degree_k, kary, chain, flat, spoc, fnf, search, optimal, interval, postal, arrival" tree oak --ranks 3
refuses "--ranks: is given once, not 2 times" tree flat --ranks 9 --ranks 8
refuses "--ranks: needs a value, P" tree flat --ranks
refuses "--root: needs a number from 0 to 2, not '3'" tree flat --ranks 3 --root 3
refuses "--degree: an f-nomial tree needs a degree of at least 2" tree fnomial --degree 1 --ranks 3
refuses "--degree: a degree-k tree needs a k of at least 1" tree degree_k --degree 0 --ranks 3
refuses "--degree: a k-ary tree needs an arity of at least 1" tree kary --degree 0 --ranks 3
refuses "--degree: chain has no degree to choose" tree chain --degree 2 --ranks 3
refuses "--ordered: kary{.arity = 2} cannot keep rank order" tree kary --ordered --ranks 3
refuses "--format: there is no 'png'; known are outline, json, dot, svg" tree flat --ranks 3 --format png

run 0 tree postal --ranks 8 --latency 2 --gap 1
prints_exactly "postal over 8 ranks, root 0: ends at 0.01 us
0(1 2 3 4 5(6 7))"
json tree postal --ranks 13 --root 4 --latency 2.1us --gap 1920 --json
prints '"root": 4'
run 0 tree arrival --arrivals 0,20us,0,0,15us,0,0 --latency 2.1us --gap 1920
prints "arrival over 7 ranks, root 1: ends at 21.9 us"
run 0 tree arrival --arrivals 0,20us,0 --root 0 --latency 2.1us --gap 1920 --format dot
prints "digraph tree {"
refuses "--arrivals: is required" tree arrival --latency 1 --gap 1
refuses "--arrivals: goes with the tree 'arrival'" tree postal --ranks 3 --latency 1 --gap 1 --arrivals 1,2,3
refuses "--gap is required" tree postal --ranks 3 --latency 1
refuses "--gap: needs a time above 0" tree postal --ranks 3 --latency 1 --gap 0
refuses "--gap: needs whole nanoseconds, not '0.5'" tree postal --ranks 3 --latency 1 --gap 0.5
refuses "--gap: goes with the trees postal and arrival" tree flat --ranks 3 --gap 1
refuses "--ranks is required" tree postal --latency 1 --gap 1
refuses "--ranks: there are times of 2 ranks" tree arrival --arrivals 1,2 --ranks 3 --latency 1 --gap 1
refuses "--root: needs a number from 0 to 1" tree arrival --arrivals 1,2 --root 2 --latency 1 --gap 1
refuses "--arrivals: needs a time as 300, 1.5us" tree arrival --arrivals 1,soon --latency 1 --gap 1

# --- trees of costs, compare ---
figure_1=100,300,300,300,300,100,300,300
run 0 tree fnf --costs $figure_1
prints_exactly "fnf over 8 ranks, root 0: 400, optimal
0(6 3 1 5(7 4 2))"
run 0 tree spoc --costs $figure_1
prints "spoc over 8 ranks, root 0: 500, at most 25 % above the optimum"
run 0 tree fnf --costs 1,4,4,4,3,4,2
prints "fnf over 7 ranks, root 0: 5, at most 25 % above"
run 0 tree optimal --costs 1,4,4,4,3,4,2
prints "optimal over 7 ranks, root 0: 4, optimal"
run 0 tree spoc --costs $figure_1 --root 3 --members 1,5,6
prints "3("
run 0 tree fnf --costs $figure_1 --format dot
prints '0 -> 5 [label="1: 100"];'
run 0 tree fnf --costs $figure_1 --format svg
prints ">4: 400</text>"
prints "no tree takes less than 400<"
run 0 tree spoc --costs $figure_1 --format svg
prints "no tree takes less than 400 (gap 25 %)"
json tree search --costs 5,6,7 --receive 1,2,3 --latency 2 --json
prints '"proven_optimal": true'
# Every tree has the same members; those of costs have more.
json tree spoc --costs 4,3,2,1 --root 3 --members 0,2 --json
prints '"tree": "spoc"'
prints '"size": 3'
prints '"root": 3'
prints '"parent": [3,3,3]'
prints '"children": [[0,2],[],[]]'
prints '"members": [3,0,2]'
run 0 compare --costs $figure_1
prints "  binomial         700        75.0 %  0(1 2(3) 4(5 6(7)))"
prints "  optimal          400         0.0 %"
prints_not interval
run 0 compare reduce --costs $figure_1 --receive $figure_1 --root all
prints interval
run 0 compare reduce --costs 100,500,100,300 --receive 100,200,200,200
prints "  binomial         700        16.7 %"
prints "  spoc             900        50.0 %"
prints "  optimal          600         0.0 %"
json compare allreduce --costs 1,2,3 --json
run 0 compare --costs 1
prints "broadcast among 1 rank, root 0"
cat >"$scratch/cluster.json" <<'END'
{"ranks":3,"costs":{"send":[1000,{"base_ns":2000,"per_byte_ns":0.5},3000],"receive":[1,2,3],"latency":10},
 "groups":[{"name":"fast","ranks":[0]}]}
END
run 0 tree fnf --cluster "$scratch/cluster.json" --bytes 1K
# A model like any other: rank 2 has the message after two sends of rank 0, its latency and its receive.
run 0 simulate broadcast flat --ranks 3 --model "$scratch/cluster.json"
prints "costs of 3 ranks"
prints "last rank ends    2.01 us"
run 0 choose broadcast --ranks 3 --bytes 8 --model "$scratch/cluster.json"
prints "model: costs of 3 ranks"
run 0 map broadcast --ranks 2..3 --bytes 8..16 --model "$scratch/cluster.json"
refuses "--model: has costs of 3 ranks only" choose broadcast --ranks 4 --bytes 8 --model "$scratch/cluster.json"
refuses "--model: has costs of 3 ranks only" simulate broadcast flat --ranks 4 --model "$scratch/cluster.json"
run 0 compare --cluster "$scratch/cluster.json" --bytes 8,64K
prints "    64K"
refuses "--costs: give the costs of the ranks" tree fnf
refuses "--costs: needs numbers with commas, not 'x'" tree fnf --costs 1,x
refuses "--ranks: there are costs of 2 ranks" tree fnf --costs 1,2 --ranks 3
refuses "--ranks is required" tree flat
refuses "--members: needs a number from 0 to 1" tree fnf --costs 1,2 --members 5
refuses "COLLECTIVE: there is no 'scan' to compare" compare scan --costs 1,2
refuses_cluster() {
    printf '%s' "$2" >"$scratch/bad.json"
    refuses "--cluster: file '$scratch/bad.json': $1" compare --cluster "$scratch/bad.json"
}
refuses_cluster "it is not an object" '[]'
refuses_cluster "ranks is missing" '{"costs":{}}'
refuses_cluster "ranks must be a whole number" '{"ranks":0,"costs":{"send":[]}}'
refuses_cluster "costs is not an object" '{"ranks":2,"costs":[1,2]}'
refuses_cluster "costs.send is missing" '{"ranks":2,"costs":{}}'
refuses_cluster "costs.send must list as many costs as there are ranks, 2" '{"ranks":2,"costs":{"send":[1]}}'
refuses_cluster "costs.send[1] must be a number, not negative" '{"ranks":2,"costs":{"send":[1,-2]}}'
refuses_cluster "costs.send[0].base_ns is missing" '{"ranks":2,"costs":{"send":[{},1]}}'
refuses_cluster "costs.send[0].bytes is not known" '{"ranks":2,"costs":{"send":[{"base_ns":1,"bytes":2},1]}}'
refuses_cluster "costs.recieve is not a cost" '{"ranks":2,"costs":{"send":[1,2],"recieve":[1,2]}}'
refuses_cluster "groups[0].ranks[1] must be a whole number from 0 to 1" \
    '{"ranks":2,"costs":{"send":[1,2]},"groups":[{"name":"a","ranks":[0,2]}]}'
refuses_cluster "groups[1].ranks[0] is in a group already" \
    '{"ranks":2,"costs":{"send":[1,2]},"groups":[{"name":"a","ranks":[0]},{"name":"b","ranks":[0]}]}'
# What measure writes, tree and compare read.
json measure --heterogeneous --ranks 3 --iterations 2 --emulate 'send=0.5ms,1ms,1ms;latency=50us' --json
cp "$scratch/out" "$scratch/measured.json"
run 0 tree fnf --cluster "$scratch/measured.json"
prints "fnf over 3 ranks, root 0"
run 0 measure --heterogeneous --ranks 3 --iterations 2
prints "acknowledged by one rank after the other"
prints "a KiB     receive     combine     a KiB"
refuses "--emulate: goes with --heterogeneous" measure --emulate send=1us
refuses "--emulate: send needs one cost, or as many as there are ranks, 3" measure --heterogeneous --ranks 3 --emulate send=1us,2us
refuses "--emulate: needs a time as 300, 1.5us, 10ms or 2s, not 'soon'" run barrier --ranks 2 --emulate latency=soon
refuses "--emulate: bandwidth needs a number above 0, not '0'" run barrier --ranks 2 --emulate bandwidth=0
refuses "--emulate: work is asleep, busy or polled, not 'lazy'" run barrier --ranks 2 --emulate work=lazy
refuses "--emulate: there is no 'speed=3'; known are send, receive" run barrier --ranks 2 --emulate 'send=1us;speed=3'
refuses "--emulate: emulation: windows are as long as their period at most" run barrier --ranks 2 --emulate window=1us,2us,3
refuses "--emulate: the file is of 3 ranks, not of 2" run barrier --ranks 2 --emulate "$scratch/measured.json"
refuses "--emulate: file '/nowhere' cannot be opened" run barrier --ranks 2 --emulate /nowhere
# A flat broadcast of 3 sends of a millisecond each, to links of 2 more.
run 0 run broadcast --ranks 4 --bytes 8 --algorithm flat --iterations 3 --emulate 'send=1ms;latency=2ms;seed=7'
prints "emulated: send=1ms;latency=2ms;seed=7"
prints "5000"
prints "right: 9 elements"
run 0 run allreduce --ranks 3 --bytes 8 --algorithm ring --iterations 2 --emulate "$scratch/measured.json"
prints "right: 6 elements"

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
refuses "--ranks: that is too much to write out" schedule allreduce ring --ranks 4294967294 --rank 5 # --blocks was not given
refuses "--ranks: that is too much to write out" timeline allreduce ring --ranks 100000
refuses "--rank: needs a number from 0 to 3, not '4'" schedule reduce flat --ranks 4 --rank 4
refuses "--root: there is no rank 4 among 4 ranks" schedule reduce flat --ranks 4 --root 4
refuses "--blocks: needs a number from 1 to" schedule reduce flat --ranks 4 --blocks 0
refuses "--blocks: that is too much to write out" schedule reduce flat --ranks 4 --blocks 4000000
refuses "--blocks: a barrier has exactly one block" schedule barrier flat --ranks 4 --blocks 2

# --- nic ---
run 0 nic reduce binomial --ranks 4 --rank 0
prints "step 1   c1 = 2  [0..1) = op([0..1), [2..3))  -> c2"
prints "the programs obey the rules"
prints_not "rank 1 of 4"
run 0 nic reduce binomial --ranks 16 --multicast --target xdp --accumulate
run 1 nic reduce binomial --ranks 16 --target xdp
prints "xdp refuses: rank 0: one arrival sets more messages free than the target can send at once (4, and 1 is the most)"
run 0 nic reduce binomial --ranks 16 --target xdp --without-credits
prints "checked, but for what hosts promise"
run 1 nic reduce flat --ranks 16 --target xdp --without-credits --elements 68 --rank 5
prints "xdp refuses: rank 0: a bank needs more elements than the target has room for in one (1088, and 1024 is the most)"
run 1 nic reduce binomial --ranks 16 --target tc --op min
prints "the target has a few ops, and this is none of them"
run 1 nic allreduce ring --ranks 5 --op own
prints "the plan does not keep rank order, and the op does not commute"
run 0 nic barrier dissemination --ranks 2 --rank 1 --format hex
grep -qE '^4247484e0200000001000200' "$scratch/out" || fail "$command_line: no program"
run 0 nic --targets
prints "portals4"
prints "sum of int64, uint64, float64"
refuses "--target: there is no 'abacus'; known are host, simulated, xdp" nic reduce flat --ranks 4 --target abacus
refuses "COLLECTIVE: say which" nic reduce
run 0 nic --choose --ranks 64
prints "reduce over 64 ranks, 8 bytes: all on NICs, degree "
prints "all on hosts"
run 0 nic --choose --ranks 2
prints "reduce over 2 ranks, 8 bytes: all on hosts"
run 0 nic --choose --ranks 64 --type float64 --elements 8 --nic-costs 2.1us,0.42us,1.5us,9.2us,2.95us \
    --host-costs 2.1us,0.42us,1.5us,9.3us,2.95us
prints "64 bytes: all on NICs, degree 3, 3 splits: 43.6 us"
prints "  3 splits: hosts, degree 3: 43.7 us; NICs, degree 3: 43.6 us"
prints_not "  4 splits"
prints_not "a fifth cost says otherwise"
run 0 nic --choose --ranks 64 --elements 65535 --nic-costs 2.1us,0.42us,1.5us,9.2us,2.95us
prints "hosts: 65535 elements are combined in the time of one; a fifth cost says otherwise"
prints_not "NICs: 65535"
refuses "--nic-costs: c of two elements must be no less than c of one" nic --choose --ranks 64 --nic-costs 1us,1us,10us,1us,5us
refuses "--nic-costs: needs four times: L,r,c,C" nic --choose --ranks 64 --nic-costs 1,2,3
refuses "--choose: needs --ranks" nic --choose
run 0 nic reduce --choose --ranks 4 --root 0
for ignored in "--root 3" "--rank 1" "--target xdp" "--target host" "--degree 4" "--banks 2" --multicast "--format hex"; do
    # shellcheck disable=SC2086 # two words
    refuses "${ignored%% *}: does not change where a reduction should run; it is for programs, without --choose" \
        nic --choose --ranks 4 $ignored
done
refuses "COLLECTIVE: is reduce, if anything, beside --choose" nic barrier --choose --ranks 4
refuses "--choose: does not change the list of targets" nic --choose --ranks 4 --targets
refuses "--nic-costs: does not change the list of targets" nic --targets --nic-costs 1,2,3,4
refuses "--node-costs: does not change the times of one process per node; it is for --per-node" nic --choose --ranks 4 --node-costs 1,2,3,4
for ignored in --host-costs --nic-costs --node-costs; do
    refuses "$ignored: does not change programs; it is for --choose" nic reduce flat --ranks 4 "$ignored" 1,2,3,4
done
refuses "--per-node: does not change programs; it is for --choose" nic reduce flat --ranks 4 --per-node 2
refuses "--ranks: 4096 are the most that a choice walks" nic --choose --ranks 70000
refuses "--elements: " nic --choose --ranks 4 --elements 65536
refuses "--ranks: that is too much to prove: the steps of all ranks times the ranks may be at most" nic reduce binomial --ranks 32768

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
sed 's/"peer": *1\b/"peer":4294967294/' "$good" >"$bad"
run 1 verify --schedule "$bad"
prints "4294967294 is not a rank of the group"
sed 's/"peer": *1\b/"peer":4294967295/' "$good" >"$bad"
refuses "--schedule: file '$bad': \"peer\" is not a number from 0 to 4294967294" verify --schedule "$bad"
sed 's/"send"/"shout"/' "$good" >"$bad"
refuses "--schedule: file '$bad': there is no verb 'shout'" verify --schedule "$bad"
for plane in 99999999 99999999999 -1 1x; do
    sed "s/\"scratch1\"/\"scratch$plane\"/" "$good" >"$bad"
    refuses "--schedule: file '$bad': there is no buffer 'scratch$plane': the planes are scratch0 to" verify --schedule "$bad"
done
sed 's/"allreduce"/"pigeon"/' "$good" >"$bad"
refuses "--schedule: file '$bad': there is no collective 'pigeon'" verify --schedule "$bad"
sed 's/"size": *7/"size":8/' "$good" >"$bad"
refuses "--schedule: file '$bad': \"ranks\" does not list every rank" verify --schedule "$bad"
sed 's/"size": *7/"size":-7/' "$good" >"$bad"
refuses "--schedule: file '$bad': \"size\" is not a number from" verify --schedule "$bad"
head -c 500 "$good" >"$bad"
refuses "--schedule: file '$bad': is not JSON" verify --schedule "$bad"
echo '[1, 2]' >"$bad"
refuses "--schedule: file '$bad': lacks \"collective\"" verify --schedule "$bad"
refuses "--schedule: file '$scratch/none': cannot be opened" verify --schedule "$scratch/none"
refuses "--schedule: file '$scratch': cannot be" verify --schedule "$scratch"
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
prints_not "census"
run 0 choose allreduce --ranks 13 --bytes 8 --exact --model 1000,0,0
prints "allreduce over 13 ranks, 8 bytes: census"
run 0 choose barrier --ranks 7
prints "barrier over 7 ranks, 0 bytes"
for command in "choose barrier" "map barrier" "tune barrier" "run barrier" "simulate barrier dissemination" \
    "timeline barrier dissemination" "export barrier dissemination"; do
    refuses "--bytes: a barrier moves no data" $command --ranks 3 --bytes 8
done
for collective in reduce broadcast gather scatter reduce_scatter allgather scan exscan alltoall; do
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
run 0 choose reduce --ranks 3 --bytes 1M --model 1e308,1e308,1e308 # times that no number tells
prints ", over 1e15 s"
run 0 choose reduce --ranks 3 --bytes 8 --model 0,0,0
prints ", 0.00 us"
prints_not "times as long"
refuses "--require: there is no 'luck'; known are order, bits, any_size" choose allreduce --ranks 4 --require luck
refuses "--ranks is required" choose allreduce
refuses "--table: file '$scratch/model.json' holds no table" choose allreduce --ranks 4 --table "$scratch/model.json"

run 0 choose reduce --ranks 7 --root 1 --bytes 8 --arrivals 0,20us,0,0,15us,0,0
prints 'reduce over 7 ranks, 8 bytes, root 1: tree_reduce{table "arrival"}'
prints 'tree_reduce{table "postal"}'
printf '{"model":{"message_latency_ns":2100,"receive":{"base_ns":420,"per_byte_ns":0},"combine":{"base_ns":1500,"per_byte_ns":0},"startup_ns":0}}' >"$scratch/model.json"
run 0 choose reduce --ranks 64 --bytes 8 --model "$scratch/model.json" --require order
prints 'reduce over 64 ranks, 8 bytes, rank order required: tree_reduce{table "postal"}'
run 0 choose broadcast --ranks 64 --bytes 8 --all
prints 'tree_broadcast{table "postal"}'
refuses "--arrivals: is for reduce" choose allreduce --ranks 2 --arrivals 1,2
refuses "--arrivals: there are times of 2 ranks, not of 3" choose reduce --ranks 3 --arrivals 1,2

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
run 0 map barrier --ranks 2..4
prints "    0 bytes"
run 0 map allreduce --ranks 2..4 --bytes 8,1000
prints "    8, 1000 bytes"
run 0 map reduce --ranks 16..64 --bytes 8..8 --model "$scratch/model.json" # of the last choice: trees that are not flat
prints_not "flat"
prints "fnomial{.degree = "
[ "$(grep -c ' of 49)$' "$scratch/out")" = "$(sed -n 's/^  \([A-Z]\)  .* of 49)$/\1/p' "$scratch/out" | sort -u | wc -l)" ] ||
    fail "$command_line: two algorithms with one letter"
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
json tune barrier --ranks 2 --iterations 3
[ "$(grep -c '"algorithm":"dissemination"' "$scratch/out")" = 1 ] || fail "$command_line: one row more than once"
refuses "--bytes: 12 bytes are no whole number of f64" tune allreduce --ranks 2 --bytes 12
refuses "--ranks: at most 64" tune allreduce --ranks 2..100
refuses "--bytes: 1G on each of 4 ranks is too much" tune allreduce --ranks 4 --bytes 8,1G
refuses "--transport: there is no 'pigeon'" tune allreduce --transport pigeon
sed 's/"ranks":2/"ranks":-2/' "$scratch/tuned.json" >"$scratch/bad.json"
refuses "--table: file '$scratch/bad.json' has a row whose \"ranks\" is not a number" choose allreduce --ranks 3 --table "$scratch/bad.json"

sed 's/"collective":"allreduce"/"collective":"pigeon"/' "$scratch/tuned.json" >"$scratch/bad.json"
refuses "--table: file '$scratch/bad.json' has a row of the collective 'pigeon'" choose allreduce --ranks 3 --table "$scratch/bad.json"

json tune one_sided --bytes 64..256 --iterations 1
grep -q '"static_bytes":[1-9]' "$scratch/out" || fail "$command_line: no threshold"
refuses "--bytes: blocks and pieces have 64 bytes to 16M" tune one_sided --bytes 8..64
refuses "--transport: there is no 'pigeon' to write remotely over" tune one_sided --transport pigeon
refuses "--provider: goes with one_sided" tune allreduce --provider shm
refuses "--provider: goes with fabric" tune one_sided --transport in_process --provider shm
refuses "--ranks: one_sided is measured between 2 ranks, not '2..9'" tune one_sided --ranks 2..9

# --- predict ---
run 0 predict rdma --ranks 16 --bytes 64
prints "      16      64                   3       3      3              27.32    33.72           46.91      1K"
json predict rdma --ranks 8,512 --bytes 4,4K --format json
grep -q '"best_k": 7,' "$scratch/out" || fail "$command_line: 8 ranks, 4 bytes: not k = 7"
json predict rdma --ranks 4 --bytes 8 --measure in_process --json
prints '"residual_rms"'
refuses "MODEL: there is no 'pigeon'; known is rdma" predict pigeon
refuses "--parameters: needs eight costs" predict rdma --parameters 1,2,3
refuses "--parameters: needs eight costs" predict rdma --parameters 1,2,3,4,5,6,7,-8
refuses "--measure: does not go with --parameters" predict rdma --measure in_process --parameters 1,2,3,4,5,6,7,8
refuses "--measure: there is no 'pigeon' to write remotely over" predict rdma --measure pigeon
refuses "--provider: goes with --measure fabric" predict rdma --provider tcp
refuses "--provider: goes with fabric" predict rdma --measure in_process --provider tcp
run 0 predict rdma --ranks 4 --bytes 8 --blocks 18446744073709551615,1K
prints "22.20"
refuses "--blocks: a block holds at least a byte" predict rdma --blocks 0
run 0 predict rdma --ranks 512 --messages 16:4:55.0:118.1
prints "     512       4                 123.8     99.4    19.7 %             3     265.7         160.3    172.5          39.7 %  35.1 %"
run 0 predict rdma --ranks 512 --messages 16:4:0.001:0.001 # figures that are wider than their columns
grep -qE '^ +512 +4 ( +[0-9.]+){2}  +-[0-9.]+ %  +3 ( +[0-9.]+){3}(  +-[0-9.]+ %){2}$' "$scratch/out" ||
    fail "$command_line: columns run together"
json predict rdma --ranks 1,512 --messages 16:4:55.0:118.1,2:4K:60:120 --json
grep -q '"allreduce_benefit_worst": 0.35' "$scratch/out" || fail "$command_line: 512 ranks, 4 bytes: not 35 %"
refuses "--messages: needs RANKS:BYTES:BROADCAST:ALLREDUCE, not '16:4'" predict rdma --messages 16:4
refuses "--messages: needs a number from 2 to" predict rdma --messages 1:4:5:6
refuses "--messages: needs a time in us above 0, not '-5'" predict rdma --messages 16:4:-5:6
refuses "--bytes: does not go with --messages" predict rdma --bytes 8 --messages 16:4:5:6

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

# --- simulate ---
run 0 simulate reduce fnomial --degree 4 --ranks 64 --model table2
prints "reduce by tree_reduce{fnomial{.degree = 4}} over 64 ranks"
prints "root ends         32.8 us" # 9.20 + 3 (2.10 + 3 * 1.92)
run 0 simulate reduce binomial --ranks 1048576 --model lrc:2.1us,0.42us,1.5us,9.2us
prints "messages          1048575, 8388600 bytes"
json simulate allreduce recursive_doubling --ranks 8 --model table2 --json # 9.20 + 3 * 4.02
prints '"makespan_ns": 21260.0,'
json simulate allreduce ring --ranks 16 --bytes 64K --network fat_tree:4,2,1 --slots 2 --eager 1K --order dependence --json
prints '"messages": 480'
for net in crossbar:8,1 torus:2x4,0.5 dragonfly:2,2,1,1 irregular:8,4,8,50,1; do
    run 0 simulate broadcast binomial --ranks 8 --bytes 4K --model lrc:1us,0,0 --network "$net"
done
run 0 simulate reduce binomial --ranks 4 --skew given:0,5us,0,1us --model lrc:1us,0,0 --format csv --per-rank
prints "1,1,5000,5000,0,0,0"
prints "1,0,0,6000,0,6000,0"
run 0 simulate reduce binomial --ranks 32 --skew uniform:1ms --split 0,5us --order dependence --runs 30 --measure lost
prints "time in us spent on steps and waiting, per rank; seeds 1 to 30"
prints "deviation"
[ "$(grep -c '#' "$scratch/out")" -ge 5 ] || fail "$command_line: no histogram"
noisy="simulate reduce fnomial --degree 4 --ranks 900 --model table2 --daemon 10ms,50us --interrupt 1ms,0,10us,500 --slow 1.5,10 --runs 3 --format csv"
run 0 $noisy
[ "$(wc -l <"$scratch/out")" = 4 ] || fail "$command_line: not a line per run"
cp "$scratch/out" "$scratch/once"
run 0 $noisy
cmp -s "$scratch/once" "$scratch/out" || fail "$command_line: not the same twice"
run 0 $noisy --seed 2
[ "$(sed -n 3p "$scratch/once")" = "$(sed -n 2p "$scratch/out")" ] || fail "$command_line: the seed is not that of the run"
run 0 $noisy --mode nic --after-entry --measure root --drop 1 --histogram 3
for model in rdma loggops:1us,100,200ns,0.1,0 2000,0.1,0.05; do run 0 simulate allreduce ring --ranks 5 --bytes 1K --model "$model" --operations 3 --compute 1us; done
refuses "--model: needs a file, or three costs" simulate reduce binomial --ranks 4 --model 1,2
refuses "--model: needs lrc:L,r,c" simulate reduce binomial --ranks 4 --model lrc:1
refuses "--model: message_latency_ns" simulate reduce binomial --ranks 4 --model loggops:1,1,5
refuses "--skew: there is no 'late'; known are uniform" simulate reduce binomial --ranks 4 --skew late:3
refuses "--skew: needs a time as 300, 1.5us" simulate reduce binomial --ranks 4 --skew uniform:3days
refuses "--skew: this must hold: one time per rank" simulate reduce binomial --ranks 4 --skew given:1,2
refuses "--daemon: needs PERIOD,DURATION" simulate reduce binomial --ranks 4 --daemon 5
refuses "--daemon: this must hold: a period is longer" simulate reduce binomial --ranks 4 --daemon 5,5
refuses "--interrupt: this must hold: a window is longer" simulate reduce binomial --ranks 4 --interrupt 5,1,5
refuses "--slow: this must hold: a factor is above 0" simulate reduce binomial --ranks 4 --slow 0,1
refuses "--bytes: one size is needed" simulate reduce binomial --ranks 4 --bytes 8,16
refuses "--mode: there is no 'both'" simulate reduce binomial --ranks 4 --mode both
refuses "--measure: there is no 'first'" simulate reduce binomial --ranks 4 --measure first
refuses "--network: there is no 'star'" simulate reduce binomial --ranks 4 --network star:4,1
refuses "--network: at most 4096 hosts" simulate reduce binomial --ranks 4 --network fat_tree:64,4,1
refuses "--network: each switch needs a port" simulate reduce binomial --ranks 4 --network irregular:64,4,8,50,1
refuses "--ranks: at most 4194304" simulate reduce binomial --ranks 5000000 --order dependence
refuses "--order: there is no 'random'" simulate reduce binomial --ranks 4 --order random
refuses "--split: needs POLL,COST" simulate reduce binomial --ranks 4 --split 3

# --- progress: a line on a terminal, when it takes longer than two seconds; nothing in a pipe ---
long_run="simulate allreduce recursive_doubling --ranks 16384 --runs 100000"
timeout 3 "$bough" $long_run >/dev/null 2>"$scratch/err"
[ ! -s "$scratch/err" ] || fail "bough $long_run: progress in a pipe"
# shows TEXT ARGUMENTS...: what a terminal shows first matches.
shows() {
    local text=$1
    shift
    checks=$((checks + 1))
    timeout 20 script -qefc "'$bough' $*" /dev/null </dev/null 2>/dev/null | head -c 40 >"$scratch/out"
    grep -qE "$text" "$scratch/out" || fail "bough $*: did not show '$text' on a terminal"
}
if script -qec true /dev/null </dev/null >/dev/null 2>&1; then
    shows 'bough simulate: \[#* *' $long_run
    shows 'bough map: \[#* *' map allreduce --ranks 2..1024
else
    echo "not tested: progress on a terminal, without script(1)"
fi

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
json run allreduce --ranks 3 --bytes 128K --iterations 3 --json # longer than what costs were measured for
prints '"predicted_ns": null'
json run allreduce --ranks 3 --bytes 64K --iterations 3 --json
prints_not '"predicted_ns": null'
json run allreduce --ranks 3 --bytes 8 --iterations 5 --op bit_xor --type u64 --algorithm recursive_doubling --json
prints '"right": true'
for collective in gather scatter reduce_scatter allgather scan exscan alltoall; do
    run 0 run "$collective" --ranks 3 --bytes 72,7200 --iterations 5 --algorithm all
    prints "right: "
done
run 0 run alltoall --ranks 4 --bytes 1K --iterations 5 --algorithm pairwise
prints "right: $((4 * 5 * 1024 / 8 / 4)) elements"
refuses "COLLECTIVE: there is no 'scatterv'" run scatterv --ranks 3
refuses "--algorithm: reduce has no 'oak'" run reduce --ranks 3 --algorithm oak
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
refuses "--transport: there is no 'pigeon'; known are in_process, shared_memory, tcp, composite, fabric, verbs, mpi" run reduce --ranks 3 --transport pigeon
refuses "--ranks is required" run reduce
refuses "--ranks is required" run reduce --transport shared_memory
refuses "--launch: there is no 'ssh'; known are local, pmix" run reduce --ranks 3 --launch ssh
refuses "--launch: pmix goes with shared_memory, tcp, composite, fabric and verbs" run reduce --ranks 3 --launch pmix
refuses "--emulate: goes with in_process" run reduce --ranks 3 --transport tcp --emulate latency=1us
refuses "--algorithm: reduce has no 'oak'" run reduce --ranks 3 --transport shared_memory --algorithm oak
refuses "--nodes: goes with composite" run reduce --ranks 3 --transport tcp --nodes 2
refuses "--provider: goes with fabric" run reduce --ranks 3 --transport tcp --provider shm
refuses "--device: goes with verbs" run reduce --ranks 3 --transport tcp --device rxe0
refuses "--tls: goes with tcp" run reduce --ranks 3 --transport shared_memory --tls a b c
refuses "--tcp-only: goes with tcp" run reduce --ranks 3 --transport shared_memory --tcp-only
for transport in shared_memory tcp composite fabric; do
    "$bough" run barrier --ranks 2 --transport $transport --iterations 1 2>&1 | grep -q "was built without" && continue
    for ranks in 1 2 5; do
        run 0 run allreduce --ranks $ranks --transport $transport --bytes 8,64K --iterations 7
        prints ", $transport: processes on "
        prints "$([ $ranks -lt 3 ] && echo "is the best for assumed costs" || echo "the model prefers")"
        prints "right: $((7 * (1 + 8192) * ranks)) elements"
    done
    run 0 run scan --ranks 3 --transport $transport --bytes 64 --iterations 5 --algorithm all --op max --type i32
    prints "right: "
    json run broadcast --ranks 3 --transport $transport --bytes 8 --iterations 5 --root 2 --json
    prints "\"transport\": \"$transport\""
done
if "$bough" run barrier --ranks 2 --transport tcp --tcp-only --iterations 1 >/dev/null 2>&1; then
    run 0 run allreduce --ranks 3 --transport tcp --tcp-only --bytes 8,64K --iterations 3
    prints "right: "
fi
# A certificate that vouches for itself, and one that it does not vouch for.
for name in one other; do
    openssl req -x509 -newkey ed25519 -nodes -subj "/CN=$name" -days 1 -keyout "$scratch/$name.key" \
        -out "$scratch/$name.pem" >/dev/null 2>&1 || :
done
if ! [ -s "$scratch/other.pem" ]; then
    echo "not tested: run --tls, without openssl(1)"
elif "$bough" run barrier --ranks 2 --transport tcp --tls "$scratch/one.pem" "$scratch/one.key" "$scratch/one.pem" 2>&1 |
    grep -q "was built without"; then
    echo "not tested: run --tls, which this bough was built without"
else
    run 0 run allreduce --ranks 3 --transport tcp --tls "$scratch/one.pem" "$scratch/one.key" "$scratch/one.pem" \
        --bytes 8,64K --iterations 3
    prints "right: "
    refuses "--tls: tls.certificate: tls.authorities do not vouch for it now" run reduce --ranks 2 --transport tcp \
        --tls "$scratch/one.pem" "$scratch/one.key" "$scratch/other.pem"
fi
# Where there is a card it works; else the reason is one line.
if ! "$bough" run barrier --ranks 2 --transport verbs --iterations 1 >/dev/null 2>"$scratch/err"; then
    grep -q "^bough: --transport: \(verbs needs an RDMA card\|this bough was built without verbs\)" "$scratch/err" ||
        fail "run --transport verbs: $(cat "$scratch/err")"
    [ "$(wc -l <"$scratch/err")" = 1 ] || fail "run --transport verbs: said more than a line"
fi
if "$bough" run barrier --ranks 2 --transport composite --iterations 1 >/dev/null 2>&1; then
    run 0 run allreduce --ranks 5 --transport composite --nodes 2 --bytes 8,64K --iterations 3
    prints "right: $((3 * (1 + 8192) * 5)) elements"
    refuses "--nodes: needs a number from 1 to 3, not '4'" run reduce --ranks 3 --transport composite --nodes 4
fi
if "$bough" run barrier --ranks 2 --transport fabric --iterations 1 >/dev/null 2>&1; then
    run 0 run allreduce --ranks 3 --transport fabric --provider shm --bytes 8,64K --iterations 3
    prints "right: $((3 * (1 + 8192) * 3)) elements"
    refuses "--provider: libfabric has none of that name here" run reduce --ranks 2 --transport fabric --provider pigeon
    refuses "--provider: none that libfabric has here does what is needed" tune one_sided --transport fabric --provider pigeon
fi
refuses "--iterations: needs a whole number" run reduce --ranks 3 --iterations lots

# --- the man page, and what shells complete ---
run 0 help --man
prints '.SH NAME'
prints '.SS bough choose'
if command -v man >/dev/null && command -v groff >/dev/null; then
    man --warnings=all -l "$scratch/out" >"$scratch/page" 2>"$scratch/err"
    [ ! -s "$scratch/err" ] || fail "bough help --man: troff warns"
fi
for shell in bash zsh fish; do run 0 completion $shell; done
run 0 completion bash
# completes "WORDS" EXPECTED: what bash offers for the last word.
completes() {
    local offered
    checks=$((checks + 1))
    offered=$(bash -c 'cd "$3"; source "$1"; COMP_WORDS=($2); [[ $2 != *" " ]] || COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _bough; echo "${COMPREPLY[*]}"' bash "$scratch/out" "$1" "$scratch")
    [ "$offered" = "$2" ] || fail "completion of '$1': '$offered', not '$2'"
}
completes "bough sim" "simulate"
completes "bough tree --deg" "--degree"
completes "bough choose allr" "allreduce"
completes "bough help comp" "compare completion"
refuses "SHELL: there is no 'tcsh'; known are bash, zsh, fish" completion tcsh

# --- launch ---
run 0 launch -n 3 true
prints_exactly ""
run 0 launch -n 2 --prefix -- sh -c 'echo here'
[ "$(sort "$scratch/out")" = "$(printf '[0] here\n[1] here')" ] || fail "$command_line: no prefixes"
run 0 launch --ranks 2 sh -c 'test "$1" = --prefix' sh --prefix # arguments of the program stay its own
run 7 launch -n 2 sh -c 'exit 7'
grep -qF "ended with exit status 7" "$scratch/err" || fail "$command_line: did not report the exit status"
run 143 launch -n 1 sh -c 'kill -TERM $$'
grep -qF "bough: rank 0 was killed by signal 15 (SIGTERM)" "$scratch/err" || fail "$command_line: did not report the signal"
run 124 launch -n 2 --timeout 0.2 sleep 60
grep -qF "the time was up" "$scratch/err" || fail "$command_line: did not say that the time was up"
run 9 launch -n 2 --grace 0.1 sh -c 'mkdir "$1" 2>/dev/null && exit 9; sleep 60' sh "$scratch/first"
run 0 launch -n 2 "$bough" --version
refuses "PROGRAM: '/no/such' cannot be run" launch -n 2 /no/such
refuses "-n: needs a number from 1 to 4096, not '0'" launch -n 0 true
refuses "--ranks: needs a number from 1 to 4096, not '0'" launch --ranks 0 true
refuses "--timeout: needs a number of seconds, not 'soon'" launch -n 1 --timeout soon true
refuses "PROGRAM is required" launch -n 1

# --- timeline, export, import ---
run 0 timeline allreduce recursive_doubling --ranks 13 --skew 20000
prints "allreduce by recursive_doubling over 13 ranks, 4K bytes"
prints "time in µs"
prints "simulated: "
run 0 timeline reduce fnomial --degree 4 --ranks 1024 --bytes 8
prints "</svg>"
run 0 timeline reduce flat --ranks 1
prints "</svg>"
json timeline allreduce ring --ranks 4 --bytes 64K --model 5000,1,0.25 --format trace
prints '"name":"rank 3"'
refuses "--model: needs five costs L,o,g,G,O or three alpha,beta,gamma; not '1,2'" timeline reduce flat --ranks 4 --model 1,2
refuses "--model: needs costs in ns" timeline reduce flat --ranks 4 --model fast
refuses "--model: message_latency_ns: L is at least g" timeline reduce flat --ranks 4 --model 10,2,100,0,0
refuses "--bytes: one size is needed" timeline reduce flat --ranks 4 --bytes 8,16
refuses "--format: there is no 'png'; known are svg, trace" timeline reduce flat --ranks 4 --format png

for format in goal csv; do
    run 0 export barrier dissemination --ranks 4 --format $format
    prints_not 4096
done
run 0 timeline barrier dissemination --ranks 4
prints "over 4 ranks, 0 bytes"

file=$scratch/file
# verified FORMAT COLLECTIVE ALGORITHM RANKS...: exported, read back and proved; `changed SED_SCRIPT LINE`: then refused on it.
verified() {
    local format=$1
    shift
    run 0 export "$@" --format "$format" $([ "$format" = goal ] && echo --annotate)
    cp "$scratch/out" "$file"
    run 0 import "$file" --verify
    prints "proved      data: every contribution reaches every result"
    json import "$file" --verify --json
    prints '"right": true'
}
changed() {
    sed "$1" "$file" >"$file.changed"
    ! cmp -s "$file" "$file.changed" || fail "sed '$1' changes nothing"
    run 1 import "$file.changed" --verify
    grep -qE -- "WRONG: line $2[,:] " "$scratch/out" || fail "$command_line after sed '$1': not refused on line $2"
}
for ranks in 1 2 7 8; do
    for algorithm in ring recursive_doubling halving_doubling; do
        verified goal allreduce $algorithm --ranks $ranks --bytes 1K
    done
    verified goal reduce binomial --ranks $ranks --root $((ranks / 2)) --blocks 3
    verified goal scan recursive_doubling --ranks $ranks
done
verified goal alltoall pairwise --ranks 5 --bytes 1K
verified goal allreduce recursive_doubling --ranks 3 --bytes 8
changed 's/^l2: send 8b to 2 tag 0/l2: send 7b to 2 tag 0/' 39
changed 's/^l2 requires l1/l2 requires l0/' 10
changed 's/op(output\[0..1), scratch0/op(scratch0[0..1), scratch0/' 14
changed 's/^l0: recv/l0: recieve/' 6
run 0 export allreduce ring --ranks 4 --bytes 1K
prints_not "//bough"
prints "num_ranks 4"
cp "$scratch/out" "$file"
run 0 import "$file"
prints "GOAL, 4 ranks"
prints "--verify proves it"
json import "$file" --json
grep -qE '"verified": ?false' "$scratch/out" || fail "$command_line: did not say that it proved nothing"
prints_not '"right"'
run 0 import "$file" --verify
prints "proved      matching: each of 24 messages meets one receive of its size"
prints "NOT proved  data: GOAL says how many bytes are sent, not which"
if "$bough" export allreduce ring --ranks 2 --format msccl | "$bough" import /dev/stdin --verify | grep -q "without pugixml"; then
    echo "not tested: reading MSCCL XML, built without pugixml"
else
    for ranks in 1 2 7 8; do
        verified msccl allreduce ring --ranks $ranks
        verified msccl allreduce halving_doubling --ranks $ranks
        verified msccl allgather circulant --ranks $ranks
        verified msccl reduce_scatter lowest_bit_first --ranks $ranks
        verified msccl alltoall pairwise --ranks $ranks
    done
    verified msccl allreduce ring --ranks 3
    changed '10s/ type="rrc" srcbuf="i"/ type="r" srcbuf="i"/' 13
    changed '5s/ cnt="1"/ cnt="2"/' 25
    changed '5s/ depid="1"/ depid="7"/' 5
    changed '5s/ depid="1" deps="0"/ depid="-1" deps="-1"/' 5
    changed '10s/ hasdep="1"/ hasdep="0"/' 5
    changed '6s/ srcoff="0"/ srcoff="three"/' 6
    changed 's/ coll="allreduce"/ coll="allreduce" inplace=1/' 1
fi
printf '<algo coll="custom" ngpus="2"/>\n' >"$file"
run 1 import "$file"
refuses "MSCCL XML: there is no reduce; it has allreduce" export reduce binomial --ranks 4 --format msccl
refuses "--annotate: only GOAL needs it" export reduce binomial --ranks 4 --format csv --annotate
refuses "FILE: '$scratch/none' cannot be opened" import "$scratch/none"
refuses "FILE: '$scratch' cannot be read, or is empty" import "$scratch"
run 0 export reduce binomial --ranks 4 --format csv
prints "0,1,combine,,0,input,0,1,scratch0,0,1,output,0,1,4096,0,"
run 0 export reduce binomial --ranks 4 --format dot
prints "digraph plan {"
run 0 export reduce binomial --ranks 4 --format svg
prints "</svg>"
json export reduce binomial --ranks 4 --format trace
run 0 export allreduce recursive_doubling --ranks 16384 # rank by rank
[ "$(grep -c '^rank ' "$scratch/out")" = 16384 ] || fail "$command_line: not every rank"

# --- README's picture ---
run 0 timeline allreduce recursive_doubling --ranks 13 --bytes 16K --model 2500,800,400,0.05,0.05
cmp -s "$scratch/out" "$(dirname "$0")/../../doc/allreduce_13.svg" || fail "$command_line: is not doc/allreduce_13.svg"

# --- demo ---
# More of it, and what it refuses: test/tools/demo_test.sh.
printf '1.5\n2.5\n' >"$scratch/numbers.txt"
run 0 demo "$scratch/numbers.txt" --picture "$scratch/run.svg"
prints "2 numbers, lowest 1.5, highest 2.5, mean 2"
grep -q '</svg>' "$scratch/run.svg" || fail "$command_line: wrote no picture"
refuses "file '$scratch/none': cannot be opened" demo "$scratch/none"

printf '%d runs, %d failures\n' "$checks" "$failures"
[ "$failures" = 0 ]
