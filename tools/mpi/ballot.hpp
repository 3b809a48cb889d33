// SPDX-License-Identifier: BSL-1.0
// Votes among the ranks of a communicator that has no part of bough yet: by messages of bough's session, in
// which all ranks of MPI_COMM_WORLD are, or by the host's allreduce. If ranks cannot agree on how to go on,
// none can: some would go on with bough, and others without it. So the job ends with a sentence then.
#ifndef BOUGH_TOOLS_MPI_BALLOT_HPP
#define BOUGH_TOOLS_MPI_BALLOT_HPP

#include "host.hpp"
#include "link.hpp"
#include "seat.hpp"
#include <bough/communicator.hpp>
#include <bough/core/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace under_mpi {

using communicator = bough::communicator<link>;

// The votes by which the part of one communicator is made. All its ranks cast the same ones.
class ballot {
public:
    static constexpr std::size_t most_numbers = 11;

    // `base`: the communicator of all ranks; `what`: for which call of the program it is, for a sentence.
    ballot(communicator& base, const seat& at, const char* what) noexcept : base_(base), at_(at), what_(what) {}
    // Of each number the greatest over all ranks.
    void cast(std::span<std::uint32_t> numbers) noexcept;

    // So that votes need no memory later, but for those of several threads at once. It may throw.
    static void reserve(communicator& base);

private:
    struct message;
    static bough::envelope tag() noexcept;
    template <class F>
    void wait(const F& is_over) noexcept;
    void send(bough::rank_t to, bool is_outcome, std::span<const std::uint32_t> numbers) noexcept;
    // Calls use(rank, numbers) for the messages of this vote that have come. True: it is used up.
    template <class F>
    void hear(bool is_outcome, const F& use);
    void gather(std::span<std::uint32_t> numbers) noexcept;
    void learn(std::span<std::uint32_t> numbers) noexcept;

    communicator& base_;
    const seat& at_;
    const char* what_;
    std::uint32_t votes_ = 0;
};

// Ends the job: ranks vote for different calls, `mine` here and `other` on another rank.
[[noreturn]] void end_job_as_different(const char* mine, const char* other) noexcept;

// By the host. Of each number the greatest over all ranks.
void vote(host_group& host, std::span<std::uint32_t> numbers) noexcept;
// The same among ranks that have a session of bough in common: it tells of ranks that are lost, and there
// may be a deadline. `members`: their numbers in MPI_COMM_WORLD; null: this rank has no memory for them.
void vote(host_group& host, std::span<std::uint32_t> numbers, communicator& base,
          const std::vector<bough::rank_t>* members) noexcept;

} // namespace under_mpi

#endif
