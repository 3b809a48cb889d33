// SPDX-License-Identifier: BSL-1.0
// early_reports: ranks ask each other when they have started a call, as messages of it lie early there.
//
// A rank asks when operations that have ended have left much behind at a peer, and when one that is in
// flight has much to send to it (ahead.hpp). The question is a control message with the number of the last
// of these operations. The peer answers with the same number when it has started it: at once, or later. All
// ranks start the calls of a communicator in one order, so it has started those before it, too, and their
// messages have been used. Who asks about an operation in flight has started it: so if both ask, both know.
//
// It needs the control, the contexts of the membership, and what is ahead.
#ifndef BOUGH_SESSION_EARLY_REPORTS_HPP
#define BOUGH_SESSION_EARLY_REPORTS_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/session/ahead.hpp>
#include <bough/session/control.hpp>
#include <bough/session/control_messages.hpp>
#include <bough/session/membership.hpp>

#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

template <Transport T>
class early_reports {
public:
    early_reports(control<T>& out, const membership& members, ahead& room)
        : out_(out), members_(members), ahead_(room) {
        questions_.reserve(16); // mostly enough
    }

    static bool owns(const control_message& m) noexcept {
        return m.tag.segment == early_question_segment || m.tag.segment == early_answer_segment;
    }
    // Is there something for look() to do?
    bool is_due() const noexcept { return !questions_.empty() || ahead_.has_to_ask(); }
    // Asks what is to be asked, and answers what can be answered by now.
    BOUGH_COLD void look() {
        if (ahead_.has_to_ask())
            ahead_.ask([this](rank_t peer, const envelope& call) { out_.put(peer, early_question_segment, call, {}); });
        for (std::size_t i = 0; i != questions_.size();) {
            if (!answer(questions_[i])) {
                ++i;
                continue;
            }
            questions_[i] = questions_.back();
            questions_.pop_back();
        }
        out_.flush();
    }
    // A question or an answer has come. Pre: owns(m).
    BOUGH_COLD void heard(const control_message& m) {
        if (m.tag.segment == early_question_segment) questions_.push_back({m.peer, m.tag});
        ahead_.told(m.peer, m.tag);
    }
    // Forgets the questions of a rank that is lost.
    void forget(rank_t peer) noexcept {
        questions_.erase_if([peer](const question& q) { return q.from == peer; });
    }
    // All members have let a communicator go: its number may be another one's soon.
    void forget_communicator(std::uint16_t context) noexcept {
        questions_.erase_if([context](const question& q) { return q.call.context == context; });
        ahead_.forget(context);
    }
    void begin_epoch() noexcept {
        questions_.clear();
        ahead_.begin_epoch();
    }

private:
    struct question {
        rank_t from = no_rank;
        envelope call;
    };

    // False: it has still to start that call.
    bool answer(const question& q) {
        const bough::contexts& all = members_.communicators();
        if (!all.was_started(q.call) && !all.is_closed(q.call.context)) return false;
        out_.put(q.from, early_answer_segment, q.call, {});
        return true;
    }

    control<T>& out_;
    const membership& members_;
    ahead& ahead_;
    plain_list<question> questions_; // that wait for their answers
};

} // namespace bough::detail

#endif
