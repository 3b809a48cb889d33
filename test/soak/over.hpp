// SPDX-License-Identifier: BSL-1.0
// One rank of a job over each transport; each is a source of its own, since they take long to compile.
#ifndef BOUGH_TEST_SOAK_OVER_HPP
#define BOUGH_TEST_SOAK_OVER_HPP

#include "soak/board.hpp"
#include "soak/draw.hpp"
#include "transport/shared_memory_world.hpp"

#include <string>

namespace soak {

inline std::string recording_of(const std::string& folder, bough::rank_t rank) {
    return folder + "/" + std::to_string(rank) + ".bough";
}

// Each rank is a process. `recording`: its file.
void play_over_shared_memory(const job_plan& job, seat& mine, bough_test::processes::wire& wire,
                             const std::string& recording);
void play_over_tcp(const job_plan& job, seat& mine, bough_test::processes::wire& wire, const std::string& recording);
// Shared memory in each of two halves, tcp between them.
void play_over_composite(const job_plan& job, seat& mine, bough_test::processes::wire& wire,
                         const std::string& recording);
// Remote writes into shared memory.
void play_over_one_sided(const job_plan& job, seat& mine, bough_test::processes::wire& wire,
                         const std::string& recording);
// Each rank is a thread of this process.
void play_over_in_process(const job_plan& job, const board& seats, const std::string& folder);

} // namespace soak

#endif
