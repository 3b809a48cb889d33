// SPDX-License-Identifier: BSL-1.0
// A program without exceptions: its calls, and those that make communicators, tell errors by a status.
#include <bough/allreduce.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/simulated.hpp>

#include <cstdint>
#include <optional>
#include <system_error>
#include <vector>

int main() {
    using namespace bough;
    // One rank: everything is there at once.
    simulated world(1);
    communicator comm{world.connect(0)};
    status s;
    std::error_code ec;
    std::optional<communicator<simulated::endpoint>> twin = duplicate(comm, s);
    if (!twin || s) return 1;
    std::optional<communicator<simulated::endpoint>> part = split(*twin, 3, ec);
    if (!part || ec || part->size() != 1) return 2;
    if (agree(*part, 7, s) != std::uint64_t{7} || s) return 3;
    std::optional<communicator<simulated::endpoint>> rest = shrink(comm, s);
    if (!rest || s) return 4;
    if (agree(comm, 7, ec) || ec != errc::group_poisoned) return 5; // of the old epoch
    if (duplicate(*part, s) || s.code != errc::group_poisoned) return 6;
    std::vector<int> x(3, 5);
    allreduce(*rest, x, plus{}, s);
    operation op = start_allreduce(*rest, x, plus{});
    op.wait(ec);
    return s || ec || x[2] != 5 ? 7 : 0;
}
