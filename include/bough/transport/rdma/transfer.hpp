// SPDX-License-Identifier: BSL-1.0
// The long payloads that are under way, with the memory that the device may use for them.
#ifndef BOUGH_TRANSPORT_RDMA_TRANSFER_HPP
#define BOUGH_TRANSPORT_RDMA_TRANSFER_HPP

#include <bough/core/rank.hpp>
#include <bough/transport/rdma/frame.hpp>
#include <bough/transport/rdma/op.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// One long payload, out of this rank (push) or into it (pull).
template <class Memory>
struct fabric_transfer {
    fabric_op op{}; // must be first: a completion knows only this
    // What a push waits for: for `go`, for the device to take it, or for its end.
    enum : std::uint8_t { waiting, ready, flying } stage = waiting;
    bool over = false; // its event is due or was handed over
    std::uint32_t number = 0;
    std::uint64_t id = 0, moved = 0, piece = 0, given_up_ns = 0;
    std::span<const std::byte> from{};
    std::span<std::byte> into{};
    fabric_place place{};
    Memory memory{};

    static fabric_transfer& of(fabric_op& o) noexcept { return reinterpret_cast<fabric_transfer&>(o); }
    // The tag of the next piece, where pieces travel as tagged messages.
    std::uint64_t tag() const noexcept { return moved << 32 ^ place.ticket; }
};

// All transfers that are under way. They do not move in memory, because the device points to them.
template <class Memory>
class fabric_transfers {
public:
    using transfer = fabric_transfer<Memory>;

    // Also makes room for it in the list, so that add() cannot fail.
    std::unique_ptr<transfer> make(fabric_op::what kind, rank_t with, std::uint64_t id) {
        if (list_.size() == list_.capacity()) list_.reserve(2 * list_.size() + 8);
        spare_.reserve(list_.capacity()); // so that remove() cannot fail either
        std::unique_ptr<transfer> t;
        if (spare_.empty()) {
            t = std::make_unique<transfer>();
        } else {
            t = std::move(spare_.back());
            spare_.pop_back();
            *t = transfer{};
        }
        t->op.kind = kind;
        t->op.peer = with;
        t->id = id;
        return t;
    }
    // Pre: `t` is the transfer that was made last.
    void add(std::unique_ptr<transfer> t) noexcept { list_.push_back(std::move(t)); }
    void remove(const transfer& t) noexcept {
        std::size_t i = 0;
        while (list_[i].get() != &t) ++i;
        list_[i]->memory.reset();
        spare_.push_back(std::move(list_[i]));
        list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    bool empty() const noexcept { return list_.empty(); }
    std::size_t size() const noexcept { return list_.size(); }
    transfer& operator[](std::size_t i) noexcept { return *list_[i]; }
    // The first transfer for which f returns true; null: there is none.
    template <class F>
    transfer* find(const F& f) const {
        for (const auto& t : list_)
            if (f(*t)) return t.get();
        return nullptr;
    }
    // In a forked child: forgets the registered memory, because it belongs to the parent.
    void abandon() noexcept {
        for (auto& t : list_) (void)t->memory.release();
    }

private:
    std::vector<std::unique_ptr<transfer>> list_, spare_;
};

} // namespace bough::detail

#endif
