// SPDX-License-Identifier: BSL-1.0
// bough: the command line. What may be typed, and where it goes.
//
// Exit status: 0 all is well; 1 a plan or a result is wrong; 2 it cannot be asked for; 3 the machine could not do it.
#include "commands.hpp"
#include "parse.hpp"
#include <bough/core/version.hpp>

#include <CLI/CLI.hpp>

#include <functional>
#include <iostream>
#include <new>
#include <string>

namespace cli {

namespace {

const std::string collectives =
    "reduce, allreduce, broadcast, barrier, gather, scatter, reduce_scatter, allgather, scan, exscan or alltoall";
const std::string shapes = "binomial, binomial_high, fnomial, degree_k, kary, chain, flat";

class command_line {
public:
    command_line() {
        app_.set_version_flag("--version", version());
        app_.failure_message([](const CLI::App*, const CLI::Error& e) { return std::string(e.what()); });
        app_.require_subcommand(0, 1);
        app_.footer("'bough COMMAND --help' explains a command and shows two examples.");
        add_tree();
        add_schedule();
        add_verify();
        add_table();
        add_choose();
        add_map();
        add_measure();
        add_tune();
        add_run();
        add_demo();
    }

    int parse_and_run(int argc, char** argv) {
        try {
            app_.parse(argc, argv);
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
    static void add_format(CLI::App* command, std::string& format, const std::vector<std::string>& known) {
        std::string names;
        for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
        command->add_option("--format", format, "How to print: " + names)
            ->type_name("FORMAT")
            ->check([known, names](const std::string& text) {
                for (const std::string& name : known)
                    if (name == text) return std::string();
                return "there is no '" + text + "'; known are " + names;
            });
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
                "The outline lists the children of a rank in the order in which a reduction receives them.",
                [this] { return tree(tree_); });
        command->add_option("SHAPE", tree_.shape, shapes)->required()->type_name("");
        command->add_option("--ranks", tree_.ranks, "How many ranks")->required()->type_name("P");
        command->add_option("--degree", tree_.degree, "f of fnomial, k of degree_k, arity of kary, ports of circulant")
            ->type_name("F");
        command->add_option("--root", tree_.root, "The rank at the top; 0 if not given")->type_name("R");
        command->add_flag("--ordered", tree_.ordered, "Keep rank order for any root");
        add_format(command, tree_.format, {"outline", "json", "dot"});
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
        "A file that 'bough measure --json' wrote, or alpha,beta,gamma in ns and ns per byte; 5000,1,0.25 if not given";

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
                "lrc: 1 to P ranks send to rank 0 at once, with an op and without; the slopes are the costs.\n"
                "alpha_beta_gamma: messages between two of P ranks, in turn and both ways at once, and combines.",
                [this] { return measure(measure_); });
        command->add_option("--transport", measure_.transport, "in_process: ranks are threads")->type_name("T");
        command->add_option("--ranks", measure_.ranks, "The most ranks, at least 3; 8 if not given")->type_name("P");
        command->add_option("--model", measure_.model, "lrc or alpha_beta_gamma; lrc if not given")->type_name("M");
        command->add_option("--iterations", measure_.iterations, "Runs of each kind; 101 if not given")->type_name("N");
        add_format(command, measure_.format, {"text", "json"});
    }

    void add_run() {
        CLI::App* command = add("run", "Run a collective on real ranks: checked, timed, and predicted",
                                "  bough run allreduce --ranks 4 --bytes 8,64K,1M --op plus --type f64\n"
                                "  bough run reduce --ranks 8 --bytes 8 --algorithm all\n"
                                "Every element of every result is compared; exit status 1 if one is wrong.",
                                [this] { return run(run_); });
        command->add_option("COLLECTIVE", run_.collective, collectives)->required()->type_name("");
        command->add_option("--ranks", run_.ranks, "How many ranks")->required()->type_name("P");
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
        command->add_option("--transport", run_.transport, "in_process: ranks are threads")->type_name("T");
        command
            ->add_option("--iterations", run_.iterations,
                         "Runs of each; a thousand if not given, or fewer of long ones")
            ->type_name("N");
        add_format(command, run_.format, {"text", "json"});
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
    schedule_arguments schedule_;
    verify_arguments verify_;
    table_arguments table_;
    measure_arguments measure_;
    run_arguments run_;
    choose_arguments choose_;
    map_arguments map_;
    tune_arguments tune_;
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
