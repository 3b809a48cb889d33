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

} // namespace cli

#endif
