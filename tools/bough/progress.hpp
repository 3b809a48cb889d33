// SPDX-License-Identifier: BSL-1.0
// Progress: what a command that takes longer than two seconds shows on standard error, if that is a terminal.
//
//   progress::expect(cells);                       // how much there is to do, if that is known
//   for (...) { ...; progress::step(); }
//
// Without expect() it tells how long the command has run. Nothing is drawn into a pipe or a file, and the line is gone before
// the command prints. The drawing is done by a timer's signal, so that it costs the command nothing, and a rank that
// the command forks inherits none of it.
#ifndef BOUGH_TOOLS_PROGRESS_HPP
#define BOUGH_TOOLS_PROGRESS_HPP

#include <cstdint>

namespace cli::progress {

// Of a command, as long as it lives. `name`: a literal.
class shown {
public:
    explicit shown(const char* name);
    shown(const shown&) = delete;
    shown& operator=(const shown&) = delete;
    ~shown();
};

// From here on there are so many steps.
void expect(std::uint64_t steps) noexcept;
void step(std::uint64_t count = 1) noexcept;

} // namespace cli::progress

#endif
