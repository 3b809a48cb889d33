// SPDX-License-Identifier: BSL-1.0
// The C++ program that makes a plan, proves it and prints it.
#include "program.hpp"

namespace playground {

namespace {

// Well within what g++ 12 and clang 14 take by default: clang does not prove a swing of 16 ranks, with
// 1,800 steps. Some algorithms also take long to make a step.
constexpr std::size_t most_steps_proved_by_the_compiler = 200;

} // namespace

std::string program_of(const asked_plan& asked, std::size_t steps) {
    const cli::problem& what = asked.what;
    const bool small = steps <= most_steps_proved_by_the_compiler && !cli::has_rank_blocks(what.collective);
    std::string at = ".size = " + std::to_string(what.at.size);
    if (what.at.root != 0) at += ", .root = " + std::to_string(what.at.root);
    if (what.at.blocks != bough::natural_blocks) at += ", .blocks = " + std::to_string(what.at.blocks);
    const std::string name = cli::name_of(what.collective);
    std::string text = "#include <bough/bough.hpp>\n\n#include <iostream>\n\nint main() {\n";
    text += std::string("    ") + (small ? "constexpr" : "const") + " auto plan = bough::plan_" + name + "(\n        " +
            asked.cpp + ", {" + at + "});\n";
    if (small) text += "    static_assert(bough::proven<bough::verify(plan)>()); // a wrong plan does not compile\n";
    text += "    std::cout << bough::to_string(bough::verify(plan)) << '\\n';\n"
            "    for (bough::rank_t r = 0; r != plan.size(); ++r)\n"
            "        std::cout << \"rank \" << r << '\\n' << bough::to_string(plan.schedule_of(r));\n"
            "}\n";
    return text;
}

} // namespace playground
