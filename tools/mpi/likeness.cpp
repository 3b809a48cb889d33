// SPDX-License-Identifier: BSL-1.0
#include "likeness.hpp"

#include "handles.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace under_mpi {

namespace {

// A logarithm: the exponent, and eight bits of what it stands for, rounded up.
constexpr int exponent_of_one = 0x10000; // that of a long double fits in
constexpr int steps = 256;

template <class Real>
std::uint32_t magnitude_of(Real x) noexcept {
    if (std::isnan(x)) return magnitudes::not_a_number;
    if (std::isinf(x)) return magnitudes::infinite;
    if (x == 0) return magnitudes::none;
    int exponent = 0;
    const Real rest = std::frexp(std::abs(x), &exponent); // from 1/2 to 1
    return static_cast<std::uint32_t>((exponent_of_one + exponent) * steps + static_cast<int>((rest * 2 - 1) * steps));
}
template <class Real>
Real least_above(std::uint32_t magnitude) noexcept {
    if (magnitude == magnitudes::none) return 0;
    const int is = static_cast<int>(magnitude);
    return std::ldexp((1 + Real(is % steps + 1) / steps) / 2, is / steps - exponent_of_one);
}

// f(a value of the floating-point type, how many of them an element begins with), if it begins with some.
template <class F>
void with_real(MPI_Datatype type, const F& f) {
    switch (known_type_of(type)) {
    case known_type::real4: return f(float(), 1U);
    case known_type::complex4: return f(float(), 2U);
    case known_type::real8: return f(double(), 1U);
    case known_type::complex8: return f(double(), 2U);
    case known_type::long_real: return f(static_cast<long double>(0), 1U);
    case known_type::long_complex: return f(static_cast<long double>(0), 2U);
    default: break;
    }
    if (type == MPI_FLOAT_INT) return f(float(), 1U);
    if (type == MPI_DOUBLE_INT) return f(double(), 1U);
    if (type == MPI_LONG_DOUBLE_INT) return f(static_cast<long double>(0), 1U);
    if (type == MPI_2REAL) return f(float(), 2U);
    if (type == MPI_2DOUBLE_PRECISION) return f(double(), 2U);
}

template <class Value>
Value value_at(const std::byte* from) noexcept {
    Value x{};
    std::memcpy(&x, from, sizeof(Value));
    return x;
}
// Are elements the same, whatever their signs of zero and their padding are? They are packed: those of pair
// types are a value, and then where it is, without a gap.
bool are_alike(MPI_Datatype type, std::size_t size, const std::byte* a, const std::byte* b) noexcept {
    std::size_t done = 0;
    bool alike = true;
    with_real(type, [&](auto real, unsigned reals) {
        using real_t = decltype(real);
        for (unsigned i = 0; i != reals; ++i, done += sizeof(real_t)) {
            const auto x = value_at<real_t>(a + done), y = value_at<real_t>(b + done);
            alike = alike && (x == y || (std::isnan(x) && std::isnan(y)));
        }
    });
    return alike && std::memcmp(a + done, b + done, size - done) == 0;
}

constexpr verdict unlike{.is = likeness::different};
constexpr verdict rounds(const char* why) noexcept { return {.is = likeness::rounding, .why = why}; }

// Sums in another order differ by rounding, at most by (ranks - 1) * epsilon * the sum of all |x|; and twice
// that is let pass.
template <class Real>
verdict compare_sums(const std::byte* a, const std::byte* b, unsigned reals, std::uint32_t given,
                     std::size_t of_ranks) noexcept {
    if (given == magnitudes::infinite) return rounds("an input is infinite");
    const auto ranks = static_cast<Real>(of_ranks);
    const Real all = least_above<Real>(given) * ranks;
    if (std::isinf(all)) return rounds("a partial sum may have been infinite");
    const Real most = all * std::numeric_limits<Real>::epsilon() * 2 * ranks;
    for (unsigned i = 0; i != reals; ++i) {
        const auto x = value_at<Real>(a + i * sizeof(Real)), y = value_at<Real>(b + i * sizeof(Real));
        if (x != y && !(std::abs(x - y) <= most)) return unlike;
    }
    return {};
}
// Products differ by that share of themselves, unless one of their parts is too great or too small for the type.
// Those of complex numbers, by that share of the greater component.
template <class Real>
verdict compare_products(const std::byte* a, const std::byte* b, unsigned reals, std::size_t ranks) noexcept {
    Real greatest = 0, farthest = 0;
    for (unsigned i = 0; i != reals; ++i) {
        const auto x = value_at<Real>(a + i * sizeof(Real)), y = value_at<Real>(b + i * sizeof(Real));
        if (x == y) continue;
        if (!std::isnormal(x) || !std::isnormal(y))
            return rounds("a partial product may have been too great or too small");
        greatest = std::max(greatest, std::max(std::abs(x), std::abs(y)));
        farthest = std::max(farthest, std::abs(x - y));
    }
    for (unsigned i = 0; i != reals; ++i) greatest = std::max(greatest, std::abs(value_at<Real>(a + i * sizeof(Real))));
    return farthest <= greatest * std::numeric_limits<Real>::epsilon() * 4 * static_cast<Real>(ranks) ? verdict{}
                                                                                                      : unlike;
}

// Elements whose bytes are not the same.
verdict compare_elements(known_op op, MPI_Datatype type, std::size_t size, std::uint32_t given, std::size_t ranks,
                         const std::byte* a, const std::byte* b) noexcept {
    if (are_alike(type, size, a, b)) return {};
    if (given == magnitudes::not_a_number) return rounds("an input is not a number");
    verdict is = unlike;
    if (op == known_op::sum)
        with_real(type,
                  [&](auto real, unsigned reals) { is = compare_sums<decltype(real)>(a, b, reals, given, ranks); });
    if (op == known_op::prod)
        with_real(type, [&](auto real, unsigned reals) { is = compare_products<decltype(real)>(a, b, reals, ranks); });
    return is;
}

} // namespace

std::uint32_t magnitudes::of(std::size_t element, std::size_t results) const noexcept {
    if (elements != 0 && results == elements) return of_parts[part_of(element)];
    return *std::max_element(of_parts.begin(), of_parts.end());
}

magnitudes magnitudes_of(const blocks& given, const shape& s, MPI_Op op) noexcept {
    magnitudes greatest;
    if (op == MPI_OP_NULL || s.size == 0) return greatest;
    greatest.elements = given.count;
    with_real(given.type, [&](auto real, unsigned reals) {
        const auto* from = static_cast<const std::byte*>(given.data);
        for (std::size_t i = 0; i != given.count; ++i, from += s.extent) {
            std::uint32_t& is = greatest.of_parts[greatest.part_of(i)];
            for (unsigned k = 0; k != reals; ++k)
                is = std::max(is, magnitude_of(value_at<decltype(real)>(from + k * sizeof(real))));
        }
    });
    return greatest;
}

verdict compare_results(MPI_Op op, MPI_Datatype type, std::size_t size, const magnitudes& given,
                        const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
    verdict worst;
    if (a == b || size == 0) return worst;
    const known_op how = known_op_of(op);
    const known_type is = known_type_of(type);
    const bool has_padding =
        is == known_type::long_real || is == known_type::long_complex || type == MPI_LONG_DOUBLE_INT;
    const std::size_t results = a.size() / size;
    for (std::size_t i = 0; i != results; ++i) {
        const std::byte *const x = &a[i * size], *const y = &b[i * size];
        if (std::memcmp(x, y, size) == 0) continue;
        verdict now = unlike;
        if (op == MPI_OP_NULL) { // bytes have moved; but the padding of a long double is nobody's
            if (has_padding && are_alike(type, size, x, y)) now = {};
        } else if (how == known_op::none) {
            now = rounds("the op is the program's own");
        } else if (is == known_type::none) {
            now = rounds("the type is not known here");
        } else {
            now = compare_elements(how, type, size, given.of(i, results), given.ranks, x, y);
        }
        if (now.is <= worst.is) continue;
        worst = now;
        worst.at = static_cast<std::size_t>(std::mismatch(x, x + size, y).first - a.data());
        if (worst.is == likeness::different) break;
    }
    return worst;
}

} // namespace under_mpi
