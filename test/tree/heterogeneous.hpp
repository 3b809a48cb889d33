// SPDX-License-Identifier: BSL-1.0
// What the tests of spoc, fnf and optimal share: random costs, and the best of all ordered trees by trying each.
#ifndef BOUGH_TEST_TREE_HETEROGENEOUS_HPP
#define BOUGH_TEST_TREE_HETEROGENEOUS_HPP

#include "support/sample.hpp"
#include <bough/testing/tree_laws.hpp>
#include <bough/tree/costs.hpp>
#include <bough/tree/table.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace test {

// Fig. 1 of the paper: eight nodes, of which the first and the sixth are fast.
inline constexpr int figure_1[8] = {100, 300, 300, 300, 300, 100, 300, 300};

class cost_source {
public:
    explicit cost_source(std::uint64_t seed) : state_(bough_test::mixed(seed)) {}
    std::uint32_t below(std::uint32_t n) {
        return static_cast<std::uint32_t>((bough_test::mixed(++state_) >> 32) * n >> 32);
    }
    std::vector<int> costs(bough::rank_t n, std::uint32_t low, std::uint32_t high, std::uint32_t unit = 1) {
        std::vector<int> made;
        for (bough::rank_t i = 0; i != n; ++i) made.push_back(static_cast<int>((low + below(high - low + 1)) * unit));
        return made;
    }

private:
    std::uint64_t state_;
};

// A tree, and one that spans all ranks from this root.
inline bool is_tree(const bough::table& t, bough::rank_t size, bough::rank_t root) {
    return t.size() == size && t.root() == root && !t.check() &&
           bough::testing::check_tree(t) == bough::testing::tree_fault{};
}

// The shortest time over all ordered trees: by adding one rank after the other to any parent, as its next child.
class brute_force {
public:
    brute_force(std::vector<int> send, std::vector<int> receive, int latency)
        : send_(std::move(send)), receive_(std::move(receive)), latency_(latency) {}
    long best(bough::rank_t root) {
        best_ = std::numeric_limits<long>::max();
        std::vector<long> next_send(send_.size(), -1); // when its next send ends; -1: has nothing
        next_send[root] = send_[root];
        extend(next_send, 1, 0);
        return best_;
    }

private:
    void extend(std::vector<long>& next_send, std::size_t have, long last) {
        if (have == send_.size()) best_ = std::min(best_, last);
        for (std::size_t from = 0; from != send_.size(); ++from) {
            if (next_send[from] < 0) continue;
            for (std::size_t to = 0; to != send_.size(); ++to) {
                if (next_send[to] >= 0) continue;
                const long sent = next_send[from], ready = sent + latency_ + receive_[to];
                next_send[from] = sent + send_[from];
                next_send[to] = ready + send_[to];
                extend(next_send, have + 1, std::max(last, ready));
                next_send[to] = -1;
                next_send[from] = sent;
            }
        }
    }

    std::vector<int> send_, receive_;
    int latency_;
    long best_ = 0;
};

} // namespace test

#endif
