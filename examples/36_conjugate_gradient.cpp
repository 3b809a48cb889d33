// SPDX-License-Identifier: BSL-1.0
// Pipelined conjugate gradients: -(u_xx + u_yy) = 1 on the unit square, 0 at its border; the rows of the sparse matrix are split
// over ranks. The two dot products and the norm of an iteration are one batch, in flight while the matrix is multiplied.
// Source: P. Ghysels, W. Vanroose, "Hiding global synchronization latency in the preconditioned Conjugate Gradient algorithm",
// Parallel Computing 40(7), 2014, algorithm 3.
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/allreduce.hpp>
#include <bough/alltoall.hpp>
#include <bough/batch.hpp>
#include <bough/transport/in_process.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iomanip>
#include <iostream>
#include <numeric>
#include <utility>
#include <vector>

constexpr std::size_t n = 47; // points of a line, and lines
using vector = std::vector<double>;

// Rows in compressed form. Columns count this rank's points, and before and behind them a line of each neighbour.
struct sparse_rows {
    std::vector<std::size_t> begin{0}, column{};
    vector value{};

    sparse_rows(std::size_t first, std::size_t last) {
        const auto add = [this](bool there, std::size_t c, double v) {
            if (there) column.push_back(c), value.push_back(v);
        };
        for (std::size_t line = first; line != last; ++line)
            for (std::size_t i = 0; i != n; ++i) {
                const std::size_t here = (line - first + 1) * n + i;
                add(line != 0, here - n, -1);
                add(i != 0, here - 1, -1);
                add(true, here, 4);
                add(i + 1 != n, here + 1, -1);
                add(line + 1 != n, here + n, -1);
                begin.push_back(column.size());
            }
    }
    void multiply(const vector& v, vector& out, std::size_t first, std::size_t last) const {
        for (std::size_t row = first; row != last; ++row) {
            double sum = 0;
            for (std::size_t k = begin[row]; k != begin[row + 1]; ++k) sum += value[k] * v[column[k]];
            out[n + row] = sum;
        }
    }
};

int main() {
    bough::in_process{4}.run([](auto transport) {
        bough::communicator comm{std::move(transport)};
        const std::size_t me = comm.rank(), ranks = comm.size();
        const std::size_t first = n * me / ranks, last = n * (me + 1) / ranks, rows = (last - first) * n;
        const sparse_rows a(first, last);
        const auto dot = [rows](const vector& u, const vector& v) {
            return std::inner_product(u.begin() + n, u.begin() + n + std::ptrdiff_t(rows), v.begin() + n, 0.0);
        };
        const auto add_to = [rows](vector& y, double f, const vector& v, double g) { // y = f y + g v
            for (std::size_t i = n; i != n + rows; ++i) y[i] = f * y[i] + g * v[i];
        };
        const auto largest = [rows](const vector& v) {
            double most = 0;
            for (std::size_t i = n; i != n + rows; ++i) most = std::max(most, std::abs(v[i]));
            return most;
        };

        // A line to and from each neighbour.
        const bool below = me != 0, above = me + 1 != ranks;
        std::vector<std::size_t> counts(ranks);
        if (below) counts[me - 1] = n;
        if (above) counts[me + 1] = n;
        vector mine((below + above) * n), theirs(mine.size());
        auto lines = bough::bind_alltoallv(comm, mine, counts, theirs, counts);
        const auto multiply = [&](vector& v, vector& out) {
            if (below) std::copy_n(v.begin() + n, n, mine.begin());
            if (above) std::copy_n(v.begin() + std::ptrdiff_t(rows), n, mine.end() - n);
            lines.start();
            a.multiply(v, out, n, rows - n); // what needs no neighbour
            lines.wait();
            if (below) std::copy_n(theirs.begin(), n, v.begin());
            if (above) std::copy_n(theirs.end() - n, n, v.begin() + std::ptrdiff_t(n + rows));
            a.multiply(v, out, 0, n);
            a.multiply(v, out, rows - n, rows);
        };

        const double h = 1.0 / (n + 1);
        vector x(rows + 2 * n), r(x.size(), h * h), w(x), p(x), s(x), z(x), q(x);
        std::array<double, 2> dots{};
        double norm = 0, alpha = 0, before = 0;
        bough::batch all;
        all.add(dots, bough::plus{}).add(norm, bough::max{});
        auto together = bough::bind_allreduce(comm, all, bough::recursive_doubling{});

        multiply(r, w);
        int iterations = 0;
        for (;; ++iterations) {
            dots = {dot(r, r), dot(w, r)};
            norm = largest(r);
            together.start(); // in flight ...
            multiply(w, q);   // ... while this is computed
            together.wait();
            if (norm < 1e-12 || iterations == 1000) break;
            const double beta = iterations == 0 ? 0 : dots[0] / before;
            alpha = iterations == 0 ? dots[0] / dots[1] : dots[0] / (dots[1] - beta * dots[0] / alpha);
            before = dots[0];
            add_to(z, beta, q, 1), add_to(s, beta, w, 1), add_to(p, beta, r, 1);
            add_to(x, 1, p, alpha), add_to(r, 1, s, -alpha), add_to(w, 1, z, -alpha);
        }

        // The residual itself, not the one that was carried along; and u in the middle, 0.07367 on a fine grid.
        multiply(x, q);
        for (double& v : q) v = h * h - v;
        norm = largest(q);
        dots = {first <= n / 2 && n / 2 < last ? x[(n / 2 - first + 1) * n + n / 2] : 0.0, 0.0};
        together.start();
        together.wait();
        if (me == 0)
            std::cout << iterations << " iterations, residual " << (norm < 1e-11 ? "below" : "above")
                      << " 1e-11, middle " << std::setprecision(4) << dots[0] << '\n';
    });
}
