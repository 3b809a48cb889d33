// SPDX-License-Identifier: BSL-1.0
// given_up_calls: those that other ranks have given up, and that this rank has still to make. Each ends
// at once when this rank makes it.
//
// A notice is kept until its call is made, as the call counts on every rank. A rank that is late
// keeps one for each such call, but no more than `most`: after that its communicator is broken, so
// the memory is bounded.
#ifndef BOUGH_SESSION_GIVEN_UP_HPP
#define BOUGH_SESSION_GIVEN_UP_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/search.hpp>
#include <bough/core/status.hpp>
#include <bough/session/mismatch.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

// The payload of a notice that a call is given up. Its envelope names the call. The report of a
// deadline may be about an earlier call, in which a rank is missing: that is the one named here.
struct given_up_notice {
    abort_notice said{};
    std::uint32_t operation = 0;
    std::uint16_t context = 0;
    std::uint16_t unused = 0;

    static given_up_notice of(const status& why) noexcept {
        return {abort_notice::of(why), why.operation, why.context, 0};
    }
    // What the receiver reports. Any other payload reads as a protocol_error of the sender.
    static status read(std::span<const std::byte> bytes, rank_t sender, const envelope& call) noexcept {
        given_up_notice n;
        if (bytes.size() != sizeof n) return abort_notice{}.as_status(sender, call.operation, call.context);
        std::memcpy(&n, bytes.data(), sizeof n);
        n.said = abort_notice::read(std::as_bytes(std::span(&n.said, 1)));
        return n.said.as_status(sender, n.operation, n.context);
    }
};
static_assert(sizeof(given_up_notice) == 32);

template <int>
class basic_given_up_calls {
public:
    static constexpr std::size_t most = 1024;

    bool empty() const noexcept { return all_.empty(); }
    bool is_full() const noexcept { return all_.size() == most; }
    // Pre: has(call) is false, and it is not full.
    void add(const envelope& call, const status& why) { all_.push_back({call.operation, call.context, why}); }
    bool has(const envelope& call) const noexcept { return find(call) != all_.size(); }
    // This rank makes the call now: why it is given up; ok: it is not.
    status take(const envelope& call) noexcept {
        const std::size_t at = find(call);
        if (at == all_.size()) return {};
        const status why = all_[at].why;
        all_.erase(all_.begin() + at);
        return why;
    }
    void forget(std::uint16_t context) noexcept {
        all_.erase_if([context](const notice& kept) { return kept.context == context; });
    }
    void clear() noexcept { all_.clear(); }

private:
    struct notice {
        std::uint32_t operation;
        std::uint16_t context;
        status why;
    };
    std::size_t find(const envelope& call) const noexcept {
        const auto n = detail::find_if(
            all_, [&](const notice& x) { return x.operation == call.operation && x.context == call.context; });
        return static_cast<std::size_t>(n - all_.begin());
    }

    plain_list<notice> all_;
};
using given_up_calls = basic_given_up_calls<0>;

} // namespace bough::detail

#endif
