// SPDX-License-Identifier: BSL-1.0
// deadline_stages: what an operation must do at which time between its start and its deadline.
//
//   time      |<-- question -->|   ...   | search | search again | propose | end
//   deadline                             - 4 parts      - 2 parts   - 1 part   0
// (doc/design/013-who-is-missing.md)
#ifndef BOUGH_SESSION_DEADLINE_STAGES_HPP
#define BOUGH_SESSION_DEADLINE_STAGES_HPP

#include <bough/core/deadline.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

struct deadline_stages {
    // What is due at a time:
    //   question   Once, after ask_after_ns or half of the timeout: ask the ranks that the operation
    //              waits for whether they make the same call.
    // The others are due in the last quarter of the timeout, or its last two seconds:
    //   search     Look for the ranks that hold the operation up; search_again: look once more.
    //   proposal   Propose to all other ranks what to report.
    //   end        End the operation.
    // A rank that looks at the clock too late goes through all stages, too. It ends later, by up to
    // three quarters of the time for these last stages.
    enum class due : std::uint8_t { nothing, question, search, search_again, proposal, end };
    static constexpr std::uint64_t ask_after_ns = 250'000'000;
    static constexpr std::uint64_t longest_search_ns = 2'000'000'000;
    due at(std::uint64_t now_ns) noexcept {
        if (now_ns < attend_ns_) return due::nothing;
        const std::uint64_t ask_ns = timeout_ns_ / 2 < ask_after_ns ? timeout_ns_ / 2 : ask_after_ns;
        if (attend_ns_ == 0) {
            deadline_ns_ = deadline_after(now_ns, timeout_ns_);
            next_ = due::question;
            asked_ = proposed_ = false;
            attend_ns_ = deadline_after(now_ns, ask_ns);
            return due::nothing;
        }
        if (next_ == due::question) {
            if (now_ns < time_of(due::search)) { // repeat: only the oldest operation asks
                const std::uint64_t again_ns = deadline_after(now_ns, ask_ns);
                attend_ns_ = !asked_ && again_ns < time_of(due::search) ? again_ns : time_of(due::search);
                return due::question;
            }
            next_ = due::search;
        }
        const due what = next_;
        if (what == due::end) return what;
        next_ = static_cast<due>(static_cast<std::uint8_t>(what) + 1);
        const std::uint64_t at_least_ns = deadline_after(now_ns, part_ns());
        attend_ns_ = at_least_ns < time_of(next_) ? time_of(next_) : at_least_ns;
        return what;
    }
    // A quarter of the time between the first search and the deadline.
    std::uint64_t part_ns() const noexcept {
        return (timeout_ns_ / 4 < longest_search_ns ? timeout_ns_ / 4 : longest_search_ns) / 4;
    }
    std::uint64_t time_of(due what) const noexcept {
        const std::uint64_t parts = what == due::search ? 4 : what == due::search_again ? 2 : what == due::proposal;
        return deadline_ns_ - parts * part_ns();
    }
    void set_timeout(std::uint64_t now_ns, std::uint64_t timeout_ns) noexcept {
        timeout_ns_ = timeout_ns;
        attend_ns_ = 0;
        (void)at(now_ns);
    }
    void start_clock(std::uint64_t now_ns) noexcept {
        if (attend_ns_ == 0) (void)at(now_ns);
    }

    std::uint64_t timeout_ns_ = 0;
    std::uint64_t deadline_ns_ = 0; // by the transport's clock; valid if attend_ns_ != 0
    std::uint64_t attend_ns_ = 0;   // when at() must be called next; 0: its time has not begun
    bool asked_ = false;
    bool proposed_ = false; // has proposed to report missing ranks
    due next_ = due::question;
};

} // namespace bough::detail

#endif
