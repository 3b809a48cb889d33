// SPDX-License-Identifier: BSL-1.0
// partial_calls: the partial calls of a communicator (bough/call/partial.hpp): who takes part in each.
//
// One rank of the call, the decider, decides. Each other rank tells it "here" when it makes the call. The
// decider waits for all, but only for so long after it has come itself. Then it tells those that have
// come who they are, and they alone do the collective, with a plan for so many ranks. When that has
// ended, the decider sends the result to each rank that had not come. It lies there, as a control
// message, until that rank makes the call. So a late rank waits for nobody but the decider, and nobody
// waits for a late rank.
//
// A call has one number on all ranks, as any call: whoever takes part starts an operation of that number.
// A late rank starts one without steps. So what is known of every call holds for these: one that differs,
// is refused or given up ends with its error on all ranks. All messages of a call have one signature,
// which has the terms in the place of the plan. Until a rank knows who takes part, it looks for messages
// of the call that have another one (session::cannot_start).
//
// *Memory*: the results that a rank has not fetched lie with that rank, or with the decider while the
// transport takes no more. They are at most `most_behind` for each rank and decider: before a decider
// sends one more, it waits for the rank.
// *Messages*: 2 (p - 1) short ones besides those of the collective, in two rounds.
#ifndef BOUGH_COMMUNICATOR_PARTIAL_CALLS_HPP
#define BOUGH_COMMUNICATOR_PARTIAL_CALLS_HPP

#include <bough/communicator/plan_cache.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/core/absence.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/op/mix_hash.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/session/contexts.hpp>
#include <bough/session/control_messages.hpp>
#include <bough/session/mismatch.hpp>
#include <bough/session/operation.hpp>
#include <bough/session/session.hpp>
#include <bough/session/waiting_hook.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// What all ranks say of a partial call.
struct partial_terms {
    std::uint64_t within_ns = 0;
    rank_t decider = 0, at_least = 1;
    std::uint32_t most_behind = 0;

    // In the place of the plan in the call's signature.
    std::uint64_t hash() const noexcept {
        std::uint64_t h = mix_hash(0x7061'7274'6961'6c73, within_ns);
        h = mix_hash(h, std::uint64_t{decider} << 32 | at_least);
        return mix_hash(h, most_behind);
    }
};

// The plan of a rank that has no part in a call.
struct no_part {
    static constexpr goal::allreduce goal() noexcept { return {}; }
    static constexpr rank_t size() noexcept { return 1; }
    static constexpr rank_t root() noexcept { return 0; }
    static constexpr block_t blocks() noexcept { return 1; }
    static constexpr block_t scratch(rank_t) noexcept { return 0; }
    static constexpr void emit(rank_t, auto&) noexcept {}
};

// The call of this moment.
struct partial_call {
    partial_terms terms{};
    envelope tag{}; // signed
    call_signature signature{};
    std::uint64_t last_ns = forever; // by which it ends
};

template <Transport T>
class partial_calls {
public:
    // `members`: empty: all ranks. They must stay where they are.
    partial_calls(session<T>& shared, std::span<const rank_t> members, std::uint16_t context)
        : session_(shared), members_(members), context_(context),
          set_(members.empty() ? shared.size() : members.size()), nothing_(bough::bind_plan(no_part{}, 0)) {
        while (world(me_) != shared.rank()) ++me_;
    }
    partial_calls(const partial_calls&) = delete;
    partial_calls& operator=(const partial_calls&) = delete;

    enum class part : std::uint8_t {
        takes_part, // who() is known
        late,       // so is result()
        fails,      // with `why`; without one, the start of an operation says why
    };
    // This rank makes a call: waits until its part in it is known. Pre: `made.terms` are fit for this
    // communicator.
    part enter(const partial_call& made, const waiting_hook& hook, status& why) {
        now_ = made;
        past_.signatures[made.tag.operation % past_.signatures.size()] = {made.tag.operation, made.signature};
        if (session_.poison(context_)) return part::fails; // as the start of an operation says
        std::fill(set_.begin(), set_.end(), static_cast<unsigned char>(0));
        set_[me_] = 1;
        decision_.clear();
        differs_ = {};
        const bool decides = is_decider();
        if (decides)
            take_what_is_there();
        else
            say(made.terms.decider, message(said::here, 0, {}));
        const std::uint64_t begin = session_.now_ns();
        times at{deadline_after(begin, made.terms.within_ns), made.last_ns, made.last_ns};
        if (decides && made.last_ns != forever) at.last = begin + time_left(begin, made.last_ns) / 2;
        part found = part::fails;
        const auto over = [&] {
            if (session_.with_lock([&] { return decides ? decide(at, found, why) : learn(at, found, why); }))
                return true;
            session_.make_way(true); // what others say may be behind messages of calls that wait here
            return false;
        };
        if (!session_.wait_until(over, at.attend, hook)) why = {.code = errc::forked_child};
        return found;
    }

    bool is_decider() const noexcept { return now_.terms.decider == me_; }
    // By rank of the communicator: does it take part? Valid after takes_part and late.
    const std::vector<unsigned char>& who() const noexcept { return set_; }
    rank_t count() const noexcept { return static_cast<rank_t>(std::count(set_.begin(), set_.end(), 1)); }
    // This rank's number among those that take part.
    rank_t place() const noexcept { return static_cast<rank_t>(std::count(set_.begin(), set_.begin() + me_, 1)); }
    // The result, for a late rank.
    std::span<const std::byte> result() const noexcept {
        return std::span(decision_).subspan(sizeof(header) + mask_bytes());
    }

    // The decider has chosen a plan: tells those that take part who they are, and the identity of the
    // plan.
    void tell(std::uint64_t plan) {
        const std::vector<std::byte> bytes = message(said::set, plan, {});
        for_each_other(true, [&](rank_t r) { say(r, bytes); });
    }
    // Another rank has: is it the decider's? If not, `mine` and `theirs` differ.
    status compare(std::uint64_t plan) {
        const std::uint64_t theirs = read(decision_).plan;
        if (plan == theirs) return {};
        const status why{.code = errc::call_mismatch,
                         .mismatch = mismatch::plan,
                         .peer = world(now_.terms.decider),
                         .operation = now_.tag.operation,
                         .context = context_,
                         .mine = plan,
                         .theirs = theirs};
        session_.break_communicator(context_, why);
        return why;
    }
    // The decider has the result: sends it to those that have not come.
    void send_result(std::span<const std::byte> result) {
        std::vector<std::byte> bytes;
        for_each_other(false, [&](rank_t r) {
            if (bytes.empty()) bytes = message(said::result, 0, result);
            past_.sent.emplace_back(r, now_.tag.operation);
            say(r, bytes);
        });
    }

    // The plan, bound for those that take part. It stays here.
    template <class P>
    bound_plan& find(const P& plan) {
        auto known = std::find_if(plans_.begin(), plans_.end(), [this](const auto& x) { return x.set == set_; });
        if (known == plans_.end()) {
            if (plans_.size() == most_sets) plans_.pop_back();
            known = plans_.insert(plans_.begin(), {set_, plan_cache{plans_of_a_set}});
        }
        plans_.splice(plans_.begin(), plans_, known);
        std::vector<rank_t> some;
        for (rank_t r = 0; r != set_.size(); ++r)
            if (set_[r] != 0) some.push_back(world(r));
        return known->plans.find(plan, place(), some);
    }
    // What a late rank runs, or one whose call fails.
    session_operation& operation() noexcept { return operation_; }
    prepared& nothing() noexcept { return nothing_; }

private:
    static constexpr std::size_t most_sets = 8, plans_of_a_set = 4;
    // Of the control messages here. No agreement of a communicator has this number.
    static constexpr std::uint32_t mark = 0x7061'7274;

    enum class said : std::uint32_t { here, set, result };
    // What a message begins with. Behind it: nothing; one bit for each rank of the communicator; these
    // and the result.
    struct header {
        call_signature signature{};
        std::uint64_t plan = 0;
        std::uint32_t operation = 0;
        said what = said::here;
    };
    struct times {
        std::uint64_t within, last, attend; // when others need not be awaited, nor anything; when to look again
    };
    struct plans_of {
        std::vector<unsigned char> set;
        plan_cache plans;
    };

    rank_t world(rank_t r) const noexcept { return members_.empty() ? r : members_[r]; }
    std::size_t mask_bytes() const noexcept { return (set_.size() + 7) / 8; }
    static header read(std::span<const std::byte> bytes) noexcept {
        header h;
        std::memcpy(&h, bytes.data(), sizeof h);
        return h;
    }
    template <class F>
    void for_each_other(bool takes_part, F&& f) {
        for (rank_t r = 0; r != set_.size(); ++r)
            if (r != me_ && (set_[r] != 0) == takes_part && !session_.is_lost(world(r))) f(r);
    }
    std::vector<std::byte> message(said what, std::uint64_t plan, std::span<const std::byte> result) const {
        const header h{now_.signature, plan, now_.tag.operation, what};
        std::vector<std::byte> bytes(sizeof h + (what == said::here ? 0 : mask_bytes()) + result.size());
        std::memcpy(bytes.data(), &h, sizeof h);
        if (what != said::here)
            for (std::size_t r = 0; r != set_.size(); ++r)
                if (set_[r] != 0) bytes[sizeof h + r / 8] |= std::byte{1} << r % 8;
        if (!result.empty()) std::memcpy(bytes.data() + bytes.size() - result.size(), result.data(), result.size());
        return bytes;
    }
    void say(rank_t to, std::span<const std::byte> bytes) {
        envelope tag;
        tag.context = context_;
        tag.operation = mark;
        session_.send_control(world(to), tag, bytes);
    }

    // Those that have come before the decider are there, however little time it gives the others.
    void take_what_is_there() {
        session_.make_way(true);
        for (std::size_t i = 0; i != 12 * set_.size() + 64 && session_.progress(); ++i) session_.make_way(true);
    }
    // Reads what is said of this call, and of those before it.
    void hear() {
        session_.messages().hear([this](control_message& m) {
            const bool is_mine =
                m.tag.context == context_ && m.tag.operation == mark && m.bytes.size() >= sizeof(header);
            if (!is_mine || contexts::before(now_.tag.operation, read(m.bytes).operation)) return false;
            hear(m);
            return true;
        });
    }
    void hear(control_message& m) {
        const header h = read(m.bytes);
        rank_t from = 0;
        while (from != set_.size() && world(from) != m.peer) ++from;
        if (from == set_.size()) return;
        if (h.what == said::here)
            std::erase_if(past_.sent,
                          [&](const auto& s) { return s.first == from && !contexts::before(h.operation, s.second); });
        // A call may have ended well here before the first message comes that differs: two ranks may have
        // decided it.
        const auto& [number, mine] = past_.signatures[h.operation % past_.signatures.size()];
        if (number != h.operation || differs_) return;
        if (!(h.signature == mine)) {
            differs_ = call_mismatch(mine, h.signature, m.peer, h.operation);
            differs_.context = context_;
        } else if (h.operation != now_.tag.operation) {
            return;
        } else if (h.what == said::here) {
            if (is_decider()) set_[from] = 1;
        } else if (m.bytes.size() >= sizeof h + mask_bytes()) {
            std::swap(decision_, m.bytes);
            for (std::size_t r = 0; r != set_.size(); ++r)
                set_[r] = static_cast<unsigned char>(decision_[sizeof h + r / 8] >> r % 8 & std::byte{1});
        }
    }
    // Has the call failed? Then `why` says so, or the start of an operation does.
    bool has_failed(status& why) {
        if (differs_) {
            session_.break_communicator(context_, why = differs_);
            return true;
        }
        if (!session_.cannot_start(now_.tag)) return false;
        why = session_.poison(context_); // if that is why: the call was under way
        return true;
    }

    // For every rank but the decider. True: it need not wait any more.
    bool learn(const times& at, part& found, status& why) {
        const rank_t decider = world(now_.terms.decider);
        const bool is_dead = session_.is_lost(decider); // then all that it has said is there
        hear();
        if (!differs_ && !decision_.empty()) {
            found = set_[me_] != 0 ? part::takes_part : part::late;
            return true;
        }
        if (has_failed(why)) return true;
        if (is_dead) return needs_lost(decider, why), true;
        if (session_.now_ns() < at.last) return false;
        return awaits_in_vain([&](rank_t r) { return r == now_.terms.decider; }, why), true;
    }
    // For the decider.
    bool decide(times& at, part& found, status& why) {
        hear();
        if (has_failed(why)) return true;
        rank_t come = 0, alive = 0, lost = no_rank;
        bool is_held_up = false;
        for (rank_t r = 0; r != set_.size(); ++r) {
            if (r != me_ && session_.is_lost(world(r))) {
                set_[r] = 0;
                lost = std::min(lost, world(r));
                continue;
            }
            ++alive;
            come += set_[r];
            is_held_up = is_held_up || (set_[r] == 0 && is_far_behind(r));
        }
        if (alive < now_.terms.at_least) return needs_lost(lost, why), true;
        const std::uint64_t now = session_.now_ns();
        if (come == alive || (now >= at.within && come >= now_.terms.at_least && !is_held_up)) {
            found = part::takes_part;
            return true;
        }
        at.attend = now < at.within ? std::min(at.within, at.last) : at.last;
        if (now < at.last) return false;
        return awaits_in_vain(
                   [&](rank_t r) {
                       return set_[r] == 0 && !session_.is_lost(world(r)) && (!is_held_up || is_far_behind(r));
                   },
                   why),
               true;
    }
    // Has it so many results to fetch that it gets no more?
    bool is_far_behind(rank_t r) const noexcept {
        const auto its =
            std::count_if(past_.sent.begin(), past_.sent.end(), [r](const auto& s) { return s.first == r; });
        return static_cast<std::uint64_t>(its) >= now_.terms.most_behind;
    }
    void needs_lost(rank_t peer, status& why) {
        session_.give_up({.code = errc::peer_dead, .peer = peer, .operation = now_.tag.operation, .context = context_});
        why = session_.poison(context_);
    }
    // The time is up: `is_awaited(r)`: has it not come?
    template <class F>
    void awaits_in_vain(F&& is_awaited, status& why) {
        why = {.code = errc::deadline,
               .collective = now_.signature.kind,
               .operation = now_.tag.operation,
               .context = context_};
        for (rank_t i = 0; i != set_.size(); ++i)
            if (is_awaited(i)) why.peer = std::min(why.peer, world(i));
        for (rank_t i = 0; i != set_.size(); ++i) {
            if (!is_awaited(i)) continue;
            if (why.missing != 255) ++why.missing;
            if (world(i) / 64 == why.peer / 64) why.mine |= std::uint64_t{1} << world(i) % 64;
        }
        session_.give_up_call(now_.tag, why);
    }

    session<T>& session_;
    std::span<const rank_t> members_;
    std::uint16_t context_;
    rank_t me_ = 0; // this rank's number in the communicator
    partial_call now_{};
    std::vector<unsigned char> set_;  // by rank of the communicator: it takes part; on the decider: it has come
    std::vector<std::byte> decision_; // the decider's message; empty: it has not come
    status differs_{};                // how a message differs from this rank's call
    // Of the calls before, by number.
    struct {
        std::vector<std::pair<rank_t, std::uint32_t>> sent; // results, to which rank and of which call, not fetched yet
        std::array<std::pair<std::uint32_t, call_signature>, 16> signatures{}; // of the latest, and of this one
    } past_;
    std::list<plans_of> plans_; // for parts of the ranks, the one used last first
    prepared nothing_;
    session_operation operation_;
};

} // namespace bough::detail

#endif
