// SPDX-License-Identifier: BSL-1.0
// Telling: says to other ranks what has failed here: a call, a communicator, the group.
//
// It needs the membership, which knows the members of a communicator and who is lost, control, and
// the transport.
#ifndef BOUGH_SESSION_TELLING_HPP
#define BOUGH_SESSION_TELLING_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/session/control.hpp>
#include <bough/session/departures.hpp>
#include <bough/session/given_up.hpp>
#include <bough/session/membership.hpp>
#include <bough/session/mismatch.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

template <Transport T>
class telling {
public:
    telling(T& transport, const membership& members, control<T>& control) noexcept
        : transport_(transport), members_(members), control_(control), next_(members.size()) {}

    // Messages to a rank that takes none are kept until it does, up to so many for each rank.
    static constexpr std::size_t most_unsent = 1024;
    // False: there are too many already.
    BOUGH_COLD bool given_up(const envelope& call, const status& why) {
        if (control_.unsent() >= most_unsent * members_.size()) return false;
        const given_up_notice said = given_up_notice::of(why);
        to_members(given_up_segment, call, std::as_bytes(std::span(&said, 1)));
        return true;
    }
    BOUGH_COLD void broken(std::uint16_t context, const status& why) {
        const abort_notice said = abort_notice::of(why);
        envelope call;
        call.operation = why.operation;
        call.context = context;
        to_members(broken_segment, call, std::as_bytes(std::span(&said, 1)));
    }
    // A member has ended its calls.
    BOUGH_COLD void ended(const contexts::member_end& its) {
        envelope last;
        last.operation = its.last;
        last.context = its.context;
        const rank_t who = its.rank;
        to_members(last_call_segment, last, std::as_bytes(std::span(&who, 1)));
    }
    // This rank refuses a call. `whom`: empty means all ranks.
    BOUGH_COLD void refused(const envelope& call, errc why, std::span<const rank_t> whom) {
        const abort_notice said = abort_notice::of({.code = why, .peer = members_.rank()});
        for_each_of(whom,
                    [&](rank_t r) { control_.send(r, refusal_segment, call, std::as_bytes(std::span(&said, 1))); });
    }

    // The group is broken: go_on() tells every rank.
    void poison(const status& why) noexcept {
        poison_ = why;
        next_ = 0;
    }
    bool is_over() const noexcept { return next_ == members_.size(); }
    // May throw if memory runs out; then call it again.
    BOUGH_COLD void go_on() {
        envelope call;
        call.operation = poison_.operation;
        call.context = poison_.context;
        const abort_notice said = abort_notice::of(poison_);
        for (; next_ != members_.size(); ++next_)
            if (is_there(next_)) control_.put(next_, abort_segment, call, std::as_bytes(std::span(&said, 1)));
        flush();
    }
    void begin_epoch() noexcept { next_ = members_.size(); }

    // Calls f(r) for each other member of the communicator of `call` that is not lost. For nobody, if
    // this rank has not got that communicator yet, or not any more.
    template <class F>
    void for_each_member(const envelope& call, F&& f) const {
        const contexts& all = members_.communicators();
        const std::span<const rank_t>* some = all.members(call.context);
        if (some == nullptr && call.context != 0 && (all.is_closed(call.context) || !all.has_started(call.context)))
            return;
        for_each_of(some == nullptr ? std::span<const rank_t>{} : *some, f);
    }

private:
    bool is_there(rank_t r) const noexcept { return r != members_.rank() && !members_.is_lost(r); }
    template <class F>
    void for_each_of(std::span<const rank_t> some, F&& f) const {
        const std::size_t count = some.empty() ? members_.size() : some.size();
        for (std::size_t i = 0; i != count; ++i)
            if (const rank_t r = some.empty() ? static_cast<rank_t>(i) : some[i]; is_there(r)) f(r);
    }
    void to_members(std::uint32_t segment, const envelope& call, std::span<const std::byte> bytes) {
        for_each_member(call, [&](rank_t r) { control_.put(r, segment, call, bytes); });
        flush();
    }
    void flush() {
        control_.flush();
        departures<T>::flush(transport_);
    }

    T& transport_;
    const membership& members_;
    control<T>& control_;
    status poison_{};
    rank_t next_; // ranks below this one have been told of it
};

} // namespace bough::detail

#endif
