// SPDX-License-Identifier: BSL-1.0
// What may be typed for runs, real and simulated: bough run, launch, simulate, demo.
#include "command_line.hpp"

namespace cli {

void add_transport(CLI::App* command, transport_arguments& typed, const std::string& about) {
    command->add_option("--transport", typed.transport, about)->type_name("T");
    command
        ->add_option("--nodes", typed.nodes,
                     "Of composite: as if the ranks were on so many nodes; those where they are if not given")
        ->type_name("N");
    command
        ->add_option("--provider", typed.provider,
                     "Of fabric: as fi_info names it, tcp;ofi_rxm or shm; libfabric's choice if not given")
        ->type_name("NAME");
    command->add_option("--device", typed.device, "Of verbs: a card as ibv_devices lists it; the first if not given")
        ->type_name("NAME");
    command
        ->add_option(
            "--tls", typed.tls,
            "Of tcp: inside TLS 1.3, with a certificate, its key, and those of the authorities that it and all "
            "others must have: PEM files")
        ->expected(3)
        ->type_name("FILE");
    command->add_flag("--tcp-only", typed.tcp_only, "Of tcp: no Unix sockets between ranks of one machine");
}

void add_run(command_line& line) {
    auto [command, typed] =
        line.add("run", "Run a collective on real ranks: checked, timed, and predicted",
                 "  bough run allreduce --ranks 4 --bytes 8,64K,1M --op plus --type f64\n"
                 "  bough run reduce --ranks 8 --bytes 8 --algorithm all\n"
                 "  bough run allreduce --ranks 4 --transport shared_memory\n"
                 "  bough run allgather --ranks 4 --algorithm packed_trees --network torus:4,10,20\n"
                 "  bough run allreduce --ranks 6 --transport composite --nodes 2\n"
                 "  bough run broadcast --ranks 3 --transport fabric --provider shm\n"
                 "  bough run allreduce --ranks 4 --transport tcp --tls rank.pem rank.key ca.pem\n"
                 "  mpirun -n 4 bough run allreduce --transport tcp --launch pmix\n"
                 "  bough run broadcast --ranks 4 --bytes 8 --iterations 21 --emulate cluster.json\n"
                 "  bough run allreduce --ranks 4 --bytes 1M --arrivals 0,0,9ms,0 --algorithm late_rank --root 2\n"
                 "Every element of every result is compared; exit status 1 if one is wrong.",
                 &run);
    command->add_option("COLLECTIVE", typed.collective, about_collectives)->required()->type_name("");
    command->add_option("--ranks", typed.ranks, "How many ranks; those that the launcher has started")->type_name("P");
    command->add_option("--bytes", typed.bytes, "Sizes of the vector of a rank, as 8,64K,1M")->type_name("SIZES");
    command->add_option("--op", typed.op, "plus, multiplies, min, max, logical_and, bit_or, ...")->type_name("OP");
    command->add_option("--type", typed.type, "f64, f32, i64, i32, u64 or u32")->type_name("TYPE");
    command
        ->add_option("--algorithm", typed.algorithm,
                     "One by name; auto: the one that the model prefers; all: each in turn. auto if not given")
        ->type_name("A");
    command->add_option("--degree", typed.degree, about_degree)->type_name("F");
    command->add_option("--extents", typed.extents, about_extents)->type_name("EXTENTS");
    command
        ->add_option("--network", typed.network,
                     "Of packed_trees: the network for which trees are packed, as 'bough network' takes it")
        ->type_name("NETWORK");
    command
        ->add_option("--root", typed.root,
                     "The rank at the top; the late, or slow, one of late_rank and slow_rank; 0 if not given")
        ->type_name("R");
    command->add_option("--blocks", typed.blocks, "Cut the vector into B blocks; as many as suit it if not given")
        ->type_name("B");
    command
        ->add_option("--arrivals", typed.arrivals,
                     "When each rank begins, after all have met, as 0,0,2ms,0: it sleeps until then. Times and "
                     "predictions are then from when the last rank has come")
        ->type_name("LIST");
    add_transport(command, typed,
                  "in_process: ranks are threads; shared_memory, tcp, composite, fabric, verbs: processes; mpi: those "
                  "of mpirun");
    command
        ->add_option("--launch", typed.launch,
                     "Who starts processes: local: this program; pmix: mpirun or srun have; environment: torchrun or a "
                     "script has, which sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. local if not given")
        ->type_name("L");
    command
        ->add_option("--iterations", typed.iterations, "Runs of each; a thousand if not given, or fewer of long ones")
        ->type_name("N");
    command
        ->add_option("--emulate", typed.emulate,
                     "Make ranks and links differ: a cluster file, or items with semicolons as send=LIST, "
                     "receive=LIST, latency=T, jitter=T, bandwidth=N, window=PERIOD,DURATION,FACTOR, "
                     "work=asleep|busy|polled, seed=N")
        ->type_name("CLUSTER");
    command
        ->add_option(
            "--trace", typed.trace,
            "Write what each rank did, beside what was predicted, for ui.perfetto.dev; only with --launch local")
        ->type_name("FILE");
    add_format(command, typed.format, {"text", "json"});
}

void add_launch(command_line& line) {
    auto [command, typed] = line.add(
        "launch", "Start a program as the ranks of a job on this machine, and tell how they ended",
        "  bough launch -n 4 ./program --its --arguments\n"
        "  bough launch -n 8 --timeout 60 --prefix -- ./program\n"
        "  bough launch -n 4 --trace run.json ./program\n"
        "The program finds its ranks by bough::this_job(). Exit status: 0 if that of every rank is; else that of\n"
        "the rank that failed first, 128 + its signal if it was killed, 124 if the time was up.",
        &launch);
    command->add_option("-n,--ranks", typed.ranks, "How many ranks")->required()->type_name("P");
    command->add_option("--timeout", typed.timeout, "Kill what is left after so many seconds")->type_name("S");
    command->add_option("--grace", typed.grace, "Kill the others so many seconds after a rank has failed")
        ->type_name("S");
    command->add_flag("--prefix", typed.prefix, "Each line of a rank's output begins with its rank: [2] ...");
    command
        ->add_option("--trace", typed.trace, "Write what each rank did, beside what was predicted, for ui.perfetto.dev")
        ->type_name("FILE");
    command->add_option("PROGRAM", "A program and its arguments")->type_name(""); // taken as a whole
    line.keep_program_in(typed.program, typed.ranks_as);
}

void add_network(command_line& line) {
    auto [command, typed] = line.add("network", "Say what a network is made of, or write its file",
                                     "  bough network torus:8x8,50,200\n"
                                     "  bough network fat_tree:8x8/1x4,12.5,hop=50ns --format file > tree.network\n"
                                     "  bough network rails:2,4,25,300 --format dot | dot -Tsvg > rails.svg\n"
                                     "The file is text; doc/networks.md says what its lines mean.",
                                     &network);
    command->add_option("NETWORK", typed.network, about_networks)->required()->type_name("");
    command->add_option("--seed", typed.seed, "Of irregular; 1 if not given")->type_name("SEED");
    add_format(command, typed.format, {"text", "json", "file", "dot"});
}

void add_doctor(command_line& line) {
    auto [command, typed] =
        line.add("doctor", "Merge reports and recordings of the ranks of a job, and name what holds it up",
                 "  bough doctor /run/job/*.bough\n"
                 "  bough doctor reports.of.node1 reports.of.node2 --json\n"
                 "The files of ranks that survived are enough; those of a job that still runs may be read, too.\n"
                 "Exit status: 0 if nothing has failed, and nobody is known to be missing; otherwise 1.",
                 &doctor);
    command->add_option("FILE", typed.files, "Reports, and recordings that ranks have written, or still write")
        ->required()
        ->type_name("");
    add_format(command, typed.format, {"text", "json"});
}

void add_trace(command_line& line) {
    auto [command, typed] =
        line.add("trace", "Merge the traces of the processes of a job into a file for ui.perfetto.dev",
                 "  BOUGH_TRACE=traces mpirun -n 4 ./program; bough trace traces --out run.json\n"
                 "  bough trace traces/node1.* traces/node2.* --out run.json\n"
                 "Each rank has a row, each communicator a track, each call a slice with its messages, and below it\n"
                 "what it should have taken. 'bough launch --trace' does this at the end of a job.",
                 &trace);
    command->add_option("FILE", typed.files, "What programs have written, or still write; or folders of it")
        ->required()
        ->type_name("");
    command->add_option("--out", typed.out, "The file to write; standard output if not given")->type_name("FILE");
}

void add_simulate(command_line& line) {
    auto [command, typed] = line.add(
        "simulate", "Run a plan in virtual time, with skew, noise and a network if wanted",
        "  bough simulate reduce fnomial --degree 4 --ranks 900 --model table2 --daemon 10ms,50us --runs 1000\n"
        "  bough simulate allreduce ring --ranks 64 --bytes 1M --network fat_tree:4,3,1 --format json\n"
        "  bough simulate reduce binomial --ranks 32 --skew uniform:1ms --split 0,5us --order dependence\n"
        "Times are ns, or have a unit: 300, 1.5us, 10ms, 2s. The same command gives the same result on every\n"
        "machine (the program is compiled with -ffp-contract=off: fused multiplications would show over networks).",
        &simulate);
    simulate_arguments& s = typed;
    add_plan(command, s.plan, "How many ranks", true,
             "Messages share its links, and packed_trees packs its trees for it: " + std::string(about_networks));
    command->add_option("--bytes", s.bytes, "Of the whole vector, as 8, 64K or 1M; 8 if not given")->type_name("SIZE");
    command
        ->add_option("--model", s.model,
                     "table2 (Moody et al. 2003), rdma (Gupta et al. 2003), lrc:L,r,c,C, loggops:L,o,g,G,O, "
                     "alpha,beta,gamma, a file that 'bough measure --json' wrote, or a cluster file; "
                     "5000,1,0.25 if not given")
        ->type_name("MODEL");
    command->add_option("--skew", s.skew, "When ranks come: uniform:TIME, exponential:TIME (its mean), given:T,T,...")
        ->type_name("HOW");
    command
        ->add_option("--daemon", s.daemons,
                     "Interrupts every rank: PERIOD,DURATION (phases at random) or PERIOD,DURATION,PHASE; repeatable")
        ->type_name("D")
        ->delimiter(';');
    command
        ->add_option("--interrupt", s.interruptions,
                     "One at random in each WINDOW, of LEAST to MOST: WINDOW,LEAST,MOST[,PER_1000]; repeatable")
        ->type_name("I")
        ->delimiter(';');
    command->add_option("--slow", s.slow, "FACTOR,PER_1000: so many of 1000 ranks take FACTOR times as long")
        ->type_name("S");
    command
        ->add_option("--mode", s.mode,
                     "host: interruptions delay every step; nic: only the start and the end. host if not given")
        ->type_name("MODE");
    command->add_flag("--after-entry", s.after_entry,
                      "The clock starts when the last rank has entered, undisturbed, as after a barrier");
    command->add_option("--order", s.order, "program or dependence; program if not given")->type_name("ORDER");
    command->add_option("--slots", s.slots, "Messages on a channel that are not received yet; 0: no limit")
        ->type_name("N");
    command->add_option("--eager", s.eager, "Longer messages wait for their receive")->type_name("SIZE");
    command
        ->add_option("--split", s.split,
                     "POLL,COST: a rank that would wait goes back to its work and polls; POLL 0: it is interrupted")
        ->type_name("SPLIT");
    command->add_option("--operations", s.operations, "As many, one after the other")->type_name("N");
    command->add_option("--compute", s.compute, "Work between two of them")->type_name("TIME");
    command->add_option("--runs", s.runs, "Runs, each with the next seed; 1 if not given")->type_name("N");
    command->add_option("--seed", s.seed, "Of all that is random; 1 if not given")->type_name("SEED");
    command->add_option("--measure", s.measure, "Of each run: last, root, mean, waiting or lost; last if not given")
        ->type_name("WHAT");
    command->add_option("--drop", s.drop, "Leave out the highest so many percent of the runs")->type_name("PERCENT");
    command->add_option("--histogram", s.histogram, "Bars; 20 of 20 runs or more, else none")->type_name("BARS");
    command->add_flag("--per-rank", s.per_rank, "The figures of every rank, in JSON and CSV");
    add_format(command, s.plan.format, {"text", "json", "csv"});
}

void add_demo(command_line& line) {
    auto [command, typed] =
        line.add("demo", "See it all at work on your own numbers: measure, choose, prove, break, reduce, check",
                 "  bough demo\n"
                 "  bough demo my-numbers.txt --picture run.svg\n"
                 "A file holds numbers between blanks and new lines; what follows a # is left out.",
                 &demo);
    command->add_option("FILE", typed.file, "Numbers; a file of temperatures if not given")->type_name("");
    command->add_option("--picture", typed.picture, "Write the run as the model has it, as SVG")->type_name("PICTURE");
}

} // namespace cli
