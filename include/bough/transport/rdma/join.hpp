// SPDX-License-Identifier: BSL-1.0
// How a rank joins a group: it opens its device, learns where the others are, allocates what it
// needs, and greets them. A rank that fails at any of these steps tells the others
// (transport/join_room.hpp).
#ifndef BOUGH_TRANSPORT_RDMA_JOIN_HPP
#define BOUGH_TRANSPORT_RDMA_JOIN_HPP

#include <bough/concepts/wire_up.hpp>
#include <bough/core/formats.hpp>
#include <bough/core/status.hpp>
#include <bough/transport/join_room.hpp>
#include <bough/transport/rdma/alive.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/endpoint.hpp>
#include <bough/transport/rdma/frame.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <class Options>
status check_fabric_options(const Options& o) noexcept {
    if (o.window < 1 || o.window > 4096) return invalid_argument("window: must be 1 to 4096");
    if (o.eager_bytes > std::uint32_t{1} << 20) return invalid_argument("eager_bytes: at most 1 MiB");
    return {};
}

template <RdmaDevice Device>
status describe_fabric(fabric_card& mine, Device& device, const typename Device::options_type& options, rank_t size) {
    if (const status bad = check_fabric_options(options)) return bad;
    if (const status bad = device.open(options)) return bad;
    std::strncpy(mine.provider.data(), device.provider(), mine.provider.size() - 1);
    return device.describe(mine, size);
}

// Derives from the cards what holds for the whole group. If there is an error, every rank gets one.
template <class Options>
status agree_on_fabric(std::span<const fabric_card> cards, rank_t me, Options& options, fabric_group& group) {
    group.rank = me;
    group.size = static_cast<rank_t>(cards.size());
    group.job = cards[0].job;
    group.cores = 0;
    rank_t neighbours = 0;
    for (rank_t r = 0; r != group.size; ++r) {
        const fabric_card& c = cards[r];
        if (c.format != fabric_card{}.format || c.address_bytes > c.address.size())
            return {.code = errc::protocol_error, .peer = r};
        if (c.provider != cards[me].provider)
            return {.code = errc::invalid_argument, .peer = r, .argument = "provider: differs between ranks"};
        options.window = std::min(options.window, c.window);
        options.eager_bytes = std::min(options.eager_bytes, c.eager_bytes);
        group.writes = group.writes && c.tagged == 0;
        neighbours += c.machine == cards[me].machine;
        const auto same = [&c](const fabric_card& other) { return other.machine == c.machine; };
        if (std::none_of(cards.begin(), cards.begin() + r, same)) group.cores += c.cores;
    }
    group.oversubscribed = neighbours > cards[me].cores;
    return {};
}

// The part of joining that comes before the greetings.
template <RdmaDevice Device>
class fabric_meeting {
public:
    using options_type = typename Device::options_type;

    explicit fabric_meeting(const options_type& o) : options(o), device(std::make_unique<Device>()) {}

    // Collective: opens the device and exchanges cards. Results differ between ranks only if the
    // ranks could not talk to each other.
    template <WireUp W>
    status run(join_room<W>& room) {
        mine_.window = options.window;
        mine_.eager_bytes = options.eager_bytes;
        mine_.cores = std::max(1u, std::thread::hardware_concurrency());
        mine_.machine = machine_mark();
        mine_.processes = process_space();
        mine_.process = static_cast<std::uint64_t>(::getpid());
        mine_.job = std::random_device{}();
        cards_.resize(room.size());
        if (const status bad = describe_fabric(mine_, *device, options, room.size())) return bad;
        if (const status bad = room.exchange(std::as_bytes(std::span(&mine_, 1)),
                                             std::as_writable_bytes(std::span(cards_)), room.left_ns()))
            return bad;
        if (const status bad = agree_on_fabric(cards_, room.rank(), options, group)) return bad;
        return device->connect(room, cards_, group.rank, room.last_ns());
    }
    // Calls f(rank, process number) for each process that this one can watch.
    template <class F>
    void for_each_neighbour(const F& f) const {
        for (rank_t r = 0; r != group.size; ++r) {
            const fabric_card& c = cards_[r];
            if (mine_.machine != 0 && c.machine == mine_.machine && mine_.processes != 0 &&
                c.processes == mine_.processes && c.process != mine_.process)
                f(r, c.process);
        }
    }

    options_type options;
    std::unique_ptr<Device> device;
    fabric_group group;

private:
    fabric_card mine_;
    std::vector<fabric_card> cards_;
};

// Joins a group with an End over a device. make(meeting, end) -> status makes the end, once the rank
// has met the others; greet(end, room) -> status greets them with it. Empty: `outcome` says why.
template <class End, RdmaDevice Device, WireUp W, class Make, class Greet>
std::unique_ptr<End> join_with(W& wire, const typename Device::options_type& options, status& outcome, const Make& make,
                               const Greet& greet) {
    std::unique_ptr<End> end;
    join_room room(wire, options.timeout_ns, wire_format::rdma);
    const auto join = [&]() -> status {
        fabric_meeting<Device> met(options);
        if (const status bad = met.run(room)) return bad;
        if (const status bad = make(met, end)) return bad;
        met.for_each_neighbour([&](rank_t r, std::uint64_t process) { end->watch(r, process); });
        return greet(*end, room);
    };
    outcome = room.run([&] { return attempted(join); });
    if (outcome)
        end.reset();
    else
        end->begin();
    return end;
}

template <RdmaDevice Device, WireUp W>
std::unique_ptr<fabric_endpoint<Device>> join_fabric(W& wire, const typename Device::options_type& options,
                                                     status& outcome) {
    using end_type = fabric_endpoint<Device>;
    const auto make = [](fabric_meeting<Device>& met, std::unique_ptr<end_type>& end) -> status {
        end = std::make_unique<end_type>(std::move(met.device), met.options, met.group);
        return {};
    };
    return join_with<end_type, Device>(wire, options, outcome, make, [](end_type& end, auto& room) -> status {
        if (const status bad = end.prepare()) return bad;
        // After this exchange every rank has buffers in which greetings can arrive.
        if (const status bad = room.exchange({}, {}, room.left_ns())) return bad;
        return room.meet([&](std::uint64_t until_ns) { return end.meet(until_ns); });
    });
}

} // namespace bough::detail

#endif
