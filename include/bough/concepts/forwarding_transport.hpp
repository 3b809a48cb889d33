// SPDX-License-Identifier: BSL-1.0
// forwarding_transport: a transport over another one, which only forwards. It is a base for
// transports that change something: each defines what it does differently, and what is listed below
// goes to the inner transport.
//
//   template <Transport T>
//   class counting : public forwarding_transport<T> {
//   public:
//       using forwarding_transport<T>::forwarding_transport;
//       posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
//           return ++sends, this->inner_.post_send(to, tag, bytes, id);
//       }
//       std::uint64_t sends = 0;
//   };
// Beside what every transport has, it forwards claim, take_pieces, wait, flush and its counters, cores,
// forked, way_of, early_bytes, and the costs by which plans are chosen, if the inner transport
// has them. A derived transport that changes take changes take_pieces, too. One that keeps events back says
// `take_pieces(...) = delete`: a piece can be read until the next poll of the inner transport only.
// It does not forward the descriptor: a derived transport may have news that the descriptor does not
// know of. Nor poll_from: that would go past the poll of the derived transport. So no operation runs
// straight over a forwarding transport; all run in the engine (bough/engine/straight_run.hpp).
#ifndef BOUGH_CONCEPTS_FORWARDING_TRANSPORT_HPP
#define BOUGH_CONCEPTS_FORWARDING_TRANSPORT_HPP

#include <bough/concepts/protocol.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace bough::inline BOUGH_ABI {

template <Transport T>
class forwarding_transport {
public:
    explicit forwarding_transport(T inner) : inner_(std::move(inner)) {}

    rank_t rank() const noexcept { return inner_.rank(); }
    rank_t size() const noexcept { return inner_.size(); }
    std::uint64_t now_ns() const noexcept { return inner_.now_ns(); }
    std::uint32_t cores() const noexcept requires KnowsCores<T> { return inner_.cores(); }
    bool forked() const noexcept requires KnowsForks<T> { return inner_.forked(); }
    auto default_costs() const noexcept requires KnowsCosts<T> { return inner_.default_costs(); }
    auto levels() const requires KnowsLevels<T> { return inner_.levels(); }
    double switch_ns() const noexcept requires KnowsSwitchTime<T> { return inner_.switch_ns(); }
    protocol way_of(rank_t peer, std::size_t bytes, bool combines) const noexcept requires SaysWays<T> {
        return inner_.way_of(peer, bytes, combines);
    }
    std::uint64_t early_bytes(rank_t peer) const noexcept requires KeepsEarly<T> { return inner_.early_bytes(peer); }

    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        return inner_.post_send(to, tag, bytes, id);
    }
    std::size_t poll(std::span<event> events) { return inner_.poll(events); }
    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        return inner_.take(handle, into, id);
    }
    posted take_pieces(std::uint64_t handle, std::uint64_t grain, std::uint64_t id) requires PiecewiseTransport<T> {
        return inner_.take_pieces(handle, grain, id);
    }
    bool claim(std::uint64_t handle) requires InPlaceTransport<T> { return inner_.claim(handle); }
    void release(std::uint64_t handle) { inner_.release(handle); }
    errc cancel(std::uint64_t id) { return inner_.cancel(id); }
    void wait(std::uint32_t idle, std::uint64_t deadline_ns) requires WaitableTransport<T> {
        inner_.wait(idle, deadline_ns);
    }
    void flush() requires GatheringTransport<T> { inner_.flush(); }
    bool unsent() const noexcept requires GatheringTransport<T> { return inner_.unsent(); }
    std::uint64_t accepted(rank_t to) const noexcept requires GatheringTransport<T> { return inner_.accepted(to); }
    std::uint64_t handed_over(rank_t to) noexcept requires GatheringTransport<T> { return inner_.handed_over(to); }

protected:
    T inner_;
};

} // namespace bough

#endif
