// SPDX-License-Identifier: BSL-1.0
// simulated: a transport for tests. Its ranks live in virtual time and are all driven by one
// thread, and faults happen where the test wants them.
//
//   bough::simulated world{4, {.seed = 7}};
//   bough::session group{world.connect(r)};                  // one for each rank
//   world.inject({.what = bough::simulated_fault::kind::crash, .at = 12, .rank = 3});
//   for (;;) {
//       bool moved = false;
//       for (each rank r that is alive, in any order) moved |= group[r].progress();
//       if (!moved && !world.advance()) break;               // nothing is due: done, or stuck until a deadline
//   }
//
// Everything random comes from the seed: the same calls see the same world on every machine.
// Messages on one edge keep their order (T3), those on different edges do not. `simulated` reads
// arrivals where they landed. `simulated_taking` is a transport that cannot do that: every payload
// is taken, and the take may be pending.
// The world checks that its users keep the rules of a transport: see violations().
#ifndef BOUGH_TRANSPORT_SIMULATED_HPP
#define BOUGH_TRANSPORT_SIMULATED_HPP

#include <bough/concepts/protocol.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/core/contract.hpp>
#include <bough/transport/virtual_network/world.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace bough::inline BOUGH_ABI {

// The group: its ranks and its clock. InPlace: payloads can be read where they lie
// (InPlaceTransport).
template <bool InPlace>
class basic_simulated {
public:
    class endpoint;

    explicit basic_simulated(rank_t ranks, const simulated_options& options = {})
        : world_(std::make_shared<detail::simulated_world>(ranks, options)) {}

    // The transport of one rank. When it is destroyed, the rank has left: what it sent arrives, the
    // others are told.
    endpoint connect(rank_t r) {
        BOUGH_EXPECTS(r < size(), "rank: not a rank of this group");
        return endpoint(world_, r);
    }
    // Starts again, without allocating. Pre: no endpoint is connected.
    void reset(rank_t ranks, const simulated_options& options) { world_->reset(ranks, options); }

    rank_t size() const noexcept { return world_->size(); }
    std::uint64_t now_ns() const noexcept { return world_->now(); }
    // How many events there have been; a fault's `at` counts these.
    std::uint64_t events() const noexcept { return world_->events(); }
    // True if the rank has neither crashed nor stopped nor left. Other ranks must not be driven:
    // their calls do nothing.
    bool is_alive(rank_t r) const noexcept { return world_->alive(r); }

    // Lets time jump to the next thing that is due, or pass only a little if a rank has not polled
    // what has come. False: there is neither; only deadlines can move anything.
    bool advance() { return world_->advance(); }
    void advance_to(std::uint64_t ns) { world_->advance_to(ns); }
    // advance() will stop at this time, too.
    void wake_at(std::uint64_t ns) { world_->wake_at(ns); }

    // inject(): the fault happens at event fault.at. happen(): it happens now.
    void inject(const simulated_fault& fault) { world_->inject(fault); }
    void happen(const simulated_fault& fault) { world_->happen(fault); }
    // Ends all faults. Dead ranks stay dead, and late messages stay late.
    void heal() { world_->heal(); }
    // Envelopes that a fault has changed.
    std::uint64_t corrupted() const noexcept { return world_->corruption().count(); }
    // The last envelope of which a bit was flipped, as it was before.
    const envelope& last_corrupted() const noexcept { return world_->corruption().last(); }

    // How often a rank, or this world, broke a rule of Transport, and the first of them.
    std::uint64_t violations() const noexcept { return world_->violations(); }
    const char* first_violation() const noexcept { return world_->first_violation(); }
    // How many posts of a rank have an event that it has not polled; how many arrivals it has seen
    // and still keeps.
    std::size_t pending(rank_t r) const noexcept { return world_->pending(r); }
    std::size_t unreleased(rank_t r) const noexcept { return world_->unreleased(r); }

private:
    std::shared_ptr<detail::simulated_world> world_;
};

using simulated = basic_simulated<true>;
using simulated_taking = basic_simulated<false>;

// One rank's end: the Transport.
template <bool InPlace>
class basic_simulated<InPlace>::endpoint {
public:
    endpoint(endpoint&&) = default;
    endpoint& operator=(endpoint&&) = delete;
    ~endpoint() {
        if (world_) world_->leave(rank_);
    }

    rank_t rank() const noexcept { return rank_; }
    rank_t size() const noexcept { return world_->size(); }
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        return world_->post_send(rank_, to, tag, bytes, id);
    }
    // Which way a message goes; see SaysWays.
    protocol way_of(rank_t, std::size_t bytes, bool combines) const noexcept {
        return world_->way_of(bytes, InPlace && combines);
    }
    std::size_t poll(std::span<event> events) { return world_->poll(rank_, events, InPlace); }
    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        return world_->take(rank_, handle, into, id, InPlace);
    }
    bool poll_from(rank_t from, event& e) requires InPlace { return world_->poll_from(rank_, from, e); }
    bool claim(std::uint64_t handle) requires InPlace { return world_->claim(rank_, handle); }
    void release(std::uint64_t handle) { world_->release(rank_, handle); }
    errc cancel(std::uint64_t id) { return world_->cancel(rank_, id); }
    std::uint64_t now_ns() const noexcept { return world_->now(); }

    // Nothing else runs while this rank waits. So time jumps to the next thing that is due, or to
    // the deadline if there is none.
    void wait(std::uint32_t, std::uint64_t deadline_ns) {
        if (!world_->skip()) world_->advance_to(std::max(world_->now() + 1'000, deadline_ns));
    }

private:
    friend class basic_simulated;
    endpoint(std::shared_ptr<detail::simulated_world> world, rank_t rank) : world_(std::move(world)), rank_(rank) {}

    std::shared_ptr<detail::simulated_world> world_;
    rank_t rank_;
};

static_assert(PollsPeers<simulated::endpoint> && WaitableTransport<simulated::endpoint> &&
              SaysWays<simulated::endpoint>);
static_assert(Transport<simulated_taking::endpoint> && SaysWays<simulated_taking::endpoint> &&
              !InPlaceTransport<simulated_taking::endpoint>);

} // namespace bough

#endif
