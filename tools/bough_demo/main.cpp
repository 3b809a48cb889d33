// SPDX-License-Identifier: BSL-1.0
// bough-demo: `bough demo` as a program of its own, which is built in a fraction of the tool's
// time. For tools/demo.
#include "../bough/commands.hpp"
#include "../bough/exit_status.hpp"

#include <iostream>
#include <string>
#include <string_view>

namespace {

constexpr std::string_view help = R"(Usage: bough-demo [--picture PICTURE.svg] [FILE]
Measures this machine, chooses a tree, proves it, breaks it, and reduces numbers on threads with it.
FILE holds numbers between blanks and new lines; what follows a # is left out. Temperatures if not given.
)";

int run(int argc, char** argv) {
    cli::demo_arguments typed;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--help" || word == "-h") {
            std::cout << help;
            return 0;
        }
        if (word == "--picture") {
            if (++i == argc) throw cli::usage_error(word, "needs a file to write");
            typed.picture = argv[i];
        } else if (word.size() > 1 && word.front() == '-') {
            throw cli::usage_error("'" + word + "'", "is not an argument; see --help");
        } else if (typed.file.empty()) {
            typed.file = word;
        } else {
            throw cli::usage_error("'" + word + "'", "is one file too many");
        }
    }
    return cli::demo(typed);
}

} // namespace

int main(int argc, char** argv) {
    return cli::exit_status_of("bough-demo", [&] { return run(argc, argv); });
}
