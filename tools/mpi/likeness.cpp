// SPDX-License-Identifier: BSL-1.0
#include "likeness.hpp"

#include "handles.hpp"
#include "world.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace under_mpi {

namespace {

constexpr std::uint32_t exponent_of_one = 0x10000; // that of a long double fits in

template <class Real>
magnitude greatest_of(const std::byte* data, std::size_t bytes) noexcept {
    magnitude greatest;
    for (std::size_t i = 0; i + sizeof(Real) <= bytes; i += sizeof(Real)) {
        Real x{};
        std::memcpy(&x, data + i, sizeof(Real));
        if (std::isnan(x)) return {magnitude::not_a_number};
        if (x == 0) continue;
        const int exponent = std::isinf(x) ? std::numeric_limits<Real>::max_exponent : std::ilogb(x);
        greatest.is = std::max(greatest.is, exponent_of_one + static_cast<std::uint32_t>(exponent));
    }
    return greatest;
}

template <class Value>
bool are_alike(const std::byte* a, const std::byte* b) noexcept {
    Value x{}, y{};
    std::memcpy(&x, a, sizeof(Value));
    std::memcpy(&y, b, sizeof(Value));
    return x == y || (x != x && y != y);
}
// Are numbers the same, whatever their signs of zero and their padding are?
template <class Real>
bool are_same(const std::vector<std::byte>& a, const std::vector<std::byte>& b) noexcept {
    for (std::size_t i = 0; i + sizeof(Real) <= a.size(); i += sizeof(Real))
        if (!are_alike<Real>(&a[i], &b[i])) return false;
    return true;
}
// Pairs as they travel: a value, and then where it is.
template <class Value, class Place>
bool are_same_pairs(const std::vector<std::byte>& a, const std::vector<std::byte>& b) noexcept {
    constexpr std::size_t pair = sizeof(Value) + sizeof(Place);
    for (std::size_t i = 0; i + pair <= a.size(); i += pair)
        if (!are_alike<Value>(&a[i], &b[i]) || !are_alike<Place>(&a[i + sizeof(Value)], &b[i + sizeof(Value)]))
            return false;
    return true;
}

// Sums in another order differ by rounding: are they as near as that? A partial sum may be as great as
// all the numbers together, also where they cancel.
template <class Real>
bool are_near(const std::vector<std::byte>& a, const std::vector<std::byte>& b, magnitude given) noexcept {
    const auto ranks = static_cast<Real>(world::get().size());
    Real greatest = 0;
    if (given.is != magnitude::none) {
        const int exponent = static_cast<int>(given.is) - static_cast<int>(exponent_of_one);
        greatest = std::ldexp(Real(1), exponent + 1) * ranks;
    }
    Real x = 0, y = 0;
    const auto read = [&](std::size_t i) {
        std::memcpy(&x, &a[i], sizeof(Real));
        std::memcpy(&y, &b[i], sizeof(Real));
    };
    for (std::size_t i = 0; i + sizeof(Real) <= a.size(); i += sizeof(Real)) {
        read(i);
        if (std::isfinite(x)) greatest = std::max(greatest, std::abs(x));
    }
    const Real most = greatest * std::numeric_limits<Real>::epsilon() * Real(64) * ranks;
    if (std::isinf(most)) return true; // a partial sum may have been infinite, and the next one no number
    for (std::size_t i = 0; i + sizeof(Real) <= a.size(); i += sizeof(Real)) {
        read(i);
        if (x != y && !(std::isnan(x) && std::isnan(y)) && !(std::abs(x - y) <= most)) return false;
    }
    return true;
}

// f(a value of the floating-point type of which the numbers are), if they are of one.
template <class F>
bool with_real(known_type type, const F& f) {
    switch (type) {
    case known_type::real4:
    case known_type::complex4: return f(float());
    case known_type::real8:
    case known_type::complex8: return f(double());
    case known_type::long_real:
    case known_type::long_complex: return f(static_cast<long double>(0));
    default: return false;
    }
}
bool are_same(MPI_Datatype type, const std::vector<std::byte>& a, const std::vector<std::byte>& b) noexcept {
    if (type == MPI_FLOAT_INT) return are_same_pairs<float, int>(a, b);
    if (type == MPI_DOUBLE_INT) return are_same_pairs<double, int>(a, b);
    if (type == MPI_LONG_DOUBLE_INT) return are_same_pairs<long double, int>(a, b);
    if (type == MPI_2REAL) return are_same<float>(a, b);
    if (type == MPI_2DOUBLE_PRECISION) return are_same<double>(a, b);
    return with_real(known_type_of(type), [&](auto real) { return are_same<decltype(real)>(a, b); });
}

} // namespace

magnitude magnitude_of(const blocks& given, const shape& s, MPI_Op op) noexcept {
    magnitude greatest;
    const known_type type = known_type_of(given.type);
    if (op == MPI_OP_NULL || bytes_of(given, s) == 0) return greatest;
    with_real(type, [&](auto real) {
        greatest = greatest_of<decltype(real)>(first_byte(given, s), bytes_of(given, s));
        return true;
    });
    return greatest;
}

likeness compare_results(MPI_Op op, MPI_Datatype type, magnitude greatest, const std::vector<std::byte>& a,
                         const std::vector<std::byte>& b) {
    if (a == b) return likeness::same;
    const known_type is = known_type_of(type);
    if (op == MPI_OP_NULL) { // bytes have moved; but the padding of a long double is nobody's
        const bool has_padding =
            is == known_type::long_real || is == known_type::long_complex || type == MPI_LONG_DOUBLE_INT;
        return has_padding && are_same(type, a, b) ? likeness::same : likeness::different;
    }
    const known_op how = known_op_of(op);
    if (how == known_op::none || is == known_type::none || greatest.is == magnitude::not_a_number)
        return likeness::rounding;
    if (are_same(type, a, b)) return likeness::same;
    const bool rounds = how == known_op::sum || how == known_op::prod;
    const bool is_near = rounds && with_real(is, [&](auto real) {
                             return are_near<decltype(real)>(a, b, how == known_op::sum ? greatest : magnitude{});
                         });
    return is_near ? likeness::same : likeness::different;
}

} // namespace under_mpi
