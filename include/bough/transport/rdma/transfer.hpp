// SPDX-License-Identifier: BSL-1.0
// What pushes.hpp and pulls.hpp share: one long payload that is under way, with the memory that the
// device may use for it, and the list of all of them.
#ifndef BOUGH_TRANSPORT_RDMA_TRANSFER_HPP
#define BOUGH_TRANSPORT_RDMA_TRANSFER_HPP

#include <bough/core/rank.hpp>
#include <bough/transport/rdma/frame.hpp>
#include <bough/transport/rdma/op.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// One long payload, as an operation of the device: a completion names it.
template <class Memory>
struct fabric_transfer : fabric_op {
    bool over = false;        // its event is due or was handed over
    std::uint32_t number = 0; // of the long message
    std::uint64_t id = 0;
    std::size_t moved = 0, piece = 0; // bytes of which the device is done, and bytes that it has now
    // When it was given up while the device had its memory; 0: it was not.
    std::uint64_t given_up_ns = 0;
    fabric_place place{};
    Memory memory{};

    // The tag of the next piece, where pieces travel as tagged messages.
    std::uint64_t tag() const noexcept { return std::uint64_t{moved} << 32 ^ place.ticket; }
    // Whether its user still waits for it, although it was given up long ago.
    bool is_late(std::uint64_t now_ns, std::uint64_t answer_ns) const noexcept {
        return given_up_ns != 0 && !over && now_ns - given_up_ns > answer_ns;
    }
};

// All payloads in one direction. They do not move in memory, because the device points to them.
template <class Transfer>
class fabric_transfers {
public:
    // Also makes room for it in the list, so that add() cannot fail.
    std::unique_ptr<Transfer> make(fabric_op::what kind, rank_t with, std::uint64_t id) {
        if (list_.size() == list_.capacity()) list_.reserve(2 * list_.size() + 8);
        spare_.reserve(list_.capacity()); // so that remove() cannot fail either
        std::unique_ptr<Transfer> t;
        if (spare_.empty()) {
            t = std::make_unique<Transfer>();
        } else {
            t = std::move(spare_.back());
            spare_.pop_back();
            *t = Transfer{};
        }
        t->kind = kind;
        t->peer = with;
        t->id = id;
        return t;
    }
    // Pre: `t` is the transfer that was made last.
    void add(std::unique_ptr<Transfer> t) noexcept { list_.push_back(std::move(t)); }
    void remove(const Transfer& t) noexcept {
        std::size_t i = 0;
        while (list_[i].get() != &t) ++i;
        list_[i]->memory.reset();
        spare_.push_back(std::move(list_[i]));
        list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    bool empty() const noexcept { return list_.empty(); }
    std::size_t size() const noexcept { return list_.size(); }
    Transfer& operator[](std::size_t i) noexcept { return *list_[i]; }
    // The first transfer for which f returns true; null: there is none.
    template <class F>
    Transfer* find(const F& f) const {
        for (const auto& t : list_)
            if (f(*t)) return t.get();
        return nullptr;
    }
    // In a forked child: forgets the registered memory, because it belongs to the parent.
    void abandon() noexcept {
        for (auto& t : list_) (void)t->memory.release();
    }

private:
    std::vector<std::unique_ptr<Transfer>> list_, spare_;
};

} // namespace bough::detail

#endif
