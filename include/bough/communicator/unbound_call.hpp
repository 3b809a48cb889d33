// SPDX-License-Identifier: BSL-1.0
// unbound_call: the state of a persistent operation for which there was no memory at binding.
//
// Binding is not a call, so nothing has happened then. Each start is a call, which this rank
// refuses; that keeps the ranks in step.
#ifndef BOUGH_COMMUNICATOR_UNBOUND_CALL_HPP
#define BOUGH_COMMUNICATOR_UNBOUND_CALL_HPP

#include <bough/communicator/caller.hpp>
#include <bough/core/status.hpp>
#include <bough/operation.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

// It is a member of the core, so it needs no memory of its own. All such handles share one.
template <class Core>
class unbound_call final : public operation_state_base {
public:
    operation_state_base* acquire(std::shared_ptr<Core> core) noexcept {
        if (handles_++ == 0) core_ = caller<Core>(std::move(core));
        return this;
    }
    bool poll() override { return true; }
    bool done() override { return true; }
    const status& wait() override { return result_; }
    bool wait_for_ns(std::uint64_t) override { return true; }
    void cancel() override {}
    void set_timeout_ns(std::uint64_t) override {}
    void set_priority(int) override {}
    void start() override { (void)core_->refuse(result_); }
    const status& result() const noexcept override { return result_; }
    std::size_t memory_bytes() const noexcept override { return 0; }
    void release() noexcept override {
        if (--handles_ != 0) return;
        const caller<Core> last = std::move(core_); // the core may end with this
    }

private:
    caller<Core> core_; // as long as there are handles
    std::size_t handles_ = 0;
    status result_{.code = errc::no_resources};
};

} // namespace bough::detail

#endif
