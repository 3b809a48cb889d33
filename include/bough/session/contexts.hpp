// SPDX-License-Identifier: BSL-1.0
// Contexts: the numbers of the communicators of a session, and how far each has counted its
// operations.
//
// A new communicator needs a number that is free on all of its members. Each member reserves one,
// and they take the largest if it is free everywhere (bough/group.hpp): other threads may be making
// other communicators meanwhile.
//
// A number is used again. A member that destroys its communicator lets the number go, and tells the
// other members. The number is free on a rank when all members have let it go: links keep order, so
// no message of the old communicator can come to this rank any more.
#ifndef BOUGH_SESSION_CONTEXTS_HPP
#define BOUGH_SESSION_CONTEXTS_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/search.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI {

template <int>
class basic_contexts {
public:
    // Is a before b? Both count up, and wrap around.
    static bool before(std::uint32_t a, std::uint32_t b) noexcept { return static_cast<std::int32_t>(a - b) < 0; }

    // 0 is the context of the first communicator. `none` belongs to no communicator: the agreements
    // of all ranks use it.
    static constexpr std::uint16_t none = 0xffff;

    // Reserves the least number that is not less than `least` and is free: no communicator of this
    // rank has it, or had it and has members that have not let it go. `none`: there is no such number.
    std::uint16_t reserve(std::uint32_t least = 1) {
        for (std::uint32_t n = std::max<std::uint32_t>(least, lowest_); n < none; ++n)
            if (claim(static_cast<std::uint16_t>(n))) return static_cast<std::uint16_t>(n);
        return none;
    }
    // Reserves this number. False: it is taken. Pre: it is not `none`.
    bool claim(std::uint16_t context) {
        if (context == 0 || at(context).reserved) return false;
        all_[context].reserved = true;
        while (lowest_ < all_.size() && all_[lowest_].reserved) ++lowest_;
        return true;
    }
    // Ends the reservation of a number that will not be used after all.
    void give_back(std::uint16_t context) noexcept {
        if (context >= all_.size()) return;
        all_[context].reserved = false;
        lowest_ = std::min<std::uint32_t>(lowest_, context);
    }

    // A communicator of this rank has this number, and these members (empty: all ranks). They must
    // stay where they are until close().
    void open(std::uint16_t context, std::span<const rank_t> members) {
        per_context& c = at(context);
        c.members = members;
        c.first = members.empty() ? 0 : members[0];
        c.is_open = c.reserved = true;
        find_incomplete();
    }
    // The communicator of this rank with this number will go without a word: its destructor tells nobody. The
    // number stays reserved. Pre: open(), and no other member knows of the communicator.
    void withdraw(std::uint16_t context) noexcept {
        per_context& c = all_[context];
        c.is_open = false;
        c.members = {};
        c.first = no_rank;
        find_incomplete();
    }
    // The rank leaves the group with this communicator: nobody is told, and the number is not used again.
    void leave(std::uint16_t context) noexcept {
        per_context& c = closed(context);
        c.others = ~std::uint32_t{0};
        c.members = {};
    }
    // Has the communicator of this rank with this number gone?
    bool is_closed(std::uint16_t context) const noexcept { return context < all_.size() && all_[context].is_closed; }
    // Null: no communicator of this rank has this number.
    const std::span<const rank_t>* members(std::uint16_t context) const noexcept {
        return context < all_.size() && all_[context].is_open ? &all_[context].members : nullptr;
    }
    // The first member of the communicator that has this number, or had it; no_rank: there is none.
    rank_t first_member(std::uint16_t context) const noexcept {
        return context < all_.size() ? all_[context].first : no_rank;
    }
    // This rank lets the number go. True: it is free now. Pre: open(); the number is not 0.
    bool close(std::uint16_t context) noexcept {
        per_context& c = closed(context);
        c.others = static_cast<std::uint32_t>(c.members.size() - 1);
        c.members = {};
        return free_if_let_go(context);
    }
    // Another member lets the number go. That may come before open(). True: it is free now.
    bool let_go(std::uint16_t context) {
        ++at(context).let_go;
        return free_if_let_go(context);
    }

    // A member that makes no call after its call `last` (the `operation` of it).
    struct member_end {
        std::uint16_t context = 0;
        bool is_told = false; // by this rank to the others, which may not have heard it
        rank_t rank = no_rank;
        std::uint32_t last = 0;
    };
    // Makes room for what a member of this context says: so many calls of ends(), and let_go(), allocate
    // nothing.
    void make_room(std::uint16_t context, std::size_t ends) {
        (void)at(context);
        if (ended_.size() + ends > ended_.capacity()) ended_.reserve(2 * (ended_.size() + ends));
    }
    // Another member has ended its calls. That may come before open(), and more than once.
    void ends(const member_end& its) {
        (void)at(its.context);
        if (has_ended(its.context, its.rank)) return;
        ended_.push_back(its);
        find_incomplete();
    }
    // This rank makes no further call. Pre: open().
    void end_calls(std::uint16_t context) noexcept {
        all_[context].makes_no_call = true;
        find_incomplete();
    }
    bool has_ended(std::uint16_t context, rank_t member) const noexcept {
        return detail::any_of(ended_, [=](const member_end& e) { return e.context == context && e.rank == member; });
    }
    // A member that will never make this call; null: all may make it.
    member_end* end_before(const envelope& tag) noexcept {
        const auto at = detail::find_if(
            ended_, [&](const member_end& e) { return e.context == tag.context && before(e.last, tag.operation); });
        return at == ended_.end() ? nullptr : &*at;
    }
    // Does this rank make calls of a communicator that has lost a member in this way?
    bool any_incomplete() const noexcept { return any_incomplete_; }
    // The last call of this rank in a context; 0: there is none.
    std::uint32_t latest(std::uint16_t context) const noexcept {
        return has_started(context) ? all_[context].latest : 0;
    }

    // This rank has given up a call: messages for it may still come, and are dropped. That holds for
    // all calls before it, too, so this takes no more memory the more calls are given up.
    void give_up(const envelope& tag) {
        per_context& c = at(tag.context);
        if (c.has_given_up && before(tag.operation, c.given_up)) return;
        c.given_up = tag.operation;
        c.has_given_up = true;
    }
    // May messages come for this call although it has ended on this rank?
    bool may_be_late(const envelope& tag) const noexcept {
        if (tag.context >= all_.size()) return false;
        const per_context& c = all_[tag.context];
        return c.has_given_up && !before(c.given_up, tag.operation);
    }

    // Threads that want a number for a new communicator stand in line, ordered by the context from
    // which they make it. Only the first proposes a number: if several want one at the same time,
    // one gets it.
    void stand_in_line(std::uint16_t from) { line_.push_back(from); }
    bool is_first(std::uint16_t from) const noexcept {
        return !detail::any_of(line_, [from](std::uint16_t other) { return other < from; });
    }
    void leave_line(std::uint16_t from) noexcept {
        const auto place = detail::find(line_, from);
        if (place != line_.end()) line_.erase(place);
    }

    // Makes room: start() does not allocate for this communicator.
    void make_room(std::uint16_t context) { (void)at(context); }
    void start(const envelope& tag) {
        per_context& c = at(tag.context);
        c.latest = tag.operation;
        c.has_started = true;
    }
    // Has this operation, or a later one of its context, been started?
    bool was_started(const envelope& tag) const noexcept {
        if (tag.context >= all_.size()) return false;
        const per_context& c = all_[tag.context];
        return c.has_started && !before(c.latest, tag.operation);
    }
    bool has_started(std::uint16_t context) const noexcept {
        return context < all_.size() && all_[context].has_started;
    }
    // How many agreements have begun in a context, with the one that begins now.
    std::uint32_t next_agreement(std::uint16_t context) {
        return context == none ? ++agreements_of_all_ : ++at(context).agreements;
    }
    // The latest one has not begun after all.
    void take_back_agreement(std::uint16_t context) noexcept {
        context == none ? --agreements_of_all_ : --all_[context].agreements;
    }

    // How many meetings have begun on this rank (meeting.hpp), with the one that begins now; never 0.
    std::uint32_t next_meeting() noexcept { return meetings_ = std::max(meetings_ + 1, 1u); }

    // A new epoch: all counting starts anew.
    void clear() noexcept {
        all_.clear();
        lowest_ = 1;
        ended_.clear();
        any_incomplete_ = false;
        agreements_of_all_ = 0;
    }

private:
    struct per_context {
        std::uint32_t latest = 0; // the last operation that was started
        std::uint32_t agreements = 0;
        std::uint32_t given_up = 0;           // the last call that was given up
        std::uint32_t let_go = 0, others = 0; // how many of the other members have let the number go
        bool has_started = false;
        bool has_given_up = false;
        bool reserved = false;
        bool is_open = false, is_closed = false;
        bool makes_no_call = false; // any more, on this rank
        rank_t first = no_rank;
        std::span<const rank_t> members;
    };
    per_context& closed(std::uint16_t context) noexcept {
        per_context& c = all_[context];
        c.is_open = false;
        c.is_closed = true;
        find_incomplete();
        return c;
    }
    void find_incomplete() noexcept {
        any_incomplete_ = detail::any_of(
            ended_, [this](const member_end& e) { return all_[e.context].is_open && !all_[e.context].makes_no_call; });
    }
    bool free_if_let_go(std::uint16_t context) noexcept {
        per_context& c = all_[context];
        if (!c.is_closed || c.let_go != c.others) return false;
        c = {};
        ended_.erase_if([context](const member_end& e) { return e.context == context; });
        lowest_ = std::min<std::uint32_t>(lowest_, context);
        return true;
    }
    BOUGH_ALWAYS_INLINE per_context& at(std::uint16_t context) {
        if (context >= all_.size()) [[unlikely]]
            make_longer(context);
        return all_[context];
    }
    BOUGH_COLD void make_longer(std::uint16_t context) { all_.resize(std::size_t{context} + 1); }

    detail::plain_list<per_context> all_; // by number
    detail::plain_list<std::uint16_t> line_;
    detail::plain_list<member_end> ended_;
    std::uint32_t lowest_ = 1; // all below are reserved
    bool any_incomplete_ = false;
    std::uint32_t agreements_of_all_ = 0;
    std::uint32_t meetings_ = 0;
};
using contexts = basic_contexts<0>;

} // namespace bough

#endif
