// SPDX-License-Identifier: BSL-1.0
// two_level: the processes of a node reduce among themselves, in shared memory; then one program per node
// reduces between the nodes.
//
//   auto node = bough::split(comm, my_node);                                   the processes of this node
//   auto heads = bough::split(comm, node.rank() == 0 ? 0 : 1);                 the first of each node
//   nic::host_nic inside{node}, between{heads};
//   auto local = nic::load<double>(inside, local_programs[node.rank()], bough::plus{});
//   auto upper = nic::load<double>(between, upper_programs[heads.rank()], bough::plus{});
//   nic::two_level sum{local, node.rank() == 0 ? &upper : nullptr};
//   sum.start(mine);
//   while (!sum.poll()) work_a_little();
//   if (node.rank() == 0) use(sum.result());
//
// The local program reduces to rank 0 of the node. Load the upper program on these ranks only.
//
// `Upper` is whatever runs the program between the nodes: a host_program, or a driver of a NIC with
// the same members start, poll, wait, error, started, done, result, and abort(status). After abort,
// error() must return an error. The first poll that finds the local result rings the bell of the
// upper program. A process that is not the first of its node has ended when its local part has;
// what it still owes others it sends in later calls (bough/nic/run/host.hpp).
// *Order* if nodes have consecutive ranks and both plans keep rank order, the whole keeps it, too.
// *Errors* those of either program. A node whose local program failed never enters the upper
// program; it aborts that program with the local error, which ends the other nodes, too. `deadline`
// if the upper program takes no instance within `busy_timeout_ns` of the local result, by the
// steady clock; then it is aborted, too.
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

// A reduction in two levels. It refers to both programs. One reduction and one thread at a time.
template <class Local, class Upper>
class two_level {
public:
    // `upper` is null on a process that is not the first of its node.
    two_level(Local& local, Upper* upper, std::uint64_t busy_timeout_ns = 30'000'000'000)
        : local_(local), upper_(upper), busy_timeout_(busy_timeout_ns) {
        BOUGH_EXPECTS(upper == nullptr || local.result_count() == upper->input_count(),
                      "upper: takes other than what the local program gives");
    }

    // Starts a reduction. would_block: the local program has no free bank, since it is used for
    // something else, too; poll, and try again. Pre: the last reduction has ended.
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
    // Makes progress. True if this process's part has ended or failed.
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
    // Waits for the end, no longer than the timeouts of both programs and `busy_timeout_ns`
    // together.
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
    // What the upper program gives this node. After a reduce, only the root's node has a result.
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
    // Fails for good, and aborts the upper program so that the other nodes do not wait for this
    // one.
    bool fail(status why) {
        if (!error_) error_ = why;
        why.peer = no_rank; // the upper program's ranks have other numbers
        if (upper_ != nullptr && !upper_->error()) upper_->abort(why);
        return finish();
    }

    Local& local_;
    Upper* upper_;
    std::uint32_t local_instance_ = 0, upper_instance_ = 0;
    stage stage_ = stage::idle;
    std::chrono::nanoseconds busy_timeout_;
    clock::time_point since_{}; // when the local result was there
    status error_{};
};

} // namespace bough::nic

#endif
