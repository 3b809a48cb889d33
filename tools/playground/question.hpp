// SPDX-License-Identifier: BSL-1.0
// What the page asks: `collective=allreduce&algorithm=ring&ranks=13`. It is also what stands after
// the # of a link to the page.
#ifndef BOUGH_TOOLS_PLAYGROUND_QUESTION_HPP
#define BOUGH_TOOLS_PLAYGROUND_QUESTION_HPP

#include "catalogue.hpp"
#include "edits.hpp"
#include "timed_model.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace playground {

// The most ranks that the page draws.
inline constexpr bough::rank_t most_ranks = 256;

class question {
public:
    explicit question(std::string_view text) : text_(text) {}
    // The value of a name; `absent` if it is not there.
    std::string value(std::string_view name, std::string_view absent = "") const;

private:
    std::string_view text_;
};

// A plan that the page asks for, with the changes of its steps, and what it costs.
struct asked_plan {
    cli::problem what;
    std::optional<cli::any_shape> tree; // if the algorithm runs over a tree
    bool ordered = false;
    std::string cpp; // the algorithm, as one writes it in C++
    edit_list edits;
    std::uint64_t bytes = 0;
    cli::timed_model model;
};

// Throws cli::usage_error; not for a plan that is too long.
asked_plan parse_plan(const question&);

} // namespace playground

#endif
