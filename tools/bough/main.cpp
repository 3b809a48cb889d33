// SPDX-License-Identifier: BSL-1.0
// bough: the command line. What may be typed, and where it goes.
//
// Exit status: 0 all is well; 1 a plan or a result is wrong; 2 it cannot be asked for; 3 the machine could not do it.
#include "commands.hpp"
#include "parse.hpp"
#include <bough/core/version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <functional>
#include <iostream>
#include <new>
#include <string>
#include <string_view>

namespace cli {

namespace {

const std::string collectives =
    "reduce, allreduce, broadcast, barrier, gather, scatter, reduce_scatter, allgather, scan, exscan or alltoall";
const std::string shapes = "binomial, binomial_high, fnomial, degree_k, kary, chain, flat";
const std::string cost_trees = "spoc, fnf, search, optimal, interval";
const std::string timed_trees = "postal, arrival";

class command_line {
public:
    command_line() {
        app_.set_version_flag("--version", version());
        app_.failure_message([](const CLI::App*, const CLI::Error& e) { return std::string(e.what()); });
        app_.require_subcommand(0, 1);
        app_.footer("'bough COMMAND --help' explains a command and shows two examples.");
        add_tree();
        add_compare();
        add_schedule();
        add_verify();
        add_table();
        add_choose();
        add_map();
        add_measure();
        add_simulate();
        add_tune();
        add_run();
        add_launch();
        add_timeline();
        add_nic();
        add_export();
        add_import();
        add_demo();
    }

    int parse_and_run(int argc, char** argv) {
        try {
            app_.parse(take_program(argc, argv), argv);
        } catch (const CLI::Success& e) { // --help and --version
            return app_.exit(e);
        } catch (const CLI::ExtrasError&) {
            throw usage_error(what_is_too_much());
        } catch (const CLI::ParseError& e) {
            throw usage_error(e.what());
        }
        if (chosen_) return chosen_();
        std::cout << app_.help();
        return 0;
    }

private:
    static std::string version() {
        const bough::version v;
        return "bough " + std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch);
    }

    std::string what_is_too_much() {
        const std::string extra = "'" + app_.remaining(true).front() + "'";
        const auto chosen = app_.get_subcommands();
        if (!chosen.empty())
            return extra + ": is not an argument of 'bough " + chosen.front()->get_name() + "'; try --help";
        std::string names;
        for (const CLI::App* command : app_.get_subcommands({}))
            names += (names.empty() ? "" : ", ") + command->get_name();
        return extra + ": is not a command; known are " + names;
    }

    CLI::App* add(const std::string& name, const std::string& what, const std::string& examples,
                  std::function<int()> run) {
        CLI::App* command = app_.add_subcommand(name, what);
        command->footer("Examples:\n" + examples);
        command->callback([this, run = std::move(run)] { chosen_ = run; });
        return command;
    }

    // --format, and --json for short.
    static void add_format(CLI::App* command, std::string& format, const std::vector<std::string>& known,
                           bool has_json = true) {
        std::string names;
        for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
        command->add_option("--format", format, "How to print: " + names)
            ->type_name("FORMAT")
            ->check([known, names](const std::string& text) {
                for (const std::string& name : known)
                    if (name == text) return std::string();
                return "there is no '" + text + "'; known are " + names;
            });
        if (!has_json) return;
        command->add_flag_callback(
            "--json", [&format] { format = "json"; }, "The same as --format json");
    }

    static void add_plan(CLI::App* command, plan_arguments& plan, const std::string& about_ranks, bool required) {
        command->add_option("COLLECTIVE", plan.collective, collectives)->required(required)->type_name("");
        command
            ->add_option("ALGORITHM", plan.algorithm,
                         "A shape, for the algorithm over that tree: " + shapes +
                             "; or another by name: 'bough table' shows all, a wrong name those of the collective")
            ->required(required)
            ->type_name("");
        command->add_option("--ranks", plan.ranks, about_ranks)->required(required)->type_name("P");
        command->add_option("--root", plan.root, "The rank at the top; 0 if not given")->type_name("R");
        command->add_option("--blocks", plan.blocks, "Cut the vector into B blocks, which a tree pipelines")
            ->type_name("B");
        command->add_option("--degree", plan.degree, "f of fnomial, k of degree_k, arity of kary, ports of circulant")
            ->type_name("F");
        command->add_flag("--ordered", plan.ordered, "Keep rank order for any root, for an op that does not commute");
    }

    void add_tree() {
        CLI::App* command =
            add("tree", "Draw a tree: who is whose parent, and in which order it serves its children",
                "  bough tree fnomial --degree 3 --ranks 9\n"
                "  bough tree binomial --ranks 13 --root 5 --ordered --format dot | dot -Tsvg > tree.svg\n"
                "  bough tree fnf --costs 100,300,300,300,300,100,300,300 --format svg > tree.svg\n"
                "  bough tree postal --ranks 64 --latency 2.1us --gap 1920\n"
                "  bough tree arrival --arrivals 0,20us,0,0,15us,0,0 --latency 2.1us --gap 1920\n"
                "The outline lists the children of a rank in the order in which a reduction receives them.\n"
                "spoc, fnf, search, optimal and interval are made of what sending costs each rank. postal is the best\n"
                "for a latency and a gap, arrival a reduction of ranks that come at different times; without --root,\n"
                "its root is the one that comes last. Their times are ns, or have a unit.",
                [this] { return tree(tree_); });
        command->add_option("SHAPE", tree_.shape, shapes + "; or " + cost_trees + ", " + timed_trees)
            ->required()
            ->type_name("");
        command->add_option("--ranks", tree_.ranks, "How many ranks")->type_name("P");
        add_costs(command, tree_.costs);
        command
            ->add_option("--gap", tree_.gap,
                         "postal, arrival: how long a message keeps its parent busy; of a reduction, to take it in "
                         "and combine it")
            ->type_name("TIME");
        command->add_option("--arrivals", tree_.arrivals, "arrival: when each rank comes, as 0,20us,0")
            ->type_name("LIST");
        command->add_option("--degree", tree_.degree, "f of fnomial, k of degree_k, arity of kary, ports of circulant")
            ->type_name("F");
        command->add_option("--root", tree_.root, "The rank at the top; 0 if not given")->type_name("R");
        command->add_flag("--ordered", tree_.ordered, "Keep rank order for any root");
        add_format(command, tree_.format, {"outline", "json", "dot", "svg"});
    }

    static void add_costs(CLI::App* command, cost_arguments& costs) {
        command->add_option("--costs", costs.costs, "What sending costs each rank, as 100,300,300")->type_name("LIST");
        command->add_option("--receive", costs.receive, "What receiving costs each rank; nothing if not given")
            ->type_name("LIST");
        command->add_option("--latency", costs.latency, "From the end of a send to the receive; 0 if not given")
            ->type_name("TIME");
        command
            ->add_option("--cluster", costs.file, "A cluster file instead: 'bough measure --heterogeneous' writes one")
            ->type_name("FILE");
        command->add_option("--members", costs.members, "Only to these ranks, as 1,5,6: a multicast")
            ->type_name("LIST");
        command->add_option("--bytes", costs.bytes, "Of the message, for a cluster file; 8 if not given")
            ->type_name("SIZES");
    }

    void add_compare() {
        CLI::App* command = add("compare", "Compare trees for ranks that differ in speed",
                                "  bough compare --costs 100,300,300,300,300,100,300,300\n"
                                "  bough compare reduce --cluster mine.json --bytes 8,64K --root all\n"
                                "Side by side: the binomial tree, spoc, fnf, fnf with a search, the optimum, and for\n"
                                "reductions the best tree that keeps rank order. One case shows the trees too.\n"
                                "In a reduction spoc and fnf may be slower than binomial: they place ranks by what\n"
                                "taking in a message costs them, whatever it costs them to send their own.",
                                [this] { return compare(compare_); });
        command->add_option("COLLECTIVE", compare_.collective, "broadcast, reduce or allreduce; broadcast if not given")
            ->type_name("");
        add_costs(command, compare_.costs);
        command->add_option("--root", compare_.root, "A rank, a list, or all; 0 if not given")->type_name("R");
        add_format(command, compare_.format, {"text", "json"});
    }

    void add_schedule() {
        CLI::App* command = add("schedule", "Print what each rank does, step by step",
                                "  bough schedule allreduce recursive_doubling --ranks 7\n"
                                "  bough schedule reduce fnomial --degree 4 --ranks 1000000 --rank 0\n"
                                "A step may begin when the steps after 'after' have ended; nothing else orders them.",
                                [this] { return schedule(schedule_); });
        add_plan(command, schedule_.plan, "How many ranks", true);
        command->add_option("--rank", schedule_.rank, "Only this rank; every rank if not given")->type_name("r");
        add_format(command, schedule_.plan.format, {"text", "json"});
    }

    void add_nic() {
        CLI::App* command =
            add("nic", "Print the programs that a NIC would run, or why it cannot",
                "  bough nic reduce fnomial --degree 4 --ranks 16 --rank 0\n"
                "  bough nic reduce fnomial --degree 4 --ranks 16 --multicast --target xdp\n"
                "  bough nic --targets\n"
                "  bough nic --choose --ranks 64 --nic-costs 2.1us,0.42us,0.25us,9.2us\n"
                "The programs are checked as a set. Exit status 1 if the target refuses; the last line says why.",
                [this] { return nic(nic_); });
        add_plan(command, nic_.plan, "How many ranks", false);
        command->add_option("--rank", nic_.rank, "Only this rank; every rank if not given")->type_name("r");
        command->add_option("--target", nic_.target, "host if not given; --targets lists them")->type_name("T");
        command->add_option("--op", nic_.op, "sum, min, max, bit_and, bit_or, bit_xor, or own: any other")
            ->type_name("OP");
        command->add_option("--type", nic_.type, "int32, uint32, int64, uint64, float32 or float64")->type_name("TYPE");
        command->add_option("--elements", nic_.elements, "Of the vector; one per block if not given")->type_name("N");
        command->add_option("--banks", nic_.banks, "Instances that may be under way; 1 if not given")->type_name("W");
        command->add_flag("--accumulate", nic_.accumulate, "Combine messages as they land");
        command->add_flag("--multicast", nic_.multicast, "Of a reduce: the root sends its result to everyone at once");
        command->add_flag("--without-credits", nic_.without_credits, "Hosts promise not to run ahead");
        command->add_flag("--targets", nic_.targets, "List the targets and what they are able to do");
        command->add_flag("--choose", nic_.choose,
                          "Say where a reduction of --ranks should run: hosts, NICs, or levels of the tree on each");
        const char* const costs =
            "Of a message L and r, of a combine c, of entering and being told C; in ns or with a unit";
        command->add_option("--host-costs", nic_.host_costs, costs)->type_name("L,r,c,C")->capture_default_str();
        command->add_option("--nic-costs", nic_.nic_costs, costs)->type_name("L,r,c,C")->capture_default_str();
        command->add_option("--per-node", nic_.per_node, "Processes of a rank that reduce in shared memory first")
            ->type_name("n")
            ->capture_default_str();
        command->add_option("--node-costs", nic_.node_costs, "The same four, between processes of a node")
            ->type_name("L,r,c,C")
            ->capture_default_str();
        add_format(command, nic_.plan.format, {"text", "hex"}, false);
    }

    void add_verify() {
        CLI::App* command = add("verify", "Prove a plan, and compute its rounds, volume and other traits",
                                "  bough verify allreduce recursive_doubling --ranks 13\n"
                                "  bough verify reduce kary --degree 3 --ranks 1..256\n"
                                "  bough verify --schedule my.json\n"
                                "Exit status 1 if a plan is wrong.",
                                [this] { return verify(verify_); });
        add_plan(command, verify_.plan, "How many ranks: P, or a range as 1..256", false);
        command->add_option("--schedule", verify_.schedule, "Prove a file that 'bough schedule --json' wrote instead")
            ->type_name("FILE");
        add_format(command, verify_.plan.format, {"text", "json"});
    }

    void add_table() {
        CLI::App* command = add("table", "Compare all algorithms by their computed traits",
                                "  bough table --ranks 13\n"
                                "  bough table --ranks 64 --format markdown > table.md\n"
                                "Exit status 1 if a plan is wrong.",
                                [this] { return table(table_); });
        command->add_option("--ranks", table_.ranks, "How many ranks; 13 if not given")->type_name("P");
        add_format(command, table_.format, {"text", "markdown", "json"});
    }

    static constexpr const char* about_model =
        "A file that 'bough measure --json' wrote, a cluster file, or alpha,beta,gamma in ns and ns per byte; "
        "5000,1,0.25 if not given";

    void add_choose() {
        CLI::App* command =
            add("choose", "Choose an algorithm by a model of the network, and say why",
                "  bough choose allreduce --ranks 13 --bytes 64K\n"
                "  bough choose allreduce --ranks 13 --bytes 8,1M --model 2000,0.1,0.05 --require order\n"
                "  bough choose allreduce --ranks 4 --bytes 8K --table tuned.json\n"
                "Exit status 1 if there is none that has what is required.",
                [this] { return choose(choose_); });
        command->add_option("COLLECTIVE", choose_.collective, collectives)->required()->type_name("");
        command->add_option("--ranks", choose_.ranks, "How many ranks")->required()->type_name("P");
        command->add_option("--bytes", choose_.bytes, "Sizes of the whole vector, as 8,64K,1M; 64K if not given")
            ->type_name("SIZES");
        command->add_option("--root", choose_.root, "The rank at the top; 0 if not given")->type_name("R");
        command->add_option("--model", choose_.model, about_model)->type_name("MODEL");
        command->add_option("--table", choose_.table, "A file that 'bough tune' wrote, to compare the model with")
            ->type_name("FILE");
        command
            ->add_option("--require", choose_.require,
                         "order (for an op that does not commute), bits (the same on every rank), any_size")
            ->type_name("WHAT");
        command->add_flag("--exact", choose_.exact,
                          "The op gives the same bits in any order, as min and sums of integers do");
        command
            ->add_option("--arrivals", choose_.arrivals,
                         "reduce: when each rank comes, as 0,20us,0; trees made for that are candidates, too")
            ->type_name("LIST");
        command->add_flag("--all", choose_.all, "Price every candidate, also those that cannot win");
        add_format(command, choose_.format, {"text", "json"});
    }

    void add_map() {
        CLI::App* command =
            add("map", "Draw which algorithm is the fastest where, over ranks and bytes",
                "  bough map allreduce --ranks 2..16 --bytes 8..1M\n"
                "  bough map allreduce --ranks 2..64 --bytes 8..16M --model mine.json --format svg > map.svg",
                [this] { return map(map_); });
        command->add_option("COLLECTIVE", map_.collective, collectives)->required()->type_name("");
        command->add_option("--ranks", map_.ranks, "A range as 2..64")->type_name("P");
        command->add_option("--bytes", map_.bytes, "A range as 8..16M: its powers of two")->type_name("SIZES");
        command->add_option("--model", map_.model, about_model)->type_name("MODEL");
        command->add_option("--require", map_.require, "order, bits, any_size")->type_name("WHAT");
        add_format(command, map_.format, {"text", "svg", "json"});
    }

    void add_tune() {
        CLI::App* command = add("tune", "Measure the candidates here, for a table to choose by; prints JSON",
                                "  bough tune allreduce --ranks 2..4 --bytes 8..1M > tuned.json\n"
                                "  bough tune broadcast --ranks 4 --bytes 64K,1M --iterations 201\n"
                                "Every element of every result is compared; exit status 1 if one is wrong.",
                                [this] { return tune(tune_); });
        command->add_option("COLLECTIVE", tune_.collective, collectives)->required()->type_name("");
        command->add_option("--ranks", tune_.ranks, "How many ranks: P, or a range as 2..4")->type_name("P");
        command->add_option("--bytes", tune_.bytes, "A range as 8..1M: its powers of two; or a list")
            ->type_name("SIZES");
        command->add_option("--transport", tune_.transport, "in_process: ranks are threads")->type_name("T");
        command->add_option("--iterations", tune_.iterations, "Runs of each; 51 if not given")->type_name("N");
    }

    void add_measure() {
        CLI::App* command =
            add("measure", "Measure what messages cost here, and fit the model that predictions use",
                "  bough measure\n"
                "  bough measure --transport in_process --ranks 4 --iterations 1000 --json\n"
                "  bough measure --model alpha_beta_gamma --json > here.json\n"
                "  bough measure --heterogeneous --ranks 8 --json > cluster.json\n"
                "  bough measure --heterogeneous --ranks 3 --emulate 'send=1ms,2.15ms,2.15ms;latency=50us'\n"
                "lrc: 1 to P ranks send to rank 0 at once, with an op and without; the slopes are the costs.\n"
                "alpha_beta_gamma: messages between two of P ranks, in turn and both ways at once, and combines.",
                [this] { return measure(measure_); });
        command->add_option("--transport", measure_.transport, "in_process: ranks are threads")->type_name("T");
        command->add_option("--ranks", measure_.ranks, "The most ranks, at least 3; 8 if not given")->type_name("P");
        command->add_option("--model", measure_.model, "lrc or alpha_beta_gamma; lrc if not given")->type_name("M");
        command->add_option("--iterations", measure_.iterations, "Runs of each kind; 101 if not given")->type_name("N");
        command->add_flag("--heterogeneous", measure_.heterogeneous,
                          "What sending and receiving costs each rank; --json writes a cluster file");
        command
            ->add_option("--emulate", measure_.emulate,
                         "Make ranks and links differ: a cluster file, or items as send=1ms,2.15ms,2.15ms;latency=50us")
            ->type_name("CLUSTER");
        add_format(command, measure_.format, {"text", "json"});
    }

    void add_run() {
        CLI::App* command = add("run", "Run a collective on real ranks: checked, timed, and predicted",
                                "  bough run allreduce --ranks 4 --bytes 8,64K,1M --op plus --type f64\n"
                                "  bough run reduce --ranks 8 --bytes 8 --algorithm all\n"
                                "  bough run allreduce --ranks 4 --transport shared_memory\n"
                                "  bough run allreduce --ranks 6 --transport composite --nodes 2\n"
                                "  bough run broadcast --ranks 3 --transport fabric --provider shm\n"
                                "  mpirun -n 4 bough run allreduce --transport tcp --launch pmix\n"
                                "  bough run broadcast --ranks 4 --bytes 8 --iterations 21 --emulate cluster.json\n"
                                "Every element of every result is compared; exit status 1 if one is wrong.",
                                [this] { return run(run_); });
        command->add_option("COLLECTIVE", run_.collective, collectives)->required()->type_name("");
        command->add_option("--ranks", run_.ranks, "How many ranks; those that the launcher has started")
            ->type_name("P");
        command->add_option("--bytes", run_.bytes, "Sizes of the vector of a rank, as 8,64K,1M")->type_name("SIZES");
        command->add_option("--op", run_.op, "plus, multiplies, min, max, logical_and, bit_or, ...")->type_name("OP");
        command->add_option("--type", run_.type, "f64, f32, i64, i32, u64 or u32")->type_name("TYPE");
        command
            ->add_option("--algorithm", run_.algorithm,
                         "One by name; auto: the one that the model prefers; all: each in turn. auto if not given")
            ->type_name("A");
        command->add_option("--degree", run_.degree, "f of fnomial, k of degree_k, arity of kary, ports of circulant")
            ->type_name("F");
        command->add_option("--root", run_.root, "The rank at the top; 0 if not given")->type_name("R");
        command
            ->add_option("--transport", run_.transport,
                         "in_process: ranks are threads; shared_memory, tcp, composite, fabric: processes; mpi: those "
                         "of mpirun")
            ->type_name("T");
        command
            ->add_option("--nodes", run_.nodes,
                         "Of composite: as if the ranks were on so many nodes; those where they are if not given")
            ->type_name("N");
        command
            ->add_option("--provider", run_.provider,
                         "Of fabric: as fi_info names it, tcp;ofi_rxm or shm; libfabric's choice if not given")
            ->type_name("NAME");
        command
            ->add_option("--launch", run_.launch,
                         "Who starts processes: local: this program; pmix: mpirun or srun have. local if not given")
            ->type_name("L");
        command
            ->add_option("--iterations", run_.iterations,
                         "Runs of each; a thousand if not given, or fewer of long ones")
            ->type_name("N");
        command
            ->add_option("--emulate", run_.emulate,
                         "Make ranks and links differ: a cluster file, or items with semicolons as send=LIST, "
                         "receive=LIST, latency=T, jitter=T, bandwidth=N, window=PERIOD,DURATION,FACTOR, "
                         "work=asleep|busy|polled, seed=N")
            ->type_name("CLUSTER");
        add_format(command, run_.format, {"text", "json"});
    }

    void add_launch() {
        CLI::App* command = add(
            "launch", "Start a program as the ranks of a job on this machine, and tell how they ended",
            "  bough launch -n 4 ./program --its --arguments\n"
            "  bough launch -n 8 --timeout 60 --prefix -- ./program\n"
            "The program finds its ranks by bough::this_job(). Exit status: 0 if that of every rank is; else that of\n"
            "the rank that failed first, 128 + its signal if it was killed, 124 if the time was up.",
            [this] { return launch(launch_); });
        command->add_option("-n,--ranks", launch_.ranks, "How many ranks")->required()->type_name("P");
        command->add_option("--timeout", launch_.timeout, "Kill what is left after so many seconds")->type_name("S");
        command->add_option("--grace", launch_.grace, "Kill the others so many seconds after a rank has failed")
            ->type_name("S");
        command->add_flag("--prefix", launch_.prefix, "Each line of a rank's output begins with its rank: [2] ...");
        command->add_option("PROGRAM", "A program and its arguments")->type_name(""); // taken by take_program
    }

    // What follows the program's name is the program's own, also what looks like an option of ours. Returns how many arguments
    // are left.
    int take_program(int argc, char** argv) {
        if (argc < 2 || std::string_view(argv[1]) != "launch") return argc;
        int at = 2;
        for (; at < argc && argv[at][0] == '-'; ++at) {
            const std::string_view option = argv[at];
            if (option == "--") {
                launch_.program.assign(argv + at + 1, argv + argc);
                return at;
            }
            at += option == "-n" || option == "--ranks" || option == "--timeout" || option == "--grace"; // its value
        }
        if (at < argc) launch_.program.assign(argv + at, argv + argc);
        return std::min(at, argc);
    }

    static void add_timed(CLI::App* command, timed_arguments& timed) {
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

    void add_timeline() {
        CLI::App* command =
            add("timeline", "Draw a simulated run: ranks down, time across, messages as arrows",
                "  bough timeline allreduce recursive_doubling --ranks 13 > run.svg\n"
                "  bough timeline reduce fnomial --degree 4 --ranks 1024 --bytes 8 --skew 20000 > run.svg\n"
                "  bough timeline allreduce ring --ranks 8 --bytes 1M --format trace > run.json\n"
                "A trace opens in ui.perfetto.dev and in chrome://tracing.",
                [this] { return timeline(timeline_); });
        add_plan(command, timeline_.plan, "How many ranks", true);
        add_timed(command, timeline_.timed);
        timeline_.plan.format = "svg";
        add_format(command, timeline_.plan.format, {"svg", "trace"}, false);
    }

    void add_export() {
        CLI::App* command =
            add("export", "Write a plan for other tools: simulators, GPUs, Graphviz, spreadsheets",
                "  bough export allreduce ring --ranks 64 --bytes 1M --format goal > ring.goal\n"
                "  bough export allgather circulant --ranks 8 --format msccl > allgather.xml\n"
                "  bough export reduce binomial --ranks 4 --format dot | dot -Tsvg > plan.svg\n"
                "goal: LogGOPSim and ATLAHS. msccl: MSCCL's XML. csv: a line per step. svg, trace: of a\n"
                "simulated run, as 'bough timeline'. GOAL and CSV are written rank by rank, for any size.",
                [this] { return export_plan(export_); });
        add_plan(command, export_.plan, "How many ranks", true);
        add_timed(command, export_.timed);
        command->add_flag("--annotate", export_.annotate,
                          "GOAL: comments with the slices, so that import proves the data");
        export_.plan.format = "goal";
        add_format(command, export_.plan.format, {"goal", "msccl", "dot", "svg", "csv", "trace"}, false);
    }

    void add_import() {
        CLI::App* command =
            add("import", "Read a schedule that another tool wrote, and prove it or name its first bad step",
                "  bough import their.xml --verify\n"
                "  bough import run.goal --verify --json\n"
                "MSCCL XML (allreduce, allgather, reducescatter, alltoall): deadlock, races and data. GOAL:\n"
                "matching, deadlock and volume; the data too, if bough annotated it. Exit status 1: wrong.",
                [this] { return import_file(import_); });
        command->add_option("FILE", import_.file, "A file in GOAL or MSCCL's XML")->required()->type_name("");
        command->add_option("--from", import_.from, "auto, goal or msccl; auto if not given")
            ->type_name("KIND")
            ->check(CLI::IsMember({"auto", "goal", "msccl"}));
        command->add_flag("--verify", import_.verify, "Prove it");
        command
            ->add_option("--slots", import_.slots,
                         "MSCCL: messages that a channel holds; 2 if not given, as NCCL's protocol Simple")
            ->type_name("N");
        add_format(command, import_.format, {"text", "json"});
    }

    void add_simulate() {
        CLI::App* command = add(
            "simulate", "Run a plan in virtual time, with skew, noise and a network if wanted",
            "  bough simulate reduce fnomial --degree 4 --ranks 900 --model table2 --daemon 10ms,50us --runs 1000\n"
            "  bough simulate allreduce ring --ranks 64 --bytes 1M --network fat_tree:4,3,1 --format json\n"
            "  bough simulate reduce binomial --ranks 32 --skew uniform:1ms --split 0,5us --order dependence\n"
            "Times are ns, or have a unit: 300, 1.5us, 10ms, 2s. The same command gives the same result on every\n"
            "machine (the program is compiled with -ffp-contract=off: fused multiplications would show over networks).",
            [this] { return simulate(simulate_); });
        simulate_arguments& s = simulate_;
        add_plan(command, s.plan, "How many ranks", true);
        command->add_option("--bytes", s.bytes, "Of the whole vector, as 8, 64K or 1M; 8 if not given")
            ->type_name("SIZE");
        command
            ->add_option("--model", s.model,
                         "table2 (Moody et al. 2003), rdma (Gupta et al. 2003), lrc:L,r,c,C, loggops:L,o,g,G,O, "
                         "alpha,beta,gamma, a file that 'bough measure --json' wrote, or a cluster file; "
                         "5000,1,0.25 if not given")
            ->type_name("MODEL");
        command
            ->add_option("--skew", s.skew, "When ranks come: uniform:TIME, exponential:TIME (its mean), given:T,T,...")
            ->type_name("HOW");
        command
            ->add_option(
                "--daemon", s.daemons,
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
        command
            ->add_option("--network", s.network,
                         "crossbar:64,1 fat_tree:4,3,1 torus:4x4x4,1 dragonfly:4,2,2,1 irregular:64,16,8,50,1; the "
                         "last is bytes per ns of a cable")
            ->type_name("NET");
        command->add_option("--operations", s.operations, "As many, one after the other")->type_name("N");
        command->add_option("--compute", s.compute, "Work between two of them")->type_name("TIME");
        command->add_option("--runs", s.runs, "Runs, each with the next seed; 1 if not given")->type_name("N");
        command->add_option("--seed", s.seed, "Of all that is random; 1 if not given")->type_name("SEED");
        command->add_option("--measure", s.measure, "Of each run: last, root, mean, waiting or lost; last if not given")
            ->type_name("WHAT");
        command->add_option("--drop", s.drop, "Leave out the highest so many percent of the runs")
            ->type_name("PERCENT");
        command->add_option("--histogram", s.histogram, "Bars; 20 of 20 runs or more, else none")->type_name("BARS");
        command->add_flag("--per-rank", s.per_rank, "The figures of every rank, in JSON and CSV");
        add_format(command, s.plan.format, {"text", "json", "csv"});
    }

    void add_demo() {
        CLI::App* command = add("demo", "See it all at work on your own numbers: measure, choose, prove, reduce, check",
                                "  bough demo\n"
                                "  bough demo my-numbers.txt\n"
                                "A file holds numbers between blanks and new lines; what follows a # is left out.",
                                [this] { return demo(demo_); });
        command->add_option("FILE", demo_.file, "Numbers; a file of temperatures if not given")->type_name("");
    }

    CLI::App app_{"bough: collective communication algorithms as values: drawn, printed, proved, priced and run",
                  "bough"};
    std::function<int()> chosen_;
    tree_arguments tree_;
    compare_arguments compare_;
    schedule_arguments schedule_;
    nic_arguments nic_;
    verify_arguments verify_;
    table_arguments table_;
    measure_arguments measure_;
    simulate_arguments simulate_;
    run_arguments run_;
    launch_arguments launch_;
    choose_arguments choose_;
    map_arguments map_;
    tune_arguments tune_;
    timeline_arguments timeline_;
    export_arguments export_;
    import_arguments import_;
    demo_arguments demo_;
};

int guarded(int argc, char** argv) {
    int status = 0;
    try {
        status = command_line().parse_and_run(argc, argv);
        std::cout.flush();
        if (!std::cout) throw std::runtime_error("standard output: cannot be written");
    } catch (const usage_error& e) {
        std::cerr << "bough: " << e.what() << '\n';
        status = 2;
    } catch (const std::bad_alloc&) {
        std::cerr << "bough: there is not enough memory for this\n";
        status = 3;
    } catch (const std::exception& e) {
        std::cerr << "bough: " << e.what() << '\n';
        status = 3;
    }
    return status;
}

} // namespace

} // namespace cli

int main(int argc, char** argv) { return cli::guarded(argc, argv); }
