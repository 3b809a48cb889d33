// SPDX-License-Identifier: BSL-1.0
// Early_reports: ranks tell each other how much of what they have sent lies early at the other.
//
// A rank asks when operations that have ended have left much behind at a peer (ahead.hpp). Messages of a
// pair come in their order, so what was sent before the question has come before it, and lies among the
// early messages or has been used. The peer answers when no more than the limit in the question lies
// there: at once, or when operations that it starts have used enough of it.
//
// It needs the control, the early messages, and what is ahead.
#ifndef BOUGH_SESSION_EARLY_REPORTS_HPP
#define BOUGH_SESSION_EARLY_REPORTS_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/session/ahead.hpp>
#include <bough/session/control.hpp>
#include <bough/session/control_messages.hpp>
#include <bough/session/unexpected.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

// The payload of a question. Of an answer: `limit` is how many bytes lie there.
struct early_question {
    std::uint64_t limit = 0; // bytes
    std::uint64_t least = 0; // bytes that each message counts for, at least
};

template <Transport T>
class early_reports {
public:
    early_reports(control<T>& out, const unexpected_messages<T>& early, ahead& room) noexcept
        : out_(out), early_(early), ahead_(room) {}

    static bool owns(const control_message& m) noexcept {
        return m.tag.segment == early_question_segment || m.tag.segment == early_answer_segment;
    }
    // Is there something for look() to do?
    bool is_due() const noexcept { return !questions_.empty() || ahead_.has_to_ask(); }
    // Asks what is to be asked, and answers what can be answered by now.
    BOUGH_COLD void look() {
        if (ahead_.has_to_ask())
            ahead_.ask([this](rank_t peer, std::uint64_t limit, std::uint64_t least) {
                send(peer, early_question_segment, {limit, least});
            });
        for (std::size_t i = 0; i != questions_.size();) {
            if (!answer(questions_[i])) {
                ++i;
                continue;
            }
            questions_[i] = questions_.back();
            questions_.pop_back();
        }
    }
    // A question or an answer has come. Pre: owns(m).
    BOUGH_COLD void heard(const control_message& m) {
        early_question said;
        if (m.bytes.size() != sizeof said) return;
        std::memcpy(&said, m.bytes.data(), sizeof said);
        if (m.tag.segment == early_answer_segment) return ahead_.told(m.peer, said.limit);
        const question asked{m.peer, said};
        if (!answer(asked)) questions_.push_back(asked);
    }
    // Forgets the question of a rank that is lost.
    void forget(rank_t peer) noexcept {
        for (std::size_t i = questions_.size(); i-- != 0;) {
            if (questions_[i].from != peer) continue;
            questions_[i] = questions_.back();
            questions_.pop_back();
        }
    }
    void begin_epoch() noexcept {
        questions_.clear();
        ahead_.begin_epoch();
    }

private:
    struct question {
        rank_t from = no_rank;
        early_question what;
    };

    // False: more than the limit lies here.
    bool answer(const question& q) {
        const std::uint64_t bytes = early_.bytes_of(q.from, q.what.least);
        if (bytes > q.what.limit) return false;
        send(q.from, early_answer_segment, {bytes, 0});
        return true;
    }
    void send(rank_t to, std::uint32_t segment, const early_question& what) {
        out_.send(to, segment, {}, std::as_bytes(std::span(&what, 1)));
    }

    control<T>& out_;
    const unexpected_messages<T>& early_;
    ahead& ahead_;
    plain_list<question> questions_; // that wait for their answers, one per rank at the most
};

} // namespace bough::detail

#endif
