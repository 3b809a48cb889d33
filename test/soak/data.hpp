// SPDX-License-Identifier: BSL-1.0
// The data of one rank in one call: what it gives, the buffers, and what must be in them after the call.
//
// What must come of a call is a list of pieces, each of them from what a rank gives or from the fold over
// the ranks in their order.
#ifndef BOUGH_TEST_SOAK_DATA_HPP
#define BOUGH_TEST_SOAK_DATA_HPP

#include "soak/draw.hpp"
#include "soak/shape.hpp"
#include "soak/values.hpp"
#include "support/sample.hpp"
#include <bough/batch.hpp>
#include <bough/call/partial.hpp>
#include <bough/engine/prepared/block_offsets.hpp>
#include <bough/op/run_time_type.hpp>
#include <bough/run_time.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace soak {

using bytes = std::vector<std::byte>;

class call_data {
    static constexpr std::size_t fence = 64; // bytes behind a result that nobody may touch
    static constexpr std::byte untouched_byte{0xa5};

public:
    call_data(const call_plan& plan, bough::rank_t rank, bough::rank_t size) : shape_(plan, size), rank_(rank) {
        list_lengths();
        list_pieces();
        given_ = given_by(rank_, plan.is_lie);
        std::size_t room = 0;
        for (const piece& p : pieces_) room += p.bytes;
        out_.assign(room + fence, untouched_byte);
        in_ = given_;
        if (is_in_place())
            std::copy(given_.begin(), given_.end(), out_.begin() + static_cast<std::ptrdiff_t>(place_in_whole()));
        if (is_of_batch(plan.what)) fill_batch();
    }
    call_data(const call_data&) = delete; // its batch points into it

    const call_plan& plan() const { return shape_.plan(); }
    const call_shape& shape() const { return shape_; }
    const bough::any_op& op() const { return type().ops[plan().op].op; }
    bough::const_elements in() const { return {in_.data(), in_.size() / type().type.size, type().type}; }
    bough::elements out() { return {out_.data(), (out_.size() - fence) / type().type.size, type().type}; }
    std::span<const std::size_t> send_counts() const { return send_; }
    std::span<const std::size_t> receive_counts() const { return receive_; }
    const bough::batch& batch() const { return batch_; }
    // Of a partial call.
    bough::partial terms() {
        const bough::rank_t size = shape_.size();
        const std::uint64_t drawn = bough_test::mixed(plan().seed);
        bough::partial how;
        how.within = std::chrono::microseconds(drawn % 4 * 200);
        how.at_least = drawn / 4 % 3 == 0 ? size : static_cast<bough::rank_t>(drawn / 16 % (size + 1));
        how.behind = static_cast<std::uint32_t>(drawn / 1024 % 4);
        how.decider = root();
        how.contributed = &came_;
        return how;
    }
    bool is_in_place() const {
        switch (plan().what) {
        case kind::broadcast:
        case kind::multicast:
        case kind::multicasts: return true;
        case kind::barrier:
        case kind::neighbour_allgather:
        case kind::neighbour_alltoall:
        case kind::neighbour_alltoallv: return false;
        default: return plan().in_place;
        }
    }
    void again() {
        if (!is_in_place()) std::fill(out_.begin(), out_.end(), untouched_byte);
    }
    void give_up() { in_ = {}, out_ = {}; } // a sanitizer sees who still uses it

    // What is wrong, or nothing.
    const char* fault_of_result(bool ended_well) const {
        if (in_ != given_) return "the input has changed";
        const auto is_untouched = [](std::byte b) { return b == untouched_byte; };
        if (!std::all_of(out_.end() - static_cast<std::ptrdiff_t>(fence), out_.end(), is_untouched))
            return "bytes behind the result have changed";
        if (!ended_well) return nullptr;
        if (plan().what == kind::partial_allreduce && (came_.size() != shape_.size() || !came_.has(root())))
            return "the decider has not contributed";
        std::map<std::pair<origin, bough::rank_t>, bytes> right;
        auto at = out_.begin();
        for (const piece& p : pieces_) {
            const auto end = at + static_cast<std::ptrdiff_t>(p.bytes);
            const bool is_new = p.from < origin::untouched && right.count({p.from, p.who}) == 0;
            if (is_new) right[{p.from, p.who}] = p.from == origin::folded ? fold(p.who) : given_by(p.who);
            if (p.from == origin::untouched
                    ? !std::all_of(at, end, is_untouched)
                    : p.from != origin::unspecified &&
                          !std::equal(at, end, right[{p.from, p.who}].begin() + static_cast<std::ptrdiff_t>(p.first)))
                return "the result is wrong";
            at = end;
        }
        return nullptr;
    }

private:
    enum class origin { given, folded, untouched, unspecified };
    struct piece {
        origin from;
        bough::rank_t who; // given: by this rank; folded: over the ranks before this one
        std::size_t first, bytes;
    };

    const type_kind& type() const { return types()[plan().type]; }
    std::size_t bytes_of(std::size_t count) const { return count * type().type.size; }
    bough::rank_t root() const { return shape_.root().rank; }
    bool is_root() const { return rank_ == root(); }

    // The sum of the blocks of ranks [0, end) that a rank sends, or gets.
    std::size_t sent_by(bough::rank_t r, bough::rank_t end) const {
        std::size_t sum = 0;
        for (bough::rank_t to = 0; to != end; ++to) sum += shape_.block(r, to);
        return sum;
    }
    std::size_t received_by(bough::rank_t r, bough::rank_t end) const {
        std::size_t sum = 0;
        for (bough::rank_t from = 0; from != end; ++from) sum += shape_.block(from, r);
        return sum;
    }
    // What a rank sends from the places before this one.
    std::size_t sent_to_neighbours(bough::rank_t r, std::size_t end) const {
        if (plan().what == kind::neighbour_allgather) return 0; // one block goes to all
        std::size_t sum = 0;
        for (std::size_t k = 0; k != end; ++k) sum += shape_.block_for_neighbour(r, k);
        return sum;
    }
    // Elements that a rank gives.
    std::size_t gives(bough::rank_t r) const {
        switch (plan().what) {
        case kind::broadcast:
        case kind::multicast: return r == root() ? plan().elements : 0;
        case kind::reduce_scatter:
        case kind::reduce_scatterv:
        case kind::alltoall:
        case kind::alltoallv: return sent_by(r, shape_.size());
        case kind::allgather:
        case kind::allgatherv:
        case kind::gather:
        case kind::gatherv: return shape_.block(r, root());
        case kind::scatter:
        case kind::scatterv: return r == root() ? sent_by(r, shape_.size()) : 0;
        case kind::neighbour_allgather: return shape_.block_for_neighbour(r, 0);
        case kind::neighbour_alltoall:
        case kind::neighbour_alltoallv: return sent_to_neighbours(r, shape_.around().sends(r));
        case kind::barrier: return 0;
        default: return plan().elements;
        }
    }
    std::vector<section> sections_of(bough::rank_t r) const {
        if (is_of_batch(plan().what)) return shape_.batch();
        return {{plan().type, plan().op, 0, gives(r)}};
    }
    static std::size_t end_of(const std::vector<section>& some) {
        return some.empty() ? 0 : some.back().first + some.back().count * types()[some.back().type].type.size;
    }
    bytes given_by(bough::rank_t r, bool is_lie = false) const {
        const std::vector<section> some = sections_of(r);
        bytes made(end_of(some), untouched_byte);
        for (const section& s : some)
            types()[s.type].fill(made.data() + s.first, s.count, plan().seed + (is_lie ? 1 : 0), r);
        return made;
    }
    // Op over the ranks [0, end), in their order; in a partial call over those that have contributed.
    bytes fold(bough::rank_t end) const {
        const bool is_partial = plan().what == kind::partial_allreduce;
        bough::rank_t first = 0;
        while (is_partial && !came_.has(first)) ++first;
        bytes all = given_by(first);
        for (bough::rank_t r = first + 1; r < end; ++r) {
            if (is_partial && !came_.has(r)) continue;
            const bytes next = given_by(r);
            for (const section& s : sections_of(r))
                types()[s.type].ops[s.op].fold(all.data() + s.first, next.data() + s.first, s.count);
        }
        return all;
    }
    // Where what this rank gives lies in the buffer of a call in place, in bytes.
    std::size_t place_in_whole() const {
        switch (plan().what) {
        case kind::gather:
        case kind::gatherv:
            if (!is_root()) return 0;
            [[fallthrough]];
        case kind::allgather:
        case kind::allgatherv: return bytes_of(received_by(rank_, rank_));
        default: return 0;
        }
    }

    void list_lengths() {
        const bough::rank_t size = shape_.size();
        switch (plan().what) {
        case kind::allgatherv:
        case kind::reduce_scatterv:
        case kind::gatherv:
        case kind::scatterv:
        case kind::alltoallv:
            for (bough::rank_t r = 0; r != size; ++r) {
                send_.push_back(shape_.block(rank_, r));
                receive_.push_back(shape_.block(r, rank_));
            }
            return;
        case kind::neighbour_alltoallv:
            for (std::size_t k = 0; k != shape_.around().sends(rank_); ++k)
                send_.push_back(shape_.block_for_neighbour(rank_, k));
            for (const auto& [from, k] : shape_.around().sources(rank_))
                receive_.push_back(shape_.block_for_neighbour(from, k));
            return;
        default: return;
        }
    }
    // The result buffer after a call that ended well, from its beginning to its end.
    void list_pieces() {
        const bough::rank_t size = shape_.size();
        const bool here = is_in_place();
        switch (plan().what) {
        case kind::barrier: return;
        case kind::allreduce:
        case kind::partial_allreduce:
        case kind::allreduce_of_batch: return add_whole(origin::folded, size);
        case kind::reduce:
            if (!is_root() && !here) return;
            return add_whole(is_root() ? origin::folded : origin::given, is_root() ? size : rank_);
        case kind::reduce_of_batch:
            return add_whole(is_root() ? origin::folded
                             : here    ? origin::given
                                       : origin::untouched,
                             is_root() ? size : rank_);
        case kind::scan: return add_whole(origin::folded, rank_ + 1);
        case kind::exscan:
            return add_whole(rank_ != 0 ? origin::folded : here ? origin::given : origin::untouched, rank_);
        case kind::broadcast: return add_whole(origin::given, root());
        case kind::multicast: {
            const bool takes_part = call_shape::takes_part(rank_, root(), shape_.members());
            return add(takes_part ? origin::given : origin::untouched, root(), 0, plan().elements);
        }
        case kind::multicasts: return list_multicasts();
        case kind::reduce_scatter:
        case kind::reduce_scatterv: {
            const std::size_t before = sent_by(rank_, rank_), mine = shape_.block(rank_, rank_);
            if (here) add(origin::unspecified, 0, 0, before);
            add(origin::folded, size, before, mine);
            if (here) add(origin::unspecified, 0, 0, gives(rank_) - before - mine);
            return;
        }
        case kind::gather:
        case kind::gatherv:
            if (!is_root() && here) add_whole(origin::given, rank_);
            if (!is_root()) return;
            [[fallthrough]];
        case kind::allgather:
        case kind::allgatherv:
            for (bough::rank_t r = 0; r != size; ++r) add_whole(origin::given, r);
            return;
        case kind::scatter:
        case kind::scatterv:
            if (is_root() && here) return add_whole(origin::given, root());
            return add(origin::given, root(), sent_by(root(), rank_), shape_.block(root(), rank_));
        case kind::alltoall:
        case kind::alltoallv:
            for (bough::rank_t r = 0; r != size; ++r) add(origin::given, r, sent_by(r, rank_), shape_.block(r, rank_));
            return;
        case kind::neighbour_allgather:
        case kind::neighbour_alltoall:
        case kind::neighbour_alltoallv:
            for (const auto& [from, k] : shape_.around().sources(rank_))
                if (const std::size_t count = shape_.block_for_neighbour(from, k); from == bough::no_rank)
                    add(origin::untouched, 0, 0, count);
                else
                    add(origin::given, from, sent_to_neighbours(from, k), count);
            return;
        }
    }
    void list_multicasts() {
        const auto parts = static_cast<bough::block_t>(shape_.wanted().size());
        for (bough::block_t k = 0; k != parts; ++k) {
            const auto& [from, members] = shape_.wanted()[k];
            const std::size_t first = bough::block_begin(plan().elements, parts, k);
            const std::size_t count = bough::block_begin(plan().elements, parts, k + 1) - first;
            add(origin::given, call_shape::takes_part(rank_, from, members) ? from : rank_, first, count);
        }
    }
    void add(origin from, bough::rank_t who, std::size_t first, std::size_t count) { // elements
        pieces_.push_back({from, who, bytes_of(first), bytes_of(count)});
    }
    // All that a rank gives, or a fold of it.
    void add_whole(origin from, bough::rank_t who) {
        pieces_.push_back({from, who, 0, end_of(sections_of(from == origin::given ? who : rank_))});
    }
    void fill_batch() {
        for (const section& s : shape_.batch()) {
            std::byte* const to = out_.data() + s.first;
            types()[s.type].ops[s.op].add(batch_, is_in_place() ? to : in_.data() + s.first, to, s.count);
        }
    }

    call_shape shape_;
    bough::rank_t rank_;
    std::vector<std::size_t> send_{}, receive_{};
    std::vector<piece> pieces_{};
    bytes given_{}, in_{}, out_{};
    bough::batch batch_{};
    bough::contributors came_{};
};

} // namespace soak

#endif
