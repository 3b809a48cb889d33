// SPDX-License-Identifier: BSL-1.0
// bough: the command line. Its exit status.
//
// 0 all is well; 1 a plan or a result is wrong; 2 it cannot be asked for; 3 the machine could not do it.
#include "command_line.hpp"
#include "parse.hpp"

#include <iostream>
#include <new>
#include <stdexcept>

namespace cli {

namespace {

int guarded(int argc, char** argv) {
    int status = 0;
    try {
        status = command_line().parse_and_run(argc, argv);
        std::cout.flush();
        if (!std::cout) throw std::runtime_error("standard output: cannot be written");
    } catch (const usage_error& e) {
        std::cerr << "bough: " << e.what() << '\n';
        status = 2;
    } catch (const std::bad_alloc&) {
        std::cerr << "bough: there is not enough memory for this\n";
        status = 3;
    } catch (const std::exception& e) {
        std::cerr << "bough: " << e.what() << '\n';
        status = 3;
    }
    return status;
}

} // namespace

} // namespace cli

int main(int argc, char** argv) { return cli::guarded(argc, argv); }
