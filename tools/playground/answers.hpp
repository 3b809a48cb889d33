// SPDX-License-Identifier: BSL-1.0
// The C interface of the playground. A question is `name=value&name=value`; an answer is JSON, and
// is good until the next question. What cannot be asked for has the answer {"refused": "sentence"}.
//
// In the page these functions are WebAssembly. There a refusal is an exception of JavaScript, which
// the page turns into the same answer (wasm.cpp).
#ifndef BOUGH_TOOLS_PLAYGROUND_ANSWERS_HPP
#define BOUGH_TOOLS_PLAYGROUND_ANSWERS_HPP

#include <cstdint>

extern "C" {

// What there is: collectives, their algorithms, what these need.
const char* bough_playground_catalogue(const char* question);
// A plan: its proof, its traits, its tree, a simulated run, its C++.
//   collective, algorithm, degree, ordered=1, ranks, root, blocks, bytes, model; edit (edits.hpp)
const char* bough_playground_plan(const char* question);
// What every rank did in the run of the last plan, in columns: deeds by rank (`first` of the run
// says where each begins), in the order of time. For runs of 200,000 deeds numbers are faster than
// JSON. Null for a name that there is not.
//   verb, peer, message, step   peer and message: -1 if there is none; step: of the rank's steps
//   begin, end                  in ns
const std::int32_t* bough_playground_numbers(const char* name);
const double* bough_playground_times(const char* name);
// The steps of one rank of the same plan: rank.
const char* bough_playground_steps(const char* question);
// Which algorithm is expected to be the fastest: for ranks, and each of bytes=8..16M.
//   collective, model
const char* bough_playground_fastest(const char* question);
}

#endif
