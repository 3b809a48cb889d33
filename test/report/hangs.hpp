// SPDX-License-Identifier: BSL-1.0
// Jobs that hang: the ranks of a program of calls over two communicators, of which one rank stops, skips a
// call, or makes two calls in another order. All of them run in one thread and in virtual time.
#ifndef BOUGH_TEST_REPORT_HANGS_HPP
#define BOUGH_TEST_REPORT_HANGS_HPP

#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/core/random.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/report.hpp>
#include <bough/transport/simulated.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace test {

using bough::rank_t;

enum class hang : std::uint8_t { stopped, skipped, swapped };

struct made_call {
    enum class what : std::uint8_t { allreduce, broadcast, reduce, barrier } collective;
    unsigned on; // which communicator
    std::size_t count;
    friend bool operator==(const made_call&, const made_call&) = default;
};

struct hanging_job {
    hang how = hang::stopped;
    rank_t size = 4, victim = 0;
    std::vector<made_call> calls; // of all ranks but the victim
    std::size_t at = 0;           // the call at which it goes wrong
    std::uint32_t polls = 0;      // of the victim in that call before it stops; 0: it does not make it
    std::uint64_t seed = 1;
};

inline hanging_job draw_hang(std::uint64_t seed) {
    std::uint64_t state = seed * 0x9e37'79b9'7f4a'7c15u + 1;
    const auto below = [&state](std::uint64_t n) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        return state % n;
    };
    for (int i = 0; i != 8; ++i) (void)below(2);
    hanging_job job;
    job.seed = seed;
    job.how = static_cast<hang>(seed % 3);
    job.size = static_cast<rank_t>(3 + below(7));
    job.victim = static_cast<rank_t>(below(job.size));
    const std::size_t length = 4 + below(8);
    for (std::size_t i = 0; i != length; ++i)
        job.calls.push_back({static_cast<made_call::what>(below(4)), static_cast<unsigned>(below(2)), 1 + below(3)});
    job.at = below(length - 1);
    while (job.how == hang::swapped && job.calls[job.at] == job.calls[job.at + 1]) job.calls[job.at].count += 1;
    if (job.how == hang::stopped) job.polls = static_cast<std::uint32_t>(below(2) * below(6));
    for (unsigned on : {0u, 1u})
        job.calls.push_back({made_call::what::allreduce, on, 7}); // nobody ends before all have come
    return job;
}

class running_rank {
public:
    using endpoint = bough::simulated::endpoint;
    running_rank(bough::simulated& world, rank_t me, std::vector<made_call> calls, const bough::report_options& options)
        : calls_(std::move(calls)), shared_(std::make_shared<bough::session<endpoint>>(world.connect(me))),
          data_(16, 1) {
        for (std::uint16_t context = 0; context != 2; ++context)
            comms_.emplace_back(shared_, std::vector<rank_t>{}, context,
                                bough::communicator_options{.timeout_ns = 1'000'000'000, .report = options});
    }
    // False: it has nothing more to do.
    bool drive() {
        if (failed_) return false;
        if (!op_) {
            if (next_ == calls_.size()) return false;
            start(calls_[next_]);
        }
        if (op_->poll()) {
            failed_ = static_cast<bool>(op_->result());
            last_ = op_->result();
            op_.reset();
            ++next_;
        }
        return true;
    }
    std::size_t next() const { return next_; }
    bool is_in_flight() const { return op_.has_value(); }
    bool has_failed() const { return failed_; }
    const bough::status& last() const { return last_; }
    bough::rank_report report() { return comms_[0].report(); }
    bough::communicator<endpoint>& comm(unsigned i) { return comms_[i]; }

private:
    void start(const made_call& c) {
        auto& comm = comms_[c.on];
        const std::span<double> data(data_.data(), c.count);
        switch (c.collective) {
        case made_call::what::allreduce: op_ = bough::start_allreduce(comm, data, bough::plus{}); break;
        case made_call::what::broadcast: op_ = bough::start_broadcast(comm, data, bough::root{0}); break;
        case made_call::what::reduce: op_ = bough::start_reduce(comm, data, bough::plus{}, bough::root{0}); break;
        case made_call::what::barrier: op_ = bough::start_barrier(comm); break;
        }
    }

    std::vector<made_call> calls_;
    std::shared_ptr<bough::session<endpoint>> shared_;
    std::vector<double> data_;
    std::vector<bough::communicator<endpoint>> comms_;
    std::optional<bough::operation> op_;
    std::size_t next_ = 0;
    bool failed_ = false;
    bough::status last_{};
};

struct outcome_of_hang {
    std::vector<bough::rank_report> survivors;
    bool has_ended = true; // within twice the timeout
    bool has_failed = false;
};

// Runs the job until all ranks but a stopped one have ended. `until_ns`: looks earlier, while they wait.
inline outcome_of_hang run_hang(const hanging_job& job, const bough::report_options& options = {},
                                std::uint64_t until_ns = 2'500'000'000) {
    bough::simulated world(job.size, {.seed = job.seed});
    std::vector<std::unique_ptr<running_rank>> ranks;
    for (rank_t r = 0; r != job.size; ++r) {
        std::vector<made_call> calls = job.calls;
        if (r == job.victim && job.how == hang::skipped)
            calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(job.at));
        if (r == job.victim && job.how == hang::swapped) std::swap(calls[job.at], calls[job.at + 1]);
        ranks.push_back(std::make_unique<running_rank>(world, r, std::move(calls), options));
    }
    std::uint32_t polls = 0;
    const auto is_stopped = [&](rank_t r) {
        if (job.how != hang::stopped || r != job.victim) return false;
        return ranks[r]->next() > job.at || (ranks[r]->next() == job.at && polls >= job.polls);
    };
    const auto drive = [&](rank_t r) {
        if (is_stopped(r)) return false;
        if (r == job.victim && ranks[r]->next() == job.at) ++polls;
        return ranks[r]->drive();
    };
    outcome_of_hang made;
    for (bool busy = true; busy && world.now_ns() < until_ns;) {
        busy = false;
        for (int turn = 0; turn != 80; ++turn) // so often a communicator that finds nothing looks at its deadlines
            for (rank_t r = 0; r != job.size; ++r) busy |= drive(r);
        world.advance_to(world.now_ns() + 5'000'000);
    }
    for (rank_t r = 0; r != job.size; ++r) {
        const bool was_stopped = job.how == hang::stopped && r == job.victim;
        if (was_stopped) continue;
        made.has_failed |= ranks[r]->has_failed();
        made.has_ended &= ranks[r]->has_failed() || !ranks[r]->is_in_flight();
        made.survivors.push_back(ranks[r]->report());
    }
    // What waits must not be destroyed before the memory of its messages is given back.
    for (auto& r : ranks) (void)r;
    if (job.how == hang::stopped) world.happen({.what = bough::simulated_fault::kind::crash, .rank = job.victim});
    return made;
}

} // namespace test

#endif
