// SPDX-License-Identifier: BSL-1.0
#include "check.hpp"

#include "end_job.hpp"
#include "world.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <tuple>

namespace under_mpi {

namespace {

std::vector<std::byte> packed(const blocks& b, const shape& s) {
    std::vector<std::byte> bytes(bytes_of(b, s));
    if (bytes.empty()) return bytes;
    if (lies_as_it_travels(b, s))
        std::memcpy(bytes.data(), first_byte(b, s), bytes.size());
    else
        pack(b, s, bytes.data());
    return bytes;
}
void put_back(const std::vector<std::byte>& bytes, const blocks& b, const shape& s) {
    if (bytes.empty()) return;
    if (lies_as_it_travels(b, s))
        std::memcpy(first_byte(b, s), bytes.data(), bytes.size());
    else
        unpack(bytes.data(), b, s);
}

} // namespace

int compare_ends(const place& at, collective which, MPI_Comm comm, bool is_well, magnitudes& given) {
    const std::uint32_t me = world::get().rank();
    // Where it has, and where not.
    std::array<std::uint32_t, 2 + std::tuple_size_v<decltype(given.of_parts)>> last{is_well ? me + 1 : 0,
                                                                                    is_well ? 0 : me + 1};
    std::copy(given.of_parts.begin(), given.of_parts.end(), last.begin() + 2);
    std::array<char, 40> name{};
    std::snprintf(name.data(), name.size(), "MPI_%s", name_of(which));
    if (const bough::status bad = find_greatest(at, last)) return error_class_of(bad, name.data());
    std::copy(last.begin() + 2, last.end(), given.of_parts.begin());
    given.ranks = at.comm.size();
    if (last[0] == 0 || last[1] == 0) return MPI_SUCCESS;
    std::fprintf(
        stderr,
        "bough: check: %s, rank %u of MPI_COMM_WORLD: the MPI's own call has ended well on rank %u, and with an "
        "error on rank %u\n",
        name.data(), me, last[0] - 1, last[1] - 1);
    end_job(comm);
    return MPI_ERR_OTHER;
}

comparison::comparison(const outcome& of) noexcept : of_(of) {
    if (of_.given.type != MPI_DATATYPE_NULL) given_ = magnitudes_of(of_.given, shape_of(of_.given.type), of_.op);
    guarded([this] {
        shape_ = shape_of(of_.result.type);
        if (of_.changed.type == MPI_DATATYPE_NULL) of_.changed = of_.result;
        before_ = packed(of_.changed, shape_);
    });
    if (has_memory_) return;
    // The host's call would change what bough's call reads, and the other ranks make both.
    std::fprintf(stderr, "bough: check: rank %u of MPI_COMM_WORLD: no memory is left to make a call twice\n",
                 world::get().rank());
    end_job(MPI_COMM_WORLD);
}
void comparison::host_has_run() noexcept {
    guarded([this] { hosts_ = packed(of_.result, shape_); });
    put_back(before_, of_.changed, shape_);
}
void comparison::compare(collective which, MPI_Comm comm) noexcept {
    guarded([&] { find_difference(which, comm); });
    if (!has_memory_)
        std::fprintf(stderr,
                     "bough: check: MPI_%s, rank %u of MPI_COMM_WORLD: no memory is left to compare the results\n",
                     name_of(which), world::get().rank());
}

void comparison::find_difference(collective which, MPI_Comm comm) const {
    const std::vector<std::byte> ours = packed(of_.result, shape_);
    const verdict how = compare_results(of_.op, of_.result.type, shape_.size, given_, ours, hosts_);
    if (how.is == likeness::same) return;
    const bool may_round = how.is == likeness::rounding;
    std::fprintf(stderr,
                 "bough: check: MPI_%s, rank %u of MPI_COMM_WORLD: byte %zu of %zu differs from the host's%s%s%s\n",
                 name_of(which), world::get().rank(), how.at, ours.size(), may_round ? "; " : "", how.why,
                 may_round ? ", so that may be the order in which it combines" : "");
    if (!may_round) end_job(comm);
}

} // namespace under_mpi
