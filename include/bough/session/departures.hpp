// SPDX-License-Identifier: BSL-1.0
// Departures: keeps an operation from ending before its messages have left this process. After its
// end, they need this rank no more.
//
// All sends of an operation may be complete while some of its messages are still here: gathered, or
// waiting for room in the system (GatheringTransport). The operation then waits for what had been
// posted to its peers when its last step was done; what is posted later does not count. Usually
// nothing is left, and this costs one question to the transport.
#ifndef BOUGH_SESSION_DEPARTURES_HPP
#define BOUGH_SESSION_DEPARTURES_HPP

#include <bough/concepts/explain_transport.hpp>
#include <bough/core/config.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/session/operation.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

template <class T>
concept HasPartOfGathering = requires(T& t) {
    t.unsent();
} // flush() alone may be anything
|| requires(T& t, rank_t to) { t.accepted(to); }
|| requires(T& t, rank_t to) { t.handed_over(to); };

template <Transport T>
class departures {
    static constexpr bool gathers = GatheringTransport<T>;
    // A transport with a misspelt member must not compile as one that does not gather.
    static consteval bool is_whole() {
        if constexpr (HasPartOfGathering<T>)
            return explain_gathering_transport<T>();
        else
            return true;
    }
    static_assert(is_whole());

public:
    static void flush(T& transport) {
        if constexpr (gathers) transport.flush();
    }
    static bool unsent(const T& transport) noexcept {
        if constexpr (gathers)
            return transport.unsent();
        else
            return false;
    }

    // Call when the last step of an operation is done. True: some of its messages are still here,
    // and next() will name it when they have left.
    bool begins(T& transport, session_operation& op) noexcept {
        if constexpr (gathers) {
            if (op.leaving_) return true;
            return transport.unsent() && is_left(transport, op);
        }
        return false;
    }
    // One of these operations whose messages have all left; null: none.
    session_operation* next(T& transport, std::span<session_operation* const> all) const noexcept {
        std::uint32_t left = leaving_;
        for (std::size_t i = 0; left != 0 && i != all.size(); ++i) {
            if (!all[i]->leaving_) continue;
            if (!all[i]->result_ && late(transport, *all[i]) == no_rank) return all[i];
            --left;
        }
        return nullptr;
    }
    // The operation has ended, well or not.
    void end(session_operation& op) noexcept {
        if constexpr (gathers)
            if (op.leaving_) op.leaving_ = false, --leaving_;
    }
    // Calls f(rank) for each rank whose messages have not left yet.
    template <class F>
    static void for_each_late(T& transport, const session_operation& op, F&& f) {
        if constexpr (gathers)
            if (op.leaving_)
                for (const auto& channel : op.work_->outgoing())
                    if (transport.handed_over(channel.peer) < channel.last) f(channel.peer);
    }
    // One of those ranks; no_rank: there is none.
    static rank_t late(T& transport, const session_operation& op) noexcept {
        if constexpr (gathers)
            if (op.leaving_)
                for (const auto& channel : op.work_->outgoing())
                    if (transport.handed_over(channel.peer) < channel.last) return channel.peer;
        return no_rank;
    }

private:
    BOUGH_COLD bool is_left(T& transport, session_operation& op) noexcept {
        for (auto& channel : op.work_->outgoing()) channel.last = transport.accepted(channel.peer);
        op.leaving_ = true;
        ++leaving_;
        if (late(transport, op) != no_rank) return true;
        end(op);
        return false;
    }

    std::uint32_t leaving_ = 0;
};

} // namespace bough::detail

#endif
