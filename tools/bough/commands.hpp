// SPDX-License-Identifier: BSL-1.0
// The commands. Each takes what was typed, prints to standard output and returns the exit status: 0 all is well, 1 a plan
// or a result is wrong. It throws usage_error (status 2) for what cannot be asked for.
#ifndef BOUGH_TOOLS_COMMANDS_HPP
#define BOUGH_TOOLS_COMMANDS_HPP

#include <string>

namespace cli {

struct tree_arguments {
    std::string shape;
    std::string ranks;
    std::string degree;
    std::string root = "0";
    bool ordered = false;
    std::string format = "outline";
};
int tree(const tree_arguments&);

// What names a plan: of schedule and verify.
struct plan_arguments {
    std::string collective;
    std::string algorithm;
    std::string ranks;
    std::string degree;
    std::string root = "0";
    std::string blocks;
    bool ordered = false;
    std::string format = "text";
};

struct schedule_arguments {
    plan_arguments plan;
    std::string rank; // empty: every rank
};
int schedule(const schedule_arguments&);

struct verify_arguments {
    plan_arguments plan;
    std::string schedule; // a file instead of a plan
};
int verify(const verify_arguments&);

struct table_arguments {
    std::string ranks = "13";
    std::string format = "text";
};
int table(const table_arguments&);

struct choose_arguments {
    std::string collective;
    std::string ranks;
    std::string bytes = "64K";
    std::string root = "0";
    std::string model;   // a file or three costs; empty: those of bough's own tables
    std::string table;   // a file
    std::string require; // order,bits,any_size
    bool all = false;    // price all
    std::string format = "text";
};
int choose(const choose_arguments&);

struct map_arguments {
    std::string collective;
    std::string ranks = "2..64";
    std::string bytes = "8..16M";
    std::string model;
    std::string require;
    std::string format = "text";
};
int map(const map_arguments&);

struct tune_arguments {
    std::string collective;
    std::string ranks = "2..4";
    std::string bytes = "8..1M";
    std::string transport = "in_process";
    std::string iterations = "51";
};
int tune(const tune_arguments&);

struct measure_arguments {
    std::string transport = "in_process";
    std::string ranks = "8";
    std::string iterations = "101";
    std::string model = "lrc";
    std::string format = "text";
};
int measure(const measure_arguments&);

struct run_arguments {
    std::string collective;
    std::string algorithm = "auto"; // or all, or a name
    std::string degree;
    std::string ranks;
    std::string root = "0";
    std::string transport = "in_process";
    std::string bytes = "8,1K,64K,1M";
    std::string op = "plus";
    std::string type = "f64";
    std::string iterations; // empty: a thousand, or fewer where they would take long
    std::string format = "text";
};
int run(const run_arguments&);

struct demo_arguments {
    std::string file; // empty: examples/data/temperatures.txt
};
int demo(const demo_arguments&);

} // namespace cli

#endif
