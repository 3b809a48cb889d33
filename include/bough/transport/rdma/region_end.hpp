// SPDX-License-Identifier: BSL-1.0
// One rank of bough::fabric_regions and bough::verbs_regions: memory that the others write over a
// device (device.hpp), and what this rank puts into theirs.
//
// Every write carries a ticket with its kind and its sender. So the target counts the writes of
// each peer that have landed, whatever order the network keeps. A flush asks the target "have as
// many landed as I have begun?"; the answer comes once they have (region_questions.hpp). Greetings,
// questions, answers and the `bye` of a rank that leaves are writes too. Each pair of ranks has a
// line for them in front of the region, with at most one of each kind under way.
// A put of up to eager_bytes is copied into registered memory and is complete at once
// (region_writes.hpp). A longer put of one span is written from where it lies, and is complete when
// the device has done with it (region_puts.hpp).
#ifndef BOUGH_TRANSPORT_RDMA_REGION_END_HPP
#define BOUGH_TRANSPORT_RDMA_REGION_END_HPP

#include <bough/concepts/remote_write_transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/deadline.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/forks.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/greetings.hpp>
#include <bough/transport/rdma/region_core.hpp>
#include <bough/transport/rdma/region_exposures.hpp>
#include <bough/transport/rdma/region_partings.hpp>
#include <bough/transport/rdma/region_poller.hpp>
#include <bough/transport/rdma/region_puts.hpp>
#include <bough/transport/rdma/region_questions.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

template <RdmaWriter Device>
class fabric_region_end {
public:
    using options_type = typename Device::options_type;

    fabric_region_end(std::unique_ptr<Device> device, const options_type& options, const fabric_group& g,
                      std::uint64_t region_bytes)
        : core_(std::move(device), options, g, region_bytes), questions_(core_), puts_(core_, questions_),
          partings_(core_), poller_(core_, questions_, puts_, partings_) {}

    ~fabric_region_end() {
        if (forked()) {
            puts_.abandon();
            core_.writes.abandon();
            poller_.abandon();
            exposed_.abandon();
            (void)core_.registered.release();
            core_.memory.abandon();
            core_.device->abandon();
            return;
        }
        leave();
        core_.device->close_endpoint();
    }

    const fabric_group& who() const noexcept { return core_.group; }
    const Device& device() const noexcept { return *core_.device; }
    bool forked() const noexcept { return forks() != forks_; }

    // --- Joining ---

    // Allocates and registers the region. `card`: what the others must know to write here.
    status prepare(fabric_region_card& card) {
        if (!core_.memory.allocate())
            return {.code = errc::no_resources, .argument = "region_bytes: there is not so much memory"};
        if (!core_.memory.register_for(*core_.device, core_.registered) || !poller_.prepare() ||
            !core_.writes.prepare())
            return {.code = errc::no_resources, .argument = "region_bytes: so much memory may not be registered"};
        card = core_.memory.card(*core_.device, core_.registered);
        return {};
    }
    void watch(rank_t r, std::uint64_t process) { core_.presence.watch(r, process); }
    // Tells where the regions of the others are.
    void reach(std::span<const fabric_region_card> cards) {
        poller_.set_meeting(true);
        core_.writes.reach(cards);
        for (rank_t r = 0; r != core_.group.size; ++r)
            if (r != core_.group.rank) core_.writes.owe(r, fabric_ticket::hello);
    }
    // Says hello to all and waits until all have said it and are connected (errors: greetings.hpp).
    status greet(std::uint64_t until_ns) {
        const auto turn = [this] {
            partings_.greet();
            for (bool more = true; more;) more = poller_.gather();
        };
        // A rank that has died is needed until both have said hello.
        const auto died = [this](rank_t late) {
            return core_.presence.died_early(
                [&](rank_t r) { return !partings_.has_met(r) || late == r || late == core_.group.size; });
        };
        return await_greetings(
            core_.group, *core_.device, until_ns, turn, [this] { return partings_.missing(); },
            [this] { return !core_.writes.has_copies(); }, died);
    }
    void begin() noexcept { // all ranks have met
        poller_.set_meeting(false);
        joined_ = true;
    }

    // --- What a RemoteWriteTransport does ---

    std::span<std::byte> region() const noexcept { return core_.memory.region(); }
    // How many puts of that peer have landed here.
    std::uint64_t landed(rank_t from) const noexcept { return questions_.landed(from); }

    posted put(rank_t to, std::uint64_t offset, std::span<const std::byte> first, std::span<const std::byte> second,
               std::uint64_t id) {
        if (to >= core_.group.size || !core_.memory.contains(offset, first.size(), second.size()))
            return posted::failed;
        return put(to, core_.writes.place_of(to, core_.memory.place_in_region(offset)), first, second, id);
    }
    exposure expose(std::span<std::byte> memory) {
        return forked() || memory.empty() ? exposure{} : exposed_.expose(*core_.device, memory);
    }
    void conceal(const exposure& e) noexcept {
        if (!forked()) exposed_.conceal(e);
    }
    posted put_exposed(rank_t to, const exposure& at, std::span<const std::byte> bytes, std::uint64_t id) {
        if (to >= core_.group.size || !at) return posted::failed;
        return put(to, fabric_exposures<Device>::place_of(at), bytes, {}, id);
    }
    posted flush(rank_t to, std::uint64_t id) {
        if (to >= core_.group.size || to == core_.group.rank || forked() || core_.presence.is_reported(to))
            return posted::failed;
        if (!core_.presence.is_here(to)) return posted::would_block;
        return questions_.flush(to, id, puts_.are_waiting(to) ? core_.writes.accepted() + 1 : 0);
    }
    std::size_t poll(std::span<event> events) { return forked() ? 0 : poller_.poll(events); }

    // --- What has left (GatheringRemoteWrites): one number for all writes of this rank ---

    bool unsent() const noexcept {
        if (!core_.writes.has_copies() && puts_.empty()) return false;
        rank_t r = 0;
        while (r != core_.group.size && !keeps_back(r)) ++r;
        return r != core_.group.size;
    }
    std::uint64_t accepted() const noexcept { return core_.writes.accepted(); }
    std::uint64_t handed_over(rank_t to) noexcept {
        if (!keeps_back(to)) return accepted();
        const bool alone = core_.device->sends_alone();
        const std::uint64_t first = puts_.first_kept_back(to, alone, accepted() + 1);
        return (alone ? first : core_.writes.first_copy(to, first)) - 1;
    }

private:
    posted put(rank_t to, const fabric_target& at, std::span<const std::byte> first, std::span<const std::byte> second,
               std::uint64_t id) {
        if (to == core_.group.rank || forked()) return posted::failed;
        if (!core_.presence.is_here(to)) // poll() will report the loss
            return core_.presence.is_reported(to) ? posted::failed : posted::would_block;
        const std::size_t bytes = first.size() + second.size();
        if (bytes == 0) return posted::complete;
        if (bytes > core_.options.eager_bytes) return puts_.put(to, at, first, second, id);
        if (!core_.writes.write_copy(to, at, first, second, questions_.kind_to(to))) return posted::would_block;
        questions_.has_begun(to);
        return posted::complete;
    }
    // Whether something to that rank has not left this process.
    bool keeps_back(rank_t to) const noexcept {
        return !core_.presence.is_lost(to) &&
               (puts_.are_waiting(to) || (core_.writes.are_flying(to) && !core_.device->sends_alone()));
    }
    // Sends out what was put, then says bye to all. Takes at most `linger_ns` in all, and no memory.
    void leave() noexcept {
        if (!joined_) return;
        const std::uint64_t last = deadline_after(steady_now_ns(), core_.options.linger_ns);
        const rank_t me = core_.group.rank, size = core_.group.size;
        for (rank_t r = 0; r != size; ++r)
            if (r != me && !core_.presence.is_lost(r)) partings_.say_bye(r, puts_.are_waiting(r), questions_.begun(r));
        const auto all_done = [&](std::uint64_t now) {
            rank_t r = 0;
            while (r != size && (r == me || partings_.is_done(r, now, poller_.grace_ns))) ++r;
            return r == size;
        };
        std::array<event, 8> events;
        for (std::uint64_t now = steady_now_ns(); !all_done(now) && now < last; now = steady_now_ns())
            if (poll(events) == 0) std::this_thread::yield();
    }

    fabric_region_core<Device> core_;
    fabric_exposures<Device> exposed_;
    fabric_questions<Device> questions_;
    fabric_long_puts<Device> puts_;
    fabric_partings<Device> partings_;
    fabric_region_poller<Device> poller_;
    std::uint32_t forks_ = forks();
    bool joined_ = false;
};

} // namespace bough::detail

#endif
