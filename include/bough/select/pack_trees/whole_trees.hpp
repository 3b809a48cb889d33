// SPDX-License-Identifier: BSL-1.0
// From shares of trees to whole trees, each of which carries blocks of one size.
#ifndef BOUGH_SELECT_PACK_TREES_WHOLE_TREES_HPP
#define BOUGH_SELECT_PACK_TREES_WHOLE_TREES_HPP

#include <bough/core/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// What links have to do if some trees carry a byte each.
template <int = 0>
class link_burden {
public:
    // fair_ns: what each link would need if the trees were shared out perfectly. Steep prices: the price
    // of a link is its burden to the power of 2^doublings, so that what is above the fair burden costs
    // most by far.
    link_burden(const std::vector<double>& speeds, double fair_ns, std::uint32_t doublings)
        : speeds_(speeds), fair_ns_(fair_ns), doublings_(doublings), busy_(speeds.size(), 0.0) {}

    void add(const std::vector<double>& load, double times) {
        for (std::size_t l = 0; l != busy_.size(); ++l) busy_[l] += times * load[l] / speeds_[l];
    }
    double busiest_ns() const { return *std::max_element(busy_.begin(), busy_.end()); }
    std::vector<double> prices() const {
        std::vector<double> made;
        for (std::size_t l = 0; l != busy_.size(); ++l) made.push_back(steep(l) / speeds_[l]);
        return made;
    }
    double worth() const {
        double sum = 0;
        for (std::size_t l = 0; l != busy_.size(); ++l) sum += steep(l);
        return sum;
    }

private:
    double steep(std::size_t l) const {
        double made = busy_[l] / fair_ns_;
        for (std::uint32_t i = 0; i != doublings_; ++i) made *= made;
        return made;
    }
    const std::vector<double>& speeds_;
    double fair_ns_;
    std::uint32_t doublings_;
    std::vector<double> busy_; // ns
};

// The fewest trees that are as good as shares could be, or else the best that are found: as many of each
// of some groups, such as the trees of each root. A Column has the load of each link, and its group;
// cheapest(prices, group) makes one. The shares of each group have one sum.
template <class Column>
class whole_trees {
public:
    // Pre: some share is above 0; most >= 1; groups >= 1.
    template <class Cheapest>
    whole_trees(const std::vector<double>& speeds, const std::vector<Column>& columns, const std::vector<double>& share,
                std::uint32_t groups, std::uint32_t most, std::uint32_t most_steps, Cheapest&& cheapest)
        : speeds_(speeds), columns_(columns), share_(share), groups_(groups),
          steps_left_(std::uint64_t{16} * most_steps * groups) {
        for (std::size_t c = 0; c != share.size(); ++c)
            if (columns[c].group == 0) sum_ += share[c];
        for (std::uint32_t count = 1; count <= most && !perfect(ns_per_byte_); ++count)
            for (std::uint32_t way = 0; way != 6 && !perfect(ns_per_byte_); ++way)
                search(count, way % 2 == 0, 4 + way / 2, cheapest);
    }
    // As many of each group, by turns.
    const std::vector<Column>& trees() const noexcept { return trees_; }
    // Of the busiest link.
    double ns_per_byte() const noexcept { return ns_per_byte_; }

private:
    bool perfect(double ns_per_byte) const { return ns_per_byte * sum_ <= 1 + 1e-6; }

    // Begins with as many of each tree as its share has, or with none; adds the cheapest; then puts new
    // trees in the place of others for as long as that helps.
    template <class Cheapest>
    void search(std::uint32_t count, bool by_shares, std::uint32_t doublings, Cheapest& cheapest) {
        const std::uint32_t all = count * groups_;
        std::vector<Column> now(all);
        std::vector<std::uint32_t> next(groups_); // the next place of each group
        for (std::uint32_t g = 0; g != groups_; ++g) next[g] = g;
        link_burden<> links(speeds_, count / sum_, doublings);
        const auto put = [&](Column made) {
            links.add(made.load, 1);
            std::uint32_t& at = next[made.group];
            now[at] = std::move(made);
            at += groups_;
        };
        for (std::size_t c = 0; by_shares && c != columns_.size(); ++c)
            for (double left = share_[c] / sum_ * count + 1e-9; left >= 1 && next[columns_[c].group] < all; --left)
                put(columns_[c]);
        for (std::uint32_t g = 0; g != groups_; ++g)
            while (next[g] < all) put(cheapest(links.prices(), g));
        std::uint32_t in_vain = 0;
        for (std::uint32_t i = 0; in_vain != all && steps_left_ != 0; i = (i + 1) % all, --steps_left_) {
            if (perfect(links.busiest_ns() / count)) break;
            const double before = links.worth();
            links.add(now[i].load, -1);
            Column other = cheapest(links.prices(), now[i].group);
            links.add(other.load, 1);
            if (links.worth() < before * (1 - 1e-9)) {
                now[i] = std::move(other);
                in_vain = 0;
            } else {
                links.add(other.load, -1);
                links.add(now[i].load, 1);
                ++in_vain;
            }
        }
        if (const double ns = links.busiest_ns() / count; trees_.empty() || ns < ns_per_byte_ * (1 - 1e-9)) {
            ns_per_byte_ = ns;
            trees_ = std::move(now);
        }
    }

    const std::vector<double>& speeds_;
    const std::vector<Column>& columns_;
    const std::vector<double>& share_;
    std::uint32_t groups_;
    std::uint64_t steps_left_;
    double sum_ = 0;
    std::vector<Column> trees_{};
    double ns_per_byte_ = std::numeric_limits<double>::infinity();
};

} // namespace bough::detail

#endif
