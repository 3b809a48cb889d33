// SPDX-License-Identifier: BSL-1.0
// landing_places: where long messages can land without a copy: in the heap of a rank's region, in
// memory that the caller has exposed, and in memory that is exposed for one message.
#ifndef BOUGH_TRANSPORT_ONE_SIDED_PLACES_HPP
#define BOUGH_TRANSPORT_ONE_SIDED_PLACES_HPP

#include <bough/concepts/remote_write_transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/transport/segment/heap.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

inline bool lies_in(std::span<const std::byte> part, std::span<const std::byte> whole) noexcept {
    const auto from = reinterpret_cast<std::uintptr_t>(part.data()),
               begin = reinterpret_cast<std::uintptr_t>(whole.data());
    return from >= begin && from - begin <= whole.size() && part.size() <= whole.size() - (from - begin);
}

// `X`: the remote writes. They are given to each call that needs them, so that their owner can be
// moved.
template <RemoteWriteTransport X>
class landing_places {
public:
    // `used`: how many bytes at the beginning of the region do not belong to the heap.
    // `expose_bytes`: messages from this length on are worth exposing memory for each; 0: none is.
    landing_places(std::span<std::byte> region, std::uint64_t used, std::uint64_t expose_bytes)
        : region_(region), expose_bytes_(expose_bytes) {
        if (region.size() > used) heap_ = shared_heap(region.subspan(static_cast<std::size_t>(used)));
    }

    std::uint64_t place_of(std::span<const std::byte> bytes) const noexcept {
        return static_cast<std::uint64_t>(bytes.data() - region_.data());
    }

    // --- Pieces of the heap ---

    // Empty: no free piece is large enough.
    std::span<std::byte> allocate(std::size_t bytes) { return heap_.allocate(bytes); }
    // Pre: the piece is from allocate(). `may_be_written`: a silent peer may still write there, so
    // the piece is kept back.
    void deallocate(std::span<std::byte> piece, bool may_be_written) {
        if (!may_be_written) return heap_.deallocate(piece);
        kept_.push_back(piece);
    }
    // Gives those pieces back for which may_be_written(piece) does not hold any more.
    template <class F>
    void free_kept(const F& may_be_written) {
        std::erase_if(kept_, [&](std::span<std::byte> piece) {
            const bool free = !may_be_written(piece);
            if (free) heap_.deallocate(piece);
            return free;
        });
    }

    // --- Memory of the caller ---

    // Exposes it until conceal(). False: the remote writes have no room for more.
    bool expose(X& x, std::span<std::byte> memory) requires ExposingRemoteWrites<X> {
        lent_.reserve(lent_.size() + 1);
        const exposure at = x.expose(memory);
        if (at) lent_.push_back({memory, at});
        return at.key != 0;
    }
    // Pre: the memory is exposed. `is_mine`: by this process, not by its parent.
    void conceal(X& x, std::span<std::byte> memory, bool is_mine) requires ExposingRemoteWrites<X> {
        const auto it = std::find_if(lent_.begin(), lent_.end(), [&](const lent_memory& m) {
            return m.memory.data() == memory.data() && m.memory.size() == memory.size();
        });
        BOUGH_EXPECTS(it != lent_.end(), "memory: is not exposed");
        if (is_mine) x.conceal(it->at);
        lent_.erase(it);
    }

    // Whether memory is exposed for a single message of so many bytes, if the remote writes have room.
    constexpr bool exposes(std::uint64_t bytes) const noexcept {
        return ExposingRemoteWrites<X> && expose_bytes_ != 0 && bytes >= expose_bytes_;
    }
    // Finds the place at which a message can land in `into` itself. `exposed` is set if the memory
    // is exposed for this message alone. False: the message cannot land there.
    bool find(X& x, std::span<std::byte> into, exposure& at, exposure& exposed) {
        if (heap_.contains(into)) return at = {place_of(into), 0}, true;
        if constexpr (ExposingRemoteWrites<X>) {
            for (const lent_memory& m : lent_)
                if (lies_in(into, m.memory)) {
                    at = {m.at.place + static_cast<std::uint64_t>(into.data() - m.memory.data()), m.at.key};
                    return true;
                }
            if (!exposes(into.size())) return false;
            at = exposed = x.expose(into);
        }
        return at.key != 0;
    }

private:
    struct lent_memory {
        std::span<std::byte> memory;
        exposure at;
    };

    std::span<std::byte> region_;
    shared_heap heap_;
    std::uint64_t expose_bytes_;
    std::vector<lent_memory> lent_;
    std::vector<std::span<std::byte>> kept_; // given back, but a silent peer may still write there
};

} // namespace bough::detail

#endif
