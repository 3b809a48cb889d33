// SPDX-License-Identifier: BSL-1.0
// What may be typed for choices and what they are made by: bough choose, map, tune, measure.
#include "command_line.hpp"

namespace cli {

namespace {

constexpr const char* about_model =
    "A file that 'bough measure --json' wrote, a cluster file, or alpha,beta,gamma in ns and ns per byte; "
    "5000,1,0.25 if not given";

constexpr const char* about_eager = "Messages of more bytes wait for their receives; 0: all do. Without it none does";

std::string about_choice_network() {
    return "Price by runs over a network, and say how near its bound the winner comes; --model is then one of those of "
           "'bough simulate', lrc:1us,0,0 if not given. " +
           std::string(about_networks);
}

} // namespace

void add_choose(command_line& line) {
    auto [command, typed] =
        line.add("choose", "Choose an algorithm by a model of the network, and say why",
                 "  bough choose allreduce --ranks 13 --bytes 64K\n"
                 "  bough choose allreduce --ranks 13 --bytes 8,1M --model 2000,0.1,0.05 --require order\n"
                 "  bough choose allreduce --ranks 4 --bytes 8K --table tuned.json\n"
                 "  bough choose allreduce --ranks 64 --bytes 1M,32M --network torus:8x8,50,200,hop=50\n"
                 "  bough choose allreduce --ranks 4 --bytes 8,8K,1M --transport shared_memory\n"
                 "  bough choose allreduce --ranks 6 --bytes 1M --transport composite --nodes 2\n"
                 "  bough choose neighbour_alltoall --neighbours box:4x4x4 --bytes 13K,13M\n"
                 "Exit status 1 if there is none that has what is required.",
                 &choose);
    command->add_option("COLLECTIVE", typed.collective, about_plan_collectives)->required()->type_name("");
    command->add_option("--ranks", typed.ranks, "How many ranks")->type_name("P");
    command->add_option("--neighbours", typed.neighbours, about_neighbours)->type_name("WHO");
    command->add_option("--bytes", typed.bytes, "Sizes of the whole vector, as 8,64K,1M; 64K if not given")
        ->type_name("SIZES");
    command->add_option("--root", typed.root, "The rank at the top; 0 if not given")->type_name("R");
    command->add_option("--model", typed.model, about_model)->type_name("MODEL");
    command->add_option("--eager", typed.eager, about_eager)->type_name("SIZE");
    command->add_option("--network", typed.network, about_choice_network())->type_name("NET");
    command->add_option("--table", typed.table, "A file that 'bough tune' wrote, to compare the model with")
        ->type_name("FILE");
    command
        ->add_option("--require", typed.require,
                     "order (for an op that does not commute), bits (the same on every rank), any_size")
        ->type_name("WHAT");
    command->add_flag("--exact", typed.exact,
                      "The op gives the same bits in any order, as min and sums of integers do");
    command
        ->add_option("--arrivals", typed.arrivals,
                     "reduce, allreduce: when each rank comes, as 0,20us,0; plans made for that are candidates, too")
        ->type_name("LIST");
    command->add_flag("--all", typed.all, "Price every candidate, also those that cannot win");
    add_transport(command, typed,
                  "Ask ranks over a transport here, by whose costs automatic{} chooses, which way messages go: "
                  "in_process, shared_memory, tcp, composite, fabric, verbs; mpi: those of mpirun");
    add_format(command, typed.format, {"text", "json"});
}

void add_map(command_line& line) {
    auto [command, typed] =
        line.add("map", "Draw which algorithm is the fastest where, over ranks and bytes",
                 "  bough map allreduce --ranks 2..16 --bytes 8..1M\n"
                 "  bough map allreduce --ranks 2..64 --bytes 8..16M --model mine.json --format svg > map.svg",
                 &map);
    command->add_option("COLLECTIVE", typed.collective, about_collectives)->required()->type_name("");
    command->add_option("--ranks", typed.ranks, "A range as 2..64")->type_name("P");
    command->add_option("--bytes", typed.bytes, "A range as 8..16M: its powers of two")->type_name("SIZES");
    command->add_option("--model", typed.model, about_model)->type_name("MODEL");
    command->add_option("--eager", typed.eager, about_eager)->type_name("SIZE");
    command->add_option("--network", typed.network, about_choice_network())->type_name("NET");
    command->add_option("--require", typed.require, "order, bits, any_size")->type_name("WHAT");
    add_format(command, typed.format, {"text", "svg", "json"});
}

void add_tune(command_line& line) {
    auto [command, typed] = line.add("tune", "Measure the candidates here, for a table to choose by; prints JSON",
                                     "  bough tune allreduce --ranks 2..4 --bytes 8..1M > tuned.json\n"
                                     "  bough tune broadcast --ranks 4 --bytes 64K,1M --iterations 201\n"
                                     "  bough tune one_sided --transport shared_memory --bytes 64..64K\n"
                                     "Every element of every result is compared; exit status 1 if one is wrong.",
                                     &tune);
    command
        ->add_option("COLLECTIVE", typed.collective,
                     std::string(about_collectives) +
                         "; or one_sided: its blocks, pieces and threshold, between 2 ranks")
        ->required()
        ->type_name("");
    command->add_option("--ranks", typed.ranks, "How many ranks: P, or a range as 2..4")->type_name("P");
    command->add_option("--bytes", typed.bytes, "A range as 8..1M: its powers of two; or a list")->type_name("SIZES");
    command
        ->add_option("--transport", typed.transport,
                     "in_process: ranks are threads; of one_sided also shared_memory, fabric")
        ->type_name("T");
    command->add_option("--provider", typed.provider, "Of fabric, as fi_info names it")->type_name("NAME");
    command->add_option("--iterations", typed.iterations, "Runs of each; 51 if not given")->type_name("N");
}

void add_measure(command_line& line) {
    auto [command, typed] =
        line.add("measure", "Measure what messages cost here, and fit the model that predictions use",
                 "  bough measure\n"
                 "  bough measure --transport in_process --ranks 4 --iterations 1000 --json\n"
                 "  bough measure --model alpha_beta_gamma --json > here.json\n"
                 "  bough measure --heterogeneous --ranks 8 --json > cluster.json\n"
                 "  bough measure --heterogeneous --ranks 3 --emulate 'send=1ms,2.15ms,2.15ms;latency=50us'\n"
                 "lrc: 1 to P ranks send to rank 0 at once, with an op and without; the slopes are the costs.\n"
                 "alpha_beta_gamma: messages between two of P ranks, in turn and both ways at once, and combines.",
                 &measure);
    command->add_option("--transport", typed.transport, "in_process: ranks are threads")->type_name("T");
    command->add_option("--ranks", typed.ranks, "The most ranks, at least 3; 8 if not given")->type_name("P");
    command->add_option("--model", typed.model, "lrc or alpha_beta_gamma; lrc if not given")->type_name("M");
    command->add_option("--iterations", typed.iterations, "Runs of each kind; 101 if not given")->type_name("N");
    command->add_flag("--heterogeneous", typed.heterogeneous,
                      "What sending and receiving costs each rank; --json writes a cluster file");
    command
        ->add_option("--emulate", typed.emulate,
                     "Make ranks and links differ: a cluster file, or items as send=1ms,2.15ms,2.15ms;latency=50us")
        ->type_name("CLUSTER");
    add_format(command, typed.format, {"text", "json"});
}

} // namespace cli
