// SPDX-License-Identifier: BSL-1.0
// The linear program of a packing: as much of each tree as the links can carry.
//
//   the largest sum of x_T, such that for each link l: sum of load(T, l) x_T <= speed(l)
//
// There are too many trees to list. So the program begins with none, and whoever solves it asks for the
// prices of the links, finds a tree whose links cost less than 1 at these prices, and adds it, until
// there is none: then the x are the largest. (The simplex method with columns made when needed: Gilmore
// and Gomory 1961. Prices are the dual solution: sum of speed(l) price(l) is never less than the sum of
// any x that obey the links, once each tree costs 1 at least.)
#ifndef BOUGH_SELECT_PACK_TREES_PACKING_PROGRAM_HPP
#define BOUGH_SELECT_PACK_TREES_PACKING_PROGRAM_HPP

#include <bough/core/config.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <int = 0>
class packing_program {
public:
    static constexpr std::size_t slack = ~std::size_t{0};

    explicit packing_program(const std::vector<double>& speeds)
        : rows_(speeds.size()), speeds_(speeds), inverse_(rows_ * rows_, 0.0), column_(rows_, slack) {
        for (std::size_t r = 0; r != rows_; ++r) {
            inverse_[r * rows_ + r] = 1;
            // No two are equal, so that no step is without progress; by less than matters.
            amount_.push_back(speeds[r] * (1 + 1e-9 * static_cast<double>(r + 1)));
        }
    }

    // What a link costs. None costs less than 0: what is left of a link whose price would is taken in.
    std::vector<double> prices() {
        std::vector<double> made;
        for (std::size_t tries = 0; tries != 64 * rows_; ++tries) {
            made.clear();
            made.resize(rows_, 0.0);
            for (std::size_t r = 0; r != rows_; ++r)
                if (column_[r] != slack)
                    for (std::size_t l = 0; l != rows_; ++l) made[l] += inverse_[r * rows_ + l];
            const std::size_t lowest =
                static_cast<std::size_t>(std::min_element(made.begin(), made.end()) - made.begin());
            if (!(made[lowest] < -1e-12)) break;
            std::vector<double> rest(rows_, 0.0);
            rest[lowest] = 1;
            enter(slack, rest);
        }
        for (double& price : made) price = std::max(price, 0.0); // rounding
        return made;
    }

    // Takes in a column that costs less than 1, `number` of the caller's. False: no link limits it.
    bool enter(std::size_t number, const std::vector<double>& load) {
        std::vector<double> direction(rows_, 0.0);
        for (std::size_t r = 0; r != rows_; ++r)
            for (std::size_t l = 0; l != rows_; ++l) direction[r] += inverse_[r * rows_ + l] * load[l];
        std::size_t leaves = slack;
        double least = 0;
        for (std::size_t r = 0; r != rows_; ++r) {
            if (direction[r] <= 1e-9) continue;
            const double ratio = amount_[r] / direction[r];
            if (leaves == slack || ratio < least) leaves = r, least = ratio;
        }
        if (leaves == slack) return false;
        const double pivot = direction[leaves];
        for (std::size_t l = 0; l != rows_; ++l) inverse_[leaves * rows_ + l] /= pivot;
        amount_[leaves] /= pivot;
        for (std::size_t r = 0; r != rows_; ++r) {
            if (r == leaves || direction[r] == 0) continue;
            for (std::size_t l = 0; l != rows_; ++l)
                inverse_[r * rows_ + l] -= direction[r] * inverse_[leaves * rows_ + l];
            amount_[r] -= direction[r] * amount_[leaves];
            if (amount_[r] < 0) amount_[r] = 0; // rounding
        }
        column_[leaves] = number;
        return true;
    }

    // Calls f(number, x) for the columns with some share.
    template <class F>
    void for_each(F&& f) const {
        for (std::size_t r = 0; r != rows_; ++r) {
            if (column_[r] == slack) continue;
            double x = 0; // with the links as they are
            for (std::size_t l = 0; l != rows_; ++l) x += inverse_[r * rows_ + l] * speeds_[l];
            if (x > 0) f(column_[r], x);
        }
    }

private:
    std::size_t rows_;
    std::vector<double> speeds_;
    std::vector<double> inverse_; // of the basis, row by row
    std::vector<double> amount_;  // of each column of the basis, of what is left of a link for its slack
    std::vector<std::size_t> column_;
};

} // namespace bough::detail

#endif
