// SPDX-License-Identifier: BSL-1.0
// Calls that a communicator of the program has made lately. A blocking call that says the same as one of
// them, and differs in its buffers alone, runs that one's plan at once: nothing is described, packed or
// looked for. That pays for short calls that are made again and again.
//
// Only calls are kept whose types and op are the MPI's own, and whose elements lie as they travel. A handle of
// the program may be freed, and stand for something else in the next call.
#ifndef BOUGH_TOOLS_MPI_AGAIN_HPP
#define BOUGH_TOOLS_MPI_AGAIN_HPP

#include "frame.hpp"
#include "handles.hpp"
#include "report.hpp"
#include <bough/communicator/repeated_calls.hpp>

#include <array>
#include <cstddef>
#include <mpi.h>

namespace under_mpi {

// What a call says besides its buffers. What is not significant on this rank stays out of it.
struct said_call {
    collective which{};
    int count = 0, other_count = 0, root = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL, other_type = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;

    bool operator==(const said_call& o) const noexcept {
        return which == o.which && count == o.count && type == o.type && root == o.root && op == o.op &&
               other_count == o.other_count && other_type == o.other_type;
    }
};

class lately {
public:
    struct one {
        said_call said{};
        bough::detail::repeat_place at{};
        std::size_t bytes = 0; // of a vector, or of one block
    };
    // Null: no such call is kept.
    const one* find(const said_call& said) const noexcept {
        const pair& two = pairs_[place(said)];
        if (two.newer.said == said) return &two.newer;
        return two.older.said == said ? &two.older : nullptr;
    }
    // A call that has just ended well, if it may be kept.
    void keep(const said_call& said, const bough::detail::repeat_place& at) noexcept {
        const bool may_be_kept = at.call != nullptr && is_fixed(said.type) && is_fixed(said.other_type) &&
                                 (said.op == MPI_OP_NULL || known_op_of(said.op) != known_op::none);
        if (!may_be_kept) return;
        const bool says_first = said.type != MPI_DATATYPE_NULL;
        const auto count = static_cast<std::size_t>(says_first ? said.count : said.other_count);
        pair& two = pairs_[place(said)];
        if (!(two.newer.said == said)) two.older = two.newer;
        two.newer = {said, at, count * shape_of(says_first ? said.type : said.other_type).size};
    }

private:
    struct pair { // calls that differ in type or op alone share it: often two of them take turns
        one newer, older;
    };
    // A type that stays what it is, of elements that lie as they travel, at their own address.
    static bool is_fixed(MPI_Datatype type) {
        if (type == MPI_DATATYPE_NULL) return true; // says nothing
        // This comes first: MPICH has to be asked several times for the shape of a type of the program.
        if (known_type_of(type) == known_type::none) return false;
        const shape s = shape_of(type);
        return s.is_solid_row(2) && s.true_lb == 0;
    }
    static std::size_t place(const said_call& said) noexcept {
        return (static_cast<std::size_t>(said.which) + static_cast<std::size_t>(said.count) +
                5 * static_cast<std::size_t>(said.root)) %
               4;
    }

    std::array<pair, 4> pairs_{};
};

} // namespace under_mpi

#endif
