// SPDX-License-Identifier: BSL-1.0
// Agreement: the survivors of a group agree on which ranks have failed and on a word, while further
// ranks may fail.
//
// It floods in rounds. In a round, a rank sends what it knows (the failed ranks, the word) to all
// ranks that it does not know to have failed. Then it waits for the same from each of them, or for
// the loss of that rank. When the time of the round is up, a missing rank counts as lost. If all
// messages of a round said exactly what this rank said, it decides and tells all ranks; a rank that
// gets a decision adopts it and passes it on. Messages of a rank that is known to have failed are
// ignored, decisions included: a decision may arrive when others have already gone on without its
// sender.
//
// If two ranks end without error, they have the same decision, or one takes the other for failed.
// If all losses are real, all survivors have the same decision. A rank that was only slow is told
// the decision, too, and finds itself among the failed: its agreement ends with peer_aborted, and
// it is out. (doc/design/007-agreement.md)
//
// With `voters` a majority is needed. A rank that has decided goes on to count the voters that have told
// it the same decision, itself among them, and ends without error when they are more than half. A rank
// decides once, so two majorities have the same decision, whatever was suspected. A rank that cannot
// get so many, or not within the time of a round, ends with no_majority: it does not know the outcome.
//
// It is a state machine: step() never blocks, and is one step of the session under its lock;
// bough/group.hpp waits. What it needs it allocates before it tells the others anything, but for the
// messages: if there is no memory for one, the next step tries again. Messages: p - 1 for each round
// and rank, in at most 2(f + 1) rounds if f ranks fail, and p - 1 for the decision.
#ifndef BOUGH_SESSION_AGREEMENT_HPP
#define BOUGH_SESSION_AGREEMENT_HPP

#include <bough/core/absence.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/session/session.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

namespace detail {

// What ranks agree on. failed: by member, whether it has failed: 0 or bits of these. A member that has
// ended its calls takes no part, but is not lost.
struct agreed {
    static constexpr unsigned char dead = 1, gone = 2;
    std::uint64_t word = 0;
    std::vector<unsigned char> failed{};
    friend bool operator==(const agreed&, const agreed&) = default;
};

// What a rank hears in one round.
class agreement_round {
public:
    explicit agreement_round(const agreed& like) : next_(like), heard_(like.failed.size(), 0) {}
    // `known`: what this rank says in it.
    void begin(const agreed& known) {
        ++number_;
        next_ = known;
        heard_.assign(known.failed.size(), 0);
        same_ = true;
    }
    bool has_heard(std::size_t member) const noexcept { return heard_[member] != 0; }
    void hear(std::size_t from, const agreed& theirs, const agreed& known) {
        heard_[from] = 1;
        same_ = same_ && theirs == known;
        next_.word &= theirs.word;
        for (std::size_t i = 0; i != next_.failed.size(); ++i) next_.failed[i] |= theirs.failed[i];
    }
    void lose(std::size_t member, unsigned char how) noexcept { next_.failed[member] |= how; }
    // All said exactly what this rank knows.
    bool is_unanimous(const agreed& known) const noexcept { return same_ && next_ == known; }
    // How many came before it.
    std::uint32_t number() const noexcept { return number_; }
    // What this rank knows after it.
    const agreed& next() const noexcept { return next_; }

private:
    agreed next_;
    std::vector<unsigned char> heard_; // by member
    std::uint32_t number_ = ~std::uint32_t{0};
    bool same_ = true;
};

// Which voters have made the decision of this rank.
class vote_count {
public:
    // No voters: no majority is needed. Pre: each voter is a member.
    vote_count(const std::vector<rank_t>& members, const std::vector<rank_t>& voters)
        : awaited_(members.size(), 0), voters_(voters.size()) {
        for (const rank_t r : voters)
            awaited_[static_cast<std::size_t>(std::find(members.begin(), members.end(), r) - members.begin())] = 1;
    }
    void add(std::size_t member) noexcept { count_ += std::exchange(awaited_[member], 0); }
    bool is_awaited(std::size_t member) const noexcept { return awaited_[member] != 0; }
    std::size_t count() const noexcept { return count_; }
    std::size_t voters() const noexcept { return voters_; }
    // Would it be one with so many more?
    bool is_majority(std::size_t more) const noexcept { return voters_ == 0 || 2 * (count_ + more) > voters_; }

private:
    std::vector<unsigned char> awaited_; // by member: a voter whose decision has not come
    std::size_t voters_, count_ = 0;
};

} // namespace detail

template <Transport T>
class agreement {
public:
    // `members`: the ranks of the transport that take part, this one among them. `number`: counts
    // the agreements of this context. `voters`: of whose members a majority is needed; empty: none is.
    // If memory runs out, nothing has happened.
    agreement(session<T>& shared, std::vector<rank_t> members, std::uint16_t context, std::uint32_t number,
              std::uint64_t word, std::uint64_t round_timeout_ns, const std::vector<rank_t>& voters = {})
        : session_(shared), members_(std::move(members)), number_(number), context_(context),
          timeout_ns_(round_timeout_ns), known_{word, std::vector<unsigned char>(members_.size(), 0)}, theirs_(known_),
          round_(known_), saying_{members_.size(), std::vector<std::byte>(sizeof(header) + members_.size())},
          votes_(members_, voters) {
        session_.with_lock([this] { begin_round(); });
    }

    bool done() const noexcept { return stage_ == stage::done && has_said(); }
    const status& result() const noexcept { return result_; }
    // When the time of the round is up; step() changes it.
    const std::uint64_t& deadline_ns() const noexcept { return deadline_ns_; }
    // Valid once done() without error: the bitwise and of the words; for each member, whether it
    // has failed.
    std::uint64_t word() const noexcept { return known_.word; }
    const std::vector<unsigned char>& failed() const noexcept { return known_.failed; }

    // Handles the messages that have come. Call it after each session::progress() until done().
    void step() {
        if (!done()) session_.with_lock([this] { locked_step(); });
    }

private:
    struct header {
        std::uint32_t round = 0;
        std::uint32_t decided = 0;
        std::uint64_t word = 0;
    };

    void locked_step() {
        const bool late = ++idle_ % 256 == 0 && session_.now_ns() >= deadline_ns_;
        if (!has_said()) { // there was no memory
            go_on_saying();
            if (!has_said()) return late ? end_without_memory() : void();
        }
        read_inbox();
        if (stage_ == stage::done) return;
        if (stage_ == stage::counts_votes) return look_at_votes(late);
        bool complete = true;
        for (std::size_t i = 0; i != members_.size(); ++i) {
            if (known_.failed[i] != 0 || round_.has_heard(i) || members_[i] == session_.rank()) continue;
            if (session_.is_lost(members_[i]) || late) {
                session_.suspect(members_[i]);
                round_.lose(i, detail::agreed::dead);
            } else if (session_.contexts().has_ended(context_, members_[i])) {
                round_.lose(i, detail::agreed::gone);
            } else {
                complete = false;
            }
        }
        if (complete && !is_over_elsewhere()) end_round();
    }
    // A rank that begins when the others have long ended finds their whole agreement in the transport:
    // the messages of this round, and behind them the decision that it is out. So it takes what has
    // come before it ends a round, but no more than one round of many ranks can be.
    bool is_over_elsewhere() {
        const std::size_t most = 4 * members_.size() + 64;
        for (std::size_t i = 0; i != most && session_.progress(); ++i) {
            read_inbox();
            if (stage_ != stage::in_round) return true;
        }
        return false;
    }

    void begin_round() {
        for (std::size_t i = 0; i != members_.size(); ++i)
            if (session_.is_lost(members_[i])) known_.failed[i] |= detail::agreed::dead;
        round_.begin(known_);
        deadline_ns_ = deadline_after(session_.now_ns(), timeout_ns_);
        tell(false);
    }
    void end_round() {
        if (round_.is_unanimous(known_)) return decide();
        known_ = round_.next();
        begin_round();
    }
    void decide() {
        for (std::size_t i = 0; i != members_.size(); ++i)
            if ((known_.failed[i] & detail::agreed::dead) != 0) session_.suspect(members_[i]);
        tell(true);
        deadline_ns_ = deadline_after(session_.now_ns(), timeout_ns_);
        for (std::size_t i = 0; i != members_.size(); ++i)
            if (members_[i] == session_.rank()) votes_.add(i);
        stage_ = stage::counts_votes;
        end_if_majority();
    }
    bool has_decided() const noexcept { return stage_ != stage::in_round; }
    void end_if_majority() noexcept {
        if (votes_.is_majority(0)) stage_ = stage::done;
    }
    // Pre: this rank has decided, and has read its inbox.
    void look_at_votes(bool late) {
        std::size_t awaited = 0;
        for (std::size_t i = 0; i != members_.size() && !late; ++i)
            awaited += known_.failed[i] == 0 && votes_.is_awaited(i) && !session_.is_lost(members_[i]);
        if (votes_.is_majority(awaited)) return;
        result_ = {.code = errc::no_majority, .mine = votes_.count(), .theirs = votes_.voters()};
        stage_ = stage::done;
    }

    void tell(bool decided) {
        const header h{round_.number(), decided ? 1u : 0u, known_.word};
        std::memcpy(saying_.bytes.data(), &h, sizeof h);
        std::memcpy(saying_.bytes.data() + sizeof h, known_.failed.data(), known_.failed.size());
        saying_.next = 0;
        saying_.to_all = decided;
        go_on_saying();
    }
    // Have all been told what this rank has to say? Until then, nothing else is done.
    bool has_said() const noexcept { return saying_.next == members_.size(); }
    void go_on_saying() noexcept {
        envelope tag;
        tag.context = context_;
        tag.operation = number_;
        detail::ignore_exceptions([&] {
            for (std::size_t& i = saying_.next; i != members_.size(); ++i)
                if ((saying_.to_all || known_.failed[i] == 0) && members_[i] != session_.rank())
                    session_.send_control(members_[i], tag, saying_.bytes);
        });
    }
    // There was none for the whole time of a round. What was decided stands, and others tell it, too.
    void end_without_memory() noexcept {
        if (stage_ == stage::in_round) result_ = {.code = errc::no_resources};
        stage_ = stage::done;
        saying_.next = members_.size();
    }

    void read_inbox() {
        session_.messages().hear([this](const control_message& m) {
            if (stage_ == stage::done || !has_said() || m.tag.context != context_) return false;
            if (m.tag.operation < number_) return true; // an earlier agreement
            if (m.tag.operation != number_ || !is_due(m)) return false;
            hear(m);
            return true;
        });
    }
    static header header_of(const control_message& m) noexcept {
        header h;
        std::memcpy(&h, m.bytes.data(), sizeof h);
        return h;
    }
    bool is_due(const control_message& m) const noexcept {
        if (m.bytes.size() != sizeof(header) + members_.size()) return true; // nonsense: hear() drops it
        const header h = header_of(m);
        return h.decided != 0 || h.round <= round_.number();
    }
    void hear(const control_message& m) {
        std::size_t from = 0;
        while (from != members_.size() && members_[from] != m.peer) ++from;
        if (from == members_.size() || m.bytes.size() != sizeof(header) + members_.size()) return;
        if (known_.failed[from] != 0) return;
        const header h = header_of(m);
        detail::agreed& theirs = theirs_;
        theirs.word = h.word;
        std::memcpy(theirs.failed.data(), m.bytes.data() + sizeof h, theirs.failed.size());
        if (has_decided() && h.decided == 0) return;
        for (std::size_t i = 0; i != members_.size(); ++i)
            if (members_[i] == session_.rank() && theirs.failed[i] != 0) { // this rank was taken for dead: it is out
                result_ = came_too_late(session_.rank());
                stage_ = stage::done;
                return;
            }
        if (h.decided != 0) {
            if (!has_decided() || theirs == known_) votes_.add(from);
            if (has_decided()) return end_if_majority();
            known_ = theirs;
            return decide();
        }
        if (h.round == round_.number()) round_.hear(from, theirs, known_);
    }

    session<T>& session_;
    std::vector<rank_t> members_;
    std::uint32_t number_;
    std::uint16_t context_;
    std::uint64_t timeout_ns_;
    // The lists of these have one length, and are allocated once.
    detail::agreed known_, theirs_;
    detail::agreement_round round_;
    struct {
        std::size_t next; // who is to be told next, by member
        std::vector<std::byte> bytes;
        bool to_all = false;
    } saying_;
    std::uint32_t idle_ = 0;
    std::uint64_t deadline_ns_ = 0;
    detail::vote_count votes_;
    enum class stage : std::uint8_t { in_round, counts_votes, done } stage_ = stage::in_round;
    status result_{};
};

} // namespace bough

#endif
