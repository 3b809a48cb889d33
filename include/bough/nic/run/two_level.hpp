// SPDX-License-Identifier: BSL-1.0
// run_two_level: the processes of a node reduce among themselves, in shared memory; one program per node does the rest.
//
//   auto node = bough::split(comm, my_node);                                   the processes of this node
//   auto heads = bough::split(comm, node.rank() == 0 ? 0 : 1);                 one of each node; and the rest
//   nic::host_nic inside{node}, between{heads};
//   auto local = nic::load<double>(inside, local_programs[node.rank()], bough::plus{});       reduces to rank 0 of the node
//   auto upper = nic::load<double>(between, upper_programs[heads.rank()], bough::plus{});     on rank 0 of each node only
//   nic::two_level sum{local, node.rank() == 0 ? &upper : nullptr};
//   sum.start(mine);
//   while (!sum.poll()) work_a_little();
//   if (node.rank() == 0) use(sum.result());
//
// `Upper` is whatever runs the program between the nodes: a host_program, or a driver of a NIC with the same members start, poll, wait,
// error, started, done, result, and abort(status), after which error() is one. The bell of the upper program is rung as soon as
// the local result is there, by whatever call of poll finds it; processes that are not the first of their node are done with
// their local part; what they owe others they send in later calls (bough/nic/run/host.hpp).
// *Order* nodes of consecutive ranks, and plans that keep rank order, keep it here too. *Errors* those of either program. A node
// that failed never enters the upper program, which is aborted with the local error; so are the other nodes. `deadline` where the
// upper program takes no instance for `busy_timeout_ns` from the local result on, by the steady clock: it is aborted, too.
// *Source* Moody et al. 2003, section 4.4 and figure 11: one and two processes per node.
#ifndef BOUGH_NIC_RUN_TWO_LEVEL_HPP
#define BOUGH_NIC_RUN_TWO_LEVEL_HPP

#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <chrono>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::nic {

// Refers to both programs. One reduction at a time. One thread at a time.
template <class Local, class Upper>
class two_level {
public:
    // `upper`: null on a process that is not the first of its node.
    two_level(Local& local, Upper* upper, std::uint64_t busy_timeout_ns = 30'000'000'000)
        : local_(local), upper_(upper), busy_timeout_(busy_timeout_ns) {
        BOUGH_EXPECTS(upper == nullptr || local.result_count() == upper->input_count(),
                      "upper: takes other than what the local program gives");
    }

    // Pre: the last has ended. would_block: a program is used for something else, too; poll, and try again.
    template <class T>
    status start(std::span<const T> mine) {
        BOUGH_EXPECTS(stage_ == stage::idle, "start: the last reduction has not ended");
        const std::uint32_t instance = local_.started();
        if (error_) return error_;
        if (const status bad = local_.start(mine)) {
            if (bad.code != errc::would_block) fail(bad);
            return bad;
        }
        local_instance_ = instance;
        stage_ = stage::local;
        return {};
    }
    // Goes on; true if this process's part has ended, or failed.
    bool poll() {
        if (stage_ == stage::local) {
            local_.poll();
            if (local_.error()) return fail(local_.error());
            if (!local_.done(local_instance_)) return false;
            if (upper_ == nullptr) return finish();
            stage_ = stage::entering;
            since_ = clock::now();
        }
        if (stage_ == stage::entering) {
            const std::uint32_t instance = upper_->started();
            const status entered = upper_->start(local_.result(local_instance_));
            if (entered.code == errc::would_block) {
                upper_->poll();
                if (clock::now() - since_ < busy_timeout_) return false;
                return fail({.code = errc::deadline});
            }
            if (entered) return fail(entered);
            upper_instance_ = instance;
            stage_ = stage::upper;
        }
        if (stage_ == stage::upper) {
            upper_->poll();
            if (upper_->error() || upper_->done(upper_instance_)) return finish();
            return false;
        }
        return true;
    }
    // No longer than the timeouts of the two, and that of a busy upper program.
    const status& wait() {
        while (!poll()) {
            if (stage_ == stage::local) local_.wait(local_instance_);
            if (stage_ == stage::upper) upper_->wait(upper_instance_);
        }
        return error();
    }
    // The first cause.
    const status& error() const {
        if (error_) return error_;
        return upper_ != nullptr && upper_->error() ? upper_->error() : local_.error();
    }
    // What the upper program gives this node; of a reduce, at the root's.
    auto result() const {
        BOUGH_EXPECTS(upper_ != nullptr && stage_ == stage::idle, "result: of the first process of a node, at the end");
        return upper_->result(upper_instance_);
    }

private:
    enum class stage : std::uint8_t { idle, local, entering, upper };
    using clock = std::chrono::steady_clock;
    bool finish() noexcept {
        stage_ = stage::idle;
        return true;
    }
    // For good; the other nodes must not wait for this one.
    bool fail(status why) {
        if (!error_) error_ = why;
        why.peer = no_rank; // of other numbers
        if (upper_ != nullptr && !upper_->error()) upper_->abort(why);
        return finish();
    }

    Local& local_;
    Upper* upper_;
    std::uint32_t local_instance_ = 0, upper_instance_ = 0;
    stage stage_ = stage::idle;
    std::chrono::nanoseconds busy_timeout_;
    clock::time_point since_{}; // the local result is there
    status error_{};
};

} // namespace bough::nic

#endif
