// SPDX-License-Identifier: BSL-1.0
// What may be typed for trees: bough tree, bough compare.
#include "command_line.hpp"
#include "shape.hpp"
#include "timed_tree.hpp"

namespace cli {

namespace {

void add_costs(CLI::App* command, cost_arguments& costs) {
    command->add_option("--costs", costs.costs, "What sending costs each rank, as 100,300,300")->type_name("LIST");
    command->add_option("--receive", costs.receive, "What receiving costs each rank; nothing if not given")
        ->type_name("LIST");
    command->add_option("--latency", costs.latency, "From the end of a send to the receive; 0 if not given")
        ->type_name("TIME");
    command->add_option("--cluster", costs.file, "A cluster file instead: 'bough measure --heterogeneous' writes one")
        ->type_name("FILE");
    command->add_option("--members", costs.members, "Only to these ranks, as 1,5,6: a multicast")->type_name("LIST");
    command->add_option("--bytes", costs.bytes, "Of the message, for a cluster file; 8 if not given")
        ->type_name("SIZES");
}

} // namespace

void add_tree(command_line& line) {
    auto [command, typed] = line.add(
        "tree", "Draw a tree: who is whose parent, and in which order it serves its children",
        "  bough tree fnomial --degree 3 --ranks 9\n"
        "  bough tree binomial --ranks 13 --root 5 --ordered --format dot | dot -Tsvg > tree.svg\n"
        "  bough tree fnf --costs 100,300,300,300,300,100,300,300 --format svg > tree.svg\n"
        "  bough tree postal --ranks 64 --latency 2.1us --gap 1920\n"
        "  bough tree arrival --arrivals 0,20us,0,0,15us,0,0 --latency 2.1us --gap 1920\n"
        "The outline lists the children of a rank in the order in which a reduction receives them.\n"
        "spoc, fnf, search, optimal and interval are made of what sending costs each rank. postal is the best\n"
        "for a latency and a gap, arrival a reduction of ranks that come at different times; without --root,\n"
        "its root is the one that comes last. Their times are ns, or have a unit.",
        &tree);
    command->add_option("SHAPE", typed.shape, known_shapes() + "; or " + known_cost_trees + ", " + known_timed_trees)
        ->required()
        ->type_name("");
    command->add_option("--ranks", typed.ranks, "How many ranks")->type_name("P");
    add_costs(command, typed.costs);
    command
        ->add_option("--gap", typed.gap,
                     "postal, arrival: how long a message keeps its parent busy; of a reduction, to take it in "
                     "and combine it")
        ->type_name("TIME");
    command->add_option("--arrivals", typed.arrivals, "arrival: when each rank comes, as 0,20us,0")->type_name("LIST");
    command->add_option("--degree", typed.degree, about_degree)->type_name("F");
    command->add_option("--root", typed.root, "The rank at the top; 0 if not given")->type_name("R");
    command->add_flag("--ordered", typed.ordered, "Keep rank order for any root");
    add_format(command, typed.format, {"outline", "json", "dot", "svg"});
}

void add_compare(command_line& line) {
    auto [command, typed] =
        line.add("compare", "Compare trees for ranks that differ in speed",
                 "  bough compare --costs 100,300,300,300,300,100,300,300\n"
                 "  bough compare reduce --cluster mine.json --bytes 8,64K --root all\n"
                 "Side by side: the binomial tree, spoc, fnf, fnf with a search, the optimum, and for\n"
                 "reductions the best tree that keeps rank order. One case shows the trees too.\n"
                 "In a reduction spoc and fnf may be slower than binomial: they place ranks by what\n"
                 "taking in a message costs them, whatever it costs them to send their own.",
                 &compare);
    command->add_option("COLLECTIVE", typed.collective, "broadcast, reduce or allreduce; broadcast if not given")
        ->type_name("");
    add_costs(command, typed.costs);
    command->add_option("--root", typed.root, "A rank, a list, or all; 0 if not given")->type_name("R");
    add_format(command, typed.format, {"text", "json"});
}

} // namespace cli
