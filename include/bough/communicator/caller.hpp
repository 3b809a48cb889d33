// SPDX-License-Identifier: BSL-1.0
// Caller: what can make calls of a communicator: its handle, and each persistent operation. When the
// last of them goes, the other members are told that this rank makes no further call, so calls of
// theirs that need one end at once (bough/session/letting_go.hpp).
//
// Handles of operations that have ended may keep the core of the communicator for longer.
#ifndef BOUGH_COMMUNICATOR_CALLER_HPP
#define BOUGH_COMMUNICATOR_CALLER_HPP

#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

template <class Core>
class caller {
public:
    caller() = default;
    explicit caller(std::shared_ptr<Core> core) noexcept : core_(std::move(core)) { (void)count(1); }
    caller(caller&&) noexcept = default;
    caller& operator=(caller&& other) noexcept {
        caller moved(std::move(other));
        std::swap(core_, moved.core_);
        return *this;
    }
    ~caller() {
        if (core_ && count(~std::uint32_t{0}) == 0) tell();
    }

    const std::shared_ptr<Core>& core() const noexcept {
        BOUGH_EXPECTS(core_ != nullptr, "communicator: it has been moved from, so it has no ranks");
        return core_;
    }
    Core* operator->() const noexcept { return core().get(); }
    Core& operator*() const noexcept { return *core_; } // unchecked, for what a call does after its first step

private:
    // Whoever polls the session may end a call that has waited for its turn.
    std::uint32_t count(std::uint32_t more) noexcept {
        return core_->shared_session()->with_lock([&] { return core_->callers() += more; });
    }
    void tell() {
        auto& session = *core_->shared_session();
        if (session.forked() || core_->is_stale()) return;
        const bool is_last = core_.use_count() == 1;
        // ~Core() tells.
        if (is_last && (core_->has_own_number() || core_->shared_session().use_count() == 1)) return;
        session.end_calls_of_communicator(core_->context());
    }

    std::shared_ptr<Core> core_;
};

} // namespace bough::detail

#endif
