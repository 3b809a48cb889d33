// SPDX-License-Identifier: BSL-1.0
// Linear least squares for a handful of unknowns, usable in constant expressions.
#ifndef BOUGH_MODEL_DETAIL_LEAST_SQUARES_HPP
#define BOUGH_MODEL_DETAIL_LEAST_SQUARES_HPP

#include <bough/core/contract.hpp>
#include <bough/model/math.hpp>

#include <array>
#include <cstddef>
#include <vector>

namespace bough::inline BOUGH_ABI::model::detail {

// Finds x with the least sum of squares of rows * x - values. False if the columns do not determine
// x. An unknown whose column is all zeros becomes 0. It uses the modified Gram-Schmidt process,
// since the normal equations would lose half of the digits. `rows` and `values` are overwritten.
template <std::size_t Unknowns>
constexpr bool least_squares(std::vector<std::array<double, Unknowns>>& rows, std::vector<double>& values,
                             std::array<double, Unknowns>& x) {
    BOUGH_EXPECTS(rows.size() == values.size(), "least_squares: needs one value per row");
    // A column depends on the others if no more than this share of it is left.
    constexpr double dependent = 1e-10;
    const std::size_t n = rows.size();
    std::array<std::array<double, Unknowns>, Unknowns> upper{};
    std::array<double, Unknowns> right{}, original{};
    const auto dot = [&](std::size_t a, std::size_t b) {
        double sum = 0;
        for (std::size_t i = 0; i != n; ++i) sum += rows[i][a] * rows[i][b];
        return sum;
    };
    for (std::size_t j = 0; j != Unknowns; ++j) original[j] = square_root(dot(j, j));

    for (std::size_t j = 0; j != Unknowns; ++j) {
        if (original[j] == 0) continue;
        const double left = square_root(dot(j, j));
        if (!(left > dependent * original[j])) return false;
        upper[j][j] = left;
        for (std::size_t i = 0; i != n; ++i) rows[i][j] /= left;
        for (std::size_t k = j + 1; k != Unknowns; ++k) {
            upper[j][k] = dot(j, k);
            for (std::size_t i = 0; i != n; ++i) rows[i][k] -= upper[j][k] * rows[i][j];
        }
        for (std::size_t i = 0; i != n; ++i) right[j] += rows[i][j] * values[i];
        for (std::size_t i = 0; i != n; ++i) values[i] -= right[j] * rows[i][j];
    }
    x = {};
    for (std::size_t j = Unknowns; j-- != 0;) {
        if (original[j] == 0) continue;
        x[j] = right[j];
        for (std::size_t k = j + 1; k != Unknowns; ++k) x[j] -= upper[j][k] * x[k];
        x[j] /= upper[j][j];
    }
    return true;
}

} // namespace bough::model::detail

#endif
