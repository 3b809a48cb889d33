// SPDX-License-Identifier: BSL-1.0
// Flights: one call of any collective in split phase on one rank, with its data and what must come of them.
#ifndef BOUGH_TEST_FRONTDOOR_START_FLIGHTS_HPP
#define BOUGH_TEST_FRONTDOOR_START_FLIGHTS_HPP

#include "support/sample.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/alltoall.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/exscan.hpp>
#include <bough/gather.hpp>
#include <bough/multicast.hpp>
#include <bough/multicasts.hpp>
#include <bough/neighbour_allgather.hpp>
#include <bough/neighbour_alltoall.hpp>
#include <bough/reduce.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/scan.hpp>
#include <bough/scatter.hpp>
#include <bough/tree/fnomial.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace test {

using word = std::uint64_t;

// x -> a x + b. Composition is associative, not commutative, and exact.
struct affine {
    word a = 1, b = 0;
    friend bool operator==(const affine&, const affine&) = default;
};
struct compose_affine {
    affine operator()(const affine& lower, const affine& upper) const {
        return {upper.a * lower.a, upper.a * lower.b + upper.b};
    }
};

// The public names, once for each way to call them.
#define BOUGH_TEST_DOOR(prefix, name)                                                                                  \
    template <class... A>                                                                                              \
    static handle name(A&&... a) {                                                                                     \
        return bough::prefix##_##name(std::forward<A>(a)...);                                                          \
    }
#define BOUGH_TEST_DOORS(prefix)                                                                                       \
    BOUGH_TEST_DOOR(prefix, allreduce)                                                                                 \
    BOUGH_TEST_DOOR(prefix, reduce)                                                                                    \
    BOUGH_TEST_DOOR(prefix, broadcast)                                                                                 \
    BOUGH_TEST_DOOR(prefix, barrier)                                                                                   \
    BOUGH_TEST_DOOR(prefix, scan)                                                                                      \
    BOUGH_TEST_DOOR(prefix, exscan)                                                                                    \
    BOUGH_TEST_DOOR(prefix, gather)                                                                                    \
    BOUGH_TEST_DOOR(prefix, gatherv)                                                                                   \
    BOUGH_TEST_DOOR(prefix, scatter)                                                                                   \
    BOUGH_TEST_DOOR(prefix, scatterv)                                                                                  \
    BOUGH_TEST_DOOR(prefix, allgather)                                                                                 \
    BOUGH_TEST_DOOR(prefix, allgatherv)                                                                                \
    BOUGH_TEST_DOOR(prefix, reduce_scatter)                                                                            \
    BOUGH_TEST_DOOR(prefix, reduce_scatterv)                                                                           \
    BOUGH_TEST_DOOR(prefix, alltoall)                                                                                  \
    BOUGH_TEST_DOOR(prefix, alltoallv)                                                                                 \
    BOUGH_TEST_DOOR(prefix, multicast)                                                                                 \
    BOUGH_TEST_DOOR(prefix, multicasts)                                                                                \
    BOUGH_TEST_DOOR(prefix, neighbour_allgather)                                                                       \
    BOUGH_TEST_DOOR(prefix, neighbour_alltoall)                                                                        \
    BOUGH_TEST_DOOR(prefix, neighbour_alltoallv)                                                                       \
    static_assert(true)

struct starting {
    using handle = bough::operation;
    static constexpr bool every = true;
    BOUGH_TEST_DOORS(start);
};
struct starting_some : starting { // five kinds only: compiles faster
    static constexpr bool every = false;
};
struct binding {
    using handle = bough::persistent_operation;
    static constexpr bool every = true;
    BOUGH_TEST_DOORS(bind);
};
#undef BOUGH_TEST_DOORS
#undef BOUGH_TEST_DOOR

inline constexpr int flight_kinds = 29;
inline constexpr int some_kinds[] = {1, 2, 5, 6, 16};

// All ranks make a flight of the same kind and seed in the same order.
template <class How>
class flight {
public:
    flight(int kind, word seed, bough::rank_t rank, bough::rank_t size)
        : kind_(kind), seed_(seed), me_(rank), p_(size) {
        static constexpr std::size_t lengths[] = {0, 1, 3, 17, 700};
        each_ = lengths[bough_test::mixed(seed) % 5];
        root_ = bough::root{static_cast<bough::rank_t>(bough_test::mixed(seed + 1) % size)};
        for (bough::rank_t r = 0; r != size; ++r)
            counts_.push_back(bough_test::one_of(9, bough_test::mixed(seed + 2 + r)));
        for (bough::rank_t r = 0; r != size; ++r)
            for (bough::rank_t to = 0; to != size; ++to)
                matrix_.push_back(bough_test::one_of(6, r * 3 + to * 5 + seed % 7));
        for (bough::rank_t r = 0; r != size; ++r)
            if (bough_test::mixed(seed + 77 + r) % 2 == 0) members_.push_back(r);
        wanted_ = {{.root = root_.rank, .members = members_}, {.root = size - 1, .members = {0}}};
        around_ = bough::grid_neighbours{.extents = {size}, .offsets = {{1}, {-2}}};
        in_.assign(length_in(), 0);
        out_.assign(length_out(), 0);
        x_.assign(each_ * (kind_ == 17 || kind_ == 18 ? p_ : 1), {});
        if (kind_ == 19 || kind_ == 20) x_.assign(total(), {});
        y_.assign(x_.size(), {});
    }

    // Makes the data ready for run number `round`.
    void fill(word round) {
        round_ = round;
        for (std::size_t i = 0; i != in_.size(); ++i) in_[i] = element(me_, i);
        std::fill(out_.begin(), out_.end(), 0);
        for (std::size_t i = 0; i != x_.size(); ++i) x_[i] = map(me_, i);
        std::fill(y_.begin(), y_.end(), affine{});
    }

    template <class X>
    void start(bough::communicator<X>& comm) {
        const std::span<const word> in(in_);
        const std::span<const affine> x(x_);
        const compose_affine op;
        const auto own = [&](auto& v, std::size_t first, std::size_t n) { return std::span(v).subspan(first, n); };
        if constexpr (!How::every) {
            switch (kind_) {
            case 1: op_ = How::allreduce(comm, x, y_, op, bough::recursive_doubling{}); break;
            case 2: op_ = How::allreduce(comm, x, y_, op, bough::fnomial{.degree = 3}); break;
            case 5: op_ = How::broadcast(comm, in_, root_, bough::fnomial{}); break;
            case 6: op_ = How::barrier(comm); break;
            default: op_ = How::alltoallv(comm, in, own(matrix_, me_ * p_, p_), out_, column()); break;
            }
        } else {
            switch (kind_) {
            case 0: op_ = How::allreduce(comm, x_, op); break;
            case 1: op_ = How::allreduce(comm, x, y_, op, bough::recursive_doubling{}); break;
            case 2: op_ = How::allreduce(comm, x, y_, op, bough::fnomial{.degree = 3}); break;
            case 3: op_ = How::reduce(comm, x, y_, op, root_); break;
            case 4: op_ = How::reduce(comm, x_, op, root_, bough::automatic{}); break;
            case 5: op_ = How::broadcast(comm, in_, root_); break;
            case 6: op_ = How::barrier(comm); break;
            case 7: op_ = How::scan(comm, x, y_, op); break;
            case 8: op_ = How::exscan(comm, x_, op); break;
            case 9: op_ = How::gather(comm, in, out_, root_); break;
            case 10: op_ = How::gatherv(comm, in, out_, counts_, root_); break;
            case 11: op_ = How::scatter(comm, in, out_, root_); break;
            case 12: op_ = How::scatterv(comm, in, out_, counts_, root_); break;
            case 13: op_ = How::allgather(comm, in, out_); break;
            case 14: op_ = How::allgatherv(comm, in, out_, counts_); break;
            case 15: op_ = How::alltoall(comm, in, out_); break;
            case 16: op_ = How::alltoallv(comm, in, own(matrix_, me_ * p_, p_), out_, column()); break;
            case 17: op_ = How::reduce_scatter(comm, x, own(y_, 0, each_), op); break;
            case 18: op_ = How::reduce_scatter(comm, x_, op); break;
            case 19: op_ = How::reduce_scatterv(comm, x, own(y_, 0, counts_[me_]), counts_, op); break;
            case 20: op_ = How::reduce_scatterv(comm, x_, counts_, op); break;
            case 21: op_ = How::multicast(comm, in_, members_, root_); break;
            case 22: op_ = How::multicasts(comm, in_, wanted_); break;
            case 23: op_ = How::allgather(comm, in_); break;
            case 24: op_ = How::scatter(comm, in_, root_); break;
            case 26: op_ = How::neighbour_allgather(comm, in, out_, around_); break;
            case 27: op_ = How::neighbour_alltoall(comm, in, out_, around_); break;
            case 28: op_ = How::neighbour_alltoallv(comm, in, places(), out_, places(), around_); break;
            default: op_ = How::gather(comm, in_, root_); break;
            }
        }
    }
    typename How::handle& op() { return op_; }

    // Are the data what the collective must have made of them?
    bool right() const {
        const bool root = me_ == root_.rank;
        bool same = true;
        const auto folded = [&](bough::rank_t ranks, std::size_t i) {
            affine all = map(0, i);
            for (bough::rank_t r = 1; r < ranks; ++r) all = compose_affine{}(all, map(r, i));
            return all;
        };
        const auto maps = [&](const std::vector<affine>& got, bough::rank_t ranks, std::size_t first, std::size_t n,
                              std::size_t at) {
            for (std::size_t i = 0; i != n; ++i) same &= got[at + i] == folded(ranks, first + i);
        };
        switch (kind_) {
        case 0: maps(x_, p_, 0, each_, 0); break;
        case 1:
        case 2: maps(y_, p_, 0, each_, 0); break;
        case 3: root ? maps(y_, p_, 0, each_, 0) : void(same = y_ == std::vector<affine>(each_)); break;
        case 4: root ? maps(x_, p_, 0, each_, 0) : void(same = x_.empty() || x_[0] == map(me_, 0)); break;
        case 5:
            for (std::size_t i = 0; i != in_.size(); ++i) same &= in_[i] == element(root_.rank, i);
            break;
        case 7: maps(y_, me_ + 1, 0, each_, 0); break;
        case 8:
            for (std::size_t i = 0; i != each_; ++i) same &= x_[i] == (me_ == 0 ? map(0, i) : folded(me_, i));
            break;
        case 9:
        case 10:
        case 13:
        case 14: {
            const bool has = root || kind_ >= 13;
            std::size_t at = 0;
            for (bough::rank_t r = 0; r != p_ && has; ++r)
                for (std::size_t i = 0; i != (kind_ % 2 == 1 ? each_ : counts_[r]); ++i)
                    same &= out_[at++] == element(r, i);
            break;
        }
        case 11:
        case 12:
            for (std::size_t i = 0; i != out_.size(); ++i)
                same &= out_[i] == element(root_.rank, (kind_ == 11 ? each_ * me_ : before(me_)) + i);
            break;
        case 15:
            for (bough::rank_t r = 0; r != p_; ++r)
                for (std::size_t i = 0; i != each_; ++i) same &= out_[r * each_ + i] == element(r, me_ * each_ + i);
            break;
        case 16: {
            std::size_t at = 0;
            for (bough::rank_t r = 0; r != p_; ++r) {
                std::size_t there = 0;
                for (bough::rank_t to = 0; to != me_; ++to) there += matrix_[r * p_ + to];
                for (std::size_t i = 0; i != matrix_[r * p_ + me_]; ++i) same &= out_[at++] == element(r, there + i);
            }
            break;
        }
        case 17: maps(y_, p_, each_ * me_, each_, 0); break;
        case 18: maps(x_, p_, each_ * me_, each_, each_ * me_); break;
        case 19: maps(y_, p_, before(me_), counts_[me_], 0); break;
        case 20: maps(x_, p_, before(me_), counts_[me_], before(me_)); break;
        case 21: {
            bool takes_part = root;
            for (const bough::rank_t m : members_) takes_part |= m == me_;
            for (std::size_t i = 0; i != in_.size(); ++i) same &= in_[i] == element(takes_part ? root_.rank : me_, i);
            break;
        }
        case 22:
            for (std::size_t part = 0; part != 2; ++part) {
                const std::size_t first = part == 0 ? 0 : (in_.size() + 1) / 2;
                const std::size_t last = part == 0 ? (in_.size() + 1) / 2 : in_.size();
                bool takes_part = false;
                for (const bough::rank_t m : wanted_[part].members) takes_part |= m == me_;
                for (std::size_t i = first; i != last; ++i)
                    same &= in_[i] == element(takes_part ? wanted_[part].root : me_, i);
            }
            break;
        case 23:
            for (std::size_t i = 0; i != in_.size(); ++i)
                same &= in_[i] == element(static_cast<bough::rank_t>(i / each_), i);
            break;
        case 24:
            for (std::size_t i = 0; !root && i != in_.size(); ++i)
                same &= in_[i] == element(root_.rank, each_ * me_ + i);
            break;
        case 25:
            for (std::size_t i = 0; root && i != in_.size(); ++i) {
                const auto r = static_cast<bough::rank_t>(i / each_);
                same &= in_[i] == element(r, r == me_ ? i : i % each_);
            }
            break;
        case 26:
            for (std::size_t i = 0; i != out_.size(); ++i)
                same &= out_[i] == element(around_.source(me_, static_cast<bough::block_t>(i / each_)), i % each_);
            break;
        case 27:
            for (std::size_t i = 0; i != out_.size(); ++i)
                same &= out_[i] == element(around_.source(me_, static_cast<bough::block_t>(i / each_)), i);
            break;
        case 28: {
            const std::size_t first = counts_[0];
            for (std::size_t i = 0; i != out_.size(); ++i)
                same &= out_[i] == element(around_.source(me_, i < first ? 0 : 1), i);
            break;
        }
        default: break;
        }
        return same;
    }

private:
    word element(bough::rank_t r, std::size_t i) const {
        return bough_test::mixed(seed_ * 1000 + round_ * 77 + r * 100'000 + i);
    }
    affine map(bough::rank_t r, std::size_t i) const { return {element(r, i) | 1, element(r, i + 50'000)}; }
    std::size_t before(bough::rank_t r) const {
        std::size_t sum = 0;
        for (bough::rank_t k = 0; k != r; ++k) sum += counts_[k];
        return sum;
    }
    std::size_t total() const { return before(p_); }
    std::vector<std::size_t> column() const {
        std::vector<std::size_t> c;
        for (bough::rank_t r = 0; r != p_; ++r) c.push_back(matrix_[r * p_ + me_]);
        return c;
    }
    std::vector<std::size_t> places() const { return {counts_[0], counts_[p_ - 1]}; }
    std::size_t length_in() const {
        const bool root = me_ == root_.rank;
        switch (kind_) {
        case 10:
        case 14: return counts_[me_];
        case 11: return root ? each_ * p_ : 0;
        case 12: return root ? total() : 0;
        case 15:
        case 23: return each_ * p_;
        case 27: return each_ * 2;
        case 28: return counts_[0] + counts_[p_ - 1];
        case 16: {
            std::size_t sum = 0;
            for (bough::rank_t r = 0; r != p_; ++r) sum += matrix_[me_ * p_ + r];
            return sum;
        }
        case 24:
        case 25: return root ? each_ * p_ : each_;
        default: return each_;
        }
    }
    std::size_t length_out() const {
        const bool root = me_ == root_.rank;
        switch (kind_) {
        case 9: return root ? each_ * p_ : 0;
        case 10: return root ? total() : 0;
        case 11: return each_;
        case 12: return counts_[me_];
        case 13:
        case 15: return each_ * p_;
        case 26:
        case 27: return each_ * 2;
        case 28: return counts_[0] + counts_[p_ - 1];
        case 14: return total();
        case 16: {
            std::size_t sum = 0;
            for (const std::size_t n : column()) sum += n;
            return sum;
        }
        default: return 0;
        }
    }

    int kind_;
    word seed_, round_ = 0;
    bough::rank_t me_, p_;
    std::size_t each_ = 0;
    bough::root root_{0};
    std::vector<std::size_t> counts_, matrix_;
    std::vector<bough::rank_t> members_;
    std::vector<bough::multicast_request> wanted_;
    bough::neighbourhood around_;
    std::vector<word> in_, out_;
    std::vector<affine> x_, y_;
    typename How::handle op_;
};

} // namespace test

#endif
