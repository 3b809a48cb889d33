// SPDX-License-Identifier: BSL-1.0
// Departures: an operation has ended only when what it sent has left this process, so that it needs its rank no more.
//
// All its sends may be complete while some of their messages are still here, gathered, or without room in the system
// (GatheringTransport). The operation waits for what had been posted to its peers when its last step was done; what is
// posted behind that does not count. Where nothing is left, which is so as a rule, that costs one question.
#ifndef BOUGH_SESSION_DEPARTURES_HPP
#define BOUGH_SESSION_DEPARTURES_HPP

#include <bough/concepts/explain_transport.hpp>
#include <bough/core/config.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/session/operation.hpp>

#include <cstdint>
#include <vector>

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
    // A misspelt member is not taken for none.
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

    // The last step of an operation is done. True: some of what it sent is still here, and next() will name it; or it
    // has been asked before.
    bool begins(T& transport, session_operation& op) noexcept {
        if constexpr (gathers) {
            if (op.leaving_) return true;
            return transport.unsent() && is_left(transport, op);
        }
        return false;
    }
    // One of these operations of which nothing is here any more; null: none.
    session_operation* next(T& transport, const std::vector<session_operation*>& all) const noexcept {
        if (leaving_ == 0) return nullptr;
        for (session_operation* op : all)
            if (op->leaving_ && !op->result_ && late(transport, *op) == no_rank) return op;
        return nullptr;
    }
    // It has ended, well or not.
    void end(session_operation& op) noexcept {
        if constexpr (gathers)
            if (op.leaving_) op.leaving_ = false, --leaving_;
    }
    // f(rank) for each that takes nothing, so that the operation waits.
    template <class F>
    static void for_each_late(T& transport, const session_operation& op, F&& f) {
        if constexpr (gathers)
            if (op.leaving_)
                for (const auto& channel : op.work_->outgoing())
                    if (transport.handed_over(channel.peer) < channel.last) f(channel.peer);
    }
    // One of them; no_rank: there is none.
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
