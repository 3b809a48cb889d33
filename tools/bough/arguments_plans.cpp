// SPDX-License-Identifier: BSL-1.0
// What may be typed for plans: bough schedule, verify, table, nic, timeline, export, import.
#include "command_line.hpp"

namespace cli {

namespace {

void add_timed(CLI::App* command, timed_arguments& timed) {
    command
        ->add_option("--bytes", timed.bytes,
                     "The size of the vector of a rank, as 64K; 4K if not given. A barrier has none: 0")
        ->type_name("SIZE");
    command
        ->add_option(
            "--model", timed.model,
            "L,o,g,G,O of LogGOPS or alpha,beta,gamma, in ns and ns per byte; 2500,1500,1000,0.1,0 if not given")
        ->type_name("MODEL");
    command->add_option("--skew", timed.skew, "Ranks come at random times up to NS nanoseconds; 0 if not given")
        ->type_name("NS");
    command->add_option("--seed", timed.seed, "Of the random times; 1 if not given")->type_name("N");
}

} // namespace

void add_schedule(command_line& line) {
    auto [command, typed] =
        line.add("schedule", "Print what each rank does, step by step",
                 "  bough schedule allreduce recursive_doubling --ranks 7\n"
                 "  bough schedule reduce fnomial --degree 4 --ranks 1000000 --rank 0\n"
                 "A step may begin when the steps after 'after' have ended; nothing else orders them.",
                 &schedule);
    add_plan(command, typed.plan, "How many ranks", true);
    command->add_option("--rank", typed.rank, "Only this rank; every rank if not given")->type_name("r");
    add_format(command, typed.plan.format, {"text", "json"});
}

void add_verify(command_line& line) {
    auto [command, typed] = line.add("verify", "Prove a plan, and compute its rounds, volume and other traits",
                                     "  bough verify allreduce recursive_doubling --ranks 13\n"
                                     "  bough verify reduce kary --degree 3 --ranks 1..256\n"
                                     "  bough verify --schedule my.json\n"
                                     "Exit status 1 if a plan is wrong.",
                                     &verify);
    add_plan(command, typed.plan, "How many ranks: P, or a range as 1..256", false);
    command->add_option("--schedule", typed.schedule, "Prove a file that 'bough schedule --json' wrote instead")
        ->type_name("FILE");
    add_format(command, typed.plan.format, {"text", "json"});
}

void add_table(command_line& line) {
    auto [command, typed] = line.add("table", "Compare all algorithms by their computed traits",
                                     "  bough table --ranks 13\n"
                                     "  bough table --ranks 64 --format markdown > table.md\n"
                                     "Exit status 1 if a plan is wrong.",
                                     &table);
    command->add_option("--ranks", typed.ranks, "How many ranks; 13 if not given")->type_name("P");
    add_format(command, typed.format, {"text", "markdown", "json"});
}

void add_nic(command_line& line) {
    auto [command, typed] =
        line.add("nic", "Print the programs that a NIC would run, or why it cannot",
                 "  bough nic reduce fnomial --degree 4 --ranks 16 --rank 0\n"
                 "  bough nic reduce fnomial --degree 4 --ranks 16 --multicast --target xdp\n"
                 "  bough nic --targets\n"
                 "  bough nic --choose --ranks 64 --nic-costs 2.1us,0.42us,0.25us,9.2us\n"
                 "  bough nic --choose --ranks 64 --elements 8 --nic-costs 2.1us,0.42us,1.5us,9.2us,2.95us\n"
                 "The programs are checked as a set. Exit status 1 if the target refuses; the last line says why.",
                 &nic);
    add_plan(command, typed.plan, "How many ranks", false);
    command->add_option("--rank", typed.rank, "Only this rank; every rank if not given")->type_name("r");
    command->add_option("--target", typed.target, "host if not given; --targets lists them")->type_name("T");
    command->add_option("--op", typed.op, "sum, min, max, bit_and, bit_or, bit_xor, or own: any other")
        ->type_name("OP");
    command->add_option("--type", typed.type, "int32, uint32, int64, uint64, float32 or float64")->type_name("TYPE");
    command->add_option("--elements", typed.elements, "Of the vector; one per block if not given")->type_name("N");
    command->add_option("--banks", typed.banks, "Instances that may be under way; 1 if not given")->type_name("W");
    command->add_flag("--accumulate", typed.accumulate, "Combine messages as they land");
    command->add_flag("--multicast", typed.multicast, "Of a reduce: the root sends its result to everyone at once");
    command->add_flag("--without-credits", typed.without_credits, "Hosts promise not to run ahead");
    command->add_flag("--targets", typed.targets, "List the targets and what they are able to do");
    command->add_flag("--choose", typed.choose,
                      "Say where a reduction of --ranks should run: hosts, NICs, or levels of the tree on each");
    const char* const costs = "Of a message L and r, of a combine c, of entering and being told C; in ns or with a "
                              "unit. A fifth: c of two elements";
    command->add_option("--host-costs", typed.host_costs, costs)->type_name("L,r,c,C")->capture_default_str();
    command->add_option("--nic-costs", typed.nic_costs, costs)->type_name("L,r,c,C")->capture_default_str();
    command->add_option("--per-node", typed.per_node, "Processes of a rank that reduce in shared memory first")
        ->type_name("n")
        ->capture_default_str();
    command->add_option("--node-costs", typed.node_costs, "The same four, between processes of a node")
        ->type_name("L,r,c,C")
        ->capture_default_str();
    add_format(command, typed.plan.format, {"text", "hex"}, false);
}

void add_timeline(command_line& line) {
    auto [command, typed] =
        line.add("timeline", "Draw a simulated run: ranks down, time across, messages as arrows",
                 "  bough timeline allreduce recursive_doubling --ranks 13 > run.svg\n"
                 "  bough timeline reduce fnomial --degree 4 --ranks 1024 --bytes 8 --skew 20000 > run.svg\n"
                 "  bough timeline allreduce ring --ranks 8 --bytes 1M --format trace > run.json\n"
                 "A trace opens in ui.perfetto.dev and in chrome://tracing.",
                 &timeline);
    add_plan(command, typed.plan, "How many ranks", true);
    add_timed(command, typed.timed);
    typed.plan.format = "svg";
    add_format(command, typed.plan.format, {"svg", "trace"}, false);
}

void add_export(command_line& line) {
    auto [command, typed] =
        line.add("export", "Write a plan for other tools: simulators, GPUs, Graphviz, spreadsheets",
                 "  bough export allreduce ring --ranks 64 --bytes 1M --format goal > ring.goal\n"
                 "  bough export allgather circulant --ranks 8 --format msccl > allgather.xml\n"
                 "  bough export reduce binomial --ranks 4 --format dot | dot -Tsvg > plan.svg\n"
                 "goal: LogGOPSim and ATLAHS. msccl: MSCCL's XML. csv: a line per step. svg, trace: of a\n"
                 "simulated run, as 'bough timeline'. GOAL and CSV are written rank by rank, for any size.",
                 &export_plan);
    add_plan(command, typed.plan, "How many ranks", true);
    add_timed(command, typed.timed);
    command->add_flag("--annotate", typed.annotate, "GOAL: comments with the slices, so that import proves the data");
    typed.plan.format = "goal";
    add_format(command, typed.plan.format, {"goal", "msccl", "dot", "svg", "csv", "trace"}, false);
}

void add_import(command_line& line) {
    auto [command, typed] =
        line.add("import", "Read a schedule that another tool wrote, and prove it or name its first bad step",
                 "  bough import their.xml --verify\n"
                 "  bough import run.goal --verify --json\n"
                 "MSCCL XML (allreduce, allgather, reducescatter, alltoall): deadlock, races and data. GOAL:\n"
                 "matching, deadlock and volume; the data too, if bough annotated it. Exit status 1: wrong.",
                 &import_file);
    command->add_option("FILE", typed.file, "A file in GOAL or MSCCL's XML")->required()->type_name("");
    command->add_option("--from", typed.from, "auto, goal or msccl; auto if not given")
        ->type_name("KIND")
        ->check(CLI::IsMember({"auto", "goal", "msccl"}));
    command->add_flag("--verify", typed.verify, "Prove it");
    command
        ->add_option("--slots", typed.slots,
                     "MSCCL: messages that a channel holds; 2 if not given, as NCCL's protocol Simple")
        ->type_name("N");
    add_format(command, typed.format, {"text", "json"});
}

} // namespace cli
