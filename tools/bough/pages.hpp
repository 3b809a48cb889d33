// SPDX-License-Identifier: BSL-1.0
// What is made from the help of the whole: the man page, and what shells need to complete words.
#ifndef BOUGH_TOOLS_PAGES_HPP
#define BOUGH_TOOLS_PAGES_HPP

#include <CLI/CLI.hpp>

#include <iosfwd>
#include <string>

namespace cli {

// In the language of man(7).
void print_man_page(std::ostream& out, const CLI::App& app, const std::string& version);

// A script that a shell reads: bash, zsh or fish. Throws usage_error for another.
void print_completion(std::ostream& out, const CLI::App& app, const std::string& shell);

} // namespace cli

#endif
