// SPDX-License-Identifier: BSL-1.0
// One call of a rank: its data, how it is made, and what must come of it.
#ifndef BOUGH_TEST_SOAK_FLIGHT_HPP
#define BOUGH_TEST_SOAK_FLIGHT_HPP

#include "soak/draw.hpp"
#include "soak/values.hpp"
#include "support/counted_new.hpp"
#include <bough/barrier.hpp>
#include <bough/call/named.hpp>
#include <bough/operation.hpp>
#include <bough/run_time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace soak {

using bytes = std::vector<std::byte>;

// The data of one rank in one call. Counts are elements.
class call_data {
    static constexpr std::size_t fence = 64; // bytes behind a result that nobody may touch
    static constexpr std::byte untouched{0xa5};

public:
    call_data(const call_plan& plan, bough::rank_t rank, bough::rank_t size)
        : plan_(plan), rank_(rank), size_(size), root_{static_cast<bough::rank_t>(plan.root % size)},
          block_(plan.elements / size) {
        const bool lists = plan.what == kind::allgatherv || plan.what == kind::alltoallv;
        for (bough::rank_t r = 0; lists && r != size; ++r) {
            receive_.push_back(plan.what == kind::allgatherv ? length(r, 0) : length(r, rank));
            send_.push_back(length(rank, r));
        }
        given_ = given_by(rank_, plan.is_lie);
        out_.assign(bytes_of(room()) + fence, untouched);
        in_ = given_;
        if (is_in_place())
            std::copy(given_.begin(), given_.end(), out_.begin() + static_cast<std::ptrdiff_t>(place_in_whole()));
    }

    const call_plan& plan() const { return plan_; }
    bough::root root() const { return root_; }
    const bough::any_op& op() const { return type().ops[plan_.op].op; }
    bough::const_elements in() const { return {in_.data(), in_.size() / type().type.size, type().type}; }
    bough::elements out() { return {out_.data(), (out_.size() - fence) / type().type.size, type().type}; }
    std::span<const std::size_t> send_counts() const { return send_; }
    std::span<const std::size_t> receive_counts() const { return receive_; }
    bool is_in_place() const {
        return plan_.what == kind::broadcast ||
               (plan_.in_place && plan_.what != kind::alltoallv && plan_.what != kind::barrier);
    }
    void again() {
        if (!is_in_place()) std::fill(out_.begin(), out_.end(), untouched);
    }
    void give_up() { in_ = {}, out_ = {}; } // a sanitizer sees who still uses it

    // What is wrong, or nothing.
    const char* fault_of_result(bool ended_well) const {
        if (in_ != given_) return "the input has changed";
        if (!std::all_of(out_.end() - static_cast<std::ptrdiff_t>(fence), out_.end(),
                         [](std::byte b) { return b == untouched; }))
            return "bytes behind the result have changed";
        if (!ended_well || plan_.what == kind::barrier) return nullptr;
        const bytes right = expected();
        const std::size_t from = plan_.what == kind::reduce_scatter && is_in_place() ? bytes_of(block_) * rank_ : 0;
        return std::equal(right.begin(), right.end(), out_.begin() + static_cast<std::ptrdiff_t>(from))
                   ? nullptr
                   : "the result is wrong";
    }

private:
    const type_kind& type() const { return types()[plan_.type]; }
    std::size_t bytes_of(std::size_t count) const { return count * type().type.size; }
    bool is_root() const { return rank_ == root_.rank; }
    // Of the block from one rank to another, where blocks differ.
    std::size_t length(bough::rank_t from, bough::rank_t to) const {
        return bough_test::mixed(plan_.seed * 256 + from * 16 + to) % (2 * block_ + 1);
    }
    // Elements that a rank gives.
    std::size_t gives(bough::rank_t r) const {
        std::size_t sum = 0;
        switch (plan_.what) {
        case kind::broadcast: return r == root_.rank ? plan_.elements : 0;
        case kind::reduce_scatter:
        case kind::alltoall: return block_ * size_;
        case kind::allgather:
        case kind::gather: return block_;
        case kind::allgatherv: return length(r, 0);
        case kind::scatter: return r == root_.rank ? block_ * size_ : 0;
        case kind::alltoallv:
            for (bough::rank_t to = 0; to != size_; ++to) sum += length(r, to);
            return sum;
        case kind::barrier: return 0;
        default: return plan_.elements;
        }
    }
    bytes given_by(bough::rank_t r, bool is_lie = false) const {
        bytes made(bytes_of(gives(r)));
        type().fill(made.data(), gives(r), plan_.seed + (is_lie ? 1 : 0), r);
        return made;
    }
    // Elements of the buffer for the result.
    std::size_t room() const {
        std::size_t sum = 0;
        switch (plan_.what) {
        case kind::broadcast: return plan_.elements;
        case kind::reduce: return is_root() || is_in_place() ? plan_.elements : 0;
        case kind::reduce_scatter: return is_in_place() ? block_ * size_ : block_;
        case kind::allgather:
        case kind::alltoall: return block_ * size_;
        case kind::gather: return is_root() ? block_ * size_ : is_in_place() ? block_ : 0;
        case kind::scatter: return is_root() && is_in_place() ? block_ * size_ : block_;
        case kind::allgatherv:
        case kind::alltoallv:
            for (const std::size_t n : receive_) sum += n;
            return sum;
        case kind::barrier: return 0;
        default: return plan_.elements;
        }
    }
    // Where what this rank gives lies in the buffer of a call in place, in bytes.
    std::size_t place_in_whole() const {
        std::size_t before = 0;
        if (plan_.what == kind::allgather || (plan_.what == kind::gather && is_root())) before = block_ * rank_;
        for (bough::rank_t r = 0; plan_.what == kind::allgatherv && r != rank_; ++r) before += length(r, 0);
        return bytes_of(before);
    }
    // Op over the ranks [0, end), in their order.
    bytes fold(bough::rank_t end) const {
        bytes all = given_by(0);
        for (bough::rank_t r = 1; r < end; ++r) {
            const bytes next = given_by(r);
            type().ops[plan_.op].fold(all.data(), next.data(), all.size() / type().type.size);
        }
        return all;
    }
    static bytes part_of(const bytes& whole, std::size_t from, std::size_t length) {
        const auto first = whole.begin() + static_cast<std::ptrdiff_t>(from);
        return {first, first + static_cast<std::ptrdiff_t>(length)};
    }
    // The beginning of the result buffer (of reduce_scatter: this rank's block), after a call that ended
    // well.
    bytes expected() const {
        bytes all;
        const auto append = [&](const bytes& more) { all.insert(all.end(), more.begin(), more.end()); };
        switch (plan_.what) {
        case kind::allreduce: return fold(size_);
        case kind::reduce: return is_root() ? fold(size_) : is_in_place() ? given_ : bytes{};
        case kind::scan: return fold(rank_ + 1);
        case kind::exscan:
            if (rank_ != 0) return fold(rank_);
            return is_in_place() ? given_ : bytes(bytes_of(plan_.elements), untouched);
        case kind::broadcast: return given_by(root_.rank);
        case kind::reduce_scatter: return part_of(fold(size_), bytes_of(block_) * rank_, bytes_of(block_));
        case kind::gather:
            if (!is_root()) return is_in_place() ? given_ : bytes{};
            [[fallthrough]];
        case kind::allgather:
        case kind::allgatherv:
            for (bough::rank_t r = 0; r != size_; ++r) append(given_by(r));
            return all;
        case kind::scatter:
            all = given_by(root_.rank);
            return is_root() && is_in_place() ? all : part_of(all, bytes_of(block_) * rank_, bytes_of(block_));
        case kind::alltoall:
            for (bough::rank_t r = 0; r != size_; ++r)
                append(part_of(given_by(r), bytes_of(block_) * rank_, bytes_of(block_)));
            return all;
        case kind::alltoallv:
            for (bough::rank_t r = 0; r != size_; ++r) {
                std::size_t before = 0;
                for (bough::rank_t to = 0; to != rank_; ++to) before += length(r, to);
                append(part_of(given_by(r), bytes_of(before), bytes_of(length(r, rank_))));
            }
            return all;
        case kind::barrier: break;
        }
        return all;
    }

    call_plan plan_;
    bough::rank_t rank_, size_;
    bough::root root_;
    std::size_t block_; // elements of one
    std::vector<std::size_t> send_, receive_;
    bytes given_, in_, out_;
};

// While it lives, memory does not run out in this thread.
class enough_memory {
public:
    enough_memory() = default;
    enough_memory(const enough_memory&) = delete;
    ~enough_memory() { bough_test::until_failure = lack_; }

private:
    long lack_ = std::exchange(bough_test::until_failure, -1);
};

// A call on a communicator, from its start to its end.
template <class Comm>
class flight {
public:
    flight(Comm& on, const call_plan& plan, std::string name)
        : on_(&on), data_(plan, on.rank(), on.size()), name_(std::move(name)) {}

    const call_plan& plan() const { return data_.plan(); }
    bool has_started() const { return has_started_; }
    bool is_in_flight() const { return is_in_flight_; }
    const bough::status& result() const { return result_; }

    void make() {
        has_started_ = true;
        {
            const enough_memory here; // without it set_priority throws std::bad_alloc, as it may
            on_->set_priority(plan().priority);
        }
        const auto in = data_.in();
        const auto out = data_.out();
        const bough::root root = data_.root();
        const bool here = data_.is_in_place();
        using namespace bough;
        switch (plan().what) {
        case kind::allreduce: return vectors(doors(allreduce, start_allreduce, bind_allreduce), in, out, here);
        case kind::scan: return vectors(doors(scan, start_scan, bind_scan), in, out, here);
        case kind::exscan: return vectors(doors(exscan, start_exscan, bind_exscan), in, out, here);
        case kind::reduce_scatter:
            return vectors(doors(reduce_scatter, start_reduce_scatter, bind_reduce_scatter), in, out, here);
        case kind::reduce: {
            const auto d = doors(reduce, start_reduce, bind_reduce);
            return here ? call(d, out, data_.op(), root) : call(d, in, out, data_.op(), root);
        }
        case kind::broadcast: return call(doors(broadcast, start_broadcast, bind_broadcast), out, root);
        case kind::gather: return rooted(doors(gather, start_gather, bind_gather), in, out, root, here);
        case kind::scatter: return rooted(doors(scatter, start_scatter, bind_scatter), in, out, root, here);
        case kind::allgather: return exchange(doors(allgather, start_allgather, bind_allgather), in, out, here);
        case kind::alltoall: return exchange(doors(alltoall, start_alltoall, bind_alltoall), in, out, here);
        case kind::allgatherv: {
            const auto d = doors(allgatherv, start_allgatherv, bind_allgatherv);
            const auto counts = data_.receive_counts();
            return here ? call(d, out, counts) : call(d, in, out, counts);
        }
        case kind::alltoallv:
            return call(doors(alltoallv, start_alltoallv, bind_alltoallv), in, data_.send_counts(), out,
                        data_.receive_counts());
        case kind::barrier: return call(doors(barrier, start_barrier, bind_barrier));
        }
    }
    void poll() {
        if (is_in_flight_) operation_.poll();
    }
    void wait() {
        if (!is_in_flight_) return;
        operation_.wait(result_);
        is_in_flight_ = false;
    }
    // Did it hit the call before its end?
    bool strike(blow how) {
        if (!is_in_flight_ || operation_.done()) return false;
        if (how == blow::cancel) operation_.cancel();
        if (how == blow::time_out) operation_.set_timeout_ns(1);
        if (how == blow::destroy) {
            operation_ = {};
            data_.give_up();
            is_in_flight_ = false;
            is_destroyed_ = true;
        }
        return true;
    }
    // What is wrong with the data of a call that has ended, or nothing.
    const char* fault_of_result() const {
        if (faulty_ != nullptr) return faulty_;
        return is_destroyed_ ? nullptr : data_.fault_of_result(!result_);
    }

private:
    template <class B, class S, class N>
    struct door {
        const B& blocking;
        const S& start;
        const N& bind;
    };
    template <class B, class S, class N>
    static door<B, S, N> doors(const B& blocking, const S& start, const N& bind) {
        return {blocking, start, bind};
    }
    template <class D>
    void vectors(const D& d, const bough::const_elements& in, const bough::elements& out, bool in_place) {
        return in_place ? call(d, out, data_.op()) : call(d, in, out, data_.op());
    }
    template <class D>
    void rooted(const D& d, const bough::const_elements& in, const bough::elements& out, bough::root root,
                bool in_place) {
        return in_place ? call(d, out, root) : call(d, in, out, root);
    }
    template <class D>
    void exchange(const D& d, const bough::const_elements& in, const bough::elements& out, bool in_place) {
        return in_place ? call(d, out) : call(d, in, out);
    }
    template <class D, class... A>
    void call(const D& d, const A&... a) {
        switch (plan().how) {
        case form::blocking: return d.blocking(*on_, a..., result_);
        case form::started:
            operation_ = plan().where == place::named ? d.start(*on_, a..., bough::named{name_}) : d.start(*on_, a...);
            is_in_flight_ = true;
            return;
        case form::bound: return run_twice(d.bind(*on_, a...));
        }
    }
    void run_twice(bough::persistent_operation bound) {
        bound.start();
        bound.wait(result_);
        if (data_.is_in_place()) return; // its input is gone
        if (!result_) {
            const enough_memory here;
            faulty_ = data_.fault_of_result(true);
        }
        data_.again();
        bough::status again;
        bound.start(); // whatever came of the first: every start is a call
        bound.wait(again);
        if (!result_) result_ = again;
    }

    Comm* on_;
    call_data data_;
    std::string name_;
    bough::operation operation_{};
    bough::status result_{};
    const char* faulty_ = nullptr;
    bool has_started_ = false, is_in_flight_ = false, is_destroyed_ = false;
};

} // namespace soak

#endif
