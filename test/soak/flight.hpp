// SPDX-License-Identifier: BSL-1.0
// One call of a rank, from its start to its end.
#ifndef BOUGH_TEST_SOAK_FLIGHT_HPP
#define BOUGH_TEST_SOAK_FLIGHT_HPP

#include "soak/data.hpp"
#include "soak/draw.hpp"
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
        const call_shape& shape = data_.shape();
        const bough::root root = shape.root();
        const bool here = data_.is_in_place();
        using namespace bough;
        const automatic choice{.late_ranks = plan().late_ranks};
        switch (plan().what) {
        case kind::allreduce: {
            const auto d = doors(allreduce, start_allreduce, bind_allreduce);
            return here ? call(d, out, data_.op(), choice) : call(d, in, out, data_.op(), choice);
        }
        case kind::scan: return vectors(doors(scan, start_scan, bind_scan), in, out, here);
        case kind::exscan: return vectors(doors(exscan, start_exscan, bind_exscan), in, out, here);
        case kind::reduce_scatter:
            return vectors(doors(reduce_scatter, start_reduce_scatter, bind_reduce_scatter), in, out, here);
        case kind::reduce: {
            const auto d = doors(reduce, start_reduce, bind_reduce);
            return here ? call(d, out, data_.op(), root, choice) : call(d, in, out, data_.op(), root, choice);
        }
        case kind::broadcast: return call(doors(broadcast, start_broadcast, bind_broadcast), out, root);
        case kind::gather: return rooted(doors(gather, start_gather, bind_gather), in, out, root, here);
        case kind::scatter: return rooted(doors(scatter, start_scatter, bind_scatter), in, out, root, here);
        case kind::allgather: return exchange(doors(allgather, start_allgather, bind_allgather), in, out, here);
        case kind::alltoall: return exchange(doors(alltoall, start_alltoall, bind_alltoall), in, out, here);
        case kind::allgatherv: {
            const auto d = doors(allgatherv, start_allgatherv, bind_allgatherv);
            return here ? call(d, out, data_.receive_counts()) : call(d, in, out, data_.receive_counts());
        }
        case kind::alltoallv: {
            const auto d = doors(alltoallv, start_alltoallv, bind_alltoallv);
            const at_most most{.elements = shape.longest_block()};
            if (here && shape.flip()) return call(d, out, data_.send_counts(), most);
            if (here) return call(d, out, data_.send_counts());
            if (shape.flip()) return call(d, in, data_.send_counts(), out, data_.receive_counts(), most);
            return call(d, in, data_.send_counts(), out, data_.receive_counts());
        }
        case kind::reduce_scatterv: {
            const auto d = doors(reduce_scatterv, start_reduce_scatterv, bind_reduce_scatterv);
            const auto counts = data_.send_counts();
            return here ? call(d, out, counts, data_.op()) : call(d, in, out, counts, data_.op());
        }
        case kind::gatherv:
            return lists(doors(gatherv, start_gatherv, bind_gatherv), in, out, data_.receive_counts(), here);
        case kind::scatterv:
            return lists(doors(scatterv, start_scatterv, bind_scatterv), in, out, data_.send_counts(), here);
        case kind::multicast:
            return call(doors(multicast, start_multicast, bind_multicast), out,
                        std::span<const rank_t>(shape.members()), root);
        case kind::multicasts:
            return call(doors(multicasts, start_multicasts, bind_multicasts), out,
                        std::span<const multicast_request>(shape.wanted()));
        case kind::neighbour_allgather:
            return call(doors(neighbour_allgather, start_neighbour_allgather, bind_neighbour_allgather), in, out,
                        shape.around().around());
        case kind::neighbour_alltoall:
            return call(doors(neighbour_alltoall, start_neighbour_alltoall, bind_neighbour_alltoall), in, out,
                        shape.around().around());
        case kind::neighbour_alltoallv: {
            const auto d = doors(neighbour_alltoallv, start_neighbour_alltoallv, bind_neighbour_alltoallv);
            const neighbourhood& around = shape.around().around();
            if (shape.has_one_list()) return call(d, in, data_.send_counts(), out, around);
            return call(d, in, data_.send_counts(), out, data_.receive_counts(), around);
        }
        case kind::allreduce_of_batch: return call(doors(allreduce, start_allreduce, bind_allreduce), data_.batch());
        case kind::reduce_of_batch: return call(doors(reduce, start_reduce, bind_reduce), data_.batch(), root);
        case kind::partial_allreduce: return allreduce(*on_, in, out, data_.op(), data_.terms(), result_);
        case kind::barrier: return call(doors(barrier, start_barrier, bind_barrier), choice);
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
    // Each rank knows all lengths, or only the root does.
    template <class D>
    void lists(const D& d, const bough::const_elements& in, const bough::elements& out,
               std::span<const std::size_t> counts, bool in_place) {
        const bough::root root = data_.shape().root();
        if (!data_.shape().flip()) return in_place ? call(d, out, counts, root) : call(d, in, out, counts, root);
        if (on_->rank() != root.rank) counts = {};
        constexpr bough::counts_at_root at_root{};
        return in_place ? call(d, out, counts, root, at_root) : call(d, in, out, counts, root, at_root);
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
