// SPDX-License-Identifier: BSL-1.0
// The rings to one rank of bough::in_process that it knows of. A sender puts each that it makes in front of
// the list of all; the rank looks there for new ones.
#ifndef BOUGH_TRANSPORT_IN_PROCESS_SENDERS_HPP
#define BOUGH_TRANSPORT_IN_PROCESS_SENDERS_HPP

#include <bough/core/config.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>
#include <bough/transport/in_process/ring.hpp>

#include <cstddef>

namespace bough::inline BOUGH_ABI::detail {

class in_process_senders {
public:
    // So many are known without memory for more. May throw.
    explicit in_process_senders(std::size_t count) { rings_.reserve(count); }

    plain_list<in_process_ring*>& rings() noexcept { return rings_; }
    const plain_list<in_process_ring*>& rings() const noexcept { return rings_; }
    // Learns of those that are in front of the list now: `newest` is the first. False: there is no memory for
    // that, and none of them is known yet.
    template <int = 0>
    BOUGH_ALWAYS_INLINE bool learn(in_process_ring* newest) noexcept {
        return newest == newest_ || read(newest);
    }
    bool knows(const in_process_ring* newest) const noexcept { return newest == newest_; }
    // Makes room for them. Throws if there is no memory.
    template <int = 0>
    BOUGH_COLD void make_room(const in_process_ring* newest) {
        std::size_t all = rings_.size();
        for (; newest != newest_; newest = newest->next) ++all;
        if (all > rings_.capacity()) rings_.reserve(2 * all);
    }
    // Whether one of them is from that rank.
    template <int = 0>
    BOUGH_COLD bool has_unread(const in_process_ring* newest, rank_t from) const noexcept {
        while (newest != newest_ && newest->from != from) newest = newest->next;
        return newest != newest_;
    }

private:
    template <int = 0>
    BOUGH_COLD bool read(in_process_ring* newest) noexcept {
        bool has_room = false;
        ignore_exceptions([&] { make_room(newest), has_room = true; });
        if (!has_room) return false;
        for (in_process_ring* ring = newest; ring != newest_; ring = ring->next) rings_.push_back(ring);
        newest_ = newest;
        return true;
    }

    plain_list<in_process_ring*> rings_;
    const in_process_ring* newest_ = nullptr; // of those that are known
};

} // namespace bough::detail

#endif
