// SPDX-License-Identifier: BSL-1.0
// One rank's side of a combining tree (bough/direct/combining_tree.hpp): its operations in flight,
// in order.
#ifndef BOUGH_DIRECT_COMBINING_TREE_STATE_HPP
#define BOUGH_DIRECT_COMBINING_TREE_STATE_HPP

#include <bough/communicator/arena.hpp>
#include <bough/core/config.hpp>
#include <bough/core/deadline.hpp>
#include <bough/direct/combining_tree/words.hpp>
#include <bough/op/any_op.hpp>
#include <bough/operation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <class M>
class combining_state;

// An operation of this rank, in flight or spare.
template <class M>
class combining_flight final : public operation_state_base {
public:
    bool poll() override;
    bool done() override { return poll(); } // it can only be found out by looking
    const status& wait() override;
    bool wait_for_ns(std::uint64_t ns) override;
    void cancel() override;
    void set_timeout_ns(std::uint64_t ns) override;
    void start() override {} // for persistent operations: there are none
    const status& result() const noexcept override { return ended_with; }
    std::size_t memory_bytes() const noexcept override { return sizeof(*this) + kept.bytes(); }
    void release() noexcept override;

    std::shared_ptr<combining_state<M>> state; // null without a handle
    arena kept;                                // holds the op
    any_op op{};
    call_signature signature{};
    std::span<const std::byte> in{};
    std::byte* out = nullptr;
    std::uint64_t number = 0, deadline_ns = 0;
    rank_t readers = 1; // ranks that get the result
    bool gets = false;  // the result
    bool entered = false, ended = true;
    status ended_with{};
};

template <class M>
class combining_state {
public:
    using flight = combining_flight<M>;

    // `refused`: why no operation can run; ok: they can.
    combining_state(M memory, const combining_words::shape& shape, std::uint64_t timeout_ns, const status& refused)
        : memory_(std::move(memory)), shape_(shape), timeout_ns_(timeout_ns), words_(memory_.bytes().data(), shape),
          refused_(refused) {
        flights_.reserve(64);
        spare_.reserve(64);
        gone_.reserve(shape.ranks);
        const bool has_words = memory_.bytes().size() >= combining_words::shape::fixed_bytes(shape.ranks);
        if (memory_.forked() || !has_words) return;
        if (!refused_ && !words_.agree())
            refused_ = invalid_argument("options: most_bytes and in_flight must be equal on all ranks");
        if (refused_) break_up(refused_);
    }
    combining_state(const combining_state&) = delete;
    combining_state& operator=(const combining_state&) = delete;
    rank_t rank() const noexcept { return memory_.rank(); }
    rank_t size() const noexcept { return shape_.ranks; }
    std::size_t most_bytes() const noexcept { return shape_.most_bytes; }
    std::uint64_t now_ns() const noexcept { return memory_.now_ns(); }

    static flight* make(const std::shared_ptr<combining_state>& state) {
        auto made = state->spare_.empty() ? std::make_unique<flight>() : std::move(state->spare_.back());
        if (!state->spare_.empty()) state->spare_.pop_back();
        made->state = state;
        return made.release();
    }
    void keep(std::unique_ptr<flight> unused) noexcept {
        if (spare_.size() != spare_.capacity()) spare_.push_back(std::move(unused));
    }

    // A call that breaks a rule ends the group: other ranks may have made it correctly, and must
    // not wait for this rank.
    void refuse(flight& f, const status& why) {
        progress();
        if (can_start(f)) give_up(f, why);
    }
    void start(flight& f) {
        if (!can_start(f)) return;
        f.entered = false;
        f.deadline_ns = deadline_after(now_ns(), timeout_ns_);
        flights_.push_back(&f);
        progress();
    }
    void progress() {
        if (flights_.empty()) return;
        if (memory_.forked()) return end_all({.code = errc::forked_child}); // all memory belongs to its parent
        if (!step() && look_around()) step();
    }
    void wait(const flight& f, std::uint64_t until_ns) {
        for (std::uint32_t idle = 0;; ++idle) {
            progress();
            if (f.ended || (until_ns != forever && now_ns() >= until_ns)) return;
            words_.wants_turn(rank()).store(flights_.back()->entered ? 0 : 1, std::memory_order_relaxed);
            memory_.wait(
                idle, std::min(until_ns, f.deadline_ns), words_.sleeping(rank()), [this] { return news(); },
                [this](rank_t r) { gone_.push_back(r); });
        }
    }
    void cancel(flight& f) {
        progress();
        if (f.ended) return;
        std::erase(flights_, &f);
        give_up(f, {.code = errc::cancelled, .operation = static_cast<std::uint32_t>(f.number)});
    }

private:
    // Numbers the call. False: the call has ended at once, as all calls of this group do now.
    bool can_start(flight& f) {
        f.number = next_++;
        f.ended = false;
        if (memory_.forked()) {
            end(f, {.code = errc::forked_child, .operation = static_cast<std::uint32_t>(f.number)});
        } else if (refused_) {
            end(f, refused_);
        } else {
            if (!first_ && words_.is_broken()) first_ = words_.broken(f.number);
            if (first_) end(f, poisoned(first_));
        }
        return !f.ended;
    }
    // Ends one operation and the group. Pre: progress() has just been called, so no flight has
    // ended unnoticed, and the group has not ended.
    void give_up(flight& f, const status& why) {
        end(f, why);
        break_up(why);
        end_all(poisoned(why));
    }
    // Does all that can be done now. False: nothing could be done.
    bool step() {
        const status trouble = found_trouble(); // before the results, so that results that are there still count
        bool may_enter = !trouble, moved = false;
        std::size_t kept = 0;
        for (std::size_t i = 0; i != flights_.size(); ++i) {
            flight& f = *flights_[i];
            if (!f.entered && may_enter) {
                may_enter = enter(f);
                moved |= f.entered;
            }
            if (f.entered && !f.ended && f.gets && words_.is_done(f.number)) collect(f);
            moved |= f.ended;
            if (!f.ended) flights_[kept++] = &f;
        }
        flights_.resize(kept);
        if (first_) end_all(first_);
        return moved || first_;
    }
    // Looks for what no peer tells: the death of a peer, and time that is up. True: it found
    // something.
    bool look_around() {
        const std::uint64_t now = now_ns();
        const std::size_t known = gone_.size();
        if (now - looked_ns_ >= 2'000'000) { // rarely, as it is a system call
            looked_ns_ = now;
            memory_.look([this](rank_t r) { gone_.push_back(r); });
        }
        check_deadlines(now);
        return first_ || gone_.size() != known;
    }
    void end(flight& f, const status& why) noexcept {
        f.ended = true;
        f.ended_with = why;
    }
    void end_all(const status& why) {
        for (flight* f : flights_) {
            end(*f, why);
            f->ended_with.operation = static_cast<std::uint32_t>(f->number);
        }
        flights_.clear();
    }
    // Contributes to an operation. False: no bank is free for it, or it failed.
    bool enter(flight& f) {
        if (!words_.is_turn(f.number)) return false;
        const std::size_t element = f.op.element_size;
        const auto combine = [&](const std::byte* lower, const std::byte* upper, std::byte* into) {
            f.op(lower, upper, into, f.in.size() / element);
        };
        rank_t peer = no_rank;
        combining_words::outcome came{};
#if BOUGH_HAS_EXCEPTIONS
        try {
            came = words_.contribute(rank(), f.number, f.signature, f.in, peer, combine);
        } catch (...) {
            break_up({.code = errc::op_threw, .peer = rank()});
            return false;
        }
#else
        came = words_.contribute(rank(), f.number, f.signature, f.in, peer, combine);
#endif
        f.entered = true;
        if (came == combining_words::outcome::mismatch) {
            break_up(call_mismatch(f.signature, words_.signature(f.number, peer), peer,
                                   static_cast<std::uint32_t>(f.number)));
            return false;
        }
        if (came == combining_words::outcome::completed) {
            if (f.readers == 1)
                wake_rank(f.signature.root);
            else
                wake_all();
        }
        if (!f.gets) end(f, {});
        return true;
    }
    void collect(flight& f) {
        if (!f.in.empty()) std::memcpy(f.out, words_.result(f.number), f.in.size());
        end(f, {});
        if (!words_.release(f.number, f.readers)) return;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        for (rank_t r = 0; r != size(); ++r)
            if (words_.wants_turn(r).load(std::memory_order_relaxed) != 0) wake_rank(r);
    }
    void wake_rank(rank_t r) const noexcept {
        if (r != rank()) M::wake(words_.sleeping(r));
    }
    void wake_all() const noexcept {
        for (rank_t r = 0; r != size(); ++r) wake_rank(r);
    }
    void break_up(const status& why) {
        first_ = why;
        words_.break_up(rank(), why);
        wake_all();
    }
    // The reason why operations without a result now will never have one; ok: there is none.
    status found_trouble() {
        if (first_) return first_;
        if (words_.is_broken()) return first_ = words_.broken(flights_.front()->number);
        for (const rank_t r : gone_)
            for (const flight* f : flights_) {
                if (words_.left(r) > f->number || (f->entered && words_.is_done(f->number))) continue;
                break_up({.code = errc::peer_dead, .peer = r}); // its part will never come
                return first_;
            }
        return {};
    }
    void check_deadlines(std::uint64_t now) {
        for (const flight* f : flights_) {
            if (first_ || now < f->deadline_ns || (f->entered && words_.is_done(f->number))) continue;
            break_up(late(*f));
        }
    }
    // The report of a deadline. It names the ranks that have not come to this operation, or, if it
    // waits for a bank, to the operation that has the bank. If all have come there, it names none:
    // one rank has not looked at the result, and the words do not tell which.
    status late(const flight& waits) const noexcept {
        status s{.code = errc::deadline,
                 .collective = waits.signature.kind,
                 .operation = static_cast<std::uint32_t>(waits.number)};
        std::uint64_t number = waits.number;
        if (!waits.entered) {
            for (const flight* f : flights_)
                if (!f->entered) number = std::min(number, f->number); // the others wait behind it
            if (number < shape_.banks) return s;
            number -= shape_.banks;
        }
        for (rank_t r = 0; r != size(); ++r) {
            if (words_.left(r) > number) continue;
            if (s.peer == no_rank) s.peer = r;
            if (r / 64 == s.peer / 64) s.mine |= std::uint64_t{1} << r % 64;
            ++s.missing;
        }
        return s;
    }
    // Would step() do something?
    bool news() const noexcept {
        if (words_.is_broken()) return true;
        for (const flight* f : flights_) {
            if (!f->entered) return words_.is_turn(f->number); // the flights behind it must wait
            if (words_.is_done(f->number)) return true;
        }
        return false;
    }

    M memory_;
    combining_words::shape shape_;
    std::uint64_t timeout_ns_;
    combining_words words_;
    std::uint64_t looked_ns_ = 0; // when it last looked for dead peers
    std::vector<rank_t> gone_;
    std::vector<flight*> flights_; // in flight, in order
    std::vector<std::unique_ptr<flight>> spare_;
    std::uint64_t next_ = 0;
    status refused_{}; // why no operation can run
    status first_{};   // why the group has ended
};

template <class M>
bool combining_flight<M>::poll() {
    if (!ended) state->progress();
    return ended;
}
template <class M>
const status& combining_flight<M>::wait() {
    if (!ended) state->wait(*this, forever);
    return ended_with;
}
template <class M>
bool combining_flight<M>::wait_for_ns(std::uint64_t ns) {
    if (!ended) state->wait(*this, deadline_after(state->now_ns(), ns));
    return ended;
}
template <class M>
void combining_flight<M>::set_timeout_ns(std::uint64_t ns) {
    deadline_ns = deadline_after(state->now_ns(), ns);
}
template <class M>
void combining_flight<M>::cancel() {
    if (!ended) state->cancel(*this);
}
template <class M>
void combining_flight<M>::release() noexcept {
    if (!ended) state->cancel(*this);
    kept.clear();
    const std::shared_ptr<combining_state<M>> held = std::move(state); // which may end with this
    held->keep(std::unique_ptr<combining_flight>(this));
}

} // namespace bough::detail

#endif
