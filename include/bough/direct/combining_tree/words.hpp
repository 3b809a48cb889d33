// SPDX-License-Identifier: BSL-1.0
// The shared words of a combining tree (bough/direct/combining_tree.hpp), and the climb of a rank
// that contributes.
//
//   head | a record for each rank | bank 0 | bank 1 | ...
//   bank: its turn, a counter for each inner node, a slot for each rank
// Operation k uses bank k % banks, for the (k / banks)th time. A rank copies its data into its slot
// and climbs. At each node the first of the two sides leaves; the second combines both into the
// lower slot and goes on up. So the last rank to come ends in slot 0 with the result of all, even
// if other ranks sleep. Both sides enter each node, so its counter is even again afterwards, and
// nothing has to be cleared. Which values are combined with which depends only on the number of
// ranks:
//   p = 6:   0 <- 1, 2 <- 3, 4 <- 5;   0 <- 2;   0 <- 4
//            = ((0 1) (2 3)) (4 5), like a binomial tree at root 0
// No value that is read from here is used as a place or a length, except for the rank of the first
// cause, which is checked. Memory of zeros is a tree that has not been used yet.
//
// Source: Yew, Tzeng, Lawrie, Distributing Hot-Spot Addressing in Large-Scale Multiprocessors,
// 1987: the combining.
#ifndef BOUGH_DIRECT_COMBINING_TREE_WORDS_HPP
#define BOUGH_DIRECT_COMBINING_TREE_WORDS_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/session/mismatch.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

class combining_words {
    struct head {
        alignas(64) std::atomic<std::uint32_t> broken{0}; // 1 + the rank that gave the first cause
        std::atomic<std::uint64_t> shape{0};              // the shape that the first rank wanted
    };
    struct record {                                         // of a rank
        alignas(64) std::atomic<std::uint32_t> sleeping{0}; // the word on which its owner sleeps
        std::atomic<std::uint32_t> wants_turn{0};           // no bank is free for its next operation
        alignas(64) std::atomic<std::uint64_t> left{0};     // the operations in which its part is done
        abort_notice why{};                                 // valid if `broken` names this rank
    };
    struct bank {
        alignas(64) std::atomic<std::uint64_t> turn{0}; // how often it has been used and become free again
        std::atomic<std::uint32_t> readers{0};
        alignas(64) std::atomic<std::uint64_t> done{0}; // how many results have been in it
    };
    struct node {
        alignas(64) std::atomic<std::uint32_t> entered{0};
    };
    struct slot { // its bytes follow
        alignas(64) call_signature signature{};
    };
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

public:
    struct shape {
        rank_t ranks = 1;
        std::uint32_t banks = 1;
        std::uint32_t most_bytes = 0; // of one rank's data

        constexpr std::uint64_t slot_bytes() const noexcept { return (std::uint64_t{most_bytes} + 63) / 64 * 64; }
        constexpr std::uint64_t bank_bytes() const noexcept {
            return sizeof(bank) + ranks * (sizeof(node) + sizeof(slot) + slot_bytes());
        }
        constexpr std::uint64_t bytes() const noexcept { return fixed_bytes(ranks) + banks * bank_bytes(); }
        static constexpr std::uint64_t fixed_bytes(rank_t ranks) noexcept {
            return sizeof(head) + ranks * sizeof(record);
        }
    };
    enum class outcome : std::uint8_t { left, completed, mismatch };

    combining_words() = default;
    // Pre: `at` is at the start of a cache line, and has of.bytes() bytes, which were zero before
    // the first rank came.
    combining_words(std::byte* at, const shape& of) noexcept : at_(at), shape_(of) {}

    // Have all ranks that have been here the same shape?
    bool agree() const noexcept {
        const std::uint64_t mine = std::uint64_t{shape_.banks} << 32 | shape_.most_bytes;
        std::uint64_t first = 0;
        return head_().shape.compare_exchange_strong(first, mine) || first == mine;
    }
    bool is_turn(std::uint64_t k) const noexcept {
        return bank_of(k).turn.load(std::memory_order_acquire) == k / shape_.banks;
    }
    bool is_done(std::uint64_t k) const noexcept {
        return bank_of(k).done.load(std::memory_order_acquire) == k / shape_.banks + 1;
    }
    const std::byte* result(std::uint64_t k) const noexcept { return bytes_of(k, 0); }
    std::uint64_t left(rank_t r) const noexcept { return record_of(r).left.load(std::memory_order_acquire); }
    std::atomic<std::uint32_t>& sleeping(rank_t r) const noexcept { return record_of(r).sleeping; }
    std::atomic<std::uint32_t>& wants_turn(rank_t r) const noexcept { return record_of(r).wants_turn; }

    // Rank `me` does all of its part in operation k. It calls combine(lower, upper, out) on the
    // slots that it finds complete. If combine() throws, the operation stays incomplete. mismatch:
    // `peer` has another signature.
    template <class F>
    outcome contribute(rank_t me, std::uint64_t k, const call_signature& signature, std::span<const std::byte> data,
                       rank_t& peer, F&& combine) const {
        slot_of(k, me).signature = signature;
        if (!data.empty()) std::memcpy(bytes_of(k, me), data.data(), data.size());
        outcome came = outcome::completed;
        rank_t at = me;
        for (std::uint64_t bit = 1; bit < shape_.ranks && came == outcome::completed; bit <<= 1) {
            const auto lower = static_cast<rank_t>(at & ~bit);
            const std::uint64_t upper = at | bit;
            if (upper >= shape_.ranks) continue;
            const auto u = static_cast<rank_t>(upper);
            if ((node_of(k, u).entered.fetch_add(1, std::memory_order_acq_rel) & 1u) == 0) {
                came = outcome::left;
            } else if (!(slot_of(k, lower).signature == slot_of(k, u).signature)) {
                peer = at == lower ? u : lower;
                came = outcome::mismatch;
            } else {
                combine(bytes_of(k, lower), bytes_of(k, u), bytes_of(k, lower));
                at = lower;
            }
        }
        if (came == outcome::completed) bank_of(k).done.store(k / shape_.banks + 1, std::memory_order_release);
        if (came != outcome::mismatch) record_of(me).left.store(k + 1, std::memory_order_release);
        return came;
    }
    call_signature signature(std::uint64_t k, rank_t r) const noexcept { return slot_of(k, r).signature; }

    // Call when this rank has seen the result. True: it is the last of `readers` ranks, so the bank
    // is free, and ranks that want a turn must be woken.
    bool release(std::uint64_t k, rank_t readers) const noexcept {
        bank& b = bank_of(k);
        if (readers > 1 && b.readers.fetch_add(1, std::memory_order_acq_rel) + 1 != readers) return false;
        b.readers.store(0, std::memory_order_relaxed);
        b.turn.store(k / shape_.banks + 1, std::memory_order_release);
        return true;
    }

    bool is_broken() const noexcept { return head_().broken.load(std::memory_order_relaxed) != 0; }
    // The first cause that broke the group, as other ranks report it; ok: it is not broken.
    status broken(std::uint64_t k) const noexcept {
        const std::uint32_t first = head_().broken.load(std::memory_order_acquire);
        if (first == 0) return {};
        const auto operation = static_cast<std::uint32_t>(k);
        if (first > shape_.ranks) return {.code = errc::protocol_error, .operation = operation};
        const abort_notice why = abort_notice::read(std::as_bytes(std::span(&record_of(first - 1).why, 1)));
        return why.as_status(first - 1, operation);
    }
    // Pre: called at most once on each rank.
    void break_up(rank_t me, const status& why) const noexcept {
        record_of(me).why = abort_notice::of(why);
        std::uint32_t nobody = 0;
        head_().broken.compare_exchange_strong(nobody, me + 1, std::memory_order_acq_rel);
    }

private:
    template <class T>
    T& there(std::uint64_t offset) const noexcept {
        return *reinterpret_cast<T*>(at_ + offset);
    }
    head& head_() const noexcept { return there<head>(0); }
    record& record_of(rank_t r) const noexcept { return there<record>(sizeof(head) + r * sizeof(record)); }
    std::uint64_t bank_at(std::uint64_t k) const noexcept {
        return shape::fixed_bytes(shape_.ranks) + k % shape_.banks * shape_.bank_bytes();
    }
    bank& bank_of(std::uint64_t k) const noexcept { return there<bank>(bank_at(k)); }
    node& node_of(std::uint64_t k, rank_t upper) const noexcept {
        return there<node>(bank_at(k) + sizeof(bank) + upper * sizeof(node));
    }
    std::uint64_t slot_at(std::uint64_t k, rank_t r) const noexcept {
        return bank_at(k) + sizeof(bank) + shape_.ranks * sizeof(node) + r * (sizeof(slot) + shape_.slot_bytes());
    }
    slot& slot_of(std::uint64_t k, rank_t r) const noexcept { return there<slot>(slot_at(k, r)); }
    std::byte* bytes_of(std::uint64_t k, rank_t r) const noexcept { return at_ + slot_at(k, r) + sizeof(slot); }

    std::byte* at_ = nullptr;
    shape shape_{};
};

} // namespace bough::detail

#endif
