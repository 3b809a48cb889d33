// SPDX-License-Identifier: BSL-1.0
// late_places: where the ranks of a communicator leave their data for the rank that comes last.
//
//   rank     0   1   2   3   4    A place for each rank, in memory that all of them see. At each
//             \ /     \ /   |    node the rank that comes first leaves. The rank that comes second
//              o       o    |    combines both sides into the lower place and goes on up. The last
//               \     /     |    rank to come puts the result into the place of rank 0.
//                 \ /       /
//                  o       /      The bracket is that of the binomial tree at root 0, whatever the
//                   \     /       root: neighbouring intervals of ranks, the lower one on the left.
//                     \ /         So it depends on the number of ranks alone.
//                      o
// Each node is a counter that both sides raise by one; the one that finds it odd is the second. It is
// even again afterwards, so nothing is cleared between operations. Operation k of the communicator
// uses bank k mod banks, as soon as all ranks that get the result of operation k - banks have read it.
//
// Source: Yew, Tzeng, Lawrie, Distributing Hot-Spot Addressing in Large-Scale Multiprocessors, 1987:
// the combining. (doc/design/012-late-ranks.md)
#ifndef BOUGH_SESSION_LATE_PLACES_HPP
#define BOUGH_SESSION_LATE_PLACES_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/rank.hpp>
#include <bough/engine/call.hpp>
#include <bough/schedule/goal.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

class late_places {
    struct record {                                     // of a rank
        alignas(64) std::atomic<std::uint64_t> left{0}; // the operations in which its part is done
        std::atomic<std::uint32_t> wants_turn{0};       // no bank is free for its next operation
        std::atomic<std::uint32_t> is_used{0};          // of rank 0: some rank has been at work here
    };
    struct bank {
        alignas(64) std::atomic<std::uint64_t> turn{0}; // how often it has been used and become free again
        std::atomic<std::uint32_t> readers{0};
        // 1 + a rank that has made the call; the others compare theirs.
        std::atomic<std::uint32_t> first{0};
        alignas(64) std::atomic<std::uint64_t> done{0}; // how many results have been in it
    };
    struct node {
        alignas(64) std::atomic<std::uint32_t> entered{0};
    };
    struct place { // its bytes follow
        alignas(64) call_signature signature{};
        std::uint32_t operation = 0;
        std::atomic<std::uint64_t> read{0}; // 1 + k / banks of the last result that its owner has read
    };
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

public:
    static constexpr std::uint32_t banks = 4;
    static constexpr std::uint32_t longest = 4096, shortest = 64; // of one rank's data, in bytes

    static constexpr std::uint64_t bank_bytes(rank_t ranks, std::uint32_t most_bytes) noexcept {
        return sizeof(bank) + std::uint64_t{ranks} * (sizeof(node) + sizeof(place) + most_bytes);
    }
    // What the places of a communicator of so many ranks take.
    static constexpr std::uint64_t bytes(rank_t ranks, std::uint32_t most_bytes) noexcept {
        return std::uint64_t{ranks} * sizeof(record) + banks * bank_bytes(ranks, most_bytes);
    }
    // How long the data of a rank may be, if each rank has so much memory for places: as long as there
    // is room for eight communicators of all ranks, and `shortest` otherwise. 0: no room even for one.
    static constexpr std::uint32_t most_bytes(rank_t ranks, std::uint64_t memory) noexcept {
        for (std::uint32_t most = longest; most > shortest; most /= 2)
            if (8 * bytes(ranks, most) <= memory) return most;
        return bytes(ranks, shortest) <= memory ? shortest : 0;
    }
    // Where in the memory of its first rank a communicator with this number has its places, in bytes.
    struct region {
        std::uint64_t offset = 0, bytes = 0;
        std::uint32_t most_bytes = 0; // of a rank's data; 0: there is no room for them
    };
    static constexpr region where(std::uint16_t context, rank_t ranks, std::uint64_t memory) noexcept {
        const std::uint32_t most = most_bytes(ranks, memory);
        const std::uint64_t each = bytes(ranks, most), at = context * each;
        return most == 0 || at + each > memory ? region{} : region{at, each, most};
    }
    // They are as new again. Memory that was never used is not touched.
    static void clear(std::span<std::byte> all) noexcept {
        if (all.empty() || reinterpret_cast<record*>(all.data())->is_used.load(std::memory_order_acquire) == 0) return;
        std::memset(all.data(), 0, all.size());
    }

    // Pre: `at` is at the start of a cache line, has bytes(ranks, most) bytes, and was zero before the
    // first rank came. `members`: as in a communicator; empty: all ranks of the transport.
    late_places(std::byte* at, rank_t ranks, rank_t me, std::uint32_t most, const std::vector<rank_t>& members)
        : at_(at), ranks_(ranks), me_(me), most_bytes_(most), members_(members) {
        record_of(0).is_used.store(1, std::memory_order_release);
    }

    rank_t size() const noexcept { return ranks_; }
    rank_t rank() const noexcept { return me_; }
    // The transport's number of a rank.
    rank_t world_rank(rank_t r) const noexcept { return members_.empty() ? r : members_[r]; }

    // --- this rank's operations, in order ---

    std::uint64_t next() noexcept { return next_++; }
    // The operation to which this rank contributes next: it does so in order.
    std::uint64_t entered() const noexcept { return entered_; }
    // Is there a bank for operation k? False: when there is one, this rank must be told (release()).
    bool is_turn(std::uint64_t k) const noexcept {
        const std::uint64_t wanted = k / banks;
        if (bank_of(k).turn.load(std::memory_order_acquire) == wanted) return true;
        record_of(me_).wants_turn.store(1, std::memory_order_seq_cst);
        return bank_of(k).turn.load(std::memory_order_seq_cst) == wanted;
    }
    enum class outcome : std::uint8_t { left, completed, mismatch };
    // This rank does all of its part in operation k. It calls combine(lower, upper, out) on the places
    // that it finds complete. If combine() throws, the operation stays incomplete. mismatch: rank
    // `peer` has made another call, or its memory makes no sense if that is no rank; nothing was done.
    // Pre: is_turn(k), and k == entered().
    template <class F>
    outcome contribute(std::uint64_t k, const call_signature& signature, std::uint32_t operation,
                       std::span<const std::byte> data, rank_t& peer, F&& combine) {
        record_of(me_).wants_turn.store(0, std::memory_order_relaxed);
        place& mine = place_of(k, me_);
        mine.signature = signature;
        mine.operation = operation;
        if (!data.empty()) std::memcpy(bytes_of(k, me_), data.data(), data.size());
        std::uint32_t first = bank_of(k).first.load(std::memory_order_acquire);
        if (first == 0 && bank_of(k).first.compare_exchange_strong(first, me_ + 1, std::memory_order_acq_rel))
            first = me_ + 1;
        peer = first - 1;
        if (peer >= ranks_ || !(place_of(k, peer).signature == signature) || place_of(k, peer).operation != operation)
            return outcome::mismatch;
        outcome came = outcome::completed;
        rank_t at = me_;
        for (std::uint64_t bit = 1; bit < ranks_ && came == outcome::completed; bit <<= 1) {
            const auto lower = static_cast<rank_t>(at & ~bit);
            const std::uint64_t other = at | bit;
            if (other >= ranks_) continue;
            const auto upper = static_cast<rank_t>(other);
            if ((node_of(k, upper).entered.fetch_add(1, std::memory_order_acq_rel) & 1u) == 0) {
                came = outcome::left;
            } else {
                combine(bytes_of(k, lower), bytes_of(k, upper), bytes_of(k, lower));
                at = lower;
            }
        }
        if (came == outcome::completed) bank_of(k).done.store(k / banks + 1, std::memory_order_release);
        ++entered_;
        record_of(me_).left.store(k + 1, std::memory_order_release);
        return came;
    }
    // The call that a rank has made, and its number on the communicator.
    struct call_made {
        call_signature signature{};
        std::uint32_t operation = 0;
    };
    call_made call_of(std::uint64_t k, rank_t r) const noexcept {
        return {place_of(k, r).signature, place_of(k, r).operation};
    }

    bool is_done(std::uint64_t k) const noexcept {
        return bank_of(k).done.load(std::memory_order_acquire) == k / banks + 1;
    }
    const std::byte* result(std::uint64_t k) const noexcept { return bytes_of(k, 0); }
    // This rank has read the result. True: it is the last of `readers` ranks, so the bank is free, and
    // ranks that want a turn must be woken.
    bool release(std::uint64_t k, rank_t readers) noexcept {
        bank& b = bank_of(k);
        place_of(k, me_).read.store(k / banks + 1, std::memory_order_relaxed);
        if (readers > 1 && b.readers.fetch_add(1, std::memory_order_acq_rel) + 1 != readers) return false;
        b.readers.store(0, std::memory_order_relaxed);
        b.first.store(0, std::memory_order_relaxed);
        b.turn.store(k / banks + 1, std::memory_order_seq_cst);
        return true;
    }
    bool wants_turn(rank_t r) const noexcept { return record_of(r).wants_turn.load(std::memory_order_seq_cst) != 0; }

    // --- who is missing ---

    // Has this rank done all of its part in operation k?
    bool has_left(rank_t r, std::uint64_t k) const noexcept {
        return record_of(r).left.load(std::memory_order_acquire) > k;
    }
    // Calls f(r) for each rank but this one for which operation k waits here. That is: after entered(),
    // those that have not done their part in it; before, those that have not read the result for whose
    // bank this rank waits.
    template <class F>
    void for_each_awaited(std::uint64_t k, F&& f) const {
        const bool waits_for_bank = k >= entered_ && entered_ >= banks &&
                                    bank_of(entered_).turn.load(std::memory_order_acquire) != entered_ / banks;
        for (rank_t r = 0; r != ranks_; ++r)
            if (r != me_ && (waits_for_bank ? has_to_read(r, entered_ - banks) : !has_left(r, k))) f(r);
    }

private:
    bool has_to_read(rank_t r, std::uint64_t k) const noexcept {
        const place& mine = place_of(k, me_); // all have made the same call
        const bool gets = mine.signature.kind != goal::reduce::kind || mine.signature.root == r;
        return gets && place_of(k, r).read.load(std::memory_order_relaxed) != k / banks + 1;
    }
    template <class T>
    T& there(std::uint64_t offset) const noexcept {
        return *reinterpret_cast<T*>(at_ + offset);
    }
    record& record_of(rank_t r) const noexcept { return there<record>(r * sizeof(record)); }
    std::uint64_t bank_at(std::uint64_t k) const noexcept {
        return ranks_ * sizeof(record) + k % banks * bank_bytes(ranks_, most_bytes_);
    }
    bank& bank_of(std::uint64_t k) const noexcept { return there<bank>(bank_at(k)); }
    node& node_of(std::uint64_t k, rank_t upper) const noexcept {
        return there<node>(bank_at(k) + sizeof(bank) + upper * sizeof(node));
    }
    std::uint64_t place_at(std::uint64_t k, rank_t r) const noexcept {
        return bank_at(k) + sizeof(bank) + ranks_ * sizeof(node) + r * (sizeof(place) + std::uint64_t{most_bytes_});
    }
    place& place_of(std::uint64_t k, rank_t r) const noexcept { return there<place>(place_at(k, r)); }
    std::byte* bytes_of(std::uint64_t k, rank_t r) const noexcept { return at_ + place_at(k, r) + sizeof(place); }

    std::byte* at_;
    rank_t ranks_, me_;
    std::uint32_t most_bytes_;
    std::vector<rank_t> members_;
    std::uint64_t next_ = 0, entered_ = 0;
};

// What an operation that is done in late places is about. Without places it is done by messages.
struct late_part {
    late_places* places = nullptr;
    combine_call combine{};
    const std::byte* in = nullptr;
    std::byte* out = nullptr;
    std::uint64_t bytes = 0;
    rank_t root = no_rank;    // the rank that gets the result; no_rank: all do
    std::uint64_t number = 0; // among those in these places
    bool entered = false;     // this rank has done its part
    bool disputed = false;    // a rank has made another call, and has been asked what it has made here

    bool gets() const noexcept { return root == no_rank || root == places->rank(); }
    rank_t readers() const noexcept { return root == no_rank ? places->size() : 1; }
    // Does it end well, or has it, without rank r of the communicator?
    bool needs(rank_t r) const noexcept {
        return !places->has_left(r, number) && !(entered && places->is_done(number));
    }
};

} // namespace bough::detail

#endif
