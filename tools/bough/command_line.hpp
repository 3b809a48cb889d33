// SPDX-License-Identifier: BSL-1.0
// The command line as a whole: every command with what may be typed for it. Each add_x adds one, in arguments_*.cpp, so
// that only these files compile the parser.
//
//   void add_table(command_line& line) {
//       auto [command, typed] = line.add("table", "Compare ...", "  bough table --ranks 13\n", &table);
//       command->add_option("--ranks", typed.ranks, "How many ranks")->type_name("P");
//   }
#ifndef BOUGH_TOOLS_COMMAND_LINE_HPP
#define BOUGH_TOOLS_COMMAND_LINE_HPP

#include "commands.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cli {

class command_line {
public:
    command_line();
    // The exit status of the command. Throws what it throws, and usage_error for what cannot be typed.
    int parse_and_run(int argc, char** argv);

    // A command, and the arguments that are typed for it; run gets them once all is parsed.
    template <class Arguments>
    std::pair<CLI::App*, Arguments&> add(const std::string& name, const std::string& what, const std::string& examples,
                                         int (*run)(const Arguments&)) {
        const auto typed = std::make_shared<Arguments>();
        return {add_command(name, what, examples, [typed, run] { return run(*typed); }), *typed};
    }
    // Of launch: what follows the program's name is the program's own, also what looks like an option of ours. And how
    // its ranks were typed: -n or --ranks.
    void keep_program_in(std::vector<std::string>& program, std::string& ranks_as) {
        program_ = &program;
        ranks_as_ = &ranks_as;
    }

private:
    CLI::App* add_command(const std::string& name, const std::string& what, const std::string& examples,
                          std::function<int()> run);
    void add_help();
    void add_completion();
    std::string help_of_all();
    const CLI::App& command_of(const std::string& name);
    std::string known_commands();
    std::string what_is_too_much();
    int take_program(int argc, char** argv);

    CLI::App app_{"bough: collective communication algorithms as values: drawn, printed, proved, priced and run",
                  "bough"};
    std::function<int()> chosen_;
    std::vector<std::string>* program_ = nullptr;
    std::string* ranks_as_ = nullptr;
};

inline constexpr const char* about_extents =
    "Of the torus that the ranks form, for swing, bucket and trivance: 8x8, 4x4x4; "
    "rank r is at r modulo the first extent in the first "
    "dimension. One ring if not given";
inline constexpr const char* about_networks =
    "crossbar:64,1 fat_tree:4,3,1 fat_tree:8x8/1x4,1 torus:4x4x4,1 torus:4x4x4,1,6 mesh:4x6,1 dragonfly:4,2,2,1 "
    "rails:4,8,1,6 sockets:4,2,16,1,8,2 irregular:64,16,8,50,1 slurm:topology.conf,12.5,50 "
    "hwloc:node.xml,4,12.5,40,20; numbers at the end are "
    "bytes per ns of cables; "
    ",hop=50ns behind them is the time of each link; or a file that 'bough network --format file' wrote";
inline constexpr const char* about_collectives =
    "reduce, allreduce, broadcast, barrier, gather, scatter, reduce_scatter, allgather, scan, exscan or alltoall";
inline constexpr const char* about_plan_collectives =
    "reduce, allreduce, broadcast, barrier, gather, scatter, reduce_scatter, allgather, scan, exscan, alltoall, "
    "neighbour_allgather or neighbour_alltoall";
inline constexpr const char* about_neighbours =
    "Who sends to whom in neighbour_allgather and neighbour_alltoall, and so how many ranks there are: star:8x8, a "
    "torus with neighbours along the axes; box:4x4x4, also across corners; star:8x8,ends, a grid whose ends do not "
    "meet; star:8x8,2, neighbours up to 2 away; or a file with a line such as '0: 1 2' for each rank that sends";
inline constexpr const char* about_degree =
    "f of fnomial, k of degree_k, arity of kary and dual_root, ports of circulant, swing and bucket";

// Options that several commands have. --format, and --json for short.
void add_format(CLI::App*, std::string& format, const std::vector<std::string>& known, bool has_json = true);
// COLLECTIVE, ALGORITHM, --ranks, --root, --blocks, --degree, --network, --ordered.
void add_plan(CLI::App*, plan_arguments&, const std::string& about_ranks, bool required,
              const std::string& about_network = "Of packed_trees: the network for which trees are packed, as 'bough "
                                                 "network' takes it");
// --transport, and what goes with one of them alone.
void add_transport(CLI::App*, transport_arguments&, const std::string& about);

void add_tree(command_line&);
void add_compare(command_line&);
void add_schedule(command_line&);
void add_verify(command_line&);
void add_table(command_line&);
void add_choose(command_line&);
void add_map(command_line&);
void add_measure(command_line&);
void add_simulate(command_line&);
void add_network(command_line&);
void add_tune(command_line&);
void add_predict(command_line&);
void add_run(command_line&);
void add_launch(command_line&);
void add_doctor(command_line&);
void add_trace(command_line&);
void add_timeline(command_line&);
void add_nic(command_line&);
void add_export(command_line&);
void add_import(command_line&);
void add_demo(command_line&);

} // namespace cli

#endif
