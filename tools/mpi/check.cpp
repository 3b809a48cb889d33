// SPDX-License-Identifier: BSL-1.0
#include "check.hpp"

#include "end_job.hpp"
#include "handles.hpp"
#include "world.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>

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

// Sums in another order differ by rounding: are they as near as that?
template <class Real>
bool is_near(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
    const std::size_t n = a.size() / sizeof(Real);
    std::vector<Real> x(n), y(n);
    std::memcpy(x.data(), a.data(), n * sizeof(Real));
    std::memcpy(y.data(), b.data(), n * sizeof(Real));
    Real greatest = 0;
    for (const Real v : x)
        if (std::isfinite(v)) greatest = std::max(greatest, std::abs(v));
    const Real most = greatest * std::numeric_limits<Real>::epsilon() * Real(64) * Real(world::get().size());
    for (std::size_t i = 0; i != n; ++i)
        if (x[i] != y[i] && !(std::isnan(x[i]) && std::isnan(y[i])) && !(std::abs(x[i] - y[i]) <= most)) return false;
    return true;
}
bool is_near(known_type type, const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
    switch (type) {
    case known_type::real4:
    case known_type::complex4: return is_near<float>(a, b);
    case known_type::real8:
    case known_type::complex8: return is_near<double>(a, b);
    case known_type::long_real:
    case known_type::long_complex: return is_near<long double>(a, b);
    default: return false;
    }
}

} // namespace

int compare_ends(const place& at, collective which, MPI_Comm comm, bool is_well) {
    const std::uint32_t me = world::get().rank();
    std::array<std::uint32_t, 2> last{is_well ? me + 1 : 0, is_well ? 0 : me + 1}; // where it has, and where not
    std::array<char, 40> name{};
    std::snprintf(name.data(), name.size(), "MPI_%s", name_of(which));
    if (const bough::status bad = find_greatest(at, last)) return error_class_of(bad, name.data());
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
    if (ours == hosts_) return;
    const known_op op = known_op_of(of_.op);
    const bool rounds = op == known_op::sum || op == known_op::prod;
    // The padding of a long double is nobody's, so its bits alone say nothing.
    const known_type type = known_type_of(of_.result.type);
    if ((rounds || type == known_type::long_real || type == known_type::long_complex) && is_near(type, ours, hosts_))
        return;
    const auto at = std::mismatch(ours.begin(), ours.end(), hosts_.begin()).first - ours.begin();
    const bool may_round = of_.op != MPI_OP_NULL && op == known_op::none;
    std::fprintf(stderr, "bough: check: MPI_%s, rank %u of MPI_COMM_WORLD: byte %td of %zu differs from the host's%s\n",
                 name_of(which), world::get().rank(), at, ours.size(),
                 may_round ? "; the op is the program's own, so that may be rounding" : "");
    if (!may_round) end_job(comm);
}

} // namespace under_mpi
