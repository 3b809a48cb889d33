// SPDX-License-Identifier: BSL-1.0
// The exit status of a program, and its last words: 0 all is well; 1 a plan or a result is wrong; 2
// it cannot be asked for; 3 the machine could not do it.
#ifndef BOUGH_TOOLS_EXIT_STATUS_HPP
#define BOUGH_TOOLS_EXIT_STATUS_HPP

#include "parse.hpp"

#include <exception>
#include <iostream>
#include <new>
#include <stdexcept>

namespace cli {

// What `run()` returns; or, if it throws, a sentence on standard error and the status that goes
// with it.
template <class F>
int exit_status_of(const char* program, F&& run) {
    try {
        const int status = run();
        std::cout.flush();
        if (!std::cout) throw std::runtime_error("standard output: cannot be written");
        return status;
    } catch (const usage_error& e) {
        std::cerr << program << ": " << e.what() << '\n';
        return 2;
    } catch (const std::bad_alloc&) {
        std::cerr << program << ": there is not enough memory for this\n";
        return 3;
    } catch (const std::exception& e) {
        std::cerr << program << ": " << e.what() << '\n';
        return 3;
    }
}

} // namespace cli

#endif
