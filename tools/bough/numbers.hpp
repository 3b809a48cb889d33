// SPDX-License-Identifier: BSL-1.0
// Files of numbers: decimal, between blanks and new lines; what follows a # on its line is left out.
#ifndef BOUGH_TOOLS_NUMBERS_HPP
#define BOUGH_TOOLS_NUMBERS_HPP

#include <string>
#include <vector>

namespace cli {

struct number_file {
    std::string path;
    std::vector<double> numbers; // finite, at least one
};

// Throws usage_error, which names the file and the line.
number_file read_numbers(const std::string& path);

// The path of a file of examples/data, looked for in and above the folder one is in and the folder of this program.
// Throws usage_error if it is nowhere.
std::string find_example(const std::string& name);

} // namespace cli

#endif
