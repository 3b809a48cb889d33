// SPDX-License-Identifier: BSL-1.0
// bough: the command line.
#include "command_line.hpp"
#include "exit_status.hpp"

int main(int argc, char** argv) {
    return cli::exit_status_of("bough", [&] { return cli::command_line().parse_and_run(argc, argv); });
}
